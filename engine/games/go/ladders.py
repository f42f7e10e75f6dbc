"""Ladders: which chains can be caught by giving atari again and again, as KataGo's nets are told.

The search is exact within its rules. To move on a chain with two liberties is the attacker, on one with one liberty the
defender. A defender in atari takes a chain around it that is in atari, or extends; two liberties on its own turn, or a
ko that the attacker has just taken, are an escape. The attacker fills one of two liberties; three are an escape.
"""

from __future__ import annotations

import numpy as np

from ...jit import device
from .state import EDGE, EMPTY, MAX_SIZE, WORDS

_CELLS = (MAX_SIZE + 1) * (MAX_SIZE + 2) + 1
_DEEPEST = 1024  # plies of one search
_CHOICES = 4 * _DEEPEST
_PATIENCE = 25_000  # moves after which a chain counts as escaped
_1 = np.uint64(1)

LADDER = np.dtype(
    [
        ("stride", "i8"),  # from a cell to the one below it: board size + 1
        ("ko", "i8"),  # cell that may not be played now, -1 = none
        ("epoch", "i8"),
        ("taken_count", "i8"),
        ("liberty", "i8", (4,)),  # out, by count
        ("mark", "i8", (_CELLS,)),  # epoch at which a cell was last visited
        ("queue", "i2", (_CELLS,)),  # stones of the chain counted last
        ("taken", "i2", (_DEEPEST * 8,)),  # stones that were captured, for taking moves back
        ("choice", "i2", (_CHOICES + _CELLS,)),  # moves to try, one stretch a ply
        ("begin", "i2", (_DEEPEST + 1,)),  # of a ply's stretch
        ("end", "i2", (_DEEPEST + 1,)),
        ("at", "i2", (_DEEPEST + 1,)),  # the choice that is tried
        ("ko_before", "i2", (_DEEPEST + 1,)),
        ("taken_before", "i2", (_DEEPEST + 1,)),
        ("colour", "u1", (_CELLS,)),
        ("done", "u1", (_CELLS,)),  # working space of survey
    ],
    align=True,
)
"""Working space. A cell is a point of a board with an edge around it: cell = stride * (row + 1) + column."""


@device
def prepare(l, size):
    """Make ``l`` ready for boards of that size: its edge, and no marks."""
    l.stride, l.epoch = size + 1, 0
    for i in range(_CELLS):
        l.colour[i] = EDGE
        l.mark[i] = 0


