"""``az-engine train``: the learner, its settings, checkpoints and log."""
