"""``az-engine regret`` and ``az-engine suite``: the moves of players in given positions, judged or known."""
