"""Short walks that leave labelled games.

A net learns most from many different positions. Each walk begins at a recorded position, leaves its game with another
move than the played one, and goes on for a few plies with moves of a net, sometimes with any legal move. All walks of a
task go on together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import NetError
from ....engine.games.base import State
from ....engine.games.leaves import Leaves
from ....engine.games.outcome import RUNNING
from ....engine.nets.opinions import Opinion, expected_points, softmax
from ....engine.settings import setting
from ...data.shards import Records
from ...net.providers import load_evaluator
from ..around import BEGUN, Around, begun_at, draw_results, shard_format
from ..flags import Net
from ..job import Job, Labelling, Question, Teacher
from ..teachers.net import MATE_PLIES

PLIES = 6  # recorded of a walk


@dataclass(frozen=True)
class Rollouts(Around):
    meaning = "short walks that leave labelled games: --around DATA ..."

    temperatures: tuple[float, ...] = setting(
        (1.0, 1.5, 2.0), "T of policy^(1 / T), one drawn per walk", above=0, flag=True
    )
    blunders: tuple[float, ...] = setting((0.3,), "chances of a random move, one drawn per walk", 0, 1, flag=True)
    student: Net = setting(
        Net(""), "the net that makes the moves; the teacher's own, or else the one inside the package", flag=True
    )

    def open(self, job: Job) -> Labelling:
        return Walker(self, job).records


class _Opinions(NamedTuple):
    """A net's opinions of N positions, for the side to move; M the most moves of one."""

    rollouts: NDArray[np.int64]  # [N] whose positions they are
    moves: NDArray[np.uint16]  # [N, M] legal moves, then 0
    policy: NDArray[np.float64]  # [N, M] their probabilities, then 0
    chance: NDArray[np.float64]  # [N] expected points
    mates: NDArray[np.uint16]  # [N] the first move of a short mate, or NO_MOVE
    keys: NDArray[np.uint64]  # [N]

    def of(self, i: int) -> Opinion:
        legal = self.policy[i] > 0
        return Opinion(self.moves[i, legal], self.policy[i, legal], float(self.chance[i]), None, ())


class Walker:
    """Makes the walks of a task."""

    def __init__(self, source: Rollouts, job: Job) -> None:
        """BLOCKS. Errors: NetError, OptionError."""
        net = source.student or job.teacher.guide
        self._same_net = net == job.teacher.guide != ""  # whether the teacher is the same net
        self._evaluator = load_evaluator(
            "" if net == "default" else net, job.game, provider=job.provider, batch_size=BEGUN
        )
        self._source, self._seed, self._game = source, job.seed, job.game.using(self._evaluator.encoder)
        self._form, self._shards = job.form, shard_format(job.game_name)
        self._leaves: Leaves = self._game.encoder.make_leaves(BEGUN)

    def records(self, number: int, teacher: Teacher) -> Records:
        """The records of a task, each position once. BLOCKS. Errors: AzError."""
        source, game = self._source, self._game
        random = np.random.Generator(np.random.PCG64([self._seed, number]))
        starts = begun_at(self._shards, source.shards, self._seed, number)
        lines = np.zeros((len(starts), PLIES + MATE_PLIES + 2), game.state_dtype)
        first = np.arange(len(starts), dtype=np.int64)
        lines[:, 0] = self._shards.to_states(game, starts, first)
        played = self._shards.to_moves(starts, starts["played"][:, None])
        temperatures = random.choice(source.temperatures, len(starts))
        blunders = random.choice(source.blunders, len(starts))
        going, records, keys = first, np.zeros(PLIES * len(starts), self._shards.dtype), list[int]()
        for ply in range(PLIES + 1):
            result = self._opinions(lines, going, ply)
            going = result.rollouts
            blind = random.random(len(going)) < blunders[going]
            weights = result.policy ** (1 / temperatures[going, None])
            weights[blind] = result.policy[blind] > 0
            if ply == 0:
                weights[result.moves == played[going]] *= 1e-12  # played where there is no other move
            noise = random.exponential(size=weights.shape)
            chosen = np.argmax(weights / noise, axis=1)  # drawn in proportion to the weights
            questions = [
                self._question(lines[rollout, ply : ply + 1], result, i) for i, rollout in enumerate(going) if ply
            ]
            taught = teacher.teach(questions)
            for i, rollout in enumerate(going.tolist()):
                line, move = lines[rollout], int(result.moves[i, chosen[i]])
                if ply:
                    row = self._form.record(game, line[: ply + 1], taught[i])
                    row["game"], row["rnd"] = number * BEGUN + rollout, blind[i]
                    row["played"] = self._form.code(line[ply], move)
                    records[len(keys)] = row[0]
                    keys.append(int(result.keys[i]))
                if ply < PLIES:
                    game.play_at(line, ply, move)
        records = records[np.unique(np.array(keys, np.uint64), return_index=True)[1]]
        records = records[np.lexsort((records["ply"], records["game"]))]
        draw_results(self._shards, records, random)
        return records

    def _question(self, state: State, result: _Opinions, i: int) -> Question:
        return Question(state, None, result.of(i), int(result.mates[i])) if self._same_net else Question(state)

    def _opinions(self, lines: State, rollouts: NDArray[np.int64], ply: int) -> _Opinions:
        """The net's opinions of lines[walks, ply], without those where the game is over. Errors: NetError."""
        leaves, game = self._leaves, self._game
        leaves.rows["slot"][: len(rollouts)], leaves.rows["root"], leaves.rows["length"] = rollouts, ply, 0
        game.encoder.describe(
            lines, leaves, len(rollouts), self._evaluator.history, MATE_PLIES * game.encoder.finds_mates
        )
        running = np.flatnonzero((leaves.rows["outcome"] == RUNNING)[: len(rollouts)])
        logits, values = self._evaluator.evaluate(np.ascontiguousarray(leaves.planes[running]))
        if not (np.isfinite(logits).all() and np.isfinite(values).all()):
            raise NetError("the net's policy or value is not finite; use another net")
        count = leaves.rows["count"][running]
        legal = np.arange(int(count.max(initial=1))) < count[:, None]
        width = legal.shape[1]
        actions = np.where(legal, leaves.actions[running, :width], 0)
        policy = np.where(legal, np.take_along_axis(logits, actions.astype(np.int64), axis=1), -np.inf)
        moves = np.where(legal, leaves.moves[running, :width], 0)
        rows = leaves.rows[running]
        return _Opinions(rollouts[running], moves, softmax(policy), expected_points(values), rows["begin"], rows["key"])


SOURCE = Rollouts
