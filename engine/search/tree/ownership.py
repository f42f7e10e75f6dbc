"""How the game ends: what the net says of it in every node of a tree, and the averages over the tree.

Only a search with this request keeps it; see ``search.Scope``. An average weighs a node's own evaluation by
the visits that ended there, so that it follows the moves that the search prefers, and a finished game counts as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...games.base import Game, State
from ...games.leaves import Leaves
from ...games.outcome import RUNNING
from ...info import Estimate
from ...kernels.jit import borrow, device, kernel
from .nodes import NODES, Ownerships, copy_ownerships, make_ownerships, tree_of
from .tree import Tree

_SCALE = 127.0  # of ownership in a byte, see Ownerships
_MOST_NODES = 5_000  # that an average reads at each depth, about: smaller subtrees count as their first evaluation
_AT_A_TIME = 1 << 14  # nodes whose records are moved
_POINTS = 1.6  # of lead, for each line of the board, that count as much as a chance of 88 %
_LCB_ERRORS = 5.0  # standard errors below the mean, as KataGo's lcbStdevs

GROUP = np.dtype(
    [
        ("weight", "f8"),  # visits
        ("value", "f8"),  # sum of the values V
        ("squares", "f8"),  # sum of V * V
        ("known", "f8"),  # visits whose end is known
        ("score", "f8"),  # sum of the leads
    ],
    align=True,
)
_SPACE = np.dtype([("weight", "f8"), ("sign", "f8"), ("node", "i4"), ("group", "i4")], align=True)


def note_outputs(
    game: Game,
    leaves: Leaves,
    judged: NDArray[np.intp],
    outputs: tuple[NDArray[np.float32] | None, NDArray[np.float32] | None],
    turned: bool,
    out: Ownerships,
) -> None:
    """Note what the net says of the leaves ``judged``, the rows of its outputs, ownership f4[K, H, W] and score f4[K].

    turned: whether each was judged under the symmetry of its key. Scores are those of the board until
    :func:`apply_rules`: so a cache keeps nothing that the net does not see.
    """
    ownership, score = outputs
    if ownership is not None and out.owners.shape[1]:
        owners = ownership.reshape(len(judged), -1)
        if turned:
            assert game.symmetries is not None
            which = (leaves.rows["key"][judged] % np.uint64(len(game.symmetries))).astype(np.int64)
            owners = np.take_along_axis(owners, game.symmetries.points[which], axis=1)
        out.owners[judged] = np.rint(_SCALE * np.clip(owners, -1.0, 1.0))
    out.scores[judged] = np.nan if score is None else score
    out.known[judged] = 1


def apply_rules(
    game: Game,
    root: State,
    leaves: Leaves,
    count: int,
    known: Ownerships | None,
    *,
    values: bool,
    utility: float = 0.0,
) -> None:
    """Count in, for the ``count`` leaves that a net evaluated, what the rules give either side beside the board.

    known: its scores become leads; values: whether the net sees neither komi nor rules, so that values depend on them;
    utility: how much of what the search maximises is the lead, see ``SearchParams.score_utility``.
    """
    territory, rows = game.territory, leaves.rows[:count]
    assert territory is not None
    judged = np.flatnonzero((rows["outcome"] == RUNNING) & (rows["count"] >= 0))
    lengths = rows["length"][judged]
    given = territory.leads(root, leaves.paths[judged], lengths, np.zeros(len(judged), np.float32))
    if values:
        scores = (
            None if known is None or np.isnan(known.scores[judged]).any() else known.scores[judged].astype(np.float64)
        )
        owners = None if known is None or not known.owners.shape[1] else known.owners[judged] / _SCALE
        value = rows["value"][judged].astype(np.float64)
        rows["value"][judged], rows["draw"][judged] = territory.chances(root, lengths, given, value, scores, owners)
    if known is not None:
        known.scores[judged] += given
        if utility:
            lines = max(game.planes[1:])
            of_leads = np.tanh(known.scores[judged] / (_POINTS * lines)) - rows["value"][judged]
            rows["utility"][judged] = utility * np.nan_to_num(of_leads)


def note_finished(game: Game, line: State, path: NDArray[np.uint16], leaf: int, out: Ownerships) -> None:
    """Note the end of a leaf where the rules end the game, ``path`` after the end of a line."""
    assert game.territory is not None
    for move in path:
        line = game.play(line, int(move))
    lead, owner = game.territory.score(line[-1])
    black = game.side_to_move(line[-1]) == 0
    out.scores[leaf] = lead if black else -lead
    if out.owners.shape[1]:
        out.owners[leaf] = _SCALE * np.where(owner == 2, 0, np.where((owner == 0) == black, 1, -1))
    out.known[leaf] = 1


@kernel
def average(trees, root, ownerships, least, space, groups, owned, squares):
    """Sum up tree 0 from ``root`` on, the view of its side to move, as far as nodes have more than ``least`` visits.

    ownerships: of the tree's nodes; least: nodes with so many visits or fewer count as their first evaluation; space
    _SPACE[nodes], is used: those that wait; groups GROUP[1 + children], owned and squares f8[1 + children, P] out:
    number 0 is the root's own evaluation, k + 1 the subtree of its edge k.
    """
    trees, ownerships, space = borrow(trees), borrow(ownerships), borrow(space)
    groups, owned, squares = borrow(groups), borrow(owned), borrow(squares)
    nodes, edges, _ = tree_of(trees, 0)
    space[0].node, space[0].group, space[0].weight, space[0].sign = root, 0, nodes[root].n, 1.0
    waiting = 1
    while waiting:
        waiting -= 1
        node, number = np.int64(space[waiting].node), np.int64(space[waiting].group)
        ours, sign = space[waiting].weight, space[waiting].sign
        nd, group = nodes[node], groups[number]
        if nd.first_edge >= 0 and (node == root or nd.n > least) and not nd.terminal:
            first, end, below = np.int64(nd.first_edge), np.int64(nd.first_edge) + nd.children, 0.0
            for k in range(first, end):
                below += nodes[edges[k].child].n
            ours /= 1.0 + below
            for k in range(first, end):
                weight = ours * nodes[edges[k].child].n
                if weight > 0.0:
                    s = space[waiting]
                    s.node, s.weight, s.sign = edges[k].child, weight, -sign
                    s.group = k - first + 1 if node == root else number
                    waiting += 1
        value = sign * nd.net_value
        group.weight += ours
        group.value += ours * value
        group.squares += ours * value * value
        if ownerships.known[node]:
            group.known += ours
            group.score += ours * sign * ownerships.scores[node]
            _add_owners(ownerships.owners[node], ours, ours * sign / _SCALE, owned[number], squares[number])


@device
def _add_owners(owners, weight, signed, owned, squares):
    """Add i1[P] to the sums f8[P] of owners and of their squares; all in the registers of vectors."""
    weight /= _SCALE * _SCALE
    for p in range(owners.shape[0]):
        owner = np.float64(owners[p])
        owned[p] += signed * owner
        squares[p] += weight * owner * owner


def keep_ownerships(ownerships: Ownerships, kept: NDArray[np.intp], count: int) -> None:
    """Follow the nodes of a tree, of whose ``count`` only ``kept`` are left, in that order."""
    for start in range(0, len(kept), _AT_A_TIME):
        some = kept[start : start + _AT_A_TIME]
        copy_ownerships(ownerships, some, ownerships, slice(start, start + len(some)))
    ownerships.known[len(kept) : count] = 0


class Averages:
    """The averages over a tree, from the view of the side to move at its root. Make it under the search's lock."""

    def __init__(self, tree: Tree, *, moves_ownership: bool = False) -> None:
        """Blocks for some milliseconds at most. moves_ownership: estimates of moves tell it, too."""
        self._moves_ownership = moves_ownership
        root = tree.root
        ownerships = tree.ownerships or make_ownerships(len(tree.nodes), 0)
        parts, points = 1 + int(tree.nodes[root]["children"]), ownerships.owners.shape[1]
        self._groups = np.zeros(parts, GROUP)
        self._owned, self._squares = np.zeros((parts, points)), np.zeros((parts, points))
        least = int(tree.nodes[root]["n"]) // _MOST_NODES
        space = np.empty(int(tree.counters[NODES]), _SPACE)
        average(tree.arrays, root, ownerships, least, space, self._groups, self._owned, self._squares)

    def root(self) -> Estimate | None:
        """Over the whole tree; None where nothing is known."""
        groups = self._groups
        return _estimate(
            groups["known"].sum(), groups["score"].sum(), self._owned.sum(axis=0), self._squares.sum(axis=0)
        )

    def after(self, edge: int) -> Estimate | None:
        """After a move of the root, by the number of its edge; None where nothing is known."""
        if edge + 1 >= len(self._groups):
            return None
        group, width = self._groups[edge + 1], self._owned.shape[1] if self._moves_ownership else 0
        return _estimate(group["known"], group["score"], self._owned[edge + 1, :width], self._squares[edge + 1, :width])

    def bound(self, edge: int, value: float) -> float | None:
        """A lower confidence bound of a move's value, by the number of its edge; None before its first visit.

        As KataGo's: five standard errors below the mean, the variance mixed with a wide one that fades with n^3.
        """
        if edge + 1 >= len(self._groups) or self._groups[edge + 1]["weight"] <= 0:
            return None
        group = self._groups[edge + 1]
        n, mean = float(group["weight"]), float(group["value"] / group["weight"])
        variance = max(float(group["squares"]) / n - mean * mean, 1e-8)
        prior = n**-3
        variance = (variance * n + (variance + 1.0) * prior) / (n + prior)
        return max(value - _LCB_ERRORS * float(np.sqrt(variance / n)), -1.0 - _LCB_ERRORS)


def _estimate(known: float, score: float, owned: NDArray[np.float64], squares: NDArray[np.float64]) -> Estimate | None:
    if known <= 0:
        return None
    mean = owned / known
    spread = np.sqrt(np.maximum(squares / known - mean * mean, 0.0))
    lead = None if np.isnan(score) else float(score / known)
    return Estimate(lead, tuple(mean.tolist()) or None, tuple(spread.tolist()) or None)
