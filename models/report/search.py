"""What a search looks at as it grows: at each power of ten of simulations, the ten most visited states.

As Figure 4 of the Science paper: in each state its estimated value, 0 to 100, for white (black in shogi and Go), and
its share of the root's visits, to which the thickness of its border is proportional; above it the move that leads to
it. The root is shown as a board.

Example:
  az-engine report search --fen "b2r3r/k4p1p/p2q1np1/NppP4/3p1Q2/P4PPB/1PP4P/1K1RR3 w - - 1 24" --visits 100000

"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ...engine.errors import OptionError
from ...engine.games import game_names, get_game
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.nets.weights import load_evaluator
from ...engine.params import SearchParams
from ...engine.search.leaves.cache import PositionCache
from ...engine.search.search import Search
from ...engine.search.tree.most_visited import Snapshot, look
from ...engine.search.tree.tree import Tree
from .diagrams import draw_board
from .figures import check_name, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_THICKEST = 6.0  # points: the border of a state that all visits went through
_COLOURS = ("tab:blue", "tab:red")  # of states after a move of the first and of the second player
_RADIUS, _COLUMN, _LEVEL = 0.21, 0.56, 0.68  # inches: of a state, and what it takes across and down
_NODE, _EDGE, _SPARE = 64, 8, 2  # bytes; twice what a typical position needs
_BOARD, _GAP, _HEAD = 2.4, 0.22, 0.42  # inches: the board's side, the space beside each tree, the titles


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    check_name(args.out)
    simulations = [10**power for power in range(2, 10) if 10**power <= args.visits]
    if not simulations or args.states < 1:
        raise OptionError("--visits must be 100 or more, --states 1 or more")
    game = get_game(args.game)
    line = game.initial() if args.position is None else game.parse_position(args.position)[0]
    for move in args.moves.split():
        line = game.play(line, game.parse_move(line, move))
    console, result = Console(stderr=True), []
    for snapshot in grow(game, line, args.net, SearchParams(), simulations, states=args.states):
        result.append(snapshot)
        console.print(f"{snapshot.simulations:,} simulations: {' '.join(snapshot.line)}")
        if args.json:
            print(json.dumps(as_json(snapshot)), flush=True)
    if result[-1].simulations < simulations[-1]:
        console.print("the search has ended early: its result is proven")
    title = f"{game.name}: {game.format_position(line[-1])}"
    rows = [["simulations", "state", "visits", "share", "value"]]
    rows += [
        [f"{s.simulations:,}", _path(s, i), f"{state.visits:,}", f"{100 * state.share:.1f} %", f"{state.value:.0f}"]
        for s in result
        for i, state in enumerate(s.states)
    ]
    write_figure(args.out, draw(result, game, line[-1]), title, rows)
    console.print(f"written: {args.out}")
    return 0


def as_json(snapshot: Snapshot) -> dict[str, Any]:
    states = [
        {"path": _path(snapshot, i), "visits": s.visits, "share": round(s.share, 5), "value": round(s.value, 2)}
        for i, s in enumerate(snapshot.states)
    ]
    return {"simulations": snapshot.simulations, "states": states}


def _path(snapshot: Snapshot, place: int) -> str:
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


def draw(snapshots: Sequence[Snapshot], game: Game, root: State) -> Figure:
    """The board of one State[], and one tree for each snapshot, from left to right. One unit is an inch."""
    from matplotlib.figure import Figure

    widths = [_COLUMN * (max(x for x, _ in places(s)) + 1) for s in snapshots]
    height = _LEVEL * (max(state.depth for s in snapshots for state in s.states) + 1) + _HEAD
    width, height = _BOARD + 2 * _GAP + sum(widths) + _GAP * len(widths), max(height, _BOARD + _HEAD + 0.6)
    figure = Figure(figsize=(width, height))
    chart = figure.add_axes((0, 0, 1, 1))
    chart.set(xlim=(0, width), ylim=(-height, 0))
    chart.axis("off")
    _draw_root(chart, game, root)
    left = _BOARD + 2 * _GAP
    for snapshot, span in zip(snapshots, widths, strict=True):
        chart.text(left + span / 2, -0.2, f"{snapshot.simulations:,}", fontsize=11, weight="bold", ha="center")
        chart.text(left + span / 2, -0.36, "simulations", fontsize=8, ha="center", color="0.4")
        _draw_tree(chart, snapshot, left, game.side_to_move(root))
        left += span + _GAP
    return figure


def _draw_root(chart: Axes, game: Game, root: State) -> None:
    sides = game.sides
    chart.text(_GAP, -0.3, f"{sides[game.side_to_move(root)]} to move", fontsize=11, weight="bold")
    bottom = draw_board(chart, game, game.format_position(root), _GAP, -_HEAD, _BOARD)
    lines = [
        f"in a circle: {sides[0]}'s expected points, 0 to 100,",
        "and the share of the visits (also its border);",
        f"blue after a move of {sides[0]}, red of {sides[1]}",
    ]
    chart.text(_GAP, bottom - 0.12, "\n".join(lines), fontsize=7, va="top", color="0.3", linespacing=1.5)


def _draw_tree(chart: Axes, snapshot: Snapshot, left: float, mover: int) -> None:
    """``mover``: who moves at the root, 0 the first player."""
    from matplotlib.patches import Circle

    spots = [(left + _COLUMN * (x + 0.5), _LEVEL * (y - 0.5) - _HEAD) for x, y in places(snapshot)]
    for state, (x, y) in zip(snapshot.states, spots, strict=True):
        if state.parent >= 0:
            above = spots[state.parent]
            chart.plot([above[0], x], [above[1], y], color="0.7", linewidth=1, zorder=1)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            chart.text(x, y + _RADIUS + 0.13, state.move, fontsize=7.5, ha="center", va="center", zorder=4, bbox=box)
        colour = _COLOURS[(mover + state.depth + 1) % 2] if state.depth else "0.3"
        border = max(_THICKEST * state.share, 0.4)
        circle = Circle((x, y), _RADIUS, facecolor="white", edgecolor=colour, linewidth=border, zorder=2)
        chart.add_patch(circle)
        chart.text(x, y + 0.045, f"{state.value:.0f}", fontsize=9, ha="center", va="center", zorder=3)
        share = f"{100 * state.share:.0f}%"
        chart.text(x, y - 0.1, share, fontsize=5.5, ha="center", va="center", zorder=3, color="0.4")


def grow(
    game: Game, line: State, net: str, params: SearchParams, simulations: Sequence[int], *, states: int = 10
) -> Iterator[Snapshot]:
    """Search on and on, and look at the tree after each number of ``simulations``, rising. BLOCKS.

    Ends early when the root's result is proven. net: as EngineOptions.weights_file. Errors: NetError; OptionError when
    the game is over.
    """
    if game.outcome(line) != RUNNING:
        raise OptionError("the game is over in this position; there is nothing to search")
    evaluator = load_evaluator(net, game)
    each = _SPARE * int(_NODE + _EDGE * game.branching)
    tree = Tree(each * max(simulations) + (1 << 20))
    cache = PositionCache(64 << 20, game.branching) if evaluator.info is not None else None
    done = 0
    for requested in simulations:
        search = Search(game, tree, evaluator, params, game.window(line), cache=cache, visits=requested - done)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        done += search.simulations
        yield look(game, tree, line, done, states)
        if tree.full or search.proven:
            return
