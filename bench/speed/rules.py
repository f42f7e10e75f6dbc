"""``az-engine bench perft|rules``: the speed of a game's rules, as leaves of the move tree or as random games.

``rules`` is for games with a kernel of random games, such as Go.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from ...engine.errors import EngineProcessError, OptionError, counted
from ...engine.games import get_game
from ...engine.games.base import Game, State
from ...engine.games.rules import line_of
from ...engine.os.system import split_command
from ...protocols.clients import uci_client_of
from ...protocols.clients.process import EngineProcess
from .measure import Measurement, show

ROUNDS = 3
_LEAVES = 200_000_000  # at most so many at the default depth: chess 6, shogi 5, Go on 9x9 4 plies
_TRIAL_SECONDS = 1.0  # a depth that takes longer is the default depth
_PEER_SECONDS = 600.0
_GAMES_SECONDS = 0.5  # of random games in a round


def add_perft_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--fen", metavar="POSITION", help="count from this FEN or SFEN (default: the start position)")
    parser.add_argument("--variant", metavar="NAME", help="form of the game that the position is of, such as chess960")
    parser.add_argument(
        "--depth", type=int, metavar="N", help="plies to count (default: some seconds' worth, such as 6 in chess)"
    )
    parser.add_argument(
        "--peer",
        metavar="CMD",
        help="an engine with `go perft` to time beside us (default: stockfish, or for shogi cshogi, if installed)",
    )


def perft(args: argparse.Namespace) -> int:
    """Measure the move tree; 0."""
    game = get_game(args.game)
    if args.variant is not None:
        game = game.variant(args.variant)
    if args.depth is not None and args.depth < 1:
        raise OptionError("--depth must be 1 or more")
    show(_speed(game, args), as_json=args.json)
    return 0


def default_depth(game: Game, state: State) -> int:
    """The greatest depth with about ``_LEAVES`` leaves at most, if each ply grows as the one before it."""
    depth, before, leaves, seconds = 1, 1, len(game.legal_moves(line_of(state))), 0.0
    while leaves > 0 and seconds < _TRIAL_SECONDS:
        branching = leaves / before
        if leaves * branching**2 > _LEAVES:
            return depth + (leaves * branching <= _LEAVES)
        start = time.perf_counter()
        deeper = sum(game.perft(state, depth + 1).values())
        if deeper == 0:
            break
        depth, before, leaves, seconds = depth + 1, leaves, deeper, time.perf_counter() - start
    return depth


class Peer(Protocol):
    """Another program or library that counts leaves."""

    name: str  # what it is and how it is timed

    def count(self, position: str, depth: int) -> tuple[int, float]:
        """(leaves, seconds). Errors: EngineProcessError."""

    def close(self) -> None:
        """End it."""


class ProgramPeer:
    """An engine that answers ``go perft N``."""

    def __init__(self, command: list[str], protocol: str, variant: str | None = None) -> None:
        """Errors: EngineProcessError when it cannot be started or does not greet; OptionError for its protocol."""
        client = uci_client_of(protocol)
        self._position = f"position {client.notation}"
        self._process = EngineProcess(command)
        self.name = f"{Path(command[0]).name}, timed from `go perft` to its answer"
        try:
            self._process.send(client.greeting[0])
            self._process.until(client.greeting[1], _PEER_SECONDS)
            if variant == "chess960":
                self._process.send("setoption name UCI_Chess960 value true")
        except EngineProcessError:
            self._process.kill()
            raise

    def count(self, position: str, depth: int) -> tuple[int, float]:
        self._process.send("isready")
        self._process.until("readyok", _PEER_SECONDS)
        self._process.send(f"{self._position} {position}")
        start = self._process.seconds
        self._process.send(f"go perft {depth}")
        line, arrival = self._process.until("Nodes", _PEER_SECONDS)
        return int(line.split()[-1]), arrival - start

    def close(self) -> None:
        self._process.close()


class CshogiPeer:
    """The library cshogi, in a Python loop; it too only counts the last ply."""

    def __init__(self) -> None:
        """Errors: ImportError where it is not installed."""
        import cshogi

        self.name = f"cshogi {importlib.metadata.version('cshogi')} in a Python loop"
        self._board = cshogi.Board()

    def count(self, position: str, depth: int) -> tuple[int, float]:
        self._board.set_sfen(position)
        start = time.perf_counter()
        return self._leaves(depth), time.perf_counter() - start

    def _leaves(self, depth: int) -> int:
        moves = self._board.legal_moves
        if depth == 1:
            return len(moves)
        total = 0
        for move in moves:
            self._board.push(move)
            total += self._leaves(depth - 1)
            self._board.pop()
        return total

    def close(self) -> None:
        """The library holds no process."""


def _find_peer(game: Game, args: argparse.Namespace) -> Peer | None:
    """The named peer, or the game's usual one if it is installed. Errors: EngineProcessError, OptionError."""
    command = split_command(args.peer or "")
    if not command and game.name == "chess":
        result = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")
        command = [result] if result else []
    if command:
        return ProgramPeer(command, game.protocol, args.variant)
    with contextlib.suppress(ImportError):
        return CshogiPeer() if game.name == "shogi" else None
    return None


