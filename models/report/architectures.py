"""Networks beside each other: the four kinds of Figure 4 of the Nature paper, or one kind in several sizes.

Each is trained on the same data for the same time (or steps), measured on the same held-out positions, and plays the
others: one tower for both heads or two (dual, sep), residual or plain (res, conv), with the same visits; or
BLOCKSxFILTERS (--shapes) with the same time a move (--seconds), as int8 files, which is what counts in play: a larger
network knows more and looks at less. A run that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from ...bench.match.command import variant
from ...bench.match.game import MatchSettings
from ...bench.match.openings import choose_openings
from ...bench.match.players import MoveLimit, PlayerSpec, parse_seconds
from ...bench.match.standings import ratings
from ...bench.match.tournament import pairs_of
from ...bench.ratings.bayes import Rating
from ...engine.errors import DataError, OptionError, counted
from ...engine.games import get_game
from ...engine.os.files import write_atomically
from ..families import config_of, family_of
from ..train.log import read_config, read_log
from .figures import write_figure
from .scaling import add_game_arguments, play

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINING = "training.json"  # the flags that each was trained with
KINDS = ("dual-res", "sep-res", "dual-conv", "sep-conv")  # those of the paper


@dataclass(frozen=True, slots=True)
class Contender:
    """One network, and its flags of az-engine train."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """One network: what was measured of it."""

    network: str
    accuracy: float  # share of held-out positions whose best move is the target's
    value_error: float  # mean squared error of the value against the game's result, / 4
    parameters: int
    rating: Rating | None = None  # above the first one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_game_arguments(parser)
    add("--supervised", metavar="DATA", required=True, nargs="+", help="as of az-engine train")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--minutes", type=float, help="of training for each")
    length.add_argument("--steps", type=int, help="of training for each")
    add(
        "--shapes",
        type=_shapes,
        default=(),
        metavar="BxF[,BxF]",
        help="residual networks of B blocks of F filters with one tower, in place of the four kinds: 4x64,6x64,6x96",
    )
    add("--blocks", type=int, default=6, help="residual blocks; twice as many plain ones (default: %(default)s)")
    add("--filters", type=int, default=64, help="default: %(default)s")
    add("--batch", type=int, default=256, help="positions a step (default: %(default)s)")
    add(
        "--with",
        dest="more",
        type=shlex.split,
        default=[],
        metavar="OPTIONS",
        help="more options of az-engine train, for all of them: --with='--squeeze 16 --history 1'",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--visits", type=int, default=100, metavar="N", help="of a move in the games (default: 100)")
    limit.add_argument(
        "--seconds", metavar="S", help="of a move in place of visits, one thread; the nets play as int8 files"
    )
    add("--games", type=int, default=20, metavar="N", help="of each pair; 0: none (default: %(default)s)")
    add("--seed", type=int, default=0, help="of weights, order and openings")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--out", type=Path, required=True, metavar="DIR", help="runs, games, architectures.svg, architectures.json")


def main(args: argparse.Namespace) -> int:
    if args.games < 0 or min(args.visits, args.concurrency, args.blocks) < 1:
        raise OptionError("--visits, --blocks and --concurrency must be 1 or more, --games 0 or more")
    console = Console(stderr=True)
    contenders = contenders_of(args)
    missing = [one for one in contenders if not _net(args, one.name).exists()]
    _note_training(args, contenders, missing)
    for one in missing:
        console.print(f"training {one.name}")
        status = _train(args, one)
        if status:
            return status
    compared = [measured(args.out / one.name, one.name) for one in contenders]
    if args.games:
        compared = _rated(args, compared)
    write_atomically(args.out / "architectures.json", (json.dumps(as_json(compared), indent=1) + "\n").encode())
    length = counted(args.steps, "step") if args.minutes is None else f"{args.minutes:g} minutes"
    size = "" if args.shapes else f"{args.blocks} blocks of {args.filters} filters, "
    title = f"{get_game(args.game).name}: {size}{length} of training each"
    write_figure(args.out / "architectures.svg", draw(compared, title), title)
    Console().print(table(compared))
    console.print(f"written: {args.out}/architectures.svg, architectures.json")
    return 0


def _shapes(text: str) -> tuple[tuple[int, int], ...]:
    """Blocks and filters of "4x64,6x64"."""
    match = [re.fullmatch(r"(\d{1,3})x(\d{1,4})", part) for part in text.split(",")]
    if None in match:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of BLOCKSxFILTERS such as 4x64,6x64")
    return tuple((int(one[1]), int(one[2])) for one in match if one is not None)


def contenders_of(args: argparse.Namespace) -> tuple[Contender, ...]:
    """What is compared. Errors: OptionError."""
    if len(set(args.shapes)) < len(args.shapes) or len(args.shapes) == 1:
        raise OptionError("--shapes: give two networks or more, each once")
    if args.shapes:
        sizes = [(f"{b}x{f}", ("--kind", "dual-res", "--blocks", str(b), "--filters", str(f))) for b, f in args.shapes]
        return tuple(Contender(name, words) for name, words in sizes)
    # A residual block is two convolutions: as many layers in every tower, as in the paper (20 and 12 there).
    layers = {kind: args.blocks if kind.endswith("res") else 2 * args.blocks for kind in KINDS}
    return tuple(
        Contender(kind, ("--kind", kind, "--blocks", str(layers[kind]), "--filters", str(args.filters)))
        for kind in KINDS
    )


def _net(args: argparse.Namespace, name: str) -> Path:
    """The net that plays: by visits as it was trained, quantising must not blur the comparison; by time as it ships."""
    path: Path = args.out / name / ("net_int8.onnx" if args.seconds else "net_fp32.onnx")
    return path


def _words(args: argparse.Namespace, one: Contender) -> list[str]:
    """The flags of az-engine train but for its folder."""
    words = ["--supervised", *args.supervised, "--game", args.game, *one.words]
    words += ["--batch", str(args.batch), "--seed", str(args.seed)]
    words += ["--minutes", str(args.minutes)] if args.minutes is not None else ["--steps", str(args.steps)]
    words += ["--size", str(args.size)] if args.size is not None else []
    return [*words, *args.more]


def _note_training(args: argparse.Namespace, contenders: Sequence[Contender], missing: Sequence[Contender]) -> None:
    """Keep the flags that those ``missing`` are trained with. Errors: OptionError where a net has learned with others.

    Of nets that earlier versions have trained nothing is known.
    """
    path = args.out / TRAINING
    known: dict[str, list[str]] = read_config(path, "give another --out") if path.exists() else {}
    for one in contenders:
        words = _words(args, one)
        if one in missing:
            known[one.name] = words
        elif known.setdefault(one.name, words) != words:
            raise OptionError(
                f"{args.out / one.name} was trained with {shlex.join(known[one.name])}, not {shlex.join(words)}; "
                "give the same settings to go on, or another --out"
            )
    write_atomically(path, (json.dumps(known, indent=1) + "\n").encode())


def _train(args: argparse.Namespace, one: Contender) -> int:
    from ..train import command as train

    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    return train.main(parser.parse_args([*_words(args, one), "--out", str(args.out / one.name)]))


def measured(run: Path, name: str) -> Compared:
    """The last measurement on held-out positions of a training run. Errors: DataError."""
    rows = [row["heldout"] for row in read_log(run / "log.jsonl") if isinstance(row.get("heldout"), dict)]
    if not rows or not {"top1", "result_error"} <= rows[-1].keys():
        raise DataError(f"{run} has measured nothing on held-out positions; train it longer")
    described = read_config(run / "config.json")
    config = config_of(described["net"])
    network = family_of(config.kind).network(config, get_game(described["game"]).encoder)  # only to be counted
    return Compared(name, rows[-1]["top1"], rows[-1]["result_error"], network.parameter_count())


def _rated(args: argparse.Namespace, compared: Sequence[Compared]) -> list[Compared]:
    """The same with Elo ratings from a round robin."""
    game, start = variant(args)
    limit = MoveLimit(movetime_ms=parse_seconds(args.seconds)) if args.seconds else MoveLimit(nodes=args.visits)
    threads = {"threads" if get_game(game).protocol == "gtp" else "Threads": "1"}
    names = [one.network for one in compared]
    players = tuple(PlayerSpec(n, options=threads, limit=limit, net=str(_net(args, n).resolve())) for n in names)
    settings = MatchSettings(game, players)
    openings = choose_openings("book", game, (args.games + 1) // 2, args.seed, start)
    games = play(settings, pairs_of(len(names)), openings, args, args.out / "games", seed=args.seed, start=start)
    rated = ratings(games, names, names[0])
    return [replace(one, rating=rated[one.network]) for one in compared]


def as_json(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    rows = []
    for c in compared:
        row: dict[str, Any] = {"network": c.network, "accuracy": c.accuracy, "value_error": c.value_error}
        row["parameters"] = c.parameters
        if c.rating is not None:
            row |= {"elo": round(c.rating.elo, 1), "elo95": [round(c.rating.low, 1), round(c.rating.high, 1)]}
        rows.append(row)
    return rows


def table(compared: Sequence[Compared]) -> Table:
    shown = Table("network", "parameters", "move accuracy", "value error", "Elo (95 %)")
    for column in shown.columns[1:]:
        column.justify = "right"
    for c in compared:
        elo = "" if c.rating is None else f"{c.rating.elo:+.0f} [{c.rating.low:+.0f}, {c.rating.high:+.0f}]"
        shown.add_row(c.network, f"{c.parameters:,}", f"{100 * c.accuracy:.1f} %", f"{c.value_error:.4f}", elo)
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
        panels.insert(0, (f"Elo above {compared[0].network}, 95 %", [rating.elo for rating in rated]))
    figure = Figure(figsize=(3.2 * len(panels), 3.4), layout="constrained")
    figure.suptitle(title, fontsize=10)
    names = [c.network for c in compared]
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
