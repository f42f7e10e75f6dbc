"""The openings that AlphaZero's paper follows through training (Science 2018, Table 2), as UCI writes the moves."""

from __future__ import annotations

OPENINGS = {
    "A10 English Opening": "c2c4",
    "D06 Queen's Gambit": "d2d4 d7d5 c2c4",
    "A46 Queen's Pawn Game": "d2d4 g8f6 g1f3",
    "E00 Queen's Pawn Game": "d2d4 g8f6 c2c4 e7e6",
    "E61 King's Indian Defence": "d2d4 g8f6 c2c4 g7g6 b1c3",
    "C00 French Defence": "e2e4 e7e6 d2d4 d7d5",
    "B50 Sicilian Defence": "e2e4 c7c5 g1f3 d7d6",
    "B30 Sicilian Defence": "e2e4 c7c5 g1f3 b8c6",
    "B40 Sicilian Defence": "e2e4 c7c5 g1f3 e7e6",
    "C60 Ruy Lopez": "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6",
    "B10 Caro-Kann Defence": "e2e4 c7c6",
    "A05 Reti Opening": "g1f3 g8f6",
}
