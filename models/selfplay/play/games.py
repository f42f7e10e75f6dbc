"""Plays the games of one worker of a run, with one net after another; knows neither the folder nor other processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.games.base import Game
from ....engine.nets.evaluator import Evaluator
from ....engine.search.selfplay.games import PlayedGame, SelfPlay
from ...net.providers import run_evaluator
from ..boards import Board
from ..config import RunConfig
from ..folder import Current, Heartbeat
from ..gpu.two_batches import TwoBatches
from ..store.replay import WORKER_SHIFT, GameRecord


def record_of(played: PlayedGame, *, played_on: bool, board: int = 0) -> GameRecord:
    """The record of a finished game; targets keep moves with a share of more than 0.5 / 65535.

    ``board``: as in GameRecord.
    """
    used = played.target > 0.5 / 65535
    return GameRecord(
        id=played.id,
        nets=played.nets,
        moves=played.moves,
        values=played.values,
        outlooks=played.outlooks,
        draws=played.draws,
        counts=used.sum(axis=1).astype(np.uint16),
        target_moves=played.target_moves[used],
        target_shares=played.target[used],
        result=played.result,
        reason=played.reason,
        played_on=played_on,
        board=board,
    )


class Player:
    def __init__(
        self, run: RunConfig, heartbeat: Heartbeat, first_id: int, net: Path, current: Current, address: Any = None
    ) -> None:
        """``heartbeat``: keeps the counts of worker ``heartbeat.worker``; ``first_id``: of its games.

        ``address``: of the evaluator that runs its nets, None = this process does. Errors: NetError.
        """
        self.run, self.heartbeat, self.current = run, heartbeat, current
        self.boards = run.get_boards()
        ids = range(first_id, (heartbeat.worker + 1) << WORKER_SHIFT)
        self.plays: list[SelfPlay | TwoBatches] = []  # one for each board
        for i, board in enumerate(self.boards):
            mine = ids[i :: len(self.boards)]
            if address is None:
                evaluator = self._evaluator(net, board.game)
                play: SelfPlay | TwoBatches = SelfPlay(
                    board.game, evaluator, run.selfplay, run.seed, mine, net=current.step
                )
            else:
                play = TwoBatches(board.game, address, str(net), run.selfplay, run.seed, mine, current.step)
            play.resign = current.resign
            self.plays.append(play)

    def _evaluator(self, net: Path, game: Game) -> Evaluator:
        machine, games = self.run.machine, self.run.selfplay.games
        return run_evaluator(net, game, provider=machine.provider, batch_size=games, precision=machine.precision)

    def state(self) -> dict[str, NDArray[Any]]:
        """The games in progress, see :meth:`SelfPlay.state`; for a player that runs its nets itself."""
        kept: dict[str, NDArray[Any]] = {}
        for board, play in zip(self.boards, self.plays, strict=True):
            assert isinstance(play, SelfPlay)
            kept |= {_prefix(board) + name: part for name, part in play.state().items()}
        return kept

    def restore(self, kept: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a :meth:`state`."""
        for board, play in zip(self.boards, self.plays, strict=True):
            assert isinstance(play, SelfPlay)
            prefix = _prefix(board)
            mine = {name.removeprefix(prefix): part for name, part in kept.items() if name.startswith(prefix)}
            play.restore({name: part for name, part in mine.items() if "/" not in name})

    def use(self, net: Path, current: Current, *, reload: bool = False) -> None:
        """Play on with the run's current net and threshold of resignation. Errors: NetError."""
        for board, play in zip(self.boards, self.plays, strict=True):
            if reload or current.net != self.current.net:
                if isinstance(play, TwoBatches):
                    play.use_net(str(net), current.step)
                else:
                    play.use(self._evaluator(net, board.game), current.step)
            play.resign = current.resign
        self.current = current

    def advance(self) -> list[bytes]:
        """Advance all games of a board by one batch; the payloads (see :class:`GameRecord`) of the finished ones.

        It is the turn of the board that lags most behind its share of the positions. Errors: NetError.
        """
        shares = [play.positions / board.share for board, play in zip(self.boards, self.plays, strict=True)]
        board, play = self.boards[int(np.argmin(shares))], self.plays[int(np.argmin(shares))]
        begun = time.monotonic()
        finished = play.step()
        self.heartbeat.seconds += time.monotonic() - begun
        self.heartbeat.games += len(finished)
        never_resigned = play.resign is None
        records = (record_of(g, played_on=g.played_on or never_resigned, board=board.lines) for g in finished)
        return [record.to_bytes() for record in records]

    def close(self) -> None:
        """Leave the evaluator of other processes, if it plays with one."""
        for play in self.plays:
            if isinstance(play, TwoBatches):
                play.close()

    def count(self) -> Heartbeat:
        """The worker's heartbeat, brought up to date."""
        heartbeat, plays = self.heartbeat, self.plays
        heartbeat.net, heartbeat.simulations = self.current.step, sum(play.simulations for play in plays)
        heartbeat.evaluations = sum(play.evaluations for play in plays)
        heartbeat.positions = sum(play.positions for play in plays)
        heartbeat.batches = sum(play.batches for play in plays)
        heartbeat.rows = heartbeat.batches * self.run.selfplay.games
        return heartbeat


def _prefix(board: Board) -> str:
    """What the names of a board's arrays begin with in :meth:`Player.state`."""
    return f"{board.lines}/" if board.lines else ""
