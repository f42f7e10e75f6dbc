"""The resignation threshold: the highest that the games played to their end allow.

AlphaGo Zero disables resignation in 10 % of the games and keeps the share of false positives, games that would have
been resigned and were not lost, below 5 % (Methods, 'Self-play'). In a short run the net changes faster than games
gather, and one net's games say little about the next one's: so a threshold needs enough games, and must also hold for
the newest ones.
"""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np

from ..config import ResignConfig
from ..store.replay import GameRecord

_GRID = np.round(np.arange(-0.99, 0.0, 0.01), 2)  # candidate thresholds


class ResignControl:
    """Chooses the threshold from the games that were played to their end."""

    def __init__(self, config: ResignConfig) -> None:
        self.config = config
        self._games: deque[tuple[np.ndarray[tuple[int], np.dtype[np.float32]], int]] = deque(maxlen=config.games)
        self.resigned: deque[bool] = deque(maxlen=config.games)

    def add(self, record: GameRecord) -> None:
        self.resigned.append(record.reason == "resigned")
        if record.played_on and len(record.outlooks):
            self._games.append((record.outlooks, record.result))

    def counts(self, threshold: float, newest: int = 0) -> tuple[int, int]:
        """(games that ``threshold`` would have ended, those of them that were not lost).

        ``newest``: count only so many of the newest games, 0 = all.
        """
        given_up = wrong = 0
        start = max(0, len(self._games) - newest) if newest else 0
        for outlooks, result in itertools.islice(self._games, start, None):
            below = np.flatnonzero(outlooks < threshold)
            if len(below):
                given_up += 1
                wrong += (result if below[0] % 2 == 0 else -result) != -1
        return given_up, wrong

    def false_positives(self, threshold: float | None) -> float | None:
        """Share of wrong resignations at ``threshold``; None without resignations."""
        if threshold is None:
            return None
        given_up, wrong = self.counts(threshold)
        return wrong / given_up if given_up else None

    def threshold(self) -> float | None:
        """The highest threshold whose share of wrong resignations is low enough; None = no resignation.

        It must have ended so many games that one wrong one is within the allowed share. Among the newest games, one
        more than the share counts as chance.
        """
        config = self.config
        if not config.enabled or len(self._games) < config.least:
            return None
        for value in _GRID[::-1].tolist():
            if not config.lowest <= value <= config.highest:
                continue
            given_up, wrong = self.counts(value)
            if config.wrong * given_up < 1 or wrong > config.wrong * given_up:
                continue
            given_up, wrong = self.counts(value, config.least)
            if wrong <= config.wrong * given_up + 1:
                return float(value)
        return None
