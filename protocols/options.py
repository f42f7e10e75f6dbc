"""The options a user can set, declared once.

Each :class:`Option` carries its names in the protocols, its kind and range, one sentence of help and the engine's field
that it sets. From these records come the option lines of UCI and USI, the command line flags, the keys of the
configuration file and the table in the documentation. What wins: the protocol's ``setoption``, then the command line,
then the configuration file, then the protocol's own default, then that of :class:`EngineOptions`.

An option that has names, but none in a protocol, does not exist there and stays at its default.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ..engine.errors import OptionError, UnknownOptionError
from ..engine.params import EngineOptions, SearchParams
from .lines import one_line

Value = bool | int | float | str
Kind = Literal["check", "spin", "number", "combo", "string", "button"]

ELO_RANGE = (800, 2200)  # what limited strength can be asked for; roughly calibrated
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Option:
    """One option. ``key`` is its name in the configuration file and, with dashes, on the command line."""

    key: str
    kind: Kind
    default: Value
    help: str
    names: Mapping[str, str]  # protocol -> the name it shows there
    low: float = 0  # of a spin (whole) or number
    high: float = 0
    choices: tuple[str, ...] = ()  # of a combo
    aliases: tuple[str, ...] = ()  # other engines' names for it, understood but not shown
    defaults: Mapping[str, Value] = field(default_factory=dict)  # protocol -> its default there, where it has another
    settings: Mapping[Value, Value | None] = field(default_factory=dict)  # value -> the field's, where that is another
    field: str = ""  # of EngineOptions, or of its SearchParams as "search.<field>"; "" = not the engine's
    fixed: str = ""  # why it cannot be changed; "" = it can
    flags: tuple[str, ...] = ()  # protocols that have no names for options: there flags and the file set it

    def offered(self, protocol: str) -> bool:
        """Whether it exists in a protocol."""
        return protocol in (*self.names, *self.flags) or not (self.names or self.flags)

    def setting(self, value: Value) -> Value | None:
        """What the engine's field becomes."""
        return self.settings.get(value, value)

    def value(self, setting: Value | None) -> Value:
        """The value with this setting."""
        found = next((value for value, known in self.settings.items() if known == setting), setting)
        if found is None:
            raise TypeError(f"{self.key} has no value for None")
        return found

    def parse(self, text: str) -> Value:
        """The value that ``text`` means. Errors: OptionError, ending where "; it stays at ..." can follow."""
        if self.kind == "check":
            if text not in _TRUTH:
                raise OptionError(f"must be true or false, not {_quote(text)}")
            if self.fixed and _TRUTH[text] != self.default:
                raise OptionError(f"cannot be changed: {self.fixed}")
            return _TRUTH[text]
        if self.kind == "combo":
            found = next((c for c in self.choices if c.lower() == text.lower()), None)
            if found is None:
                raise OptionError(f"must be one of {', '.join(self.choices)}, not {_quote(text)}")
            return found
        if self.kind == "spin":
            if not _WHOLE.fullmatch(text) or not self.low <= int(text) <= self.high:
                raise OptionError(f"must be a whole number from {self.range}, not {_quote(text)}")
            return int(text)
        if self.kind == "number":
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if not self.low <= number <= self.high:
                raise OptionError(f"must be a number from {self.range}, not {_quote(text)}")
            return number
        return "" if text == "<empty>" else text

    def declaration(self, protocol: str, default: Value) -> str:
        """The line that offers the option in UCI and USI. Numbers with a fraction have no type there: string."""
        head = f"option name {self.names[protocol]} type "
        if self.kind == "button":
            return head + "button"
        shown = show(default) or "<empty>"
        if self.kind == "spin":
            return f"{head}spin default {shown} min {self.low:g} max {_plain(self.high)}"
        if self.kind == "combo":
            return f"{head}combo default {shown} " + " ".join(f"var {c}" for c in self.choices)
        return f"{head}{'check' if self.kind == 'check' else 'string'} default {shown}"

    @property
    def range(self) -> str:
        """Admissible values, for people."""
        if self.kind == "combo":
            return ", ".join(self.choices)
        if self.kind in ("spin", "number"):
            return f"{self.low:g} to {_plain(self.high)}"
        return {"check": "true, false", "string": "text", "button": ""}[self.kind]


