"""Elo as thinking time doubles (Figure 2 of the Science paper).

One player at N visits or seconds a move, at 2N, 4N and so on; each plays the next, and the baseline if there is
one. Ratings are Bayesian over all games, with 95 % intervals, above the baseline or else the first step. The games stay
in --out; a run that was broken off goes on. az-engine report curves draws several of them in one picture.

Examples:
  az-engine report scaling --visits 50 --doublings 5 --games 40 --out runs/scaling
  az-engine report scaling --game shogi --seconds 0.05 --doublings 5 --baseline "default visits=100" --out runs/shogi

"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ...bench.match.command import variant
from ...bench.match.game import MatchGame, MatchSettings
from ...bench.match.openings import OPENINGS_HELP, Opening, choose_openings
from ...bench.match.players import MoveLimit, PlayerSpec, parse_seconds, parse_spec
from ...bench.match.standings import ratings
from ...bench.match.tournament import Journal, Tournament, identity_of, schedule
from ...bench.ratings.bayes import Rating
from ...engine.errors import DataError, OptionError, counted
from ...engine.games import game_names, get_game
from ...engine.os.files import check_writable, write_atomically
from .curves import FILE, Curve, Point, draw, table
from .figures import write_figure


@dataclass(frozen=True, slots=True)
class Step:
    """A player at one limit, and its rating above the weakest player of the tournament."""

    name: str
    amount: int  # visits or ms a move
    rating: Rating


@dataclass(frozen=True, slots=True)
class Doublings:
    """A player at ``base`` visits (or ms) a move, twice that, and so on, against itself and perhaps a baseline."""

    player: PlayerSpec
    base: int
    count: int  # of doublings
    timed: bool  # ms a move instead of visits
    baseline: PlayerSpec | None = None  # with a limit of its own

    @property
    def amounts(self) -> list[int]:
        """Visits or ms a move, rising."""
        return [self.base << i for i in range(self.count + 1)]

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
        seen = [(a, a + 1) for a in steps[:-1]]
        return seen if self.baseline is None else [*((0, step) for step in steps), *seen]


def play(
    settings: MatchSettings,
    pairs: Sequence[tuple[int, int]],
    openings: Sequence[Opening],
    args: argparse.Namespace,
    folder: Path,
    /,
    **identity: Any,
) -> list[MatchGame]:
    """Play ``args.games`` between each pair of players, or go on with them, and show how many are played.

    identity: what else must be the same to go on, beside game, players and their nets. BLOCKS. Errors: AzError.
    """
    console = Console(stderr=True)
    journal = Journal(folder, settings, identity_of(settings) | identity)
    tournament = Tournament(settings, schedule(pairs, openings, args.games), journal)
    try:
        tournament.run(
            args.concurrency,
            lambda _: console.print(f"{len(tournament.finished)} of {counted(len(tournament.plan), 'game')}", end="\r"),
        )
    finally:
        journal.close()
    return tournament.finished


def steps_of(doublings: Doublings, games: Sequence[MatchGame]) -> list[Step]:
    """The steps with their ratings above player 0, the baseline or the first step. Errors: DataError."""
    names = [player.name for player in doublings.players]
    rated = ratings(games, names, names[0])
    if set(names) - set(rated):
        raise DataError("not every step has been played yet; finish the tournament first")
    steps = names[-len(doublings.amounts) :]
    return [Step(name, amount, rated[name]) for name, amount in zip(steps, doublings.amounts, strict=True)]


def add_game_arguments(parser: argparse.ArgumentParser) -> None:
    """What :func:`variant` reads."""
    parser.add_argument("--game", choices=game_names(), default="chess", help="default: %(default)s")
    parser.add_argument("--size", type=int, metavar="N", help="lines of the Go board")
    parser.add_argument("--komi", type=float, metavar="K", help=argparse.SUPPRESS)
    parser.add_argument("--rules", help=argparse.SUPPRESS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_game_arguments(parser)
    add("--player", default="default", metavar="SPEC", help="see az-engine match --help (default: %(default)s)")
    add("--baseline", metavar="SPEC", help="one more player, with a limit of its own, that all steps meet")
    limits = parser.add_mutually_exclusive_group(required=True)
    limits.add_argument("--visits", type=int, metavar="N", help="visits a move of the first step")
    limits.add_argument("--seconds", metavar="S", help="seconds a move of the first step (the paper: 0.04)")
    add("--doublings", type=int, default=4, metavar="N", help="steps after the first (default: %(default)s)")
    add("--games", type=int, default=40, metavar="N", help="games of each pair (default: %(default)s)")
    add("--openings", default="book", metavar="WHICH", help=f"{OPENINGS_HELP} (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the openings")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--out", type=Path, required=True, metavar="DIR", help=f"games, scaling.svg, scaling.html, {FILE}")


def main(args: argparse.Namespace) -> int:
    base = args.visits if args.seconds is None else parse_seconds(args.seconds)
    if base < 1 or not 1 <= args.doublings <= 20 or min(args.games, args.concurrency) < 1:
        raise OptionError("the first step, --games and --concurrency must be 1 or more, --doublings 1 to 20")
    game, start = variant(args)
    protocol = get_game(game).protocol
    player = parse_spec(args.player, protocol)
    if not player.is_az_engine and protocol == "gtp" and args.seconds is None:
        raise OptionError("GTP cannot tell another engine its visits; give --seconds")
    baseline = None if args.baseline is None else parse_spec(args.baseline, protocol)
    if baseline is not None and not (baseline.limit.given or baseline.raw):
        raise OptionError("--baseline needs a limit of its own, such as visits=100 in its SPEC")
    if baseline is not None:
        baseline = baseline.with_limit(baseline.limit, protocol)
        if baseline.name == player.name:
            baseline = replace(baseline, name=f"{baseline.name}, {baseline.limit}")
    doublings = Doublings(player, base, args.doublings, args.seconds is not None, baseline)
    openings = choose_openings(args.openings, game, (args.games + 1) // 2, args.seed, start)
    check_writable(args.out / "scaling.svg")
    console = Console(stderr=True)
    same = {"start": start, "openings": args.openings, "seed": args.seed}
    games = play(MatchSettings(game, doublings.players), doublings.pairs, openings, args, args.out, **same)
    steps = steps_of(doublings, games)
    for step in steps:
        low, high = round(step.rating.low), round(step.rating.high)
        print(f"{step.name}: {step.rating.elo:+.0f} [{low:+}, {high:+}], {counted(step.rating.games, 'game')}")
    points = tuple(Point(s.amount, *(round(x, 1) for x in (s.rating.elo, s.rating.low, s.rating.high))) for s in steps)
    unit, zero = "ms" if doublings.timed else "visits", doublings.players[0].name
    curve = Curve(game, player.name, unit, zero, args.games, points)
    by = "time" if doublings.timed else "visits"
    title = f"{game}: {player.name}, Elo by {by} a move, {counted(args.games, 'game')} a pair"
    write_atomically(args.out / FILE, (json.dumps(curve.to_json(), indent=1) + "\n").encode())
    write_figure(args.out / "scaling.svg", draw([curve], title), title)
    write_figure(args.out / "scaling.html", draw([curve], title), title, table([curve]))
    console.print(f"written: {args.out}/scaling.svg, scaling.html, {FILE}")
    return 0
