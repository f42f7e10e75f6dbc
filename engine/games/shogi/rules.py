"""The rules of shogi: legal moves, making them, check; :mod:`endings` has how a game ends.

A move is u16: to + 128 * from + 16384 * promotes; a drop has 81 + kind in place of from, kinds pawn, lance, knight,
silver, bishop, rook, gold. All legal moves are generated, with pointless non-promotions.
"""

from __future__ import annotations

import numpy as np

from ...kernels.bits import popcount
from ...kernels.jit import assign, device, kernel
from ..factory import Play
from .attacks import (
    BISHOP_LINES,
    FILES,
    GOLD_STEPS,
    KING_STEPS,
    KNIGHT_STEPS,
    LANCE_RAYS,
    LAST,
    LAST_TWO,
    NEAR_FILES,
    PAWN_STEPS,
    ROOK_LINES,
    SILVER_STEPS,
    ZONES,
    ahead,
    behind,
    between,
    bishop_attacks,
    bit,
    everything,
    files_without,
    first,
    lance_attacks,
    line_from,
    lookup,
    nothing,
    rook_attacks,
    set_of,
    side_lookup,
    sideways,
)
from .endings import count_checks, count_earlier, judge
from .state import (
    BISHOP,
    BISHOPS,
    BLACK_PIECES,
    GOLDS,
    HAND_KEYS,
    HELD,
    KING,
    KNIGHTS,
    LANCES,
    NOWHERE,
    PAWNS,
    PIECE_KEYS,
    PROMOTED,
    ROOKS,
    SET_OF,
    SILVERS,
    SQUARES,
    STEPPERS,
    TURN_KEY,
)

MAX_MOVES = 600  # a legal position has at most 593
DROPS = SQUARES  # a drop's from, plus the kind
PROMOTES = 1 << 14


@device
def attackers(s, square, side, occupied):
    """The pieces of a side that attack a square, given the occupied squares."""
    other = 1 - side
    return (
        (side_lookup(PAWN_STEPS, other, square) & set_of(s, PAWNS))
        | (side_lookup(KNIGHT_STEPS, other, square) & set_of(s, KNIGHTS))
        | (side_lookup(SILVER_STEPS, other, square) & set_of(s, SILVERS))
        | (side_lookup(GOLD_STEPS, other, square) & set_of(s, GOLDS))
        | (lookup(KING_STEPS, square) & set_of(s, STEPPERS))
        | far_attackers(s, square, other, occupied)
    ) & set_of(s, BLACK_PIECES + side)


@device
def far_attackers(s, square, other, occupied):
    """Men, of either side but for the lances of ``other``, that attack a square from afar."""
    return (
        (rook_attacks(square, occupied) & set_of(s, ROOKS))
        | (bishop_attacks(square, occupied) & set_of(s, BISHOPS))
        | (lance_attacks(square, other, occupied) & set_of(s, LANCES))
    )


@device
def _all_pieces(s):
    return set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)


@device
def in_check(s, side):
    return attackers(s, np.int64(s.kings[side]), 1 - side, _all_pieces(s)) != nothing()


@device
def attacked_squares(s, side, occupied, king):
    """Squares that a side attacks, given the occupied squares; complete only next to ``king``."""
    pieces = set_of(s, BLACK_PIECES + side)
    steppers = set_of(s, STEPPERS) & pieces
    golds = (set_of(s, GOLDS) & pieces) | steppers
    silvers = (set_of(s, SILVERS) & pieces) | steppers
    straight = ahead((set_of(s, PAWNS) & pieces) | golds | silvers, side) | behind(golds, side)
    askew = ahead(golds | silvers, side) | golds | behind(silvers, side)
    askew |= ahead(ahead(set_of(s, KNIGHTS) & pieces, side), side)
    result = straight | sideways(askew)
    sliders = set_of(s, LANCES) & pieces & lookup(NEAR_FILES, king)
    while sliders:
        square, sliders = first(sliders)
        result |= lance_attacks(square, side, occupied)
    sliders = set_of(s, ROOKS) & pieces
    while sliders:
        square, sliders = first(sliders)
        result |= rook_attacks(square, occupied)
    sliders = set_of(s, BISHOPS) & pieces
    while sliders:
        square, sliders = first(sliders)
        result |= bishop_attacks(square, occupied)
    return result


