"""Self-play: one process's share of the games, many at a time, one batch of leaves a step.

What happens in game i at ply p is drawn from (seed, i, p) alone: it does not depend on who plays it or what is played
beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...games.base import Game, State
from ...games.outcome import RUNNING
from ...kernels.splitmix import chance_key, uniform
from ...nets.evaluator import Evaluator, Output, Planes
from ...params import SearchParams, paper_params
from ...settings import check, setting
from .lockstep import Lockstep

Reason = Literal["rules", "resigned", "max moves"]

_PLAY_ON, _SALT, _OPENING = 2, 3, 1 << 20  # what a random number is for
_KEPT_TREE = 4  # a kept tree may have grown to this many times the visits of one search


@dataclass(frozen=True, slots=True)
class SelfPlayConfig:
    """How a game is played against oneself; the defaults are AlphaZero's (Methods; pseudocode for the temperature)."""

    games: int = setting(64, "games side by side", low=1)
    visits: int = setting(
        800,
        "simulations a move, beside those of the kept tree; fewer where that has more than four times as many "
        "positions",
        low=1,
    )
    search: SearchParams = field(default_factory=lambda: paper_params("az"))
    noise_share: float = setting(0.25, "epsilon: P = (1 - epsilon) p + epsilon eta, eta ~ Dir(alpha)", low=0, high=1)
    noise_alpha: float | None = setting(None, "alpha of the noise; none = the game's", above=0)
    temperature: float = setting(1.0, "tau of the first moves; afterwards the most visited move is played", low=0)
    temperature_moves: int = setting(30, "plies with this temperature", low=0)
    gumbel: int = setting(
        0, "actions at the root of sequential halving, in place of noise and temperature; 0 = none", low=0
    )
    gumbel_visit: float = setting(50.0, "c_visit of Gumbel AlphaZero")
    gumbel_scale: float = setting(1.0, "c_scale of Gumbel AlphaZero")
    opening_moves: float = setting(
        0.0,
        "first moves that are drawn from the net's policy without a search and give no target: their number is drawn "
        "for each game with this mean and rounded down (KataGo)",
        low=0,
    )
    resign: float | None = setting(
        None, "resign when root value and best child's value are below it; none = never", low=-1, below=1
    )
    play_on_share: float = setting(
        0.1, "share of games that are never resigned: the control of false positives", low=0, high=1
    )
    max_moves: int = setting(512, "plies; then the game is adjudicated: Go is scored, others are drawn", low=1)
    reuse: bool = setting(True, "keep the subtree of the move played (not with gumbel)")
    kept_moves: int = setting(64, "K: moves that a target keeps", low=1, high=255)
    cache_mb: int = setting(32, "position cache, MiB; 0 = none", low=0)

    def __post_init__(self) -> None:
        """Errors: OptionError."""
        check(self, "selfplay.")
        if self.search.subtree_bias:
            raise OptionError("self-play does not correct the net's values; leave search.subtree_bias at 0")
        if self.search.score_utility:
            raise OptionError("self-play learns from results, not from leads; leave search.score_utility at 0")
        if self.search.solver and self.search.mate_plies:
            raise OptionError("games against oneself look for no mates beside the search; set search.mate_plies to 0")


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A finished game of n moves; values are the mover's. K is the greatest number of moves that a target keeps."""

    id: int
    moves: NDArray[np.uint16]  # [n]
    target_moves: NDArray[np.uint16]  # [n, K]
    target: NDArray[np.float32]  # [n, K], rows add up to 1 and fall; all 0 where the position is no target
    values: NDArray[np.float32]  # [n] of the root after its search
    outlooks: NDArray[np.float32]  # [n] the greater of it and the most visited child's: what resignation looks at
    draws: NDArray[np.float32]  # [n] the root's chance of a draw
    result: int  # 1 the first player won, 0 drawn, -1
    reason: Reason
    played_on: bool  # whether it could not be resigned
    nets: tuple[int, int]  # labels of the nets (see SelfPlay.use) that played the first and the last move


@dataclass(slots=True)
class _Seat:
    """A game in progress."""

    id: int
    key: int
    played_on: bool
    net: int
    opening: int = 0  # first moves that are drawn without a search
    full: bool = True  # whether a search chooses the next move, which gives a target
    moves: list[int] = field(default_factory=list)
    targets: list[tuple[NDArray[np.uint16], NDArray[np.float32]]] = field(default_factory=list)
    values: list[NDArray[np.float32]] = field(default_factory=list)  # f4[3] of each move, see Conclusions.values


