"""Plays the games of one worker of a run, with one net after another; knows neither the folder nor other processes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.nets.evaluator import Evaluator
from ...engine.search.selfplay import PlayedGame, SelfPlay
from ..net.providers import own_evaluator
from .halves import Halves
from .replay import WORKER_SHIFT, GameRecord
from .runconfig import RunConfig
from .rundir import Beat, Current


def record_of(played: PlayedGame, *, played_on: bool, surprises: bool = False) -> GameRecord:
    """The record of a finished game; targets keep moves with a share of more than 0.5 / 65535."""
    used = played.target > 0.5 / 65535
    return GameRecord(
        id=played.id,
        nets=played.nets,
        moves=played.moves,
        values=played.values,
        outlooks=played.outlooks,
        counts=used.sum(axis=1).astype(np.uint16),
        target_moves=played.target_moves[used],
        target_shares=played.target[used],
        result=played.result,
        reason=played.reason,
        played_on=played_on,
        surprises=played.surprises if surprises else None,
    )


class Player:
    def __init__(
        self, run: RunConfig, beat: Beat, first_id: int, net: Path, current: Current, address: Any = None
    ) -> None:
        """``beat``: keeps the counts of worker ``beat.worker``; ``first_id``: of its games.

        ``address``: of the evaluator that runs its nets, None = this process does. Errors: NetError.
        """
        self.run, self.beat, self.current = run, beat, current
        self.game = run.get_game()
        ids = range(first_id, (beat.worker + 1) << WORKER_SHIFT)
        self.play: SelfPlay | Halves
        if address is None:
            self.play = SelfPlay(self.game, self._evaluator(net), run.selfplay, run.seed, ids, net=current.step)
        else:
            self.play = Halves(self.game, address, str(net), run.selfplay, run.seed, ids, current.step)
        self.play.resign = current.resign

    def _evaluator(self, net: Path) -> Evaluator:
        machine, games = self.run.machine, self.run.selfplay.games
        return own_evaluator(net, self.game, provider=machine.provider, batch_size=games, precision=machine.precision)

    def use(self, net: Path, current: Current, *, reload: bool = False) -> None:
        """Play on with the run's current net and threshold of resignation. Errors: NetError."""
        if reload or current.net != self.current.net:
            if isinstance(self.play, Halves):
                self.play.use_net(str(net), current.step)
            else:
                self.play.use(self._evaluator(net), current.step)
        self.play.resign = current.resign
        self.current = current

    def advance(self) -> list[bytes]:
        """Advance all games by one batch; the payloads (see :class:`GameRecord`) of the finished ones.

        Errors: NetError.
        """
        begun = time.monotonic()
        finished = self.play.step()
        self.beat.seconds += time.monotonic() - begun
        self.beat.games += len(finished)
        never_resigned = self.play.resign is None
        wanted = self.run.window.surprise > 0
        records = (record_of(g, played_on=g.played_on or never_resigned, surprises=wanted) for g in finished)
        return [record.to_bytes() for record in records]

    def close(self) -> None:
        """Leave the evaluator of other processes, if it plays with one."""
        if isinstance(self.play, Halves):
            self.play.close()

    def count(self) -> Beat:
        """The worker's beat, brought up to date."""
        beat, play = self.beat, self.play
        beat.net, beat.simulations, beat.evaluations = self.current.step, play.simulations, play.evaluations
        beat.positions, beat.batches, beat.rows = play.positions, play.batches, play.batches * self.run.selfplay.games
        return beat
