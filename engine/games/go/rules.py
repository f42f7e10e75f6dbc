"""The rules of Go as kernels: moves, ko and superko, the score.

A move u2 is a point, or H * W for a pass. H * W + 1 is no move of the rules: it only changes the side to
move, for protocols that let a colour play twice in a row. Two passes in a row end the game.

Superko forbids a board that occurred anywhere in the line. Keys of boards are compared; a filter of bits makes that
cheap (a key whose bit is not set yet is new).
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device, kernel
from ..factory import Play
from ..outcome import DRAW, LOSS, RUNNING, WIN
from .board import BOARD, after, area, clear, copy, play, set_up, untouched
from .rulesets import (
    ALL_TAX,
    BONUS_MASK,
    BONUS_N,
    BONUS_N_MINUS_1,
    BONUS_SHIFT,
    BUTTON,
    KO_MASK,
    SEKI_TAX,
    SIMPLE,
    SITUATIONAL,
    SUICIDE,
    TERRITORY,
    UNENDED,
)
from .state import BLACK, EMPTY, MAX_POINTS, STONE_KEYS, TURN_KEY, WORDS

FILTER_WORDS = 256
WORK = np.dtype(
    [
        ("base", BOARD),  # the root
        ("board", BOARD),  # the position that was reached
        ("seen_before", "u8", (FILTER_WORDS,)),  # filter of the situations up to the root
        ("seen", "u8", (FILTER_WORDS,)),  # up to the position that was reached
        ("forbidden", "u8"),  # xor of the keys of the points that ko forbids there, once its moves are listed
        ("root", "i8"),
    ],
    align=True,
)
_UNKNOWN = np.uint64(0xFFFFFFFFFFFFFFFF)
_BITS = np.uint64(FILTER_WORDS * 64 - 1)
_1 = np.uint64(1)
_UNSEEN = np.uint8(128)  # mark of an owner


@device
def situation(key, turn, rules):
    """The key (u64) that may not repeat: the board's, under situational superko with the side to move.

    Boards before a button is taken are not those after it.
    """
    if rules & BUTTON:
        key = ~key
    return key ^ TURN_KEY if rules & KO_MASK == SITUATIONAL and turn != BLACK else key


@device
def remember(past, seen, i, what):
    """Note that situation ``what`` is number i of the line; past u8[n], seen u8[FILTER_WORDS]."""
    past[i] = what
    bit = what & _BITS
    seen[bit >> np.uint64(6)] |= _1 << (bit & np.uint64(63))


@device
def occurred(past, seen, count, what):
    """Whether a situation is among the first ``count`` of the line."""
    bit = what & _BITS
    if not (seen[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & _1:
        return False
    result = False
    for i in range(count):
        if past[i] == what:
            result = True
            break
    return result


@device
def generate(b, s, moves, row, past, seen, count):
    """Write the legal moves to moves[row]: points in order, then the pass. (how many, xor of the points ko forbids)."""
    n = 0
    forbidden = np.uint64(0)
    suicide, ko = s.rules & SUICIDE != 0, s.rules & KO_MASK
    colour = np.int64(s.turn)
    for p in range(b.points):
        if b.colour[p] != EMPTY:
            continue
        if untouched(b, p):
            key = b.key ^ STONE_KEYS[colour * MAX_POINTS + p]
        else:
            allowed, key = after(b, p, colour, suicide)
            if not allowed:
                continue
        if p == s.ko or (ko != SIMPLE and occurred(past, seen, count, situation(key, 1 - colour, s.rules))):
            forbidden ^= STONE_KEYS[p]
            continue
        moves[row, n] = p
        n += 1
    moves[row, n] = b.points
    return n + 1, forbidden


@device
def make(b, s, d, move):
    """Play a legal move on ``b``, where ``s`` is set up; ``d`` becomes the position after it."""
    turn = np.int64(s.turn)
    d.komi, d.handicap, d.rules = s.komi, s.handicap, s.rules
    d.columns, d.rows = s.columns, s.rows
    d.turn = 1 - turn
    d.ply = s.ply + 1 if s.ply < 65535 else 65535
    d.ko, d.passes, d.last = -1, 0, move + 1
    d.played = s.played
    if move < b.points:
        d.ko = play(b, np.int64(move), turn)
        if s.rules & TERRITORY:
            d.played += 1 - 2 * turn
    elif move == b.points:
        d.passes = s.passes + 1 if s.passes < 255 else 255
        if s.rules & BUTTON:
            d.rules, d.passes = s.rules ^ BUTTON, 0
            d.komi += 2 * turn - 1
    else:
        d.ply, d.last = s.ply, 0
    d.key = b.key
    for w in range(WORDS):
        d.stones[0, w] = b.stones[0, w]
        d.stones[1, w] = b.stones[1, w]


def compensation(komi, handicap, rules, played):
    """What white gets beside its area, in half points: komi (half points), and points for handicap stones.

    Territory and prisoners are the area less the stones ``played``, which are 0 where stones count.
    """
    kind = (rules >> BONUS_SHIFT) & BONUS_MASK
    stones = np.int64(handicap)
    white = np.int64(komi) + 2 * np.int64(played)
    if kind == BONUS_N:
        return 2 * stones + white
    if kind == BONUS_N_MINUS_1:
        return 2 * max(stones - 1, np.int64(0)) + white
    return white


_compensation = device(compensation)


def usual_komi(columns: int, rows: int) -> float:
    """The fair komi of a board, with which nets that do not see komi have learned."""
    return 7.0 if columns == rows == 9 else 7.5


@device
def score(b, s):
    """Black's score minus white's in half points, komi and white's points for handicap stones included; fills owner."""
    points = 2 * area(b) - _compensation(s.komi, s.handicap, s.rules, s.played)
    return points - 2 * _group_tax(b) if s.rules & ALL_TAX else points


