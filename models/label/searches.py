"""Small searches around labelled positions, judged by an engine's evaluation net: labels in bulk.

A search asks its net about every position of its tree, so these are the positions that the net has to know. A search
begins at a labelled position, or a few random moves behind it. Of its tree some positions are kept, with the evaluation
net's score, captures resolved, and with the moves that the search preferred where it looked long enough, else the net's
own policy: AlphaZero's target for the policy, a far stronger program's for the value. Or a few positions are kept, with
the evaluation net's scores of all their moves: a far stronger program's policy, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...engine.games.base import State
from ...engine.games.outcome import RUNNING
from ...engine.kernels.jit import borrow, kernel
from ...engine.search.cache import PositionCache
from ...engine.search.search import Search
from ...engine.search.tree import NODES, tree_of, unpack_prior
from ..data.shards import Records
from .positions import PositionLabeller, last_first
from .recipe import Recipe
from .walks import WALKS, draw_results, starts_of

VISITS = 160  # of a search, unless told
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
        total, found = 0.0, 0
        for k in range(nd.first_edge, nd.first_edge + (nd.children if by_visits else nd.edges)):
            weight = np.float64(nodes[edges[k].child].n) if by_visits else unpack_prior(edges[k].prior)
            total += weight
            if weight <= 0.0 or (found == width and weight <= policy[r, width - 1]):
                continue
            at = min(found, width - 1)
            found = min(found + 1, width)
            while at > 0 and policy[r, at - 1] < weight:
                moves[r, at], policy[r, at] = moves[r, at - 1], policy[r, at - 1]
                at -= 1
            moves[r, at], policy[r, at] = edges[k].move, weight
        for j in range(found):
            policy[r, j] /= total


class Searcher:
    """Makes the searches of a task and labels their positions."""

    def __init__(self, recipe: Recipe) -> None:
        """BLOCKS. Errors: NetError, OptionError, DataError."""
        self._recipe, self._labeller = recipe, PositionLabeller(recipe)
        self._game = self._labeller.game
        self._cache = PositionCache(_MEMORY, self._game.branching)

    def walk(self, number: int) -> Records:
        """The records of a task, which depend on its number and the seed alone. BLOCKS. Errors: NetError, DataError."""
        random = np.random.Generator(np.random.PCG64([self._recipe.seed, number]))
        shards = self._labeller.shards
        starts = starts_of(shards, self._recipe, number)
        states = shards.to_states(self._game, starts, np.arange(len(starts), dtype=np.int64))
        tasks = []
        for search in range(len(starts)):
            root = self._begin(states[search : search + 1], random)
            records = self._label(root, random) if root is not None else None
            if records is not None:
                records["game"] = number * WALKS + search
                tasks.append(records)
        found = last_first(np.concatenate(tasks))
        draw_results(shards, found, random)
        return found

    def _begin(self, line: State, random: np.random.Generator) -> State | None:
        """A position a few random moves behind State[1]; None where the game is over by then."""
        for _ in range(int(random.integers(self._recipe.further + 1))):
            legal = self._game.legal_moves(line)
            if not len(legal):
                return None
            line = self._game.play(line, int(random.choice(legal)))[-1:]
        return line if self._game.outcome(line) == RUNNING else None

    def _label(self, root: State, random: np.random.Generator) -> Records | None:
        """Records of positions below State[1]; None where no position is usable, such as where all is proven."""
        labeller, tree = self._labeller, self._labeller.tree
        tree.clear()
        visits = self._recipe.search or VISITS
        search = Search(self._game, tree, labeller.evaluator, labeller.params, root, cache=self._cache, visits=visits)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        count = int(tree.counters[NODES])
        nodes = tree.nodes[:count]
        often = nodes["n"] >= self._recipe.least_visits
        usable = np.flatnonzero((nodes["bound"] == RUNNING) & (nodes["terminal"] == 0) & often)
        if not len(usable):
            return None
        kept = self._recipe.judged_moves or KEPT
        picked = random.choice(usable, min(kept, len(usable)), replace=False)
        states = self._states(root, count)[picked]
        if self._recipe.judged_moves:
            return labeller.by_moves(states)
        moves = np.zeros((len(picked), labeller.form.lines), np.uint16)
        policy = np.zeros(moves.shape)
        bare = nodes["first_edge"][picked] < 0  # some nets are not asked for moves on a node's first visit
        moves[bare], policy[bare] = labeller.best_of_net(states[bare])
        best_moves(tree.arrays, picked, _LOOKED, moves, policy)
        return labeller.records(states, moves, policy)

    def _states(self, root: State, count: int) -> State:
        """The positions of the tree's nodes, State[count]."""
        moves, depths = np.zeros(count, np.uint16), np.zeros(count, np.int32)
        tree = self._labeller.tree
        unfold(tree.arrays, count, moves, depths)
        parents = tree.nodes["parent"][:count].astype(np.int64)
        states: NDArray[np.void] = np.zeros(count, root.dtype)
        states[0] = root[-1]
        for depth in range(1, int(depths.max(initial=0)) + 1):
            here = np.flatnonzero(depths == depth)
            states[here] = self._game.after(states, parents[here], moves[here])
        return states
