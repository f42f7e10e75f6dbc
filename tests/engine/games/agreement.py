"""Our rules beside an independent library over random games, by hand: the loop and the report of each game."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any


def compare(
    arguments: list[str] | None,
    game: str,
    positions: Callable[[random.Random], Iterator[Any]],
    differences: Callable[[Any, dict[int, Any]], list[str]],
    place: Callable[[Any], str],
    kinds: Callable[[Any], dict[str, bool]],
) -> int:
    """The exit status. ``kinds``: what is counted of each position; ``place``: where it is, for people."""
    parser = argparse.ArgumentParser(description=f"Compare our rules of {game} over random games.")
    parser.add_argument("--positions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    keys: dict[int, Any] = {}
    counts, wrong, number = Counter[str](), 0, 0
    for number, match in enumerate(positions(random.Random(options.seed)), 1):
        faults = differences(match, keys)
        if faults:
            wrong += 1
            print(f"{place(match)}: {'; '.join(faults)}")
        counts.update({kind: int(holds) for kind, holds in kinds(match).items()})
        if number % 1000 == 0:
            print(f"\r{number} positions", end="", file=sys.stderr, flush=True)
        if number >= options.positions:
            break
    print(file=sys.stderr)
    print(f"of them {', '.join(f'{count} {kind}' for kind, count in counts.items())}")
    print(f"{number} positions, {len(keys)} different, {wrong} differences")
    return 1 if wrong else 0