@device
def _group_tax(b):
    """What black's groups pay more than white's, once ``area`` has given owners: two points of territory, or one.

    A group is a connected area of one owner.
    """
    tax = np.int64(0)
    for p in range(b.points):
        b.owner[p] |= _UNSEEN
    for start in range(b.points):
        if not b.owner[start] & _UNSEEN:
            continue
        who = b.owner[start] & ~_UNSEEN
        b.owner[start] = who
        b.stack[0] = start
        count, done, empty = np.int64(1), np.int64(0), np.int64(0)
        while done < count:
            point = np.int64(b.stack[done])
            done += 1
            empty += b.colour[point] == EMPTY
            for k in range(4):
                q = np.int64(b.near[4 * point + k])
                if q < b.points and b.owner[q] == who | _UNSEEN:
                    b.owner[q] = who
                    b.stack[count] = q
                    count += 1
        if who != EMPTY:
            tax += min(empty, np.int64(2)) * (1 if who == BLACK else -1)
    return tax


@device
def judge(b, s, at_root):
    """Outcome code for the side to move. At the root play goes on even after two passes.

    So it does by territory rules: after two passes the players agree on dead stones, which no board tells. And where
    points in a seki do not count, which a kernel does not find.
    """
    if at_root or s.passes < 2 or s.rules & (TERRITORY | SEKI_TAX | UNENDED):
        return RUNNING
    points = score(b, s)
    if points == 0:
        return DRAW
    return WIN if (points > 0) == (s.turn == BLACK) else LOSS


@device
def _workspace(states):
    """(WORK[1], u8[N]: the situations of the line)."""
    return np.empty(1, WORK), np.empty(states.shape[0], np.uint64)


@device
def _begin(work, states, root):
    w = work[0][0]
    clear(w.base, states[root])
    clear(w.board, states[root])
    set_up(w.base, states[root])
    w.root, w.forbidden = root, _UNKNOWN
    for i in range(FILTER_WORDS):
        w.seen_before[i] = 0
    for i in range(root + 1):
        remember(work[1], w.seen_before, i, situation(states[i].key, states[i].turn, states[i].rules))


@device
def _rewind(work, states, at):
    w = work[0][0]
    if at == w.root:
        copy(w.base, w.board)
        for i in range(FILTER_WORDS):
            w.seen[i] = w.seen_before[i]
    else:  # entries of the filter since the root only cost comparisons
        clear(w.board, states[at])
        set_up(w.board, states[at])


