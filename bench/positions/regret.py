"""``az-engine regret``: how many points the moves of players give away, judged by a stronger engine.

The same positions for every player, so that differences between two settings or nets show in minutes where a match
takes hours; a match has the last word.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...engine.errors import DataError, OptionError
from ...engine.games import game_names, get_game
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.limits import Limits
from ...engine.os.files import write_atomically
from ...engine.records.formats import read_games
from ...engine.records.record import Record
from ...protocols.clients.base import Answer, PvInfo
from ..match.players import MoveLimit, Player, PlayerSpec, launch
from ..ratings.elo import Z95
from .players import ENDLESS_S, READY_S, add_player_argument, limits_of, progress, read_players, running, track

HELP = """\
How many expected points the moves of players give away, judged by a stronger engine: a quick way to compare settings
and nets. Every player moves in the same positions, taken from game records; the judge looks at the position after each
move. Points are out of 100 (a won game), as 1 / (1 + 10^(-centipawns / 400)), in shogi 1 / (1 + e^(-centipawns / 600));
a blunder loses more than 20. The folder keeps what was found: give the command again after an interruption, or with
more players or positions.

examples:
  az-engine regret games.pgn -P default -P "default name=hot option.PolicyTemperature=2" --visits 1000 \\
      --judge "cmd=stockfish nodes=20000" --out runs/regret
  az-engine regret --game shogi games.csa -P default -P net=mine.onnx --visits 400 \\
      --judge "default visits=20000" --out runs/shogi-regret

