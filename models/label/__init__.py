"""``az-engine label``: training data made with any engine or net."""