def show(value: Value) -> str:
    """A value as the protocols write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def _quote(text: str) -> str:
    return "'" + one_line(text, 60) + "'"


def _field_of(options: EngineOptions, name: str) -> Value | None:
    value: Value | None = getattr(options.search, name[7:]) if name.startswith("search.") else getattr(options, name)
    return value


def _option(
    key: str,
    kind: Kind,
    help: str,  # noqa: A002  the word argparse uses too
    *,
    uci: str = "",
    usi: str = "",
    field: str = "",
    default: Value = "",
    span: tuple[float, float] = (0, 0),
    choices: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    defaults: Mapping[str, Value] | None = None,
    settings: Mapping[Value, Value | None] | None = None,
    fixed: str = "",
    gtp: bool = False,
) -> Option:
    """``uci`` and ``usi``: its names there; ``gtp``: whether it is a flag there."""
    names = {protocol: name for protocol, name in (("uci", uci), ("usi", usi)) if name}
    flags = ("gtp",) if gtp else ()
    option = Option(
        key, kind, default, help, names, *span, choices, aliases, defaults or {}, settings or {}, field, fixed, flags
    )
    return replace(option, default=option.value(_field_of(EngineOptions(), field))) if field else option


OPTIONS: tuple[Option, ...] = (
    _option(
        "weights_file",
        "string",
        "The net: path of an ONNX file or of another program's net (Lc0, KataGo, dlshogi); empty = the package's own; "
        '"uniform" = no net (for tests).',
        uci="WeightsFile",
        usi="DNN_Model",
        field="weights_file",
        gtp=True,
    ),
    _option(
        "hash",
        "spin",
        "Memory for the search tree and the position cache together, in MiB.",
        uci="Hash",
        usi="USI_Hash",
        field="hash_mb",
        span=(1, 131072),
        gtp=True,
    ),
    _option(
        "clear_hash",
        "button",
        "Forget the search tree and the position cache.",
        uci="Clear Hash",
        usi="ClearHash",
        default=False,
    ),
    _option(
        "threads", "spin", "Search workers.", uci="Threads", usi="Threads", field="threads", span=(1, 128), gtp=True
    ),
    _option(
        "batch_size",
        "spin",
        "Positions per call of the net; 0 = chosen from the measured speed.",
        uci="BatchSize",
        usi="DNN_Batch_Size",
        field="batch_size",
        span=(0, 1024),
        aliases=("MinibatchSize", "DNN_Batch_Size1"),
        gtp=True,
    ),
    _option(
        "provider",
        "combo",
        "What runs the net.",
        uci="Provider",
        usi="Provider",
        field="provider",
        choices=("auto", "cpu", "cuda", "tensorrt", "openvino", "dml"),
        gtp=True,
    ),
    _option(
        "multipv",
        "spin",
        "Principal variations reported.",
        uci="MultiPV",
        usi="MultiPV",
        field="multipv",
        span=(1, 500),
    ),
    _option(
        "ponder",
        "check",
        "The GUI may let it think on the opponent's time.",
        uci="Ponder",
        usi="USI_Ponder",
        field="ponder",
    ),
    _option(
        "move_overhead",
        "spin",
        "Time kept back of every move for the GUI and the wire, in ms.",
        uci="Move Overhead",
        usi="NetworkDelay",
        field="move_overhead_ms",
        span=(0, 10000),
        aliases=("MoveOverheadMs",),
        defaults={"usi": 120},
        gtp=True,
    ),
    _option(
        "last_overhead",
        "spin",
        "The longest that a move may take to the GUI, in ms: so much is kept of the last moments of the clock.",
        usi="NetworkDelay2",
        field="last_overhead_ms",
        span=(0, 10000),
        defaults={"usi": 1120},
        settings={0: None},
    ),
    _option(
        "minimum_time",
        "spin",
        "Time spent at least on a move when the clock affords it, in ms.",
        usi="MinimumThinkingTime",
        field="minimum_ms",
        span=(0, 100000),
    ),
    _option(
        "max_plies",
        "spin",
        "The game is drawn when it is so many plies long; 0 = never.",
        usi="MaxMovesToDraw",
        field="max_plies",
        span=(0, 100000),
    ),
    _option(
        "entering_king_rule",
        "combo",
        "Points with which a king that has entered the enemy's camp may be declared the winner.",
        usi="EnteringKingRule",
        field="declaration",
        choices=("CSARule27", "CSARule24", "NoEnteringKing"),
        settings={"CSARule27": "27", "CSARule24": "24", "NoEnteringKing": "none"},
    ),
    _option(
        "resign_value",
        "spin",
        "Resign when the best line is this many centipawns behind, or more; 99999 = never.",
        usi="ResignValue",
        field="resign_cp",
        span=(0, 99999),
        settings={99999: None},
    ),
    _option(
        "all_moves",
        "check",
        "Search every legal move, pointless non-promotions included.",
        usi="GenerateAllLegalMoves",
        default=True,
        fixed="every legal move is always searched",
    ),
    _option("chess960", "check", "Write castling as king takes rook.", uci="UCI_Chess960", field="chess960"),
    _option(
        "analyse_mode",
        "check",
        "Analysis instead of a game: search to the full limit, never at limited strength.",
        uci="UCI_AnalyseMode",
        usi="ConsiderationMode",
        default=False,
    ),
    _option(
        "show_wdl",
        "check",
        "Report chances of win, draw and loss in 1/1000.",
        uci="UCI_ShowWDL",
        usi="ShowWDL",
        default=False,
    ),
    _option("limit_strength", "check", "Play at about the rating of UCI_Elo.", uci="UCI_LimitStrength", default=False),
    _option(
        "elo",
        "spin",
        "Rating aimed at with UCI_LimitStrength; a rough guide.",
        uci="UCI_Elo",
        default=1500,
        span=ELO_RANGE,
    ),
    _option(
        "nodes_limit",
        "spin",
        "Visits after which every search with a limit of its own stops; 0 = none.",
        uci="NodesLimit",
        usi="NodesLimit",
        field="nodes_limit",
        span=(0, 2_000_000_000),
        gtp=True,
    ),
    _option(
        "puct",
        "combo",
        "Selection formula: az = AlphaZero's, c grows with the visits; agz = AlphaGo Zero's constant c.",
        uci="Puct",
        usi="Puct",
        field="search.puct",
        choices=("az", "agz"),
        gtp=True,
    ),
    _option(
        "c_puct",
        "number",
        "Exploration: c_init of AlphaZero, or the constant of AlphaGo Zero.",
        uci="CPuct",
        usi="CPuct",
        field="search.c_puct",
        span=(0, 100),
        gtp=True,
    ),
    _option(
        "fpu_strategy",
        "combo",
        "Value of an unvisited move: zero, the parent's less a reduction, or a loss.",
        uci="FpuStrategy",
        usi="FpuStrategy",
        field="search.fpu",
        choices=("zero", "reduction", "loss"),
        gtp=True,
    ),
    _option(
        "fpu_value",
        "number",
        "The reduction: this times the root of the prior visited so far.",
        uci="FpuValue",
        usi="FpuValue",
        field="search.fpu_value",
        span=(0, 10),
        gtp=True,
    ),
    _option(
        "policy_temperature",
        "number",
        "Softmax temperature of the net's policy; greater = wider search.",
        uci="PolicyTemperature",
        usi="PolicyTemperature",
        field="search.policy_temperature",
        span=(0.1, 10),
        gtp=True,
    ),
    _option(
        "mate_plies",
        "spin",
        "The longest mate, in plies, that is looked for at every leaf of the search beside the net; 0 = none.",
        uci="MatePlies",
        usi="MatePlies",
        field="search.mate_plies",
        span=(0, 7),
    ),
    _option(
        "temperature",
        "number",
        "Variety of play: 0 = always the most visited move, 1 = in proportion to the visits.",
        uci="Temperature",
        usi="Temperature",
        field="search.temperature",
        span=(0, 10),
        gtp=True,
    ),
    _option(
        "random_symmetry",
        "check",
        "Show the net each position turned or mirrored at random, as AlphaGo Zero does.",
        field="search.symmetries",
        gtp=True,
    ),
    _option("seed", "spin", "Seed of everything random.", field="search.seed", span=(0, 2**53)),
    _option(
        "verbose_move_stats",
        "check",
        "Report visits, prior and value of every root move at the end of a search, as Lc0 does.",
        uci="VerboseMoveStats",
        usi="VerboseMoveStats",
        field="move_stats",
    ),
    _option(
        "log_live_stats",
        "check",
        "With VerboseMoveStats: during the search too.",
        uci="LogLiveStats",
        usi="LogLiveStats",
        default=False,
    ),
    _option(
        "move_time",
        "number",
        "Time for a move when the program sets no clock, in seconds.",
        default=5.0,
        span=(0, 3600),
        gtp=True,
    ),
    _option(
        "resign",
        "number",
        "Resign when the chance to win stays below this, in per cent; 0 = never.",
        default=5.0,
        span=(0, 50),
        gtp=True,
    ),
    _option(
        "resign_moves",
        "spin",
        "Moves running that must look lost before it resigns.",
        default=3,
        span=(1, 100),
        gtp=True,
    ),
    _option(
        "log_file",
        "string",
        "Append everything read and written, with times, to this file.",
        uci="LogFile",
        usi="LogFile",
        gtp=True,
    ),
)

BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}


class OptionValues:
    """Current values of all options of one session, and what they make of the engine's settings."""

    def __init__(self, protocol: str, start: Mapping[str, Value] | None = None) -> None:
        """``start``: values by key that replace the defaults (command line and configuration file, parsed)."""
        self.protocol = protocol
        self._start = {option.key: option.default for option in OPTIONS}
        for option in OPTIONS:
            if option.offered(protocol):
                self._start[option.key] = (start or {}).get(option.key, option.defaults.get(protocol, option.default))
        self._values = dict(self._start)
        offered = [option for option in OPTIONS if protocol in option.names]
        self._named = {name.lower(): o for o in offered for name in (*o.names.values(), *o.aliases)}

    def __getitem__(self, key: str) -> Value:
        """Current value."""
        return self._values[key]

    def declarations(self) -> list[str]:
        """The option lines of the protocol; their defaults are the values this session began with."""
        offered = (option for option in OPTIONS if self.protocol in option.names)
        return [option.declaration(self.protocol, self._start[option.key]) for option in offered]

    def read(self, name: str, text: str | None) -> tuple[Option, Value]:
        """The option and value that a ``setoption`` means; changes nothing.

        Errors: UnknownOptionError; OptionError, a whole sentence, also saying at what value the option stays.
        """
        option = self._named.get(" ".join(name.split()).lower())
        if option is None:
            raise UnknownOptionError(f"no such option: {one_line(name, 60)}")
        if option.kind == "button":
            return option, True
        try:
            return option, option.parse("" if text is None and option.kind == "string" else _given(text))
        except OptionError as error:
            stays = show(self._values[option.key]) or "<empty>"
            raise OptionError(f"{option.names[self.protocol]} {error}; it stays at {stays}") from error

    def set(self, option: Option, value: Value) -> None:
        """Take a value from :meth:`read`."""
        self._values[option.key] = value

    def restore(self, good: EngineOptions, keys: Iterable[str]) -> None:
        """Set the options ``keys`` back to what they are in ``good``."""
        for option in map(BY_KEY.__getitem__, keys):
            self._values[option.key] = option.value(_field_of(good, option.field))

    def engine_options(self) -> EngineOptions:
        """The engine's settings that the current values amount to."""
        plain: dict[str, Value | None] = {}
        search: dict[str, Value | None] = {}
        for option in OPTIONS:
            setting = option.setting(self._values[option.key])
            if option.field.startswith("search."):
                search[option.field[7:]] = setting
            elif option.field:
                plain[option.field] = setting
        limited = bool(self._values["limit_strength"]) and not self._values["analyse_mode"]
        params = replace(SearchParams(), **search, smart_pruning=not self._values["analyse_mode"])  # type: ignore[arg-type]
        elo = int(self._values["elo"]) if limited else None
        return replace(EngineOptions(), **plain, search=params, elo=elo)  # type: ignore[arg-type]


