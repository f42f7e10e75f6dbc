"""What a search looks at as it grows: at each power of ten of simulations, the ten most visited states.

As Figure 4 of the Science paper: in each state its estimated value, 0 to 100, for white (black in shogi and Go); the
border is as thick as its share of the root's visits; beside each line the move.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ..bench.snapshots import Snapshot, grow
from ..engine.errors import OptionError
from ..engine.games import game_names, get_game
from ..engine.params import SearchParams
from .figures import check_name, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_THICKEST = 9.0  # points: the border of a state that all visits went through
_COLOURS = ("tab:blue", "tab:red")  # of states after an odd and an even number of moves


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Position, net, simulations and output."""
    add = parser.add_argument
    add("--game", choices=game_names(), default="chess", help="default: %(default)s")
    add("--fen", "--sfen", "--position", dest="position", metavar="TEXT", help="the root (default: the start position)")
    add("--moves", default="", metavar="MOVES", help="played from there on, as the game's protocol writes them")
    add("--net", default="", metavar="FILE", help="an ONNX net, or uniform (default: the net inside the package)")
    add("--visits", type=int, default=1_000_000, metavar="N", help="the last power of ten (default: %(default)s)")
    add("--states", type=int, default=10, metavar="N", help="states shown below the root (default: %(default)s)")
    add(
        "--out",
        type=Path,
        default=Path("search.svg"),
        metavar="FILE",
        help=".svg, .png or .html (default: %(default)s)",
    )
    add("--json", action="store_true", help="print the states, one JSON object for each number of simulations")


def main(args: argparse.Namespace) -> int:
    """Search, draw; 0. Errors: AzError."""
    check_name(args.out)
    simulations = [10**power for power in range(2, 10) if 10**power <= args.visits]
    if not simulations or args.states < 1:
        raise OptionError("--visits must be 100 or more, --states 1 or more")
    game = get_game(args.game)
    line = game.initial() if args.position is None else game.parse_position(args.position)[0]
    for move in args.moves.split():
        line = game.play(line, game.parse_move(line, move))
    console, found = Console(stderr=True), []
    for snapshot in grow(game, line, args.net, SearchParams(), simulations, states=args.states):
        found.append(snapshot)
        console.print(f"{snapshot.simulations:,} simulations: {' '.join(snapshot.line)}")
        if args.json:
            print(json.dumps(as_json(snapshot)), flush=True)
    title = f"{game.name}: {game.format_position(line[-1])}"
    rows = [["simulations", "state", "visits", "share", "value"]]
    rows += [
        [f"{s.simulations:,}", _path(s, i), f"{state.visits:,}", f"{100 * state.share:.1f} %", f"{state.value:.0f}"]
        for s in found
        for i, state in enumerate(s.states)
    ]
    write_figure(args.out, draw(found, title), title, rows)
    console.print(f"written: {args.out}")
    return 0


def as_json(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as JSON-ready values."""
    states = [
        {"path": _path(snapshot, i), "visits": s.visits, "share": round(s.share, 5), "value": round(s.value, 2)}
        for i, s in enumerate(snapshot.states)
    ]
    return {"simulations": snapshot.simulations, "states": states}


def _path(snapshot: Snapshot, place: int) -> str:
    """The moves from the root to a state."""
    moves = []
    while place > 0:
        state = snapshot.states[place]
        moves.append(state.move)
        place = state.parent
    return " ".join(reversed(moves)) or "root"


def places(snapshot: Snapshot) -> list[tuple[float, float]]:
    """(x, y) of each state: the root on top, states without one shown below them side by side, parents above them."""
    states = snapshot.states
    below: list[list[int]] = [[] for _ in states]
    for i, state in enumerate(states):
        if state.parent >= 0:
            below[state.parent].append(i)
    across: dict[int, float] = {}
    columns = 0

    def place(i: int) -> float:
        nonlocal columns
        if below[i]:
            inner = [place(child) for child in below[i]]
            across[i] = (inner[0] + inner[-1]) / 2
        else:
            across[i] = float(columns)
            columns += 1
        return across[i]

    place(0)
    return [(across[i], -float(state.depth)) for i, state in enumerate(states)]


def draw(snapshots: list[Snapshot], title: str) -> Figure:
    """One tree for each snapshot, from left to right."""
    from matplotlib.figure import Figure

    widths = [max(x for x, _ in places(s)) + 1 for s in snapshots]
    deepest = max(state.depth for s in snapshots for state in s.states)
    size = (max(1.0 * sum(widths), 8.0), max(1.1 * deepest + 1.8, 4.0))
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, fontsize=9)
    charts = figure.subplots(1, len(snapshots), squeeze=False, width_ratios=widths)[0]
    for chart, snapshot, width in zip(charts, snapshots, widths, strict=True):
        _draw_tree(chart, snapshot)
        chart.set_title(f"{snapshot.simulations:,}", fontsize=11)
        chart.set_xlim(-0.6, width - 0.4)
        chart.set_ylim(-deepest - 0.5, 0.5)
        chart.axis("off")
    return figure


def _draw_tree(chart: Axes, snapshot: Snapshot) -> None:
    spots = places(snapshot)
    for state, (x, y) in zip(snapshot.states, spots, strict=True):
        if state.parent >= 0:
            above = spots[state.parent]
            chart.plot([above[0], x], [above[1], y], color="0.7", linewidth=1, zorder=1)
            middle = (above[0] + x) / 2, (above[1] + y) / 2
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            chart.text(*middle, state.move, fontsize=7, ha="center", va="center", zorder=4, bbox=box)
        border = max(_THICKEST * state.share, 0.4)
        colour = _COLOURS[state.depth % 2]
        chart.scatter([x], [y], s=520, facecolor="white", edgecolor=colour, linewidth=border, zorder=2)
        chart.text(x, y, f"{state.value:.0f}", fontsize=8, ha="center", va="center", zorder=3)
