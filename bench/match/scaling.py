"""One player at doubling times: the tournament that its Elo is read from (AlphaZero 2018, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...engine.errors import DataError
from ..ratings.bayes import Rating
from .game import MatchGame, MatchSettings
from .openings import Opening
from .players import MoveLimit, PlayerSpec
from .standings import ratings
from .tournament import Journal, Tournament, schedule


@dataclass(frozen=True, slots=True)
class Step:
    """A player at one limit, and its rating above the weakest player of the tournament."""

    name: str
    amount: int  # visits or ms a move
    rating: Rating


@dataclass(frozen=True, slots=True)
class Ladder:
    """A player at ``base`` visits (or ms) a move, twice that, and so on, against itself and perhaps a baseline."""

    player: PlayerSpec
    base: int
    doublings: int
    timed: bool  # ms a move instead of visits
    baseline: PlayerSpec | None = None  # with a limit of its own

    @property
    def amounts(self) -> list[int]:
        """Visits or ms a move, rising."""
        return [self.base << i for i in range(self.doublings + 1)]

    @property
    def players(self) -> tuple[PlayerSpec, ...]:
        """The baseline, if there is one, then the steps."""
        steps = [
            replace(
                self.player,
                name=f"{self.player.name}, {amount} {'ms' if self.timed else 'visits'}",
                limit=MoveLimit(movetime_ms=amount) if self.timed else MoveLimit(nodes=amount),
            )
            for amount in self.amounts
        ]
        return (*([] if self.baseline is None else [self.baseline]), *steps)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each step meets the next one, and the baseline: few games can tell small differences only."""
        first = 0 if self.baseline is None else 1
        steps = range(first, first + len(self.amounts))
        met = [(a, a + 1) for a in steps[:-1]]
        return met if self.baseline is None else [*((0, step) for step in steps), *met]


def play(
    ladder: Ladder,
    game: str,
    openings: Sequence[Opening],
    games: int,
    *,
    folder: Path,
    concurrency: int = 1,
    on_game: Callable[[Tournament, MatchGame], None] = lambda tournament, game: None,
) -> Tournament:
    """Play ``games`` between each pair, or go on with them. BLOCKS. Errors: AzError."""
    settings = MatchSettings(game, ladder.players)
    identity = {"game": game, "players": [player.describe() for player in settings.players]}
    journal = Journal(folder, settings, identity)
    tournament = Tournament(settings, schedule(ladder.pairs, openings, games), journal)
    try:
        tournament.run(concurrency, lambda game: on_game(tournament, game))
    finally:
        journal.close()
    return tournament


def steps_of(ladder: Ladder, games: Sequence[MatchGame]) -> list[Step]:
    """The steps with their ratings above player 0, the baseline or the first step. Errors: DataError."""
    names = [player.name for player in ladder.players]
    rated = ratings(games, names, names[0])
    if set(names) - set(rated):
        raise DataError("not every step has been played yet; finish the tournament first")
    steps = names[-len(ladder.amounts) :]
    return [Step(name, amount, rated[name]) for name, amount in zip(steps, ladder.amounts, strict=True)]
