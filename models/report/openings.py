"""How often each opening is played by the nets of a run as it learns (AlphaZero, Table 2 and Figure 3).

Read from the run's own games, also while it runs. Chess: the twelve openings of the paper, by whatever order of moves;
shogi: the two; Go: the first stone in a corner and the corner sequences (joseki), known and favoured, whatever corner,
reflection and colour (AlphaGo Zero, Figure 5); other games: the first moves. With each opening come its share of the
games by training step, the results of the first player, and the continuation that was played most.

Examples:
  az-engine report openings runs/chess
  az-engine report openings runs/go --points 10 --out pictures

"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ...engine.errors import DataError, OptionError, counted
from ...engine.games.base import Game
from ...engine.os.files import check_writable, write_atomically
from ..selfplay.config import load_run
from ..selfplay.folder import RunFolder
from ..selfplay.store.replay import GameRecord, ReplayFolder
from .corners import corner_lines
from .figures import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "openings.json"
DRAWN = 12  # openings with a chart of their own
FAVOURED = 3  # openings of each length in each span that are listed without being named
CONTINUED = 8  # plies of a continuation
DEEPEST = 16  # plies within which an opening must be reached


@dataclass(slots=True)
class Played:
    """The games in which an opening was played."""

    steps: list[int] = field(default_factory=list)  # of the net that began each game
    results: list[int] = field(default_factory=list)  # for the first player
    next_moves: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def continuation(self) -> str:
        """The move that most games go on with, again and again while at least two games agree."""
        lines, chosen = self.next_moves, list[str]()
        while following := Counter(line[len(chosen)] for line in lines if len(line) > len(chosen)):
            move, games = following.most_common(1)[0]
            if games < 2:
                break
            lines = [line for line in lines if len(line) > len(chosen) and line[len(chosen)] == move]
            chosen.append(move)
        return " ".join(chosen)


Continuations = Iterator[tuple[str, tuple[str, ...]]]  # openings of a game and how it goes on after each


def named_lines(game: Game) -> Callable[[GameRecord], Continuations]:
    """Finds the game's named openings: their positions, whatever the order of the moves."""
    by_key: dict[int, str] = {}
    for name, text in game.openings.items():
        line = game.initial()
        for move in text.split():
            line = game.play(line, game.parse_move(line, move))
        by_key[int(line["key"][-1])] = name

    def find(record: GameRecord) -> Continuations:
        line = np.zeros(min(len(record.moves), DEEPEST) + 1, game.state_dtype)
        line[:1] = game.initial()
        game.replay(line, record.moves[: len(line) - 1])
        seen: set[str] = set()
        for ply, key in enumerate(line["key"].tolist()):
            name = by_key.get(key)
            if name is not None and name not in seen:
                seen.add(name)
                yield name, game.format_moves(line[ply], record.moves[ply : ply + CONTINUED].tolist())

    return find


def first_moves(game: Game) -> Callable[[GameRecord], Continuations]:
    """Takes the first move of a game as its opening."""
    start = game.initial()[0]

    def find(record: GameRecord) -> Continuations:
        if moves := game.format_moves(start, record.moves[: 1 + CONTINUED].tolist()):
            yield moves[0], moves[1:]

    return find


def finder(game: Game) -> Callable[[GameRecord], Continuations]:
    """What finds the openings of a game."""
    if game.openings:
        return named_lines(game)
    return corner_lines(game) if game.pieces == "stones" else first_moves(game)


@dataclass(frozen=True, slots=True)
class Openings:
    """The openings of a run's games, the most played first."""

    game: Game
    steps: list[int]  # of the net that began each game
    played: dict[str, Played]

    def edges(self, points: int) -> list[float]:
        """The bounds, in training steps, of at most ``points`` equal spans with the nets that have played."""
        nets = sorted(set(self.steps))
        count = min(points, len(nets))
        return [float(edge) for edge in np.linspace(nets[0], nets[-1] + 1, count + 1)]

    def notable(self, points: int) -> list[str]:
        """The named openings, and of each length the most played ones of each span; the most played come first."""
        edges, kept = self.edges(points), set(self.game.openings)
        tops: dict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
        for name, played in self.played.items():
            if name.endswith(")"):  # a known corner sequence
                kept.add(name)
            for span, games in enumerate(np.histogram(played.steps, edges)[0].tolist()):
                tops[span, len(name.split(" (")[0].split())].append((games, name))
        kept |= {name for each in tops.values() for games, name in sorted(each)[-FAVOURED:] if games}
        return [name for name in self.played if name in kept]

    def shares(self, name: str, edges: list[float]) -> list[float | None]:
        """In which share of each span's games an opening was played; None for a span without games."""
        all_games, of_opening = (
            np.histogram(steps, edges)[0].tolist() for steps in (self.steps, self.played[name].steps)
        )
        return [n / total if total else None for n, total in zip(of_opening, all_games, strict=True)]

    def to_json(self, points: int) -> dict[str, Any]:
        edges = self.edges(points)
        rows = []
        for name in self.notable(points):
            played = self.played[name]
            results = Counter(played.results)
            row = {"name": name, "games": len(played.steps), "share": round(len(played.steps) / len(self.steps), 5)}
            row |= {"first_wins": results[1], "draws": results[0], "second_wins": results[-1]}
            row |= {"first_step": min(played.steps, default=None), "continuation": played.continuation}
            row["shares"] = [None if share is None else round(share, 5) for share in self.shares(name, edges)]
            rows.append(row)
        return {"game": self.game.name, "games": len(self.steps), "steps": edges, "openings": rows}


