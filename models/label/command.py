"""``az-engine label``: make training data. A source gives positions, a teacher judges them, a writer fills shards."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...cluster import RAY_HELP
from ...engine.errors import OptionError, counted
from ...engine.games import game_names
from ...engine.nets.opinions import RawNet
from ..data.shards import Records
from ..fields import Help, flags_of
from ..net.providers import PROVIDER_HELP, Provider, load_evaluator
from ..signals import StopSignals
from ..storage import Patience, RunLock
from . import sources, teachers
from .flags import Net, add_flags, built, given_in, kinds_in, refuse_others
from .job import Job, Source, TeacherKind
from .pool import label
from .writer import Writer

SOURCES: dict[str, type[Source]] = kinds_in(sources, "SOURCE")
TEACHERS: dict[str, type[TeacherKind]] = kinds_in(teachers, "TEACHER")
_AMOUNTS = ("--games", "--positions")
_NUMBERS = 1 << 32  # of games, in a record
LINE_SECONDS = 60.0  # between lines of progress where there is no terminal

HELP = "make training data with any UCI, USI or GTP engine, or with a net"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    order = sorted(SOURCES, key=lambda name: SOURCES[name].needs)
    parser.description = f"""\
A source gives positions, a teacher judges them; .npz shards for az-engine train --supervised hold its best moves and
chances, and the games' results. The same command goes on with a run that was stopped.

sources:
{"".join(f"  {name:8} {SOURCES[name].meaning}" + chr(10) for name in order)}
teachers: any engine (UCI for chess, USI for shogi, GTP with kata-analyze or lz-analyze for Go), a net without search,
or an engine's evaluation net. Every teacher judges positions of every source; records of Go hold whole games alone."""
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine label --engine stockfish --visits 2000 --games 2000 --out runs/data
  az-engine label --game go --size 9 --engine "katago gtp -model NET -config FILE" --out runs/go
  az-engine label --game shogi --engine fairy-stockfish --starts handicap --first-game 100000 --out runs/handicap
  az-engine label --net chess-conv --around runs/data --positions 10000000 --processes 2 --out runs/walks
  az-engine label --engine stockfish --visits 150 --ahead 256 --around runs/data --positions 10000000 --out runs/bulk
  az-engine label --nnue sf.nnue --positions 50000000 --processes 2 --out runs/quick
  az-engine label --nnue sf.nnue --source walks --around runs/data --out runs/walks"""
    add = parser.add_argument
    add("--game", default="chess", choices=game_names(), help="the game")
    add("--size", type=int, metavar="N", help="lines of the Go board (9)")
    add("--source", choices=tuple(SOURCES), help="where positions come from; found by the flags where it is left out")
    add_flags(parser, {**TEACHERS, **SOURCES}, {name: f"--{kind.needs}" for name, kind in TEACHERS.items()})
    add(
        "--multipv",
        type=int,
        default=0,
        help="label so many moves of a position; 0 = as many as a record holds, one where an engine judges positions "
        "without their games",
    )
    add("--provider", default="cpu", choices=get_args(Provider), help=f"for all nets: {PROVIDER_HELP}")
    add("--out", metavar="DIR", type=Path, required=True, help="folder of the shards")
    add("--processes", type=int, help="label in so many processes side by side (1; with --ray one for each CPU)")
    add("--ray", metavar="ADDRESS", help=f"label on a Ray cluster: {RAY_HELP}")
    add("--seed", type=int, default=0, help="seed of all that is random; use another one for each folder")
    add(
        "--first-game",
        type=int,
        help="number of the first game (0; with --around after those of DATA; of quick games by the seed); must be "
        "unique over all folders used together",
    )
    add("--shard-positions", type=int, default=25_000, help="write so many positions into each file")


def chosen(args: argparse.Namespace) -> tuple[Source, TeacherKind]:
    """The source and the teacher that the flags mean. Errors: OptionError."""
    kinds = {**TEACHERS, **SOURCES}
    given = given_in(args, kinds)
    teacher = next(name for name, kind in TEACHERS.items() if kind.needs in given)
    meant = {name: kind for name, kind in SOURCES.items() if set(kind.needs) <= given.keys()}
    most = max(len(kind.needs) for kind in meant.values())
    fitting = [name for name, kind in meant.items() if len(kind.needs) == most]
    source = args.source or next((name for name in TEACHERS[teacher].prefers if name in fitting), fitting[0])
    missing = [f"--{name}" for name in SOURCES[source].needs if name not in given]
    if missing:
        raise OptionError(f"--source {source} needs {' and '.join(missing)}")
    refuse_others(given, kinds, {source: SOURCES[source], teacher: TEACHERS[teacher]})
    return built(SOURCES[source], args), built(TEACHERS[teacher], args)


def job_of(args: argparse.Namespace, say: Callable[[str], None]) -> Job:
    """What to do; whatever cannot be is refused here. BLOCKS. Errors: AzError."""
    source, teacher = chosen(args)
    game = args.game if args.size is None else f"{args.game}{args.size}"
    job = Job(source, teacher, game, seed=args.seed, provider=args.provider)
    if not 0 <= args.multipv <= job.form.lines:
        raise OptionError(f"--multipv is {args.multipv}; a record holds 1 to {counted(job.form.lines, 'move')}")
    for flag, given in {"--processes": args.processes, "--shard-positions": args.shard_positions}.items():
        if given is not None and given < 1:
            raise OptionError(f"{flag} is {given}; give 1 or more")
    usual = teacher.alone if source.alone else None
    job = replace(job, lines=args.multipv or usual or job.form.lines)
    teacher.check(job)
    for name in vars(source).values():
        if isinstance(name, Net) and name not in ("", "default"):  # its faults come before the games
            RawNet(name, job.game, provider=job.provider, load=load_evaluator)
    source = source.prepared(job, say)
    first = source.first_game(args.seed) if args.first_game is None else args.first_game
    first = -(-first // source.each) * source.each
    most = source.total + source.each if source.alone else source.total  # a task may be begun for one position
    if not 0 <= first <= _NUMBERS - most:
        raise OptionError(
            f"games would be numbered from {first:,}; records hold numbers below {_NUMBERS:,}: "
            f"give a --first-game from 0 to {max(_NUMBERS - most, 0):,}"
        )
    return replace(job, source=source, first_game=first)


def settings_of(job: Job) -> dict[str, Any]:
    """What a task's records depend on, by flag, ready for JSON; how many are made may change."""
    source = next(name for name, kind in SOURCES.items() if type(job.source) is kind)
    settings: dict[str, Any] = {"--game": job.game_name, "--source": source}
    for kind in (job.teacher, job.source):
        flags = flags_of(type(kind))
        settings |= {flag: getattr(kind, f.name) for flag, _, f, _, _ in flags if flag not in _AMOUNTS}
    settings |= {"--multipv": job.lines, "--seed": job.seed}
    return dict(json.loads(json.dumps(settings, default=str)))


