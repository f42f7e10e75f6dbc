"""Mates of a few plies at the leaves of the search: checks and every evasion, looked through to the end.

A net sees no combination; a mate in one or three is found in microseconds, where its evaluation takes hundreds.
"""

from __future__ import annotations

import numpy as np

from ...kernels.bits import lowest_bit
from ...kernels.jit import borrow, device, kernel
from ..factory import replay
from ..outcome import LOSS, RUNNING, WIN
from .attacks import (
    KNIGHT_ATTACKS,
    NONE,
    between_diagonal,
    between_straight,
    bishop_attacks,
    bit,
    first,
    pawn_attacks,
    rook_attacks,
)
from .rules import MAX_MOVES, PLAY, generate, in_check, make, sides
from .state import STATE

_replay = replay(PLAY)
NO_MOVE = 0  # from a1 to a1: no game has it
LONGEST = 7  # plies of a mate that is looked for at most
_MOST = 400  # positions that are made for one leaf at most


@device
def checks(s, moves, row):
    """Write the legal moves that may give check, all that do and few others, to moves[row]; returns their number."""
    own, enemy = sides(s)
    occupied = own | enemy
    king = lowest_bit(s.kings & enemy)
    straight, diagonal = rook_attacks(king, occupied), bishop_attacks(king, occupied)
    near = pawn_attacks(bit(king), 1 - s.turn)
    screens = _screens(s, own, enemy, king)
    n = 0
    for i in range(generate(s, moves, row)):
        move = np.int64(moves[row, i])
        source, target = bit(move & 63), bit((move >> 6) & 63)
        wanted = NONE
        if s.knights & source:
            wanted = KNIGHT_ATTACKS[king]
        elif s.pawns & source:
            wanted = near
        if (s.rooks | s.queens) & source:
            wanted |= straight
        if (s.bishops | s.queens) & source:
            wanted |= diagonal
        odd = move >> 12 or own & target or (s.pawns & source and (move >> 6) & 63 == np.int64(s.ep))
        if odd or (screens & source) | (wanted & target):
            moves[row, n] = move
            n += 1
    return n


@device
def _screens(s, own, enemy, king):
    """Own men that stand alone between an own slider and the enemy king."""
    found = NONE
    occupied = own | enemy
    sliders = rook_attacks(king, NONE) & (s.rooks | s.queens) & own
    while sliders:
        square, sliders = first(sliders)
        blockers = between_straight(king, square) & occupied
        if blockers & (blockers - np.uint64(1)) == NONE:
            found |= blockers
    sliders = bishop_attacks(king, NONE) & (s.bishops | s.queens) & own
    while sliders:
        square, sliders = first(sliders)
        blockers = between_diagonal(king, square) & occupied
        if blockers & (blockers - np.uint64(1)) == NONE:
            found |= blockers
    return found & own


@device
def _forced(line, moves, size, at, plies, left):
    """Whether a mate is forced within ``plies`` plies of line[0]: by its side to move when odd, of it when even.

    The one side plays checks, the other every evasion. line State[plies + 2], moves u2[plies + 1, M], size and at
    i8[plies + 1]: working space; afterwards at[0] - 1 is the place in moves[0] of the move that leads to the mate.
    left i8[1]: positions that may still be made; with none left nothing is forced.
    """
    depth, entering = np.int64(0), True  # a literal 0 would compile every callee twice
    while True:
        attacking = (plies - depth) % 2 == 1
        if entering:
            size[depth] = checks(line[depth], moves, depth) if attacking else generate(line[depth], moves, depth)
            at[depth] = 0
        if at[depth] < size[depth] and depth < plies:
            if left[0] == 0:
                return False
            left[0] -= 1
            make(line[depth], line[depth + 1], np.int64(moves[depth, at[depth]]))
            at[depth] += 1
            if attacking and not in_check(line[depth + 1]):
                entering = False
                continue
            depth, entering = depth + 1, True
            continue
        won = not attacking and at[depth] == size[depth]
        while depth > 0 and won == ((plies - depth) % 2 == 0):  # it settles the node before, too
            depth -= 1
        if depth == 0:
            return won
        depth, entering = depth - 1, False


@device
def _may_be_drawn(states, newest, plies):
    """Whether a rule may end the game as a draw before a mate in ``plies``: the fifty moves, or a third occurrence."""
    quiet = np.int64(states[newest].rule50)
    most = np.int64(0)
    for i in range(max(0, newest - quiet), newest + 1):
        most = max(most, np.int64(states[i].repetitions))
    return quiet + plies > 100 or most >= 1


@kernel
def mates(states, leaves, count, plies):
    """Look for forced mates of up to ``plies`` plies, at most LONGEST, at the leaves where the game goes on.

    states, leaves, count: as for ``describe``, which has been called. With an odd number of plies the side to move
    mates, with two it is in check and is mated. Of each leaf:
    outcome in and out: WIN or LOSS where there is such a mate, but not at the root itself
    end     out: its plies, -1 where there is none
    begin   out: the mating side's first move, NO_MOVE where there is none
    """
    states, leaves = borrow(states), borrow(leaves)
    mate, moves = np.empty(LONGEST + 2, STATE), np.empty((LONGEST + 1, MAX_MOVES), np.uint16)
    size, at, left = np.empty(LONGEST + 1, np.int64), np.empty(LONGEST + 1, np.int64), np.empty(1, np.int64)
    for b in range(count):
        leaf, line = leaves.rows[b], states[leaves.rows[b].slot]
        leaf.end, leaf.begin = -1, NO_MOVE
        if leaf.outcome != RUNNING:
            continue
        newest = _replay(None, line, leaves, b)
        mate[0] = line[newest]
        left[0] = _MOST
        checked, longest = in_check(mate[0]), min(plies, LONGEST)
        if longest > 1 and _may_be_drawn(line, newest, plies):
            longest = 1
        for n in range(1, longest + 1):
            if (n % 2 or checked) and _forced(mate, moves, size, at, n, left):
                if n % 2:
                    leaf.begin = moves[0, at[0] - 1]
                if newest != leaf.root:
                    leaf.outcome, leaf.end = WIN if n % 2 else LOSS, n
                break
