"""Ladders: which chains a series of ataris captures, as KataGo's planes show it.

The search is exact within its rules. The attacker moves when the chain has two liberties, the defender when it has one.
A defender in atari takes a chain around it that is in atari, or extends; two liberties on its own turn, or a ko that
the attacker has just taken, are an escape. The attacker fills one of two liberties; three are an escape.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from .state import EDGE, EMPTY, MAX_SIZE

_CELLS = (MAX_SIZE + 1) * (MAX_SIZE + 2) + 1
_DEEPEST = 1024  # plies of one search
_CHOICES = 4 * _DEEPEST
_PATIENCE = 25_000  # moves after which a chain counts as escaped
_1 = np.uint64(1)

LADDER = np.dtype(
    [
        ("stride", "i8"),  # from a cell to the one below it: the board's columns + 1
        ("rows", "i8"),  # of the board
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
def prepare(t, s):
    """Make ``t`` ready for boards as wide and as high as that of a state: its edge, and no marks."""
    t.stride, t.rows, t.epoch = np.int64(s.columns) + 1, s.rows, 0
    for i in range(_CELLS):
        t.colour[i] = EDGE
        t.mark[i] = 0


@device
def set_up(t, s):
    """Put the stones and the ko of a state on the board."""
    columns = t.stride - 1
    p = 0
    for row in range(t.rows):
        cell = t.stride * (row + 1)
        for _ in range(columns):
            bit = np.uint64(p & 63)
            black = (s.stones[0, p >> 6] >> bit) & _1
            white = (s.stones[1, p >> 6] >> bit) & _1
            t.colour[cell] = EMPTY if not (black | white) else np.uint8(white)
            p += 1
            cell += 1
    t.ko = np.int64(-1)
    if s.ko >= 0:
        t.ko = (s.ko // columns + 1) * t.stride + s.ko % columns
    t.taken_count = 0


@device
def _neighbour(t, cell, k):
    """The cell beside a cell in direction k, 0 to 3."""
    return cell + (t.stride if k == 0 else -t.stride if k == 1 else 1 if k == 2 else -1)


@device
def count(t, cell, most):
    """(liberties of the chain on ``cell``, counted up to ``most`` <= 4; its stones, when they are fewer than that).

    The stones are left in ``queue``, the liberties in ``liberty``.
    """
    t.epoch += 1
    colour = t.colour[cell]
    t.queue[0] = cell
    t.mark[cell] = t.epoch
    stones, done, liberties = 1, 0, 0
    while done < stones:
        point = np.int64(t.queue[done])
        done += 1
        for k in range(4):
            q = _neighbour(t, point, k)
            if t.mark[q] == t.epoch:
                continue
            if t.colour[q] == EMPTY:
                t.mark[q] = t.epoch
                t.liberty[liberties] = q
                liberties += 1
                if liberties == most:
                    return liberties, stones
            elif t.colour[q] == colour:
                t.mark[q] = t.epoch
                t.queue[stones] = q
                stones += 1
    return liberties, stones


@device
def _empty_beside(t, cell):
    n = 0
    for k in range(4):
        n += t.colour[_neighbour(t, cell, k)] == EMPTY
    return n


@device
def _play(t, cell, colour):
    """Play a stone and note its captures in ``taken``; False and no change when ko or suicide forbid it."""
    if t.colour[cell] != EMPTY or cell == t.ko:
        return False
    t.colour[cell] = colour
    before, alone = t.taken_count, True
    for k in range(4):
        q = _neighbour(t, cell, k)
        if t.colour[q] == 1 - colour:
            liberties, stones = count(t, q, 1)
            if liberties == 0:
                for i in range(stones):
                    t.colour[t.queue[i]] = EMPTY
                    t.taken[t.taken_count] = t.queue[i]
                    t.taken_count += 1
        elif t.colour[q] == colour:
            alone = False
    captured = t.taken_count - before
    liberties, _ = count(t, cell, 2)
    if liberties == 0:
        t.colour[cell] = EMPTY
        return False
    t.ko = np.int64(t.taken[before]) if captured == 1 and alone and liberties == 1 else np.int64(-1)
    return True


@device
def _take_back(t, cell, colour, taken_before, ko_before):
    t.colour[cell] = EMPTY
    while t.taken_count > taken_before:
        t.taken_count -= 1
        t.colour[t.taken[t.taken_count]] = 1 - colour
    t.ko = ko_before


@device
def _add_captures(t, stones, colour, begin, end):
    """Append the moves that take a chain in atari beside the chain in ``queue``; the new end of the stretch.

    The chain's stones are moved into the room behind the stretch while its neighbours are looked at.
    """
    ours = _CHOICES
    for i in range(stones):
        t.choice[ours + i] = t.queue[i]
    entered = t.epoch
    for i in range(stones):
        for k in range(4):
            q = _neighbour(t, np.int64(t.choice[ours + i]), k)
            if t.colour[q] != 1 - colour or t.mark[q] > entered:
                continue
            if count(t, q, 2)[0] == 1:
                move, known = t.liberty[0], False
                for j in range(begin, end):
                    known |= t.choice[j] == move
                if not known and end < _CHOICES:
                    t.choice[end] = move
                    end += 1
    return end


@device
def _takes_ko(t, cell, colour):
    """Whether a stone of ``colour`` on an empty cell would take a single stone in a ko."""
    result = np.int64(-1)
    for k in range(4):
        q = _neighbour(t, cell, k)
        if t.colour[q] == EDGE:
            continue
        if t.colour[q] != 1 - colour:
            return False
        if count(t, q, 2)[0] == 1:
            if result >= 0:
                return False
            result = q
    return result >= 0 and count(t, result, 2)[1] == 1


@device
def _liberties_after(t, cell, colour):
    """Liberties, counted up to 3, of the chain that a stone on an empty cell would make; 0 when it has none."""
    taken, ko = t.taken_count, t.ko
    t.ko = -1
    if not _play(t, cell, colour):
        t.ko = ko
        return 0
    n, _ = count(t, cell, 3)
    _take_back(t, cell, colour, taken, ko)
    return n


@device
def _dies_in_double_ko(t, cell, colour, a, b, begin):
    """Whether a chain has no other liberties than two kos that its owner cannot both hold."""
    for k in range(2):
        liberty = a if k == 0 else b
        if not _takes_ko(t, liberty, 1 - colour) or _liberties_after(t, liberty, colour) > 2:
            return False
    _, stones = count(t, cell, 4)
    return _add_captures(t, stones, colour, begin, begin) == begin


_ESCAPED, _CAUGHT, _OPEN = 0, 1, 2


@device
def _defend(t, cell, colour, depth):
    """The defender's choices at a ply, or how the search ends there."""
    liberties, stones = count(t, cell, 2)
    if liberties >= 2 or t.ko >= 0:
        return _ESCAPED
    last, begin = t.liberty[0], np.int64(t.begin[depth])
    end = _add_captures(t, stones, colour, begin, begin)
    if end >= _CHOICES or depth >= _DEEPEST - 1 or t.taken_count > 6 * _DEEPEST:
        return _ESCAPED
    t.choice[end] = last
    t.end[depth] = end + 1
    return _OPEN


