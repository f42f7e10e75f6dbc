"""The openings that ``--openings book`` draws from: short well-known lines after which the first player is to move."""

from __future__ import annotations

from .books_go import GO9, GO19


def _numbered(lines: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((f"book {number}", line) for number, line in enumerate(lines, 1))


# Main lines of every big opening of chess, in UCI notation.
_CHESS = (
    ("Ruy Lopez, Berlin", "e2e4 e7e5 g1f3 b8c6 f1b5 g8f6 e1g1 f6e4"),
    ("Ruy Lopez, Closed", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7"),
    ("Ruy Lopez, Exchange", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5c6 d7c6"),
    ("Ruy Lopez, Schliemann", "e2e4 e7e5 g1f3 b8c6 f1b5 f7f5 b1c3 f5e4"),
    ("Italian, Giuoco Piano", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3 g8f6"),
    ("Italian, Two Knights", "e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 d2d3 f8e7"),
    ("Evans Gambit", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 b2b4 c5b4"),
    ("Scotch", "e2e4 e7e5 g1f3 b8c6 d2d4 e5d4 f3d4 g8f6"),
    ("Four Knights", "e2e4 e7e5 g1f3 b8c6 b1c3 g8f6 f1b5 f8b4"),
    ("Petrov", "e2e4 e7e5 g1f3 g8f6 f3e5 d7d6 e5f3 f6e4"),
    ("Philidor", "e2e4 e7e5 g1f3 d7d6 d2d4 g8f6 b1c3 b8d7"),
    ("Vienna", "e2e4 e7e5 b1c3 g8f6 f2f4 d7d5 f4e5 f6e4"),
    ("King's Gambit accepted", "e2e4 e7e5 f2f4 e5f4 g1f3 g7g5 h2h4 g5g4"),
    ("King's Gambit declined", "e2e4 e7e5 f2f4 f8c5 g1f3 d7d6"),
    ("Centre Game", "e2e4 e7e5 d2d4 e5d4 d1d4 b8c6 d4e3 g8f6"),
    ("Sicilian, Najdorf", "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6"),
    ("Sicilian, Dragon", "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 g7g6"),
    ("Sicilian, Sveshnikov", "e2e4 c7c5 g1f3 b8c6 d2d4 c5d4 f3d4 g8f6 b1c3 e7e5"),
    ("Sicilian, Taimanov", "e2e4 c7c5 g1f3 e7e6 d2d4 c5d4 f3d4 b8c6 b1c3 d8c7"),
    ("Sicilian, Accelerated Dragon", "e2e4 c7c5 g1f3 b8c6 d2d4 c5d4 f3d4 g7g6 c2c4 f8g7"),
    ("Sicilian, Rossolimo", "e2e4 c7c5 g1f3 b8c6 f1b5 g7g6 e1g1 f8g7"),
    ("Sicilian, Alapin", "e2e4 c7c5 c2c3 d7d5 e4d5 d8d5 d2d4 g8f6"),
    ("Sicilian, Closed", "e2e4 c7c5 b1c3 b8c6 g2g3 g7g6 f1g2 f8g7"),
    ("Sicilian, Smith-Morra", "e2e4 c7c5 d2d4 c5d4 c2c3 d4c3 b1c3 b8c6"),
    ("French, Winawer", "e2e4 e7e6 d2d4 d7d5 b1c3 f8b4 e4e5 c7c5"),
    ("French, Classical", "e2e4 e7e6 d2d4 d7d5 b1c3 g8f6 c1g5 f8e7"),
    ("French, Advance", "e2e4 e7e6 d2d4 d7d5 e4e5 c7c5 c2c3 b8c6"),
    ("French, Tarrasch", "e2e4 e7e6 d2d4 d7d5 b1d2 g8f6 e4e5 f6d7"),
    ("Caro-Kann, Classical", "e2e4 c7c6 d2d4 d7d5 b1c3 d5e4 c3e4 c8f5"),
    ("Caro-Kann, Advance", "e2e4 c7c6 d2d4 d7d5 e4e5 c8f5 g1f3 e7e6"),
    ("Caro-Kann, Panov", "e2e4 c7c6 d2d4 d7d5 e4d5 c6d5 c2c4 g8f6"),
    ("Pirc, Austrian", "e2e4 d7d6 d2d4 g8f6 b1c3 g7g6 f2f4 f8g7"),
    ("Modern", "e2e4 g7g6 d2d4 f8g7 b1c3 d7d6 c1e3 a7a6"),
    ("Scandinavian", "e2e4 d7d5 e4d5 d8d5 b1c3 d5a5 d2d4 g8f6"),
    ("Alekhine", "e2e4 g8f6 e4e5 f6d5 d2d4 d7d6 g1f3 c8g4"),
    ("Queen's Gambit declined", "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7"),
    ("Queen's Gambit, Exchange", "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c4d5 e6d5"),
    ("Queen's Gambit accepted", "d2d4 d7d5 c2c4 d5c4 g1f3 g8f6 e2e3 e7e6"),
    ("Tarrasch", "d2d4 d7d5 c2c4 e7e6 b1c3 c7c5 c4d5 e6d5"),
    ("Slav", "d2d4 d7d5 c2c4 c7c6 g1f3 g8f6 b1c3 d5c4"),
    ("Semi-Slav", "d2d4 d7d5 c2c4 c7c6 g1f3 g8f6 b1c3 e7e6 e2e3 b8d7"),
    ("Albin", "d2d4 d7d5 c2c4 e7e5 d4e5 d5d4 g1f3 b8c6"),
    ("Chigorin", "d2d4 d7d5 c2c4 b8c6 b1c3 d5c4"),
    ("London", "d2d4 d7d5 g1f3 g8f6 c1f4 c7c5 e2e3 b8c6"),
    ("Catalan", "d2d4 g8f6 c2c4 e7e6 g2g3 d7d5 f1g2 f8e7"),
    ("Nimzo-Indian, Rubinstein", "d2d4 g8f6 c2c4 e7e6 b1c3 f8b4 e2e3 e8g8"),
    ("Nimzo-Indian, Classical", "d2d4 g8f6 c2c4 e7e6 b1c3 f8b4 d1c2 d7d5"),
    ("Queen's Indian", "d2d4 g8f6 c2c4 e7e6 g1f3 b7b6 g2g3 c8a6"),
    ("King's Indian, Classical", "d2d4 g8f6 c2c4 g7g6 b1c3 f8g7 e2e4 d7d6 g1f3 e8g8"),
    ("King's Indian, Saemisch", "d2d4 g8f6 c2c4 g7g6 b1c3 f8g7 e2e4 d7d6 f2f3 e8g8"),
    ("Gruenfeld, Exchange", "d2d4 g8f6 c2c4 g7g6 b1c3 d7d5 c4d5 f6d5 e2e4 d5c3"),
    ("Benoni", "d2d4 g8f6 c2c4 c7c5 d4d5 e7e6 b1c3 e6d5 c4d5 d7d6"),
    ("Benko", "d2d4 g8f6 c2c4 c7c5 d4d5 b7b5 c4b5 a7a6"),
    ("Budapest", "d2d4 g8f6 c2c4 e7e5 d4e5 f6g4 c1f4 b8c6"),
    ("Trompowsky", "d2d4 g8f6 c1g5 e7e6 e2e4 h7h6 g5f6 d8f6"),
    ("Dutch, Leningrad", "d2d4 f7f5 g2g3 g8f6 f1g2 g7g6 g1f3 f8g7"),
    ("Dutch, Stonewall", "d2d4 f7f5 c2c4 g8f6 g2g3 e7e6 f1g2 d7d5"),
    ("English, Symmetrical", "c2c4 c7c5 b1c3 b8c6 g2g3 g7g6 f1g2 f8g7"),
    ("English, Reversed Sicilian", "c2c4 e7e5 b1c3 g8f6 g1f3 b8c6 g2g3 d7d5"),
    ("Reti", "g1f3 d7d5 c2c4 e7e6 g2g3 g8f6 f1g2 f8e7"),
    ("King's Indian Attack", "g1f3 d7d5 g2g3 g8f6 f1g2 c7c6 e1g1 c8g4"),
    ("Larsen", "b2b3 e7e5 c1b2 b8c6 e2e3 d7d5"),
    ("Bird", "f2f4 d7d5 g1f3 g7g6 e2e3 f8g7"),
    ("Polish", "b2b4 e7e5 c1b2 f8b4 b2e5 g8f6"),
)

# The openings of shogi, static and ranging rook, in USI notation.
_SHOGI = (
    ("Double Wing", "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 3i3h 7a7b"),
    ("Double Wing, pawn exchanged", "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2h 3c3d"),
    ("Double Wing, floating rook", "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2f 7a7b"),
    ("Climbing Silver", "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 3i3h 7a7b 3h2g 3c3d"),
    ("Side Pawn Picker", "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d 8e8f 8g8f 8b8f 2d3d 2b3c"),
    ("Side Pawn Picker refused", "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2h 7a7b"),
    ("Bishop Exchange", "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i6h 4a3b 6i7h 2b7g+ 6h7g 3a2b"),
    (
        "Bishop Exchange, Reclining Silver",
        "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i6h 4a3b 6i7h 2b7g+ 6h7g 3a2b 3i3h 7a7b 4g4f 6c6d 3h4g 7b6c",
    ),
    (
        "Bishop Exchange, Rushing Silver",
        "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i6h 4a3b 6i7h 2b7g+ 6h7g 3a2b 3i3h 7a7b 3h2g 2b3c",
    ),
    ("Tempo Loss Bishop Exchange", "7g7f 3c3d 2g2f 2b8h+ 7i8h 3a2b"),
    ("Tempo Loss Bishop Exchange, fourth-file rook", "7g7f 3c3d 2g2f 2b8h+ 7i8h 3a2b 3i4h 8b4b"),
    ("Fortress", "7g7f 8c8d 7i6h 3c3d 6h7g 7a6b 5g5f 5c5d 3i4h 3a4b"),
    ("Fortress, pawn on 66", "7g7f 8c8d 7i6h 3c3d 6g6f 7a6b 5g5f 5c5d 3i4h 3a4b"),
    ("Fortress, quick attack", "7g7f 8c8d 7i6h 3c3d 6h7g 7a7b 2g2f 7c7d"),
    ("Snow Roof", "7g7f 3c3d 6g6f 8c8d 7i6h 7a6b 6h6g 6a5b 2g2f 5a4b"),
    ("Right King", "7g7f 8c8d 7i6h 3c3d 6g6f 7c7d 6h6g 7a7b"),
    ("Third File Rook", "7g7f 8c8d 2h7h 8d8e 8h7g 3c3d 6g6f 7a6b"),
    ("Third File Rook by White", "7g7f 3c3d 2g2f 4c4d 3i4h 8b3b"),
    ("Quick Ishida", "7g7f 3c3d 7f7e 8c8d 2h7h 7a6b"),
    ("Ishida", "7g7f 3c3d 7f7e 8c8d 6g6f 8d8e 2h7h 7a6b"),
    ("Fourth File Rook", "7g7f 3c3d 6g6f 8c8d 2h6h 7a6b"),
    ("Fourth File Rook, Mino", "7g7f 3c3d 6g6f 8c8d 2h6h 7a6b 5i4h 5a4b 4h3h 4b3b"),
    ("Fourth File Rook by White", "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b"),
    ("Fourth File Rook by White, Mino", "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b 6h7h 6b7b 5g5f 7b8b"),
    ("Central Rook", "5g5f 8c8d 7g7f 8d8e 8h7g 7a6b 2h5h 4a3b"),
    ("Central Rook, bishop's file open", "7g7f 3c3d 5g5f 8c8d 2h5h 8d8e"),
    ("Cheerful Central Rook", "7g7f 3c3d 2g2f 5c5d 2f2e 8b5b"),
    ("Cheerful Central Rook, gold to 58", "7g7f 3c3d 2g2f 5c5d 4i5h 8b5b"),
    ("Cheerful Central Rook, quick silver", "7g7f 3c3d 2g2f 5c5d 2f2e 8b5b 5i6h 5d5e 3i4h 2b3c 3g3f 5a6b"),
    ("Opposing Rook", "7g7f 3c3d 2g2f 4c4d 2f2e 2b3c 3i4h 8b2b"),
    ("Opposing Rook by Black", "7g7f 8c8d 6g6f 8d8e 8h7g 3c3d 2h8h 7a6b"),
    ("Right Fourth File Rook", "7g7f 3c3d 4g4f 8c8d 3i4h 7a6b 4h4g 4a3b"),
    ("Sleeve Rook", "2g2f 3c3d 7g7f 4c4d 3g3f 3a4b 2h3h 4b4c"),
    ("Double Ranging Rook", "7g7f 3c3d 6g6f 3d3e 2h6h 8b3b"),
    ("Double Third File Rook", "7g7f 3c3d 7f7e 3d3e 2h7h 8b3b"),
    ("Double Central Rook", "7g7f 3c3d 5g5f 5c5d 2h5h 8b5b"),
    ("Demon Slayer", "7g7f 3c3d 8i7g 8c8d"),
    ("Edge Pawn", "9g9f 8c8d 7g7f 3c3d 6i7h 4a3b"),
)

BOOKS = {"chess": _CHESS, "shogi": _SHOGI, "go9": _numbered(GO9), "go19": _numbered(GO19)}  # by get_game's name

# Chess: Table 2 of the AlphaZero preprint (arXiv 1712.01815), by ECO code; the positions of its diagrams. Shogi is
# inferred: Figure 3 of the Science paper shows two openings as pictures, and its text says only that AlphaZero plays
# one often and leaves the other on the very first move. These are the two usual first moves, each with its usual reply.
PAPER = {
    "chess": (
        ("A10 English Opening", "c2c4"),
        ("D06 Queen's Gambit", "d2d4 d7d5 c2c4"),
        ("A46 Queen's Pawn Game", "d2d4 g8f6 g1f3"),
        ("E00 Queen's Pawn Game", "d2d4 g8f6 c2c4 e7e6"),
        ("E61 King's Indian Defence", "d2d4 g8f6 c2c4 g7g6 b1c3"),
        ("C00 French Defence", "e2e4 e7e6 d2d4 d7d5"),
        ("B50 Sicilian Defence", "e2e4 c7c5 g1f3 d7d6"),
        ("B30 Sicilian Defence", "e2e4 c7c5 g1f3 b8c6"),
        ("B40 Sicilian Defence", "e2e4 c7c5 g1f3 e7e6"),
        ("C60 Ruy Lopez", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"),
        ("B10 Caro-Kann Defence", "e2e4 c7c6"),
        ("A05 Reti Opening", "g1f3 g8f6"),
    ),
    "shogi": (
        ("Static rook, both rooks' pawns", "2g2f 8c8d"),
        ("Both bishops' files open", "7g7f 3c3d"),
    ),
}
