"""Tables of a tournament: scores by colour, Elo with intervals, ratings, and the SPRT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text  # shows brackets as they are, where a string would take them for markup

from ..ratings.bayes import PairScore, Rating, rate
from ..ratings.elo import MatchScore
from ..ratings.sprt import GAME_SCORES, PAIR_SCORES, Sprt, Verdict
from .game import MatchGame, MatchSettings


def score_between(games: Iterable[MatchGame], a: int, b: int, *, first: bool | None = None) -> MatchScore:
    """Player a's score against b; ``first``: only the games in which a moved first (True) or second (False)."""
    points: Counter[float] = Counter()
    for game in games:
        counts = {game.pairing.first, game.pairing.second} == {a, b}
        if counts and first in (None, game.pairing.first == a):
            points[game.points(a)] += 1
    return MatchScore(points[1.0], points[0.5], points[0.0])


def pair_counts(games: Iterable[MatchGame], a: int, b: int) -> tuple[list[int], list[int]]:
    """(number of a's complete game pairs with 0, 1/2, 1, 3/2, 2 points; number of its other games with 0, 1/2, 1)."""
    by_pair: dict[int, list[float]] = {}
    for game in games:
        if {game.pairing.first, game.pairing.second} == {a, b}:
            by_pair.setdefault(game.pairing.number // 2, []).append(game.points(a))
    pairs, singles = [0] * 5, [0] * 3
    for points in by_pair.values():
        if len(points) == 2:
            pairs[round(2 * sum(points))] += 1
        else:
            singles[round(2 * points[0])] += 1
    return pairs, singles


@dataclass(frozen=True, slots=True)
class SprtState:
    test: Sprt
    llr: float
    verdict: Verdict | None
    pairs: tuple[int, ...]  # of games by points, see pair_counts

    def __str__(self) -> str:
        low, high = self.test.bounds
        end = {"H0": f"elo <= {self.test.elo0:g} accepted", "H1": f"elo >= {self.test.elo1:g} accepted", None: ""}
        words = end[self.verdict] or "not decided"
        return f"LLR {self.llr:.2f} in ({low:.2f}, {high:.2f}), {words}, pairs {list(self.pairs)}"


def sprt_state(test: Sprt, games: Sequence[MatchGame]) -> SprtState:
    """The test of player 0 against player 1, by complete pairs; by single games while no pair is complete."""
    pairs, singles = pair_counts(games, 0, 1)
    counts, values = (pairs, PAIR_SCORES) if sum(pairs) else (singles, GAME_SCORES)
    return SprtState(test, test.llr(counts, values), test.verdict(counts, values), tuple(pairs))


def ratings(games: Sequence[MatchGame], names: Sequence[str], anchor: str) -> dict[str, Rating]:
    """Bayesian ratings of all players that games connect with the anchor. Errors: DataError."""
    scores = []
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            score = score_between(games, a, b)
            scores.append(PairScore(names[a], names[b], score.wins, score.draws, score.losses))
    return rate(scores, anchor)


def total_score(games: Iterable[MatchGame], player: int) -> MatchScore:
    points = Counter(game.points(player) for game in games if player in (game.pairing.first, game.pairing.second))
    return MatchScore(points[1.0], points[0.5], points[0.0])


def faults_of(games: Iterable[MatchGame], player: int) -> Counter[str]:
    return Counter(game.fault for game in games if game.fault is not None and game.at_fault == player)


def standings_table(settings: MatchSettings, games: Sequence[MatchGame]) -> Table:
    """Every player's score, and its Elo against player 0 or, with more than two players, its rating."""
    names = [player.name for player in settings.players]
    table = Table("player", "limit", "games", "+", "=", "-", "score", "Elo (95 %)")
    if any(game.fault for game in games):
        table.add_column("faults")
    for column in table.columns[:2]:
        column.overflow = "fold"
    for column in table.columns[2:]:
        column.no_wrap = True
        column.justify = "right"
    rated = ratings(games, names, names[0]) if len(names) > 2 and _all_played(games, 0) else {}
    for number, player in enumerate(settings.players):
        score = total_score(games, number)
        faults = str(faults_of(games, number).total())
        two = len(names) == 2
        elo = score.elo_words if two and number == 0 else rating_text(rated.get(player.name))
        counts = (str(n) for n in (score.games, score.wins, score.draws, score.losses))
        cells = (player.name, str(player.limit), *counts, f"{100 * score.score:.1f} %", elo, faults)
        table.add_row(*map(Text, cells[: len(table.columns)]))
    return table


def _all_played(games: Sequence[MatchGame], player: int) -> bool:
    return any(player in (game.pairing.first, game.pairing.second) for game in games)


def rating_text(rating: Rating | None) -> str:
    if rating is None:
        return ""
    return f"{rating.elo:+.0f}" + (f" [{rating.low:+.0f}, {rating.high:+.0f}]" if rating.high > rating.low else "")


def colour_table(settings: MatchSettings, games: Sequence[MatchGame], sides: tuple[str, str]) -> Table:
    """The papers' Table 1: games won, drawn and lost by player 0 against each other, by colour."""
    names = [player.name for player in settings.players]
    table = Table(*sides, "Win", "Draw", "Loss", title=f"from the view of {names[0]}")
    for column in table.columns[2:]:
        column.justify = "right"
    for other in range(1, len(names)):
        for first in (True, False):
            score = score_between(games, 0, other, first=first)
            if score.games:
                players = (names[0], names[other]) if first else (names[other], names[0])
                table.add_row(*map(Text, players), str(score.wins), str(score.draws), str(score.losses))
    return table
