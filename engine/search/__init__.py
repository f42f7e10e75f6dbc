"""The search: tree, PUCT, policy, cache, and the passes that grow one tree or many."""
