"""A command's arguments, as its command line reads them."""

from __future__ import annotations

import argparse
from typing import Protocol


class Command(Protocol):
    """A module with arguments."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None: ...


def parsed(command: Command, *words: object) -> argparse.Namespace:
    """What the command is given by these words."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(list(map(str, words)))
