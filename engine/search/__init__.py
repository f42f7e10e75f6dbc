"""The search of one tree, and how its workers make simulations; in folders the tree, its leaves, and self-play."""
