"""Many searches side by side, one leaf of each a step, all leaves in one batch for the evaluator.

Each slot holds one game: its positions, its tree and its root. A step is the production search's with a batch of one
(``puct.select``, the game's leaves, the evaluator, ``policy.digest``, ``tree.expand``), done for every slot in one call
of each kernel; so a slot's search is what :class:`search.Search` with batch size 1 makes of the same root, but that no
mates are looked for beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NetError
from ..games.base import Game, State
from ..games.outcome import RUNNING, WIN
from ..kernels.jit import borrow, device, kernel
from ..nets.evaluator import Evaluator
from ..params import SearchParams
from .cache import PositionCache
from .policy import digest
from .puct import puct_params, select
from .roots import ROOT, add_gumbels, add_noise, choose, gumbel_edge, improved_policy, most_visits, visit_shares
from .symmetry import has_symmetries, turn
from .tree import EDGE, EDGES, FULL, MAX_DEPTH, NODE, NODES, add_base, compact, expand, new_node

_ONE = np.int64(1)


@device
def _ready(nodes, edges, root, scores, schedule, stream):
    """What is done to a root once it is expanded and before it is searched on."""
    stream[0] = root.key
    if root.gumbel:
        add_gumbels(nodes, edges, root, stream, scores, schedule)
    elif root.noise_share > 0.0:
        add_noise(nodes, edges, root, stream, scores)


@device
def _select_gumbel(nodes, edges, counters, params, root, scores, schedule, paths, lengths, leaf):
    """One simulation whose first move is planned: (1 leaf or none, the node below the root, simulations finished)."""
    k = gumbel_edge(nodes, edges, root, scores, schedule[root.done - 1], params[0].solver)
    top = np.int64(edges[k].child)
    if top < 0:
        top = new_node(nodes, counters, np.int64(root.node))
        if top < 0:
            return 0, top, 0
        edges[k].child = top
        nodes[root.node].children += 1
    paths[0, 0] = edges[k].move
    found, finished = select(nodes, edges, counters, params, top, _ONE, _ONE, paths[:, 1:], lengths, leaf)
    lengths[0] += 1
    return found, top, finished


@kernel
def select_all(nodes, edges, counters, params, roots, scores, schedule, slots, tops, paths, lengths, leaf):
    """One leaf of every slot that wants one; returns their number B.

    nodes NODE[G, N], edges EDGE[G, E], counters i8[G, 8], roots ROOT[G], scores f8[G, M], schedule i4[G, V]
    slots i4[G] out: whose leaf row b is; tops i4[G] out: the node from which virtual loss counts
    paths u2[G, D], lengths i4[G], leaf i4[G] out: see ``puct.select``
    """
    nodes, edges, counters, paths = borrow(nodes), borrow(edges), borrow(counters), borrow(paths)
    rows = 0
    for g in range(roots.shape[0]):
        root, one = roots[g], slice(rows, rows + 1)
        while root.done < root.wanted:
            node = np.int64(root.node)
            if counters[g, FULL] or (params[0].solver and nodes[g, node].bound != RUNNING):
                root.wanted = root.done
                break
            top = node
            if root.gumbel and nodes[g, node].first_edge >= 0:
                found, top, finished = _select_gumbel(
                    nodes[g], edges[g], counters[g], params, root, scores[g], schedule[g],
                    paths[one], lengths[one], leaf[one],
                )  # fmt: skip
            else:
                found, finished = select(
                    nodes[g], edges[g], counters[g], params, node, _ONE, np.int64(root.wanted - root.done),
                    paths[one], lengths[one], leaf[one],
                )  # fmt: skip
            root.done += finished
            if found:
                slots[rows], tops[rows] = g, top
                rows += 1
                break
    return rows


@kernel
def expand_all(
    nodes, edges, counters, solver, roots, scores, schedule, slots, tops, count, leaf,
    moves, priors, counts, outcomes, ends, values,
):  # fmt: skip
    """Expand and back up row b in the tree of slot slots[b]; a root that is new gets its noise. See ``tree.expand``."""
    nodes, edges, counters, moves, priors = (
        borrow(nodes),
        borrow(edges),
        borrow(counters),
        borrow(moves),
        borrow(priors),
    )
    stream = np.empty(1, np.uint64)
    for b in range(count):
        g, one = slots[b], slice(b, b + 1)
        expand(
            nodes[g], edges[g], counters[g], solver, np.int64(tops[b]), _ONE, leaf[one],
            moves[one], priors[one], counts[one], outcomes[one], ends[one], values[one],
        )  # fmt: skip
        if counts[b] >= 0:
            roots[g].done += 1
        if leaf[b] == roots[g].node and nodes[g, leaf[b]].first_edge >= 0:
            _ready(nodes[g], edges[g], roots[g], scores[g], schedule[g], stream)


@kernel
def begin_all(nodes, edges, roots, scores, schedule, slots):
    """Begin the searches of slots i4[F], whose ROOTs are filled in: a root that is expanded already gets its noise."""
    nodes, edges = borrow(nodes), borrow(edges)
    stream = np.empty(1, np.uint64)
    for g in slots:
        roots[g].done = 0
        roots[g].busy = 1
        if nodes[g, roots[g].node].first_edge >= 0:
            _ready(nodes[g], edges[g], roots[g], scores[g], schedule[g], stream)


@kernel
def conclude_all(nodes, edges, roots, scores, solver, slots, moves, target, said, chosen):
    """The fruit of the finished searches of slots i4[F].

    moves u2[F, K] and target f4[F, K] out: the K greatest probabilities of the policy to learn, falling, each row
    adding up to 1, unused places 0; said f4[F, 2] out: the root's value and the greater of it and the most visited
    child's value, both the mover's view; chosen i4[F, 3] out: the move to play, the node it leads to (-1: never
    visited), and its outcome code by the rules.
    """
    nodes, edges = borrow(nodes), borrow(edges)
    stream = np.empty(1, np.uint64)
    shares = np.empty(scores.shape[1])
    for f in range(slots.shape[0]):
        g = slots[f]
        root = roots[g]
        nd = nodes[g, root.node]
        first, count, children = np.int64(nd.first_edge), np.int64(nd.edges), np.int64(nd.children)
        stream[0] = ~root.key
        if root.gumbel:
            most = most_visits(nodes[g], edges[g], first, children)
            pick = gumbel_edge(nodes[g], edges[g], root, scores[g], most, solver) - first
            if solver:  # what is proven goes first
                visit_shares(nodes[g], edges[g], root, shares, solver)
                if shares[pick] < 1.0 and (nd.bound == WIN or shares[pick] == 0.0):
                    pick = choose(shares, count, 0.0, stream)
            improved_policy(nodes[g], edges[g], root, shares, solver)
        else:
            visit_shares(nodes[g], edges[g], root, shares, solver)
            pick = choose(shares, count, root.temperature, stream)
        edge = edges[g, first + pick]
        chosen[f, 0], chosen[f, 1], chosen[f, 2] = edge.move, edge.child, RUNNING
        said[f, 0] = said[f, 1] = np.float32(nd.w / nd.n)
        most = 0
        for k in range(first, first + children):
            child = nodes[g, edges[g, k].child]
            if child.n > most:
                most = np.int64(child.n)
                said[f, 1] = max(said[f, 0], np.float32(-child.w / child.n))
        if edge.child >= 0 and nodes[g, edge.child].terminal:
            chosen[f, 2] = nodes[g, edge.child].bound
        _greatest(edges[g], first, count, shares, moves, target, f)


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
def advance_all(nodes, edges, counters, roots, slots, bases, place, order, owner):
    """The node bases[f] becomes the base and root of the tree of slot slots[f]; -1 empties the tree.

    place i4[N], order i4[N], owner i4[E] are working space.
    """
    nodes, edges, counters = borrow(nodes), borrow(edges), borrow(counters)
    for f in range(slots.shape[0]):
        g = slots[f]
        roots[g].node = 0
        if bases[f] < 0:
            counters[g, NODES] = counters[g, EDGES] = counters[g, FULL] = 0
            add_base(nodes[g], counters[g])
            continue
        used, rest = counters[g, NODES], np.int64(0)
        for i in range(used):
            if nodes[g, i].first_edge >= 0:
                owner[nodes[g, i].first_edge] = i
        e = np.int64(0)
        while e < counters[g, EDGES]:  # edge blocks lie side by side
            order[rest] = owner[e]
            e += nodes[g, owner[e]].edges
            rest += 1
        for i in range(used):
            if nodes[g, i].first_edge < 0:
                order[rest] = i
                rest += 1
        compact(nodes[g], edges[g], counters[g], np.int64(bases[f]), place, order)


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
        self._temperature = np.float32(params.policy_temperature)
        self.evaluator = evaluator
        nodes = nodes or visits + 1
        moves = game.max_moves
        self.nodes = np.zeros((slots, nodes), NODE)
        self.edges = np.zeros((slots, nodes * moves), EDGE)  # never touched beyond what positions need
        self.counters = np.zeros((slots, 8), np.int64)
        self.roots = np.zeros(slots, ROOT)
        self.salts = np.zeros(slots, np.uint64)
        self.states = np.zeros((slots, plies + 1 + MAX_DEPTH + 1), game.state_dtype)
        self.scores = np.zeros((slots, moves))
        self.schedule = np.zeros((slots, max(visits, 1)), np.int32)
        self.kept_moves = min(kept_moves, moves)
        self.simulations = self.evaluations = self.batches = 0
        self._turned = params.symmetries and has_symmetries(self.game)
        self._cache = PositionCache(cache) if cache else None
        self._work = [np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes * moves, np.int32)]
        self._slots, self._tops = np.empty(slots, np.int32), np.empty(slots, np.int32)
        self._leaves = self.game.make_leaves(slots, MAX_DEPTH)
        rows = self._leaves.rows
        self._paths, self._moves, self._actions = self._leaves.paths, self._leaves.moves, self._leaves.actions
        self._planes, self._priors = self._leaves.planes, self._leaves.priors
        self._lengths, self._leaf, self._row, self._counts = rows["length"], rows["node"], rows["row"], rows["count"]
        self._outcomes, self._ends, self._keys = rows["outcome"], rows["end"], rows["key"]
        self._values = np.zeros((slots, 2), np.float32)
        self.empty(np.arange(slots, dtype=np.int32))

    def use(self, evaluator: Evaluator) -> None:
        """Go on with another net from the next step on."""
        self.evaluator = evaluator
        self.forget()

    def forget(self) -> None:
        """Empty the position cache."""
        if self._cache is not None:
            self._cache.clear()

    def place(self, slot: int, line: State) -> None:
        """A game, State[n], in a slot; its last position becomes the root of an empty tree."""
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
        begin_all(self.nodes, self.edges, self.roots, self.scores, self.schedule, slots)

    def step(self) -> None:
        """One leaf of each search that is not finished. Blocks for one evaluation. Errors: NetError."""
        count = select_all(
            self.nodes, self.edges, self.counters, self.puct, self.roots, self.scores, self.schedule,
            self._slots, self._tops, self._paths, self._lengths, self._leaf,
        )  # fmt: skip
        if count == 0:
            return
        error = None
        try:
            bad = self._evaluate(count)
        except NetError as failure:
            error, bad = failure, count
            self._counts[:count] = -1
            self._outcomes[:count] = RUNNING
        expand_all(
            self.nodes, self.edges, self.counters, self.params.solver, self.roots, self.scores, self.schedule,
            self._slots, self._tops, count, self._leaf,
            self._moves, self._priors, self._counts, self._outcomes, self._ends, self._values,
        )  # fmt: skip
        if error is not None:
            raise error
        if bad:
            raise NetError(f"the net gives NaN or infinity in {bad} of {count} positions; its weights are damaged")

    def _evaluate(self, count: int) -> int:
        """Fill in moves, priors, values and outcomes of the leaves; returns the rows that were not finite."""
        slots, keys, row = self._slots[:count], self._keys[:count], self._row[:count]
        rows = self._leaves.rows[:count]
        rows["slot"], rows["root"] = slots, self.roots["last"][slots]
        self.game.describe(self.states, self._leaves, count, self.evaluator.history)
        if self._turned:
            keys ^= self.salts[slots]
        if self._cache is not None:
            missing = self._cache.probe(
                count, self._keys, self._outcomes, self._counts, self._moves, self._priors, self._values, self._row,
                self._planes,
            )  # fmt: skip
        else:
            row[:] = np.arange(count)
            missing = count
        self.evaluations += missing
        self.batches += 1
        if not missing:
            return 0
        planes = self._planes[:missing]
        if self._turned:
            planes = turn(self.game, keys, row, planes, self._actions[:count])
        logits, values = self.evaluator.evaluate(planes)
        bad = digest(
            count, self._row, logits, values, self._temperature,
            self._moves, self._actions, self._counts, self._outcomes, self._priors, self._values,
        )  # fmt: skip
        if self._cache is not None:
            self._cache.store(count, self._keys, self._counts, self._moves, self._priors, self._values, self._row)
        return int(bad)

    def finished(self) -> NDArray[np.int32]:
        """Slots i4[F] whose search is over and was not yet followed by a move."""
        return np.flatnonzero((self.roots["done"] >= self.roots["wanted"]) & (self.roots["busy"] > 0)).astype(np.int32)

    def conclude(
        self, slots: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint16], NDArray[np.float32], NDArray[np.float32], NDArray[np.int32]]:
        """See :func:`conclude_all`: (moves, target, said, chosen) of the finished searches of slots i4[F]."""
        size = len(slots)
        moves, target = np.empty((size, self.kept_moves), np.uint16), np.empty((size, self.kept_moves), np.float32)
        said, chosen = np.empty((size, 2), np.float32), np.empty((size, 3), np.int32)
        self.simulations += int(self.roots["done"][slots].sum())
        conclude_all(
            self.nodes, self.edges, self.roots, self.scores, self.params.solver, slots, moves, target, said, chosen
        )
        return moves, target, said, chosen

    def play(self, slots: NDArray[np.int32], moves: NDArray[np.int32], bases: NDArray[np.int32]) -> None:
        """Make a move in each of slots i4[F]; bases i4[F]: the node it leads to, the new root, -1 = an empty tree."""
        for slot, move in zip(slots.tolist(), moves.tolist(), strict=True):
            last = int(self.roots[slot]["last"])
            self.game.play_at(self.states[slot], last, move)
            self.roots[slot]["last"] = last + 1
        self._advance(slots, bases)

    def _advance(self, slots: NDArray[np.int32], bases: NDArray[np.int32]) -> None:
        advance_all(self.nodes, self.edges, self.counters, self.roots, slots, bases, *self._work)
        self.roots["busy"][slots] = self.roots["wanted"][slots] = self.roots["done"][slots] = 0

    def tree_state(self, slot: int) -> dict[str, NDArray[Any]]:
        """Everything of a slot between two steps, copies; records as bytes u1."""
        nodes, edges = (int(n) for n in self.counters[slot, [NODES, EDGES]])
        return {
            "nodes": self.nodes[slot, :nodes].view(np.uint8).copy(),
            "edges": self.edges[slot, :edges].view(np.uint8).copy(),
            "counters": self.counters[slot].copy(),
            "root": self.roots[slot : slot + 1].view(np.uint8).copy(),
            "salt": self.salts[slot : slot + 1].copy(),
            "scores": self.scores[slot].copy(),
            "schedule": self.schedule[slot].copy(),
            "states": self.line(slot).view(np.uint8).copy(),
        }

    def restore_tree(self, slot: int, kept: dict[str, NDArray[Any]]) -> None:
        """The inverse of :meth:`tree_state`, in a Lockstep of the same settings."""
        self.roots[slot], self.salts[slot] = kept["root"].view(ROOT)[0], kept["salt"][0]
        self.counters[slot], self.scores[slot], self.schedule[slot] = kept["counters"], kept["scores"], kept["schedule"]
        for name, rows in (("nodes", self.nodes), ("edges", self.edges), ("states", self.states)):
            records = kept[name].view(rows.dtype)
            rows[slot, : len(records)] = records