@device
def pins_and_checks(s, us, ours, enemy, king):
    """(squares that end a check, pinned own pieces, number of checkers); the first is everything without a check.

    A pinned piece may move along the line from the king through it only.
    """
    checkers = (
        (side_lookup(PAWN_STEPS, us, king) & set_of(s, PAWNS))
        | (side_lookup(KNIGHT_STEPS, us, king) & set_of(s, KNIGHTS))
        | (side_lookup(SILVER_STEPS, us, king) & set_of(s, SILVERS))
        | (side_lookup(GOLD_STEPS, us, king) & set_of(s, GOLDS))
        | (lookup(KING_STEPS, king) & set_of(s, STEPPERS))
    ) & enemy
    evasions, pinned = checkers, nothing()
    sliders = (
        (lookup(ROOK_LINES, king) & set_of(s, ROOKS))
        | (lookup(BISHOP_LINES, king) & set_of(s, BISHOPS))
        | (side_lookup(LANCE_RAYS, us, king) & set_of(s, LANCES))
    ) & enemy
    while sliders:
        square, sliders = first(sliders)
        path = between(king, square)
        blockers = path & (ours | enemy)
        if not blockers:
            checkers |= bit(square)
            evasions |= path | bit(square)
        elif not first(blockers)[1]:
            pinned |= blockers & ours
    number = popcount(checkers)
    if number == 0:
        evasions = everything()
    return evasions, pinned, number


@device
def emit(moves, row, n, source, targets):
    """Append moves from ``source`` (or drops) to moves[row, n:]; with ``moves`` None only count."""
    if moves is None:
        return n + popcount(targets)
    while targets:
        to, targets = first(targets)
        moves[row, n] = to + (source << 7)
        n += 1
    return n


@device
def _emit_both(moves, row, n, source, targets, zone, dead):
    """Append the moves of a piece that may promote; it cannot stay as it is on the squares of ``dead``."""
    promoting = targets if zone & bit(source) else targets & zone
    n = emit(moves, row, n, source + 128, promoting)  # shifted, 128 is PROMOTES
    return emit(moves, row, n, source, targets & ~dead)


@device
def _emit_pawns(moves, row, n, targets, step, promotion):
    """Append pawn moves to ``targets`` from the squares ``step`` behind them."""
    if moves is None:
        return n + popcount(targets)
    while targets:
        to, targets = first(targets)
        moves[row, n] = to + ((to + step) << 7) + promotion
        n += 1
    return n


@device
def board_moves(s, moves, row, n, occupied, evasions, pinned):
    """Append the moves on the board of all pieces but the king."""
    us = np.int64(s.turn)
    ours, king = set_of(s, BLACK_PIECES + us), np.int64(s.kings[us])
    allowed = ~ours & evasions
    zone, last, last_two = lookup(ZONES, us), lookup(LAST, us), lookup(LAST_TWO, us)
    none = nothing()

    pieces = set_of(s, PAWNS) & ours & (~pinned | lookup(FILES, king))
    targets = ahead(pieces, us) & allowed
    step = 1 - 2 * us
    n = _emit_pawns(moves, row, n, targets & zone, step, PROMOTES)
    n = _emit_pawns(moves, row, n, targets & ~last, step, 0)

    pieces = set_of(s, KNIGHTS) & ours & ~pinned
    while pieces:
        square, pieces = first(pieces)
        n = _emit_both(moves, row, n, square, side_lookup(KNIGHT_STEPS, us, square) & allowed, zone, last_two)
    pieces = set_of(s, LANCES) & ours
    while pieces:
        square, pieces = first(pieces)
        targets = lance_attacks(square, us, occupied) & allowed
        if pinned & bit(square):
            targets &= line_from(king, square)
        n = _emit_both(moves, row, n, square, targets, zone, last)
    pieces = set_of(s, SILVERS) & ours
    while pieces:
        square, pieces = first(pieces)
        targets = side_lookup(SILVER_STEPS, us, square) & allowed
        if pinned & bit(square):
            targets &= line_from(king, square)
        n = _emit_both(moves, row, n, square, targets, zone, none)
    pieces = set_of(s, GOLDS) & ours
    while pieces:
        square, pieces = first(pieces)
        targets = side_lookup(GOLD_STEPS, us, square) & allowed
        if pinned & bit(square):
            targets &= line_from(king, square)
        n = emit(moves, row, n, square, targets)
    pieces = (set_of(s, BISHOPS) | set_of(s, ROOKS)) & ours
    diagonal, promoted = set_of(s, BISHOPS), set_of(s, STEPPERS)
    while pieces:
        square, pieces = first(pieces)
        one = bit(square)
        targets = bishop_attacks(square, occupied) if diagonal & one else rook_attacks(square, occupied)
        if promoted & one:
            targets |= lookup(KING_STEPS, square)
        targets &= allowed
        if pinned & one:
            targets &= line_from(king, square)
        if promoted & one:
            n = emit(moves, row, n, square, targets)
        else:
            n = _emit_both(moves, row, n, square, targets, zone, none)
    return n


