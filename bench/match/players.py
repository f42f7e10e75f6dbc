"""The players of a match: what a SPEC says, and the running player that it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ...engine.errors import NetError, OptionError
from ...engine.games import game_names, get_game
from ...engine.limits import Limits
from ...engine.nets.file.fit import check_net
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.weights import net_path, other_nets
from ...engine.os.process import module_command
from ...engine.os.system import split_command
from ...protocols.clients import client_of
from ...protocols.clients.base import Answer
from ...protocols.options import BY_KEY, OPTIONS
from .in_process import OurPlayer

SPEC_HELP = """\
  default           this engine with the net inside the package
  uniform           this engine without a net
  FILE.onnx         this engine with that net, or another program's (.bin.gz, .pb.gz); also net=FILE
  RUN               this engine with the net of a folder of az-engine train; also net=RUN
  NAME              this engine with another net inside the package: chess-conv, shogi-conv, go-large, go-stones
  raw:NET           that net without search: its most probable move (raw:default, raw:FILE.onnx)
  cmd=PROGRAM       any engine that speaks the game's protocol (UCI, USI, GTP); with arguments
                    cmd="PROGRAM ARGUMENTS"
and behind it, separated by blanks:
  name=TEXT         what to call it
  option.NAME=VALUE an option of the engine; with blanks "option.Move Overhead=50". GTP has no options: NAME is a
                    command and VALUE its arguments, for this engine a flag of az-engine gtp (option.threads=1)
  visits=N (or nodes=N), depth=N, seconds=S, tc=BASE+INCREMENT, byoyomi=S: a limit of its own; all times in seconds"""
_NUMBERS = {"nodes": "nodes", "visits": "nodes", "depth": "depth"}
_TIMES = {"seconds": "movetime_ms", "byoyomi": "byoyomi_ms"}
_MOST_SECONDS = 600.0  # of a move; more is probably meant as milliseconds
_KINDS = "a player is default, uniform, FILE.onnx, RUN, raw:NET or cmd=PROGRAM, see az-engine match --help"
_SETTINGS = "behind a player stand name=, option.NAME=, visits=, nodes=, depth=, seconds=, tc= and byoyomi="
_WAYS = "--visits, --seconds, --tc, --byoyomi, or visits=N in its SPEC"
_NETS = (".onnx", ".bin.gz", ".txt.gz", ".pb.gz", ".pb")  # ends of nets' names
_DEFAULT, _UNIFORM = "", "uniform"  # as EngineOptions.weights_file has them


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """The limit of a player's move; with ``base_ms`` a clock."""

    nodes: int | None = None
    depth: int | None = None
    movetime_ms: int | None = None
    base_ms: int | None = None  # on the clock at the start
    increment_ms: int = 0  # for every move
    byoyomi_ms: int = 0  # for a move once the clock has run out

    def __post_init__(self) -> None:
        """A clock with byoyomi alone begins at 0.

        Errors: OptionError for what leaves no move or no time, and for byoyomi and increments at once.
        """
        for what, value in (("visits", self.nodes), ("depth", self.depth)):
            if value is not None and value < 1:
                raise OptionError(f"{what} must be 1 or more, not {value}")
        if self.movetime_ms is not None and self.movetime_ms < 1:
            raise OptionError("the time for a move must be 0.001 seconds or more")
        if self.byoyomi_ms < 0:
            raise OptionError("byoyomi must be 0 seconds or more")
        if self.byoyomi_ms and self.increment_ms:
            raise OptionError("a clock has byoyomi or increments, not both: leave one out")
        if self.byoyomi_ms and self.base_ms is None:
            object.__setattr__(self, "base_ms", 0)

    @property
    def given(self) -> bool:
        return any(x is not None for x in (self.nodes, self.depth, self.movetime_ms, self.base_ms))

    def __str__(self) -> str:
        return f"1 node{self.key[7:]}" if self.key.startswith("1 nodes") else self.key

    @property
    def key(self) -> str:
        """The limit in words, as the journals of matches have it."""
        parts = [(self.nodes, "{} nodes"), (self.depth, "depth {}"), (self.movetime_ms, "{} ms a move")]
        shown = [form.format(number) for number, form in parts if number is not None]
        if self.byoyomi_ms:
            shown.append(f"{(self.base_ms or 0) / 1000:g} s and {self.byoyomi_ms} ms byoyomi")
        elif self.base_ms is not None:
            shown.append(f"{self.base_ms / 1000:g}+{self.increment_ms / 1000:g} s")
        return ", ".join(shown) or "its own limit"


class Player(Protocol):
    """A running player; :class:`az_engine.protocols.clients.base.EngineClient` says what each method does."""

    @property
    def name(self) -> str: ...
    def new_game(self) -> None: ...
    def play(self, root: str | None, moves: Sequence[str], limits: Limits) -> Answer: ...
    def final_score(self) -> float | None: ...
    def game_over(self, result: str) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """One player of a match: an external engine by its command, or this one by its net."""

    name: str
    command: tuple[str, ...] = ()  # empty: this engine
    options: Mapping[str, str] = field(default_factory=dict)
    limit: MoveLimit = MoveLimit()
    net: str = _DEFAULT  # of this engine: a file, "uniform", or "" for the net inside the package
    raw: bool = False  # this engine without search

    @property
    def is_az_engine(self) -> bool:
        return not self.command

    def net_file(self, game: str) -> Path | None:
        """The file of this engine's net; BLOCKS while another program's is converted. Errors: NetError, OptionError."""
        lowered = {name.lower(): value for name, value in self.options.items()}
        int8 = BY_KEY["int8"].parse(lowered.get("int8", "true"))
        return net_path(self.net, get_game(game), provider=lowered.get("provider", "auto"), int8=bool(int8))

    def with_limit(self, common: MoveLimit, protocol: str, ways: str = _WAYS) -> PlayerSpec:
        """The player with ``common`` as its limit, if it has none; ways: how a user gives one.

        Errors: OptionError when both are empty.
        """
        if self.raw:
            return replace(self, limit=MoveLimit(nodes=1))
        if self.limit.given:
            return self
        # GTP has no command for nodes, and many engines time themselves
        if protocol == "gtp" and not self.is_az_engine:
            return replace(self, limit=replace(common, nodes=None, depth=None))
        if not common.given:
            raise OptionError(f"player {self.name} has no limit; give {ways}")
        return replace(self, limit=common)

    def describe(self) -> dict[str, object]:
        """The values that must be equal for a later run to be the same player's, JSON-ready."""
        return asdict(self) | {"command": list(self.command), "limit": self.limit.key}


