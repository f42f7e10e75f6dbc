"""The games whose labelled records have a form of their own, one module each, named as the game.

A module offers ``labels(game)``, the :class:`shards.LabelFormat` of the game on its board. Other games are recorded as
in :mod:`any_game`.
"""
