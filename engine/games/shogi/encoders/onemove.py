"""The mate in one that miniosl's planes show: not every mate, and the first of several in miniosl's order.

It looks at moves and drops next to the king and at knights, not at checks from afar or by a piece that uncovers
another, and judges by counting attacks. Its gaps are part of the planes; for correct mates see :mod:`mate`. Source:
ImmediateCheckmate and King8Info of miniosl 0.1.6 (https://github.com/tkaneko/miniosl).

A direction is miniosl's, 0..7: UL U UR L R DL D DR as the mating side sees it; it is the one in which the piece that
gives check looks at the king. Pieces are tried in the order of their numbers, u1[81] by square, see :mod:`miniosl`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....kernels.bits import popcount
from ....kernels.jit import device
from ..attacks import (
    COMPASS,
    DIRECTIONS,
    RAYS,
    ZONES,
    bishop_attacks,
    bit,
    first,
    line_from,
    lookup,
    nothing,
    reach,
    rook_attacks,
    set_of,
)
from ..checks import screens_of
from ..rules import DROPS, PROMOTES, attackers, far_attackers
from ..state import (
    BISHOP,
    BISHOPS,
    BLACK_PIECES,
    GOLD,
    KINDS,
    KING,
    KNIGHT,
    KNIGHTS,
    LANCE,
    LANCES,
    NOWHERE,
    PAWN,
    PROMOTED,
    ROOK,
    ROOKS,
    SILVER,
    SQUARES,
)

ORDER = np.array([7, 0, 1, 6, 2, 5, 4, 3], np.int64)  # the compass of attacks.py, by miniosl's direction
_INDEX = np.argsort(ORDER)  # miniosl's direction, by the compass
_UP = 1
_DROPPED = np.array([GOLD, LANCE, SILVER, BISHOP, ROOK], np.int64)  # in the order of trying
_CANNOT = 1 << 8  # in _UNTOUCHED: the piece cannot give check from there

Offset = tuple[int, int]  # files, ranks


def _covered(piece: int) -> set[Offset]:
    """The squares within two steps that a piece of black's attacks on an empty board."""
    north, north_east, east, south_east, south, south_west, west, north_west = COMPASS
    gold = [north, north_east, north_west, east, west, south]
    near = {
        PAWN: [north],
        KNIGHT: [(-1, -2), (1, -2)],
        SILVER: [north, north_east, north_west, south_east, south_west],
        GOLD: gold,
        KING: list(COMPASS),
        PROMOTED + BISHOP: list(COMPASS),
        PROMOTED + ROOK: list(COMPASS),
    }
    far = {LANCE: [north], BISHOP: list(COMPASS[1::2]), ROOK: list(COMPASS[::2])}
    results = set(near.get(piece, gold if piece > PROMOTED else []))
    return results | {
        (k * df, k * dr) for df, dr in far.get(piece - PROMOTED * (piece > PROMOTED + 4), []) for k in (1, 2)
    }


def _steps() -> list[Offset]:
    """By direction."""
    return [COMPASS[c] for c in ORDER]


def _untouched() -> NDArray[np.int64]:
    """i8[man, direction]: the king's squares, as a mask of directions, that a piece next to it does not attack."""
    table = np.full((KINDS + 1, 8), _CANNOT | 255, np.int64)
    for piece in range(1, KINDS + 1):
        covered = _covered(piece)
        for d, (df, dr) in enumerate(_steps()):
            if (df, dr) in covered:
                around = [e for e, (ef, er) in enumerate(_steps()) if e != d and (df - ef, dr - er) not in covered]
                table[piece, d] = sum(1 << e for e in around)
    return table


def _shadowed() -> NDArray[np.int64]:
    """i8[man, direction]: those of them that a piece dropped there may hide from a slider behind it."""
    table = np.zeros((KINDS + 1, 8), np.int64)
    for piece in range(1, KINDS + 1):
        for d, (df, dr) in enumerate(_steps()):
            for e, (ef, er) in enumerate(_steps()):
                x, y = df - ef, dr - er
                aligned = (x, y) != (0, 0) and (x == 0 or y == 0 or abs(x) == abs(y)) and (df, dr) != (-ef, -er)
                if aligned and _UNTOUCHED[piece, d] >> e & 1 and not _UNTOUCHED[piece, d] & _CANNOT:
                    table[piece, d] |= 1 << e
    return table