def main(args: argparse.Namespace) -> int:
    console = Console(stderr=True)
    job = job_of(args, console.print)
    source, unit = job.source, "positions" if job.source.alone else "games"
    with RunLock(args.out), StopSignals() as signals:
        patiently = Patience(args.out, console.print, stopping=signals)
        writer = Writer(args.out, args.shard_positions, job.form.shards, patiently, source.each)
        writer.go_on_with(settings_of(job))

        def done() -> int:
            return writer.positions if source.alone else len(writer.tasks & requested)

        begin, total = job.first_game // source.each, source.total
        requested = set() if source.alone else set(range(begin, begin + total))
        tasks: Iterator[int] = (task for task in count(begin) if task not in writer.tasks)
        tasks = takewhile(lambda task: done() < total if source.alone else task < begin + total, tasks)
        if done():
            console.print(f"{min(done(), total):,} of {total:,} {unit} are there already")
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn(f"{unit}  {{task.fields[speed]}}"))
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
            bar = progress.add_task("", total=total, completed=min(done(), total), speed="")
            begun, made, due = time.monotonic(), 0, 0.0
            try:
                for records in _labelled(args, job, tasks, signals, progress.console.print):
                    writer.add(records)
                    made += len(records)
                    seconds = time.monotonic() - begun
                    speed = f"{counted(made, 'position')}, {made / seconds:,.0f}/s"
                    progress.update(bar, completed=min(done(), total), speed=speed)
                    if seconds >= due and not console.is_terminal:
                        due = seconds + LINE_SECONDS
                        console.print(f"{min(done(), total):,} of {total:,} {unit}  {speed}")
            finally:
                writer.flush()
        if signals():
            console.print(f"stopped after {counted(writer.positions, 'position')}; give the same command to go on")
            return 130
    games = "" if source.alone else f" of {counted(len(writer.tasks), 'game')}"
    console.print(f"{args.out}: {counted(writer.positions, 'position')}{games}")
    return 0


def _labelled(
    args: argparse.Namespace, job: Job, tasks: Iterator[int], stop: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[Records]:
    """The records of ``tasks``, made here or on a cluster. BLOCKS. Errors: AzError."""
    if args.ray is None:
        return label(job, tasks, args.processes or 1, stop)
    from .cluster import label_on

    return label_on(args.ray, job, tasks, args.processes or 0, stop, say)
