"""Chess as sparse nets see it: 3,072 features and 5,574 rows of moves, from the mover's side of the board.

For black the board is turned upside down, and where the mover's king then stands on the files e to h it is mirrored, so
that this king is always on a to d. A feature is a piece on a square and its safety:
((defended * 2 + attacked) * 2 + enemy's) * 384 + kind * 64 + square, kinds P N B R Q K, "attacked" by the other side.
A move's row is its pair of squares (those that a queen's or knight's move joins, then the promotions but to a queen)
times three, plus what it loses or wins in the exchange that follows, see :mod:`exchanges`.
"""

from __future__ import annotations

import numpy as np

from ....kernels.bits import lowest_bit, popcount
from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...encoder import NO_TABLES
from ...sparse import make_sparse_encoder, put
from ..attacks import KING_ATTACKS, bit, first, knight_attacks, pawn_attacks, slider_attacks
from ..checks import MATES
from ..exchanges import exchange_beside
from ..generation import sides
from ..rules import MAX_MOVES, PLAY, piece_at
from ..state import WHITE

FEATURES = 4 * 2 * 6 * 64
_NEARLY_DRAWN = 60  # plies without progress from which positions with other such plies are others


def _numbers():
    """(row / 3 of [from * 64 + to], of [((file * 3 + file step + 1) * 3 + promotion - 1], their number)."""
    pairs, promotions, number = np.full(64 * 64, -1, np.int16), np.full(8 * 3 * 3, -1, np.int16), 0
    for source in range(64):
        for target in range(64):
            files, ranks = abs((source & 7) - (target & 7)), abs((source >> 3) - (target >> 3))
            if source != target and (files == 0 or ranks == 0 or files == ranks or files * ranks == 2):
                pairs[64 * source + target] = number
                number += 1
    for file in range(8):
        for step in (-1, 0, 1):
            for kind in range(3):
                if 0 <= file + step < 8:
                    promotions[(3 * file + step + 1) * 3 + kind] = number
                    number += 1
    return pairs, promotions, number


_PAIRS, _PROMOTIONS, _NUMBER = _numbers()
ROWS = 3 * _NUMBER


@device
def _turning(s):
    """What to XOR squares with: 56 turns the board upside down, 7 mirrors it."""
    ours, _ = sides(s)
    return (0 if s.turn == WHITE else 56) ^ (7 if lowest_bit(s.kings & ours) & 4 else 0)


@device
def _attacked(s, pieces, colour, occupied):
    """All squares that pieces of a colour attack."""
    queens = s.queens & pieces
    return (
        slider_attacks((s.bishops & pieces) | queens, (s.rooks & pieces) | queens, occupied)
        | knight_attacks(s.knights & pieces)
        | pawn_attacks(s.pawns & pieces, colour)
        | KING_ATTACKS[lowest_bit(s.kings & pieces)]
    )


@device
def list_features(s, out, row):
    ours, enemy = sides(s)
    mover = np.int64(s.turn)
    occupied = ours | enemy
    by_ours, by_enemy = _attacked(s, ours, mover, occupied), _attacked(s, enemy, 1 - mover, occupied)
    turning, n, pieces = _turning(s), 0, occupied
    while pieces:
        square, pieces = first(pieces)
        mask = bit(square)
        if ours & mask:
            enemys, attacked, defended = 0, by_enemy & mask, by_ours & mask
        else:
            enemys, attacked, defended = 1, by_ours & mask, by_enemy & mask
        safety = (4 if defended else 0) + (2 if attacked else 0) + enemys
        put(out, row, n, safety * 384 + piece_at(s, square) * 64 + (square ^ turning))
        n += 1
    return n


@device
def survey(s):
    """What the moves of a position share: how squares are turned, and the squares that the other side attacks."""
    ours, enemy = sides(s)
    return _turning(s), _attacked(s, enemy, np.int64(1 - s.turn), ours | enemy)


@device
def action_of(s, move, seen):
    """The policy row (i64) of a legal move in a position; seen: what :func:`survey` says of it."""
    turning, attacked = seen
    source, target, promotion = np.int64(move & 63) ^ turning, np.int64((move >> 6) & 63) ^ turning, move >> 12
    if promotion and promotion < 4:
        number = _PROMOTIONS[(3 * (source & 7) + (target & 7) - (source & 7) + 1) * 3 + promotion - 1]
    else:
        number = _PAIRS[64 * source + target]
    return 3 * np.int64(number) + exchange_beside(s, move, attacked)


@device
def _key(s):
    return s.key if s.rule50 < _NEARLY_DRAWN else chain(s.key, np.uint64(s.rule50))


@device
def _table_pieces(s):
    if s.rule50 or s.castling:
        return np.int64(NO_TABLES)
    return np.int64(popcount(s.white | s.black))


ENCODER = make_sparse_encoder(
    PLAY,
    list_features,
    action_of,
    _key,
    survey=survey,
    mates=MATES,
    table_pieces=_table_pieces,
    features=FEATURES,
    alike=(4, 3),
    transpositions=True,
    board=(8, 8),
    num_actions=ROWS,
    max_moves=MAX_MOVES,
)
