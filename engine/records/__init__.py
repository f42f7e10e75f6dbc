"""Games as people keep them in files: :mod:`record` is the game, :mod:`formats` the seam of the file formats.

A game's own folder reads and writes its formats; :mod:`text` finds the encoding of a file.
"""