@device
def _drops(s, moves, row, n, us, ours, enemy, empty):
    if s.hands[us, 0]:
        targets = empty & files_without(set_of(s, PAWNS) & ours) & ~lookup(LAST, us)
        front = side_lookup(PAWN_STEPS, 1 - us, np.int64(s.kings[1 - us]))
        if targets & front and pawn_mates(s, us, ours, enemy):
            targets &= ~front
        n = emit(moves, row, n, DROPS, targets)
    if s.hands[us, 1]:
        n = emit(moves, row, n, DROPS + 1, empty & ~lookup(LAST, us))
    if s.hands[us, 2]:
        n = emit(moves, row, n, DROPS + 2, empty & ~lookup(LAST_TWO, us))
    for kind in range(3, HELD):
        if s.hands[us, kind]:
            n = emit(moves, row, n, DROPS + kind, empty)
    return n


@device
def pawn_mates(s, us, ours, enemy):
    """Whether a pawn of ``us`` put before the enemy king (on an empty square) mates it."""
    them = 1 - us
    king = np.int64(s.kings[them])
    square, _ = first(side_lookup(PAWN_STEPS, them, king))
    occupied = ours | enemy | bit(square)
    if not attackers(s, square, us, occupied):
        return False  # the king takes it
    guarded = attacked_squares(s, us, occupied & ~bit(king), king)
    if lookup(KING_STEPS, king) & ~enemy & ~guarded:
        return False
    capturers = attackers(s, square, them, occupied) & ~bit(king)
    while capturers:
        capturer, capturers = first(capturers)
        left = occupied & ~bit(capturer)
        if not far_attackers(s, king, them, left) & ours:
            return False
    return True


@device
def generate(s, moves, row):
    """Write the legal moves to moves[row] and return their number (i64); with ``moves`` None only count them."""
    us = np.int64(s.turn)
    ours, enemy = set_of(s, BLACK_PIECES + us), set_of(s, BLACK_PIECES + 1 - us)
    king = np.int64(s.kings[us])
    occupied = ours | enemy
    evasions, pinned, checkers = pins_and_checks(s, us, ours, enemy, king)
    danger = attacked_squares(s, 1 - us, occupied & ~bit(king), king)
    n = emit(moves, row, 0, king, lookup(KING_STEPS, king) & ~(ours | danger))
    if checkers > 1:
        return n
    n = board_moves(s, moves, row, n, occupied, evasions, pinned)
    empty = evasions & ~occupied
    if empty:
        n = _drops(s, moves, row, n, us, ours, enemy, empty)
    return n


@device
def _toggle(d, side, piece, square):
    """Put a piece (1 .. 14) of a side on the bitboards, or take it off; returns the change of the key."""
    word, one = square >> 6, np.uint64(1) << np.uint64(square & 63)
    d.sets[SET_OF[piece], word] ^= one
    if piece >= PROMOTED + BISHOP:  # horses and dragons
        d.sets[STEPPERS, word] ^= one
    d.sets[BLACK_PIECES + side, word] ^= one
    return PIECE_KEYS[(piece + 16 * side) * SQUARES + square]


