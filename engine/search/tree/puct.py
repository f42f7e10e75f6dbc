"""Selection by PUCT: which edge a simulation follows, and which leaves a batch holds.

Papers: a = argmax Q + U with U = c(s) P(s, a) sqrt(sum_b N(s, b)) / (1 + N(s, a)). AlphaGo Zero's c is constant;
AlphaZero's is c(s) = log((1 + N(s) + c_base) / c_base) + c_init; programs since have a factor before the logarithm.

A simulation in flight counts as a visit on its path, and with ``virtual_loss`` in part as a lost one. A simulation
that reaches a node still waiting for its evaluation is a collision: it is undone. Where the batch is not half full,
simulations in flight count as lost from then on, which drives the rest apart; else, and at the next collision, the
batch is closed. A simulation that ends in a proven node is backed up at once, without an evaluation.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.outcome import DRAW, LOSS, RUNNING, WIN
from ...kernels.atomics import enter, fence, leave
from ...kernels.jit import borrow, device, kernel
from ...params import SearchParams
from .expansion import ALONE, backup, fly, prove, release
from .nodes import BELOW, DEPTH_MAX, DEPTH_SUM, TAIL, new_node, tree_of, twin_of, unpack_prior
from .transpositions import begin_way, is_passed, note_alias

PARAMS = np.dtype(
    [
        ("c_puct", "f8"),
        ("c_base", "f8"),
        ("c_factor", "f8"),
        ("fpu_value", "f8"),
        ("fpu_root_value", "f8"),
        ("virtual_loss", "f8"),  # in [0, 1]
        ("growing", "i1"),  # 1: AlphaZero's c(s); 0: AlphaGo Zero's constant
        ("fpu", "i1"),  # ZERO, REDUCTION or LOSS
        ("solver", "i1"),
        ("skip_proven", "i1"),  # 1: do not visit root edges whose outcome is proven (MultiPV)
    ],
    align=True,
)
ZERO, REDUCTION, LOSS_FPU = 0, 1, 2


class Selection(NamedTuple):
    """What a selection shall give."""

    first: int  # the row of its first leaf
    start: int  # moves of that row's path that lead to the node where it begins, and are there already
    leaves: int  # at most
    simulations: int | np.int64  # at most
    resumed: bool  # whether the first row's leaf has got its edges and the selection goes on from there


_STAY, _REPEAT, _LOOK_AGAIN = -1, -2, -3  # see _follow_alias
_NO_ROOM, _CUT = -1, -2  # see _child_of: the last edge that is left stands for those that were cut off
_OUT_OF_QUESTION = -1e9  # Q of an edge that is skipped while there are others


@cache
def puct_params(params: SearchParams, *, skip_proven: bool = False) -> NDArray[Any]:
    """The settings that selection reads, as PARAMS[1], not to be changed; ``skip_proven``: see PARAMS."""
    record = np.zeros(1, PARAMS)
    record["c_puct"], record["c_base"], record["c_factor"] = params.c_puct, params.c_base, params.c_factor
    record["fpu_value"], record["virtual_loss"] = params.fpu_value, params.virtual_loss
    record["fpu_root_value"] = params.fpu_root_value
    record["growing"] = params.puct == "az"
    record["fpu"] = {"zero": ZERO, "reduction": REDUCTION, "loss": LOSS_FPU}[params.fpu]
    record["solver"] = params.solver
    record["skip_proven"] = skip_proven
    return record


def exploration(growing, params, n):
    """c(s) of a node with n visits; params: a record of PARAMS or the SearchParams."""
    if not growing:
        return params.c_puct
    return params.c_factor * np.log((1.0 + n + params.c_base) / params.c_base) + params.c_puct


_exploration = device(exploration)


@device
def _first_play(nd, params, at_root, visited_prior):
    """First-play urgency: Q of a node's next unvisited edge, where the visited ones have so much of the prior."""
    if params.fpu == ZERO:
        return 0.0
    if params.fpu == LOSS_FPU:
        return -1.0
    reduction = params.fpu_root_value if at_root else params.fpu_value
    return (nd.w + nd.s) / max(np.float64(nd.n), 1.0) - reduction * np.sqrt(visited_prior)