class SelfPlay:
    """Plays the games of ``ids``, ``config.games`` at a time."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        config: SelfPlayConfig,
        seed: int,
        ids: range = range(2**62),
        *,
        start: State | None = None,
        net: int = 0,
    ) -> None:
        """``start``: State[1] where every game begins, None = the game's; ``net``: see :meth:`use`."""
        self.game, self.config, self.seed, self.ids = game, config, seed, ids
        self.resign = config.resign  # may be changed at any time
        self.positions = 0  # moves made so far
        self._start = game.initial() if start is None else start
        self._net = net
        self._next = 0
        keeps = config.reuse and not config.gumbel
        self._lockstep = Lockstep(
            game,
            evaluator,
            config.search,
            slots=config.games,
            visits=config.visits,
            plies=config.max_moves,
            nodes=_KEPT_TREE * config.visits + 1 if keeps else config.visits + 1,
            kept_moves=config.kept_moves,
            cache=config.cache_mb << 20,
        )
        self._keeps = keeps
        roots = self._lockstep.roots
        roots["noise_alpha"] = config.noise_alpha or game.training.noise_alpha
        roots["gumbel_visit"], roots["gumbel_scale"] = config.gumbel_visit, config.gumbel_scale
        self._seats: list[_Seat | None] = [self._sit(slot) for slot in range(config.games)]
        self._begin(range(config.games))

    def use(self, evaluator: Evaluator, net: int) -> None:
        """Play on with another net, ``net`` being its label (say its training step)."""
        self._lockstep.use(evaluator)
        self._net = net

    @property
    def finished(self) -> bool:
        """Whether all games of ``ids`` are over."""
        return not any(self._seats)

    @property
    def simulations(self) -> int:
        """Simulations of all searches that are over."""
        return self._lockstep.simulations

    @property
    def evaluations(self) -> int:
        """Positions that the evaluator evaluated."""
        return self._lockstep.evaluations

    @property
    def batches(self) -> int:
        """Steps so far."""
        return self._lockstep.batches

    def step(self) -> list[PlayedGame]:
        """One batch: moves where a search is over, then one leaf of every game. Games that ended with those moves.

        Blocks for one evaluation. Errors: NetError; the games go on with the next call.
        """
        due = self._lockstep.finished()
        games = self._move(due) if len(due) else []
        self._lockstep.step()
        return games

    def choose(self) -> tuple[list[PlayedGame], Planes]:
        """The first half of a :meth:`step`: the games that ended, and the planes u1[K, F] that the net must judge.

        Whoever has the answers gives them to :meth:`take`; meanwhile the net's time is free for other games.
        """
        due = self._lockstep.finished()
        games = self._move(due) if len(due) else []
        return games, self._lockstep.choose()

    def actions(self) -> NDArray[np.uint16]:
        """Policy indices u2[K, M] of the legal moves of what :meth:`choose` gave; any others behind them."""
        return self._lockstep.actions()

    def take(self, outputs: Output | None) -> None:
        """The other half of a step: the net's logits f4[K, A] and values; None where K is 0. Errors: NetError."""
        self._lockstep.take(outputs)

    def _sit(self, slot: int) -> _Seat | None:
        """Begin the next game in a slot; None when there is no other."""
        if self._next >= len(self.ids):
            return None
        number = self.ids[self._next]
        self._next += 1
        key = chance_key(self.seed, number)
        self._lockstep.place(slot, self._start)
        self._lockstep.salts[slot] = chance_key(key, _SALT)
        return self._seat(number, key, self._net)

    def _seat(self, number: int, key: int, net: int) -> _Seat:
        """A game at its beginning, with all that its key decides."""
        played_on = uniform(chance_key(key, _PLAY_ON)) < self.config.play_on_share
        opening = int(-self.config.opening_moves * np.log1p(-uniform(chance_key(key, _OPENING))))
        return _Seat(number, key, played_on, net, min(opening, self.config.max_moves - 1))

    def _begin(self, slots: range | list[int]) -> None:
        """Begin the search of the next move in each slot that has a game."""
        config, roots = self.config, self._lockstep.roots
        seated = [slot for slot in slots if self._seats[slot] is not None]
        for slot in seated:
            seat = self._seats[slot]
            assert seat is not None
            ply = len(seat.moves)
            key = chance_key(seat.key, ply)
            drawn = ply < seat.opening
            seat.full = not drawn
            root = roots[slot]
            root["key"] = key
            root["gumbel"] = 0 if drawn else config.gumbel
            root["requested"] = 1 if drawn else config.visits
            root["noise_share"] = 0.0 if drawn else config.noise_share
            root["temperature"] = 1.0 if drawn else config.temperature if ply < config.temperature_moves else 0.0
        self._lockstep.begin(np.array(seated, np.int32))

    def _move(self, due: NDArray[np.int32]) -> list[PlayedGame]:
        """Make the moves of slots i4[F] whose search is over, and begin the next searches."""
        lockstep, games = self._lockstep, []
        moves, target, values, chosen = lockstep.conclude(due)
        lockstep.play(due, chosen[:, 0], chosen[:, 1] if self._keeps else np.full(len(due), -1, np.int32))
        slots = due.tolist()
        for f, (slot, (move, node, code)) in enumerate(zip(slots, chosen.tolist(), strict=True)):
            seat = self._seats[slot]
            assert seat is not None
            ended = self._resigned(seat, float(values[f, 1]))
            if ended is None:
                kept = int(np.count_nonzero(target[f])) if seat.full else 0
                seat.targets.append((moves[f, :kept], target[f, :kept]))
                seat.values.append(values[f])
                seat.moves.append(move)
                self.positions += 1
                judged = node >= 0  # when the search has been there
                ended = self._ended(seat, slot, code if judged else self.game.outcome(lockstep.line(slot)))
            if ended is not None:
                games.append(self._finish(seat, *ended))
                self._seats[slot] = self._sit(slot)
        self._begin(slots)
        return games

    def _resigned(self, seat: _Seat, outlook: float) -> tuple[int, Reason] | None:
        """(result, reason) when the side to move gives up."""
        ply = len(seat.moves)
        if self.resign is None or seat.played_on or outlook >= self.resign or not ply or ply < seat.opening:
            return None
        return (-1 if self._first_moves(len(seat.moves)) else 1), "resigned"

    def _ended(self, seat: _Seat, slot: int, code: int) -> tuple[int, Reason] | None:
        """(result, reason) when the game is over after the move just made; ``code``: its outcome by the rules."""
        reason: Reason = "rules"
        if code == RUNNING:
            if len(seat.moves) < self.config.max_moves:
                return None
            reason, code = "max moves", self.game.adjudicate(self._lockstep.line(slot))
        return (code if self._first_moves(len(seat.moves)) else -code), reason

    def _first_moves(self, ply: int) -> bool:
        """Whether it is the first player's move after ``ply`` plies."""
        return (self.game.side_to_move(self._start[0]) + ply) % 2 == 0

    def _finish(self, seat: _Seat, result: int, reason: Reason) -> PlayedGame:
        count = len(seat.moves)
        width = max(1, *(len(row) for row, _ in seat.targets))
        target_moves, target = np.zeros((count, width), np.uint16), np.zeros((count, width), np.float32)
        for ply, (row, shares) in enumerate(seat.targets):
            target_moves[ply] = seat.moves[ply]  # unused places repeat a legal move
            target_moves[ply, : len(row)], target[ply, : len(row)] = row, shares
        moves = np.array(seat.moves, np.uint16)
        nets = (seat.net, self._net)
        values, outlooks, draws = np.stack(seat.values).T
        return PlayedGame(
            seat.id, moves, target_moves, target, values, outlooks, draws, result, reason, seat.played_on, nets
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """All games in progress as plain arrays, between two steps; the position cache is emptied.

        A SelfPlay that restores it goes on exactly as this one does.
        """
        self._lockstep.forget()
        lockstep = self._lockstep
        counters = (self._next, self._net, self.positions, lockstep.simulations, lockstep.evaluations, lockstep.batches)
        kept: dict[str, NDArray[Any]] = {
            "counters": np.array(counters, np.int64),
            "resign": np.array([np.nan if self.resign is None else self.resign]),
        }
        for slot, seat in enumerate(self._seats):
            if seat is None:
                continue
            sizes = [len(row) for row, _ in seat.targets]
            values = np.array(seat.values, np.float32).reshape(-1, 3)
            parts = lockstep.tree_state(slot) | {
                "game": np.array([seat.id, seat.net, seat.full, *sizes], np.int64),
                "moves": np.array(seat.moves, np.uint16),
                "target_moves": np.concatenate([np.zeros(0, np.uint16), *(row for row, _ in seat.targets)]),
                "target": np.concatenate([np.zeros(0, np.float32), *(shares for _, shares in seat.targets)]),
                "said": values[:, :2],
                "draws": values[:, 2],
            }
            kept |= {f"{slot}.{name}": part for name, part in parts.items()}
        return kept

    def restore(self, kept: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a :meth:`state` of a SelfPlay with the same game, settings, seed, ids and net."""
        lockstep = self._lockstep
        lockstep.forget()
        counters = [int(n) for n in kept["counters"]]
        self._next, self._net, self.positions = counters[:3]
        lockstep.simulations, lockstep.evaluations, lockstep.batches = counters[3:]
        self.resign = None if np.isnan(kept["resign"][0]) else float(kept["resign"][0])
        lockstep.empty(np.arange(self.config.games, dtype=np.int32))
        self._seats = [None] * self.config.games
        for slot in range(self.config.games):
            if f"{slot}.game" not in kept:
                continue
            prefix = f"{slot}."
            parts = {name.removeprefix(prefix): part for name, part in kept.items() if name.startswith(prefix)}
            lockstep.restore_tree(slot, parts)
            number, net, full, *sizes = (int(n) for n in parts["game"])
            key = chance_key(self.seed, number)
            seat = self._seat(number, key, net)
            cuts = np.cumsum(sizes)[:-1]
            rows = zip(np.split(parts["target_moves"], cuts), np.split(parts["target"], cuts), strict=True)
            moves = [int(move) for move in parts["moves"]]
            seat.full, seat.moves, seat.targets = bool(full), moves, list(rows) if sizes else []
            values = parts["said"][:, :2]  # some versions kept a third figure that is no draw
            seat.values = list(np.column_stack([values, parts.get("draws", np.zeros(len(values), np.float32))]))
            self._seats[slot] = seat