def count_openings(game: Game, games: Iterable[GameRecord]) -> Openings:
    """Errors: DataError when there are no games."""
    find, steps = finder(game), list[int]()
    played: dict[str, Played] = defaultdict(Played, {name: Played() for name in game.openings})
    for record in games:
        steps.append(record.nets[0])
        for name, following in find(record):
            entry = played[name]
            entry.steps.append(record.nets[0])
            entry.results.append(record.result)
            entry.next_moves.append(following)
    if not steps:
        raise DataError("the run has no games yet; wait until some are over")
    return Openings(game, steps, dict(sorted(played.items(), key=lambda item: -len(item[1].steps))))


def draw(openings: Openings, points: int, heading: str) -> Figure:
    """The share of each of the most played openings over the training steps: one chart each, of one scale."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    names = openings.notable(points)[:DRAWN]
    rows = -(-max(len(names), 1) // 3)
    figure = Figure(figsize=(11, 1 + 2.2 * rows), layout="constrained")
    figure.suptitle(heading)
    charts = figure.subplots(rows, 3, sharex=True, sharey=True, squeeze=False).flat
    edges = openings.edges(points)
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    for chart, name in zip(charts, names, strict=False):
        shown = [(x, y) for x, y in zip(middles, openings.shares(name, edges), strict=True) if y is not None]
        chart.fill_between(*zip(*shown, strict=True), alpha=0.3)
        chart.plot(*zip(*shown, strict=True), marker="o", markersize=3)
        chart.set_title(name, fontsize="small")
        chart.yaxis.set_major_formatter(PercentFormatter(1.0))
        chart.set_ylim(bottom=0)
        chart.grid(alpha=0.3)
    for chart in list(charts)[len(names) :]:
        chart.set_visible(False)
    figure.supxlabel("training steps of the net")
    figure.supylabel("share of the games")
    return figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="folder of a self-play run (its --out)")
    add("--points", type=int, default=20, metavar="N", help="of each curve (default: %(default)s)")
    add("--out", type=Path, metavar="DIR", help=f"folder for openings.svg, openings.html, {FILE} (default: RUN)")


def main(args: argparse.Namespace) -> int:
    if not 1 <= args.points <= 1000:
        raise OptionError("--points must be 1 to 1000")
    if args.out:
        check_writable(args.out / FILE)
    run = load_run(args.run)
    out, game = args.out or args.run, run.get_game()
    check_writable(out / FILE)
    console = Console(stderr=True)
    lines = [board.lines for board in run.get_boards()]
    replay = ReplayFolder(RunFolder(args.run).games, game, str(run.seed), console.print, lines)
    openings = count_openings(game, (record for part in replay.read() for record in part if not record.board))
    counts = openings.to_json(args.points)
    rows = [["opening", "games", "share", "first player: won, drawn, lost", "first at step", "continuation"]]
    for row in counts["openings"]:
        results = "{first_wins}, {draws}, {second_wins}".format(**row)
        first = "-" if row["first_step"] is None else str(row["first_step"])
        rows.append([row["name"], str(row["games"]), f"{row['share']:.1%}", results, first, row["continuation"]])
        print(
            f"{row['name']}: {counted(row['games'], 'game')} ({row['share']:.1%}), {results}; "
            f"{row['continuation'] or '-'}"
        )
    title = f"{game.name}: openings of {counted(counts['games'], 'game')} against itself"
    write_atomically(out / FILE, (json.dumps(counts, indent=1) + "\n").encode())
    figure = draw(openings, args.points, title)
    write_figure(out / "openings.svg", figure, title)
    write_figure(out / "openings.html", figure, title, rows)
    console.print(f"written: {out}/openings.svg, openings.html, {FILE}")
    return 0
