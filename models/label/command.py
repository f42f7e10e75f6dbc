"""``az-engine label``: make training data with any UCI or USI engine that knows MultiPV, or GTP engine that analyses.

Or with a net. The teacher plays itself from varied random openings; its best lines, chances and every game's result are
recorded in the game's format (:mod:`formats`). Game ``i`` depends on the seed and ``i`` alone (and on an engine being
deterministic at a fixed number of nodes), so a run that was stopped goes on with the games that are missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...cluster import RAY_HELP
from ...engine.errors import DataError, EngineProcessError, OptionError
from ...engine.games import game_names, get_game
from ...engine.nets.opinions import RawNet
from ...engine.system import split_command
from ..data.formats import labels_of
from ..data.shards import LabelFormat, Records, ShardStore
from ..fields import Help
from ..signals import StopSignals
from ..storage import Patience, RunLock
from .lesson import ENGINE_TEMPERATURES, NET_TEMPERATURES, Recipe, open_teacher, play_game
from .reading import read_played
from .teacher import NODES, Engine

HELP = "make training data with any UCI, USI or GTP engine, or with a net"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = Recipe("")
    parser.description = (
        "Let an engine (UCI for chess, USI for shogi, GTP for Go) play itself from random openings and record its best "
        "lines, chances and results as .npz shards for az-engine train --supervised. A GTP engine must know "
        "kata-analyze or lz-analyze. In shogi and Go the teacher may also be a net without search (--net), so that a "
        "small net learns what a large one knows. The same command resumes a run."
    )
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine label --engine stockfish --nodes 2000 --games 2000 --out runs/data
  az-engine label --game go --size 9 --engine "katago gtp -model NET -config FILE" --out runs/go"""
    add = parser.add_argument
    add("--game", default=default.game, choices=game_names(), help="the game")
    teacher = parser.add_mutually_exclusive_group(required=True).add_argument
    teacher(
        "--engine",
        metavar="CMD",
        help="command that starts the engine, e.g. stockfish, fairy-stockfish with --game shogi, or "
        "'katago gtp -model NET' with --game go",
    )
    teacher(
        "--net",
        metavar="NET",
        help="a net of ours or of another program (see az-engine import) instead of an engine: its policy and value at "
        "every position, or a mate in three plies where there is one",
    )
    add(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="option of the engine, repeatable (threads are 1 and the hash table 16 MB unless given); over GTP a "
        "command and its arguments",
    )
    add("--size", type=int, metavar="N", help="lines of the Go board (9)")
    add("--nodes", type=int, help=f"nodes searched a move ({NODES}); over GTP at least so many")
    add("--multipv", type=int, default=0, help="labelled moves a position; 0 = as many as a record holds")
    add(
        "--records",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="label the positions of recorded games (PGN, CSA, KIF, SGF, or a self-play run's .games; finished ones) "
        "instead of games of the teacher, for example those of a match: positions that searches reach",
    )
    add(
        "--search",
        type=int,
        metavar="VISITS",
        help="with --records: also search some positions with --student (default: the net inside the package) for "
        "VISITS visits, and label positions of these searches: they expose the net's errors",
    )
    add("--games", type=int, help="games in all (1000, or all those recorded)")
    add("--out", metavar="DIR", type=Path, required=True, help="folder of the shards")
    add("--processes", type=int, help="engines running at the same time (1; with --ray one for each CPU)")
    add("--ray", metavar="ADDRESS", help=f"label on a Ray cluster: {RAY_HELP}")
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
        help="of the move choice, one drawn per game: in expected points ("
        f"{_listed(ENGINE_TEMPERATURES)}), with --net the T of policy^(1 / T) "
        f"({_listed(NET_TEMPERATURES)})",
    )
    add(
        "--blunders",
        type=_numbers(float),
        default=default.blunders,
        help="chances of a random move, one drawn per game",
    )
    add(
        "--student",
        metavar="NET",
        help="draw random moves, also those of openings, from the policy of this net (default = the one inside the "
        "package, or a file or the folder of a self-play run) instead of uniformly: positions as such a net meets them",
    )
    add(
        "--decided",
        type=int,
        default=0,
        metavar="CENTIPAWNS",
        help="a score beyond which a game counts as decided; most games end after five such moves in a row; 0 = the "
        "game's own number",
    )
    add("--max-plies", type=int, default=0, help="plies after which a game is drawn; 0 = the game's own number")


def _listed(numbers: tuple[float, ...]) -> str:
    return ",".join(map(str, numbers))


def _numbers(kind: type[Any]) -> Any:
    """A parser of comma-separated numbers."""

    def parse(text: str) -> tuple[Any, ...]:
        return tuple(kind(part) for part in text.split(","))

    parse.__name__ = f"list of {kind.__name__}"
    return parse


