"""Subtree value bias correction: what the net misjudges in one place, it misjudges wherever the same pattern arises.

The error of the net at a node is the mean value of the simulations below it less the net's own value there. Nodes of
one pattern (in Go the last two moves and the stones around the last one) share an entry of a table: the mean of their
errors, each weighted by the simulations below to the power of 0.85. A node's own value in its W is the net's plus a
factor times that mean, and is renewed at every visit; what it changes is passed on to the nodes above.

D. J. Wu, KataGo, docs/KataGoMethods.md, "Subtree Value Bias Correction".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.outcome import RUNNING
from ...kernels.jit import device

PATTERNS = 1 << 16  # that are distinguished; 0 = none
_EXPONENT = 0.85
_FORGOTTEN = 0.8  # of the errors of nodes that are dropped from the tree
NOTE = np.dtype(
    [
        ("pattern", "u2"),
        ("bias", "f4"),  # of its own value, as it is in W
        ("error", "f4"),  # weighted, as it is in the table
        ("weight", "f4"),
    ],
    align=True,
)


class Biases(NamedTuple):
    """What is known of the net's errors in one tree."""

    notes: NDArray[Any]  # NOTE[N], of the tree's nodes
    table: NDArray[np.float64]  # [PATTERNS, 2]: sums of weighted errors and of weights, of the side to move
    factor: NDArray[np.float64]  # [1], in [0, 1]; with 0 nothing changes any more


def make_biases(nodes: int) -> Biases:
    """For a tree of so many nodes; nothing is known, and nothing corrected. The memory is committed as it is used."""
    return Biases(np.zeros(nodes, NOTE), np.zeros((PATTERNS, 2)), np.zeros(1))


@device
def note_pattern(biases, node, pattern):
    """Note the pattern of a node that gets its value; biases: Biases or None."""
    if biases is not None:
        note = biases.notes[node]
        note.pattern = pattern
        note.bias = note.error = note.weight = 0.0


@device
def correct(biases, nd, node, value):
    """Renew the own value of a NODE that a simulation of ``value`` has visited; the value to pass on to the node above.

    biases: Biases or None.
    """
    if biases is not None:
        change = _renew(biases, nd, node)
        nd.w += change
        return value + change
    return value


@device
def _renew(biases, nd, node):
    """Tell the table of the error at a NODE that was visited, and correct its own value; how much its W has to grow."""
    note = biases.notes[node]
    if biases.factor[0] == 0.0 or note.pattern == 0 or nd.bound != RUNNING:
        return 0.0
    entry = biases.table[note.pattern]
    below = np.float64(nd.n - 1)
    if below > 0:
        weight = np.float32(below**_EXPONENT)
        error = np.float32(weight * ((nd.w - nd.net_value - note.bias) / below - nd.net_value))
        entry[0] += np.float64(error) - note.error
        entry[1] += np.float64(weight) - note.weight
        note.error, note.weight = error, weight
    if entry[1] < 0.5:  # no node has an error
        return 0.0
    bias = np.float32(biases.factor[0] * entry[0] / entry[1])
    change = np.float64(bias) - np.float64(note.bias)
    note.bias = bias
    return change


def keep_biases(biases: Biases, kept: NDArray[np.intp], count: int) -> None:
    """Follow the nodes of a tree, of whose ``count`` only ``kept`` are left, in that order."""
    notes, table = biases.notes, biases.table
    notes[: len(kept)] = notes[kept]
    notes[len(kept) : count] = 0
    left = notes[: len(kept)]
    for column, name in enumerate(("error", "weight")):
        known = np.bincount(left["pattern"], left[name].astype(np.float64), PATTERNS)
        table[:, column] = known + (1 - _FORGOTTEN) * (table[:, column] - known)


def forget_biases(biases: Biases, count: int) -> None:
    """Forget the first ``count`` nodes and all their errors."""
    biases.notes[:count] = 0
    biases.table[:] = 0
