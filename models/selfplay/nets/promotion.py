"""Promotion: export and check checkpoints, let the gate judge them if there is one, choose the net that plays.

The gate is AlphaGo Zero's evaluator: a checkpoint generates games only once it wins, against the best player so far,
more than 55 % of the points of 400 games at temperature 0 (Methods, 'Evaluator'). Without noise two deterministic
players repeat one game, so pairs of games begin with a few random moves, each pair played with both colours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....engine.errors import DataError, NetError, counted
from ....engine.games.base import Game
from ....engine.search.selfplay.matches import NetPlayer, play_pairs, random_openings
from ...data.dataset import Positions
from ...net.providers import run_evaluator
from ...storage import Patience
from ...train.learner import Learner
from ..config import GateConfig, RunConfig
from ..folder import Current, RunFolder
from ..show.status import Observer
from .publish import publish
from .rating import hash_of

REFUSALS = 3  # nets in a row that fail the checks before the run gives up
KEPT_NETS = 4  # newest nets to keep, besides the rated ones
CHUNK = 40  # games of the gate between checks whether the verdict is decided
COURSE = 16  # nets to keep, spread over the run, so that its curve can be measured afterwards


@dataclass(frozen=True, slots=True)
class Verdict:
    """A candidate's result against the best player, in the candidate's view."""

    wins: int
    draws: int
    losses: int
    promoted: bool

    @property
    def score(self) -> float:
        games = self.wins + self.draws + self.losses
        return (self.wins + 0.5 * self.draws) / games if games else 0.0


def play_match(
    game: Game,
    candidate: NetPlayer,
    best: NetPlayer,
    config: GateConfig,
    *,
    seed: int,
    max_moves: int,
    stopping: Callable[[], bool] = lambda: False,
) -> Verdict | None:
    """Play until the verdict is decided, at most config.games. Blocks; None when ``stopping`` became true."""
    total = config.games + config.games % 2
    openings = random_openings(game, total // 2, config.opening_plies, seed)
    results: list[int] = []
    needed = config.score * total
    while len(results) < total:
        chunk = openings[len(results) // 2 : (len(results) + CHUNK) // 2]
        games = play_pairs(game, candidate, best, chunk, seed=seed + len(results), max_moves=max_moves)
        results += [g.result if i % 2 == 0 else -g.result for i, g in enumerate(games)]
        points = sum(0.5 + 0.5 * r for r in results)
        if points > needed or points + total - len(results) <= needed:
            break
        if stopping():
            return None
    return Verdict(results.count(1), results.count(0), results.count(-1), points > needed)


class Promotion:
    """Publishes the nets of one start of a run."""

    def __init__(
        self,
        folder: RunFolder,
        run: RunConfig,
        game: Game,
        learner: Learner,
        observer: Observer,
        patiently: Patience,
        *,
        say: Callable[[str], None],
        log: Callable[[dict[str, Any]], None],
    ) -> None:
        """``say`` shows what the run is doing; ``log`` writes a row of metrics."""
        self.folder, self.run, self.game, self.learner = folder, run, game, learner
        self.observer, self.patiently, self.say, self.log = observer, patiently, say, log
        self._refused = 0

    def first(self, threshold: float | None) -> bool:
        """Publish the initial net unless the run has one; returns whether it was published.

        Errors: NetError, DataError.
        """
        current = self.folder.current
        if current is not None and self.folder.nets.joinpath(current.net).exists():
            if current.considered > self.learner.step:  # after lost checkpoints
                self._set(Current(current.net, current.step, self.learner.step, current.resign))
            return False
        self._publish(threshold, None, 0)
        return True

    @property
    def undecided(self) -> bool:
        """Whether the run ended between writing a checkpoint and publishing it."""
        step, current = self.learner.step, self.folder.current
        return current is not None and self.run.is_checkpoint(step) and step > current.considered

    def consider(self, threshold: float | None, canaries: Positions | None, games: int) -> bool:
        """Publish the newest checkpoint: at once, or through the gate. A net that fails the checks is not used.

        threshold: of resignation from now on; canaries, games: see :meth:`export`. Returns whether the net passed the
        checks. Errors: DataError after REFUSALS failures in a row.
        """
        step, current = self.learner.step, self.folder.current
        assert current is not None
        try:
            if self.run.gate.games:
                self._through_the_gate(current, threshold, canaries, games)
            else:
                self._publish(threshold, canaries, games)
        except (NetError, DataError) as error:
            self._refused += 1
            self._set(Current(current.net, current.step, step, threshold))
            self.observer.on_event(f"not published: {error}")
            if self._refused >= REFUSALS:
                raise DataError(
                    f"{REFUSALS} nets in a row were unfit to play, the last one because: {error}; "
                    "lower learner.rate and start a new run"
                ) from error
            return False
        self._refused = 0
        return True

    def export(self, canaries: Positions | None, games: int) -> Path:
        """Export the current averaged weights and return the net's file.

        canaries: positions of the run, None before there are any; games: number played so far. Errors: NetError,
        DataError when the net fails the checks.
        """
        self.say("publishing")
        return self.patiently(
            lambda: publish(
                self.learner,
                self.game,
                canaries,
                self.folder.net(self.learner.step),
                boards=tuple(sorted(board.game.planes[1] for board in self.run.get_boards())),
                trained_on=f"{counted(games, 'game')} against itself",
                int8=self.run.machine.int8,
                say=self.observer.on_event,
            ),
            f"the net of step {self.learner.step}",
        )

    def prune(self, rated: set[int]) -> None:
        """Remove all nets but the current, the ``rated``, the newest and those of :func:`course`."""
        current, steps = self.folder.current, self.folder.net_steps
        kept = {0, *steps[-KEPT_NETS:], *rated, *course(steps, self.run.loop.checkpoint_steps)}
        if current is not None:
            kept.add(current.step)
        for step in steps:
            if step not in kept:
                self.folder.net(step).unlink(missing_ok=True)

    def _publish(self, threshold: float | None, canaries: Positions | None, games: int) -> None:
        path, step = self.export(canaries, games), self.learner.step
        self._set(Current(path.name, step, step, threshold))

    def _set(self, current: Current) -> None:
        self.patiently(lambda: setattr(self.folder, "current", current), "which net plays")

    def _through_the_gate(
        self, current: Current, threshold: float | None, canaries: Positions | None, games: int
    ) -> None:
        path, step = self.export(canaries, games), self.learner.step
        self.say("gate")
        config, search, machine = self.run.gate, self.run.selfplay.search, self.run.machine
        candidate, best = (
            NetPlayer(
                name,
                run_evaluator(net, self.game, provider=machine.provider, batch_size=CHUNK, precision=machine.precision),
                config.visits,
                search,
            )
            for name, net in (("candidate", path), ("best", self.folder.nets / current.net))
        )
        verdict = play_match(
            self.game,
            candidate,
            best,
            config,
            seed=hash_of(f"{self.run.seed} gate {step}"),
            max_moves=self.run.selfplay.max_moves,
            stopping=self.observer.stop,
        )
        if verdict is None:
            return  # stopped: the next start judges this checkpoint
        self.log({"gate": {**asdict(verdict), "score": verdict.score, "best": current.step}})
        self.observer.on_event(
            f"gate: step {step:,} against {current.step:,} +{verdict.wins} ={verdict.draws} -{verdict.losses}, "
            + ("promoted" if verdict.promoted else "not promoted")
        )
        new = (path.name, step) if verdict.promoted else (current.net, current.step)
        self._set(Current(*new, step, threshold))


def course(steps: Sequence[int], every: int) -> set[int]:
    """At most COURSE of the nets' ``steps``, evenly spread: multiples of ``every`` times a power of two.

    every: steps between checkpoints.
    """
    stride = every
    while max(steps, default=0) // stride >= COURSE:
        stride *= 2
    return {step for step in steps if step % stride == 0}
