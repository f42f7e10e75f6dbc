"""Events between made-up players, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from az_engine.bench.match.arbiter import TERRITORY_RULES
from az_engine.bench.match.game import MatchGame, MatchSettings
from az_engine.bench.match.openings import Opening
from az_engine.bench.match.players import PlayerSpec
from az_engine.bench.match.standings import faults_of, score_between
from az_engine.bench.match.tournament import Journal, Tournament, pairs_of, schedule
from az_engine.bench.ratings.elo import MatchScore
from az_engine.engine.games import get_game


def go_start(size: int, komi: float | None = None) -> str:
    """An empty board of Go by the rules of matches."""
    territory = get_game("go").territory
    assert territory is not None
    return territory.start(size, size, komi, TERRITORY_RULES)


class Match:
    """A tournament that has been played."""

    def __init__(
        self,
        game: str,
        players: Sequence[PlayerSpec],
        openings: Sequence[Opening],
        games: int,
        directory: Path | None = None,
        concurrency: int = 1,
        **settings: Any,
    ) -> None:
        """BLOCKS until it is over."""
        named = tuple(replace(player, name=f"{player.name} {i}") for i, player in enumerate(players))
        rules = MatchSettings(game, named, **settings)
        journal = None if directory is None else Journal(directory, rules, {"test": 1})
        self.tournament = Tournament(rules, schedule(pairs_of(len(named)), openings, games), journal)
        try:
            self.tournament.run(concurrency)
        finally:
            if journal is not None:
                journal.close()

    @property
    def finished(self) -> list[MatchGame]:
        return self.tournament.finished

    def score(self) -> MatchScore:
        return score_between(self.finished, 0, 1)

    def faults(self, player: int) -> Counter[str]:
        return faults_of(self.finished, player)
