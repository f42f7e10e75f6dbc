"""Forced mates over cshogi, exactly and slowly: all lines up to a length, and proofs move by move.

As a program it makes ``tests/data/mate_shogi.jsonl``: positions of random games that are fond of captures, checks and
promotions. ``plies`` is the length of the quickest mate, found by trying all lines, or 0 where there is none: then a
set of positions was built in which every check has an evasion that leads back into the set::

    python -m tests.engine.games.shogi.slow_mate --seed 1 > tests/data/mate_shogi.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.shogi.mate import ShogiMate
from az_engine.engine.games.tactics.proofs import MATE

cshogi = pytest.importorskip("cshogi", reason="cshogi, the oracle of shogi's rules, has no wheel for this machine")
GAME = get_game("shogi")


class TooMany(Exception):
    """More positions than one wants to look at."""


class Undecided(Exception):
    """Our search would need more nodes."""


def where(board: Any) -> str:
    """Board, side to move and hands: what makes two positions the same."""
    return str(board.sfen()).rsplit(" ", 1)[0]


def checking_moves(board: Any) -> list[int]:
    """Legal moves that give check."""
    found = []
    for move in board.legal_moves:
        board.push(move)
        if board.is_check():
            found.append(move)
        board.pop()
    return found


def assert_forced(sfen: str, attack: Callable[[str], str]) -> int:
    """Check by cshogi's rules that the checks ``attack(sfen)`` mate against any defence; returns the plies it takes."""
    board, plies, path = cshogi.Board(sfen), dict[str, int](), set[str]()

    def mated_in() -> int:
        place = where(board)
        assert place not in path, f"{place} is repeated"
        if place in plies:
            return plies[place]
        path.add(place)
        assert board.push_usi(attack(board.sfen())), f"illegal move in {place}"
        assert board.is_check(), f"no check in {place}"
        longest = 0
        for reply in list(board.legal_moves):
            board.push(reply)
            longest = max(longest, 1 + mated_in())
            board.pop()
        board.pop()
        path.discard(place)
        plies[place] = 1 + longest
        return 1 + longest

    return mated_in()


def assert_safe(sfen: str, defend: Callable[[str], str | None], most: int = 100_000) -> tuple[int, bool]:
    """Check by cshogi's rules that the evasions ``defend(sfen)`` save the king from every sequence of checks.

    Returns in how many positions the attacker was looked at, and whether some line of checks repeats a position. The
    positions form a closed set, in which the attacker may check for ever: that is a proof, loops or not.
    Errors: TooMany.
    """
    board = cshogi.Board(sfen)
    seen, path, loops = {where(board)}, {where(board)}, False
    stack = [(where(board), checking_moves(board))]
    while stack:
        place, moves = stack[-1]
        if not moves:
            stack.pop()
            path.discard(place)
            if stack:
                board.pop()
                board.pop()
            continue
        board.push(moves.pop())
        evasion = defend(board.sfen())
        assert evasion is not None, f"mated in {where(board)}"
        assert board.push_usi(evasion), f"illegal move in {where(board)}"
        place = where(board)
        loops |= place in path
        if place in seen:
            board.pop()
            board.pop()
            continue
        if len(seen) == most:
            raise TooMany
        seen.add(place)
        path.add(place)
        stack.append((place, checking_moves(board)))
    return len(seen), loops


def quickest_mate(sfen: str, most: int, positions: int) -> int:
    """Plies to the quickest mate against the longest defence, by trying all lines; 0 if it takes more than ``most``.

    Errors: TooMany when more than so many positions have to be looked at.
    """
    board, looked = cshogi.Board(sfen), 0
    won: dict[int, int] = {}  # position -> plies within which it is mate ...
    failed: dict[int, int] = {}  # ... and within which it is not

    def wins(plies: int) -> bool:
        place = int(board.zobrist_hash())
        if won.get(place, 999) <= plies or failed.get(place, 0) >= plies:
            return won.get(place, 999) <= plies
        nonlocal looked
        looked += 1
        if looked > positions:
            raise TooMany
        for move in checking_moves(board):
            board.push(move)
            mate = loses(plies - 1)
            board.pop()
            if mate:
                won[place] = plies
                return True
        failed[place] = plies
        return False

    def loses(plies: int) -> bool:
        for move in board.legal_moves:
            if plies == 0:
                return False
            board.push(move)
            mate = wins(plies - 1)
            board.pop()
            if not mate:
                return False
        return True

    return next((plies for plies in range(1, most + 1, 2) if wins(plies)), 0)


