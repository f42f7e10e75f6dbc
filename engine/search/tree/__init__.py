"""The tree: its arrays, expansion, selection, transpositions, what else a node keeps, reading it, making room in it."""
