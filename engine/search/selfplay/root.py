"""The root in self-play: noise on the priors, Gumbel search, the choice of a move, and the policy target.

Sources: Dirichlet noise, AlphaZero (Methods, 'Search'); Gumbel root selection by sequential halving and the improved
policy, Danihelka, Guez, Schrittwieser and Silver, 'Policy improvement by planning with Gumbel' (ICLR 2022), sections 3
and 4, with its constants; Q is taken to 0..1 as there. Below the root the search is PUCT's in either case.
"""

from __future__ import annotations

import numpy as np

from ...games.outcome import LOSS, RUNNING, WIN
from ...kernels.jit import device
from ...kernels.splitmix import draw, draw_dirichlet, draw_gumbel
from ..tree.nodes import pack_prior, unpack_prior

ROOT = np.dtype(
    [
        ("key", "u8"),  # of the random numbers drawn at this root
        ("noise_share", "f8"),  # P = (1 - share) p + share eta ...
        ("noise_alpha", "f8"),  # ... eta ~ Dir(alpha)
        ("gumbel_visit", "f8"),  # sigma(q) = (gumbel_visit + max N) * gumbel_scale * q
        ("gumbel_scale", "f8"),
        ("temperature", "f8"),  # tau of the move choice; 0 = most visits
        ("node", "i4"),  # the root in its tree
        ("requested", "i4"),  # simulations of this search
        ("done", "i4"),
        ("gumbel", "i4"),  # actions considered, 0 = PUCT at the root, too
        ("last", "i4"),  # number of the root's position in its game
        ("busy", "i4"),  # 1 from the search's beginning to the move
    ],
    align=True,
)


@device
def _sort_edges(edges, first, last, scores, offset):
    """Insertion sort of edges[first:last] by falling scores[k - offset]; equal scores keep their order."""
    for i in range(first + 1, last):
        score, move, prior = scores[i - offset], edges[i].move, edges[i].prior
        j = i - 1
        while j >= first and scores[j - offset] < score:
            scores[j + 1 - offset] = scores[j - offset]
            edges[j + 1].move = edges[j].move
            edges[j + 1].prior = edges[j].prior
            j -= 1
        scores[j + 1 - offset] = score
        edges[j + 1].move = move
        edges[j + 1].prior = prior


@device
def add_noise(nodes, edges, root, stream, scores):
    """Mix Dirichlet noise into the priors of an expanded root; scores f8[M] is working space.

    The visited edges stay in front, the others are sorted again.
    """
    nd = nodes[root.node]
    first, last = np.int64(nd.first_edge), np.int64(nd.first_edge) + np.int64(nd.edges)
    draw_dirichlet(stream, root.noise_alpha, np.int64(nd.edges), scores)
    for k in range(first, last):
        scores[k - first] = (1.0 - root.noise_share) * unpack_prior(edges[k].prior) + root.noise_share * scores[
            k - first
        ]
        edges[k].prior = pack_prior(scores[k - first])
    _sort_edges(edges, first + np.int64(nd.children), last, scores, first)


@device
def add_gumbels(nodes, edges, root, stream, scores, schedule):
    """Sort the edges of an expanded, unvisited root by falling g + log P and plan its simulations.

    scores f8[M] out: g + log P in that order; schedule i4[V] out: see :func:`plan`.
    """
    nd = nodes[root.node]
    first, last = np.int64(nd.first_edge), np.int64(nd.first_edge) + np.int64(nd.edges)
    for k in range(first, last):
        scores[k - first] = draw_gumbel(stream) + np.log(unpack_prior(edges[k].prior))
    _sort_edges(edges, first, last, scores, first)
    plan(schedule, min(np.int64(root.gumbel), np.int64(nd.edges)), np.int64(root.requested) - 1)