def sharp_positions(chance: random.Random) -> Iterator[str]:
    """Positions of random games in which captures, checks, promotions and drops are preferred."""
    board = cshogi.Board()
    for _ in range(200):
        moves = list(board.legal_moves)
        if not moves or board.is_draw() != cshogi.NOT_REPETITION:
            return
        weights = []
        for move in moves:
            board.push(move)
            weight = 8.0 if board.is_check() else 1.0
            board.pop()
            if not cshogi.move_is_drop(move):
                weight += 4.0 * (board.piece(cshogi.move_to(move)) != 0) + 2.0 * cshogi.move_is_promotion(move)
            weights.append(weight)
        board.push(chance.choices(moves, weights)[0])
        if board.move_number > 30:
            yield str(board.sfen())


def looks_like(sfen: str, lengths: list[int]) -> int:
    """The first of ``lengths`` within which cshogi's quick search sees a mate, 0 when in none: worth a closer look."""
    board = cshogi.Board(sfen)
    if board.is_check() or board.mate_move_in_1ply():
        return 0
    return next((length for length in lengths if board.mate_move(length)), 0)


def solve(sfen: str, nodes: int = 2_000_000) -> tuple[str | None, list[str]]:
    """Our own search: verdict (None when ``nodes`` did not do) and moves."""
    line, _ = GAME.parse_position(sfen)
    search = ShogiMate(line, (1 << 20) + 8 * nodes)
    verdict = search.advance(nodes)
    words = []
    for move in search.moves:
        words.append(GAME.format_move(line[-1], move))
        line = GAME.play(line[-1:], move)
    return verdict, words


class Attack:
    """The mate that one of our searches has found, asked position by position."""

    def __init__(self, sfen: str) -> None:
        self._search = ShogiMate(GAME.parse_position(sfen)[0], 16 << 20)
        assert self._search.advance(2_000_000) == "mate"

    def __call__(self, sfen: str) -> str:
        """The attacker's move in a position of that mate, out of the same table."""
        search = self._search
        search._line, _ = GAME.parse_position(sfen)
        search._seat()
        assert search._search(2_000_000) == MATE
        move = search._choose()
        assert move is not None
        return GAME.format_move(search._line[-1], move)


def defend(sfen: str) -> str | None:
    """An evasion after which our search finds no mate; None when each is mate. Errors: Undecided."""
    board = cshogi.Board(sfen)
    moves = list(board.legal_moves)
    for nodes in (1_000, 20_000):
        undecided = []
        for move in moves:
            board.push(move)
            verdict, _ = solve(board.sfen(), nodes)
            board.pop()
            if verdict == "nomate":
                return str(cshogi.move_to_usi(move))
            if verdict is None:
                undecided.append(move)
        moves = undecided
    if moves:
        raise Undecided
    return None


def make(seed: int) -> Iterator[dict[str, object]]:
    """Twenty mates, four of each length, and twenty positions without that take more than a hundred nodes to judge."""
    chance = random.Random(seed)
    wanted = {0: 20, 3: 4, 5: 4, 7: 4, 9: 4, 11: 4}
    while any(wanted.values()):
        for sfen in sharp_positions(chance):
            plies = 0
            with contextlib.suppress(TooMany):
                plies = quickest_mate(sfen, looks_like(sfen, [n for n, left in wanted.items() if n and left]), 20_000)
            if not wanted.get(plies):
                continue
            problem: dict[str, object] = {"sfen": sfen, "plies": plies}
            if plies == 0:
                if solve(sfen, 100)[0] or solve(sfen, 3_000)[0] != "nomate":
                    continue
                try:
                    problem["positions"], problem["loops"] = assert_safe(sfen, defend, 300)
                except (Undecided, TooMany):
                    continue
            wanted[plies] -= 1
            print(f"to find, by length: {wanted}", file=sys.stderr)
            yield problem
            break  # one of each game


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for problem in make(args.seed):
        print(json.dumps(problem), flush=True)


if __name__ == "__main__":
    main()
