"""Elo as thinking time doubles (Figure 2 of the Science paper).

One player at N visits or milliseconds a move, at 2N, 4N and so on; each plays the next, and the baseline if there is
one. Ratings are Bayesian over all games, with 95 % intervals, above the baseline or else the first step. The games stay
in --out; a run that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..bench.arbiter import ARBITERS
from ..bench.match import named_apart, variant
from ..bench.openings import OPENINGS_HELP, choose_openings
from ..bench.players import parse_spec
from ..bench.scaling import Ladder, Step, play, steps_of
from ..engine.errors import OptionError
from ..engine.files import write_atomically
from ..engine.games import get_game
from .figures import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Player, limits, games and output."""
    add = parser.add_argument
    add("--game", choices=sorted(ARBITERS), default="chess", help="default: %(default)s")
    add("--size", type=int, metavar="N", help="lines of the Go board")
    add("--komi", type=float, metavar="K", help=argparse.SUPPRESS)
    add("--rules", help=argparse.SUPPRESS)
    add("--player", default="default", metavar="SPEC", help="see az-engine match --help (default: %(default)s)")
    add("--baseline", metavar="SPEC", help="one more player, with a limit of its own, that all steps meet")
    limits = parser.add_mutually_exclusive_group(required=True)
    limits.add_argument("--visits", type=int, metavar="N", help="of the first step")
    limits.add_argument("--movetime", type=int, metavar="MS", help="of the first step (the paper: 40)")
    add("--doublings", type=int, default=4, metavar="N", help="steps after the first (default: %(default)s)")
    add("--games", type=int, default=40, metavar="N", help="of each pair (default: %(default)s)")
    add("--openings", default="book", metavar="WHICH", help=f"{OPENINGS_HELP} (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the openings")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--out", type=Path, required=True, metavar="DIR", help="games, scaling.svg, scaling.html, scaling.json")


def main(args: argparse.Namespace) -> int:
    """Play, rate, draw; 0. Errors: AzError."""
    base = args.visits if args.movetime is None else args.movetime
    if base < 1 or not 1 <= args.doublings <= 20 or min(args.games, args.concurrency) < 1:
        raise OptionError("the first step, --games and --concurrency must be 1 or more, --doublings 1 to 20")
    game, start = variant(args)
    protocol = get_game(game).protocol
    player = parse_spec(args.player, protocol)
    if not player.own and protocol == "gtp" and args.movetime is None:
        raise OptionError("GTP cannot tell another engine its visits; give --movetime")
    baseline = None if args.baseline is None else parse_spec(args.baseline, protocol)
    if baseline is not None and not (baseline.limit.given or baseline.raw):
        raise OptionError("--baseline needs a limit of its own, such as visits=100 in its SPEC")
    if baseline is not None:
        baseline = baseline.with_limit(baseline.limit, protocol)
        player, baseline = named_apart([player, baseline])
    ladder = Ladder(player, base, args.doublings, args.movetime is not None, baseline)
    openings = choose_openings(args.openings, game, (args.games + 1) // 2, args.seed, start)
    console = Console(stderr=True)
    event = play(
        ladder,
        game,
        openings,
        args.games,
        folder=args.out,
        concurrency=args.concurrency,
        on_game=lambda event, game: console.print(f"{len(event.finished)} of {len(event.plan)} games", end="\r"),
    )
    steps = steps_of(ladder, event.finished)
    title = f"{player.name}, {get_game(game).name}: Elo by {'time' if ladder.timed else 'visits'} a move"
    zero = ladder.players[0].name
    figure = draw(steps, title, "ms a move" if ladder.timed else "visits a move", zero)
    for step in steps:
        low, high = round(step.rating.low), round(step.rating.high)
        print(f"{step.name}: {step.rating.elo:+.0f} [{low:+}, {high:+}], {step.rating.games} games")
    write_figure(args.out / "scaling.svg", figure, title)
    write_figure(args.out / "scaling.html", figure, title, table(steps))
    rows = [{"amount": s.amount, "elo": s.rating.elo, "low": s.rating.low, "high": s.rating.high} for s in steps]
    content = {"title": title, "zero": zero, "steps": rows, "games": args.games}
    write_atomically(args.out / "scaling.json", (json.dumps(content, indent=1) + "\n").encode())
    console.print(f"written: {args.out}/scaling.svg, scaling.html, scaling.json")
    return 0


def table(steps: Sequence[Step]) -> list[list[str]]:
    """For people."""
    rows = [["player", "Elo", "95 %", "games"]]
    for step in steps:
        rating = step.rating
        rows.append([step.name, f"{rating.elo:+.0f}", f"{rating.low:+.0f} to {rating.high:+.0f}", str(rating.games)])
    return rows


def draw(steps: Sequence[Step], title: str, axis: str, zero: str) -> Figure:
    """Elo over the logarithm of time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    chart = figure.subplots()
    elo = [step.rating.elo for step in steps]
    spread = [[s.rating.elo - s.rating.low for s in steps], [s.rating.high - s.rating.elo for s in steps]]
    chart.errorbar([step.amount for step in steps], elo, yerr=spread, marker="o", capsize=3)
    chart.set_xscale("log", base=2)
    chart.set_xticks([step.amount for step in steps], [str(step.amount) for step in steps])
    chart.set_xlabel(axis)
    chart.set_ylabel(f"Elo above {zero}")
    chart.set_title(title)
    chart.grid(alpha=0.3)
    return figure
