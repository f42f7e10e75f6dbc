"""``az-engine bench startup``: the engine as a GUI sees it, a process: latency of its answers."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...engine.errors import EngineProcessError, OptionError, counted
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.nets.weights import load_evaluator
from ...engine.os.process import module_command
from ...protocols.clients.process import EngineProcess
from .measure import Measurement, percentile, show

_PATIENCE = 120.0  # s


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a bench sends in one protocol: lines, each with the first word of the line that ends its answer."""

    hello: tuple[str, str]
    ready: tuple[str, str]  # answered once kernels and net are loaded
    stop: tuple[str, str]
    move: tuple[tuple[str, ...], str]  # one visit in the start position
    think: str  # starts a search that only ``stop`` ends
    flags: tuple[str, ...] = ()  # of the engine, so that ``move`` is one visit
    what: tuple[str, str, str] = ("uciok", "readyok", "stop to bestmove")  # names of the measured answers

    def position(self, game: Game, moves: Sequence[tuple[int, str]]) -> list[str]:
        """The lines that set up a game; moves: (player 0 or 1, move as the protocol writes it)."""
        if game.protocol == "gtp":
            return ["clear_board", *(f"play {'bw'[player]} {move}" for player, move in moves)]
        return [" ".join(["position startpos", "moves", *(move for _, move in moves)])]


_ONE_VISIT = (("position startpos", "go nodes 1"), "bestmove")
_UCI = Dialogue(("uci", "uciok"), ("isready", "readyok"), ("stop", "bestmove"), _ONE_VISIT, "go infinite")
_DIALOGUES = {
    "uci": _UCI,
    "usi": replace(_UCI, hello=("usi", "usiok"), what=("usiok", "readyok", "stop to bestmove")),
    "gtp": Dialogue(
        ("1 protocol_version", "=1"),
        ("2 boardsize 9", "=2"),
        ("4 name", "=4"),
        (("3 genmove b",), "=3"),
        "kata-analyze 10",
        flags=("--nodes-limit", "1"),
        what=("first reply", "boardsize", "analysis to the answer of the next command"),
    ),
}


def dialogue(game: Game) -> Dialogue:
    return _DIALOGUES[game.protocol]


def add_startup_arguments(parser: argparse.ArgumentParser) -> None:
    add_net_argument(parser)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="warm starts (default: %(default)s)")
    parser.add_argument("--stops", type=int, default=60, metavar="N", help="searches to stop (default: %(default)s)")
    parser.add_argument("--no-cold", action="store_true", help="leave out the start that compiles all kernels")


def startup(args: argparse.Namespace) -> int:
    if min(args.rounds, args.stops) < 1:
        raise OptionError("--rounds and --stops must be 1 or more")
    check_net(args)
    show(_startup(args), as_json=args.json)
    return 0


def add_net_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--net", metavar="FILE", help="an ONNX net (default: the net inside the package)")


def check_net(args: argparse.Namespace) -> None:
    """Errors: NetError for a net that the engine cannot load; it would play on with another."""
    if args.net:
        load_evaluator(args.net, get_game(args.game))


def engine_of(args: argparse.Namespace, *flags: str, environment: dict[str, str] | None = None) -> EngineProcess:
    """Our engine for a game, in the protocol it is played over."""
    command = module_command("az_engine", get_game(args.game).protocol, "--game", args.game, *flags)
    return EngineProcess([*command, "--weights-file", args.net] if args.net else command, environment=environment)


def _startup(args: argparse.Namespace) -> Iterator[Measurement]:
    talk = dialogue(get_game(args.game))
    greeted_by, readied_by, stopped_by = talk.what
    _start(args)  # fills the kernel cache
    bare: list[float] = []
    starts: list[tuple[float, float, float]] = []
    for _ in range(args.rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", ""], check=True)
        bare.append(time.perf_counter() - start)
        starts.append(_start(args))
    python = statistics.median(bare)
    greeted, ready, moved = (statistics.median(times) for times in zip(*starts, strict=True))
    how = f"from the start of the process, median of {args.rounds}"
    yield Measurement(greeted_by, greeted, "s", "python that does nothing", python, note=how)
    yield Measurement(f"{readied_by}, warm", ready, "s", "python that does nothing", python, note=how)
    yield Measurement("first move, warm", moved, "s", note=f"one visit, {how}")
    if not args.no_cold:
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"AZ_ENGINE_CACHE": cache}
            lines: list[str] = []
            seconds = _start(args, environment, lines)[1]
        compiling = sum("compil" in line for line in lines)
        yield Measurement(
            f"{readied_by}, cold", seconds, "s", note=f"empty kernel cache; {compiling} lines on stdout about compiling"
        )
    stops = _stop_times(args)
    how = f"{talk.think} in {counted(args.stops, 'position')}, stopped after 20 to 300 ms"
    for percent in (50, 95, 100):
        name = {50: "median", 95: "95th percentile", 100: "worst"}[percent]
        yield Measurement(f"{stopped_by}, {name}", 1000 * percentile(stops, percent), "ms", note=how)


def _start(
    args: argparse.Namespace, environment: dict[str, str] | None = None, lines: list[str] | None = None
) -> tuple[float, float, float]:
    """Seconds from a process's start to its greeting, being ready and its first move. Errors: EngineProcessError."""
    talk = dialogue(get_game(args.game))
    with engine_of(args, *talk.flags, environment=environment) as process:
        greeted = ask(process, talk.hello)
        ready = ask(process, talk.ready, None if lines is None else lines.append)
        position, moved_by = talk.move
        for line in position:
            process.send(line)
        _, moved = process.until(moved_by, _PATIENCE)
        return greeted, ready, moved


def _stop_times(args: argparse.Namespace) -> list[float]:
    """Seconds from `stop` to its answer, in positions of random games. Errors: EngineProcessError."""
    rng = random.Random(0)
    rules = get_game(args.game)
    talk = dialogue(rules)
    times = []
    with engine_of(args) as process:
        ask(process, talk.ready)
        for _ in range(args.stops):
            line = rules.initial()
            moves: list[tuple[int, str]] = []
            for _ in range(rng.randrange(40)):
                legal = rules.legal_moves(line)
                if len(legal) == 0:
                    break
                move = int(rng.choice(legal.tolist()))
                moves.append((rules.side_to_move(line[-1]), rules.format_move(line[-1], move)))
                line = rules.play(line, move)
            for text in talk.position(rules, moves):
                process.send(text)
            process.send(talk.think)
            time.sleep(rng.uniform(0.02, 0.3))
            start = process.seconds
            arrival = ask(process, talk.stop)
            if arrival < start:
                raise EngineProcessError(f"{process.name} answered `{talk.think}` before `{talk.stop[0]}`")
            times.append(arrival - start)
    return times


def ask(process: EngineProcess, exchange: tuple[str, str], on_line: Callable[[str], None] | None = None) -> float:
    """Send a line; when its answer came, in seconds since the process started. Errors: EngineProcessError."""
    line, answered_by = exchange
    process.send(line)
    return process.until(answered_by, _PATIENCE, on_line)[1]
