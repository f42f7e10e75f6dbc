"""The tree: its arrays and growth, selection, transpositions, what else a node keeps, reading it, making room in it."""
