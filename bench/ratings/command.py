"""``az-engine rate``: one rating for each player, from any number of files of results."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...engine.errors import DataError, OptionError
from ...engine.games import game_names, get_game
from ...engine.records.formats import is_record, read_games
from ..match.tournament import JOURNAL, SETTINGS, each_once, parse_journal, read_identity
from .bayes import PairScore, Rating, rate
from .elo import Z95, MatchScore, normal_cdf

HELP = """\
Ratings of all players of any number of games, by Bayesian logistic regression as BayesElo does it (AlphaGo Zero,
Methods, 'Evaluation'): p(a beats b) = 1 / (1 + 10^((e_b - e_a) / 400)), a draw is half a win, with 95 % intervals.
A file is the games.jsonl of a match, or records with the players' names in them (PGN, CSA, KIF, SGF); a folder means
the games.jsonl in it. Ratings are relative to one player, the anchor, or to several whose ratings are known; players
without games that connect them with it are left out.

examples:
  az-engine rate runs/three
  az-engine rate runs/*/games.jsonl --anchor "stockfish 1350=1350"
  az-engine rate games.pgn more.pgn --anchor Maia=1900 --json
  az-engine rate runs/gauntlet --anchor "Glaurung 2.2=2793" --anchor level-8=2596
  az-engine rate runs/three --markdown                          # for a page about the nets"""

_POINTS = {1: 0, 0: 1, -1: 2}  # result for the first player -> place among wins, draws, losses


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", type=Path, nargs="+", help="results: games.jsonl, a match's folder, or game records")
    add(
        "--anchor",
        action="append",
        metavar="NAME[=ELO]",
        help="whose rating is known; can be repeated with ratings (default: the first player met, at 0)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object a player")
    form.add_argument("--markdown", action="store_true", help="print Markdown: what each pair played, then the ratings")


def main(args: argparse.Namespace) -> int:
    _check_one_game(args.files)
    scores = collect(results_of(path) for path in each_once(args.files))
    if not scores:
        raise DataError("there are no finished games between two named players in these files")
    anchors = dict(_anchor(text, scores) for text in args.anchor or [None])
    name, elo = next(iter(anchors.items()))
    known = {player: rating - elo for player, rating in anchors.items()}
    ratings = sorted(rate(scores, name, known).items(), key=lambda item: -item[1].elo)
    left_out = {player for score in scores for player in (score.a, score.b)} - {player for player, _ in ratings}
    if args.json:
        for player, rating in ratings:
            shown = {"elo": rating.elo + elo, "low": rating.low + elo, "high": rating.high + elo}
            print(json.dumps({"player": player, **{k: round(v, 1) for k, v in shown.items()}, "games": rating.games}))
    elif args.markdown:
        print("\n".join(markdown(ratings, scores, elo)))
    else:
        _show(ratings, scores, elo, known)
    for player in sorted(left_out):
        others = " or ".join(anchors)
        Console(stderr=True, markup=False).print(f"{player} is left out: no games connect it with {others}")
    return 0


def _anchor(text: str | None, scores: list[PairScore]) -> tuple[str, float]:
    """(name, rating) of the anchor. Errors: OptionError."""
    players = {player for score in scores for player in (score.a, score.b)}
    if text is None or text in players:
        return (scores[0].a if text is None else text), 0.0
    name, equals, number = text.rpartition("=")
    try:
        elo = float(number)
    except ValueError:
        elo = float("nan")
    if name not in players or not equals or elo - elo != 0:
        raise OptionError(f"--anchor {text!r} names none of the players ({', '.join(sorted(players))}): give NAME=ELO")
    return name, elo


def _check_one_game(paths: Sequence[Path]) -> None:
    """Errors: OptionError for results of different games."""
    named: dict[str, Path] = {}
    for path in paths:
        named.setdefault(_game_of(path), path)
    named.pop("", None)
    if len(named) > 1:
        (first, a), (second, b), *_ = named.items()
        raise OptionError(f"{a} has games of {first} and {b} of {second}; rate each game by itself")


def _game_of(path: Path) -> str:
    """The game of which these are results; empty where they do not say."""
    path = path / JOURNAL if path.is_dir() else path
    if path.suffix != ".jsonl":
        names = [name for name in game_names() if is_record(get_game(name).record_formats, path)]
        return names[0] if len(names) == 1 else ""
    try:
        name = str(read_identity(path.parent / SETTINGS).get("game", ""))
    except DataError:
        return ""
    return name if name in game_names() else name.rstrip("0123456789")  # without its size


def results_of(path: Path) -> Iterable[tuple[str, str, int]]:
    """(first player, second player, result for the first) of every finished game. Errors: DataError, OptionError."""
    path = path / JOURNAL if path.is_dir() else path
    if path.suffix == ".jsonl":
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise DataError(
                f"{path} cannot be read ({error.strerror}); give the --out of a match, or its files"
            ) from error
        whole = text[: text.rfind("\n") + 1]  # the last line may still be written
        return [(*game.record.names, game.ending.result) for game in parse_journal(whole, str(path))]
    for name in game_names():
        game = get_game(name)
        if is_record(game.record_formats, path):
            records = read_games(game.record_formats, path)
            return [(*r.names, r.result) for r in records if r.result is not None and all(r.names)]
    raise OptionError(f"{path} is no file of results: give games.jsonl, or records such as .pgn, .csa, .kif or .sgf")


def collect(files: Iterable[Iterable[tuple[str, str, int]]]) -> list[PairScore]:
    """The scores of all pairs of players, in the order in which they are met."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for games in files:
        for first, second, result in games:
            if first == second:
                continue
            if (second, first) in counts:
                counts[second, first][_POINTS[-result]] += 1
            else:
                counts[first, second][_POINTS[result]] += 1
    return [PairScore(a, b, *numbers) for (a, b), numbers in counts.items()]


def _show(ratings: list[tuple[str, Rating]], scores: list[PairScore], elo: float, known: Mapping[str, float]) -> None:
    table = Table("player", "Elo", "95 %", "games", "score", "better than the next")
    for column in table.columns[1:]:
        column.justify = "right"
    for place, (player, rating) in enumerate(ratings):
        points = sum(_points(score, player) for score in scores)
        interval = "anchor" if rating.low == rating.high else f"{rating.low + elo:+.0f} to {rating.high + elo:+.0f}"
        next_player = ratings[place + 1][0] if place + 1 < len(ratings) else None
        better = "" if next_player is None else _superiority(scores, player, next_player, known)
        share = f"{100 * points / rating.games:.1f} %"
        table.add_row(Text(player), f"{rating.elo + elo:+.0f}", interval, str(rating.games), share, better)
    Console().print(table)


def markdown(ratings: list[tuple[str, Rating]], scores: list[PairScore], elo: float) -> list[str]:
    """The lines of a table of all pairs, and where there are more than two players another one of their ratings."""
    lines = ["| player | opponent | games | result | score | Elo difference (95 %) |", "|---|---|---|---|---|---|"]
    for s in scores:
        match = MatchScore(s.wins, s.draws, s.losses)
        counts = f"{s.games} | +{s.wins} ={s.draws} -{s.losses} | {100 * match.score:.1f} %"
        lines.append(f"| {s.a} | {s.b} | {counts} | {match.elo_words} |")
    if len(ratings) < 3:
        return lines
    lines += ["", "| player | rating | 95 % | games |", "|---|---|---|---|"]
    for player, rating in ratings:
        spread = "anchor" if rating.low == rating.high else f"{rating.low + elo:.0f} to {rating.high + elo:.0f}"
        lines.append(f"| {player} | {rating.elo + elo:.0f} | {spread} | {rating.games} |")
    return lines


def _points(score: PairScore, player: str) -> float:
    if player == score.a:
        return score.wins + 0.5 * score.draws
    return score.losses + 0.5 * score.draws if player == score.b else 0.0


def _superiority(scores: list[PairScore], player: str, other: str, known: Mapping[str, float]) -> str:
    """Likelihood that a player is stronger than another, by all games: their difference relative to ``other``.

    known: ratings of anchors. Empty where no games connect the two.
    """
    if {player, other} <= known.keys():
        return ""
    anchors = {name: rating - known[other] for name, rating in known.items() if name != other} if other in known else {}
    rating = rate(scores, other, anchors).get(player)
    if rating is None:
        return ""
    spread = (rating.high - rating.low) / (2 * Z95)
    return f"{100 * normal_cdf(rating.elo / spread):.1f} %" if spread else ""