@device
def set_up(l, s):
    """Put the stones and the ko of a state on the board."""
    size = l.stride - 1
    p = 0
    for row in range(size):
        cell = l.stride * (row + 1)
        for _ in range(size):
            bit = np.uint64(p & 63)
            black = (s.stones[0, p >> 6] >> bit) & _1
            white = (s.stones[1, p >> 6] >> bit) & _1
            l.colour[cell] = EMPTY if not (black | white) else np.uint8(white)
            p += 1
            cell += 1
    l.ko = np.int64(-1)
    if s.ko >= 0:
        l.ko = (s.ko // size + 1) * l.stride + s.ko % size
    l.taken_count = 0


@device
def _neighbour(l, cell, k):
    """The cell beside a cell in direction k, 0 to 3."""
    return cell + (l.stride if k == 0 else -l.stride if k == 1 else 1 if k == 2 else -1)


@device
def count(l, cell, most):
    """(liberties of the chain on ``cell``, counted up to ``most`` <= 4; its stones, when they are fewer than that).

    The stones are left in ``queue``, the liberties in ``liberty``.
    """
    l.epoch += 1
    colour = l.colour[cell]
    l.queue[0] = cell
    l.mark[cell] = l.epoch
    stones, done, liberties = 1, 0, 0
    while done < stones:
        here = np.int64(l.queue[done])
        done += 1
        for k in range(4):
            q = _neighbour(l, here, k)
            if l.mark[q] == l.epoch:
                continue
            if l.colour[q] == EMPTY:
                l.mark[q] = l.epoch
                l.liberty[liberties] = q
                liberties += 1
                if liberties == most:
                    return liberties, stones
            elif l.colour[q] == colour:
                l.mark[q] = l.epoch
                l.queue[stones] = q
                stones += 1
    return liberties, stones


@device
def _empty_beside(l, cell):
    """Empty neighbours of a cell."""
    n = 0
    for k in range(4):
        n += l.colour[_neighbour(l, cell, k)] == EMPTY
    return n


@device
def _play(l, cell, colour):
    """Play a stone; False, and nothing has changed, when the ko or suicide forbids it. What it takes goes to ``taken``."""
    if l.colour[cell] != EMPTY or cell == l.ko:
        return False
    l.colour[cell] = colour
    before, alone = l.taken_count, True
    for k in range(4):
        q = _neighbour(l, cell, k)
        if l.colour[q] == 1 - colour:
            liberties, stones = count(l, q, 1)
            if liberties == 0:
                for i in range(stones):
                    l.colour[l.queue[i]] = EMPTY
                    l.taken[l.taken_count] = l.queue[i]
                    l.taken_count += 1
        elif l.colour[q] == colour:
            alone = False
    captured = l.taken_count - before
    if captured == 0 and count(l, cell, 1)[0] == 0:
        l.colour[cell] = EMPTY
        return False
    l.ko = -1
    if captured == 1 and alone and count(l, cell, 2)[0] == 1:
        l.ko = np.int64(l.taken[before])
    return True


@device
def _take_back(l, cell, colour, taken_before, ko_before):
    """Undo a move of ``colour``."""
    l.colour[cell] = EMPTY
    while l.taken_count > taken_before:
        l.taken_count -= 1
        l.colour[l.taken[l.taken_count]] = 1 - colour
    l.ko = ko_before


@device
def _add_captures(l, stones, colour, begin, end):
    """Append the moves that take a chain in atari beside the chain in ``queue``; the new end of the stretch.

    The chain's stones are moved into the room behind the stretch while its neighbours are looked at.
    """
    own = _CHOICES
    for i in range(stones):
        l.choice[own + i] = l.queue[i]
    entered = l.epoch
    for i in range(stones):
        for k in range(4):
            q = _neighbour(l, np.int64(l.choice[own + i]), k)
            if l.colour[q] != 1 - colour or l.mark[q] > entered:
                continue
            if count(l, q, 2)[0] == 1:
                move, known = l.liberty[0], False
                for j in range(begin, end):
                    known |= l.choice[j] == move
                if not known and end < _CHOICES:
                    l.choice[end] = move
                    end += 1
    return end


@device
def _takes_ko(l, cell, colour):
    """Whether a stone of ``colour`` on an empty cell would take a single stone in a ko."""
    found = np.int64(-1)
    for k in range(4):
        q = _neighbour(l, cell, k)
        if l.colour[q] == EDGE:
            continue
        if l.colour[q] != 1 - colour:
            return False
        if count(l, q, 2)[0] == 1:
            if found >= 0:
                return False
            found = q
    return found >= 0 and count(l, found, 2)[1] == 1


@device
def _liberties_after(l, cell, colour):
    """Liberties, counted up to 3, of the chain that a stone on an empty cell would make; 0 when it may not be played."""
    taken, ko = l.taken_count, l.ko
    l.ko = -1
    if not _play(l, cell, colour):
        l.ko = ko
        return 0
    n, _ = count(l, cell, 3)
    _take_back(l, cell, colour, taken, ko)
    return n


@device
def _dies_in_double_ko(l, cell, colour, a, b, begin):
    """Whether a chain has no other liberties than two kos that its owner cannot both hold."""
    if not (_takes_ko(l, a, 1 - colour) and _takes_ko(l, b, 1 - colour)):
        return False
    if _liberties_after(l, a, colour) > 2 or _liberties_after(l, b, colour) > 2:
        return False
    _, stones = count(l, cell, 4)
    return _add_captures(l, stones, colour, begin, begin) == begin


_ESCAPED, _CAUGHT, _OPEN = 0, 1, 2


@device
def _defend(l, cell, colour, depth):
    """The defender's choices at a ply, or how the search ends there."""
    liberties, stones = count(l, cell, 2)
    if liberties >= 2 or l.ko >= 0:
        return _ESCAPED
    last, begin = l.liberty[0], np.int64(l.begin[depth])
    end = _add_captures(l, stones, colour, begin, begin)
    if end >= _CHOICES or depth >= _DEEPEST - 1 or l.taken_count > 6 * _DEEPEST:
        return _ESCAPED
    l.choice[end] = last
    l.end[depth] = end + 1
    return _OPEN


@device
def _attack(l, cell, colour, depth):
    """The attacker's choices at a ply, or how the search ends there."""
    liberties, _ = count(l, cell, 3)
    if liberties <= 1:
        return _CAUGHT
    if liberties >= 3:
        return _ESCAPED
    a, b, begin = l.liberty[0], l.liberty[1], np.int64(l.begin[depth])
    free_a, free_b = _empty_beside(l, a), _empty_beside(l, b)
    if free_a == 0 and free_b == 0 and _dies_in_double_ko(l, cell, colour, a, b, begin):
        return _CAUGHT
    if free_b > free_a:
        a, b, free_a, free_b = b, a, free_b, free_a
    distance = abs(a - b)
    l.choice[begin] = a
    l.choice[begin + 1] = b
    l.end[depth] = begin + 2
    if distance != 1 and distance != l.stride and free_a >= 3:
        if free_b >= 3:
            return _ESCAPED
        l.end[depth] = begin + 1
    return _OPEN


@device
def is_caught(l, cell):
    """Whether the chain on ``cell``, in atari and its owner to move, cannot escape. The board stays as it is."""
    colour = l.colour[cell]
    ko = l.ko
    l.ko = -1  # every ko works for the defender at first
    depth, tried, entering, caught = 0, 0, True, False
    l.begin[0] = 0
    while depth >= 0:
        defending = depth % 2 == 0
        mover = colour if defending else 1 - colour
        if entering:
            verdict = _defend(l, cell, colour, depth) if defending else _attack(l, cell, colour, depth)
            if verdict != _OPEN:
                caught, entering = verdict == _CAUGHT, False
                depth -= 1
                continue
            l.at[depth] = l.begin[depth]
        else:
            move = np.int64(l.choice[l.at[depth]])
            _take_back(l, move, mover, np.int64(l.taken_before[depth]), np.int64(l.ko_before[depth]))
            if caught != defending or tried >= _PATIENCE:
                caught &= tried < _PATIENCE
                depth -= 1
                continue
            l.at[depth] += 1
        entering = False
        while l.at[depth] < l.end[depth]:
            l.ko_before[depth] = l.ko
            l.taken_before[depth] = l.taken_count
            if _play(l, np.int64(l.choice[l.at[depth]]), mover):
                entering = True
                break
            l.at[depth] += 1
        if not entering:
            caught = defending
            depth -= 1
            continue
        tried += 1
        depth += 1
        l.begin[depth] = l.end[depth - 1]
    l.ko = ko
    return caught


@device
def _catches(l, cell, move):
    """Whether the attacker catches the chain on ``cell`` by beginning with ``move``."""
    attacker = 1 - l.colour[cell]
    taken, ko = l.taken_count, l.ko
    if not _play(l, move, attacker):
        return False
    caught = is_caught(l, cell)
    _take_back(l, move, attacker, taken, ko)
    return caught


@device
def _point(l, cell):
    """The point of a cell."""
    return (cell // l.stride - 1) * (l.stride - 1) + cell % l.stride


@device
def survey(l, out, row, caught, liberties, openings, victim):
    """Set bytes of out[row] for every chain on the board.

    caught: offset of the plane of stones that a ladder catches. liberties: offset of three planes of stones with 1, 2
    and 3 liberties; openings: of the plane of points where a ladder against a chain of colour ``victim`` with two
    liberties begins. Without these two, when they are negative, it is quicker.
    """
    size = l.stride - 1
    most = 4 if liberties >= 0 else 3
    for i in range(_CELLS):
        l.done[i] = 0
    for r in range(1, size + 1):
        for cell in range(r * l.stride, r * l.stride + size):
            if l.colour[cell] >= EMPTY or l.done[cell]:
                continue
            n, _ = count(l, cell, most)
            if n == most:
                continue  # the chain's other stones come here again; that is cheaper than marking them
            a, b = l.liberty[0], l.liberty[1]
            lost = False
            if n == 1:
                lost = is_caught(l, cell)
            elif n == 2:
                by_a, by_b = _catches(l, cell, a), _catches(l, cell, b)
                lost = by_a or by_b
                if openings >= 0 and l.colour[cell] == victim:
                    if by_a:
                        out[row, openings + _point(l, a)] = 1
                    if by_b:
                        out[row, openings + _point(l, b)] = 1
            _, stones = count(l, cell, most)
            for i in range(stones):
                p = _point(l, np.int64(l.queue[i]))
                l.done[l.queue[i]] = 1
                if lost:
                    out[row, caught + p] = 1
                if liberties >= 0:
                    out[row, liberties + (n - 1) * size * size + p] = 1