@device
def _hand_key(side, kind, number):
    return HAND_KEYS[(side * HELD + kind) * 19 + number]


@device
def make(s, d, move):
    """Play a legal move: ``d`` becomes the position after it, but for ``checked``, ``checks`` and the repetitions.

    Those are for :func:`follow`: a count of moves needs none of them.
    """
    assign(d, s)
    us = np.int64(s.turn)
    to, source = np.int64(move & 127), np.int64((move >> 7) & 127)
    key = s.key ^ TURN_KEY
    d.turn = 1 - us
    d.ply = s.ply + 1 if s.ply < 65535 else 65535
    if source >= DROPS:
        kind = source - DROPS
        held = np.int64(s.hands[us, kind])
        d.hands[us, kind] = held - 1
        key ^= _hand_key(us, kind, held) ^ _hand_key(us, kind, held - 1)
        key ^= _toggle(d, us, kind + 1, to)
        d.board[to] = kind + 1 + 16 * us
    else:
        taken = np.int64(s.board[to] & 15)
        if taken:
            key ^= _toggle(d, 1 - us, taken, to)
            kind = (taken - PROMOTED if taken > KING else taken) - 1
            held = np.int64(s.hands[us, kind])
            d.hands[us, kind] = held + 1
            key ^= _hand_key(us, kind, held) ^ _hand_key(us, kind, held + 1)
        piece = np.int64(s.board[source] & 15)
        key ^= _toggle(d, us, piece, source)
        d.board[source] = 0
        if move & PROMOTES:
            piece += PROMOTED
        key ^= _toggle(d, us, piece, to)
        d.board[to] = piece + 16 * us
        if piece == KING:
            d.kings[us] = to
    d.key = key


@device
def settle(s):
    """Derive bitboards, kings, key and check from board, hands and turn."""
    for index in range(s.sets.shape[0]):
        s.sets[index, 0] = 0
        s.sets[index, 1] = 0
    key = TURN_KEY if s.turn else np.uint64(0)
    s.kings[0] = s.kings[1] = NOWHERE
    for square in range(SQUARES):
        piece, side = np.int64(s.board[square] & 15), np.int64(s.board[square] >> 4)
        if piece:
            key ^= _toggle(s, side, piece, square)
        if piece == KING:
            s.kings[side] = square
    for hand in range(2):
        for kind in range(HELD):
            key ^= _hand_key(hand, kind, np.int64(s.hands[hand, kind]))
    s.key = key
    s.checked = in_check(s, np.int64(s.turn))


@kernel
def settle_all(states):
    """Derive the dependent fields of State[N], in place: see :func:`settle`.

    Returns whether the side that is not to move is in check in the last one: then it cannot have arisen in a game.
    """
    for i in range(states.shape[0]):
        settle(states[i])
    if not states.shape[0]:
        return False
    s = states[states.shape[0] - 1]
    return in_check(s, 1 - np.int64(s.turn))


@device
def follow(states, keys, i, move):
    """states[i + 1] and keys[i + 1] become what follows states[i] by a legal move, checks and repetitions counted."""
    s, d = states[i], states[i + 1]
    make(s, d, move)
    d.checked = in_check(d, np.int64(d.turn))
    keys[i + 1] = d.key
    count_checks(s, d)
    count_earlier(states, keys, i + 1, 0)


@device
def _workspace(states):
    """u8[N]: the states' keys side by side, since repetitions reach back to the start."""
    return np.empty(states.shape[0], np.uint64)


@device
def _begin(keys, states, root):
    for i in range(root + 1):
        keys[i] = states[i].key


@device
def _rewind(keys, states, at):
    pass


@device
def _make(keys, states, at, move):
    make(states[at], states[at + 1], move)


@device
def _follow(keys, states, at, move):
    follow(states, keys, at, move)


@device
def _look(keys, states, at, at_root, moves, row):
    legal = generate(states[at], moves, row)
    return legal, judge(states[at], legal, at_root)


@device
def _count(keys, states, at, moves, row):
    return generate(states[at], None, 0)


PLAY = Play(_workspace, _begin, _rewind, _make, _follow, _look, _count)
