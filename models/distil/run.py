"""Distillation: a teacher plays and labels on the training device, networks learn from what is in memory.

Boards of several sizes take turns. While the teacher looks at one group of games and the networks learn, the moves of
the other groups are played on the CPU. On a CPU the teacher looks at the next group while the networks learn.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...engine.errors import DataError, OptionError
from ...engine.games.base import Game
from ...engine.kernels.cache import cores
from ...engine.os.files import write_atomically
from ..data import dataset
from ..families.losses import TorchBatch
from ..train.learner import Learner
from ..train.log import Log
from ..train.recorded import RecordedSteps
from .config import EXACT, OURS, SETTINGS, DistilConfig, Seen
from .games import Games, Positions
from .memory import Memory
from .records import remember
from .teacher import Teacher

_GROUPS = 2  # groups of games of a size: one is played while the other is looked at
_NEVER = -1e9
_LOG_SECONDS = 10.0
_SPANS = ("waiting", "playing", "labelling", "learning")
WHOLE = 19 * 19  # points of the board that a batch is given for: smaller boards have as many points together


class Board:
    """One size of board: its groups of games and what is known of their positions."""

    def __init__(
        self,
        game: Game,
        config: DistilConfig,
        share: float,
        teacher: Teacher,
        device: torch.device,
        executor: Executor,
        seed: int,
        seen: Seen,
    ) -> None:
        """game: with the encoder katago-v7; share: of the memory. Errors: OptionError where it is too small."""
        self.teacher = teacher
        points = game.num_actions - 1
        self.apart = max(1, round(config.apart * points / WHOLE))
        self.name = f"{game.planes[2]}x{game.planes[1]}"
        self.game, self.points, self.owed, self.labelled = game, points, 0.0, 0
        count, workers = max(8, config.points // points), cores()
        self.groups = [Games(game, count, executor, workers, seed + half) for half in range(_GROUPS)]
        a_position = 6 * points + 40  # bytes, see Memory
        capacity = int(share * config.gib * 2**30 / a_position)
        if capacity < config.least:
            raise OptionError(
                f"--gib {config.gib:g} has room for {capacity:,} positions of {self.name}, and --least waits for "
                f"{config.least:,}: give more --gib, or fewer --sizes"
            )
        self.memory = Memory(capacity, game.using(seen.encoder).encoder, seen.history, device)
        self.turn = 0
        for group in self.groups:
            group.begin(None, None)

    def next_group(self) -> Games:
        self.turn = 1 - self.turn
        return self.groups[self.turn]


class _Looked(NamedTuple):
    """A group of games whose positions the teacher looks at."""

    board: Board
    group: Games
    at: Positions
    planes: Tensor
    outputs: Future[dict[str, Tensor]]


class Distillation:
    """A run: the teacher, the boards, and the networks that learn."""

    def __init__(
        self,
        boards: Sequence[tuple[Game, float, Callable[[], Teacher]]],
        learners: Sequence[Learner],
        config: DistilConfig,
        folder: Path,
        say: Callable[[str], None],
        settings: dict[str, Any],
        records: Sequence[dataset.Positions] = (),
        seen: Seen = OURS,
    ) -> None:
        """boards: games with the encoder katago-v7, how much of the points labelled each has, what makes its teacher.

        settings: kept in the folder, beside the nets. records: labelled before, on boards of those sizes. seen: by the
        learners' networks. Errors: DataError, OptionError.
        """
        self.learners, self.config, self.folder, self.say = learners, config, folder, say
        self._seen = seen
        self._settings = json.dumps(settings, indent=1).encode()
        self.steps = [RecordedSteps(learner) for learner in learners]
        self.device = learners[0].device
        self._random = np.random.default_rng(learners[0].config.seed)
        torch.manual_seed(learners[0].config.seed)
        self.executor = ThreadPoolExecutor(cores())
        self.spans = dict.fromkeys(_SPANS, 0.0)  # seconds since the last row of the log
        total = sum(share for _, share, _ in boards)
        self.shares = np.array([share / total for _, share, _ in boards])
        seed = learners[0].config.seed
        self.boards = [
            Board(game, config, share / total, teacher(), self.device, self.executor, seed, seen)
            for game, share, teacher in boards
        ]
        self._read(records)
        self._spent = np.zeros(len(boards))  # points that the teacher has looked at
        # the teacher's thread; a GPU does what it is given in turn, so there is none
        self._beside = ThreadPoolExecutor(1) if self.device.type == "cpu" else None

    def _read(self, records: Sequence[dataset.Positions]) -> None:
        """Put labelled records into memory. BLOCKS."""
        for positions in records:
            memory = next((b.memory for b in self.boards if b.game.planes[1:] == positions.game.planes[1:]), None)
            if memory is None:
                raise DataError(f"the records are of {positions.board}, which is not among --sizes")
            self.say(f"reading {positions.description} of {positions.board}")
            remember(memory, positions)

    def run(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Until the time is over or ``stop``. BLOCKS. Errors: AzError."""
        teaching = self._beside or contextlib.nullcontext()
        with contextlib.closing(Log(self.folder / "log.jsonl", 0)) as log, self.executor, teaching:
            self._run(log, stop)
        if any(learner.positions for learner in self.learners):
            for path in self.export():
                self.say(f"written: {path}")
        elif not stop():
            labelled = ", ".join(f"{board.labelled:,} of {board.name}" for board in self.boards)
            raise DataError(
                f"nothing was learned: the teacher labelled {labelled}, and each size waits for {self.config.least:,}; "
                "give more --minutes, fewer --sizes or a smaller --least"
            )

    def _run(self, log: Log, stop: Callable[[], bool]) -> None:
        for board in self.boards:
            for group in board.groups:
                group.wait()  # the clock starts once kernels are compiled
        begun = last_export = last_log = time.monotonic()
        whole = 60 * self.config.minutes
        losses: dict[str, list[Tensor]] = {}
        looked = self._look()
        while (seconds := time.monotonic() - begun) < whole and not stop():
            clock = time.monotonic()
            board, fresh = looked.board, self._label(looked)
            looked = self._look()
            self.spans["labelling"] += time.monotonic() - clock
            for learner in self.learners:
                learner.progress, learner.seconds = seconds / whole, seconds
            clock = time.monotonic()
            for name, loss in self._learn(board, fresh):
                losses.setdefault(name, []).append(loss)
            self.spans["learning"] += time.monotonic() - clock
            now = time.monotonic()
            if now - last_log > _LOG_SECONDS:
                last_log = now
                self._note(log, now - begun, losses)
                losses.clear()
            if now - last_export > self.config.export_seconds and any(learner.positions for learner in self.learners):
                last_export = now
                self.export()
        self._note(log, time.monotonic() - begun, losses)

    def _note(self, log: Log, seconds: float, losses: dict[str, list[Tensor]]) -> None:
        """Write a row of the log, and tell it. Errors: DataError when a loss is not finite."""
        row: dict[str, Any] = {"step": self.learners[0].step, "seconds": round(seconds, 1)}
        row |= {str(board.points): board.labelled for board in self.boards}
        row |= {f"learned {i}": each.positions for i, each in enumerate(self.learners)}
        row |= {name: float(torch.stack(values).mean()) for name, values in losses.items()}
        row |= self.spans
        self.spans = dict.fromkeys(self.spans, 0.0)
        if not np.isfinite([value for value in row.values() if isinstance(value, float)]).all():
            raise DataError(f"training diverged before step {row['step']}; give a lower --rate")
        log.write(row)
        self.say(self._progress(seconds, row))

    def _progress(self, seconds: float, row: dict[str, Any]) -> str:
        """A row of the log in words."""
        labelled = ", ".join(f"{board.labelled:,} of {board.name}" for board in self.boards)
        parts = [f"{seconds / 60:.1f} of {self.config.minutes:g} min", f"labelled {labelled}"]
        for i, learner in enumerate(self.learners):
            losses = ((board.name, row.get(f"loss {board.points} {i}")) for board in self.boards)
            shown = ", ".join(f"{loss:.3f} on {name}" for name, loss in losses if loss is not None)
            net = f"{self._name(learner)} " if len(self.learners) > 1 else ""
            parts.append(f"{net}learned from {learner.positions:,}" + (f", loss {shown}" if shown else ""))
        return "; ".join(parts)

    def _look(self) -> _Looked:
        """Let the teacher begin to look at the next group."""
        which = int(np.argmin((self._spent + 1e-9) / self.shares))
        board = self.boards[which]
        group = board.next_group()
        clock = time.monotonic()
        at = group.wait()
        self.spans["waiting"] += time.monotonic() - clock
        clock = time.monotonic()
        for _ in range(board.apart - 1):
            at = self._play_on(board, group, at)
        self.spans["playing"] += time.monotonic() - clock
        self._spent[which] += board.points * int(at.usable.sum())
        planes = torch.from_numpy(at.planes).to(self.device, copy=True)
        if self._beside is not None:
            return _Looked(board, group, at, planes, self._beside.submit(board.teacher, planes))
        outputs: Future[dict[str, Tensor]] = Future()
        with torch.inference_mode():
            outputs.set_result(board.teacher(planes))
        return _Looked(board, group, at, planes, outputs)

    @torch.inference_mode()
    def _play_on(self, board: Board, group: Games, at: Positions) -> Positions:
        """Let the first network choose the moves of a group at positions that no teacher looks at. BLOCKS."""
        shown = board.memory.shown(torch.from_numpy(at.planes).to(self.device))
        student = self.learners[0]
        with student.autocast():
            outputs = student.averaged.outputs(shown)
        self._choose(group, at, outputs["policy"].all(), outputs["score"])
        return group.wait()

    def _choose(self, group: Games, at: Positions, policy: Tensor, score: Tensor) -> None:
        """Begin moves drawn by logits of a policy f4[G, A]; score f4[G, 1]: leads of the side to move."""
        shown_now = (at.legal, at.temperatures)  # until the next moves begin
        legal, temperatures = (torch.from_numpy(x).to(self.device, copy=True) for x in shown_now)
        noise = -torch.log(-torch.log(torch.rand_like(policy, dtype=torch.float32).clamp(1e-9, 1 - 1e-7)))
        drawn = (policy / temperatures[:, None] + noise).masked_fill(legal == 0, _NEVER).argmax(1)
        answer = torch.stack([drawn.float(), score[:, 0].float()]).cpu().numpy()
        group.begin(answer[0].astype(np.int64), answer[1])

    @torch.inference_mode()
    def _label(self, looked: _Looked) -> TorchBatch:
        """Choose the moves of a group that the teacher has looked at; its new positions as a batch. BLOCKS."""
        board, group, at, planes, outputs = (*looked[:4], looked.outputs.result())
        usable = torch.from_numpy(at.usable).to(self.device, copy=True)  # until the next moves begin
        board.labelled += int(at.usable.sum())
        shown = board.memory.shown(planes)
        policy = outputs["policy"].clone()
        if games := round(self.config.student * len(policy)):
            student = self.learners[0]
            with student.autocast():
                policy[:games] = student.averaged.outputs(shown[:games])["policy"].all()
        self._choose(group, at, policy, outputs["score"])
        board.memory.add(planes, outputs, usable)
        wdl = outputs["wdl"].softmax(1)
        probabilities = outputs["policy"].softmax(1)
        actions = torch.arange(board.points + 1, device=self.device).expand(len(planes), -1)
        return TorchBatch(
            shown[usable], actions[usable], probabilities[usable], None, wdl[usable], wdl[usable, 0] - wdl[usable, 2],
            outputs["ownership"][usable], outputs["score"][usable, 0], None, None,
        )  # fmt: skip

    def _learn(self, board: Board, fresh: TorchBatch) -> Iterator[tuple[str, Tensor]]:
        """Steps of all networks for a group that was labelled; their losses, now and then those on new positions."""
        if board.memory.count < self.config.least:
            return
        name = str(board.points)
        batch = self.learners[0].config.batch * WHOLE // board.points
        board.owed += self.config.reuse * len(fresh.planes)
        if self._random.random() < 0.03:
            for i, learner in enumerate(self.learners):
                for what, loss in measured(learner, fresh).items():
                    yield f"{what} {name} {i}", loss
        while board.owed >= batch:
            board.owed -= batch
            drawn = board.memory.draw(batch)
            for i, steps in enumerate(self.steps):
                yield f"loss {name} {i}", steps.step_on(drawn)

    def export(self) -> list[Path]:
        """Write the settings and the averaged networks; their files."""
        write_atomically(self.folder / SETTINGS, self._settings)
        result = []
        lines = tuple(sorted(board.game.planes[1] for board in self.boards))
        for learner in self.learners:
            game = self.boards[0].game.using(self._seen.encoder)
            info = learner.net_info(game, name=self._name(learner), boards=lines, trained_on=self._about())
            content = learner.averaged.to_onnx(info).SerializeToString()
            target = self.folder / f"{self._name(learner)}{EXACT}"
            write_atomically(target, content)
            result.append(target)
        return result

    def _name(self, learner: Learner) -> str:
        return "go-" + learner.net_config.architecture.partition(" ")[2].replace(" ", "-")

    def _about(self) -> str:
        lines = (f"{board.name}: {board.labelled:,}" for board in self.boards)
        return f"{', '.join(lines)} positions labelled by a teacher"


@torch.no_grad()
def measured(learner: Learner, batch: TorchBatch) -> dict[str, Tensor]:
    """What the averaged network makes of new positions: losses; the share of equal first moves; squared error / 4."""
    with learner.autocast():
        outputs = learner.averaged.outputs(batch.planes)
    losses = dict(batch.losses(outputs))
    probabilities = batch.probabilities
    entropy = -(probabilities * probabilities.clamp(min=1e-12).log()).sum(1).mean()
    losses["policy"] = losses["policy"] - entropy
    wdl = outputs["wdl"].softmax(1)
    losses["error"] = (wdl[:, 0] - wdl[:, 2] - batch.z).square().mean() / 4
    losses["top1"] = (outputs["policy"].all().argmax(1) == probabilities.argmax(1)).float().mean()
    losses["lead"] = (outputs["score"][:, 0] - batch.score).abs().mean()
    return losses
