"""Self-play in two halves, one of which chooses its leaves while the other's are judged by another process."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import NetError
from ....engine.games.base import Game
from ....engine.nets.evaluator import Evaluator, Output, Planes
from ....engine.search.selfplay.games import PlayedGame, SelfPlay, SelfPlayConfig
from ..config import RunConfig
from ..store.replay import WORKER_SHIFT
from .link import BATCHES, Link, Shape


class LinkedNet(Evaluator):
    """What a search asks of a net, for one that runs elsewhere: all but its answers, which come over the link."""

    def __init__(self, link: Link, path: str, batch_size: int) -> None:
        """BLOCKS while the other end loads it. Errors: NetError."""
        info = link.use(path)
        self.info = None
        self.history, self.encoder = int(info["history"]), str(info["encoder"])
        self.values = int(info["values"])  # width of a value
        self.description = str(info["description"])
        self.batch_size = batch_size

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        raise NotImplementedError("TwoBatches posts the leaves itself")


class TwoBatches:
    """Plays the games of ``ids`` as :class:`SelfPlay` does, with a net that another process runs.

    A game's moves are the same in either half: they depend on the seed, the game's number and the net's answers alone.
    """

    def __init__(
        self, game: Game, address: Any, net: str, config: SelfPlayConfig, seed: int, ids: range, label: int
    ) -> None:
        """``address``: of an evaluator's server; ``net``: path of the net; ``label``: see SelfPlay.use.

        BLOCKS while the net loads. Errors: NetError.
        """
        sizes = [config.games - config.games // BATCHES, config.games // BATCHES]
        self._game = game
        width = int(np.prod(game.planes))
        moves = game.max_moves
        self._link = Link(address, Shape(max(sizes), width, moves), game.name)
        try:
            self._net = LinkedNet(self._link, net, max(sizes))
        except NetError:
            self._link.close()
            raise
        self._logits = np.zeros((max(sizes), game.using(self._net.encoder).num_actions), np.float32)
        self._plays = [
            SelfPlay(game, self._net, replace(config, games=size), seed, ids[i::BATCHES], net=label)
            for i, size in enumerate(sizes)
            if size
        ]
        self._posted = [0] * len(self._plays)  # rows that are away

    @property
    def resign(self) -> float | None:
        return self._plays[0].resign

    @resign.setter
    def resign(self, threshold: float | None) -> None:
        for half in self._plays:
            half.resign = threshold

    @property
    def finished(self) -> bool:
        """Whether all games of ``ids`` are over."""
        return all(half.finished for half in self._plays)

    @property
    def simulations(self) -> int:
        return sum(half.simulations for half in self._plays)

    @property
    def evaluations(self) -> int:
        return sum(half.evaluations for half in self._plays)

    @property
    def positions(self) -> int:
        return sum(half.positions for half in self._plays)

    @property
    def batches(self) -> int:
        """Steps of all games."""
        return sum(half.batches for half in self._plays) // len(self._plays)

    def use_net(self, path: str, label: int) -> None:
        """Play on with another net. BLOCKS. Errors: NetError."""
        for i in range(len(self._plays)):
            self._collect(i)
        self._net = LinkedNet(self._link, path, self._net.batch_size)
        for half in self._plays:
            half.use(self._net, label)

    def step(self) -> list[PlayedGame]:
        """One step of each half; the games that ended. BLOCKS for the evaluation of one. Errors: NetError."""
        games: list[PlayedGame] = []
        for i, half in enumerate(self._plays):
            self._collect(i)
            ended, planes = half.choose()
            games += ended
            if len(planes):
                self._link.post(i, planes, half.actions())
            else:
                half.take(None)
            self._posted[i] = len(planes)
        return games

    def _collect(self, i: int) -> None:
        """Take the answers for what a half has posted."""
        rows, self._posted[i] = self._posted[i], 0
        if rows:
            policies, values = self._link.outputs(i, rows, self._net.values)
            half, logits = self._plays[i], self._logits[:rows]
            actions: NDArray[np.int64] = half.actions().astype(np.int64)
            np.put_along_axis(logits, actions, policies[:, : actions.shape[1]], axis=1)
            half.take((logits, values))

    def close(self) -> None:
        self._link.close()


def play_along(address: Any, settings: dict[str, Any], number: int, net: str) -> None:
    """Play games of a run, and store none, until the evaluator at ``address`` ends: for measurements."""
    run = RunConfig.from_values(settings)
    ids = range(number << WORKER_SHIFT, (number + 1) << WORKER_SHIFT)
    with contextlib.suppress(NetError):  # the measurement is over
        play = TwoBatches(run.get_game(), address, net, run.selfplay, run.seed, ids, 0)
        try:
            while True:
                play.step()
        finally:
            play.close()
