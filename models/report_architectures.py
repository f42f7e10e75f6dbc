"""The four kinds of network beside each other (Figure 4 of the Nature paper).

Each is trained on the same data for the same time (or steps), measured on the same held-out positions, and plays the
others with the same visits: one tower for both heads or two (dual, sep), residual or plain (res, conv). A run that was
broken off goes on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from rich.console import Console
from rich.table import Table

from ..bench.event import Event, Journal, pairs_of, schedule
from ..bench.game import Terms
from ..bench.match import variant
from ..bench.openings import choose_openings
from ..bench.players import MoveLimit, PlayerSpec
from ..bench.rating import Rating
from ..bench.standings import ratings
from ..engine.errors import DataError, OptionError
from ..engine.files import write_atomically
from ..engine.games import game_names, get_game
from .figures import write_figure
from .log import read_config, read_log
from .settings import Kind, NetConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Compared:
    """One kind of network: what was measured of it."""

    kind: str
    accuracy: float  # share of held-out positions whose best move is the target's
    value_error: float  # mean squared error of the value against the game's result, / 4
    parameters: int
    rating: Rating | None = None  # above the first kind


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Data, length, size of the networks, games and output."""
    add = parser.add_argument
    add("--game", choices=game_names(), default="chess", help="default: %(default)s")
    add("--size", type=int, metavar="N", help="lines of the Go board")
    add("--komi", type=float, metavar="K", help=argparse.SUPPRESS)
    add("--rules", help=argparse.SUPPRESS)
    add("--supervised", metavar="DATA", required=True, nargs="+", help="as of az-engine train")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--minutes", type=float, help="of training for each kind")
    length.add_argument("--steps", type=int, help="of training for each kind")
    add("--blocks", type=int, default=6, help="residual blocks; twice as many plain ones (default: %(default)s)")
    add("--filters", type=int, default=64, help="default: %(default)s")
    add("--batch", type=int, default=256, help="positions a step (default: %(default)s)")
    add("--visits", type=int, default=100, metavar="N", help="of a move in the games (default: %(default)s)")
    add("--games", type=int, default=20, metavar="N", help="of each pair; 0: none (default: %(default)s)")
    add("--seed", type=int, default=0, help="of weights, order and openings")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--out", type=Path, required=True, metavar="DIR", help="runs, games, architectures.svg, architectures.json")


def main(args: argparse.Namespace) -> int:
    """Train, measure, play, tabulate; 0, or 130 when it was interrupted. Errors: AzError."""
    if args.games < 0 or min(args.visits, args.concurrency, args.blocks) < 1:
        raise OptionError("--visits, --blocks and --concurrency must be 1 or more, --games 0 or more")
    console = Console(stderr=True)
    for kind in KINDS:
        if not _net(args, kind).exists():
            console.print(f"training {kind}")
            status = _train(args, kind)
            if status:
                return status
    compared = [measured(args.out / kind, kind) for kind in KINDS]
    if args.games:
        compared = _rated(args, compared, console)
    write_atomically(args.out / "architectures.json", (json.dumps(as_json(compared), indent=1) + "\n").encode())
    length = f"{args.steps:,} steps" if args.minutes is None else f"{args.minutes:g} minutes"
    title = f"{get_game(args.game).name}: {args.blocks} blocks of {args.filters} filters, {length} of training each"
    write_figure(args.out / "architectures.svg", draw(compared, title), title)
    Console().print(table(compared))
    console.print(f"written: {args.out}/architectures.svg, architectures.json")
    return 0


def _net(args: argparse.Namespace, kind: str) -> Path:
    """The network as it was trained: quantising must not blur the comparison."""
    path: Path = args.out / kind / "net_fp32.onnx"
    return path


def _train(args: argparse.Namespace, kind: Kind) -> int:
    """Train one kind with az-engine train; its exit status."""
    from . import train

    # A residual block is two convolutions: as many layers in every tower, as in the paper (20 and 12 there).
    blocks = args.blocks if kind.endswith("res") else 2 * args.blocks
    words = ["--supervised", *args.supervised, "--game", args.game, "--out", str(args.out / kind), "--kind", kind]
    words += ["--blocks", str(blocks), "--filters", str(args.filters), "--batch", str(args.batch)]
    words += ["--seed", str(args.seed)]
    words += ["--minutes", str(args.minutes)] if args.minutes is not None else ["--steps", str(args.steps)]
    words += ["--size", str(args.size)] if args.size is not None else []
    words += ["--policy-head", "flat"] if args.game == "go" else []
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    return train.main(parser.parse_args(words))


