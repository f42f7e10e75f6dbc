"""``az-engine bench rules``: random legal moves a second, for games whose rules are not measured by perft."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator

from ...engine.errors import OptionError
from ...engine.games import get_game
from ...engine.games.base import Game
from .measure import Measurement, show

_SECONDS = 0.5  # of games played at a time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Size of the board and number of rounds."""
    parser.add_argument("--size", type=int, metavar="N", help="lines of the board (default: the game's own)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="median of N (default: %(default)s)")


def main(args: argparse.Namespace) -> int:
    """Measure; 0."""
    if args.rounds < 1:
        raise OptionError("--rounds must be 1 or more")
    game = get_game(args.game)
    if args.size is not None:
        game = game.sized(args.size)
    show(_speed(game, args.rounds), as_json=args.json)
    return 0


def _speed(game: Game, rounds: int) -> Iterator[Measurement]:
    game.random_games(1, 0)  # loads the kernel
    count, speeds = 16, []
    start = time.perf_counter()
    game.random_games(count, 1)
    count = max(1, int(count * _SECONDS / (time.perf_counter() - start)))
    for seed in range(rounds):
        start = time.perf_counter()
        moves = game.random_games(count, seed)
        speeds.append(moves / (time.perf_counter() - start))
    size = "x".join(str(n) for n in game.planes[1:])
    how = f"{count:,} games of random legal moves a round, one thread, median of {rounds}"
    yield Measurement(f"rules, {game.name} {size}", statistics.median(speeds), "moves/s", note=how)
