"""The 4,672 actions of chess (Table S2): plane * 64 + the square the piece is picked up from, seen by the mover.

Planes 0..55 are queen moves, direction * 7 + distance - 1, directions N NE E SE S SW W NW; 56..63 knight moves,
clockwise from two up and one right; 64..72 underpromotions, 64 + 3 * (knight, bishop, rook) + (straight, left, right).
For black the board is turned upside down; files are not mirrored. Castling is the king's move of two squares; in a
Chess960 setting where king or rook do not stand on their usual files it is the king's way to the rook's square.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from .attacks import bit
from .state import WHITE

NUM_ACTIONS = 73 * 64
_DIRECTION = np.array([[5, 4, 3], [6, -1, 2], [7, 0, 1]], np.int64)  # [sign of rank step + 1][sign of file step + 1]
_KNIGHT = np.full((5, 5), -1, np.int64)  # [file step + 2][rank step + 2]
for _i, (_f, _r) in enumerate([(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]):
    _KNIGHT[_f + 2, _r + 2] = _i


@device
def action_of(s, move):
    """The policy index (i64) of a legal move in a position."""
    source, target, promotion = np.int64(move & 63), np.int64((move >> 6) & 63), np.int64(move >> 12)
    ours = s.white if s.turn == WHITE else s.black
    if ours & bit(target) and source & 7 == 4 and (target & 7 == 0 or target & 7 == 7):  # castling from the e-file
        target = source + 2 if target > source else source - 2
    if s.turn != WHITE:
        source ^= 56
        target ^= 56
    files, ranks = (target & 7) - (source & 7), (target >> 3) - (source >> 3)
    if promotion and promotion < 4:
        side = 0 if files == 0 else (1 if files < 0 else 2)
        plane = 64 + 3 * (promotion - 1) + side
    elif files * ranks == 2 or files * ranks == -2:
        plane = 56 + _KNIGHT[files + 2, ranks + 2]
    else:
        distance = max(abs(files), abs(ranks))
        plane = 7 * _DIRECTION[np.sign(ranks) + 1, np.sign(files) + 1] + distance - 1
    return plane * 64 + source