def _given(text: str | None) -> str:
    if text is None:
        raise OptionError("needs a value: setoption name <option> value <value>")
    return text


def add_flags(parser: argparse.ArgumentParser, protocol: str) -> None:
    """Declare ``--config`` and one flag for every option that the protocol has."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help=f"options from this TOML file, e.g. `hash = 512` (default: {_display(default_config())} if it is there)",
    )
    group = parser.add_argument_group("options", "values to start with; the protocol's setoption overrides them")
    for option in OPTIONS:
        if not option.offered(protocol) or option.fixed:
            continue
        flag = "--" + option.key.replace("_", "-")
        default = show(option.defaults.get(protocol, option.default)) or "empty"
        text = option.help.replace("%", "%%") + f" ({option.range}; default {default})"
        if option.kind == "check":
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        elif option.kind != "button":
            group.add_argument(flag, type=_flag_type(option), default=None, metavar=_metavar(option), help=text)


def _flag_type(option: Option) -> type[object]:
    def parse(text: str) -> Value:
        try:
            return option.parse(text)
        except OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse  # type: ignore[return-value]


def _metavar(option: Option) -> str:
    return {"spin": "N", "number": "X", "combo": "NAME", "string": "TEXT"}[option.kind]


def start_values(args: argparse.Namespace) -> tuple[dict[str, Value], list[str]]:
    """Values by key from the command line and the configuration file, and sentences on what was ignored in the latter.

    Errors: OptionError when a file named with ``--config`` is missing or wrong. The default file must not keep the
    engine from playing: what is wrong there is said and left out.
    """
    given: Path | None = args.config
    path = given or default_config()
    values: dict[str, Value] = {}
    notes: list[str] = []
    if given is not None or path.is_file():
        values, notes = read_config(path)
        if given is not None and notes:
            raise OptionError(notes[0])
    for option in OPTIONS:
        flag = getattr(args, option.key, None)
        if flag is not None:
            values[option.key] = flag
    return values, notes


def default_config() -> Path:
    """Where the configuration file is looked for."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(base) / "az-engine" / "config.toml"