def _neighbours() -> NDArray[np.int8]:
    """i1[8 * 81]: the square next to one, [compass * 81 + square]; -1 off the board."""
    table = np.full((8, SQUARES), -1, np.int8)
    for c, (df, dr) in enumerate(COMPASS):
        for square in range(SQUARES):
            f, r = square // 9 + df, square % 9 + dr
            if 0 <= f < 9 and 0 <= r < 9:
                table[c, square] = 9 * f + r
    return table.ravel()


def _rough_directions() -> NDArray[np.int8]:
    """i1[81 * 81]: DIRECTIONS with miniosl's collisions: it numbers squares 16 * file + rank."""
    known = {}
    for c, (df, dr) in enumerate(COMPASS):
        known.update({k * (16 * df + dr): c for k in range(1, 9)})
    f, r = np.divmod(np.arange(SQUARES), 9)
    away = 16 * (f[None] - f[:, None]) + r[None] - r[:, None]
    return np.array([known.get(int(each), -1) for each in away.ravel()], np.int8)


def _knights_squares() -> NDArray[np.int8]:
    """i1[2, 2, 81]: from where a knight checks a king, [side, jump to the right or left, square]; -1 off the board."""
    table = np.full((2, 2, SQUARES), -1, np.int8)
    for side, sign in enumerate((1, -1)):
        for k, df in enumerate((1, -1)):
            for square in range(SQUARES):
                f, r = square // 9 + sign * df, square % 9 + sign * 2
                if 0 <= f < 9 and 0 <= r < 9:
                    table[side, k, square] = 9 * f + r
    return table


_UNTOUCHED = _untouched()
_SHADOWED = _shadowed()
_NEIGHBOURS = _neighbours()
_ROUGH = _rough_directions()
_KNIGHTS_SQUARES = _knights_squares()


@device
def _next_to(square, d, side):
    """The square from which a piece of ``side`` looks at ``square`` in direction d; -1 off the board."""
    return np.int64(_NEIGHBOURS[SQUARES * (ORDER[d] ^ (4 - 4 * side)) + square])


@device
def foremost(numbers, pieces):
    """The square of the piece with the lowest number, and the rest of the pieces."""
    best, left = first(pieces)
    while left:
        square, left = first(left)
        if numbers[square] < numbers[best]:
            best = square
    return best, pieces & ~bit(best)


@device
def _pusher(s, square, compass, occupied):
    """The square of the slider, of either side, whose line in that direction of the compass ends here; -1 = none."""
    ray = lookup(RAYS, SQUARES * (compass ^ 4) + square) & occupied
    ray &= bishop_attacks(square, occupied) if compass & 1 else rook_attacks(square, occupied)
    if not ray:
        return np.int64(-1)
    source, _ = first(ray)
    piece = np.int64(s.board[source] & 15)
    kind = piece - PROMOTED if piece > PROMOTED else piece
    if compass & 1:
        slides = kind == BISHOP
    else:
        slides = kind == ROOK or (piece == LANCE and compass == 4 * np.int64(s.board[source] >> 4))
    return source if slides else np.int64(-1)


@device
def _around(s, side, king, ours, enemy, occupied, pinned):
    """Four masks of directions of the squares next to the king to mate.

    Where it could go; what holds none of its own pieces; what the side attacks unguarded and may move to; the same if
    empty, for drops.
    """
    liberty, room, targets, drops = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for d in range(8):
        square = _next_to(king, d, side)
        if square < 0:
            continue
        one, mask = bit(square), np.int64(1) << d
        if not enemy & one:
            room |= mask
        if not attackers(s, square, side, occupied):
            if not enemy & one:
                liberty |= mask
            continue
        guards = attackers(s, square, 1 - side, occupied) & ~bit(king)
        if guards & (~pinned | line_from(king, square)) or ours & one:
            continue
        targets |= mask
        if not enemy & one:
            drops |= mask
    sliders = far_attackers(s, king, 1 - side, occupied) & ours  # it cannot flee along the line of an attack
    while sliders:
        square, sliders = first(sliders)
        liberty &= ~(np.int64(1) << _INDEX[np.int64(DIRECTIONS[SQUARES * king + square]) ^ (4 * side)])
    return liberty, room, targets, drops


@device
def _backed(s, pieces, square, ours, occupied):
    """Whether an own slider stands behind one of the pieces that attack a square, on the same line."""
    while pieces:
        source, pieces = first(pieces)
        direction = np.int64(DIRECTIONS[SQUARES * source + square])
        if direction < 0:  # a knight's jump
            continue
        slider = _pusher(s, source, direction, occupied)
        if slider >= 0 and ours & bit(slider):
            return True
    return False


