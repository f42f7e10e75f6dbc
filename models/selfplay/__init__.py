"""Games against itself: a run of them from its settings to its last net."""
