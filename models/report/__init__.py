"""``az-engine report`` and ``az-engine plot``: the papers' figures, and the page of a run."""
