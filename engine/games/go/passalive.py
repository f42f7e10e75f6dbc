"""Pass-alive chains and their territory, as KataGo's planes show them.

A chain is pass-alive when its owner may pass for ever without losing it (Benson, "Life in the game of Go", 1976). A
region of a colour is a maximal connected set of points without its stones, at least one of them empty. It is vital to a
chain that touches each of its empty points, or each of its points when stones in it may be captured by suicide. Chains
with fewer than two vital regions are dropped, the regions they touch are spoiled, and so on until nothing changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import device, kernel
from .board import BOARD, clear, set_up
from .rulesets import SUICIDE
from .state import EMPTY, MAX_POINTS, State, points_of

_TAKEN = 2  # mark of a point that loses its owner

AREA = np.dtype(
    [
        ("owner", "u1", (MAX_POINTS,)),  # out: BLACK, WHITE or EMPTY
        ("alive", "u1", (MAX_POINTS,)),  # by head: the chain is not dropped
        ("vital_count", "i2", (MAX_POINTS,)),  # by head
        ("queue", "i2", (MAX_POINTS,)),  # points, region by region
        ("region", "i2", (MAX_POINTS,)),  # of a point, -1 = none
        ("begin", "i2", (MAX_POINTS + 1,)),  # of a region's points in ``queue``
        ("vital", "i2", (MAX_POINTS, 4)),  # heads of the chains that a region is vital to, -1 = none
        ("enemies", "u1", (MAX_POINTS,)),  # by region: whether the other colour has stones in it
        ("spoiled", "u1", (MAX_POINTS,)),  # by region
        ("visited", "u1", (MAX_POINTS + 1,)),
    ],
    align=True,
)
"""Working space."""


@device
def _touches(b, p, head, colour):
    """Whether a stone of the chain lies beside a point."""
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        if b.colour[q] == colour and b.head[q] == head:
            return True
    return False


@device
def _find_regions(b, w, colour):
    """Fill in the regions of a colour; how many."""
    for p in range(b.points):
        w.visited[p] = b.colour[p] == colour
        w.region[p] = -1
    w.visited[b.points] = 1
    count, end = 0, 0
    for start in range(b.points):
        if b.colour[start] != EMPTY or w.visited[start]:
            continue
        w.begin[count] = end
        done, enemies = end, False
        w.queue[end] = start
        w.visited[start] = 1
        end += 1
        while done < end:
            point = np.int64(w.queue[done])
            done += 1
            w.region[point] = count
            enemies |= b.colour[point] != EMPTY
            for k in range(4):
                q = np.int64(b.near[4 * point + k])
                if not w.visited[q]:
                    w.visited[q] = 1
                    w.queue[end] = q
                    end += 1
        w.enemies[count] = enemies
        count += 1
    w.begin[count] = end
    return count


@device
def _find_vital(b, w, colour, suicide, r):
    """Fill in the chains that a region is vital to."""
    start, left = np.int64(w.queue[w.begin[r]]), 0
    for k in range(4):
        q = np.int64(b.near[4 * start + k])
        head = np.int64(b.head[q]) if b.colour[q] == colour else np.int64(-1)
        for j in range(k):
            if w.vital[r, j] == head:
                head = np.int64(-1)
        w.vital[r, k] = head
        if head >= 0:
            left += 1
    i = w.begin[r] + 1
    while left and i < w.begin[r + 1]:
        inside = np.int64(w.queue[i])
        i += 1
        if suicide or b.colour[inside] == EMPTY:
            for k in range(4):
                if w.vital[r, k] >= 0 and not _touches(b, inside, w.vital[r, k], colour):
                    w.vital[r, k] = -1
                    left -= 1


@device
def _count_vital(b, w, count):
    """Fill in ``vital_count`` of the regions that are not spoiled; whether a chain has more than one."""
    for p in range(b.points):
        w.vital_count[p] = 0
    more = False
    for r in range(count):
        if not w.spoiled[r]:
            for k in range(4):
                head = np.int64(w.vital[r, k])
                if head >= 0:
                    w.vital_count[head] += 1
                    more |= w.vital_count[head] > 1
    return more


@device
def _drop_chains(b, w, colour, count):
    """Benson's iteration over ``count`` regions: what stays in ``alive`` is pass-alive; whether anything does.

    Every region touches a chain, so where none stays all are spoiled.
    """
    for r in range(count):
        w.spoiled[r] = 0
    if not _count_vital(b, w, count):
        return False
    for p in range(b.points):
        w.alive[p] = b.colour[p] == colour and b.head[p] == p
    while True:
        dropped = False
        for p in range(b.points):
            if w.alive[p] and w.vital_count[p] < 2:
                w.alive[p] = 0
                dropped = True
        if not dropped:
            return True
        for p in range(b.points):
            if b.colour[p] == colour and not w.alive[b.head[p]]:
                for k in range(4):
                    q = np.int64(b.near[4 * p + k])
                    if q < b.points and w.region[q] >= 0:
                        w.spoiled[w.region[q]] = 1
        if not _count_vital(b, w, count):
            return False


@device
def _claim(b, w, colour, suicide):
    """Give a colour its pass-alive stones and its regions."""
    any_stone = False
    for p in range(b.points):
        any_stone |= b.colour[p] == colour
    if not any_stone:
        return
    count = _find_regions(b, w, colour)
    for r in range(count):
        _find_vital(b, w, colour, suicide, r)
    alive = _drop_chains(b, w, colour, count)
    if alive:
        for p in range(b.points):
            if b.colour[p] == colour and w.alive[b.head[p]]:
                w.owner[p] = colour
    for r in range(count):
        safe = alive and not w.spoiled[r] and (not w.enemies[r] or _has_one_eye(b, w, colour, r))
        if safe or not w.enemies[r]:
            for i in range(w.begin[r], w.begin[r + 1]):
                point = np.int64(w.queue[i])
                if safe or w.owner[point] == EMPTY:
                    w.owner[point] = colour


@device
def _has_one_eye(b, w, colour, r):
    """Whether at most one point of a region lies beside no stone of its colour."""
    inner = 0
    for i in range(w.begin[r], w.begin[r + 1]):
        point, inside = np.int64(w.queue[i]), True
        for k in range(4):
            inside &= b.colour[b.near[4 * point + k]] != colour
        inner += inside
    return inner <= 1


@device
def mark_area(b, w, suicide):
    """Fill ``owner`` for area scoring of a board: pass-alive stones and territory, other stones where they stand."""
    for p in range(b.points):
        w.owner[p] = EMPTY
    for colour in range(2):
        _claim(b, w, colour, suicide)
    for p in range(b.points):
        if w.owner[p] == EMPTY and b.colour[p] != EMPTY:
            w.owner[p] = b.colour[p]


@kernel
def area_kernel(states, i, owner):
    """``mark_area`` of states[i], as its rules have it; owner u1[H * W] out: BLACK, WHITE or EMPTY."""
    boards, space = np.empty(1, BOARD), np.empty(1, AREA)
    clear(boards[0], states[i])
    set_up(boards[0], states[i])
    mark_area(boards[0], space[0], states[i].rules & SUICIDE != 0)
    for p in range(boards[0].points):
        owner[p] = space[0].owner[p]


def area_of(state: State) -> NDArray[np.uint8]:
    """Owners u1[H * W] of the points of one State[], 0 black, 1 white, 2 nobody: see ``mark_area``.

    They differ from a count by Tromp-Taylor where stones stand in an opponent's pass-alive territory.
    """
    owner = np.empty(points_of(state), np.uint8)
    area_kernel(state.reshape(1), 0, owner)
    return owner


@device
def _in_atari(b, p):
    """Whether the chain of the stone on a point has one liberty."""
    liberty, stone = np.int64(-1), np.int64(p)
    while True:
        for k in range(4):
            q = np.int64(b.near[4 * stone + k])
            if b.colour[q] == EMPTY:
                if liberty >= 0 and liberty != q:
                    return False
                liberty = q
        stone = np.int64(b.next[stone])
        if stone == p:
            return True


@device
def tax_seki(b, w):
    """Take the territory of groups in seki out of ``owner``, their stones stay.

    A connected area of one owner is in seki when it holds a stone of the owner in atari or touches an empty point that
    nobody owns.
    """
    for p in range(b.points):
        w.visited[p] = 0
    for start in range(b.points):
        colour = w.owner[start]
        if colour == EMPTY or w.visited[start]:
            continue
        w.queue[0] = start
        w.visited[start] = 1
        end, done, seki = 1, 0, False
        while done < end:
            point = np.int64(w.queue[done])
            done += 1
            if b.colour[point] == colour and not seki:
                seki = _in_atari(b, point)
            for k in range(4):
                q = np.int64(b.near[4 * point + k])
                if q >= b.points:
                    continue
                if w.owner[q] == EMPTY and b.colour[q] == EMPTY:
                    seki = True
                elif w.owner[q] == colour and not w.visited[q]:
                    w.visited[q] = 1
                    w.queue[end] = q
                    end += 1
        if seki:
            for i in range(end):
                point = np.int64(w.queue[i])
                w.visited[point] = 1 if b.colour[point] == colour else _TAKEN
    for p in range(b.points):
        if w.visited[p] == _TAKEN:
            w.owner[p] = EMPTY