def measured(run: Path, kind: str) -> Compared:
    """The last measurement on held-out positions of a training run. Errors: DataError."""
    from .network import Network

    rows = [row["heldout"] for row in read_log(run / "log.jsonl") if isinstance(row.get("heldout"), dict)]
    if not rows or not {"top1", "result_error"} <= rows[-1].keys():
        raise DataError(f"{run} has measured nothing on held-out positions; train it longer")
    config = NetConfig.from_json(read_config(run / "config.json")["net"])
    network = Network(config, np.ones(config.planes[0], np.float32))  # only to be counted
    return Compared(kind, rows[-1]["top1"], rows[-1]["result_error"], network.parameter_count())


def _rated(args: argparse.Namespace, compared: Sequence[Compared], console: Console) -> list[Compared]:
    """The same with Elo ratings from a round robin."""
    game, start = variant(args)
    limit = MoveLimit(nodes=args.visits)
    players = tuple(PlayerSpec(kind, limit=limit, net=str(_net(args, kind).resolve())) for kind in KINDS)
    terms = Terms(game, players)
    which = "book" if get_game(game).name != "go" else "random:4"
    openings = choose_openings(which, game, (args.games + 1) // 2, args.seed, start)
    settings: dict[str, Any] = {"game": game, "players": [p.describe() for p in players], "seed": args.seed}
    journal = Journal(args.out / "games", terms, settings)
    event = Event(terms, schedule(pairs_of(len(KINDS)), openings, args.games), journal)
    try:
        event.run(
            args.concurrency, lambda _: console.print(f"{len(event.finished)} of {len(event.plan)} games", end="\r")
        )
    finally:
        journal.close()
    rated = ratings(event.finished, KINDS, KINDS[0])
    return [Compared(c.kind, c.accuracy, c.value_error, c.parameters, rated[c.kind]) for c in compared]


def as_json(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """JSON-ready values."""
    rows = []
    for c in compared:
        row: dict[str, Any] = {"kind": c.kind, "accuracy": c.accuracy, "value_error": c.value_error}
        row["parameters"] = c.parameters
        if c.rating is not None:
            row |= {"elo": round(c.rating.elo, 1), "elo95": [round(c.rating.low, 1), round(c.rating.high, 1)]}
        rows.append(row)
    return rows


def table(compared: Sequence[Compared]) -> Table:
    """For people."""
    shown = Table("network", "parameters", "move accuracy", "value error", "Elo (95 %)")
    for column in shown.columns[1:]:
        column.justify = "right"
    for c in compared:
        elo = "" if c.rating is None else f"{c.rating.elo:+.0f} [{c.rating.low:+.0f}, {c.rating.high:+.0f}]"
        shown.add_row(c.kind, f"{c.parameters:,}", f"{100 * c.accuracy:.1f} %", f"{c.value_error:.4f}", elo)
    return shown


def draw(compared: Sequence[Compared], title: str) -> Figure:
    """The paper's three charts: Elo, move accuracy, value error."""
    from matplotlib.figure import Figure

    panels: list[tuple[str, list[float]]] = [
        ("move accuracy, %", [100 * c.accuracy for c in compared]),
        ("value error (mean square / 4)", [c.value_error for c in compared]),
    ]
    rated = [c.rating for c in compared if c.rating is not None]
    if rated:
        panels.insert(0, (f"Elo above {compared[0].kind}, 95 %", [rating.elo for rating in rated]))
    figure = Figure(figsize=(3.2 * len(panels), 3.4), layout="constrained")
    figure.suptitle(title, fontsize=10)
    names = [c.kind for c in compared]
    for chart, (label, values) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        chart.set_title(label, fontsize=9)
        if label.startswith("Elo"):  # points: a bar from 0 would be none for the first
            spread = [[r.elo - r.low for r in rated], [r.high - r.elo for r in rated]]
            chart.errorbar(range(len(names)), values, yerr=spread, fmt="o", markersize=6, capsize=4, color="tab:blue")
            chart.axhline(0, color="0.6", linewidth=0.8, zorder=0)
            chart.margins(x=0.15)
        else:
            bars = chart.bar(range(len(names)), values, width=0.6, color="tab:blue")
            chart.bar_label(bars, fmt="%.1f" if max(values) > 1 else "%.3f", fontsize=8, padding=2)
            chart.margins(y=0.12)
        chart.set_xticks(range(len(names)), names, rotation=30, fontsize=8)
        chart.tick_params(axis="y", labelsize=8)
        chart.spines[["top", "right"]].set_visible(False)
    return figure