@device
def _attack(t, cell, colour, depth):
    """The attacker's choices at a ply, or how the search ends there."""
    liberties, _ = count(t, cell, 3)
    if liberties <= 1:
        return _CAUGHT
    if liberties >= 3:
        return _ESCAPED
    a, b, begin = t.liberty[0], t.liberty[1], np.int64(t.begin[depth])
    free_a, free_b = _empty_beside(t, a), _empty_beside(t, b)
    if free_a == 0 and free_b == 0 and _dies_in_double_ko(t, cell, colour, a, b, begin):
        return _CAUGHT
    if free_b > free_a:
        a, b, free_a, free_b = b, a, free_b, free_a
    distance = abs(a - b)
    t.choice[begin] = a
    t.choice[begin + 1] = b
    t.end[depth] = begin + 2
    if distance != 1 and distance != t.stride and free_a >= 3:
        if free_b >= 3:
            return _ESCAPED
        t.end[depth] = begin + 1
    return _OPEN


@device
def is_caught(t, cell):
    """Whether the chain on ``cell``, in atari and its owner to move, cannot escape. The board stays as it is."""
    colour = t.colour[cell]
    ko = t.ko
    t.ko = -1  # at first every ko favours the defender
    depth, tried, entering, caught = 0, 0, True, False
    t.begin[0] = 0
    while depth >= 0:
        defending = depth % 2 == 0
        mover = colour if defending else 1 - colour
        if entering:
            verdict = _defend(t, cell, colour, depth) if defending else _attack(t, cell, colour, depth)
            if verdict != _OPEN:
                caught, entering = verdict == _CAUGHT, False
                depth -= 1
                continue
            t.at[depth] = t.begin[depth]
        else:
            move = np.int64(t.choice[t.at[depth]])
            _take_back(t, move, mover, np.int64(t.taken_before[depth]), np.int64(t.ko_before[depth]))
            if caught != defending or tried >= _PATIENCE:
                caught &= tried < _PATIENCE
                depth -= 1
                continue
            t.at[depth] += 1
        entering = False
        while t.at[depth] < t.end[depth]:
            t.ko_before[depth] = t.ko
            t.taken_before[depth] = t.taken_count
            if _play(t, np.int64(t.choice[t.at[depth]]), mover):
                entering = True
                break
            t.at[depth] += 1
        if not entering:
            caught = defending
            depth -= 1
            continue
        tried += 1
        depth += 1
        t.begin[depth] = t.end[depth - 1]
    t.ko = ko
    return caught


