"""``az-engine bench match``: time a move that the match tool itself takes, beside the players' time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from ...engine.errors import OptionError, counted
from ...engine.games import get_game
from ...engine.os.process import module_command
from ..match.game import EnginePool, MatchSettings
from ..match.openings import choose_openings
from ..match.players import MoveLimit, PlayerSpec
from ..match.tournament import Tournament, schedule
from .measure import Measurement, show

_ONE_VISIT = MoveLimit(nodes=1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--games", type=int, default=20, metavar="N", help="games of 100 plies at most (default: %(default)s)"
    )


def main(args: argparse.Namespace) -> int:
    if args.games < 1:
        raise OptionError("--games must be 1 or more")
    show(_overhead(args.game, args.games), as_json=args.json)
    return 0


def _overhead(game: str, games: int) -> Iterator[Measurement]:
    protocol = get_game(game).protocol
    command = tuple(module_command("az_engine", protocol, "--weights-file", "uniform"))
    external = {"Threads": "1"} if protocol != "gtp" else {}
    if protocol != "gtp":
        yield _of("in this process", PlayerSpec("own", limit=_ONE_VISIT, net="uniform", options=external), game, games)
    else:
        command += ("--nodes-limit", "1", "--resign", "0")
    limit = MoveLimit() if protocol == "gtp" else _ONE_VISIT
    yield _of(f"over {protocol.upper()}", PlayerSpec("other", command, external, limit), game, games)


def _of(where: str, spec: PlayerSpec, game: str, games: int) -> Measurement:
    """Time a move that is on no player's clock: the arbiter, the record, the exchange with the other process."""
    settings = MatchSettings(game, (spec, spec), max_plies=100)
    plan = schedule([(0, 1)], choose_openings("random:8", game, (games + 1) // 2, 0), games)
    Tournament(settings, plan[:1]).run()  # kernels are compiled and loaded
    tournament = Tournament(settings, plan)
    pool = EnginePool(settings)
    for number in (0, 1):
        pool.ask(number, lambda player: player.new_game())  # their start is not a move's
    began, cpu = time.perf_counter(), time.process_time()
    tournament.run(pool=pool)
    total, cpu = time.perf_counter() - began, time.process_time() - cpu
    times = [seconds for game in tournament.finished for seconds in game.record.times if seconds is not None]
    moves = len(times)
    note = (
        f"{counted(moves, 'move')} of {counted(games, 'game')}, one visit each; "
        f"CPU of this process {1000 * cpu / moves:.2f} ms a move"
    )
    overhead = 1000 * (total - sum(times)) / moves
    return Measurement(f"match, {where}", overhead, "ms/move", "the players", 1000 * sum(times) / moves, note=note)
