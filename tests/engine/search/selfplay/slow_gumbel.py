"""Gumbel root search in plain numpy, from the paper: the oracle of test_root.py.

Danihelka et al., 'Policy improvement by planning with Gumbel' (2022), algorithm 2: sample g, take the m actions of the
greatest g + logit, share the simulations out by sequential halving, go on with the better half by g + logit + sigma(Q).
Below the root is a plain PUCT search of each action's subtree, here a function of (action, number of simulations).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sequential_halving(
    scores: Floats, mean_value: Callable[[int, int], float], considered: int, simulations: int, scale: float
) -> tuple[Floats, int]:
    """(visits f8[A] of the actions, the action to play).

    scores f8[A]: g + logit; mean_value(action, n): Q, -1..1, after n simulations of an action; sigma(q) = (50 + max N)
    * scale * (q + 1) / 2.
    """
    visits = np.zeros(len(scores), np.int64)

    def score(a: int) -> float:
        q = (mean_value(a, int(visits[a])) + 1) / 2 if visits[a] else 0.0
        return float(scores[a]) + (50 + int(visits.max())) * scale * q

    left = sorted(range(len(scores)), key=lambda a: -scores[a])[:considered]
    kept, phases = len(left), max(1, math.ceil(math.log2(len(left))))
    while visits.sum() < simulations:
        survivors: list[int] = []
        for lap in range(max(1, simulations // (phases * kept))):
            waiting = list(survivors if lap else left)
            for _ in range(min(kept, simulations - int(visits.sum()))):
                best = max(waiting, key=score)
                waiting.remove(best)
                visits[best] += 1
                if not lap:
                    survivors.append(best)
        left, kept = survivors, max(min(2, kept), kept // 2)
    most = visits.max()
    return visits.astype(np.float64), max((a for a in range(len(scores)) if visits[a] == most), key=score)


def improved_policy(logits: Floats, visits: Floats, q: Floats, net_value: float, scale: float) -> Floats:
    """softmax(logits + sigma(completed Q)), f8[A]; q f8[A] is read where visits > 0."""
    prior = np.exp(logits - logits.max())
    prior /= prior.sum()
    seen = visits > 0
    mixed = net_value
    if seen.any():
        mixed = (net_value + visits.sum() * (prior[seen] @ q[seen]) / prior[seen].sum()) / (1 + visits.sum())
    completed = np.where(seen, q, mixed)
    improved = logits + (50 + visits.max()) * scale * (completed + 1) / 2
    shares: Floats = np.exp(improved - improved.max())
    shares /= shares.sum()
    return shares
