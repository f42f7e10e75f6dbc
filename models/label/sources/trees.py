"""Positions of small searches around labelled positions.

A search asks its net about every position of its tree, so these are the positions that the net has to know. A search
begins at a labelled position, or a few random moves behind it. Of its tree some positions are kept. A teacher that only
scores positions gets the moves that the search preferred where it looked long enough, else the net's own policy:
AlphaZero's target for the policy, a far stronger program's for the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....engine.games.base import State
from ....engine.games.outcome import RUNNING
from ....engine.kernels.jit import borrow, kernel
from ....engine.search.leaves.cache import PositionCache
from ....engine.search.search import Search
from ....engine.search.tree.nodes import NODES, tree_of, unpack_prior
from ....engine.settings import setting
from ...data.shards import Records
from ..around import BEGUN, Around, begun_at, draw_results, last_first, shard_format
from ..flags import Net
from ..guide import Guide
from ..job import Job, Labelling, Teacher

FURTHER = 3  # random moves before a search, at most
KEPT = 100  # positions of a tree
_LOOKED = 16  # visits of a position whose preferred moves are a target
_MEMORY = 32 << 20  # bytes of the cache


@kernel
def unfold(trees, count, moves, depths):
    """moves u2[N] that lead into the first ``count`` nodes of tree 0, and their depths i4[N]."""
    nodes, edges, _ = tree_of(borrow(trees), 0)
    moves, depths = borrow(moves), borrow(depths)
    for i in range(count):
        nd = nodes[i]
        depths[i] = depths[nd.parent] + 1 if nd.parent >= 0 else 0
        if nd.first_edge >= 0:
            for k in range(nd.first_edge, nd.first_edge + nd.children):
                moves[edges[k].child] = edges[k].move


@kernel
def best_moves(trees, picked, looked, moves, policy):
    """The best moves u2[P, K] of expanded nodes among picked i8[P] of tree 0, their policy f8[P, K], 0 beyond the last.

    The policy is the share of the visits where a node has ``looked`` of them, else the net's.
    """
    nodes, edges, _ = tree_of(borrow(trees), 0)
    picked, moves, policy = borrow(picked), borrow(moves), borrow(policy)
    width = moves.shape[1]
    for r in range(picked.shape[0]):
        nd = nodes[picked[r]]
        if nd.first_edge < 0:
            continue
        by_visits = nd.n >= looked and nd.children > 0
        total, result = 0.0, 0
        for k in range(nd.first_edge, nd.first_edge + (nd.children if by_visits else nd.edges)):
            weight = np.float64(nodes[edges[k].child].n) if by_visits else unpack_prior(edges[k].prior)
            total += weight
            if weight <= 0.0 or (result == width and weight <= policy[r, width - 1]):
                continue
            at = min(result, width - 1)
            result = min(result + 1, width)
            while at > 0 and policy[r, at - 1] < weight:
                moves[r, at], policy[r, at] = moves[r, at - 1], policy[r, at - 1]
                at -= 1
            moves[r, at], policy[r, at] = edges[k].move, weight
        for j in range(result):
            policy[r, j] /= total


@dataclass(frozen=True)
class Trees(Around):
    meaning = "positions of small searches at labelled positions: --around DATA ... with --nnue or --searched"
    searches = True

    student: Net = setting(Net("default"), "the net that searches", flag=True)
    search: int = setting(160, "visits of a search", 1, flag=True)
    least_visits: int = setting(
        1,
        "label only positions that the search visited so often; the more, the more the policy is the search's, and not "
        "the net's own",
        1,
        flag=True,
    )
    within: float | None = setting(
        None,
        "begin at positions whose expected points are so close to 0.5 by their labels, and without the up to three "
        "random moves before the search: positions that are still to be decided",
        above=0,
        high=0.5,
        flag=True,
    )

    @property
    def near(self) -> float:
        return 0.5 if self.within is None else self.within

    def open(self, job: Job) -> Labelling:
        return Searcher(self, job).records


class Searcher:
    """Makes the searches of a task."""

    def __init__(self, source: Trees, job: Job) -> None:
        """BLOCKS. Errors: NetError, OptionError."""
        self._source, self._seed, self._shards = source, job.seed, shard_format(job.game_name)
        self._kept, self._lines = job.teacher.most or KEPT, job.form.lines
        self._guide = Guide(source.student, job)
        self._game = self._guide.game
        self._cache = PositionCache(_MEMORY, self._game.branching)

    def records(self, number: int, teacher: Teacher) -> Records:
        """The records of a task. BLOCKS. Errors: AzError."""
        random = np.random.Generator(np.random.PCG64([self._seed, number]))
        starts = begun_at(self._shards, self._source.shards, self._seed, number)
        states = self._shards.to_states(self._game, starts, np.arange(len(starts), dtype=np.int64))
        tasks = []
        for search in range(len(starts)):
            root = self._begin(states[search : search + 1], random)
            records = self._label(root, teacher, random) if root is not None else None
            if records is not None:
                records["game"] = number * BEGUN + search
                tasks.append(records)
        if not tasks:
            return np.zeros(0, self._shards.dtype)
        result = last_first(np.concatenate(tasks))
        draw_results(self._shards, result, random)
        return result

    def _begin(self, line: State, random: np.random.Generator) -> State | None:
        """A position a few random moves behind State[1]; None where the game is over by then."""
        for _ in range(int(random.integers((FURTHER if self._source.within is None else 0) + 1))):
            legal = self._game.legal_moves(line)
            if not len(legal):
                return None
            line = self._game.play(line, int(random.choice(legal)))[-1:]
        return line if self._game.outcome(line) == RUNNING else None

    def _label(self, root: State, teacher: Teacher, random: np.random.Generator) -> Records | None:
        """Records of positions below State[1]; None where no position is usable, such as where all is proven."""
        guide, tree, visits = self._guide, self._guide.tree, self._source.search
        tree.clear()
        search = Search(self._game, tree, guide.evaluator, guide.params, root, cache=self._cache, visits=visits)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        count = int(tree.counters[NODES])
        nodes = tree.nodes[:count]
        often = nodes["n"] >= self._source.least_visits
        usable = np.flatnonzero((nodes["bound"] == RUNNING) & (nodes["terminal"] == 0) & often)
        if not len(usable):
            return None
        picked = random.choice(usable, min(self._kept, len(usable)), replace=False)
        states = self._states(root, count)[picked]
        moves = np.zeros((len(picked), self._lines), np.uint16)
        policy = np.zeros(moves.shape)
        bare = nodes["first_edge"][picked] < 0  # some nets give no moves on a node's first visit
        moves[bare], policy[bare] = guide.best_moves(states[bare])
        best_moves(tree.arrays, picked, _LOOKED, moves, policy)
        return teacher.records(states, moves, policy, nodes["w"][picked] / nodes["n"][picked])

    def _states(self, root: State, count: int) -> State:
        """The positions of the tree's nodes, State[count]."""
        moves, depths = np.zeros(count, np.uint16), np.zeros(count, np.int32)
        tree = self._guide.tree
        unfold(tree.arrays, count, moves, depths)
        parents = tree.nodes["parent"][:count].astype(np.int64)
        states: NDArray[np.void] = np.zeros(count, root.dtype)
        states[0] = root[-1]
        for depth in range(1, int(depths.max(initial=0)) + 1):
            level = np.flatnonzero(depths == depth)
            states[level] = self._game.after(states, parents[level], moves[level])
        return states


SOURCE = Trees
