"""The training loop of a self-play run: new games in, steps of the learner, nets out, and again.

Games come from worker processes by way of the run's folder, however many there are and whoever started them; or, with
``machine.workers = 0``, from this process in turns with the learner: then everything depends on the seed alone, and a
run that was killed goes on bit for bit as if it had not been.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from ..engine.contest import Player
from ..engine.errors import AzError, DataError, NetError
from ..engine.evaluator import OnnxEvaluator
from . import checkpoint, gate
from .checkpoint import Checkpoint
from .dataset import Batch
from .frames import DiskFull
from .ladder import Ladder, hash_of, raw, searching
from .learner import Learner
from .log import Log
from .publish import publish
from .replay import WORKER_SHIFT, GameRecord, ReplayFolder, title
from .resign import ResignControl
from .runconfig import RunConfig
from .rundir import Beat, Current, RunFolder
from .supervisor import Supervisor, worker_command
from .window import HELD_OUT_GAMES, Window, window_games
from .worker import Worker

BURST = 50  # training steps between looks at the games
WAIT_SECONDS = 0.2  # when there is nothing to do
RETRY_SECONDS = 5.0  # after a full disk
RECENT = 500  # games that the figures of a run are taken from
REFUSALS = 3  # nets in a row that may not be published before the run gives up
KEPT_NETS = 4  # newest nets that stay; rated ones stay, too
MEASURED = 2048  # held-out positions judged at each checkpoint

Result = TypeVar("Result")


@dataclass(slots=True)
class Hooks:
    """What a run tells its caller."""

    on_status: Callable[[Status], None] = lambda status: None  # several times a second
    on_event: Callable[[str], None] = lambda text: None  # a sentence
    on_row: Callable[[dict[str, Any]], None] = lambda row: None  # what is logged
    stop: Callable[[], bool] = lambda: False
    worker_command: Callable[[Path, int], Sequence[str]] = worker_command


@dataclass(slots=True)
class Status:
    """Where a run stands, for people."""

    step: int = 0
    progress: float = 0.0
    seconds: float = 0.0  # over all starts
    games: int = 0
    positions: int = 0  # with a policy target, of all games
    window_games: int = 0
    window_positions: int = 0
    reuse: float = 0.0  # positions trained on for each new one so far
    losses: dict[str, float] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    beats: list[Beat] = field(default_factory=list)
    net: int = 0  # step of the net that plays
    length: float = 0.0  # mean plies of recent games
    resign: float | None = None
    elo: dict[str, tuple[float, float, float]] = field(default_factory=dict)  # newest rated net: (elo, low, high)
    doing: str = ""
    rating_share: float = 0.0


class Loop:
    """One start of a run. The caller holds the folder's RunLock."""

    def __init__(self, folder: Path, run: RunConfig, hooks: Hooks) -> None:
        self.folder, self.run, self.hooks = RunFolder(folder), run, hooks
        self.game = run.get_game()
        self.net = run.net_config(self.game)
        self.learner = Learner(self.game, self.net, run.learner_config(), device=run.machine.device)
        self.window = Window(self.game, 1, run.window.memory_mib)
        self.window.symmetries, self.window.history = run.loop.symmetries, self.net.history
        self.held_out = Window(self.game, HELD_OUT_GAMES)
        self.held_out.history = self.net.history
        self.replay = ReplayFolder(self.folder.games, title(self.game, str(run.seed)))
        self.resign = ResignControl(run.resign)
        self.ladder = Ladder(self.folder, run, self.game, hooks.on_event)
        self.recent: deque[GameRecord] = deque(maxlen=RECENT)
        self.status = Status()
        self.games = self.positions = 0  # taken in, over all starts; positions that may be trained on
        self.own_games = 0  # of them, those played in the learner's process
        self.worker: Worker | None = None
        self.supervisor: Supervisor | None = None
        self._refused = 0
        self._begun = time.monotonic()
        self._before = 0.0  # seconds of earlier starts
        self._progress_before = 0.0
        self._told_memory = False
        self._losses: list[dict[str, float]] = []  # of the steps since the last log row
        self._pool = concurrent.futures.ThreadPoolExecutor(1, "batches")

    # ---- the whole run

    def train(self) -> bool:
        """Go on to the run's end; False when it was stopped, and saved. Errors: AzError."""
        self.folder.paused = self.folder.finished = False
        state = self._resume()
        self._log = Log(self.folder.log, self.learner.step)
        try:
            self._first_net()
            self._start_playing(state)
            if self._checkpoint_undecided():
                self._consider()
            while not self._finished():
                if self.hooks.stop():
                    self._save()
                    return False
                self._turn()
            self._save()
            try:
                self.export_last()
            except (NetError, DataError) as error:
                self.hooks.on_event(f"the last weights are not fit to play: {error}")
            self._rate(last=True)
            self.folder.finished = True
            return True
        finally:
            if self.supervisor is not None:
                self.supervisor.stop()
            if self.worker is not None:
                self.worker.writer.close()
            self._pool.shutdown()
            self._log.close()

    def _turn(self) -> None:
        """Learn when there are games enough, else get games. In this order: a resumed run does the same."""
        if self._allowed() > self.learner.step:
            self._learn()
            if self.worker is None:
                self._gather()
        else:
            self._gather()
            if self.worker is None and self._allowed() <= self.learner.step:
                self._rate()
                time.sleep(WAIT_SECONDS)
        if self.supervisor is not None:
            self.supervisor.check()
            self._pace()
        self._show()

    def _finished(self) -> bool:
        loop = self.run.loop
        return self.learner.seconds >= loop.minutes * 60 if loop.minutes else self.learner.step >= loop.steps

    # ---- games

    def _gather(self) -> None:
        """Take in new games: those that workers have written, or one batch of play in this process."""
        if self.worker is not None:
            self._say("playing")
            self._take(self.worker.advance())
            self.worker.tell("playing")
        else:
            self._take(self.replay.read())
        self._tick()

    def _take(self, records: list[GameRecord]) -> None:
        if not records:
            return
        every = self.run.window.held_out_every
        held = [r for r in records if every and r.id % every == every - 1]
        training = [r for r in records if not (every and r.id % every == every - 1)]
        self.games += len(records)
        self.own_games += sum(r.id >> WORKER_SHIFT == 0 for r in records)
        self.positions += sum(r.targets for r in training)
        self.window.limit = window_games(self.run.window, self.games)
        self.window.add(training)
        if held:
            self.held_out.add(held)
        for record in records:
            self.resign.add(record)
            self.recent.append(record)
        if self.window.memory_bound and not self._told_memory:
            self._told_memory = True
            self.hooks.on_event(
                f"the window is bounded by window.memory_mib = {self.run.window.memory_mib}: "
                f"{self.window.games:,} games instead of {self.window.limit:,}"
            )

    def _allowed(self) -> int:
        """Training steps that the games so far allow."""
        loop = self.run.loop
        if self.positions < max(loop.first_positions, 1) or not len(self.window):
            return 0
        return int(loop.reuse * self.positions / self.learner.config.batch)

    def _pace(self) -> None:
        """Let the workers wait when the learner is too far behind them."""
        least = self.run.loop.least_reuse
        trained = self.learner.step * self.learner.config.batch
        behind = bool(least) and self.positions > self.run.loop.first_positions + self.learner.config.batch * BURST
        self.folder.paused = behind and trained < least * (self.positions - self.run.loop.first_positions)

    # ---- learning

    def _learn(self) -> None:
        """Up to BURST steps, ending at a checkpoint when one is due."""
        self._say("learning")
        every = self.run.loop.checkpoint_steps
        end = min(self._allowed(), self.learner.step + BURST, (self.learner.step // every + 1) * every)
        if not self.run.loop.minutes:
            end = min(end, self.run.loop.steps)
        for batch in self._batches(self.learner.step, end):
            begun = time.monotonic()
            losses = self.learner.train_step(batch)
            self._tick()
            self._losses.append({**losses, "seconds": time.monotonic() - begun})
            if self.learner.step % self.run.loop.log_steps == 0:
                self._log_losses()
            if self.hooks.stop() or self._finished():
                break
        if self.learner.step % every == 0:
            self._measure()
            self._save()
            self._consider()
        self._rate()

    def _log_losses(self) -> None:
        """Log the means since the last time."""
        rows, self._losses = self._losses, []
        means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        speed = self.learner.config.batch / max(1e-9, means.pop("seconds"))
        self.status.losses = means
        self._log_row({**means, "trained_per_s": speed})
        self._show()

    def _batches(self, start: int, end: int) -> Iterator[Batch]:
        """The batches of steps start .. end - 1; a thread makes each while the one before is trained on."""

        def make(step: int) -> Batch:
            return self.window.draw(self.learner.config.batch, self.run.seed, step)

        coming = self._pool.submit(make, start)
        for step in range(start, end):
            batch = coming.result()
            if step + 1 < end:
                coming = self._pool.submit(make, step + 1)
            yield batch

    def _measure(self) -> None:
        """Judge the averaged network on games that were never trained on."""
        if len(self.held_out):
            measured = self.learner.measure(self.held_out, MEASURED)
            self.status.held_out = asdict(measured)
            self._log_row({"heldout": asdict(measured)})
        self._log_row({"selfplay": self._figures()})

    def _figures(self) -> dict[str, Any]:
        """What the newest games say."""
        games = list(self.recent)
        results = [g.result for g in games]
        given_up = [g for g in games if g.reason == "resigned"]
        current = self.folder.current
        threshold = current.resign if current else None
        figures: dict[str, Any] = {
            "games": self.games,
            "positions": self.positions,
            "window_games": self.window.games,
            "length": float(np.mean([len(g.moves) for g in games])) if games else 0.0,
            "first_wins": results.count(1) / max(1, len(results)),
            "draws": results.count(0) / max(1, len(results)),
            "resigned": len(given_up) / max(1, len(games)),
            "capped": sum(g.reason == "max moves" for g in games) / max(1, len(games)),
            "resign_threshold": threshold,
            "resign_wrong": self.resign.false_positives(threshold),
            "repeated_games": self.replay.repeated,
            "damaged_records": self.replay.damaged,
            "rating_seconds": self.ladder.seconds,
        }
        beats = self._beats()
        seconds = sum(b.seconds for b in beats)
        if seconds:
            figures["simulations_per_worker_s"] = sum(b.simulations for b in beats) / seconds
            figures["batch_fill"] = sum(b.evaluations for b in beats) / max(1, sum(b.rows for b in beats))
        return figures

    # ---- checkpoints and nets

    def _save(self) -> None:
        """Write a checkpoint, waiting for room on the disk."""
        self._say("saving")
        saved = self.learner.to_checkpoint()
        tensors, state = dict(saved.tensors), dict(saved.state)
        state["loop"] = {"own_games": self.own_games, "rating_seconds": self.ladder.seconds}
        if self.worker is not None:
            tensors["selfplay.state"] = torch.frombuffer(bytearray(self.worker.state()), dtype=torch.uint8)
        self._patiently(lambda: checkpoint.save(self.folder.checkpoints, Checkpoint(saved.step, tensors, state)))

    def _resume(self) -> Checkpoint | None:
        """Take over the newest checkpoint and the games up to it. Errors: DataError."""
        saved = checkpoint.load_newest(self.folder.checkpoints, self.hooks.on_event)
        own_games = 0
        if saved is not None:
            tensors = {name: t for name, t in saved.tensors.items() if not name.startswith("selfplay.")}
            self.learner.restore(Checkpoint(saved.step, tensors, saved.state))
            loop = saved.state.get("loop", {})
            self.ladder.seconds = float(loop.get("rating_seconds", 0.0))
            own_games = int(loop.get("own_games", 0))
            self.hooks.on_event(f"going on from step {saved.step:,}")
        self.ladder.forget_after(self.learner.step)
        self._before, self._progress_before = self.learner.seconds, self.learner.progress
        records = self.replay.read()
        if self.run.machine.workers == 0:  # this process plays its games after the checkpoint again, and the same
            own = [r for r in records if r.id >> WORKER_SHIFT == 0]
            records = [*(r for r in records if r.id >> WORKER_SHIFT), *own[:own_games]]
        self._take(records)
        if self.replay.damaged:
            self.hooks.on_event(f"{self.replay.damaged} damaged places in the game records were skipped")
        return saved

    def _first_net(self) -> None:
        """Publish the net that begins, so that there is one to play with."""
        current = self.folder.current
        if current is not None and self.folder.nets.joinpath(current.net).exists():
            if current.considered > self.learner.step:  # of checkpoints that were lost
                self.folder.current = Current(current.net, current.step, self.learner.step, current.resign)
            return
        self._publish(self.learner.step, self.resign.threshold())
        self.ladder.enqueue(self.learner.step)

    def _checkpoint_undecided(self) -> bool:
        """Whether the run ended between writing a checkpoint and publishing it."""
        step, current = self.learner.step, self.folder.current
        return current is not None and step % self.run.loop.checkpoint_steps == 0 and step > current.considered

    def _consider(self) -> None:
        """Publish the newest checkpoint: at once, or through the gate. A net that fails the checks is not used."""
        step, current = self.learner.step, self.folder.current
        assert current is not None
        threshold = self.resign.threshold()
        try:
            if self.run.gate.games:
                self._through_the_gate(step, current, threshold)
            else:
                self._publish(step, threshold)
            self._refused = 0
        except (NetError, DataError) as error:
            self._refused += 1
            self.folder.current = Current(current.net, current.step, step, threshold)
            self.hooks.on_event(f"not published: {error}")
            if self._refused >= REFUSALS:
                raise DataError(
                    f"{REFUSALS} nets in a row were unfit to play, the last one because: {error}; "
                    "lower learner.rate and start a new run"
                ) from error
            return
        if step // self.run.loop.checkpoint_steps % self.run.ladder.every == 0:
            self.ladder.enqueue(step)
        self._prune()
        if self.worker is not None:
            self.worker.follow()

    def _export(self, step: int) -> Path:
        """The net of the weights as they are. Errors: NetError, DataError."""
        self._say("publishing")
        canaries = self.held_out if len(self.held_out) >= 64 else self.window
        return self._patiently(
            lambda: publish(
                self.learner,
                self.game,
                canaries if len(canaries) else None,
                self.folder.net(step),
                trained_on=f"{self.games:,} games against itself",
                int8=self.run.machine.int8,
                say=self.hooks.on_event,
            )
        )

    def export_last(self) -> Path:
        """The net of the newest weights, whether or not it generates games. Errors: NetError, DataError."""
        step = self.learner.step
        path = self.folder.net(step)
        return path if path.exists() else self._export(step)

    def _publish(self, step: int, threshold: float | None) -> None:
        path = self._export(step)
        self._patiently(lambda: setattr(self.folder, "current", Current(path.name, step, step, threshold)))

    def _through_the_gate(self, step: int, current: Current, threshold: float | None) -> None:
        path = self._export(step)
        self._say("gate")
        config, search = self.run.gate, self.run.selfplay.search
        provider, size = self.run.machine.provider, gate.CHUNK
        nets = [OnnxEvaluator(p, self.game, provider=provider, batch_size=size) for p in
                (path, self.folder.nets / current.net)]  # fmt: skip
        candidate, best = (
            Player(name, net, config.visits, search) for name, net in zip(("candidate", "best"), nets, strict=True)
        )
        verdict = gate.contest(
            self.game,
            candidate,
            best,
            config,
            seed=hash_of(f"{self.run.seed} gate {step}"),
            max_moves=self.run.selfplay.max_moves,
            stopping=self.hooks.stop,
        )
        if verdict is None:
            return  # stopped: the next start judges this checkpoint
        row = {**asdict(verdict), "score": verdict.score, "best": current.step}
        self._log_row({"gate": row})
        self.hooks.on_event(
            f"gate: step {step:,} against {current.step:,} +{verdict.wins} ={verdict.draws} -{verdict.losses}, "
            + ("promoted" if verdict.promoted else "not promoted")
        )
        new = (path.name, step) if verdict.promoted else (current.net, current.step)
        self.folder.current = Current(*new, step, threshold)

    def _prune(self) -> None:
        """Remove nets that neither play nor are rated nor are among the newest."""
        current = self.folder.current
        kept = {0, *self.folder.net_steps[-KEPT_NETS:], *self.ladder.rated, *(m.step for m in self.ladder.waiting)}
        if current is not None:
            kept.add(current.step)
        for step in self.folder.net_steps:
            if step not in kept:
                self.folder.net(step).unlink(missing_ok=True)

    # ---- playing and rating

    def _start_playing(self, saved: Checkpoint | None) -> None:
        if self.run.machine.workers:
            self.supervisor = Supervisor(
                self.folder,
                self.run.machine.workers,
                self.run.machine.hang_seconds,
                self.hooks.on_event,
                self.hooks.worker_command,
            )
            self.supervisor.start()
            return
        self.worker = Worker(self.folder, self.run, 0, self.hooks.on_event, first_id=0)
        self.worker.stopping = self.hooks.stop
        state = None if saved is None else saved.tensors.get("selfplay.state")
        if state is not None:
            self.worker.restore(state.numpy().tobytes())

    def _rate(self, *, last: bool = False) -> None:
        """Play what the rating may cost by now."""
        if self.run.ladder.share <= 0:
            return
        if last:
            self.ladder.enqueue(self.folder.net_steps[-1], last=True)
        processes = 1 + min(self.run.machine.workers, (os.cpu_count() or 2) - 1)
        if self.ladder.waiting:
            self._say("rating")
        played = self.ladder.play_waiting(processes * self.learner.seconds, last=last)
        if played:
            self._tick()
            ratings = self.ladder.ratings()
            step = self.ladder.rated[-1]
            names = [n for n in (searching(step, self.run.ladder.visits), raw(step)) if n in ratings]
            self.status.elo = {n: (ratings[n].elo, ratings[n].low, ratings[n].high) for n in names}
            self._log_row({"ratings": {n: [round(x, 1) for x in v] for n, v in self.status.elo.items()}})

    # ---- telling

    def _beats(self) -> list[Beat]:
        if self.worker is not None:
            self.worker.tell("playing", at_once=True)
            return [self.worker.beat]
        return self.supervisor.beats() if self.supervisor is not None else []

    def _tick(self) -> None:
        """Bring the clock and the progress up to date."""
        learner, loop = self.learner, self.run.loop
        learner.seconds = self._before + time.monotonic() - self._begun
        if loop.minutes:
            remaining = max(1e-9, loop.minutes * 60 - self._before)
            done = (learner.seconds - self._before) / remaining
            learner.progress = min(1.0, self._progress_before + (1 - self._progress_before) * done)
        else:
            learner.progress = learner.step / loop.steps

    def _say(self, doing: str) -> None:
        if doing != self.status.doing:
            self.status.doing = doing
            self._show()

    def _show(self) -> None:
        status, learner = self.status, self.learner
        status.step, status.progress, status.seconds = learner.step, learner.progress, learner.seconds
        status.games, status.positions = self.games, self.positions
        status.window_games, status.window_positions = self.window.games, len(self.window)
        status.reuse = learner.step * learner.config.batch / max(1, self.positions)
        status.rating_share = self.ladder.seconds / max(1e-9, learner.seconds)
        self.hooks.on_status(status)

    def show_workers(self) -> None:
        """Bring what is known of the workers into the status; costs a few small files."""
        self.status.beats = [self.worker.beat] if self.worker is not None else self._beats()
        current = self.folder.current
        if current is not None:
            self.status.net, self.status.resign = current.step, current.resign
        if self.recent:
            self.status.length = float(np.mean([len(r.moves) for r in self.recent]))

    def _log_row(self, row: dict[str, Any]) -> None:
        where = {
            "step": self.learner.step,
            "minutes": self.learner.seconds / 60,
            "positions": self.learner.step * self.learner.config.batch,
            "games": self.games,
        }
        full = {**where, **row}
        with contextlib.suppress(_LogFull):
            try:
                self._log.write(full)
            except DataError as error:
                self.hooks.on_event(str(error))
                raise _LogFull from error
        self.hooks.on_row(full)

    def _patiently(self, action: Callable[[], Result]) -> Result:
        """The result of ``action``, tried again and again while the disk is full. Errors: DataError when stopped."""
        told = False
        while True:
            try:
                return action()
            except DiskFull as error:
                reason = str(error)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise DataError(f"{self.folder.folder} cannot be written ({error.strerror})") from error
                reason = f"{self.folder.folder} is full; make room and the run goes on"
            if not told:
                self.hooks.on_event(reason)
                told = True
            if self.hooks.stop():
                raise DataError(f"stopped while the disk was full: step {self.learner.step} was not saved")
            self._say("disk full")
            time.sleep(RETRY_SECONDS)


class _LogFull(AzError):
    """A row stays in memory until there is room."""
