"""Matches of the Python library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..bench.match.arbiter import TERRITORY_RULES
from ..bench.match.command import in_form, named_apart
from ..bench.match.game import MatchGame, MatchSettings
from ..bench.match.openings import choose_openings
from ..bench.match.players import MoveLimit, parse_seconds, parse_spec
from ..bench.match.standings import total_score
from ..bench.match.tournament import Tournament, pairs_of, schedule
from ..bench.ratings.elo import MatchScore
from ..engine.errors import OptionError
from ..engine.games import get_game
from ..engine.settings import check_kind

_WAYS = "visits or seconds, or a limit behind its name, as in 'default visits=400'"


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The score of the first player."""

    wins: int
    draws: int
    losses: int
    elo: float  # difference to the second player; infinite when one has won every game
    interval: tuple[float, float]  # of 95 %
    games: tuple[MatchGame, ...]

    def __str__(self) -> str:
        return str(MatchScore(self.wins, self.draws, self.losses))


def match(
    a: str,
    b: str,
    game: str = "chess",
    games: int = 20,
    *,
    visits: int | None = None,
    seconds: float | None = None,
    openings: str = "book",
    seed: int = 0,
    concurrency: int = 1,
    on_game: Callable[[MatchGame], None] = lambda game: None,
) -> MatchResult:
    """Let two players meet, every opening with both colours. Blocks.

    a, b: players as ``az-engine match`` takes them: "default", "uniform", a net's path, "raw:NET", "cmd=PROGRAM", with
    limits and options behind them ("default visits=400"); visits, seconds: limits of a move for a player without one.
    Errors: OptionError, NetError, EngineProcessError.
    """
    for name, text in (("a", a), ("b", b), ("game", game), ("openings", openings)):
        check_kind(name, text, str)
    for name, number in (("games", games), ("seed", seed), ("concurrency", concurrency)):
        check_kind(name, number, int)
    check_kind("visits", visits, int | None)
    check_kind("seconds", seconds, float | None)
    for name, count in (("games", games), ("concurrency", concurrency), ("visits", 1 if visits is None else visits)):
        if count < 1:
            raise OptionError(f"{name} is {count}; it must be 1 or more")
    rules = get_game(game)
    territory = rules.territory
    rows, columns = rules.planes[1:]
    board = columns if rows == columns else f"{columns}x{rows}"
    start = None if territory is None else territory.start(columns, rows, None, TERRITORY_RULES)
    name = game if territory is None else f"{rules.name}{board}"
    common = MoveLimit(nodes=visits, movetime_ms=None if seconds is None else parse_seconds(str(seconds)))
    players = [parse_spec(text, rules.protocol).with_limit(common, rules.protocol, _WAYS) for text in (a, b)]
    settings = MatchSettings(name, named_apart(players))
    lines = choose_openings(openings, name, (games + 1) // 2, seed, start)
    settings, lines = in_form(settings, "", lines)
    tournament = Tournament(settings, schedule(pairs_of(2), lines, games))
    tournament.run(concurrency, on_game)
    score = total_score(tournament.finished, 0)
    return MatchResult(
        score.wins, score.draws, score.losses, score.elo, score.elo_interval(), tuple(tournament.finished)
    )
