"""The board for playing moves: chains as circular lists, with pseudo-liberties.

A chain is identified by the point of one of its stones, its head. ``liberties`` counts each empty point once for every
stone of the chain beside it: more than the true number, but zero exactly when that is zero, and cheap to keep. A Board
is working space; between moves a game is kept as records of :mod:`state`.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from .state import BLACK, EDGE, EMPTY, MAX_POINTS, STONE_KEYS, WHITE, WORDS

_1 = np.uint64(1)

BOARD = np.dtype(
    [
        ("stones", "u8", (2, WORDS)),  # as in STATE
        ("chain_key", "u8", (MAX_POINTS,)),  # by head: xor of its stones' keys
        ("key", "u8"),
        ("points", "i8"),  # H * W
        ("near", "i2", (4 * MAX_POINTS,)),  # the four neighbours of each point; ``points`` stands for off the board
        ("head", "i2", (MAX_POINTS,)),  # of the chain that a stone belongs to
        ("next", "i2", (MAX_POINTS,)),  # the chain's next stone, round in a circle
        ("length", "i2", (MAX_POINTS,)),  # by head: number of stones
        ("liberties", "i2", (MAX_POINTS,)),  # by head: pseudo-liberties
        ("stack", "i2", (MAX_POINTS,)),  # working space of area
        ("colour", "u1", (MAX_POINTS + 1,)),
        ("owner", "u1", (MAX_POINTS,)),  # out, by area: BLACK, WHITE or EMPTY
    ],
    align=True,
)


@device
def clear(b, s):
    """Make ``b`` an empty board as wide and as high as that of a state."""
    columns, rows = np.int64(s.columns), np.int64(s.rows)
    points = columns * rows
    b.points = points
    p = 0
    for row in range(rows):
        for column in range(columns):
            b.colour[p] = EMPTY
            b.near[4 * p] = p - columns if row > 0 else points
            b.near[4 * p + 1] = p + 1 if column < columns - 1 else points
            b.near[4 * p + 2] = p + columns if row < rows - 1 else points
            b.near[4 * p + 3] = p - 1 if column > 0 else points
            p += 1
    b.colour[points] = EDGE
    b.key = np.uint64(0)
    for w in range(WORDS):
        b.stones[0, w] = 0
        b.stones[1, w] = 0


@device
def copy(b, d):
    """Copy ``b`` to ``d``, a board cleared to the same size before."""
    d.key = b.key
    for w in range(WORDS):
        d.stones[0, w] = b.stones[0, w]
        d.stones[1, w] = b.stones[1, w]
    for p in range(b.points):
        d.colour[p] = b.colour[p]
    for p in range(b.points):
        d.head[p] = b.head[p]
    for p in range(b.points):
        d.next[p] = b.next[p]
    for p in range(b.points):
        d.length[p] = b.length[p]
    for p in range(b.points):
        d.liberties[p] = b.liberties[p]
    for p in range(b.points):
        d.chain_key[p] = b.chain_key[p]


@device
def set_up(b, s):
    """Put the stones of a state on a board cleared to its size and still empty."""
    for p in range(b.points):
        w, mask = p >> 6, _1 << np.uint64(p & 63)
        if s.stones[0, w] & mask:
            place(b, p, BLACK)
        elif s.stones[1, w] & mask:
            place(b, p, WHITE)


@device
def _join(b, x, y):
    """Head of the chain that two different chains become."""
    if b.length[x] < b.length[y]:
        x, y = y, x
    p = y
    while True:
        b.head[p] = x
        p = np.int64(b.next[p])
        if p == y:
            break
    b.next[x], b.next[y] = b.next[y], b.next[x]
    b.length[x] += b.length[y]
    b.liberties[x] += b.liberties[y]
    b.chain_key[x] ^= b.chain_key[y]
    return x


@device
def place(b, p, colour):
    """Put a stone on an empty point and join it to its neighbours; nothing is captured."""
    key = STONE_KEYS[colour * MAX_POINTS + p]
    b.colour[p] = colour
    b.stones[colour, p >> 6] ^= _1 << np.uint64(p & 63)
    b.key ^= key
    b.chain_key[p] = key
    b.head[p] = p
    b.next[p] = p
    b.length[p] = 1
    free = 0
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        c = b.colour[q]
        if c == EMPTY:
            free += 1
        elif c != EDGE:
            b.liberties[b.head[q]] -= 1
    b.liberties[p] = free
    chain = np.int64(p)
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        if b.colour[q] == colour and b.head[q] != chain:
            chain = _join(b, chain, np.int64(b.head[q]))


@device
def _lift(b, head, colour):
    """Take a chain off the board; its number of stones."""
    p = head
    while True:
        b.colour[p] = EMPTY
        b.stones[colour, p >> 6] ^= _1 << np.uint64(p & 63)
        for k in range(4):
            q = np.int64(b.near[4 * p + k])
            if b.colour[q] < EMPTY:
                b.liberties[b.head[q]] += 1
        p = np.int64(b.next[p])
        if p == head:
            break
    b.key ^= b.chain_key[head]
    return np.int64(b.length[head])


@device
def play(b, p, colour):
    """Play a stone on an empty point, captures and suicide included; the point of a ko that arises, else -1."""
    place(b, p, colour)
    enemy = 1 - colour
    taken, last = np.int64(0), np.int64(-1)
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        if b.colour[q] == enemy and b.liberties[b.head[q]] == 0:
            taken += _lift(b, np.int64(b.head[q]), enemy)
            last = q
    head = np.int64(b.head[p])
    if b.liberties[head] == 0:
        _lift(b, head, colour)
        return np.int64(-1)
    if taken == 1 and b.length[head] == 1 and b.liberties[head] == 1:
        return last
    return np.int64(-1)


@device
def _seen_before(b, p, k):
    """Whether the chain beside ``p`` in direction k also lies beside it in an earlier direction."""
    head = b.head[b.near[4 * p + k]]
    for j in range(k):
        q = np.int64(b.near[4 * p + j])
        if b.colour[q] < EMPTY and b.head[q] == head:
            return True
    return False


@device
def untouched(b, p):
    """Whether no stone lies beside an empty point and an empty point does."""
    beside = b.colour[b.near[4 * p]] & b.colour[b.near[4 * p + 1]]
    beside &= b.colour[b.near[4 * p + 2]] & b.colour[b.near[4 * p + 3]]
    return beside == EMPTY  # BLACK, WHITE, EMPTY, EDGE are 0 to 3


@device
def after(b, p, colour, suicide):
    """(whether a stone may be played on an empty point, ko aside; the key of the board that results).

    suicide: whether a chain may be taken by its own colour, but for the stone just played alone.
    """
    free = captures = alive = False
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        c = b.colour[q]
        if c == EMPTY:
            free = True
        elif c != EDGE:
            b.liberties[b.head[q]] -= 1
    key = b.key ^ STONE_KEYS[colour * MAX_POINTS + p]
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        c = b.colour[q]
        if c < EMPTY:
            none = b.liberties[b.head[q]] == 0
            if c == colour:
                alive |= not none
            elif none:
                captures = True
                if not _seen_before(b, p, k):
                    key ^= b.chain_key[b.head[q]]
    legal = free or captures or alive
    if not legal and suicide:
        key = b.key
        for k in range(4):
            q = np.int64(b.near[4 * p + k])
            if b.colour[q] == colour and not _seen_before(b, p, k):
                key ^= b.chain_key[b.head[q]]
                legal = True
    for k in range(4):
        q = np.int64(b.near[4 * p + k])
        if b.colour[q] < EMPTY:
            b.liberties[b.head[q]] += 1
    return legal, key


@device
def area(b):
    """Black's area minus white's by Tromp-Taylor: stones, and empty points that reach only one colour; fills owner."""
    for p in range(b.points):
        b.owner[p] = EDGE  # not visited
    difference = np.int64(0)
    for start in range(b.points):
        c = b.colour[start]
        if c < EMPTY:
            b.owner[start] = c
            difference += 1 if c == BLACK else -1
        elif b.owner[start] == EDGE:
            b.owner[start] = EMPTY
            b.stack[0] = start
            count, done = np.int64(1), np.int64(0)
            black = white = False
            while done < count:
                point = np.int64(b.stack[done])
                done += 1
                for k in range(4):
                    q = np.int64(b.near[4 * point + k])
                    c = b.colour[q]
                    if c == BLACK:
                        black = True
                    elif c == WHITE:
                        white = True
                    elif c == EMPTY and b.owner[q] == EDGE:
                        b.owner[q] = EMPTY
                        b.stack[count] = q
                        count += 1
            if black != white:
                difference += count if black else -count
                for i in range(count):
                    b.owner[b.stack[i]] = BLACK if black else WHITE
    return difference
