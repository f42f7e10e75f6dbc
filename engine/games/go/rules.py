"""The rules of Go as kernels: moves, ko and superko, the score.

A move u2 is a point, or N * N for a pass. One number more, N * N + 1, is no move of the rules: the side to move changes
and nothing else, for protocols that let a colour play twice running. Two passes in a row end the game.

Superko forbids that a board comes again that occurred anywhere in the line. The boards' keys are compared; a filter of
bits (a key that sets a bit nobody set before is new) makes that cheap.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device, kernel
from ..outcome import DRAW, LOSS, RUNNING, WIN
from .board import BOARD, after, area, clear, play, set_up, untouched
from .rulesets import BONUS_MASK, BONUS_N, BONUS_N_MINUS_1, BONUS_SHIFT, KO_MASK, SIMPLE, SITUATIONAL, SUICIDE
from .state import BLACK, EMPTY, MAX_POINTS, STONE_KEYS, TURN_KEY, WORDS

FILTER_WORDS = 256
_BITS = np.uint64(FILTER_WORDS * 64 - 1)
_1 = np.uint64(1)


@device
def situation(key, turn, ko):
    """What may not come again (u64): the board, under situational superko with the side to move."""
    return key ^ TURN_KEY if ko == SITUATIONAL and turn != BLACK else key


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
    found = False
    for i in range(count):
        if past[i] == what:
            found = True
            break
    return found


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
        if p == s.ko or (ko != SIMPLE and occurred(past, seen, count, situation(key, 1 - colour, ko))):
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
    d.komi, d.handicap, d.size, d.rules = s.komi, s.handicap, s.size, s.rules
    d.turn = 1 - turn
    d.ply = s.ply + 1 if s.ply < 65535 else 65535
    d.ko, d.passes, d.last = -1, 0, move + 1
    if move < b.points:
        d.ko = play(b, np.int64(move), turn)
    elif move == b.points:
        d.passes = s.passes + 1 if s.passes < 255 else 255
    else:
        d.ply, d.last = s.ply, 0
    d.key = b.key
    for w in range(WORDS):
        d.stones[0, w] = b.stones[0, w]
        d.stones[1, w] = b.stones[1, w]


def compensation(komi, handicap, rules):
    """What white gets beside its area, in half points: komi (half points), and points for handicap stones."""
    kind = (rules >> BONUS_SHIFT) & BONUS_MASK
    stones = np.int64(handicap)
    if kind == BONUS_N:
        return 2 * stones + np.int64(komi)
    if kind == BONUS_N_MINUS_1:
        return 2 * max(stones - 1, np.int64(0)) + np.int64(komi)
    return np.int64(komi)


_compensation = device(compensation)


@device
def score(b, s):
    """Black's score minus white's in half points, komi and white's points for handicap stones included; fills owner."""
    return 2 * area(b) - _compensation(s.komi, s.handicap, s.rules)


@device
def judge(b, s, at_root):
    """Outcome code for the side to move. At the root play goes on even after two passes."""
    if at_root or s.passes < 2:
        return RUNNING
    points = score(b, s)
    if points == 0:
        return DRAW
    return WIN if (points > 0) == (s.turn == BLACK) else LOSS


@kernel
def play_in_line(line, i, move):
    """line[i + 1] of State[n] becomes the position after ``move`` in line[i]."""
    boards = np.empty(1, BOARD)
    b = boards[0]
    clear(b, np.int64(line[i].size))
    set_up(b, line[i])
    make(b, line[i], line[i + 1], move)


@kernel
def count_score(states, i, owner):
    """Score of states[i], black's minus white's in half points; owner u1[N * N] out: BLACK, WHITE or EMPTY."""
    boards = np.empty(1, BOARD)
    b = boards[0]
    clear(b, np.int64(states[i].size))
    set_up(b, states[i])
    points = score(b, states[i])
    for p in range(b.points):
        owner[p] = b.owner[p]
    return points


@kernel
def settle_all(states):
    """Finish positions set up by hand, State[N], in place: their keys. The first chain without a liberty, or -1.

    Returns (index of the state, a point of the chain), (-1, -1) when every chain has a liberty.
    """
    boards = np.empty(1, BOARD)
    b = boards[0]
    for i in range(states.shape[0]):
        clear(b, np.int64(states[i].size))
        set_up(b, states[i])
        states[i].key = b.key
        for p in range(b.points):
            if b.colour[p] != EMPTY and b.liberties[b.head[p]] == 0:
                return i, np.int64(p)
    return -1, np.int64(-1)


@kernel
def perft_kernel(states, moves, depth, before):
    """Leaves of the legal move tree ``depth`` plies below states[depth]; finished games have no moves.

    states: State[depth + 1] and moves: u2[depth + 1, M] are working space; before: State[1], the position before.
    """
    if depth == 0:
        return np.int64(1)
    boards = np.empty(1, BOARD)
    past, seen = np.empty(depth + 2, np.uint64), np.zeros(FILTER_WORDS, np.uint64)
    counts, done = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
    ko = before[0].rules & KO_MASK
    remember(past, seen, 0, situation(before[0].key, before[0].turn, ko))
    total, level, fresh = np.int64(0), depth, True
    while level <= depth:  # not recursive: as such it crashed when numba loaded it from its cache
        s = states[level]
        if fresh:
            clear(boards[0], np.int64(s.size))
            set_up(boards[0], s)
            played = 1 + depth - level
            remember(past, seen, played, situation(s.key, s.turn, ko))
            counts[level], done[level] = 0, 0
            if s.passes < 2:
                counts[level], _ = generate(boards[0], s, moves, level, past, seen, played + 1)
        if level == 1:
            total += counts[1]
            level, fresh = level + 1, False
        elif done[level] == counts[level]:
            level, fresh = level + 1, False
        else:
            clear(boards[0], np.int64(s.size))
            set_up(boards[0], s)
            make(boards[0], s, states[level - 1], moves[level, done[level]])
            done[level] += 1
            level, fresh = level - 1, True
    return total


@kernel
def random_games(size, rules, limit, count, seed):
    """Play ``count`` games of random legal moves; returns (moves played, black's wins at komi 0).

    Each move is drawn evenly from the legal points, superko included; a pass only where there is none. A game ends
    after two passes or ``limit`` moves, and is scored. For benches: nothing is allocated but at the start.
    """
    boards = np.empty(1, BOARD)
    b = boards[0]
    past, seen = np.empty(limit + 1, np.uint64), np.empty(FILTER_WORDS, np.uint64)
    candidates = np.empty(size * size, np.int64)
    suicide, ko = rules & SUICIDE != 0, rules & KO_MASK
    rng = np.uint64(seed) * np.uint64(2) + _1
    played, wins = np.int64(0), np.int64(0)
    for _ in range(count):
        clear(b, size)
        for i in range(FILTER_WORDS):
            seen[i] = 0
        remember(past, seen, 0, situation(b.key, BLACK, ko))
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
                    if allowed and (ko == SIMPLE or not occurred(past, seen, ply + 1, situation(key, 1 - turn, ko))):
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
            remember(past, seen, ply, situation(b.key, turn, ko))
        played += ply
        wins += area(b) > 0
    return played, wins
