"""Matches of two players in one process, many games side by side: for gates, ladders and tests.

A player is an evaluator and a number of visits a move; with 0 visits it plays the move that its evaluator finds most
probable, which without a net is a random one. No noise, temperature 0, a new tree for every move: so games differ only
by how they begin, and begin with a few random moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...games.base import Game, State
from ...games.outcome import LOSS, RUNNING, WIN
from ...nets.evaluator import Evaluator
from ...nets.opinions import legal_actions
from ...nets.positions import encode
from ...params import SearchParams
from .lockstep import Lockstep

_TRIES = 20  # to find another opening


@dataclass(frozen=True, slots=True)
class NetPlayer:
    """One side of a game."""

    name: str
    evaluator: Evaluator
    visits: int  # simulations a move; 0 = the raw evaluator
    search: SearchParams


@dataclass(frozen=True, slots=True)
class ArenaGame:
    """A finished game."""

    moves: NDArray[np.uint16]  # [n], the opening's first
    opening: int  # moves of the opening
    result: int  # 1 the first player won, 0 drawn, -1
    reason: Literal["rules", "max moves"]


def random_openings(game: Game, count: int, plies: int, seed: int) -> list[NDArray[np.uint16]]:
    """``count`` sequences of random legal moves u2[plies] after which the game is not over.

    Duplicates occur only after many tries; a sequence is shorter when its last move would have ended the game.
    """
    rng = np.random.default_rng(seed)
    openings: list[NDArray[np.uint16]] = []
    seen: set[bytes] = set()
    for _ in range(count):
        moves = np.zeros(0, np.uint16)
        for _ in range(_TRIES):
            line, moves = game.initial(), np.zeros(plies, np.uint16)
            for ply in range(plies):
                moves[ply] = rng.choice(game.legal_moves(line))
                line = game.play(line, int(moves[ply]))
                if game.outcome(line) != RUNNING:
                    moves = moves[:ply]  # stop before the end of the game
                    break
            if moves.tobytes() not in seen:
                break
        seen.add(moves.tobytes())
        openings.append(moves)
    return openings


class Seat:
    """A player with its searches in all games."""

    def __init__(self, game: Game, player: NetPlayer, games: int, plies: int, seed: int) -> None:
        self.game, self.player = game, player
        self._rng = np.random.default_rng(seed)
        self._lockstep: Lockstep | None = None
        if player.visits:
            self._lockstep = Lockstep(
                game, player.evaluator, player.search, slots=games, visits=player.visits, plies=plies, kept_moves=1
            )

    def moves(self, lines: Sequence[State]) -> list[int]:
        """The player's move in the last position of each line."""
        return self._searched(self._lockstep, lines) if self._lockstep is not None else self._most_probable(lines)

    def _searched(self, lockstep: Lockstep, lines: Sequence[State]) -> list[int]:
        slots = np.arange(len(lines), dtype=np.int32)
        for slot, line in enumerate(lines):
            lockstep.place(slot, line)
        lockstep.roots["noise_share"] = lockstep.roots["temperature"] = lockstep.roots["gumbel"] = 0
        lockstep.roots["requested"][slots] = self.player.visits
        lockstep.begin(slots)
        while len(lockstep.finished()) < len(slots):
            lockstep.step()
        chosen = lockstep.conclude(slots).chosen[:, 0].tolist()
        lockstep.empty(slots)  # so that they no longer count as finished
        return [int(move) for move in chosen]

    def _most_probable(self, lines: Sequence[State]) -> list[int]:
        if self.player.evaluator.info is None:  # every move is equally probable
            return [int(self._rng.choice(self.game.legal_moves(line))) for line in lines]
        evaluator = self.player.evaluator
        logits, _ = evaluator.evaluate(encode(self.game, lines, evaluator.history).reshape(len(lines), -1))
        chosen = []
        for row, line in enumerate(lines):
            legal, actions = legal_actions(self.game, line)
            chosen.append(int(legal[int(logits[row, actions].argmax())]))
        return chosen


def play_pairs(
    game: Game, a: NetPlayer, b: NetPlayer, openings: Sequence[NDArray[np.uint16]], *, seed: int, max_moves: int
) -> list[ArenaGame]:
    """Two games from each opening: ``a`` has the first player's side in games 0, 2, ..., ``b`` in games 1, 3, ...

    ``seed``: of what a player without net and search plays; after ``max_moves`` plies a game is adjudicated. Blocks.
    Errors: NetError.
    """
    count, plies = 2 * len(openings), max(max_moves, *(len(o) for o in openings), 1)
    lines = [np.zeros(plies + 1, game.state_dtype) for _ in range(count)]
    moves: list[list[int]] = [[] for _ in range(count)]
    for i, line in enumerate(lines):
        line[:1] = game.initial()
        for ply, move in enumerate(openings[i // 2].tolist()):
            game.play_at(line, ply, move)
            moves[i].append(move)
    first = game.side_to_move(game.initial()[0])
    seats = [Seat(game, player, count, plies, seed + n) for n, player in enumerate((a, b))]
    codes = [game.outcome(line[: len(moves[i]) + 1]) for i, line in enumerate(lines)]
    running = {i for i in range(count) if codes[i] == RUNNING and len(moves[i]) < max_moves}
    while running:
        for n, seat in enumerate(seats):
            due = [i for i in sorted(running) if (len(moves[i]) + i) % 2 == n]
            if not due:
                continue
            chosen = seat.moves([lines[i][: len(moves[i]) + 1] for i in due])
            for i, move in zip(due, chosen, strict=True):
                game.play_at(lines[i], len(moves[i]), move)
                moves[i].append(move)
                codes[i] = game.outcome(lines[i][: len(moves[i]) + 1])
                if codes[i] != RUNNING or len(moves[i]) >= max_moves:
                    running.discard(i)
    games = []
    for i, line in enumerate(lines):
        played, code = line[: len(moves[i]) + 1], codes[i]
        reason: Literal["rules", "max moves"] = "rules" if code != RUNNING else "max moves"
        if code == RUNNING:
            code = game.adjudicate(played)
        sign = 1 if game.side_to_move(played[-1]) == first else -1
        result = sign * (1 if code == WIN else -1 if code == LOSS else 0)
        games.append(ArenaGame(np.array(moves[i], np.uint16), len(openings[i // 2]), result, reason))
    return games
