"""``az-engine label``: make training data with any UCI engine that knows MultiPV.

The engine plays itself from varied random openings; its best lines, chances and every game's result are recorded in the
format of :mod:`labelled`. Game ``i`` depends on the seed and ``i`` alone (and on the engine being deterministic at a
fixed number of nodes), so a run that was stopped goes on with the games that are missing.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import os
import shlex
import signal
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import chess
import chess.engine
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..engine.errors import EngineProcessError, OptionError
from .files import RunLock
from .labelled import LINES, RECORD, chances_of_score, read_shard, write_shard
from .shards import Records

HELP = "make training data with any UCI engine"
MATE = 32000  # score of a mate in 0, centipawns; other scores are cut to +-CUT
CUT = 20000
PROMOTIONS = {None: 0, chess.KNIGHT: 1, chess.BISHOP: 2, chess.ROOK: 3, chess.QUEEN: 4}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the games are played. One value of each tuple is drawn per game."""

    command: tuple[str, ...]  # the engine
    options: tuple[tuple[str, str], ...] = ()  # of the engine
    nodes: int = 2000  # searched a move
    multipv: int = LINES
    seed: int = 0
    openings: tuple[int, ...] = (0, 1, 2, 3, 4, 6, 8)  # uniformly random plies before the first record
    temperatures: tuple[float, ...] = (0.02, 0.05, 0.12)  # of the move choice, in expected points; halved from ply 40
    blunders: tuple[float, ...] = (0.0, 0.03, 0.08, 0.15)  # chance of a uniformly random move
    max_plies: int = 260  # then the game is drawn
    adjudicated: float = 0.7  # fraction of games that end once |score| > 1200 for 5 plies in a row
    timeout: float = 60.0  # seconds the engine may take for one move


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    default = Recipe(())
    parser.description = (
        "Let a UCI engine play itself from random openings and record its best lines, chances and results as .npz "
        "shards for az-engine train --supervised. The same command goes on with a run that was stopped."
    )
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    add = parser.add_argument
    add("--engine", metavar="CMD", required=True, help="command that starts the engine, e.g. stockfish")
    add(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="UCI option of the engine, repeatable (Threads is 1 and Hash 16 unless given)",
    )
    add("--nodes", type=int, default=default.nodes, help="nodes searched a move")
    add("--multipv", type=int, default=default.multipv, help=f"labelled moves a position, 1 to {LINES}")
    add("--games", type=int, default=1000, help="games in all")
    add("--out", metavar="DIR", type=Path, required=True, help="folder of the shards")
    add("--processes", type=int, default=1, help="engines running at the same time")
    add(
        "--seed",
        type=int,
        default=default.seed,
        help="of openings, move choice and blunders; use another one per folder",
    )
    add(
        "--first-game",
        type=int,
        default=0,
        help="number of the first game; ids must be unique over all folders used together",
    )
    add("--shard-positions", type=int, default=25_000, help="positions a file")
    add(
        "--openings",
        type=_numbers(int),
        default=default.openings,
        help="random plies before a game, one drawn per game",
    )
    add(
        "--temperatures",
        type=_numbers(float),
        default=default.temperatures,
        help="of the move choice, in expected points, one drawn per game",
    )
    add(
        "--blunders",
        type=_numbers(float),
        default=default.blunders,
        help="chances of a uniformly random move, one drawn per game",
    )
    add("--max-plies", type=int, default=default.max_plies, help="plies after which a game is drawn")


def _numbers(kind: type[Any]) -> Any:
    """A parser of comma-separated numbers."""

    def parse(text: str) -> tuple[Any, ...]:
        return tuple(kind(part) for part in text.split(","))

    parse.__name__ = f"list of {kind.__name__}"
    return parse


def main(args: argparse.Namespace) -> int:
    """Run the command. Errors: AzError."""
    if not 1 <= args.multipv <= LINES:
        raise OptionError(f"--multipv is {args.multipv}; a record holds 1 to {LINES} moves")
    if min(args.nodes, args.games, args.processes, args.shard_positions) < 1:
        raise OptionError("--nodes, --games, --processes and --shard-positions must be at least 1")
    recipe = Recipe(
        command=tuple(shlex.split(args.engine)),
        options=_options(args.option),
        nodes=args.nodes,
        multipv=args.multipv,
        seed=args.seed,
        openings=args.openings,
        temperatures=args.temperatures,
        blunders=args.blunders,
        max_plies=args.max_plies,
    )
    console = Console(stderr=True)
    with RunLock(args.out):
        store = Store(args.out, args.shard_positions)
        missing = [g for g in range(args.first_game, args.first_game + args.games) if g not in store.games]
        if len(missing) < args.games:
            console.print(f"{args.games - len(missing)} of {args.games} games are there already")
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("games  {task.fields[positions]}"))
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
            task = progress.add_task("", total=args.games, completed=args.games - len(missing), positions="")
            begun, made = time.monotonic(), 0
            try:
                for records in label(recipe, missing, args.processes):
                    store.add(records)
                    made += len(records)
                    speed = made / (time.monotonic() - begun)
                    progress.update(task, advance=1, positions=f"{made:,} positions, {speed:,.0f}/s")
            except KeyboardInterrupt:
                console.print("stopped; give the same command to go on")
                return 130
            finally:
                store.flush()
    console.print(f"{args.out}: {store.positions:,} positions of {len(store.games):,} games")
    return 0


