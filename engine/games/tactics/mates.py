"""Short mates at the leaves of a search: the one side gives checks, the other tries every evasion.

A net sees no combination; a mate in one or three is found in a microsecond, where its evaluation takes hundreds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...kernels.jit import borrow, device

Function = Callable[..., Any]  # of numba: typed by its calls

NO_MOVE = 0xFFFF  # no move of a game that looks for mates
LONGEST = 7  # plies of a mate that is looked for at most
_MOST = 400  # positions that are made for one leaf at most


class Attack(NamedTuple):
    """How a king is attacked in a game: device functions over records of its states."""

    max_moves: int
    generate: Function  # (s, moves, row) -> number of legal moves, written to moves[row]
    can_move: Function  # (s, moves, row) -> whether there is any; moves[row] may be used
    checks: Function  # (s, moves, row) -> number of those that give check, written to moves[row]
    keep_checks: Function  # (s, moves, row, legal): the same where moves[row, :legal] are the legal moves
    exact: bool  # whether these give check without exception; else in_check of what follows tells
    make: Function  # (s, d, move): record d becomes what follows record s
    in_check: Function  # (s) -> whether the side to move is
    longest: Function  # (line, at, plies) -> plies, at most ``plies``, in which no rule ends the game before a mate


class Mates(NamedTuple):
    """How ``describe`` looks for short mates: device functions."""

    space: Function  # () -> working space, once a call of a kernel
    find: Function  # (line, at, moves, row, legal, plies, space) -> (plies of the mate, 0 without one; its first move)


@device
def _no_space():
    return None


@device
def _no_mate(line, at, moves, row, legal, plies, space):
    return 0, NO_MOVE


NO_MATES = Mates(_no_space, _no_mate)


def _search(attack: Attack) -> Function:
    """The device function that looks through all checks and evasions."""
    generate, can_move, checks, make, in_check, exact = (
        attack.generate, attack.can_move, attack.checks, attack.make, attack.in_check, attack.exact,
    )  # fmt: skip

    @device
    def forced(line, at, plies, space):
        """Whether a mate is forced within ``plies`` plies of line[at]: by its side to move when odd, of it when even.

        space.moves[0] lists what may be played in line[at], and what follows is written behind it. Afterwards
        tried[0] - 1 is the place in moves[0] of the move that leads to the mate.
        """
        depth, entering = 0, True
        moves, space.tried[0] = borrow(space.moves), 0
        while True:
            attacking, s = (plies - depth) % 2 == 1, line[at + depth]
            if entering and depth > 0:
                if attacking:
                    space.size[depth] = checks(s, moves, depth)
                elif depth < plies:
                    space.size[depth] = generate(s, moves, depth)
                else:
                    space.size[depth] = 1 if can_move(s, moves, depth) else 0
                space.tried[depth] = 0
            if space.tried[depth] < space.size[depth] and depth < plies:
                if space.left == 0:
                    return False
                space.left -= 1
                make(s, line[at + depth + 1], np.int64(moves[depth, space.tried[depth]]))
                space.tried[depth] += 1
                entering = exact or not attacking or in_check(line[at + depth + 1])
                if entering:
                    depth += 1
                continue
            won = not attacking and space.tried[depth] == space.size[depth]
            while depth > 0 and won == ((plies - depth) % 2 == 0):  # it settles the node before, too
                depth -= 1
            if depth == 0:
                return won
            depth, entering = depth - 1, False

    return forced


def short_mates(attack: Attack) -> Mates:
    """The mates of a game."""
    keep_checks, in_check, longest, forced = attack.keep_checks, attack.in_check, attack.longest, _search(attack)
    space_dtype = np.dtype(
        [
            ("moves", "u2", (LONGEST + 1, attack.max_moves)),  # by depth: what is tried there
            ("size", "i8", LONGEST + 1),  # how many
            ("tried", "i8", LONGEST + 1),  # how many of them have been
            ("left", "i8"),  # positions that may still be made; with none left nothing is forced
        ],
        align=True,
    )

    @device
    def make_space():
        return np.empty(1, space_dtype)

    @device
    def list_moves(s, moves, row, legal, plies, space):
        """Make moves[row, :legal], or the checks among them for odd ``plies``, the moves to begin with; how many."""
        for k in range(legal):
            space.moves[0, k] = moves[row, k]
        space.size[0] = keep_checks(s, borrow(space.moves), np.int64(0), legal) if plies % 2 else legal
        return space.size[0]

    @device
    def find(line, at, moves, row, legal, plies, spaces):
        """The shortest mate of line[at] in State[T], which has ``legal`` moves in moves[row]: (plies, first move).

        Its length is odd when the side to move mates, even when it is in check and is mated; at most ``plies``, which
        the room behind line[at] limits, too. (0, NO_MOVE) when none is found; being mated begins with NO_MOVE.
        """
        space = spaces[0]
        plies = min(plies, LONGEST, line.shape[0] - 1 - at)
        giving = list_moves(line[at], moves, row, legal, np.int64(1), space)
        checked = plies > 1 and in_check(line[at])
        if giving == 0 and not checked:
            return 0, NO_MOVE
        space.left = _MOST
        for n in range(np.int64(1), longest(line, at, plies) + 1):
            attacking = n % 2 == 1
            if not (giving if attacking else checked):
                continue
            if n > 1:
                list_moves(line[at], moves, row, legal, n, space)
            if forced(line, at, n, space):
                return n, np.int64(space.moves[0, space.tried[0] - 1]) if attacking else NO_MOVE
        return 0, NO_MOVE

    return Mates(make_space, find)
