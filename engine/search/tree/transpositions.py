"""Transpositions: one subtree for a position, whatever the order of the moves before it (Monte-Carlo graph search).

The first node of a position is searched. A later one becomes its alias: it keeps the visits of its own edge, as the
formula of selection needs them, and a simulation that comes to it goes on at the first one, its twin, whose mean value
it gets. So the tree stays one of parents and children, and what is found below a twin is found for all of its aliases.
A twin on the path that leads to its alias is a repetition, which counts as a draw there.

Czech, Korus, Kersting: Monte-Carlo Graph Search for AlphaZero (ICAPS 2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import borrow, device, kernel
from .nodes import BELOW, twin_of

_LEAST_DEPTH = 3  # plies below the root from which a node may be an alias: those above become roots, and are reported


class Positions(NamedTuple):
    """Which node of a tree has a position: a hash table of chains, which forgets none."""

    keys: NDArray[np.uint64]  # [N] of the nodes; 0 = not known
    others: NDArray[np.int32]  # [N], of a known node: the next one of its chain, 0 = none
    places: NDArray[np.int32]  # [S], S a power of two: chains by their keys' last bits, 0 = none; [0] = none is shared


class Way(NamedTuple):
    """The aliases that a simulation passed, from the root on."""

    aliases: NDArray[np.int32]  # [D]
    twins: NDArray[np.int32]  # [D], where it went on
    length: NDArray[np.int64]  # [1]


def make_positions(nodes: int) -> Positions:
    """For a tree of up to so many nodes; nothing is known. The memory is committed as it is used."""
    chains = 1 << (nodes.bit_length() - 1)
    return Positions(np.zeros(nodes, np.uint64), np.zeros(nodes, np.int32), np.zeros(chains, np.int32))


NONE_SHARED = Positions(np.zeros(0, np.uint64), np.zeros(0, np.int32), np.zeros(0, np.int32))


@device
def begin_way(way):
    """Begin at the root again; way: Way or None."""
    if way is not None:
        way.length[0] = 0


@device
def step_up(nodes, node, way, left):
    """(the node before ``node`` on a path, aliases before that); way: Way or None, left: aliases before ``node``."""
    if way is not None:  # noqa: SIM102 - alone, numba drops it where it is None
        if left > 0 and way.twins[left - 1] == node:
            return np.int64(way.aliases[left - 1]), left - 1
    return np.int64(nodes[node].parent), left


@device
def aliases_passed(way):
    """How many aliases a path holds."""
    if way is not None:
        return way.length[0]
    return np.int64(0)


@device
def note_alias(way, alias, twin):
    """Go on from ``alias`` at its ``twin``."""
    way.aliases[way.length[0]], way.twins[way.length[0]] = alias, twin
    way.length[0] += 1


@device
def is_passed(nodes, node, root, way, sought):
    """Whether the path from ``root`` to ``node`` holds the node ``sought``."""
    node, left = np.int64(node), aliases_passed(way)
    while node != sought:
        if node == root:
            return False
        node, left = step_up(nodes, node, way, left)
    return True


@device
def copy_mean(alias, twin):
    """Give an alias, with the visits that it has, the mean value of its twin: NODE and NODE."""
    alias.w, alias.d = twin.w / twin.n * alias.n, twin.d / twin.n * alias.n
    alias.s = twin.s / twin.n * alias.n


@device
def chain_of(positions, key):
    """Where the nodes of a position are noted."""
    return np.int64(key & np.uint64(positions.places.shape[0] - 1))


@device
def find_twin(nodes, positions, leaf, root, way):
    """The node that a LEAF, which is a new node below ``root``, may be an alias of, or -1."""
    if positions.places.shape[0] == 0 or leaf.length < _LEAST_DEPTH:
        return np.int64(-1)
    twin = np.int64(positions.places[chain_of(positions, leaf.key)])
    while twin != 0 and positions.keys[twin] != leaf.key:
        twin = np.int64(positions.others[twin])
    if twin == 0 or nodes[twin].n == 0:
        return np.int64(-1)
    return np.int64(-1) if is_passed(nodes, np.int64(leaf.node), root, way, twin) else twin


@device
def make_alias(nodes, twin, leaf):
    """Make the node of a LEAF an alias of ``twin``, and the twin's mean value that of the leaf."""
    seen = nodes[twin]
    leaf.value, leaf.draw = np.float32(seen.w / seen.n), np.float32(seen.d / seen.n)
    leaf.utility = np.float32(seen.s / seen.n)
    nodes[leaf.node].first_edge = -2 - twin


@device
def remember_node(positions, leaf):
    """Let later nodes of the position of a LEAF, unless it is the root, be aliases of its node."""
    if positions.places.shape[0] and leaf.length > 0 and positions.keys[leaf.node] == 0:
        positions.keys[leaf.node] = leaf.key
        note_node(positions, leaf.node)


@device
def note_node(positions, node):
    """Put a node whose key is known before the others of its chain."""
    chain = chain_of(positions, positions.keys[node])
    positions.others[node] = positions.places[chain]
    positions.places[chain] = node


@kernel
def gather(nodes, count, root, positions, below):
    """Know those of ``count`` NODEs that lie below ``root``; aliases of others become leaves. below u1[N]: used."""
    nodes, positions, below = borrow(nodes), borrow(positions), borrow(below)
    keys = positions.keys
    for i in range(count):  # parents come before their children
        below[i] = i == root or (i > root and nodes[i].parent >= root and below[nodes[i].parent])
        if keys[i] != 0:
            positions.places[chain_of(positions, keys[i])] = 0
    for i in range(root + 1, count):
        if not below[i]:
            continue
        twin = twin_of(nodes[i])
        if twin >= 0 and not below[twin]:
            nodes[i].first_edge = -1
            nodes[i].marks |= BELOW
        if twin < 0 and keys[i] != 0:
            note_node(positions, i)


def forget(positions: Positions, count: int) -> None:
    """Forget the first ``count`` nodes."""
    positions.places[positions.keys[:count] & np.uint64(len(positions.places) - 1)] = 0
    positions.keys[:count] = 0