def _options(given: list[str]) -> tuple[tuple[str, str], ...]:
    options = {"Threads": "1", "Hash": "16"}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--option {text!r} must be NAME=VALUE")
        options[name] = value
    return tuple(options.items())


class Store:
    """The shards of a folder: whole games, each once."""

    FLUSH_SECONDS = 300.0  # most work that a kill can lose

    def __init__(self, folder: Path, shard_positions: int) -> None:
        self.folder = folder
        self.shard_positions = shard_positions
        self.games: set[int] = set()
        self.positions = 0
        self._waiting: list[Records] = []
        self._flushed = time.monotonic()
        self._next = 0
        for path in sorted(folder.glob("*.npz")):
            records = read_shard(path)
            self.games |= set(np.unique(records["game"]).tolist())
            self.positions += len(records)
            number = path.stem.rpartition("_")[2]
            self._next = max(self._next, int(number) + 1 if number.isdigit() else 0)

    def add(self, records: Records) -> None:
        """Take one game; a shard is written when enough are waiting or have waited long enough."""
        self._waiting.append(records)
        self.games.add(int(records["game"][0]))
        self.positions += len(records)
        waited = time.monotonic() - self._flushed
        if sum(map(len, self._waiting)) >= self.shard_positions or waited > self.FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if self._waiting:
            write_shard(self.folder / f"labelled_{self._next:05d}.npz", np.concatenate(self._waiting))
            self._next += 1
            self._waiting.clear()
        self._flushed = time.monotonic()


