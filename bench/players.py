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
  cmd=PROGRAM       any UCI engine; with arguments cmd="PROGRAM ARGUMENTS"
and behind it, separated by blanks:
  name=TEXT         what to call it
  option.NAME=VALUE an option of the engine; with blanks "option.Move Overhead=50"
  nodes=N, depth=N, movetime=MS, tc=BASE+INCREMENT in seconds: a limit of its own"""
_KINDS = "a player is default, uniform, net=FILE or cmd=PROGRAM, see az-engine match --help"


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """What a player may use for a move; a clock when ``base_ms`` is given."""

    nodes: int | None = None
    depth: int | None = None
    movetime_ms: int | None = None
    base_ms: int | None = None  # on the clock at the start
    increment_ms: int = 0

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
        if self.base_ms is not None:
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


def parse_spec(text: str) -> PlayerSpec:
    """Read a SPEC (see ``SPEC_HELP``).

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
            command = (sys.executable, "-m", "az_engine", "uci")
            weights = {"default": "", "uniform": "uniform"}.get(word, value)
            if weights:
                options["WeightsFile"] = weights if word == "uniform" else str(Path(weights).resolve())
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
        elif key in ("nodes", "movetime", "depth"):
            if not value.isdecimal() or int(value) < 1:
                raise OptionError(f"player {text!r}: {key} must be a whole number of 1 or more, not {value!r}")
            limit["movetime_ms" if key == "movetime" else key] = int(value)
        else:
            raise OptionError(f"player {text!r}: {word!r} is not understood; {_KINDS}")
    if not command:
        raise OptionError(f"player {text!r} names no engine; {_KINDS}")
    return PlayerSpec(name, command, options, MoveLimit(**limit))