@device
def _follow(work, states, at, move):
    w = work[0][0]
    make(w.board, states[at], states[at + 1], move)
    d = states[at + 1]
    remember(work[1], w.seen, at + 1, situation(d.key, d.turn, d.rules))


@device
def _look(work, states, at, at_root, moves, row):
    w, s = work[0][0], states[at]
    outcome, legal, forbidden = np.int64(judge(w.board, s, at_root)), np.int64(0), np.uint64(0)
    if outcome == RUNNING:
        legal, forbidden = generate(w.board, s, moves, row, work[1], w.seen, at + 1)
    w.forbidden = forbidden
    return legal, outcome


@device
def _count(work, states, at, moves, row):
    return _look(work, states, at, False, moves, row)[0]


PLAY = Play(_workspace, _begin, _rewind, _follow, _follow, _look, _count)


@device
def _board_of(boards, s):
    """boards BOARD[1], set up as a state has it. The array is passed on: a record alone does not keep it in memory."""
    clear(boards[0], s)
    set_up(boards[0], s)


@kernel
def count_score(states, i, owner):
    """Score of states[i], black's minus white's in half points; owner u1[H * W] out: BLACK, WHITE or EMPTY."""
    boards = np.empty(1, BOARD)
    _board_of(boards, states[i])
    points = score(boards[0], states[i])
    for p in range(boards[0].points):
        owner[p] = boards[0].owner[p]
    return points


@kernel
def settle_all(states):
    """Finish positions set up by hand, State[N], in place: their keys. The first chain without a liberty, or -1.

    Returns (index of the state, a point of the chain), (-1, -1) when every chain has a liberty.
    """
    boards = np.empty(1, BOARD)
    for i in range(states.shape[0]):
        _board_of(boards, states[i])
        b = boards[0]
        states[i].key = b.key
        for p in range(b.points):
            if b.colour[p] != EMPTY and b.liberties[b.head[p]] == 0:
                return i, np.int64(p)
    return -1, np.int64(-1)


@kernel
def random_games(start, rules, limit, count, seed):
    """Play ``count`` games of random legal moves from start State[1], an empty board.

    Returns (moves played, black's wins at komi 0).

    Each move is drawn evenly from the legal points, superko included; a pass only where there is none. A game ends
    after two passes or ``limit`` moves, and is scored. For benches: nothing is allocated but at the start.
    """
    boards = np.empty(1, BOARD)
    past, seen = np.empty(limit + 1, np.uint64), np.empty(FILTER_WORDS, np.uint64)
    candidates = np.empty(MAX_POINTS, np.int64)
    suicide, ko = rules & SUICIDE != 0, rules & KO_MASK
    rng = np.uint64(seed) * np.uint64(2) + _1
    played, wins = np.int64(0), np.int64(0)
    for _ in range(count):
        b = boards[0]
        clear(b, start[0])
        for i in range(FILTER_WORDS):
            seen[i] = 0
        remember(past, seen, 0, situation(b.key, BLACK, rules))
        turn, passes, ko_point = np.int64(0), 0, np.int64(-1)
        for p in range(b.points):
            candidates[p] = p
        ply = 0
        while ply < limit and passes < 2:
            move = np.int64(b.points)
            untried = b.points
            while untried:
                rng ^= rng << np.uint64(13)
                rng ^= rng >> np.uint64(7)
                rng ^= rng << np.uint64(17)
                drawn = np.int64(((rng >> np.uint64(32)) * np.uint64(untried)) >> np.uint64(32))
                p = candidates[drawn]
                untried -= 1
                if b.colour[p] == EMPTY and p != ko_point:
                    allowed, key = after(b, p, turn, suicide)
                    if allowed and (ko == SIMPLE or not occurred(past, seen, ply + 1, situation(key, 1 - turn, rules))):
                        move = p
                        break
                candidates[drawn] = candidates[untried]
                candidates[untried] = p
            if move < b.points:
                ko_point = play(b, move, turn)
                passes = 0
            else:
                passes += 1
                ko_point = np.int64(-1)
            turn = 1 - turn
            ply += 1
            remember(past, seen, ply, situation(b.key, turn, rules))
        played += ply
        wins += area(b) > 0
    return played, wins