players and the judge are written as for az-engine match; they need visits=, depth= or seconds=."""

JOURNAL = "regret.jsonl"
BLUNDER = 0.2  # expected points: a greater loss counts as a blunder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("records", metavar="RECORDS", type=Path, nargs="+", help="files of games whose positions are used")
    add("--game", choices=game_names(), default="chess", help="default: %(default)s; not Go, nor others over GTP")
    add_player_argument(parser)
    add("--judge", metavar="SPEC", required=True, help="the engine that judges the positions")
    add("--visits", type=int, metavar="N", help="visits a move of players without a limit of their own")
    add("--positions", type=int, default=300, metavar="N", help="judge so many positions (default: %(default)s)")
    add(
        "--from-ply",
        type=int,
        default=10,
        metavar="N",
        help="take positions after so many moves or more (default: %(default)s)",
    )
    add("--level", type=float, default=80.0, metavar="POINTS", help="skip positions in which the judge gives a side "
        "more than these (default: %(default)s)")  # fmt: skip
    add("--out", type=Path, required=True, metavar="DIR", help="keep the results there")
    add("--json", action="store_true", help="print one JSON object a player")


@dataclass(frozen=True, slots=True)
class Position:
    """A position of a game: how it came about, and its text."""

    root: str | None
    moves: tuple[str, ...]
    line: State  # State[n]
    text: str


class Memory:
    """The results so far, kept in a folder; they survive kill -9."""

    def __init__(self, folder: Path, judge: PlayerSpec) -> None:
        """Errors: OptionError when another judge has worked there; DataError when the file cannot be used."""
        self.path = folder / JOURNAL
        self.judged: dict[str, float] = {}  # position -> points of the side to move
        self.choices: dict[tuple[str, str], str] = {}  # (player, position) -> move
        self.players: dict[str, Any] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            whole = text[: text.rfind("\n") + 1]
            for line in whole.splitlines():
                self._take(json.loads(line))
            if whole != text:  # a line torn by a kill
                write_atomically(self.path, whole.encode())
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} is damaged ({error}); give another --out") from error
        except OSError as error:
            raise DataError(f"{self.path} cannot be used ({error.strerror}); give another --out") from error
        self.enter("judge", judge)

    def enter(self, role: str, spec: PlayerSpec) -> None:
        """Register a player or the judge. Errors: OptionError when one of that name has other settings."""
        known, settings = self.players.get(f"{role} {spec.name}"), spec.describe()
        others = [name for name in self.players if name.startswith("judge ")]
        if role == "judge" and others and known is None:
            raise OptionError(f"{self.path} holds the evaluations of another judge; give another --out")
        if known is None:
            self._write({"role": role, "player": spec.name, "settings": settings})
        elif known != json.loads(json.dumps(settings)):
            raise OptionError(f"{role} {spec.name} had other settings in {self.path}; give name=, or another --out")

    def judge(self, text: str, points: float) -> None:
        self._write({"position": text, "points": round(points, 6)})

    def choose(self, player: str, text: str, move: str) -> None:
        self._write({"position": text, "player": player, "move": move})

    def _write(self, row: dict[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise DataError(f"{self.path} cannot be written ({error.strerror}); make room and go on") from error
        self._take(row)

    def _take(self, row: dict[str, Any]) -> None:
        if "role" in row:
            self.players[f"{row['role']} {row['player']}"] = json.loads(json.dumps(row["settings"]))
        elif "move" in row:
            self.choices[row["player"], row["position"]] = str(row["move"])
        else:
            self.judged[row["position"]] = float(row["points"])


class Judge:
    """Evaluates positions, each once."""

    def __init__(self, game: Game, spec: PlayerSpec, memory: Memory) -> None:
        """BLOCKS until the engine runs. Errors: AzError."""
        self.game, self.limits, self.memory = game, limits_of(spec), memory
        self.player = launch(spec, game.name, ready_s=READY_S, endless_s=ENDLESS_S)

    def points(self, position: Position) -> float:
        """Expected points of the side to move. BLOCKS."""
        outcome = self.game.outcome(position.line)
        if outcome != RUNNING:  # not stored: the outcome depends on the moves before the position
            return (1.0 + outcome) / 2.0
        if position.text not in self.memory.judged:
            self.memory.judge(position.text, worth(ask(self.player, position, self.limits), self.game))
        return self.memory.judged[position.text]

    def after(self, position: Position, move: str) -> float:
        """Expected points of the player that makes ``move``, which may also be "win" or "resign"."""
        if move in ("win", "resign"):
            return float(move == "win")
        return 1.0 - self.points(played(self.game, position, move))


def ask(player: Player, position: Position, limits: Limits) -> Answer:
    player.new_game()
    return player.play(position.root, position.moves, limits)


def worth(answer: Answer, game: Game) -> float:
    """Expected points of the side to move, 0 to 1. Errors: OptionError when the engine gave no score."""
    if answer.win or answer.resign:
        return float(answer.win)
    best = answer.lines[0] if answer.lines else PvInfo()
    if best.mate is not None:
        return float(best.mate > 0)
    if best.cp is not None:
        return game.expected_points(best.cp)
    if best.chance is not None:
        return best.chance
    raise OptionError("the judge gives no scores; take an engine that does")


def played(game: Game, position: Position, move: str) -> Position:
    """The position after a move. Errors: IllegalMoveError."""
    line = game.play(position.line, game.parse_move(position.line, move))
    return Position(position.root, (*position.moves, move), line, game.format_position(line[-1]))


def read_records(game: Game, files: Sequence[Path]) -> list[Record]:
    """The games of the files; what of one cannot be read is reported on stderr. Errors: DataError, OptionError."""
    results = []
    for path in files:
        for number, record in enumerate(read_games(game.record_formats, path), 1):
            if record.fault:
                rest = "the moves before it are used" if record.moves else "the game is left out"
                print(f"{path.name}, game {number}: {record.fault}; {rest}", file=sys.stderr)
            results.append(record)
    return results


def positions_of(game: Game, records: Sequence[Record], from_ply: int) -> Iterator[Position]:
    """The distinct positions of the games, shuffled with a fixed seed."""
    games = [(game.start_of(record), record.root, record.moves) for record in records]
    places = [(i, ply) for i, (_, _, moves) in enumerate(games) for ply in range(from_ply, len(moves))]
    random.Random(0).shuffle(places)
    seen: set[str] = set()
    for i, ply in places:
        line, root, moves = games[i]
        for move in moves[:ply]:
            line = game.play(line, game.parse_move(line, move))
        text = game.format_position(line[-1])
        if text not in seen and game.outcome(line) == RUNNING:
            seen.add(text)
            yield Position(root, moves[:ply], line, text)


def main(args: argparse.Namespace) -> int:
    game = get_game(args.game)
    if game.protocol == "gtp":
        raise OptionError(f"{args.game} is played over GTP, whose engines need not give the scores that regret needs")
    if args.positions < 1 or not 50 <= args.level <= 100 or args.from_ply < 0:
        raise OptionError("--positions must be 1 or more, --level 50 to 100, --from-ply 0 or more")
    common = MoveLimit(nodes=args.visits)
    specs = read_players(args.players, common, game.protocol)
    [judging] = read_players([args.judge], MoveLimit(), game.protocol)
    records = read_records(game, args.records)  # before the folder is made
    memory = Memory(args.out, judging)
    for spec in specs:
        memory.enter("player", spec)
    judge = Judge(game, judging, memory)
    try:
        chosen = choose_positions(game, judge, records, args)
        points = np.array([points_of(game, judge, spec, chosen) for spec in specs])
        best = np.maximum([judge.points(position) for position in chosen], points.max(axis=0))
    finally:
        judge.player.close()
    show([spec.name for spec in specs], best - points, judging.name, as_json=args.json)
    return 0


def choose_positions(game: Game, judge: Judge, records: Sequence[Record], args: argparse.Namespace) -> list[Position]:
    """The first ``--positions`` that are not decided. Errors: DataError when there are none."""
    chosen: list[Position] = []
    with progress() as bar:
        task = bar.add_task("positions", total=args.positions)
        for position in positions_of(game, records, args.from_ply):
            points = judge.points(position)
            if max(points, 1.0 - points) <= args.level / 100.0:
                chosen.append(position)
                bar.advance(task)
            if len(chosen) == args.positions:
                return chosen
    if not chosen:
        raise DataError("the games have no position that is level enough and late enough; give more, or --from-ply 0")
    Console(stderr=True).print(f"the games have only {len(chosen)} such positions")
    return chosen


def points_of(game: Game, judge: Judge, spec: PlayerSpec, positions: Sequence[Position]) -> list[float]:
    """Expected points of the side to move after a player's move in each position. BLOCKS."""
    memory, limits = judge.memory, limits_of(spec)
    left = [position for position in positions if (spec.name, position.text) not in memory.choices]
    if left:
        with running(spec, game.name) as player:
            for position in track(left, spec.name):
                answer = ask(player, position, limits)
                move = "win" if answer.win else answer.move or "resign"
                memory.choose(spec.name, position.text, move)
    return [judge.after(position, memory.choices[spec.name, position.text]) for position in positions]


def show(names: Sequence[str], losses: NDArray[np.float64], judge: str, *, as_json: bool) -> None:
    """Print the losses f8[P, N] of P players in N positions."""
    rows = []
    for name, lost in zip(names, losses, strict=True):
        less = lost - losses[0]
        rows.append({
            "player": name,
            "positions": len(lost),
            "loss": 100 * float(lost.mean()),
            "loss_95": 100 * Z95 * _error(lost),
            "blunders": 100 * float((lost > BLUNDER).mean()),
            "more_than_first": 100 * float(less.mean()),
            "more_than_first_95": 100 * Z95 * _error(less),
        })  # fmt: skip
    if as_json:
        for row in rows:
            print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}))
        return
    table = Table("player", "loss a move", "blunders", f"more than {names[0]}", caption=f"points of 100, 95 %; {judge}")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        loss, more = (f"{row[k]:+.2f} ± {row[k + '_95']:.2f}" for k in ("loss", "more_than_first"))
        table.add_row(Text(str(row["player"])), loss.lstrip("+"), f"{row['blunders']:.1f} %", more)
    Console().print(table)


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
