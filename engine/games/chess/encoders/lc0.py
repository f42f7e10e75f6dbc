"""Chess as Lc0's nets see it: 112 classical planes u1[112, 8, 8] and 1,858 actions.

Eight positions of 13 planes, newest first, all seen by the side that is to move now: P N B R Q K of that side, P N B R
Q K of its opponent, "occurred before". Then castling of the mover queen-side and king-side, of its opponent likewise,
black to move, the plies without progress (a plain number), zeros, ones. Ranks are mirrored for black, never files.

Positions before the game's first: zero when the game began with the normal start, else the first position again in
every place, and if its FEN named an en-passant square, with that pawn back at home. An action is a pair of squares that
a queen's or knight's move joins, castling being the king's way to its rook and a promotion to a knight the bare pair;
then promotions to queen, rook and bishop. Format and numbering are Lc0's (https://lczero.org), so that its nets can be
used as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....kernels.bits import lowest_bit
from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...factory import make_encoder
from ..attacks import ALL, NONE, bit
from ..checks import MATES
from ..rules import MAX_MOVES, PLAY
from ..state import WHITE
from .planes import fill_plane, set_squares

HISTORY = 8
STEP_PLANES = 13
_CASTLING = HISTORY * STEP_PLANES
_COLOUR, _NO_PROGRESS, _ONES = _CASTLING + 4, _CASTLING + 5, _CASTLING + 7
NUM_PLANES = _CASTLING + 8


def _tables() -> tuple[NDArray[np.int16], NDArray[np.int16], int]:
    """(action of [from * 64 + to], first of the three promotions of [file * 3 + file step + 1], number of actions)."""
    pairs, promotions = np.full(64 * 64, -1, np.int16), np.full(8 * 3, -1, np.int16)
    number = 0
    for source in range(64):
        for target in range(64):
            files, ranks = abs((source & 7) - (target & 7)), abs((source >> 3) - (target >> 3))
            if source != target and (files == 0 or ranks == 0 or files == ranks or files * ranks == 2):
                pairs[64 * source + target] = number
                number += 1
    for file in range(8):
        for step in (-1, 0, 1):
            if 0 <= file + step < 8:
                promotions[3 * file + step + 1] = number
                number += 3
    return pairs, promotions, number


_PAIRS, _PROMOTIONS, NUM_ACTIONS = _tables()


def plane_scale() -> NDArray[np.float32]:
    """f4[C]: what a network trained here multiplies each plane by; Lc0's own nets take them as they are."""
    scale = np.ones(NUM_PLANES, np.float32)
    scale[_NO_PROGRESS] = 1 / 128
    return scale


@device
def _is_start(s):
    """Whether this is the start position of standard chess."""
    return (
        s.turn == WHITE
        and s.white == np.uint64(0xFFFF)
        and s.black == np.uint64(0xFFFF << 48)
        and s.pawns == np.uint64(0xFF00000000FF00)
        and s.knights == np.uint64(0x42 | 0x42 << 56)
        and s.bishops == np.uint64(0x24 | 0x24 << 56)
        and s.queens == np.uint64(0x08 | 0x08 << 56)
        and s.castling == np.uint64(0x81 | 0x81 << 56)
        and s.rooks == s.castling
    )


@device
def _repeated(states, at, oldest):
    """Whether states[at] has occurred before; as in Lc0, not with a pawn that only a pin saved from en passant."""
    s = states[at]
    j, differs = at - 4, False
    while s.repetitions and j >= oldest and at - j <= s.rule50:
        if states[j].key == s.key:
            if states[j].ep_claim == s.ep_claim:
                return True
            differs = True
        j -= 2
    return s.repetitions > 0 and not differs  # before the oldest


