"""``az-engine match`` and ``az-engine regret``: games between engines, and what their moves give away."""
