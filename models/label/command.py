"""``az-engine label``: make training data with any UCI or USI engine that knows MultiPV, or GTP engine that analyses.

Or with a net. The teacher plays itself from varied random openings; its best lines, chances and every game's result are
recorded in the game's format (:mod:`formats`). Game ``i`` depends on the seed and ``i`` alone (and on an engine being
deterministic at a fixed number of nodes), so a run that was stopped goes on with the games that are missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import count, islice, takewhile
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...cluster import RAY_HELP
from ...engine.errors import DataError, EngineProcessError, OptionError
from ...engine.games import game_names, get_game
from ...engine.nets.opinions import RawNet
from ...engine.system import split_command
from ..data.formats import labels_of
from ..data.shards import LabelFormat, Records
from ..fields import Help
from ..net.providers import PROVIDER_HELP, Provider, load_evaluator
from ..signals import StopSignals
from ..storage import Patience, RunLock
from .lesson import open_teacher, play_game
from .nnue.judge import family_of
from .reading import read_played
from .recipe import (
    BLUNDERS,
    ENGINE_TEMPERATURES,
    FURTHER,
    NET_TEMPERATURES,
    QUICK_BLUNDERS,
    QUICK_TEMPERATURES,
    WALK_BLUNDERS,
    WALK_TEMPERATURES,
    NnueFile,
    Recipe,
)
from .searches import VISITS
from .starts import read_starts
from .store import Store
from .teacher import NODES, Engine
from .walks import WALKS, shard_format, sources_of

POSITIONS = 1_000_000  # of walks, unless told
GAMES = 1000  # unless told
_NUMBERS = 1 << 32  # of games, in a record
LINE_SECONDS = 60.0  # between lines of progress where there is no terminal
QUICK_FIRST, QUICK_SEEDS, QUICK_GAMES = 1 << 31, 64, 1 << 25  # first number of quick games; of a seed's, so many
AHEAD = 256  # positions at most that an engine is sent before it has answered: with some 100 bytes each they fit a pipe

HELP = "make training data with any UCI, USI or GTP engine, or with a net"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = Recipe("")
    parser.description = (
        "Let an engine (UCI for chess, USI for shogi, GTP for Go) play itself from random openings and record its best "
        "lines, chances and results as .npz shards for az-engine train --supervised. A GTP engine must know "
        "kata-analyze or lz-analyze. The teacher may also be a net without search (--net), so that a small net learns "
        "what a large one knows. With --around either judges millions of positions, and --nnue also without. The same "
        "command resumes a run."
    )
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine label --engine stockfish --visits 2000 --games 2000 --out runs/data
  az-engine label --game go --size 9 --engine "katago gtp -model NET -config FILE" --out runs/go
  az-engine label --game shogi --engine fairy-stockfish --starts handicap --first-game 100000 --out runs/handicap
  az-engine label --net chess-conv --around runs/data --positions 10000000 --processes 2 --out runs/walks
  az-engine label --engine stockfish --visits 150 --ahead 256 --around runs/data --positions 10000000 --out runs/bulk
  az-engine label --nnue sf.nnue --positions 50000000 --processes 2 --out runs/quick"""
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
    teacher(
        "--nnue",
        metavar="FILE",
        type=Path,
        help="an engine's evaluation net, with captures played out: for chess Stockfish 15's, which its command "
        "export_net writes, for shogi an nn.bin of the type K+P or HalfKP; it judges positions of quick games of "
        "--student's net (default: the net inside the package), or with --around of small searches of that net",
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
    add(
        "--visits",
        "--nodes",
        type=int,
        dest="nodes",
        help=f"search each move with so many visits, or nodes as the engine counts them ({NODES}); over GTP at least",
    )
    add(
        "--ahead",
        type=int,
        metavar="N",
        help="with --around and --engine: send the engine so many positions before it has answered (1); more is "
        "several times as fast with an engine that reads on when a search has ended, as Stockfish does",
    )
    add(
        "--multipv",
        type=int,
        default=0,
        help="label so many moves of a position; 0 = as many as a record holds, one with --around and --engine",
    )
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
        "--around",
        metavar="DATA",
        type=Path,
        nargs="+",
        default=[],
        help="instead of games, label short walks that begin at the positions of labelled games (folders of shards, or "
        "shards) and leave these games; the net of --net, or that of --student with --engine, makes the moves; "
        "not in Go",
    )
    add("--positions", type=int, metavar="N", help="with --around or --nnue: positions in all (1,000,000)")
    add(
        "--search",
        type=int,
        metavar="VISITS",
        help="with --records: also search some positions with --student (default: the net inside the package) for "
        "VISITS visits, and label positions of these searches: they expose the net's errors; with --nnue and "
        f"--around: visits of the searches ({VISITS})",
    )
    add(
        "--least-visits",
        type=int,
        metavar="N",
        help="with --nnue and --around: label only positions that the search visited so often (1); the more, the more "
        "the policy is the search's, and not the net's own",
    )
    add(
        "--judge-moves",
        type=int,
        metavar="N",
        help="with --nnue: of each game or search label N positions alone, with the scores of what all their moves "
        "lead to: a policy to learn from; for searches best with --least-visits 2, as some nets are asked for moves "
        "on a second visit",
    )
    add(
        "--within",
        type=float,
        metavar="POINTS",
        help="with --nnue and --around: begin at positions whose expected points are so close to 0.5 by their labels, "
        "and without the up to three random moves before the search: positions that are still to be decided",
    )
    add(
        "--provider",
        default=default.provider,
        choices=get_args(Provider),
        help=f"for the nets of --net, --student and --search: {PROVIDER_HELP}",
    )
    add(
        "--starts",
        metavar="FILE",
        help="begin each game at one of these positions, one a line in the game's notation, or at one of its handicaps "
        "(handicap, in shogi) instead of the start position; not in Go",
    )
    add("--games", type=int, help="number of games (1000, or all those recorded)")
    add("--out", metavar="DIR", type=Path, required=True, help="folder of the shards")
    add("--processes", type=int, help="run so many engines side by side (1; with --ray one for each CPU)")
    add("--ray", metavar="ADDRESS", help=f"label on a Ray cluster: {RAY_HELP}")
    add(
        "--seed",
        type=int,
        default=default.seed,
        help="seed of openings, move choice and blunders; use another one for each folder",
    )
    add(
        "--first-game",
        type=int,
        help="number of the first game (0; with --around after those of DATA; with --nnue alone by the seed); ids must "
        "be unique over all folders used together",
    )
    add("--shard-positions", type=int, default=25_000, help="write so many positions into each file")
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
        f"({_listed(NET_TEMPERATURES)}; with --around {_listed(WALK_TEMPERATURES)}; with --nnue "
        f"{_listed(QUICK_TEMPERATURES)})",
    )
    add(
        "--blunders",
        type=_numbers(float),
        help=f"chances of a random move, one drawn per game ({_listed(BLUNDERS)}; with --around "
        f"{_listed(WALK_BLUNDERS)}; with --nnue {_listed(QUICK_BLUNDERS)})",
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
        _check_net(args, game)
    if args.nnue is not None:
        _check_nnue(args, game)
    console = Console(stderr=True)
    games = GAMES if args.games is None else args.games
    if args.records:
        found = len(read_played(get_game(game), form, args.records, console.print))
        games = min(found, games) if args.games is not None else found
        if not found:
            raise DataError("the records hold no finished game of this kind; give others")
    if args.student is not None:
        _try_net(args.student, game, args.provider)
    recipe = _recipe(args, game, form)
    in_bulk, positions = bool(recipe.around) or recipe.quick, args.positions or POSITIONS
    walks = (min(positions, QUICK_GAMES) if recipe.quick else positions) + WALKS  # a task may be begun for one position
    _check_numbers(recipe.first_game, walks if in_bulk else games)
    with RunLock(args.out), StopSignals() as signals:
        patiently = Patience(args.out, console.print, stopping=signals)
        store = Store(args.out, args.shard_positions, form.shards, patiently, WALKS if in_bulk else 1)
        tasks: Iterator[int]
        if in_bulk:
            total, there, unit = positions, store.positions, "positions"
            tasks = (task for task in count(recipe.first_game // WALKS) if task not in store.tasks)
            tasks = takewhile(lambda task: store.positions < total, tasks)
        else:
            missing = [game for game in range(recipe.first_game, recipe.first_game + games) if game not in store.tasks]
            total, there, unit, tasks = games, games - len(missing), "games", iter(missing)
        if there:
            console.print(f"{min(there, total):,} of {total:,} {unit} are there already")
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn(f"{unit}  {{task.fields[speed]}}"))
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
            bar = progress.add_task("", total=total, completed=min(there, total), speed="")
            begun, made, due = time.monotonic(), 0, 0.0
            try:
                for records in _labelled(args, recipe, tasks, signals, progress.console.print):
                    store.add(records)
                    made += len(records)
                    seconds = time.monotonic() - begun
                    speed = f"{made:,} positions, {made / seconds:,.0f}/s"
                    progress.update(bar, advance=len(records) if in_bulk else 1, speed=speed)
                    if seconds >= due and not console.is_terminal:
                        due = seconds + LINE_SECONDS
                        done = store.positions if in_bulk else len(store.tasks)
                        console.print(f"{min(done, total):,} of {total:,} {unit}  {speed}")
            finally:
                store.flush()
        if signals():
            console.print(f"stopped after {store.positions:,} positions; give the same command to go on")
            return 130
    games_text = "" if in_bulk else f" of {len(store.tasks):,} games"
    console.print(f"{args.out}: {store.positions:,} positions{games_text}")
    return 0


def _recipe(args: argparse.Namespace, game: str, form: LabelFormat) -> Recipe:
    """What the words ask for. Errors: OptionError, DataError."""
    within = 0.5 if args.within is None else args.within
    around, behind = sources_of(shard_format(game), args.around, within) if args.around else ((), 0)
    quick = args.nnue is not None and not args.around
    usual = (NET_TEMPERATURES, BLUNDERS) if args.engine is None else (ENGINE_TEMPERATURES, BLUNDERS)
    temperatures, blunders = (WALK_TEMPERATURES, WALK_BLUNDERS) if around else usual
    if quick:
        behind = QUICK_FIRST + args.seed % QUICK_SEEDS * QUICK_GAMES
        temperatures, blunders = QUICK_TEMPERATURES, QUICK_BLUNDERS
    first = behind if args.first_game is None else args.first_game
    nodes = NODES if args.nodes is None else args.nodes
    teacher: Engine | NnueFile | str = args.net if args.nnue is None else NnueFile(args.nnue)
    if args.engine is not None:
        teacher = Engine(_words(args.engine), _options(args.option), nodes, ahead=args.ahead or 1)
    return Recipe(
        teacher,
        game=game,
        lines=args.multipv or (1 if around and args.engine is not None else form.lines),
        seed=args.seed,
        openings=args.openings,
        temperatures=args.temperatures or temperatures,
        blunders=args.blunders or blunders,
        student=args.student or "",
        decided=args.decided,
        max_plies=args.max_plies or form.max_plies,
        first_game=-(-first // WALKS) * WALKS if around or quick else first,
        records=tuple(args.records),
        around=around,
        provider=args.provider,
        starts=() if args.starts is None else read_starts(get_game(game), args.starts),
        search=args.search or 0,
        least_visits=args.least_visits or 1,
        judged_moves=args.judge_moves or 0,
        further=FURTHER if args.within is None else 0,
    )


def _check_numbers(first: int, games: int) -> None:
    """Refuse numbers of games that a record does not hold. Errors: OptionError."""
    if not 0 <= first <= _NUMBERS - games:
        raise OptionError(
            f"games would be numbered from {first:,}; records hold numbers below {_NUMBERS:,}: "
            f"give a --first-game from 0 to {max(_NUMBERS - games, 0):,}"
        )


def _labelled(
    args: argparse.Namespace, recipe: Recipe, tasks: Iterator[int], stop: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[Records]:
    """The records of ``tasks``, made here or on a cluster. BLOCKS. Errors: AzError."""
    if args.ray is None:
        return label(recipe, tasks, args.processes or 1, stop)
    from .cluster import label_on

    return label_on(args.ray, recipe, tasks, args.processes or 0, stop, say)


def _check_words(args: argparse.Namespace, form: LabelFormat) -> None:
    """Refuse what makes no sense. Errors: OptionError."""
    if not 0 <= args.multipv <= form.lines:
        raise OptionError(f"--multipv is {args.multipv}; a record holds 1 to {form.lines} moves")
    if max(args.openings) > form.longest_opening:
        raise OptionError(f"--openings: a record holds an opening of {form.longest_opening} moves at most")
    if args.search is not None and not args.records and args.nnue is None:
        raise OptionError("--search is for games that were played, or for --nnue; give --records or leave it out")
    if args.records and args.student is not None and args.search is None:
        raise OptionError("--student is for games that the teacher plays, or for --search; leave it or --records out")
    if args.positions is not None and not args.around and args.nnue is None:
        raise OptionError("--positions is for walks; give the data that they begin in with --around, or --games")
    if args.starts is not None and args.records:
        raise OptionError("--starts is for games that the teacher plays; leave it or --records out")
    if args.around:
        _check_walks(args)
    if args.ahead is not None and not (args.around and args.engine):
        raise OptionError("--ahead is for an engine that labels walks; give --engine and --around, or leave it out")
    if args.ahead is not None and args.ahead > AHEAD:
        raise OptionError(f"--ahead is {args.ahead}; give {AHEAD} at most, or the pipe to the engine may be full")
    _check_searches(args)
    counts = {
        "--visits": args.nodes,
        "--ahead": args.ahead,
        "--positions": args.positions,
        "--games": args.games,
        "--search": args.search,
        "--least-visits": args.least_visits,
        "--judge-moves": args.judge_moves,
        "--processes": args.processes,
        "--shard-positions": args.shard_positions,
    }
    for word, given in counts.items():
        if given is not None and given < 1:
            raise OptionError(f"{word} is {given}; give 1 or more")
    if args.decided < 0:
        raise OptionError(f"--decided is {args.decided}; give centipawns, or 0 for the game's own number")


def _check_searches(args: argparse.Namespace) -> None:
    """Refuse what means nothing without --nnue. Errors: OptionError."""
    words = {"--least-visits": args.least_visits, "--judge-moves": args.judge_moves, "--within": args.within}
    for word, value in words.items():
        if value is not None and args.nnue is None:
            raise OptionError(f"{word} is for the searches of --nnue; leave it out")
    if args.within is not None and not 0 < args.within <= 0.5:
        raise OptionError(f"--within is {args.within:g}; give expected points above 0, 0.5 at most")


def _check_walks(args: argparse.Namespace) -> None:
    """Refuse what means nothing to walks. Errors: OptionError."""
    meant = {
        "--records": args.records,
        "--games": args.games,
        "--search": args.search if args.nnue is None else None,
        "--student": args.net is not None and args.student,
        "--starts": args.starts,
        "--decided": args.decided,
        "--max-plies": args.max_plies,
    }
    _refuse(meant, "walks around positions; leave it or --around out")


def _refuse(meant: dict[str, Any], reason: str) -> None:
    """Errors: OptionError naming the first word that was given."""
    for word, value in meant.items():
        if value:
            raise OptionError(f"{word} means nothing to {reason}")


def _check_net(args: argparse.Namespace, game: str) -> None:
    """Refuse what a net cannot do. Errors: OptionError, NetError."""
    if args.nodes is not None or args.option:
        raise OptionError("--visits and --option are for an engine; a net without search has neither")
    _try_net(args.net, game, args.provider)


def _check_nnue(args: argparse.Namespace, game: str) -> None:
    """Refuse what an evaluation net cannot do. Errors: OptionError, DataError."""
    if args.nodes is not None or args.option:
        raise OptionError("--visits and --option mean nothing to --nnue; leave them out")
    if args.around and (args.temperatures or args.blunders):
        raise OptionError("--temperatures and --blunders mean nothing to searches; leave them or --around out")
    if not args.around:
        _check_quick(args)
    family_of(game).read(args.nnue)


def _check_quick(args: argparse.Namespace) -> None:
    """Refuse what means nothing to quick games. Errors: OptionError."""
    meant = {
        "--records": args.records,
        "--games": args.games,
        "--search": args.search,
        "--least-visits": args.least_visits,
        "--within": args.within,
        "--decided": args.decided,
    }
    _refuse(meant, "the quick games of --nnue; leave it out, or give --around")


def _try_net(net: str, game: str, provider: str) -> None:
    """Let faults of a net come before the games. Errors: NetError."""
    RawNet(net, get_game(game), provider=provider, load=load_evaluator)


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


def label(
    recipe: Recipe, tasks: Iterable[int], processes: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Records]:
    """Do ``tasks`` (numbers of games, or of tasks of walks) in ``processes`` processes; yield each one's records.

    Once ``stop()`` is true, asked twice a second, only those that have begun are finished.
    Errors: EngineProcessError, NetError.
    """
    left = iter(tasks)
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