@device
def _set_pieces(s, pawns, ours, enemy, flip, base, out, row):
    """Twelve planes of pieces from plane ``base`` on."""
    for side in range(2):
        pieces = ours if side == 0 else enemy
        plane = base + 6 * side
        set_squares(out, row, plane, pawns & pieces, flip)
        set_squares(out, row, plane + 1, s.knights & pieces, flip)
        set_squares(out, row, plane + 2, s.bishops & pieces, flip)
        set_squares(out, row, plane + 3, s.rooks & pieces, flip)
        set_squares(out, row, plane + 4, s.queens & pieces, flip)
        set_squares(out, row, plane + 5, s.kings & pieces, flip)


@device
def _fill_before(s, missing_from, history, flip, out, row):
    """The first position of a game that did not begin with the normal start stands for all before it."""
    pawns, white, black = s.pawns, s.white, s.black
    if s.ep_claim:
        file = np.int64(s.ep_claim) - 1
        if s.turn == WHITE:  # black's pawn stepped
            moved = bit(file + 32) | bit(file + 48)
            black ^= moved
        else:
            moved = bit(file + 24) | bit(file + 8)
            white ^= moved
        pawns ^= moved
    for t in range(missing_from, history):
        _set_pieces(s, pawns, black if flip else white, white if flip else black, flip, t * STEP_PLANES, out, row)


@device
def encode_row(work, states, newest, oldest, history, out, row):
    """Write the planes of states[newest], whose game begins at states[oldest], to out[row] (u1[C * H * W])."""
    for i in range(NUM_PLANES * 64):
        out[row, i] = 0
    now = states[newest]
    flip = np.int64(now.turn != WHITE)
    shown = min(history, newest - oldest + 1)
    for t in range(shown):
        s = states[newest - t]
        ours, enemy = (s.black, s.white) if flip else (s.white, s.black)
        _set_pieces(s, s.pawns, ours, enemy, flip, t * STEP_PLANES, out, row)
        if _repeated(states, newest - t, oldest):
            fill_plane(out, row, t * STEP_PLANES + 12, 1)
    if shown < history and not _is_start(states[oldest]):
        _fill_before(states[oldest], shown, history, flip, out, row)
    for side in range(2):
        pieces = now.white if flip == side else now.black
        king = lowest_bit(now.kings & pieces)
        rooks = now.castling & pieces
        fill_plane(out, row, _CASTLING + 2 * side, 1 if rooks & (bit(king) - np.uint64(1)) != NONE else 0)
        fill_plane(out, row, _CASTLING + 2 * side + 1, 1 if rooks & (ALL << np.uint64(king)) != NONE else 0)
    fill_plane(out, row, _COLOUR, flip)
    fill_plane(out, row, _NO_PROGRESS, min(np.int64(now.rule50), 255))
    fill_plane(out, row, _ONES, 1)


@device
def action_of(s, move):
    """The policy index (i64) of a legal move in a position."""
    source, target, promotion = np.int64(move & 63), np.int64((move >> 6) & 63), np.int64(move >> 12)
    if s.turn != WHITE:
        source ^= 56
        target ^= 56
    if promotion > 1:  # bishop 2, rook 3, queen 4
        return np.int64(_PROMOTIONS[3 * (source & 7) + (target & 7) - (source & 7) + 1]) + 4 - promotion
    return np.int64(_PAIRS[64 * source + target])


@device
def _key(work, states, newest, history, out, row):
    key = np.uint64(states[newest].rule50) | (np.uint64(states[0].ep_claim) << np.uint64(16))
    for t in range(min(history, newest + 1)):
        key = chain(key, states[newest - t].key + np.uint64(_repeated(states, newest - t, 0)))
    return chain(key, np.uint64(0))


ENCODERS = {
    "lc0": make_encoder(
        PLAY,
        encode_row,
        action_of,
        _key,
        mates=MATES,
        name="lc0",
        planes=(NUM_PLANES, 8, 8),
        num_actions=NUM_ACTIONS,
        max_moves=MAX_MOVES,
        history=HISTORY,
        planes_per_position=STEP_PLANES,
        plane_scale=plane_scale(),
    )
}
