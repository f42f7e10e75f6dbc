"""The two sides of a match: what a SPEC says."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..engine.errors import OptionError

SPEC_HELP = """\
  default           this engine with the net inside the package
  uniform           this engine without a net
  net=FILE.onnx     this engine with that net
  cmd=PROGRAM       any engine that speaks the game's protocol (UCI, USI); with arguments cmd="PROGRAM ARGUMENTS"
and behind it, separated by blanks:
  name=TEXT         what to call it
  option.NAME=VALUE an option of the engine; with blanks "option.Move Overhead=50"
  nodes=N, depth=N, movetime=MS, tc=BASE+INCREMENT in seconds, byoyomi=MS: a limit of its own"""
_NUMBERS = {"nodes": "nodes", "depth": "depth", "movetime": "movetime_ms", "byoyomi": "byoyomi_ms"}
_KINDS = "a player is default, uniform, net=FILE or cmd=PROGRAM, see az-engine match --help"


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """What a player may use for a move; a clock when ``base_ms`` is given."""

    nodes: int | None = None
    depth: int | None = None
    movetime_ms: int | None = None
    base_ms: int | None = None  # on the clock at the start
    increment_ms: int = 0  # for every move
    byoyomi_ms: int = 0  # for a move once the clock has run out

    def __post_init__(self) -> None:
        """A clock with byoyomi alone begins at 0. Errors: OptionError for byoyomi and increments at once."""
        if self.byoyomi_ms and self.increment_ms:
            raise OptionError("a clock has byoyomi or increments, not both: leave one out")
        if self.byoyomi_ms and self.base_ms is None:
            object.__setattr__(self, "base_ms", 0)

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any(x is not None for x in (self.nodes, self.depth, self.movetime_ms, self.base_ms))

    def __str__(self) -> str:
        parts = []
        if self.nodes is not None:
            parts.append(f"{self.nodes} nodes")
        if self.depth is not None:
            parts.append(f"depth {self.depth}")
        if self.movetime_ms is not None:
            parts.append(f"{self.movetime_ms} ms a move")
        if self.byoyomi_ms:
            parts.append(f"{(self.base_ms or 0) / 1000:g} s and {self.byoyomi_ms} ms byoyomi")
        elif self.base_ms is not None:
            parts.append(f"{self.base_ms / 1000:g}+{self.increment_ms / 1000:g} s")
        return ", ".join(parts) or "no limit"


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """One side of a match."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    limit: MoveLimit = MoveLimit()


def parse_clock(text: str) -> tuple[int, int]:
    """(base, increment) in ms of ``BASE[+INCREMENT]`` in seconds.

    Errors: OptionError.
    """
    base, _, increment = text.partition("+")
    try:
        base_ms, increment_ms = round(1000 * float(base)), round(1000 * float(increment or 0))
    except (ValueError, OverflowError):
        raise OptionError(f"{text!r} is no time control; write seconds as BASE+INCREMENT, for example 60+0.6") from None
    if base_ms <= 0 or increment_ms < 0:
        raise OptionError(f"time control {text!r} leaves no time; write seconds as BASE+INCREMENT, for example 60+0.6")
    return base_ms, increment_ms


def parse_spec(text: str, protocol: str) -> PlayerSpec:
    """Read a SPEC (see ``SPEC_HELP``) for a game that is played over ``protocol``.

    Errors: OptionError naming the word that is wrong.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(f"player {text!r}: {error}; close the quotes") from None
    command: tuple[str, ...] | None = None
    options: dict[str, str] = {}
    name = ""
    limit: dict[str, int] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if word in ("default", "uniform") or key == "net":
            weights = {"default": "", "uniform": "uniform"}.get(word) if key != "net" else str(Path(value).resolve())
            command = (sys.executable, "-P", "-m", "az_engine", protocol)
            command += ("--weights-file", weights) if weights else ()
            name = name or (Path(value).stem if key == "net" else f"az-engine {word}")
        elif not equals:
            raise OptionError(f"player {text!r}: {word!r} is not understood; {_KINDS}")
        elif key == "cmd":
            command = tuple(shlex.split(value))
            name = name or (Path(command[0]).name if command else "")
        elif key == "name":
            name = value
        elif key.startswith("option."):
            options[key.removeprefix("option.")] = value
        elif key == "tc":
            limit["base_ms"], limit["increment_ms"] = parse_clock(value)
        elif key in _NUMBERS:
            if not value.isdecimal() or int(value) < 1:
                raise OptionError(f"player {text!r}: {key} must be a whole number of 1 or more, not {value!r}")
            limit[_NUMBERS[key]] = int(value)
        else:
            raise OptionError(f"player {text!r}: {word!r} is not understood; {_KINDS}")
    if not command:
        raise OptionError(f"player {text!r} names no engine; {_KINDS}")
    return PlayerSpec(name, command, options, MoveLimit(**limit))