@device
def best_edge(nodes, edges, node, params, loss, at_root):
    """The edge of an expanded node that PUCT picks, by its number among the node's.

    Simulations in flight count as visits: ``loss``, in [0, 1], of each as a lost one, the rest with the edge's Q. Ties
    go to the greater prior. An edge whose outcome is proven has its exact Q. Edges proven lost, and with skip_proven
    all proven ones of the root, are skipped while others are left.
    """
    nd = nodes[node]
    solver, unproven = params.solver, params.skip_proven and at_root
    flying = np.float64(nd.in_flight) - 1.0
    first, children = int(nd.first_edge), int(nd.children)
    visits = max(np.float64(nd.n) - 1.0, 0.0)
    if nd.marks & BELOW:  # its children began anew
        visits = 0.0
        for k in range(first, first + children):
            visits += np.float64(nodes[edges[k].child].n)
    visits += flying
    rate = _exploration(params.growing, params, np.float64(nd.n) + flying) * np.sqrt(visits)
    best, best_score = 0, -np.inf  # not -1: where memory is weakly ordered, a node may show its edges late
    visited_prior = 0.0
    for k in range(first, first + children):
        prior = unpack_prior(edges[k].prior)
        child = nodes[edges[k].child]
        flying = np.float64(child.in_flight)
        n = np.float64(child.n) + flying
        if n == 0.0:  # its evaluation failed: visit it again
            return k - first
        if solver and child.bound != RUNNING:
            q = _OUT_OF_QUESTION if unproven or child.bound == WIN else -np.float64(child.bound)
        else:
            total = child.w + child.s
            q = -(total + loss * flying) / n
            if flying > 0.0 and loss < 1.0:
                mean = -total / child.n if child.n > 0 else _first_play(nd, params, at_root, visited_prior)
                q += (1.0 - loss) * flying * mean / n
        visited_prior += prior
        score = q + rate * prior / (1.0 + n)
        if score > best_score:
            best, best_score = k - first, score
    if children < nd.edges:
        prior = unpack_prior(edges[first + children].prior)
        if _first_play(nd, params, at_root, visited_prior) + rate * prior > best_score:
            best = children
    return best


@device
def _child_of(tree, node, number, lock):
    """The child that an edge of a node leads to, a new one where there is none yet; _NO_ROOM or _CUT."""
    nd = tree.nodes[node]
    child = np.int64(tree.edges[np.int64(nd.first_edge) + number].child)
    if child >= 0 and (lock is None or tree.nodes[child].parent == node):  # else its edges have just moved
        return child
    enter(lock)
    k = np.int64(nd.first_edge) + number
    child = np.int64(tree.edges[k].child)
    if child < 0 and nd.marks & TAIL and number + 1 == nd.edges:
        child = np.int64(_CUT)
    elif child < 0:
        child = new_node(tree, node)
        if child >= 0:
            if lock is not None:
                fence()
            tree.edges[k].child = child
            if lock is not None:
                fence()
            nd.children += 1
    leave(lock)
    return child


@device
def _is_among(leaves, first, count, node):
    """Whether a node is one of ``count`` leaves."""
    result = False
    for b in range(first, first + count):
        result |= leaves.rows[b].node == node
    return result


@device
def _take_proof(tree, node, twin, lock):
    """Prove what the twin of an alias is proven to be, but a draw, which other moves before it may avoid."""
    nodes = tree.nodes
    if nodes[twin].bound != WIN and nodes[twin].bound != LOSS:
        return False
    enter(lock)
    nodes[node].bound, nodes[node].plies = nodes[twin].bound, nodes[twin].plies
    prove(nodes, tree.edges, node)
    leave(lock)
    return True


