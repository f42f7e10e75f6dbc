"""A net without search: its outputs for the last positions of some lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import NetError, OptionError
from ..games.base import Game, State
from .evaluator import Evaluator, Planes, values_by_rules
from .positions import FIRST, encode
from .weights import load_evaluator


def legal_actions(game: Game, line: State) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """The legal moves u2[n] of a line's last position and their indices in the policy, i4[n]."""
    moves = game.legal_moves(line)
    actions = np.zeros((1, len(moves)), np.int32)
    game.actions(line, FIRST + len(line) - 1, moves[None], actions)
    return moves, actions[0]


def softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Probabilities f8 over the last axis."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def expected_points(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Expected points f8[B] of a game, 0 to 1, of WDL logits f4[B, 3] or values f4[B, 1] in [-1, 1]."""
    if values.shape[1] == 3:
        wdl = softmax(values)
        return np.asarray(np.minimum(wdl[:, 0] + wdl[:, 1] / 2, 1.0))
    return np.asarray(np.clip((1 + values[:, 0].astype(np.float64)) / 2, 0.0, 1.0))


class Doubts(NamedTuple):
    """What KataGo's nets say of the score, for the side to move; -1 what nets before version 9 do not say."""

    score: float  # of the game played on by the net itself
    stdev: float
    time_left: float = -1.0  # moves that matter
    outcome_error: float = -1.0  # of the outcome in [-1, 1], as a search would soon find it
    score_error: float = -1.0  # points


@dataclass(frozen=True, slots=True)
class Opinion:
    """A net's outputs for one position, for the side to move."""

    moves: NDArray[np.uint16]  # [n] the legal moves
    policy: NDArray[np.float64]  # [n] their probabilities
    chance: float  # expected points, 0 to 1
    lead: float | None  # points ahead at the end, komi included; None without that output
    ownership: tuple[float, ...]  # of each point, 1 = surely the side to move's; empty without that output
    doubts: Doubts | None = None  # of one position where the net has that output, see opinion_of


class RawNet:
    """A net without search."""

    def __init__(
        self,
        weights: str,
        game: Game,
        batch_size: int = 1,
        *,
        provider: str = "cpu",
        load: Callable[..., Evaluator] = load_evaluator,
    ) -> None:
        """weights: as for ``WeightsFile``, "default" the net inside the package; batch_size: positions in one call.

        ``load`` is called as ``weights.load_evaluator`` is. Errors: NetError.
        """
        net = "" if weights == "default" else weights
        self._evaluator = load(net, game, provider=provider, batch_size=batch_size)
        self._batch_size = batch_size
        self._game = game.using(self._evaluator.encoder)
        self.opinion(game.initial())  # a faulty net fails here and not in mid-game

    def opinion(self, line: State) -> Opinion:
        """The net's outputs for a line's last position. Blocks. Errors: NetError."""
        return self.opinions([line])[0]

    def opinions(self, lines: Sequence[State]) -> list[Opinion]:
        """The net's outputs for the last position of each line. Blocks. Errors: NetError."""
        batches = (lines[i : i + self._batch_size] for i in range(0, len(lines), self._batch_size))
        return [opinion for batch in batches for opinion in self._of_batch(batch)]

    def _of_batch(self, lines: Sequence[State]) -> list[Opinion]:
        return opinions_of(self._game, self._evaluator, lines)


def opinion_of(game: Game, evaluator: Evaluator, line: State, symmetry: int = 0) -> Opinion:
    """:func:`opinions_of` one line, doubts included."""
    (opinion,) = opinions_of(game, evaluator, [line], symmetry)
    (doubts,) = evaluator.doubts(_planes(game.using(evaluator.encoder), evaluator, [line], symmetry))
    return opinion if doubts is None else replace(opinion, doubts=Doubts(*doubts[0].tolist()))


def _planes(game: Game, evaluator: Evaluator, lines: Sequence[State], symmetry: int) -> Planes:
    """u1[B, C * H * W] of each line's last position under a symmetry."""
    planes = encode(game, lines, evaluator.history)
    if symmetry and game.symmetries is not None:
        planes = game.symmetries.turn(planes, np.full(len(planes), symmetry))
    return planes.reshape(len(planes), -1)


def opinions_of(game: Game, evaluator: Evaluator, lines: Sequence[State], symmetry: int = 0) -> list[Opinion]:
    """The outputs for the last position of each line, under one of the board's symmetries. Blocks.

    Errors: NetError; OptionError where there is no such symmetry.
    """
    game = game.using(evaluator.encoder)
    if symmetry and (game.symmetries is None or symmetry >= len(game.symmetries)):
        raise OptionError(f"the board has no symmetry {symmetry}")
    logits, values, owners, score = evaluator.evaluate_all(_planes(game, evaluator, lines, symmetry))
    opinions = []
    for i, line in enumerate(lines):
        moves, actions = legal_actions(game, line)
        owned = None if owners is None else owners[i].ravel()
        if symmetry and game.symmetries is not None:
            actions = game.symmetries.actions[symmetry, actions]
            owned = None if owned is None else owned[game.symmetries.points[symmetry]]
        policy = logits[i, actions]
        if not (np.isfinite(policy).all() and np.isfinite(values[i]).all()):
            raise NetError("the net's policy or value is not finite; use another net")
        points = float(expected_points(values[i : i + 1])[0])
        lead, territory, state = None, game.territory, line[-1]
        if score is not None and territory is not None:
            lead = territory.lead(state, float(score[i]))
        if territory is not None and values_by_rules(game, evaluator, state):
            given, value = np.array([territory.lead(state, 0.0)]), np.array([2 * points - 1])
            seen = None if score is None else score[i : i + 1].astype(np.float64)
            owned_by = None if owned is None else owned[None].astype(np.float64)
            points = float(1 + territory.chances(state, np.zeros(1, int), given, value, seen, owned_by)[0][0]) / 2
        chances = softmax(policy) if len(moves) else np.zeros(0)  # the game is over
        opinions.append(Opinion(moves, chances, points, lead, () if owned is None else tuple(owned.tolist())))
    return opinions