@device
def _dragon_is_hidden(s, side, king, source, square, ours, enemy, occupied):
    """Whether a dragon that comes to a square diagonally next to the king is cut off from one beside it."""
    files, ranks = king // 9 - square // 9, king % 9 - square % 9
    if not (files * ranks == 1 or files * ranks == -1):
        return False
    for k in range(2):
        step = 9 * files if k == 0 else ranks
        beside = square + step
        if not occupied & bit(beside):
            continue
        f, r = square // 9 + (2 * files if k == 0 else 0), square % 9 + (0 if k == 0 else 2 * ranks)
        on_board = 0 <= f < 9 and 0 <= r < 9
        if on_board and not (enemy & bit(9 * f + r) or attackers(s, 9 * f + r, side, occupied) & ~bit(source)):
            return True
        f, r = king // 9 - (0 if k == 0 else 2 * files), king % 9 - (2 * ranks if k == 0 else 0)
        if source // 9 == f and source % 9 == r:
            piece = np.int64(s.board[beside])
            if reach(piece & 15, piece >> 4, beside, occupied) & bit(square):
                return True
    return False


@device
def _holds(s, side, room, d, source, square, piece, screens):
    """Whether the king has no square left when the piece from ``source`` checks it from ``square`` as ``man``."""
    ours, enemy = set_of(s, BLACK_PIECES + side), set_of(s, BLACK_PIECES + 1 - side)
    king, occupied = np.int64(s.kings[1 - side]), ours | enemy
    if piece == PROMOTED + ROOK and _dragon_is_hidden(s, side, king, source, square, ours, enemy, occupied):
        return False
    requested = room & _UNTOUCHED[piece, d]
    sliders = far_attackers(s, square, 1 - side, occupied) & ours & ~bit(source)
    for e in range(8):
        if not requested >> e & 1:
            continue
        flight = _next_to(king, e, side)
        count = popcount(attackers(s, flight, side, occupied) & ~bit(source))
        hidden = sliders & far_attackers(s, flight, 1 - side, occupied)
        while hidden and count:
            slider, hidden = first(hidden)
            if _ROUGH[SQUARES * slider + square] == _ROUGH[SQUARES * square + flight]:
                count -= 1
        if count == 0:
            return False
    if not screens & bit(source):
        return True
    home = np.int64(s.kings[side])
    return _ROUGH[SQUARES * home + square] == _ROUGH[SQUARES * home + source]


@device
def _by_neighbour(s, numbers, side, liberty, room, d, screens):
    """A mate by a piece that moves next to the king; -1 = none. ``screens``: between a slider and the own king."""
    ours, enemy = set_of(s, BLACK_PIECES + side), set_of(s, BLACK_PIECES + 1 - side)
    king, occupied = np.int64(s.kings[1 - side]), ours | enemy
    square = _next_to(king, d, side)
    pieces = attackers(s, square, side, occupied)
    if popcount(pieces) < 2 and not _backed(s, pieces, square, ours, occupied):
        return np.int64(-1)
    pieces &= ~bit(np.int64(s.kings[side]))
    while pieces:
        source, pieces = foremost(numbers, pieces)
        piece = np.int64(s.board[source] & 15)
        direction = np.int64(DIRECTIONS[SQUARES * source + square])
        if direction >= 0:
            slider = _pusher(s, source, direction, occupied)
            if slider >= 0 and enemy & bit(slider):
                continue  # which would take it
        move = square + (source << 7)
        if piece < GOLD and lookup(ZONES, side) & (bit(source) | bit(square)):
            promoted = piece + PROMOTED
            if not (liberty | _CANNOT) & _UNTOUCHED[promoted, d] and _holds(
                s, side, room, d, source, square, promoted, screens
            ):
                return move + PROMOTES
            if piece in (PAWN, BISHOP, ROOK):
                continue
        if not (liberty | _CANNOT) & _UNTOUCHED[piece, d] and _holds(s, side, room, d, source, square, piece, screens):
            return move
    return np.int64(-1)


@device
def _cuts_file(s, side, square, ours, enemy, occupied):
    """Whether a knight's square lies on the file of an own rook or lance that holds a square beyond it."""
    forward = 4 * side
    beyond = np.int64(_NEIGHBOURS[SQUARES * forward + square])
    both = far_attackers(s, square, 1 - side, occupied) & far_attackers(s, beyond, 1 - side, occupied) & ours
    behind = lookup(RAYS, SQUARES * (forward ^ 4) + square)
    if not both & (set_of(s, LANCES) | (set_of(s, ROOKS) & behind)):
        return False
    for _ in range(3):
        if beyond < 0 or enemy & bit(beyond):
            return False
        if popcount(attackers(s, beyond, side, occupied)) == 1:
            return True
        if occupied & bit(beyond):
            return False
        beyond = np.int64(_NEIGHBOURS[SQUARES * forward + beyond])
    return False