@device
def _follow_alias(tree, node, root, solver, lock, way):
    """What a simulation does at an alias: _STAY, _REPEAT, _LOOK_AGAIN, or the twin to go on from.

    lock, way: see Pass.
    """
    if way is None:
        return np.int64(_STAY)
    twin = twin_of(tree.nodes[node])
    if is_passed(tree.nodes, node, root, way, twin):
        return np.int64(_REPEAT)
    if solver and _take_proof(tree, node, twin, lock):
        return np.int64(_LOOK_AGAIN)
    note_alias(way, node, twin)
    return twin


@device
def select_from(tree, params, root, leaves, requested, passing):
    """Choose leaves below the node ``root``; see :func:`select`. requested: Selection; passing: Pass.

    Where nodes may be aliases, the pass's way becomes that of the only leaf.
    """
    nodes, counters, p = tree.nodes, tree.counters, params[0]
    lock, way, _ = passing
    first, resumed = requested.first, requested.resumed
    count, finished, loss = 0, 0, p.virtual_loss
    while count < requested.leaves and count + finished < requested.simulations:
        if resumed:
            node, start = np.int64(leaves.rows[first].node), np.int64(leaves.rows[first].length)
            others, resumed = np.uint16(0), False
        else:
            node, start = np.int64(root), np.int64(requested.start)
            others = np.uint16(fly(nodes[node], 1, lock))
            begin_way(way)
        depth = start
        while True:
            nd = nodes[node]
            if nd.bound != RUNNING and (nd.terminal or (p.solver and node != root)):
                backup(nodes, node, root, np.float64(nd.bound), 1.0 if nd.bound == DRAW else 0.0, 0.0, passing)
                finished += 1
                break
            if nd.first_edge < -1:
                twin = _follow_alias(tree, node, root, p.solver, lock, way)
                if twin >= 0:
                    others = np.uint16(fly(nodes[twin], 1, lock))
                    node = twin
                    continue
                if twin == _REPEAT:  # a draw
                    backup(nodes, node, root, 0.0, 1.0, 0.0, passing)
                    finished += 1
                    break
                if twin == _LOOK_AGAIN:
                    continue
            is_leaf, number = nd.first_edge < 0 or (depth == 0 and nd.marks & TAIL != 0), np.int64(0)
            if not is_leaf:
                if depth == leaves.paths.shape[1]:
                    backup(nodes, node, root, nd.w / nd.n, nd.d / nd.n, nd.s / nd.n, passing)
                    finished += 1
                    break
                number = np.int64(best_edge(nodes, tree.edges, node, p, loss, depth == 0))
                child = _child_of(tree, node, number, lock)
                if child >= 0:
                    leaves.paths[first + count, depth] = tree.edges[np.int64(nd.first_edge) + number].move
                    others = np.uint16(fly(nodes[child], 1, lock))
                    node = child
                    depth += 1
                    continue
                if child == _NO_ROOM:
                    release(nodes, node, root, passing)
                    return count, finished
                others = np.uint16(_is_among(leaves, first, count, node))
            if others:  # already selected, still being evaluated
                release(nodes, node, root, passing)
                if loss == 1.0 or 2 * count >= requested.leaves:
                    return count, finished
                loss, depth = 1.0, start  # it went nowhere
                break
            leaf = leaves.rows[first + count]
            leaf.length, leaf.node, leaf.top = depth, node, root
            count += 1
            break
        counters[DEPTH_SUM] += depth - start
        counters[DEPTH_MAX] = max(counters[DEPTH_MAX], depth)
    return count, finished


@kernel
def select(trees, params, root, leaves, requested, budget):
    """Choose up to ``requested`` leaves of tree 0 to evaluate, making at most ``budget`` simulations from ``root`` on.

    trees: TreeArrays[1]; params: PARAMS[1]; of the leaves paths, length, node and top are written.
    Returns (leaves chosen, simulations that ended in proven nodes and are already backed up).
    """
    return select_from(
        tree_of(borrow(trees), 0), params, root, borrow(leaves), Selection(0, 0, requested, budget, False), ALONE
    )