@device
def catches(t, cell, move):
    """Whether the attacker catches the chain on ``cell`` by beginning with ``move``."""
    attacker = 1 - t.colour[cell]
    taken, ko = t.taken_count, t.ko
    if not _play(t, move, attacker):
        return False
    caught = is_caught(t, cell)
    _take_back(t, move, attacker, taken, ko)
    return caught


@device
def escapes(t, cell, move):
    """Whether the chain on ``cell``, in atari, is safe from ladders once its owner has played ``move``."""
    defender = np.int64(t.colour[cell])
    taken, ko, safe = t.taken_count, t.ko, False
    if _play(t, move, defender):
        liberties, _ = count(t, cell, 3)
        a, b = np.int64(t.liberty[0]), np.int64(t.liberty[1])
        safe = liberties == 3 or (liberties == 2 and not catches(t, cell, a) and not catches(t, cell, b))
        _take_back(t, move, defender, taken, ko)
    return safe


@device
def captures(t, cell, colour):
    """Whether a stone of ``colour`` on an empty cell would take stones."""
    for k in range(4):
        q = _neighbour(t, cell, k)
        if t.colour[q] == 1 - colour and count(t, q, 2)[0] == 1:
            return True
    return False


@device
def point_of(t, cell):
    """The point of the board that a cell is."""
    return (cell // t.stride - 1) * (t.stride - 1) + cell % t.stride


@device
def survey(t, out, row, caught, liberties, openings, victim):
    """Set bytes of out[row] for every chain on the board.

    caught: offset of the plane of stones that a ladder catches. liberties: offset of three planes of stones with 1, 2
    and 3 liberties; openings: of the plane of points where a ladder against a chain of colour ``victim`` with two
    liberties begins. Negative: not wanted, which is quicker.
    """
    columns = t.stride - 1
    points = columns * t.rows
    most = 4 if liberties >= 0 else 3
    for i in range(_CELLS):
        t.done[i] = 0
    for r in range(1, t.rows + 1):
        for cell in range(r * t.stride, r * t.stride + columns):
            if t.colour[cell] >= EMPTY or t.done[cell]:
                continue
            n, _ = count(t, cell, most)
            if n == most:
                continue  # the chain's other stones come here again; that is cheaper than marking them
            a, b = t.liberty[0], t.liberty[1]
            lost = n == 1 and is_caught(t, cell)
            if n == 2:
                for k in range(2):
                    move = a if k == 0 else b
                    if catches(t, cell, move):
                        lost = True
                        if openings >= 0 and t.colour[cell] == victim:
                            out[row, openings + point_of(t, move)] = 1
            _, stones = count(t, cell, most)
            for i in range(stones):
                p = point_of(t, np.int64(t.queue[i]))
                t.done[t.queue[i]] = 1
                if lost:
                    out[row, caught + p] = 1
                if liberties >= 0:
                    out[row, liberties + (n - 1) * points + p] = 1
