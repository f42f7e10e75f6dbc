"""``az-engine bench perft``: leaves of the legal move tree, as speed beside a peer or as a check of known counts."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import AzError, DataError, EngineProcessError, OptionError
from ..engine.games import get_game
from ..engine.games.base import Game, State
from .measure import Measurement, show
from .process import EngineProcess

ROUNDS = 3
DEFAULT_DEPTH = 6
PEERS = {"chess": "stockfish"}  # programs that answer `go perft N`, looked for on PATH and in /usr/games
_PEER_SECONDS = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A position, or a file of counts."""
    parser.add_argument("--fen", metavar="POSITION", help="count from here (default: the start position)")
    parser.add_argument(
        "--depth", type=int, default=DEFAULT_DEPTH, metavar="N", help="plies to count (default: %(default)s)"
    )
    parser.add_argument(
        "--peer", metavar="CMD", help="a UCI engine to time beside us (default: stockfish if installed)"
    )
    parser.add_argument(
        "--suite",
        type=Path,
        metavar="FILE",
        help="check every count of a JSON-lines file: fen, variant, perft [n1, n2, ...]",
    )
    parser.add_argument("--max-nodes", type=int, metavar="N", help="with --suite: leave out counts greater than N")


def main(args: argparse.Namespace) -> int:
    """Measure or check; 1 when a count of the suite is wrong."""
    game = get_game(args.game)
    if args.suite is not None:
        return check_suite(game, args.suite, args.max_nodes, as_json=args.json)
    if args.depth < 1:
        raise OptionError("--depth must be 1 or more")
    peer = _find_peer(args.game, args.peer)
    title = f"perft {args.depth} of {args.fen or 'the start position'}"
    show(_speed(game, args.fen, args.depth, peer, title), as_json=args.json)
    return 0


def _speed(game: Game, fen: str | None, depth: int, peer: list[str] | None, title: str) -> Iterator[Measurement]:
    line, notes = (game.initial(), []) if fen is None else game.parse_position(fen)
    for note in notes:
        print(note, file=sys.stderr)
    state = line[-1]
    game.perft(state, 2)  # loads the kernels
    process = None if peer is None else EngineProcess(peer)
    own, other, ratios = [], [], []
    try:
        for _ in range(ROUNDS):
            nodes, seconds = _count(game, state, depth)
            own.append(nodes / seconds)
            if process is not None:
                their_nodes, their_seconds = _ask(process, game.format_position(state), depth)
                if their_nodes != nodes:
                    raise EngineProcessError(f"{peer} counts {their_nodes:,} leaves where we count {nodes:,}")
                other.append(their_nodes / their_seconds)
                ratios.append(own[-1] / other[-1])
    finally:
        if process is not None:
            process.close()
    yield Measurement(
        title,
        statistics.median(own),
        "nodes/s",
        peer=None if peer is None else f"{Path(peer[0]).name}, timed from `go perft` to its answer",
        peer_value=statistics.median(other) if other else None,
        ratio=statistics.median(ratios) if ratios else None,
        note=f"{nodes:,} leaves, one thread, last ply counted in bulk, median of {ROUNDS}",
    )


def _count(game: Game, state: State, depth: int) -> tuple[int, float]:
    """(leaves, seconds)."""
    start = time.perf_counter()
    nodes = sum(game.perft(state, depth).values())
    return nodes, time.perf_counter() - start


def _find_peer(game: str, command: str | None) -> list[str] | None:
    if command:
        return shlex.split(command)
    name = PEERS.get(game)
    found = name and (shutil.which(name) or shutil.which(name, path="/usr/games"))
    return [found] if found else None


def _ask(process: EngineProcess, position: str, depth: int) -> tuple[int, float]:
    """(leaves, seconds) of a peer that is already running. Errors: EngineProcessError."""
    process.send("isready")
    process.until("readyok", _PEER_SECONDS)
    process.send(f"position fen {position}")
    start = time.perf_counter()
    process.send(f"go perft {depth}")
    arrival, line = process.until("Nodes", _PEER_SECONDS)
    return int(line.split()[-1]), arrival - start


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a suite."""

    name: str
    position: str
    chess960: bool
    counts: tuple[int, ...]  # of depths 1, 2, ...


def read_suite(path: Path) -> list[Sample]:
    """Errors: DataError naming the line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the suite {path}: {error}") from None
    samples = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            position = data["fen"] if "fen" in data else data["sfen"]
            counts = tuple(int(n) for n in data["perft"])
            chess960 = data.get("variant") == "chess960"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DataError(f'{path}, line {number}: expected {{"fen": "...", "perft": [n1, n2, ...]}}') from None
        samples.append(Sample(str(data.get("id", f"line {number}")), str(position), chess960, counts))
    if not samples:
        raise DataError(f"{path} holds no position")
    return samples


def check_suite(game: Game, path: Path, max_nodes: int | None, *, as_json: bool) -> int:
    """Compare every count of a file with ours; 1 when one is wrong.

    A position that cannot be set up makes all its counts wrong. Errors: DataError.
    """
    samples = read_suite(path)
    total, wrong, leaves = 0, 0, 0
    start = time.perf_counter()
    for sample in samples:
        wanted = [n for n in sample.counts if max_nodes is None or n <= max_nodes]
        total += len(wanted)
        try:
            state = game.parse_position(sample.position, chess960=sample.chess960)[0][-1]
        except AzError as error:
            wrong += len(wanted)
            print(f"{sample.name}: {error}", file=sys.stderr)
            continue
        for depth, expected in enumerate(sample.counts, 1):
            if max_nodes is not None and expected > max_nodes:
                continue
            found = sum(game.perft(state, depth).values())
            leaves += found
            if found != expected:
                wrong += 1
                print(f"{sample.name}: depth {depth} has {expected:,} leaves, not {found:,}", file=sys.stderr)
    seconds = time.perf_counter() - start
    if as_json:
        note = f"{leaves:,} leaves in {seconds:.1f} s"
        figures = (("counts", total), ("wrong", wrong))
        show((Measurement(f"{path.name}: {what}", n, "counts", note=note) for what, n in figures), as_json=True)
    else:
        print(f"{total} counts, {wrong} wrong")
    return 1 if wrong else 0