def label(recipe: Recipe, games: list[int], processes: int) -> Iterator[Records]:
    """Play ``games`` in ``processes`` processes and yield each one's records as it ends. Errors: EngineProcessError."""
    left = iter(games)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_open_engine, initargs=(recipe,)) as pool:
        running: set[Future[Records]] = {pool.submit(play_game, g) for g in islice(left, 2 * processes)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    running |= {pool.submit(play_game, g) for g in islice(left, 1)}
                    yield future.result()
        except BrokenProcessPool as error:
            raise EngineProcessError(
                f"a labelling process with {shlex.join(recipe.command)} died; try again"
            ) from error
        finally:
            for future in running:
                future.cancel()


# ---- inside a process


@dataclass(slots=True)
class Worker:
    """A process's engine."""

    recipe: Recipe
    engine: chess.engine.SimpleEngine | None = None

    def start(self) -> chess.engine.SimpleEngine:
        """The running engine, started when there is none. Errors: EngineProcessError."""
        if self.engine is None:
            command = shlex.join(self.recipe.command)
            try:
                self.engine = chess.engine.SimpleEngine.popen_uci(
                    list(self.recipe.command), timeout=self.recipe.timeout
                )
                options: dict[str, Any] = dict(self.recipe.options)
                if "UCI_ShowWDL" in self.engine.options:
                    options["UCI_ShowWDL"] = True
                self.engine.configure(options)
            except (OSError, chess.engine.EngineError, TimeoutError) as error:
                self.close()
                raise EngineProcessError(
                    f"the engine {command!r} does not start or refuses an option ({error})"
                ) from error
        return self.engine

    def close(self) -> None:
        """End the engine."""
        if self.engine is not None:
            with contextlib.suppress(chess.engine.EngineError, TimeoutError):
                self.engine.quit()
            self.engine.close()
            self.engine = None


_worker: list[Worker] = []


def _open_engine(recipe: Recipe) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    os.environ["OMP_NUM_THREADS"] = "1"
    worker = Worker(recipe)
    _worker[:] = [worker]
    Finalize(None, worker.close, exitpriority=10)


def play_game(game: int) -> Records:
    """The records of one game, in a process that has an engine. Errors: EngineProcessError when it fails twice."""
    worker = _worker[0]
    for attempt in range(2):
        try:
            return Game(worker.recipe, worker.start(), game).play()
        except (chess.engine.EngineError, TimeoutError) as error:
            worker.close()
            if attempt == 1:
                command = shlex.join(worker.recipe.command)
                raise EngineProcessError(f"the engine {command!r} failed twice in game {game} ({error})") from error
    raise AssertionError("unreachable")


class Game:
    """One game of an engine against itself."""

    def __init__(self, recipe: Recipe, engine: chess.engine.SimpleEngine, number: int) -> None:
        self.recipe = recipe
        self.engine = engine
        self.number = number
        self.random = np.random.Generator(np.random.PCG64([recipe.seed, number]))
        self.temperature = float(self.random.choice(recipe.temperatures))
        self.blunder = float(self.random.choice(recipe.blunders))
        self.adjudicated = bool(self.random.random() < recipe.adjudicated)
        self.board = self._opening(int(self.random.choice(recipe.openings)))
        self.decided = 0  # plies in a row with a decided score

    def _opening(self, plies: int) -> chess.Board:
        while True:
            board = chess.Board()
            for _ in range(plies):
                if board.is_game_over():
                    break
                board.push(self._any_move(board))
            if not board.is_game_over():
                return board

    def _any_move(self, board: chess.Board) -> chess.Move:
        moves = sorted(board.legal_moves, key=chess.Move.uci)
        return moves[int(self.random.integers(len(moves)))]

    def play(self) -> Records:
        """Play to the end."""
        rows: list[Records] = []
        while (result := self._result()) is None:
            row = self._label()
            rows.append(row)
            score = int(row["cp"][0, 0])
            self.decided = self.decided + 1 if abs(score) > 1200 else 0
            move = self._choose(row)
            row["played"] = code_of(move)
            if self.adjudicated and self.decided >= 5:
                result = math.copysign(1, score) * (1 if self.board.turn else -1)
                break
            self.board.push(move)
        records = np.concatenate(rows)
        records["z"] = np.where(records["turn"] == 1, result, -result)
        return records

    def _result(self) -> float | None:
        """Result for white when the game is over by the rules or the ply limit."""
        board = self.board
        if board.is_checkmate():
            return -1.0 if board.turn else 1.0
        drawn = (
            board.is_stalemate()
            or board.is_insufficient_material()
            or board.is_repetition(3)
            or board.halfmove_clock >= 100
            or board.ply() >= self.recipe.max_plies
        )
        return 0.0 if drawn else None

    def _label(self) -> Records:
        limit = chess.engine.Limit(nodes=self.recipe.nodes)
        infos = self.engine.analyse(self.board, limit, multipv=self.recipe.multipv, game=self.number)
        lines = [(info["pv"][0], info) for info in infos if info.get("pv") and "score" in info]
        if not lines:
            raise chess.engine.EngineError("it answered without a line")
        row = record_of(self.board)
        row["game"] = self.number
        row["n"] = len(lines)
        row["depth"] = min(255, lines[0][1].get("depth", 0))
        for index, (move, info) in enumerate(lines):
            row["mv"][0, index] = code_of(move)
            row["cp"][0, index] = centipawns(info["score"].pov(self.board.turn))
        wdl = lines[0][1].get("wdl")
        if wdl is None:
            chances = np.rint(1000 * chances_of_score(row["cp"][:, 0]))[0].astype(int)
            row["w"], row["l"] = chances[0], chances[2]
        else:
            own = wdl.pov(self.board.turn)
            row["w"], row["l"] = own.wins, own.losses
        return row

    def _choose(self, row: Records) -> chess.Move:
        """The move played: at random with the game's blunder rate, else drawn from the softmax of the lines."""
        if self.random.random() < self.blunder:
            row["rnd"] = 1
            return self._any_move(self.board)
        count = int(row["n"][0])
        points = 1 / (1 + np.exp(-row["cp"][0, :count].astype(np.float64) / 180))
        weights = np.exp((points - points.max()) / (self.temperature / (2 if self.board.ply() >= 40 else 1)))
        code = int(self.random.choice(row["mv"][0, :count], p=weights / weights.sum()))
        return next(move for move in self.board.legal_moves if code_of(move) == code)


def record_of(board: chess.Board) -> Records:
    """The position's own fields as Record[1]; the rest is zero."""
    row = np.zeros(1, RECORD)
    kinds = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    row["bb"][0] = (*kinds, board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK])
    row["turn"] = int(board.turn)
    for bit, square in ((1, chess.H1), (2, chess.A1), (4, chess.H8), (8, chess.A8)):
        if board.clean_castling_rights() & chess.BB_SQUARES[square]:
            row["castle"] |= bit
    row["ep"] = 255 if board.ep_square is None else board.ep_square
    row["half"] = min(255, board.halfmove_clock)
    row["ply"] = board.ply()
    return row


def code_of(move: chess.Move) -> int:
    """from + 64 * to + 4096 * promotion."""
    return move.from_square + 64 * move.to_square + 4096 * PROMOTIONS[move.promotion]


def centipawns(score: chess.engine.Score) -> int:
    """Score of a line as the record keeps it; mate in k moves = 32000 - k."""
    mate = score.mate()
    if mate is not None:
        return MATE - mate if mate > 0 else -MATE - mate
    value = score.score()
    assert value is not None
    return max(-CUT, min(CUT, value))
