"""``az-engine report`` and ``az-engine plot``: the papers' figures."""