def _speed(game: Game, args: argparse.Namespace) -> Iterator[Measurement]:
    fen: str | None = args.fen
    line, notes = (game.initial(), []) if fen is None else game.parse_position(fen)
    for note in notes:
        print(note, file=sys.stderr)
    state = line[-1]
    game.perft(state, 2)  # loads the kernels
    depth = args.depth or default_depth(game, state)
    peer = _find_peer(game, args)
    speeds, other, ratios = [], [], []
    try:
        for _ in range(ROUNDS):
            nodes, seconds = _count(game, state, depth)
            speeds.append(nodes / seconds)
            if peer is not None:
                their_nodes, their_seconds = peer.count(game.format_position(state), depth)
                if their_nodes != nodes:
                    raise EngineProcessError(f"{peer.name} counts {their_nodes:,} leaves where we count {nodes:,}")
                other.append(their_nodes / their_seconds)
                ratios.append(speeds[-1] / other[-1])
    finally:
        if peer is not None:
            peer.close()
    yield Measurement(
        f"perft {depth} of {fen or 'the start position'}",
        statistics.median(speeds),
        "nodes/s",
        peer=None if peer is None else peer.name,
        peer_value=statistics.median(other) if other else None,
        ratio=statistics.median(ratios) if ratios else None,
        note=f"{nodes:,} leaves, one thread, last ply counted in bulk, median of {ROUNDS}",
    )


def _count(game: Game, state: State, depth: int) -> tuple[int, float]:
    """(leaves, seconds)."""
    start = time.perf_counter()
    nodes = sum(game.perft(state, depth).values())
    return nodes, time.perf_counter() - start


def add_rules_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``bench rules``."""
    parser.add_argument("--size", type=int, metavar="N", help="lines of the board (default: the game's own)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="median of N (default: %(default)s)")


def rules(args: argparse.Namespace) -> int:
    """Measure random games; 0."""
    if args.rounds < 1:
        raise OptionError("--rounds must be 1 or more")
    game = get_game(args.game)
    show(_random_games(game if args.size is None else game.sized(args.size), args.rounds), as_json=args.json)
    return 0


@runtime_checkable
class RandomGames(Protocol):
    """A game that has a kernel of random games."""

    def random_games(self, count: int, seed: int) -> int:
        """Play ``count`` games of random legal moves; returns the moves played."""


def _random_games(game: Game, rounds: int) -> Iterator[Measurement]:
    if not isinstance(game, RandomGames):
        raise OptionError(f"the rules of {game.name} are measured by az-engine bench perft")
    game.random_games(1, 0)  # loads the kernel
    count, speeds = 16, []
    start = time.perf_counter()
    game.random_games(count, 1)
    count = max(1, int(count * _GAMES_SECONDS / (time.perf_counter() - start)))
    for seed in range(rounds):
        start = time.perf_counter()
        moves = game.random_games(count, seed)
        speeds.append(moves / (time.perf_counter() - start))
    size = "x".join(str(n) for n in game.planes[1:])
    how = f"{counted(count, 'game')} of random legal moves a round, one thread, median of {rounds}"
    yield Measurement(f"rules, {game.name} {size}", statistics.median(speeds), "moves/s", note=how)