def _display(path: Path) -> str:
    home = str(Path("~").expanduser())
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text


def read_config(path: Path) -> tuple[dict[str, Value], list[str]]:
    """Values by key of a TOML file, and one sentence for everything in it that cannot be used. Quotes no content."""
    import tomllib  # 6 ms that only a user with such a file pays for

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        return {}, [f"the configuration file {path} cannot be read ({reason})"]
    except tomllib.TOMLDecodeError as error:
        return {}, [f"the configuration file {path} is not TOML: {one_line(str(error), 120)}"]
    values: dict[str, Value] = {}
    notes: list[str] = []
    for key, value in table.items():
        option = BY_KEY.get(key)
        if option is None or option.kind == "button":
            notes.append(f"{path}: there is no option {_quote(key)}")
            continue
        try:
            if not isinstance(value, (bool, int, float, str)):
                raise OptionError(f"must be a plain value, not a {type(value).__name__}")
            values[key] = option.parse(show(value))
        except OptionError as error:
            notes.append(f"{path}: {key} {error}")
    return values, notes


def markdown_table(protocol: str = "uci") -> str:
    """All options of a protocol as a Markdown table, for the documentation."""
    rows = ["| option | flag, configuration key | values | default | meaning |", "|---|---|---|---|---|"]
    for option in OPTIONS:
        if not option.offered(protocol):
            continue
        name = f"`{option.names[protocol]}`" if protocol in option.names else ""
        settable = option.kind != "button" and not option.fixed
        flag = f"`--{option.key.replace('_', '-')}`, `{option.key}`" if settable else ""
        shown = show(option.defaults.get(protocol, option.default))
        default = "" if option.kind == "button" else f"`{shown}`" if shown else "empty"
        rows.append(f"| {name} | {flag} | {option.range} | {default} | {option.help} |")
    return "\n".join(rows)