def parse_seconds(text: str) -> int:
    """Milliseconds, at least 1, of a time for a move in seconds. Errors: OptionError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.001 <= seconds <= _MOST_SECONDS:
        raise OptionError(f"the time for a move must be 0.001 to {_MOST_SECONDS:.0f} seconds, not {text}")
    return round(1000 * seconds)


def parse_clock(text: str) -> tuple[int, int]:
    """(base, increment) in ms of ``BASE[+INCREMENT]`` in seconds. Errors: OptionError."""
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
        words = split_command(text)
    except ValueError as error:
        raise OptionError(f"player {text!r}: {error}; close the quotes") from None
    spec = PlayerSpec("")
    chosen, name = False, ""
    options: dict[str, str] = {}
    limit: dict[str, int] = {}
    for word in words:
        key, equals, value = word.partition("=")
        net = _net(word.removeprefix("raw:"))
        if net is not None:
            spec, chosen = replace(spec, command=(), net=net, raw=word.startswith("raw:")), True
            name = name or f"{'raw ' if spec.raw else ''}{Path(net).stem if net.endswith('.onnx') else _named(net)}"
        elif not equals:
            raise OptionError(f"player {text!r}: {word!r} is not understood; {_KINDS}")
        elif key == "cmd":
            spec = replace(spec, command=tuple(split_command(value)))
            chosen = bool(spec.command)
            name = name or (Path(spec.command[0]).name if chosen else "")
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
        elif key in _TIMES:
            limit[_TIMES[key]] = parse_seconds(value)
        else:
            raise OptionError(
                f"player {text!r}: {word!r} is not understood; {_SETTINGS}; an engine's own option is option.{word}"
            )
    if not chosen:
        raise OptionError(f"player {text!r} names no engine; {_KINDS}")
    if protocol == "gtp" and spec.command and ("nodes" in limit or "depth" in limit):
        raise OptionError(
            f"player {text!r}: GTP cannot tell visits or a depth; use an option or the command's arguments"
        )
    return replace(spec, name=name, options=options, limit=MoveLimit(**limit))


def _net(word: str) -> str | None:
    """The net that a word names, as EngineOptions.weights_file has it; None when it names none."""
    if word in ("default", "uniform"):
        return _DEFAULT if word == "default" else _UNIFORM
    path = word.removeprefix("net=")
    if any(path in other_nets(game) for game in game_names()):
        return path
    named = path != word or ("=" not in word and (word.endswith(_NETS) or Path(word).is_dir()))
    return str(Path(path).resolve()) if named else None


def _named(net: str) -> str:
    return f"az-engine {net or 'default'}"


def launch(spec: PlayerSpec, game: str, *, ready_s: float, endless_s: float) -> Player:
    """Start a player of a game. BLOCKS until it is ready. Errors: AzError when it does not start.

    This engine plays in this process; over GTP in one of its own, since the GTP session passes, counts and resigns.
    """
    protocol = get_game(game).protocol
    if not spec.is_az_engine:
        return client_of(protocol)(spec.command, spec.options, ready_s=ready_s, endless_s=endless_s)
    if protocol != "gtp":
        return OurPlayer(spec.name, game, spec.net, spec.options)
    flags = {"resign": "0", "move-time": "3600"} | dict(spec.options)
    if spec.net:
        flags["weights-file"] = spec.net
    if spec.limit.nodes is not None:
        flags["nodes-limit"] = str(spec.limit.nodes)
    words = [word for name, value in flags.items() for word in _flag(spec.name, name, value)]
    _check_net(replace(spec, net=flags.get("weights-file", _DEFAULT)), game)
    command = module_command("az_engine", "gtp", *words)
    return client_of(protocol)(command, ready_s=ready_s, endless_s=endless_s)


def _check_net(spec: PlayerSpec, game: str) -> None:
    """Refuse a net in whose place another would play; convert it here, where nobody waits for an answer. BLOCKS.

    Errors: NetError, which names the player.
    """
    try:
        path = spec.net_file(game)
        if path is not None:
            check_net(read_outline(path)[0], get_game(game))
    except NetError as error:
        raise NetError(f"player {spec.name}: {error}") from error


def _flag(player: str, name: str, value: str) -> list[str]:
    """An option, by its flag or its name in UCI or USI, as ``az-engine gtp`` takes it. Errors: OptionError."""
    option = BY_KEY.get(name.lower().replace("-", "_"))
    if option is None:
        option = next((each for each in OPTIONS if name.lower() in (each.uci.lower(), each.usi.lower())), None)
    if option is None or not option.gtp:
        raise OptionError(f"player {player}: Go has no option {name!r}; az-engine gtp --help lists them")
    flag = option.key.replace("_", "-")
    if option.kind != "check":
        return [f"--{flag}", value]
    try:
        return [f"--{flag}" if option.parse(value) else f"--no-{flag}"]
    except OptionError as error:
        raise OptionError(f"player {player}: option.{name}: {error}") from error