@device
def _cuts_diagonal(s, side, king, square, room, ours, enemy, occupied):
    """Whether a knight's square lies on the diagonal of an own bishop that holds the square before the king."""
    if not room >> _UP & 1:
        return False
    front = _next_to(king, _UP, side)
    both = far_attackers(s, front, 1 - side, occupied) & far_attackers(s, square, 1 - side, occupied)
    both &= ours & set_of(s, BISHOPS)
    while both:
        slider, both = first(both)
        direction = np.int64(DIRECTIONS[SQUARES * front + slider])
        if np.int64(_NEIGHBOURS[SQUARES * direction + front]) != square:
            continue
        if popcount(attackers(s, front, side, occupied)) == 1:
            return True
        if occupied & bit(front):
            return False
        beyond = np.int64(_NEIGHBOURS[SQUARES * (direction ^ 4) + front])
        if beyond >= 0 and not enemy & bit(beyond) and popcount(attackers(s, beyond, side, occupied)) == 1:
            return True
    return False


@device
def _by_knight(s, numbers, side, room, screens, pinned):
    """A mate by a knight's jump or drop; -1 = none."""
    ours, enemy = set_of(s, BLACK_PIECES + side), set_of(s, BLACK_PIECES + 1 - side)
    king, occupied = np.int64(s.kings[1 - side]), ours | enemy
    knights = set_of(s, KNIGHTS) & ours & ~screens
    for k in range(2):
        square = np.int64(_KNIGHTS_SQUARES[side, k, king])
        if square < 0 or ours & bit(square) or attackers(s, square, 1 - side, occupied) & ~pinned:
            continue
        jumpers = knights & attackers(s, square, side, occupied)
        drop = s.hands[side, KNIGHT - 1] > 0 and occupied & bit(square) == nothing()
        if not (jumpers or drop):
            continue
        if _cuts_file(s, side, square, ours, enemy, occupied):
            continue
        if _cuts_diagonal(s, side, king, square, room, ours, enemy, occupied):
            continue
        if jumpers:
            return square + (foremost(numbers, jumpers)[0] << 7)
        return square + ((DROPS + KNIGHT - 1) << 7)
    return np.int64(-1)


@device
def _by_drop(s, side, king, liberty, room, drops, ours, occupied):
    """A mate by a drop next to the king; -1 = none."""
    for k in range(_DROPPED.shape[0]):
        piece = _DROPPED[k]
        if not s.hands[side, piece - 1]:
            continue
        for d in range(8):
            if not drops >> d & 1 or (liberty | _CANNOT) & _UNTOUCHED[piece, d]:
                continue
            square = _next_to(king, d, side)
            requested = room & _SHADOWED[piece, d]
            sliders = far_attackers(s, square, 1 - side, occupied) & ours
            mates = True
            for e in range(8):
                if not requested >> e & 1 or not sliders:
                    continue
                flight = _next_to(king, e, side)
                if popcount(attackers(s, flight, side, occupied)) > 1:
                    continue
                hidden = sliders & far_attackers(s, flight, 1 - side, occupied)
                if hidden:
                    slider, _ = first(hidden)
                    if _ROUGH[SQUARES * slider + square] == _ROUGH[SQUARES * square + flight]:
                        mates = False
            if mates:
                return square + ((DROPS + piece - 1) << 7)
    return np.int64(-1)


@device
def mate_in_one(s, numbers, side):
    """The move (i64, as in :mod:`rules`) by which ``side`` would mate the other king, were it its turn; -1 = none.

    numbers u1[81]: those of the pieces, by square. The side's own king must not be in check.
    """
    king = np.int64(s.kings[1 - side])
    if king == NOWHERE:
        return np.int64(-1)
    ours, enemy = set_of(s, BLACK_PIECES + side), set_of(s, BLACK_PIECES + 1 - side)
    occupied = ours | enemy
    pinned = screens_of(s, side, king, occupied)
    liberty, room, targets, drops = _around(s, side, king, ours, enemy, occupied, pinned & enemy)
    if targets or not liberty:
        screens = screens_of(s, 1 - side, np.int64(s.kings[side]), occupied)
        for d in range(8):
            if targets >> d & 1:
                move = _by_neighbour(s, numbers, side, liberty, room, d, screens)
                if move >= 0:
                    return move
        if not liberty:
            move = _by_knight(s, numbers, side, room, screens, pinned)
            if move >= 0:
                return move
    return _by_drop(s, side, king, liberty, room, drops, ours, occupied)
