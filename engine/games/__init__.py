"""The games, one folder each; a folder on the path that offers ``GAME`` is a game.

``GAME`` is an instance of :class:`base.Game`. It knows its rules, planes and moves, and neither tree nor
net. :func:`register_path` adds directories with folders of games, as does the environment variable AZ_ENGINE_GAMES
(several directories separated as in PATH).
"""

from __future__ import annotations

import importlib
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OptionError
from ..os.files import packages_with

if TYPE_CHECKING:
    from .base import Game


def register_path(directory: Path) -> None:
    """Find games in ``directory``, too; the package's own come first."""
    if str(directory) not in __path__:
        __path__.append(str(directory))


for _directory in os.environ.get("AZ_ENGINE_GAMES", "").split(os.pathsep):
    if _directory:
        register_path(Path(_directory).resolve())


def registered_paths() -> list[str]:
    """The directories that have been registered; a child process registers them again."""
    return list(__path__)[1:]


def game_names() -> tuple[str, ...]:
    """Names of the installed games; imports none of them."""
    return packages_with("GAME", __path__)


@cache
def get_game(name: str) -> Game:
    """The game of that name; imports its kernels. Numbers after the name are the board's size: "go19", "go13x9".

    Errors: OptionError for an unknown name or size.
    """
    match = re.fullmatch(r"(.*?)(?:([0-9]+)(?:x([0-9]+))?)?", name, re.DOTALL)
    assert match is not None
    folder, columns, rows = match.groups()
    if folder not in game_names():
        raise OptionError(f"no game is called {name!r}; there are {', '.join(game_names())}")
    game: Game = importlib.import_module(f"{__name__}.{folder}").GAME
    if columns is None:
        return game
    return game.sized(int(columns[:4]), None if rows is None else int(rows[:4]))
