"""Many searches side by side, one leaf of each a step, all leaves in one batch for the evaluator.

Each slot holds one game: its positions, its tree and its root. A step is the production search's (``minibatch``), done
for every slot in one call of each kernel; so a slot's search is what :class:`search.Search` with batch size 1 makes of
the same root, but that no mates are looked for beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.base import Game, State
from ...games.outcome import DRAW, RUNNING, WIN
from ...kernels.jit import borrow, device, kernel
from ...nets.evaluator import Evaluator, Output, Planes
from ...params import SearchParams
from ..leaves.cache import PositionCache
from ..leaves.minibatch import Minibatch
from ..tree.expansion import ALONE, soften_priors
from ..tree.nodes import EDGE, EDGES, FULL, MAX_DEPTH, NODE, NODES, TreeArrays, add_base, compact, new_node, tree_of
from ..tree.puct import Selection, puct_params, select_from
from .root import ROOT, add_gumbels, add_noise, choose, gumbel_edge, improved_policy, most_visits, visit_shares


class Searches(NamedTuple):
    """What the searches of G slots need beside their trees."""

    roots: NDArray[Any]  # ROOT[G]
    scores: NDArray[np.float64]  # f8[G, M], g + log P of the root's edges in a Gumbel search
    schedule: NDArray[np.int32]  # i4[G, V], its plan
    softening: float  # the power of the roots' priors: 1 / their own policy temperature


class Conclusions(NamedTuple):
    """What F finished searches give."""

    moves: NDArray[np.uint16]  # u2[F, K], of the K greatest probabilities of the policy to learn, falling
    target: NDArray[np.float32]  # f4[F, K], these; rows add up to 1, unused places are 0
    # f4[F, 3], the root's value, the greater of it and the most visited child's, and the root's chance of a draw
    values: NDArray[np.float32]
    chosen: NDArray[np.int32]  # i4[F, 3], the move to play, the node it leads to (-1: never visited), its outcome code


@device
def _prepare_root(tree, searches, g, stream):
    """Give the expanded root of slot ``g`` its temperature and its noise, or plan its simulations."""
    root = searches.roots[g]
    if root.requested > 1:  # else its move is drawn from the net's policy
        soften_priors(tree.nodes, tree.edges, np.int64(root.node), searches.softening)
    stream[0] = root.key
    if root.gumbel:
        add_gumbels(tree.nodes, tree.edges, root, stream, searches.scores[g], searches.schedule[g])
    elif root.noise_share > 0.0:
        add_noise(tree.nodes, tree.edges, root, stream, searches.scores[g])


@device
def _select_gumbel(tree, params, searches, g, leaves, row):
    """One simulation whose first move is planned: (1 leaf or none, simulations finished)."""
    root, nodes, edges = searches.roots[g], tree.nodes, tree.edges
    k = gumbel_edge(nodes, edges, root, searches.scores[g], searches.schedule[g, root.done - 1], params[0].solver)
    top = np.int64(edges[k].child)
    if top < 0:
        top = new_node(tree, np.int64(root.node))
        if top < 0:
            return 0, 0
        edges[k].child = top
        nodes[root.node].children += 1
    leaves.paths[row, 0] = edges[k].move
    return select_from(tree, params, top, leaves, Selection(row, 1, 1, 1, False), ALONE)


@kernel
def select_all(trees, params, searches, leaves):
    """Choose one leaf of every slot that wants one; returns their number B.

    trees TreeArrays[G], params PARAMS[1]; of the leaves slot, root, paths, length, node and top are written.
    """
    trees, searches, leaves = borrow(trees), borrow(searches), borrow(leaves)
    rows = 0
    for g in range(searches.roots.shape[0]):
        root, tree = searches.roots[g], tree_of(trees, g)
        while root.done < root.requested:
            node = np.int64(root.node)
            if tree.counters[FULL] or (params[0].solver and tree.nodes[node].bound != RUNNING):
                root.requested = root.done
                break
            if root.gumbel and tree.nodes[node].first_edge >= 0:
                result, finished = _select_gumbel(tree, params, searches, g, leaves, rows)
            else:
                left = np.int64(root.requested - root.done)
                result, finished = select_from(tree, params, node, leaves, Selection(rows, 0, 1, left, False), ALONE)
            root.done += finished
            if result:
                leaves.rows[rows].slot, leaves.rows[rows].root = g, root.last
                rows += 1
                break
    return rows


@kernel
def count_all(trees, searches, leaves, count):
    """Count the simulations of ``count`` leaves that were backed up; a root expanded by one gets its noise."""
    trees, searches, leaves = borrow(trees), borrow(searches), borrow(leaves)
    stream = np.empty(1, np.uint64)
    for b in range(count):
        leaf, tree = leaves.rows[b], tree_of(trees, leaves.rows[b].slot)
        root = searches.roots[leaf.slot]
        if leaf.count >= 0:
            root.done += 1
        if leaf.node == root.node and tree.nodes[leaf.node].first_edge >= 0:
            _prepare_root(tree, searches, leaf.slot, stream)


@kernel
def begin_all(trees, searches, slots):
    """Begin the searches of slots i4[F], whose ROOTs are filled in: a root that is expanded already gets its noise."""
    trees, searches = borrow(trees), borrow(searches)
    stream = np.empty(1, np.uint64)
    for g in slots:
        root, tree = searches.roots[g], tree_of(trees, g)
        root.done = 0
        root.busy = 1
        if tree.nodes[root.node].first_edge >= 0:
            _prepare_root(tree, searches, g, stream)


@kernel
def conclude_all(trees, searches, solver, slots, results):
    """Write what the finished searches of slots i4[F] give to ``results``."""
    trees, searches, results = borrow(trees), borrow(searches), borrow(results)
    stream = np.empty(1, np.uint64)
    shares = np.empty(searches.scores.shape[1])
    values, chosen = results.values, results.chosen
    for f in range(slots.shape[0]):
        g = slots[f]
        root, scores = searches.roots[g], searches.scores[g]
        nodes, edges, _ = tree_of(trees, g)
        nd = nodes[root.node]
        first, count, children = np.int64(nd.first_edge), np.int64(nd.edges), np.int64(nd.children)
        stream[0] = ~root.key
        if root.gumbel:
            most = most_visits(nodes, edges, first, children)
            pick = gumbel_edge(nodes, edges, root, scores, most, solver) - first
            if solver:  # proven moves first
                visit_shares(nodes, edges, root, shares, solver)
                if shares[pick] < 1.0 and (nd.bound == WIN or shares[pick] == 0.0):
                    pick = choose(shares, count, 0.0, stream)
            improved_policy(nodes, edges, root, shares, solver)
        else:
            visit_shares(nodes, edges, root, shares, solver)
            pick = choose(shares, count, root.temperature, stream)
        edge = edges[first + pick]
        chosen[f, 0], chosen[f, 1], chosen[f, 2] = edge.move, edge.child, RUNNING
        proven = solver and nd.bound != RUNNING
        values[f, 0] = values[f, 1] = np.float32(nd.bound if proven else nd.w / nd.n)
        values[f, 2] = np.float32(nd.bound == DRAW if proven else nd.d / nd.n)
        most = 0
        for k in range(first, first + children):
            child = nodes[edges[k].child]
            if child.n > most and not proven:
                most = np.int64(child.n)
                values[f, 1] = max(values[f, 0], np.float32(-child.w / child.n))
        if edge.child >= 0 and nodes[edge.child].terminal:
            chosen[f, 2] = nodes[edge.child].bound
        _greatest(edges, first, count, shares, results.moves, results.target, f)


@device
def _greatest(edges, first, count, shares, moves, target, row):
    """The greatest shares and their moves, falling, to moves[row] and target[row]; shares is used up."""
    kept = 0.0
    for i in range(target.shape[1]):
        best = 0
        for k in range(1, count):
            if shares[k] > shares[best]:
                best = k
        share = shares[best]
        moves[row, i] = edges[first + best].move if share > 0.0 else moves[row, 0]
        target[row, i] = np.float32(share)
        kept += share
        shares[best] = 0.0
    for i in range(target.shape[1]):
        target[row, i] /= np.float32(kept)


@kernel
def advance_all(trees, roots, slots, bases, space):
    """The node bases[f] becomes the base and root of the tree of slot slots[f]; -1 empties the tree.

    space: (i4[N], i4[N], i4[E]), working space.
    """
    trees, (place, order, owner) = borrow(trees), space
    for f in range(slots.shape[0]):
        g = slots[f]
        nodes, _, counters = tree_of(trees, g)
        roots[g].node = 0
        if bases[f] < 0:
            counters[NODES] = counters[EDGES] = counters[FULL] = 0
            add_base(trees, g)
            continue
        used, rest = counters[NODES], np.int64(0)
        for i in range(used):
            if nodes[i].first_edge >= 0:
                owner[nodes[i].first_edge] = i
        e = np.int64(0)
        while e < counters[EDGES]:  # edge blocks lie side by side
            order[rest] = owner[e]
            e += nodes[owner[e]].edges
            rest += 1
        for i in range(used):
            if nodes[i].first_edge < 0:
                order[rest] = i
                rest += 1
        compact(trees, g, np.int64(bases[f]), place, order)


class Lockstep:
    """Up to G games with a search each.

    Memory is fixed when it is made: a tree holds ``nodes`` nodes, and a search whose tree is full is over.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        params: SearchParams,
        *,
        slots: int,
        visits: int,
        plies: int,
        nodes: int = 0,
        kept_moves: int = 64,
        cache: int = 0,
    ) -> None:
        """``visits``: at most, of one search; ``plies``: of the longest game; ``nodes``: of a tree, 0 = visits + 1.

        kept_moves: K, moves kept of a policy; cache: bytes of the position cache, 0 = none. With ``params.symmetries``
        a leaf is evaluated under one of the game's symmetries, chosen by its key and its slot's salt.
        """
        self.game, self.params = game.using(evaluator.encoder), params
        self.puct = puct_params(params)
        self.evaluator = evaluator
        nodes = nodes or visits + 1
        moves = game.max_moves
        self.nodes = np.zeros((slots, nodes), NODE)
        self.edges = np.zeros((slots, nodes * moves), EDGE)  # never touched beyond what positions need
        self.counters = np.zeros((slots, 8), np.int64)
        self.roots = np.zeros(slots, ROOT)
        self.salts = np.zeros(slots, np.uint64)
        self.states = np.zeros((slots, plies + 1 + MAX_DEPTH + 1), game.state_dtype)
        self.kept_moves = min(kept_moves, moves)
        self.simulations = self.evaluations = self.batches = 0
        self._trees = TreeArrays(self.nodes, self.edges, self.counters)
        self.searches = Searches(
            self.roots,
            np.zeros((slots, moves)),
            np.zeros((slots, max(visits, 1)), np.int32),
            1 / params.root_policy_temperature,
        )
        self._space = (np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes * moves, np.int32))
        self._cache = PositionCache(cache) if cache else None
        turning = params.symmetries and self.game.symmetries is not None
        self._batch = Minibatch(
            self.game,
            params,
            self._trees,
            self.states,
            slots,
            cache=self._cache,
            salts=self.salts if turning else None,
        )
        self.empty(np.arange(slots, dtype=np.int32))

    def use(self, evaluator: Evaluator) -> None:
        """Use another net from the next step on."""
        self.evaluator = evaluator
        self.forget()

    def forget(self) -> None:
        """Empty the position cache."""
        if self._cache is not None:
            self._cache.clear()

    def place(self, slot: int, line: State) -> None:
        """Put a game, State[n], into a slot; its last position becomes the root of an empty tree."""
        self.states[slot, : len(line)] = line
        self.roots[slot]["last"] = len(line) - 1
        self.empty(np.array([slot], np.int32))

    def line(self, slot: int) -> State:
        """The game of a slot up to its root, State[n], a view."""
        return self.states[slot, : int(self.roots[slot]["last"]) + 1]

    def empty(self, slots: NDArray[np.int32]) -> None:
        """Forget the trees of slots i4[F]."""
        self._advance(slots, np.full(len(slots), -1, np.int32))

    def begin(self, slots: NDArray[np.int32]) -> None:
        """Search from the roots of slots i4[F]; their ROOT records say how. Trees are as play() left them."""
        begin_all(self._trees, self.searches, slots)

    def step(self) -> None:
        """One leaf of each search that is not finished. Blocks for one evaluation. Errors: NetError."""
        batch = self._batch
        count = int(select_all(self._trees, self.puct, self.searches, batch.leaves))
        if count == 0:
            return
        error = batch.evaluate(count, self.evaluator)
        self.evaluations += batch.missing
        self.batches += 1
        batch.expand()
        count_all(self._trees, self.searches, batch.leaves, count)
        if error is not None:
            raise error

    def choose(self) -> Planes:
        """The first half of a step: select leaves; planes u1[K, C * H * W] of those that the net must judge.

        They hold until the next step. :meth:`take` makes the other half, also where K is 0.
        """
        count = int(select_all(self._trees, self.puct, self.searches, self._batch.leaves))
        return self._batch.choose(count, self.evaluator.history)

    def actions(self) -> NDArray[np.uint16]:
        """Policy indices u2[K, M] of the legal moves of what :meth:`choose` gave; any others behind them."""
        leaves, count = self._batch.leaves, self._batch.count
        actions: NDArray[np.uint16] = leaves.actions[:count][leaves.rows["row"][:count] >= 0]
        return actions

    def take(self, outputs: Output | None) -> None:
        """The other half of a step: expand the leaves by the net's logits f4[K, A] and values; None where K is 0.

        Errors: NetError when an answer is not finite.
        """
        batch, count = self._batch, self._batch.count
        if not count:
            return
        batch.take(*(outputs or ()))
        self.evaluations += batch.missing
        self.batches += 1
        batch.expand()
        count_all(self._trees, self.searches, batch.leaves, count)
        if batch.fault is not None:
            raise batch.fault

    def finished(self) -> NDArray[np.int32]:
        """Slots i4[F] whose search is over and whose move is not yet made."""
        return np.flatnonzero((self.roots["done"] >= self.roots["requested"]) & (self.roots["busy"] > 0)).astype(
            np.int32
        )

    def conclude(self, slots: NDArray[np.int32]) -> Conclusions:
        """What the finished searches of slots i4[F] give."""
        size, kept = len(slots), self.kept_moves
        results = Conclusions(
            np.empty((size, kept), np.uint16),
            np.empty((size, kept), np.float32),
            np.empty((size, 3), np.float32),
            np.empty((size, 3), np.int32),
        )
        self.simulations += int(self.roots["done"][slots].sum())
        conclude_all(self._trees, self.searches, self.params.solver, slots, results)
        return results

    def play(self, slots: NDArray[np.int32], moves: NDArray[np.int32], bases: NDArray[np.int32]) -> None:
        """Make a move in each of slots i4[F]; bases i4[F]: the node of the new root, -1 = an empty tree."""
        for slot, move in zip(slots.tolist(), moves.tolist(), strict=True):
            last = int(self.roots[slot]["last"])
            self.game.play_at(self.states[slot], last, move)
            self.roots[slot]["last"] = last + 1
        self._advance(slots, bases)

    def _advance(self, slots: NDArray[np.int32], bases: NDArray[np.int32]) -> None:
        advance_all(self._trees, self.roots, slots, bases, self._space)
        self.roots["busy"][slots] = self.roots["requested"][slots] = self.roots["done"][slots] = 0

    def tree_state(self, slot: int) -> dict[str, NDArray[Any]]:
        """The state of a slot between two steps, as copies; records as bytes u1."""
        nodes, edges = (int(n) for n in self.counters[slot, [NODES, EDGES]])
        return {
            "nodes": self.nodes[slot, :nodes].view(np.uint8).copy(),
            "edges": self.edges[slot, :edges].view(np.uint8).copy(),
            "counters": self.counters[slot].copy(),
            "root": self.roots[slot : slot + 1].view(np.uint8).copy(),
            "salt": self.salts[slot : slot + 1].copy(),
            "scores": self.searches.scores[slot].copy(),
            "schedule": self.searches.schedule[slot].copy(),
            "states": self.line(slot).view(np.uint8).copy(),
        }

    def restore_tree(self, slot: int, kept: dict[str, NDArray[Any]]) -> None:
        """The inverse of :meth:`tree_state`, in a Lockstep of the same settings."""
        self.roots[slot], self.salts[slot] = kept["root"].view(ROOT)[0], kept["salt"][0]
        self.counters[slot] = kept["counters"]
        self.searches.scores[slot], self.searches.schedule[slot] = kept["scores"], kept["schedule"]
        for name, rows in (("nodes", self.nodes), ("edges", self.edges), ("states", self.states)):
            records = kept[name].view(rows.dtype)
            rows[slot, : len(records)] = records
