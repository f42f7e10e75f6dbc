"""``az-engine suite``: how many positions of test suites players solve; chess in EPD, Go in GNU Go's .tst files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...engine.errors import OptionError
from ..match.players import MoveLimit, PlayerSpec, parse_seconds
from .epd import Task, read_suite
from .players import add_player_argument, limits_of, read_players, running, track
from .regression import answers_of, read_regression

HELP = """\
Let players solve the positions of test suites. Of chess in EPD, such as Win at Chess: they solve one when they play a
best move (bm) and none to avoid (am). Of Go in .tst files, as GNU Go has them in its folder regression: GTP commands,
with the right answers below each reg_genmove. A second table has the positions that a player fails: what to play, or
not, and what it played.

examples:
  az-engine suite wac.epd -P default -P chess-conv --seconds 1
  az-engine suite wac.epd -P "default option.Threads=2" -P "cmd=stockfish nodes=100000" --visits 1000 --json
  git clone --depth 1 https://git.savannah.gnu.org/git/gnugo.git
  az-engine suite gnugo/regression/{seki,nngs}.tst -P default -P "cmd='gnugo --mode gtp'" --visits 400

players are written as for az-engine match; without --seconds and --visits they need a limit of their own."""
_REGRESSION = ".tst"


class Question(Protocol):
    """A position to solve."""

    @property
    def name(self) -> str: ...
    @property
    def solution(self) -> str: ...
    def solved_by(self, move: str | None) -> bool: ...
    def san(self, move: str | None) -> str: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "suites",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="positions in EPD, one a line, with bm or am; or a .tst file",
    )
    add_player_argument(parser)
    add("--seconds", metavar="S", help="seconds a position, of players without a limit of their own")
    add("--visits", type=int, metavar="N", help="visits a position, likewise")
    add(
        "--json",
        action="store_true",
        help="print one JSON object a player, with the positions that it fails and its moves there",
    )


def main(args: argparse.Namespace) -> int:
    common = MoveLimit(nodes=args.visits, movetime_ms=None if args.seconds is None else parse_seconds(args.seconds))
    kinds = {path.suffix.lower() == _REGRESSION for path in args.suites}
    if len(kinds) > 1:
        raise OptionError("suites of chess and of Go have different players; give either EPD or .tst files")
    questions: Sequence[Question]
    if kinds == {True}:
        specs = read_players(args.players, common, "gtp")
        questions = selected = [question for path in args.suites for question in read_regression(path)]
        chosen = [answers_of(spec, selected) for spec in specs]
    else:
        specs = read_players(args.players, common, "uci")
        questions = tasks = [task for path in args.suites for task in read_suite(path)]
        if any(task.chess960 for task in tasks):
            specs = [replace(spec, options={**spec.options, "UCI_Chess960": "true"}) for spec in specs]
        chosen = [moves_of(spec, tasks) for spec in specs]
    show([spec.name for spec in specs], questions, chosen, as_json=args.json)
    return 0


def moves_of(spec: PlayerSpec, tasks: Sequence[Task]) -> list[str | None]:
    """The move that a player chooses in each task; None: it resigns. BLOCKS. Errors: EngineProcessError, NetError."""
    limits, moves = limits_of(spec), []
    with running(spec, "chess") as player:
        for task in track(tasks, spec.name):
            player.new_game()
            moves.append(player.play(task.fen, (), limits).move)
    return moves


def show(
    names: Sequence[str], tasks: Sequence[Question], chosen: Sequence[Sequence[str | None]], *, as_json: bool
) -> None:
    """Print what the players solve with the moves they have chosen, and where they fail."""
    solved = [[task.solved_by(move) for task, move in zip(tasks, moves, strict=True)] for moves in chosen]
    table = Table("player", "solved", "of", "", "not by the first", "by the first alone")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, marks, moves in zip(names, solved, chosen, strict=True):
        if as_json:
            failed = [(task, move) for task, done, move in zip(tasks, marks, moves, strict=True) if not done]
            row = {"player": name, "positions": len(tasks), "solved": sum(marks)}
            row |= {"failed": [task.name for task, _ in failed], "played": [task.san(move) for task, move in failed]}
            print(json.dumps(row))
            continue
        more = sum(mine and not first for mine, first in zip(marks, solved[0], strict=True))
        less = sum(first and not mine for mine, first in zip(marks, solved[0], strict=True))
        share = f"{sum(marks) / len(marks):.1%}"
        table.add_row(Text(name), str(sum(marks)), str(len(marks)), share, str(more), str(less))
    if not as_json:
        Console().print(table)
        show_failures(names, tasks, chosen)


def show_failures(names: Sequence[str], tasks: Sequence[Question], chosen: Sequence[Sequence[str | None]]) -> None:
    """Print the tasks that a player fails, each with the moves of those that do; nothing where all are solved."""
    table = Table("position", "to play")
    for name in names:
        table.add_column(Text(name))
    for number, task in enumerate(tasks):
        moves = [choices[number] for choices in chosen]
        if not all(map(task.solved_by, moves)):
            played = ("" if task.solved_by(move) else task.san(move) for move in moves)
            table.add_row(Text(task.name), task.solution, *played)
    if table.row_count:
        Console().print(table)