@device
def plan(schedule, considered, simulations):
    """Sequential halving: schedule[i] = the visits that the action of simulation i has so far.

    ``considered`` actions share the ``simulations`` in ceil(log2) phases of equal length; after each phase the better
    half goes on. An action is thus known by its visits: only those still considered have as many.
    """
    phases, actions = 0, 1
    while actions < considered:
        phases, actions = phases + 1, 2 * actions
    i, visits, actions = 0, 0, considered
    while i < simulations:
        rounds = max(1, simulations // (max(phases, 1) * actions))
        for _ in range(rounds):
            for _ in range(actions):
                if i < simulations:
                    schedule[i] = visits
                    i += 1
            visits += 1
        actions = max(min(2, considered), actions // 2)


@device
def _sigma(root, most, q):
    """The paper's monotone transformation of q, which is -1..1; ``most`` is max N."""
    return (root.gumbel_visit + most) * root.gumbel_scale * 0.5 * (q + 1.0)


@device
def most_visits(nodes, edges, first, children):
    """The greatest N of the first ``children`` edges."""
    most = np.int64(0)
    for k in range(first, first + children):
        most = max(most, np.int64(nodes[edges[k].child].n))
    return most


@device
def mean_value(child, solver):
    """Q of the edge to a visited child, the parent's view; exact where the solver has proven it."""
    if solver and child.bound != RUNNING:
        return -np.float64(child.bound)
    return -child.w / child.n


@device
def gumbel_edge(nodes, edges, root, scores, visits, solver):
    """The edge with that many visits whose g + log P + sigma(Q) is greatest (index into ``edges``).

    Unvisited edges share one completed Q, so that the first of them is the best.
    """
    nd = nodes[root.node]
    first, children = np.int64(nd.first_edge), np.int64(nd.children)
    if visits == 0:
        for k in range(first, first + children):
            if nodes[edges[k].child].n == 0:  # its evaluation failed
                return k
        if children < nd.edges:
            return first + children
    most = most_visits(nodes, edges, first, children)
    best, best_score = int(first), -np.inf
    for k in range(first, first + children):
        child = nodes[edges[k].child]
        if child.n == visits and visits > 0:
            score = scores[k - first] + _sigma(root, np.float64(most), mean_value(child, solver))
            if score > best_score:
                best, best_score = k, score
    return best


@device
def improved_policy(nodes, edges, root, target, solver):
    """target f8[M] out: softmax(log P + sigma(completed Q)) over all edges of the root.

    The completed Q of an unvisited edge is v_mix, the mean of the net's value and of the visited Qs weighted by prior.
    """
    nd = nodes[root.node]
    first, count, children = np.int64(nd.first_edge), np.int64(nd.edges), np.int64(nd.children)
    most = np.float64(most_visits(nodes, edges, first, children))
    visits, prior, weighted = 0.0, 0.0, 0.0
    for k in range(first, first + children):
        child, p = nodes[edges[k].child], unpack_prior(edges[k].prior)
        if child.n > 0:
            visits += child.n
            prior += p
            weighted += p * mean_value(child, solver)
    mixed = np.float64(nd.net_value)
    if prior > 0.0:
        mixed = (mixed + visits * weighted / prior) / (1.0 + visits)
    highest = -np.inf
    for k in range(count):
        q = mixed
        if k < children and nodes[edges[first + k].child].n > 0:
            q = mean_value(nodes[edges[first + k].child], solver)
        target[k] = np.log(unpack_prior(edges[first + k].prior)) + _sigma(root, most, q)
        highest = max(highest, target[k])
    total = 0.0
    for k in range(count):
        target[k] = np.exp(target[k] - highest)
        total += target[k]
    for k in range(count):
        target[k] /= total


@device
def visit_shares(nodes, edges, root, target, solver):
    """target f8[M] out: each edge's share of the root's visits; of the priors where none was visited.

    With the solver a proven win has all of it, and a proven loss none while there is another move.
    """
    nd = nodes[root.node]
    first, count, children = np.int64(nd.first_edge), np.int64(nd.edges), np.int64(nd.children)
    total = 0.0
    won, plies = -1, 1 << 30
    for k in range(count):
        target[k] = 0.0
        if k < children:
            child = nodes[edges[first + k].child]
            if solver and child.bound == LOSS and child.plies < plies:
                won, plies = k, int(child.plies)
            if not (solver and child.bound == WIN and nd.bound != LOSS):
                target[k] = np.float64(child.n)
        total += target[k]
    if total == 0.0:  # nothing that was visited is worth playing
        for k in range(count):
            if k >= children or nodes[edges[first + k].child].n == 0:
                target[k] = unpack_prior(edges[first + k].prior)
                total += target[k]
    for k in range(count):
        target[k] /= total
        if won >= 0:
            target[k] = 1.0 if k == won else 0.0


@device
def choose(shares, count, temperature, stream):
    """An edge drawn with probability ~ shares^(1 / temperature); at 0 drawn among those of the greatest share."""
    highest = 0.0
    for k in range(count):
        highest = max(highest, shares[k])
    total = 0.0
    for k in range(count):
        total += _weight(shares[k] / highest, temperature)
    left = draw(stream) * total
    last = 0
    for k in range(count):
        weight = _weight(shares[k] / highest, temperature)
        if weight > 0.0:
            last = k
        left -= weight
        if left < 0.0:
            break
    return last


@device
def _weight(share, temperature):
    """share^(1 / temperature) of a share of the greatest, 0..1."""
    if temperature > 0.0:
        return share ** (1.0 / temperature)
    return 1.0 if share == 1.0 else 0.0
