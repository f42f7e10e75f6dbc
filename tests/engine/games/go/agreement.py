"""Compare the rules of Go with a flood-fill implementation over whole random games (legality, boards, scores).

The oracle knows no chains, liberties, keys or bitboards: a move puts a stone, floods every chain anew, and the board
that results is compared point by point with every earlier board of the game. It is :mod:`naive` again, compiled, so
that boards of every size can be played to the end.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from az_engine.engine.games import get_game
from az_engine.engine.games.go import Go
from az_engine.engine.games.go.rulesets import NO_BONUS, POSITIONAL, SIMPLE, SITUATIONAL, RuleSet
from az_engine.engine.games.go.score import GoTerritory
from az_engine.engine.games.go.state import EMPTY, stones_to_array
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.engine.kernels.jit import device, kernel

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

KO = (POSITIONAL, SITUATIONAL, SIMPLE)


@device
def flood(board: Bytes, size: int, start: int, mark: Numbers, number: int) -> tuple[int, int]:
    """Mark the region of one colour around ``start``; (its size, the colours beside it as bits 1, 2, 4)."""
    stack = np.empty(size * size, np.int64)
    stack[0], top, beside = start, 1, 0
    mark[start] = number
    count = 1
    while top:
        top -= 1
        p = stack[top]
        row, column = p // size, p % size
        for way in range(4):
            r = row + (way == 0) - (way == 1)
            c = column + (way == 2) - (way == 3)
            if not (0 <= r < size and 0 <= c < size):
                continue
            q = r * size + c
            if board[q] != board[start]:
                beside |= 1 << board[q]
            elif mark[q] != number:
                mark[q] = number
                stack[top] = q
                top += 1
                count += 1
    return count, beside


@kernel
def put(board: Bytes, size: int, point: int, colour: Any, after: Bytes) -> None:
    """``after`` becomes the board after a stone on an empty point: the enemy's dead chains go, then one's own."""
    after[:] = board
    after[point] = colour
    for turn in range(2):
        side = 1 - colour if turn == 0 else colour
        mark = np.zeros(size * size, np.int64)
        dead = np.zeros(size * size, np.bool_)
        for p in range(size * size):
            if after[p] == side and mark[p] == 0:
                _, beside = flood(after, size, p, mark, p + 1)
                if not beside & (1 << 2):
                    for q in range(size * size):
                        dead[q] |= mark[q] == p + 1
        for p in range(size * size):
            if dead[p]:
                after[p] = 2


@device
def same(a: Bytes, b: Bytes) -> bool:
    """Whether two boards are the same."""
    differ = 0
    for p in range(a.shape[0]):
        differ += a[p] != b[p]
    return differ == 0


@kernel
def legal(
    boards: Bytes, turns: Bytes, last: int, size: int, ko: int, suicide: bool, allowed: NDArray[np.bool_]
) -> None:
    """Whether the side to move may play on each point, allowed b1[N * N]; boards u1[n, N * N], turns u1[n]."""
    now, colour = boards[last], np.int64(turns[last])
    after = np.empty(size * size, np.uint8)
    for point in range(size * size):
        allowed[point] = False
        if now[point] != 2:
            continue
        put(now, size, point, colour, after)
        if after[point] == 2 and (not suicide or same(after, now)):
            continue
        fine = True
        if ko == 2:  # simple: what took one stone, standing alone and with one liberty, may not be taken at once
            if last > 0 and same(after, boards[last - 1]):
                lost = taken = 0
                for p in range(size * size):
                    lost += boards[last - 1][p] == colour and now[p] == 2
                    taken += now[p] == 1 - colour and after[p] == 2
                fine = not (lost == 1 and taken == 1 and boards[last - 1][point] == colour)
        else:
            for i in range(last + 1):
                if (ko == 0 or turns[i] != colour) and same(after, boards[i]):
                    fine = False
                    break
        allowed[point] = fine


@kernel
def area(board: Bytes, size: int) -> int:
    """Black's points minus white's by Tromp-Taylor."""
    mark = np.zeros(size * size, np.int64)
    total = 0
    for p in range(size * size):
        if board[p] != 2:
            total += 1 if board[p] == 0 else -1
        elif mark[p] == 0:
            count, beside = flood(board, size, p, mark, p + 1)
            if beside == 1:
                total += count
            elif beside == 2:
                total -= count
    return total


def compare(size: int, ko: int, suicide: bool, rng: random.Random, seen: Counter[str]) -> str:
    """Play one random game in both implementations; "" or the first difference."""
    game, points = get_game(f"go{size}"), size * size
    assert isinstance(game, Go)
    limit = 3 * points + 20
    boards, turns = np.full((limit + 2, points), 2, np.uint8), np.zeros(limit + 2, np.uint8)
    allowed = np.empty(points, np.bool_)
    komi = rng.randrange(-20, 40) / 2
    line = np.repeat(game.initial(komi), limit + 2)
    line[0]["rules"] = RuleSet("", ko, suicide, NO_BONUS).flags
    moves: list[int] = []
    passes = 0
    hunting = rng.random() < 0.5  # every other game takes whatever it can: more captures, kos and cycles
    for ply in range(limit):
        so_far = line[: ply + 1]
        legal(boards, turns, ply, size, ko, suicide, allowed)
        expected = [*np.flatnonzero(allowed).tolist(), points]
        score = float(area(boards[ply], size)) - komi
        over = passes >= 2
        view = RUNNING
        if over:
            ahead = score if turns[ply] == 0 else -score
            view = DRAW if ahead == 0 else WIN if ahead > 0 else LOSS
        what = f"{size}x{size}, ko {ko}, suicide {suicide}, after {moves}"
        if game.legal_moves(so_far).tolist() != expected:
            return f"{what}: legal {game.legal_moves(so_far).tolist()} instead of {expected}"
        if not np.array_equal(stones_to_array(line[ply]), boards[ply]):
            return f"{what}: another board"
        found = GoTerritory().score(line[ply])[0]
        if found != score or game.outcome(so_far) != view or line[ply]["turn"] != turns[ply]:
            return f"{what}: score {found} instead of {score}, or another outcome"
        empty = int((boards[ply] == EMPTY).sum())
        seen["positions"] += 1
        seen["forbidden"] += empty - len(expected) + 1
        if over:
            break
        move = expected[-1]
        if len(expected) > 1 and rng.random() < 0.98:
            move = rng.choice(expected[:-1])
            if hunting:
                trial = np.empty(points, np.uint8)
                for candidate in rng.sample(expected[:-1], min(8, len(expected) - 1)):
                    put(boards[ply], size, candidate, int(turns[ply]), trial)
                    if (trial == EMPTY).sum() >= empty:  # took something
                        move = candidate
                        break
        if move == points:
            boards[ply + 1] = boards[ply]
            passes += 1
        else:
            put(boards[ply], size, move, int(turns[ply]), boards[ply + 1])
            seen["captures"] += int((boards[ply + 1] == EMPTY).sum() >= empty)
            passes = 0
        turns[ply + 1] = 1 - turns[ply]
        game.play_at(line, ply, move)
        moves.append(move)
    seen["games"] += 1
    return ""


def random_size(rng: random.Random) -> int:
    """Mostly boards on which a game is short: the time of a game grows with the fifth power of the size."""
    return rng.choice(rng.choices((range(2, 6), range(6, 10), range(10, 14), range(14, 26)), (40, 52, 7, 1))[0])
