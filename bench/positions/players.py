"""The players of a command that gives them positions instead of games."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ...engine.errors import EngineProcessError, OptionError, counted
from ...engine.limits import Limits
from ..match.players import MoveLimit, Player, PlayerSpec, launch, parse_spec

_T = TypeVar("_T")
READY_S, ENDLESS_S, LINE_S = 60.0, 300.0, 60.0


def add_player_argument(parser: argparse.ArgumentParser) -> None:
    help_text = "a player; can be repeated"
    parser.add_argument(
        "-P", "--player", dest="players", metavar="SPEC", action="append", required=True, help=help_text
    )


def read_players(texts: list[str], common: MoveLimit, protocol: str) -> list[PlayerSpec]:
    """The players of the flags. Errors: OptionError, also for two of one name or without limits of a move."""
    specs = [parse_spec(text, protocol).with_limit(common, protocol) for text in texts]
    if len({spec.name for spec in specs}) < len(specs):
        raise OptionError("two players have the same name; give one of them name=")
    for spec in specs:
        if protocol != "gtp" or spec.is_az_engine:  # GTP tells few limits: other engines may have their own
            limits_of(spec)
    return specs


def limits_of(spec: PlayerSpec) -> Limits:
    """The limits of one move. Errors: OptionError for a player with a clock or without a limit."""
    limit = spec.limit
    if limit.base_ms is not None or not limit.given:
        raise OptionError(f"player {spec.name} needs visits=N, depth=N or seconds=S: there are no clocks here")
    return Limits(nodes=limit.nodes, depth=limit.depth, movetime=limit.movetime_ms)


@contextmanager
def running(spec: PlayerSpec, game: str) -> Iterator[Player]:
    """The player, until the block ends. BLOCKS. Errors: NetError, EngineProcessError, which names the player."""
    try:
        player = launch(spec, game, ready_s=READY_S, endless_s=ENDLESS_S)
        try:
            yield player
        finally:
            player.close()
    except EngineProcessError as error:
        raise EngineProcessError(f"player {spec.name}: {error}") from error


def track(items: Sequence[_T], name: str) -> Iterator[_T]:
    """The items, one after another, with a bar on a terminal, else with a line a minute on stderr."""
    shown = time.monotonic()
    with progress() as bar:
        for number, item in enumerate(bar.track(items, description=name)):
            if not sys.stderr.isatty() and time.monotonic() > shown + LINE_S:
                print(f"{name}: {number} of {counted(len(items), 'position')}", file=sys.stderr, flush=True)
                shown = time.monotonic()
            yield item


def progress() -> Progress:
    """A bar on stderr for a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
