"""az-engine: AlphaZero and AlphaGo Zero as an engine for chess, shogi and Go."""

__version__ = "0.1.0"
