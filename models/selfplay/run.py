"""A self-play run: read new games, train, publish nets, rate them, and repeat.

Worker processes, or actors of a Ray cluster, play (see ``play``). With ``machine.workers = 0`` this process does,
in turns with the learner: the run then depends on the seed alone, and a killed run resumes bit for bit.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import deque
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...engine.errors import DataError, NetError, counted
from ...engine.nets.evaluator import UniformEvaluator
from ...engine.search.selfplay.games import SelfPlay
from ..data.dataset import Positions, Sampling
from ..report.runpage import STOPPED, LivePage
from ..storage import Patience
from ..train import checkpoint
from ..train.checkpoint import Checkpoint
from ..train.config import Length
from ..train.learner import Learner
from ..train.log import Log
from ..train.loop import Trainer, means
from ..train.origin import origin
from .boards import Board
from .config import NEVER, RunConfig
from .folder import Heartbeat, RunFolder
from .nets.promotion import Promotion
from .nets.rating import RESERVE, Ladder, raw, searching
from .nets.resignation import ResignControl
from .play.players import make_players
from .play.processes import Supervisor
from .play.worker import SelfPlayWorker
from .show.examples import write_examples
from .show.figures import figures_of_games, figures_of_players
from .show.status import Observer, Status
from .show.table import span
from .store.replay import WORKER_SHIFT, GameRecord, ReplayFolder
from .store.window import HELD_OUT_GAMES, Window, Windows

if TYPE_CHECKING:
    from .play.ray import ClusterPlayers

BURST = 50  # training steps between reads of new games ...
BURST_SECONDS = 1.0  # ... and where others play meanwhile, time between looks at how far they are ahead
WAIT_SECONDS = 0.2  # when there is nothing to do
RECENT = 500  # newest games that the run's statistics cover
FEWEST_CANARIES = 64  # held-out positions; with fewer, the window's serve
MEASURED = 2048  # held-out positions judged at each checkpoint


class SelfPlayRun:
    """One start of a run. The caller holds the folder's RunLock."""

    def __init__(self, folder: Path, run: RunConfig, observer: Observer) -> None:
        self.folder, self.run, self.observer = RunFolder(folder), run, observer
        self.game = run.get_game()
        self.net = run.net_config(self.game)
        self.learner = Learner(
            self.game, self.net, run.learner_config(), device=run.machine.device, threads=run.machine.threads
        )
        self.window = Windows(run.get_boards(), run.window, self._window)
        self.held_out = Window(
            self.game, HELD_OUT_GAMES, territory=self.net.territory, sampling=Sampling(history=self.net.history)
        )
        lines = [board.lines for board in run.get_boards()]
        self.replay = ReplayFolder(self.folder.games, self.game, str(run.seed), observer.on_event, lines)
        self.resign = ResignControl(run.resign)
        self._patiently = Patience(
            folder, observer.on_event, stopping=self._stopping, waiting=lambda: self._say("disk full")
        )
        self.ladder = Ladder(self.folder, run, self.game, self._patiently)
        self.promotion = Promotion(
            self.folder, run, self.game, self.learner, observer, self._patiently, say=self._say, log=self._log_row
        )
        self.recent: deque[GameRecord] = deque(maxlen=RECENT)
        self.status = Status()
        self.page = LivePage(folder, observer.on_event)
        self.games = self.positions = 0  # read, over all starts; positions are those for training
        self.process_games = 0  # games of this process, number 0
        self.worker: SelfPlayWorker | None = None
        self.players: Supervisor | ClusterPlayers | None = None
        self.trainer: Trainer  # of this start, once it has resumed
        self._saved = -1  # the step of the newest checkpoint
        self._noted_memory = False
        self._losses: list[dict[str, float]] = []  # of the steps since the last log row
        self._changed: list[str] = []  # settings that are others than at the start before
        self._resumed: Checkpoint | None = None

    def _window(self, board: Board) -> Window:
        config = self.run.window
        return Window(
            board.game,
            1,
            max(1, int(config.memory_mib * board.share)),
            root_value=config.root_value,
            territory=self.net.territory,
            sampling=Sampling(symmetries=self.run.loop.symmetries, history=self.net.history),
        )

    # ---- the whole run

    def train(self) -> bool:
        """Train to the run's end; False when it was stopped and saved. Errors: AzError."""
        self.folder.paused = self.folder.finished = False
        attempt = self.observer.attempt
        if not attempt(self._resume):
            return False
        self._log = self._patiently(lambda: Log(self.folder.log, self.learner.step), "the log")
        if self._changed:
            self._log_row({"changed": self._changed})
        self.page.write(self._summary, now=True)
        try:
            if not (attempt(self._compile) and attempt(self._publish_first)):
                return False
            over = self.trainer.finished
            if not over:
                self._start_playing()
            if self.promotion.undecided:
                attempt(self._consider)
            while not self.trainer.finished:
                if self._stopping():
                    self._save()
                    return False
                self._turn()
            if self._losses:
                self._log_losses()
            if self._saved != self.learner.step:
                attempt(self._measure)
            if self._saved != self.learner.step or (
                self.run.loop.minutes and not over
            ):  # by minutes: the used time, too
                self._save()  # by steps: each checkpoint once, the same bytes however often killed
            if not (attempt(self._publish_last) and attempt(self._rate_the_rest)) or self._stopping():
                return False
            self._patiently(lambda: setattr(self.folder, "finished", True), "that the run is over")
            self._say("over")
            self.page.write(self._summary, now=True)
            return True
        finally:
            if self.players is not None:
                self.players.stop()
            if self.worker is not None:
                self.worker.writer.close()
            self._log.close()
            if not self.folder.finished:
                self.page.write(lambda: STOPPED, now=True)

    def _compile(self) -> None:
        """Call the kernels of playing and reading while nothing is lost when a signal ends their compiling."""
        line = np.zeros(2, self.game.state_dtype)
        line[:1] = self.game.initial()
        move = self.game.legal_moves(line[:1])[:1].astype(np.uint16)
        self.game.replay(line, move, np.ones(1, np.uint16), move)
        if self.run.machine.in_turns:
            small = replace(
                self.run.selfplay, games=1, visits=2, max_moves=2, cache_mb=min(self.run.selfplay.cache_mb, 1)
            )
            play = SelfPlay(self.game, UniformEvaluator(self.game), small, 0)
            while not play.step():
                pass

    def _publish_first(self) -> None:
        if self.promotion.first(self.resign.threshold()):
            self.ladder.enqueue(self.learner.step)

    def _publish_last(self) -> None:
        try:
            if not self.folder.net(self.learner.step).exists():
                self.promotion.export(self._canaries(), self.games)
        except (NetError, DataError) as error:
            self.observer.on_event(f"the last weights are not fit to play: {error}")

    def _turn(self) -> None:
        """Learn if there are enough games, else gather games; a resumed run follows the same order."""
        if self._allowed() > self.learner.step:
            self._learn()
            if self.worker is None:
                self._gather()
        else:
            self._gather()
            if self.worker is None and self._allowed() <= self.learner.step:
                self.observer.attempt(self._rate)
                time.sleep(WAIT_SECONDS)
        if self.players is not None:
            self.players.check()
            self._pace()
        self._show()
        self.page.write(self._summary)

    def _stopping(self) -> bool:
        return self.observer.stop()

    # ---- games

    def _gather(self) -> None:
        """Read the workers' new games, or play one batch in this process."""
        if self.worker is not None:
            self._say("playing")
            self._take(self.worker.advance())
            self.worker.tell("playing")
        else:
            self._say(self._awaited())
            for records in self.replay.read():
                self._take(records)
        self.trainer.tick()

    def _awaited(self) -> str:
        """What the learner waits for."""
        first = self.run.loop.first_positions
        if not self.games:
            return "waiting for the first games"
        if self.positions < first < NEVER:
            return f"waiting for games: {self.positions:,} of {counted(first, 'position')}"
        return "playing only" if first >= NEVER else "waiting for new games"

    def _is_held_out(self, record: GameRecord) -> bool:
        """Whether a game is one of the main board's that are only measured on; boards take turns with the numbers."""
        every, turn = self.run.window.held_out_every, record.id // len(self.run.get_boards())
        return bool(every) and not record.board and turn % every == every - 1

    def _take(self, records: list[GameRecord]) -> None:
        if not records:
            return
        held = [record for record in records if self._is_held_out(record)]
        training = [record for record in records if not self._is_held_out(record)]
        self.games += len(records)
        self.process_games += sum(r.id >> WORKER_SHIFT == 0 for r in records)
        self.positions += sum(r.targets for r in training)
        self.window.add(records, training)
        if held:
            self.held_out.add(held)
        for record in records:
            self.resign.add(record)
            self.recent.append(record)
        if self.window.memory_bound and not self._noted_memory:
            self._noted_memory = True
            self.observer.on_event(
                f"the window is bounded by window.memory_mib = {self.run.window.memory_mib}: "
                f"{counted(self.window.games, 'game')} instead of {self.window.limit:,}"
            )

    def _allowed(self) -> int:
        """The step up to which ``loop.reuse`` allows training on the games so far."""
        loop = self.run.loop
        if self.positions < max(loop.first_positions, 1) or not len(self.window):
            return 0
        learner = self.learner
        return learner.step + int((loop.reuse * self.positions - learner.positions) // learner.config.batch)

    def _pace(self) -> None:
        """Pause the workers while the learner is too far behind them."""
        loop, learner = self.run.loop, self.learner
        new = self.positions - loop.first_positions
        behind = bool(loop.least_reuse) and new > learner.config.batch * BURST
        self.folder.paused = behind and learner.positions < loop.least_reuse * new

    # ---- learning

    def _learn(self) -> None:
        """Up to BURST steps, ending at a checkpoint when one is due."""
        self._say("learning")
        late = time.monotonic() + (BURST_SECONDS if self.worker is None else math.inf)
        end = min(self._allowed(), self.learner.step + BURST, self.run.next_checkpoint(self.learner.step))
        before = self.learner.step
        with contextlib.closing(self.trainer.steps(self.window, end)) as steps:
            for losses in steps:
                self._losses.append({**losses, "seconds": self.trainer.step_seconds})
                if self.learner.step % self.run.loop.log_steps == 0:
                    self._log_losses()
                if time.monotonic() > late:
                    break
        if self.learner.step > before and self.run.is_checkpoint(self.learner.step):
            self.observer.attempt(self._measure)
            self._save()
            self.observer.attempt(self._consider)
            self.page.write(self._summary, now=True)
        self.observer.attempt(self._rate)

    def _log_losses(self) -> None:
        losses, self._losses = means(self._losses), []
        speed = self.learner.config.batch / max(1e-9, losses.pop("seconds"))
        self.status.losses = losses
        self._log_row({**losses, "trained_per_s": speed})
        self._show()

    def _measure(self) -> None:
        """Judge the averaged network on games that were never trained on."""
        if len(self.held_out):
            measured = self.learner.measure(self.held_out, MEASURED)
            self.status.held_out = asdict(measured)
            self._log_row({"heldout": asdict(measured)})
        self._log_row({"selfplay": self._figures()})
        self._patiently(
            lambda: write_examples(self.game, self.recent, self.folder.examples, self.learner.step), "games to look at"
        )

    def _figures(self) -> dict[str, Any]:
        current = self.folder.current
        threshold = current.resign if current else None
        return {
            "games": self.games,
            "positions": self.positions,
            "window_games": self.window.games,
            **figures_of_games(self.recent),
            "resign_threshold": threshold,
            "resign_wrong": self.resign.false_positives(threshold),
            "repeated_games": self.replay.repeated,
            "damaged_records": self.replay.damaged,
            "rating_seconds": self.ladder.seconds,
            **figures_of_players(self._heartbeats()),
        }

    # ---- checkpoints and nets

    def _save(self) -> None:
        """Write a checkpoint, waiting for room on the disk."""
        self._say("saving")
        saved = self.learner.to_checkpoint()
        tensors, state = dict(saved.tensors), dict(saved.state)
        state["loop"] = {"own_games": self.process_games}
        if self.worker is not None:
            tensors["selfplay.state"] = torch.frombuffer(bytearray(self.worker.state()), dtype=torch.uint8)
        full = Checkpoint(saved.step, tensors, state)
        self._patiently(lambda: checkpoint.save(self.folder.checkpoints, full), f"step {saved.step:,}")
        self._saved = saved.step

    def _resume(self) -> None:
        """Restore the newest checkpoint and read the games up to it. Errors: DataError."""
        self._resumed = saved = checkpoint.load_newest(self.folder.checkpoints, self.observer.on_event)
        process_games = 0
        if saved is not None:
            tensors = {name: t for name, t in saved.tensors.items() if not name.startswith("selfplay.")}
            self._changed = self.learner.restore(Checkpoint(saved.step, tensors, saved.state))
            loop = saved.state.get("loop", {})
            process_games = int(loop.get("own_games", 0))
            self._saved = saved.step
            self.observer.on_event(f"going on from step {saved.step:,}")
        elif any(self.folder.net_steps):
            raise DataError(
                f"{self.folder.checkpoints} is empty and {self.folder.nets} holds trained nets: put the checkpoints "
                "back, or begin a new run in another folder"
            )
        elif self.run.init:
            self.learner.begin_from(origin(Path(self.run.init), self.game))
            self.observer.on_event(f"beginning with the weights of {self.run.init}")
        self.ladder.forget_after(self.learner.step)
        before = self.learner.progress
        self.trainer = Trainer(self.learner, self._length, self._stopping)
        if text := self.trainer.respanned(before):
            self._changed.append(text)
            self.observer.on_event(text)
        for records in self.replay.read():
            if self.run.machine.in_turns:  # it plays its games after the checkpoint again, identically
                ours = [r for r in records if r.id >> WORKER_SHIFT == 0]
                records = [*(r for r in records if r.id >> WORKER_SHIFT), *ours[: process_games - self.process_games]]  # noqa: PLW2901
            self._take(records)
        if self.replay.damaged:
            self.observer.on_event(f"{self.replay.damaged} damaged places in the game records were skipped")

    def _consider(self) -> None:
        """Publish the newest checkpoint, plan its rating and remove old nets."""
        fit = self.promotion.consider(self.resign.threshold(), self._canaries(), self.games)
        if not fit:
            return
        step = self.learner.step
        if step // self.run.loop.checkpoint_steps % self.run.ladder.every == 0:
            self.ladder.enqueue(step)
        self.promotion.prune({*self.ladder.rated, *(match.step for match in self.ladder.waiting)})
        if self.worker is not None:
            self.worker.follow()

    def _canaries(self) -> Positions | None:
        """Positions that a net is tested on before it is published; None before the first game."""
        canaries = self.held_out if len(self.held_out) >= FEWEST_CANARIES else self.window.main
        return canaries if len(canaries) else None

    # ---- playing and rating

    def _start_playing(self) -> None:
        saved, self._resumed = self._resumed, None
        if not self.run.machine.in_turns:
            self.players = make_players(self.folder, self.run, self.observer)
            self.players.start()
            return
        self.worker = SelfPlayWorker(self.folder, self.run, 0, self.observer.on_event, first_id=0)
        self.worker.stopping = self._stopping
        state = None if saved is None else saved.tensors.get("selfplay.state")
        if state is not None:
            self.worker.restore(state.numpy().tobytes())

    @property
    def _processes(self) -> int:
        return min(1 + self.run.machine.workers, os.cpu_count() or 1)

    @property
    def _length(self) -> Length:
        """How long it learns: by minutes, the last net's rating takes its time from them."""
        length = self.run.loop.length
        return replace(length, minutes=length.minutes * (1 - RESERVE * self.run.ladder.share * self._processes))

    def _rate(self, *, last: bool = False) -> None:
        """Play rating matches within their share of the time so far; the last ones within the run's minutes, too."""
        if self.run.ladder.share <= 0:
            return
        seconds = self.ladder.allowance(self._processes * self.learner.seconds, last=last)
        if last and (minutes := self.run.loop.length.minutes):
            seconds = min(seconds, 60 * minutes - self.learner.seconds)
        if not self.ladder.affordable(seconds):
            return
        doing = self.status.doing
        self._say("rating")
        played = self.ladder.play_waiting(seconds, self._stopping)
        self._say(doing)
        if played:
            self.trainer.tick()
            ratings = self.ladder.ratings()
            self.status.anchor = self.ladder.zero()
            step = self.ladder.rated[-1]
            names = [n for n in (searching(step, self.run.ladder.visits), raw(step)) if n in ratings]
            self.status.elo = {n: (ratings[n].elo, ratings[n].low, ratings[n].high) for n in names}
            self._log_row({"ratings": {n: [round(x, 1) for x in v] for n, v in self.status.elo.items()}})
            self.page.write(self._summary, now=True)

    def _rate_the_rest(self) -> None:
        """At the run's end: rate the last net, then skipped ones, within the rating's share of the time."""
        self.ladder.enqueue(self.folder.net_steps[-1], last=True)
        self._rate(last=True)
        while self.ladder.enqueue_left_out():
            self._rate(last=True)

    # ---- telling

    def _summary(self) -> dict[str, str]:
        """What the run's page tells of now."""
        learner, seconds, progress = self.learner, self.learner.seconds, self.learner.progress
        minutes = self.run.loop.length.minutes
        left = 60 * minutes - seconds if minutes else seconds * (1 - progress) / max(progress, 1e-9)
        return {
            "learner": "learning" if learner.step < self._allowed() else self._awaited(),
            "training steps": f"{learner.step:,}",
            "time": span(seconds),
            **({"time left, about": span(max(left, 0.0))} if minutes or progress > 0.002 else {}),
            "games": f"{self.games:,}",
            "positions": f"{self.positions:,}",
            "window": f"{counted(self.window.games, 'game')}, {counted(len(self.window), 'position')}",
        }

    def _heartbeats(self) -> list[Heartbeat]:
        if self.worker is not None:
            self.worker.tell("playing", at_once=True)
            return [self.worker.heartbeat]
        return self.players.heartbeats() if self.players is not None else []

    def _say(self, doing: str) -> None:
        if doing != self.status.doing:
            self.status.doing = doing
            self._show()

    def _show(self) -> None:
        status, learner = self.status, self.learner
        minutes = self.run.loop.length.minutes
        status.progress = min(1.0, learner.seconds / (60 * minutes)) if minutes else learner.progress
        status.step, status.seconds = learner.step, learner.seconds
        status.games, status.positions = self.games, self.positions
        status.window_games, status.window_positions = self.window.games, len(self.window)
        status.reuse = learner.positions / max(1, self.positions)
        status.rating_share = self.ladder.seconds / max(1e-9, learner.seconds)
        self.observer.on_status(status)

    def show_workers(self) -> None:
        """Update the workers' part of the status; reads a few small files."""
        self.status.heartbeats = [self.worker.heartbeat] if self.worker is not None else self._heartbeats()
        current = self.folder.current
        if current is not None:
            self.status.net, self.status.resign = current.step, current.resign
        if self.recent:
            self.status.length = float(np.mean([len(r.moves) for r in self.recent]))

    def _log_row(self, row: dict[str, Any]) -> None:
        where = {
            "step": self.learner.step,
            "minutes": self.learner.seconds / 60,
            "positions": self.learner.positions,
            "games": self.games,
        }
        full = {**where, **row}
        try:
            self._log.write(full)
        except DataError as error:  # a full disk: the run goes on without the row
            self.observer.on_event(str(error))
        self.observer.on_row(full)