def main(args: argparse.Namespace) -> int:
    game = args.game if args.size is None else f"{args.game}{args.size}"
    form = labels_of(game)
    _check_words(args, form)
    if args.net is not None:
        _check_net(args, game, form)
    console = Console(stderr=True)
    games = 1000 if args.games is None else args.games
    if args.records:
        found = len(read_played(get_game(game), form, args.records, console.print))
        games = min(found, games) if args.games is not None else found
        if not found:
            raise DataError("the records hold no finished game of this kind; give others")
    nodes = NODES if args.nodes is None else args.nodes
    if args.student is not None:
        RawNet(args.student, get_game(game))  # faults of the net come before the games
    recipe = Recipe(
        Engine(_words(args.engine), _options(args.option), nodes) if args.net is None else args.net,
        game=game,
        lines=args.multipv or form.lines,
        seed=args.seed,
        openings=args.openings,
        temperatures=args.temperatures or (ENGINE_TEMPERATURES if args.net is None else NET_TEMPERATURES),
        blunders=args.blunders,
        student=args.student or "",
        decided=args.decided,
        max_plies=args.max_plies or form.max_plies,
        first_game=args.first_game,
        records=tuple(args.records),
        search=args.search or 0,
    )
    with RunLock(args.out), StopSignals() as signals:
        patiently = Patience(args.out, console.print, stopping=signals)
        store = Store(args.out, args.shard_positions, form.shards, patiently)
        missing = [g for g in range(args.first_game, args.first_game + games) if g not in store.games]
        if len(missing) < games:
            console.print(f"{games - len(missing)} of {games} games are there already")
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("games  {task.fields[positions]}"))
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
            task = progress.add_task("", total=games, completed=games - len(missing), positions="")
            begun, made = time.monotonic(), 0
            try:
                for records in _labelled(args, recipe, missing, signals, progress.console.print):
                    store.add(records)
                    made += len(records)
                    speed = made / (time.monotonic() - begun)
                    progress.update(task, advance=1, positions=f"{made:,} positions, {speed:,.0f}/s")
            finally:
                store.flush()
        if signals():
            console.print(f"stopped after {store.positions:,} positions; give the same command to go on")
            return 130
    console.print(f"{args.out}: {store.positions:,} positions of {len(store.games):,} games")
    return 0


def _labelled(
    args: argparse.Namespace, recipe: Recipe, games: list[int], stop: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[Records]:
    """The records of ``games``, made here or on a cluster. BLOCKS. Errors: AzError."""
    if args.ray is None:
        return label(recipe, games, args.processes or 1, stop)
    from .cluster import label_on

    return label_on(args.ray, recipe, games, args.processes or 0, stop, say)


def _check_words(args: argparse.Namespace, form: LabelFormat) -> None:
    """Refuse what makes no sense. Errors: OptionError."""
    if not 0 <= args.multipv <= form.lines:
        raise OptionError(f"--multipv is {args.multipv}; a record holds 1 to {form.lines} moves")
    if max(args.openings) > form.longest_opening:
        raise OptionError(f"--openings: a record holds an opening of {form.longest_opening} moves at most")
    if args.search is not None and not args.records:
        raise OptionError("--search is for games that were played; give them with --records")
    if args.records and args.student is not None and args.search is None:
        raise OptionError("--student is for games that the teacher plays, or for --search; leave it or --records out")
    numbers = (args.nodes, args.games, args.search, args.processes, args.shard_positions)
    if min(number for number in numbers if number is not None) < 1:
        raise OptionError("--nodes, --games, --search, --processes and --shard-positions must be at least 1")
    if args.decided < 0:
        raise OptionError(f"--decided is {args.decided}; give centipawns, or 0 for the game's own number")


def _check_net(args: argparse.Namespace, game: str, form: LabelFormat) -> None:
    """Refuse what a net cannot do. Errors: OptionError, NetError."""
    if not form.of_nets:
        raise OptionError(
            f"--net: records of {game} hold scores of moves, which a net does not give; let it search: "
            "--engine 'az-engine uci' --option WeightsFile=NET"
        )
    if args.nodes is not None or args.option:
        raise OptionError("--nodes and --option are for an engine; a net without search has neither")
    RawNet(args.net, get_game(game))


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(split_command(command))
    except ValueError as error:
        raise OptionError(f"--engine {command!r}: {error}; close the quotes") from error


def _options(given: list[str]) -> tuple[tuple[str, str], ...]:
    options = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--option {text!r} must be NAME=VALUE")
        options[name] = value
    return tuple(options.items())


class Store:
    """The shards of a folder: whole games, each once."""

    FLUSH_SECONDS = 300.0  # most work that a kill can lose

    def __init__(self, folder: Path, shard_positions: int, form: ShardStore, patiently: Patience) -> None:
        self.folder, self.patiently = folder, patiently
        self.form = form
        self.shard_positions = shard_positions
        self.games: set[int] = set()
        self.positions = 0
        self._waiting: list[Records] = []
        self._flushed = time.monotonic()
        self._next = 0
        for path in sorted(folder.glob("*.npz")):
            records = form.read(path)
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
        if self._waiting:
            path, records = self.folder / f"labelled_{self._next:05d}.npz", np.concatenate(self._waiting)
            self.patiently(lambda: self.form.write(path, records), f"a shard of {len(self._waiting)} labelled games")
            self._next += 1
            self._waiting.clear()
        self._flushed = time.monotonic()


def label(
    recipe: Recipe, games: list[int], processes: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Records]:
    """Play ``games`` in ``processes`` processes and yield each one's records as it ends.

    Once ``stop()`` is true, asked twice a second, only the games that have begun are played to their end.
    Errors: EngineProcessError, NetError.
    """
    left = iter(games)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=open_teacher, initargs=(recipe,)) as pool:
        running: set[Future[Records]] = {pool.submit(play_game, g) for g in islice(left, 2 * processes)}
        try:
            while running:
                done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                if stop():
                    left = iter(())
                    running = {future for future in running if not future.cancel()}
                for future in done:
                    running |= {pool.submit(play_game, g) for g in islice(left, 1)}
                    yield future.result()
        except BrokenProcessPool as error:
            if stop():  # an interrupt from the terminal ends processes that have not begun
                return
            raise EngineProcessError(f"a labelling process with {recipe.teacher_name} died; try again") from error
        finally:
            for future in running:
                future.cancel()
