"""Elo against time (or visits) a move: the curves of several az-engine report scaling in one picture.

Each curve stands above its own zero, the baseline of its report, so curves of different games tell how much time is
worth in each, not which is stronger.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ...engine.errors import DataError, OptionError
from .figures import check_name, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "scaling.json"  # in the folder of az-engine report scaling
_AXES = {"ms": "milliseconds a move", "visits": "visits a move"}


@dataclass(frozen=True, slots=True)
class Point:
    """A step's rating above the curve's zero."""

    amount: int  # visits or ms a move
    elo: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """One player's ratings at rising limits."""

    game: str
    player: str
    unit: str  # "ms" or "visits"
    zero: str  # the player whose rating is 0
    games: int  # of each pair
    points: tuple[Point, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, folder: Path) -> Curve:
        """What az-engine report scaling has left in its folder. Errors: DataError."""
        path = folder / FILE
        try:
            data = json.loads(path.read_bytes())
            points = tuple(Point(**point) for point in data.pop("points"))
            curve = cls(**data, points=points)
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}; give folders of az-engine report scaling") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} is no result of az-engine report scaling; run it again") from error
        if curve.unit not in _AXES or not points:
            raise DataError(f"{path} is no result of az-engine report scaling; run it again")
        return curve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folders", metavar="DIR", type=Path, nargs="+", help="the --out of az-engine report scaling")
    add("--title", default="", metavar="TEXT", help="above the picture")
    add(
        "--out",
        type=Path,
        default=Path("curves.svg"),
        metavar="FILE",
        help=".svg, .png or .html (default: %(default)s)",
    )


def main(args: argparse.Namespace) -> int:
    check_name(args.out)
    curves = [Curve.read(folder) for folder in args.folders]
    if len({curve.unit for curve in curves}) > 1:
        raise OptionError("some of these reports count visits and some milliseconds; give those of one kind")
    title = args.title or f"Elo by {'time' if curves[0].unit == 'ms' else 'visits'} a move"
    write_figure(args.out, draw(curves, title), title, table(curves))
    Console(stderr=True).print(f"written: {args.out}")
    return 0


def table(curves: Sequence[Curve]) -> list[list[str]]:
    rows = [["game", "player", "limit", "Elo", "95 %", "above"]]
    for curve in curves:
        for p in curve.points:
            spread = f"{p.low:+.0f} to {p.high:+.0f}"
            limit = f"{p.amount} {curve.unit}"
            rows.append([curve.game, curve.player, limit, f"{p.elo:+.0f}", spread, curve.zero])
    return rows


def draw(curves: Sequence[Curve], title: str) -> Figure:
    """Elo with 95 % intervals over the logarithm of time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    chart = figure.subplots()
    amounts = sorted({point.amount for curve in curves for point in curve.points})
    zeros = {curve.zero for curve in curves}
    for number, curve in enumerate(curves):
        shift = 1 + 0.02 * (number - (len(curves) - 1) / 2)  # intervals beside, not upon each other
        elo = [p.elo for p in curve.points]
        spread = [[p.elo - p.low for p in curve.points], [p.high - p.elo for p in curve.points]]
        label = curve.game if len(zeros) == 1 else f"{curve.game}: above {curve.zero}"
        places = [shift * p.amount for p in curve.points]
        chart.errorbar(places, elo, yerr=spread, marker="o", markersize=5, capsize=3, linewidth=1.8, label=label)
    chart.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    chart.set_xscale("log", base=2)
    chart.set_xticks(amounts, [f"{amount:,}" for amount in amounts])
    chart.minorticks_off()
    chart.set_xlabel(f"{_AXES[curves[0].unit]} (doubling); bars: 95 % intervals")
    chart.set_ylabel(f"Elo above {zeros.pop()}" if len(zeros) == 1 else "Elo")
    chart.set_title(title, fontsize=11)
    chart.spines[["top", "right"]].set_visible(False)
    chart.grid(alpha=0.25)
    if len(curves) > 1:
        chart.legend(loc="upper left", fontsize=9, frameon=False)
    return figure
