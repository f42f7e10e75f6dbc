"""The options a user can set: what each protocol calls the engine's settings, and what a conversation adds to them.

A setting's meaning, default and values stand at its dataclass field (:func:`engine.params.setting`); an
:class:`Option` adds its names. From both come the option lines of UCI and USI, the command line flags, the keys of the
configuration file and docs/options.md. What wins: the protocol's ``setoption``, then the command line, then the
configuration file, then the protocol's own default, then the field's.

An option that has names, but none in a protocol, does not exist there and stays at its default.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, dataclass, fields, replace
from typing import Any, Literal

from ..engine.errors import OptionError, UnknownOptionError
from ..engine.params import EngineOptions, SearchParams
from ..engine.search.strength import HIGHEST, LOWEST
from ..engine.settings import Setting, setting
from .lines import one_line

Value = bool | int | float | str
Kind = Literal["check", "spin", "number", "combo", "string", "button"]

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a user can set on a conversation, beside the engine's own settings."""

    clear_hash: bool = setting(False, "Forget the search tree and the position cache.")
    stochastic_ponder: bool = setting(
        False, "Ponder on all replies of the opponent, not only on the one that the GUI expects."
    )
    all_moves: bool = setting(True, "Search every legal move, pointless non-promotions included.")
    analyse_mode: bool = setting(
        False, "Analysis instead of a game: search to the full limit, never at limited strength."
    )
    show_wdl: bool = setting(False, "Report chances of win, draw and loss in 1/1000.")
    score_type: str = setting(
        "WDL_mu",
        "What score cp means: +100 = a half chance to win (WDL_mu), Lc0's tangent (centipawn), expected points "
        "(win_percentage) or win less loss (W-L) in 1/10000, the search's mean outcome (Q) likewise.",
        choices=("WDL_mu", "centipawn", "win_percentage", "W-L", "Q"),
    )
    limit_strength: bool = setting(False, "Play at about the rating of UCI_Elo.")
    elo: int = setting(1500, "Aim at this rating with UCI_LimitStrength; a rough guide.", LOWEST, HIGHEST)
    log_live_stats: bool = setting(False, "With VerboseMoveStats: during the search too.")
    move_time: float = setting(5.0, "Time for a move when the program sets no clock, in seconds.", 0, 3600)
    resign: float = setting(5.0, "Resign when the chance to win stays below this, in per cent; 0 = never.", 0, 50)
    resign_moves: int = setting(
        3, "Resign after so many moves in a row look lost, once a quarter of the board's points is played.", 1, 100
    )
    opponent: str = setting("", "Who plays against it, as servers and match tools say; changes nothing.")
    log_file: str = setting("", "Append everything read and written, with times, to this file.")


_FIELDS: Mapping[str, tuple[type, Field[Any]]] = {
    declared.name: (owner, declared)
    for owner in (EngineOptions, SearchParams, SessionOptions)
    for declared in fields(owner)
    if "setting" in declared.metadata
}


@dataclass(frozen=True, slots=True)
class Option:
    """What users call a setting. A *value* is what they write, a *setting* what the field then holds."""

    key: str  # in the configuration file and, with dashes, on the command line
    uci: str = ""  # the name it shows there; "" = it has none
    usi: str = ""
    gtp: bool = False  # GTP has no names for options: there flags and the file set it
    sets: str = ""  # the field of EngineOptions, SearchParams or SessionOptions; "" = the one of its key
    usi_default: Value | None = None  # its default there, where it has another
    also: str = ""  # another flag for it
    aliases: tuple[str, ...] = ()  # other engines' names for it, understood but not shown
    words: tuple[tuple[str, str], ...] = ()  # (setting, value), where the value is another word
    button: bool = False  # an order, without a value
    fixed: str = ""  # why it cannot be changed; "" = it can
    of_games: bool = False  # offered only for games that name it among their ``special_options``

    @property
    def names(self) -> dict[str, str]:
        return {protocol: name for protocol, name in (("uci", self.uci), ("usi", self.usi)) if name}

    @property
    def field(self) -> str:
        return self.sets or self.key

    @property
    def owner(self) -> type:
        return _FIELDS[self.field][0]

    @property
    def setting(self) -> Setting:
        result: Setting = _FIELDS[self.field][1].metadata["setting"]
        return result

    @property
    def default(self) -> Value:
        default: Any = _FIELDS[self.field][1].default
        return self.value(default)

    def default_in(self, protocol: str) -> Value:
        """The default in a protocol."""
        return self.usi_default if protocol == "usi" and self.usi_default is not None else self.default

    @property
    def kind(self) -> Kind:
        """UCI's type of the option, or "number" for a fraction."""
        if self.button:
            return "button"
        default = self.default
        if isinstance(default, str):
            return "combo" if self.choices else "string"
        return "check" if isinstance(default, bool) else "spin" if isinstance(default, int) else "number"

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(dict(self.words).get(choice, choice) for choice in self.setting.choices)

    @property
    def range(self) -> str:
        """Admissible values, for people."""
        kind = self.kind
        if kind == "combo":
            return ", ".join(self.choices)
        if kind in ("spin", "number"):
            return f"{self.setting.low:g} to {_plain(self.setting.high)}"
        return {"check": "true, false", "string": "text"}.get(kind, "")

    def offered(self, protocol: str) -> bool:
        return bool(getattr(self, protocol)) or not (self.uci or self.usi or self.gtp)

    def read(self, options: EngineOptions) -> Value:
        """The value in ``options``; only for options of the engine."""
        return self.value(getattr(options.search if self.owner is SearchParams else options, self.field))

    def value(self, setting: Value | None) -> Value:
        """The value that stands for a setting."""
        if setting is None:
            setting = self.setting.none
        if setting is None:
            raise TypeError(f"{self.key} has no value for None")
        return dict(self.words).get(setting, setting) if isinstance(setting, str) else setting

    def setting_of(self, value: Value) -> Value | None:
        """The setting that a value stands for."""
        if self.setting.none is not None and value == self.setting.none:
            return None
        return next((setting for setting, word in self.words if word == value), value)

    def parse(self, text: str) -> Value:
        """The value that ``text`` means. Errors: OptionError, ending where "; it stays at ..." can follow."""
        kind, low, high = self.kind, self.setting.low, self.setting.high
        if kind == "check":
            if text not in _TRUTH:
                raise OptionError(f"must be true or false, not {quote(text)}")
            if self.fixed and _TRUTH[text] != self.default:
                raise OptionError(f"cannot be changed: {self.fixed}")
            return _TRUTH[text]
        if kind == "combo":
            result = next((c for c in self.choices if c.lower() == text.lower()), None)
            if result is None:
                raise OptionError(f"must be one of {', '.join(self.choices)}, not {quote(text)}")
            return result
        if kind == "spin":
            if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
                raise OptionError(f"must be a whole number from {self.range}, not {quote(text)}")
            return int(text)
        if kind == "number":
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if not low <= number <= high:
                raise OptionError(f"must be a number from {self.range}, not {quote(text)}")
            return number
        return "" if text == "<empty>" else text

    def declaration(self, protocol: str, default: Value, most: float | None = None) -> str:
        """The line that offers the option in UCI and USI. Numbers with a fraction have no type there: string.

        most: the greatest number, where it is less than the setting's.
        """
        kind, head = self.kind, f"option name {self.names[protocol]} type "
        if kind == "button":
            return head + "button"
        shown = show(default) or "<empty>"
        if kind == "spin":
            high = self.setting.high if most is None else most
            return f"{head}spin default {shown} min {self.setting.low:g} max {_plain(high)}"
        if kind == "combo":
            return f"{head}combo default {shown} " + " ".join(f"var {c}" for c in self.choices)
        text = "filename" if protocol == "usi" and self.key in _FILES else "string"
        return f"{head}{'check' if kind == 'check' else text} default {shown}"


def read_setoption(rest: str) -> tuple[str, str | None] | None:
    """Name and value of ``setoption name <id> [value <x>]``; the value verbatim but for blanks around it."""
    keyword, *rest_words = rest.split(maxsplit=1) or [""]
    if keyword != "name" or not rest_words:
        return None
    cut = re.search(r"(^|\s)value(\s|$)", rest_words[0])
    if cut is None:
        return rest_words[0].strip(), None
    name, value = rest_words[0][: cut.start()].strip(), rest_words[0][cut.end() :].strip()
    return (name, value) if name else None


def show(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def quote(text: str) -> str:
    return "'" + one_line(text, 60) + "'"


_DECLARATIONS = (
    ("27", "CSARule27"),
    ("27 handicap", "CSARule27H"),
    ("24", "CSARule24"),
    ("24 handicap", "CSARule24H"),
    ("try", "TryRule"),
    ("none", "NoEnteringKing"),
)
OPTIONS: tuple[Option, ...] = (
    Option("weights_file", "WeightsFile", "DNN_Model", gtp=True),
    Option("hash", "Hash", "USI_Hash", gtp=True, sets="hash_mb"),
    Option("clear_hash", "Clear Hash", "ClearHash", button=True),
    Option("threads", "Threads", "Threads", gtp=True),
    Option("batch_size", "BatchSize", "DNN_Batch_Size", gtp=True, aliases=("MinibatchSize", "DNN_Batch_Size1")),
    Option("provider", "Provider", "Provider", gtp=True),
    Option("int8", "Int8", "Int8", gtp=True),
    Option("multipv", "MultiPV", "MultiPV"),
    Option("ponder", "Ponder", "USI_Ponder"),
    Option("stochastic_ponder", usi="Stochastic_Ponder"),
    Option(
        "move_overhead",
        "Move Overhead",
        "NetworkDelay",
        gtp=True,
        sets="move_overhead_ms",
        usi_default=120,
        aliases=("MoveOverheadMs",),
    ),
    Option("last_overhead", usi="NetworkDelay2", sets="last_overhead_ms", usi_default=1120),
    Option("minimum_time", usi="MinimumThinkingTime", sets="minimum_ms"),
    Option("max_plies", usi="MaxMovesToDraw", aliases=("Draw_Ply",), of_games=True),
    Option("entering_king_rule", usi="EnteringKingRule", sets="declaration", words=_DECLARATIONS, of_games=True),
    Option("syzygy_path", "SyzygyPath", of_games=True),
    Option("syzygy_probe_limit", "SyzygyProbeLimit", of_games=True),
    Option("syzygy_50_move_rule", "Syzygy50MoveRule", of_games=True),
    Option("own_book", "OwnBook", "USI_OwnBook", of_games=True),
    Option("book_file", "BookFile", "BookFile", aliases=("Book", "Book File", "Book_File"), of_games=True),
    Option(
        "best_book_move",
        "BestBookMove",
        "BestBookMove",
        aliases=("Best Book Move", "Best_Book_Move"),
        of_games=True,
    ),
    Option("eval_coef", usi="Eval_Coef", of_games=True),
    Option("resign_value", usi="ResignValue", sets="resign_cp"),
    Option("resign_threshold", usi="Resign_Threshold", sets="resign_permille"),
    Option("all_moves", usi="GenerateAllLegalMoves", fixed="every legal move is always searched", of_games=True),
    Option("chess960", "UCI_Chess960", of_games=True),
    Option("analyse_mode", "UCI_AnalyseMode", "ConsiderationMode"),
    Option("show_wdl", "UCI_ShowWDL", "ShowWDL"),
    Option("score_type", "ScoreType", of_games=True),
    Option("limit_strength", "UCI_LimitStrength", of_games=True),
    Option("elo", "UCI_Elo", of_games=True),
    Option("nodes_limit", "NodesLimit", "NodesLimit", gtp=True, also="--visits"),
    Option("net_search", "NetSearch", "NetSearch", gtp=True),
    Option("puct", "Puct", "Puct", gtp=True),
    Option("c_puct", "CPuct", "CPuct", gtp=True),
    Option("c_base", "CPuctBase", "CPuctBase", gtp=True),
    Option("c_factor", "CPuctFactor", "CPuctFactor", gtp=True),
    Option("fpu_strategy", "FpuStrategy", "FpuStrategy", gtp=True, sets="fpu"),
    Option("fpu_value", "FpuValue", "FpuValue", gtp=True),
    Option("fpu_root_value", "FpuValueAtRoot", "FpuValueAtRoot", gtp=True),
    Option("policy_temperature", "PolicyTemperature", "PolicyTemperature", gtp=True),
    Option("root_policy_temperature", "RootPolicyTemperature", "RootPolicyTemperature", gtp=True),
    Option("virtual_loss", "VirtualLoss", "VirtualLoss", gtp=True),
    Option("subtree_bias", gtp=True),
    Option("score_utility", gtp=True),
    Option("mate_plies", "MatePlies", "MatePlies", of_games=True),
    Option("ladders", gtp=True),
    Option("transpositions", "Transpositions", "Transpositions", of_games=True),
    Option("temperature", "Temperature", "Temperature", gtp=True),
    Option("random_symmetry", gtp=True, sets="symmetries"),
    Option("seed"),
    Option("verbose_move_stats", "VerboseMoveStats", "VerboseMoveStats", sets="move_stats"),
    Option("log_live_stats", "LogLiveStats", "LogLiveStats"),
    Option("move_time", gtp=True),
    Option("resign", gtp=True),
    Option("resign_moves", gtp=True),
    Option("opponent", "UCI_Opponent", "USI_Opponent"),
    Option("log_file", "LogFile", "LogFile", gtp=True),
)

_FILES = ("weights_file", "book_file", "log_file")  # USI has a type for them, which a program's dialog chooses
LOCAL = ("weights_file", "provider", "int8", "log_file", "book_file", "syzygy_path")  # they name files and devices
BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}


class OptionValues(dict[str, Value]):
    """Current values of all options of one session, by key, and what they make of the engine's settings."""

    def __init__(
        self,
        protocol: str,
        start: Mapping[str, Value] | None = None,
        hidden: Collection[str] = (),
        caps: Mapping[str, int] | None = None,
    ) -> None:
        """``start``: values by key that replace the defaults (command line and configuration file, parsed).

        ``hidden``: keys of the options that mean nothing to the game; they stay at their defaults.
        ``caps``: given for a client over the network, the greatest numbers that it may set, by key; it cannot set what
        names files or devices.
        """
        self.protocol, self.hidden = protocol, frozenset(hidden)
        self.remote, self._caps = caps is not None, dict(caps or {})
        self._start = {option.key: option.default for option in OPTIONS}
        for option in OPTIONS:
            if option.offered(protocol) and option.key not in self.hidden:
                self._start[option.key] = (start or {}).get(option.key, option.default_in(protocol))
        for key, most in self._caps.items():
            self._start[key] = min(int(self._start[key]), most)
        super().__init__(self._start)
        self.changes = 0  # so far
        known = [o for o in OPTIONS if protocol in o.names and o.key not in self.hidden]
        self._offered = [o for o in known if not (self.remote and o.key in LOCAL)]
        self._named = {name.lower(): o for o in known for name in (*o.names.values(), *o.aliases)}

    def copy(self) -> OptionValues:
        """The same values, to be changed for a while."""
        return copy.copy(self)

    def declarations(self) -> list[str]:
        """The option lines of the protocol; their defaults are the values this session began with."""
        return [
            option.declaration(self.protocol, self._start[option.key], self._caps.get(option.key))
            for option in self._offered
        ]

    def read(self, name: str, text: str | None) -> tuple[Option, Value]:
        """The option and value that a ``setoption`` means; changes nothing.

        Errors: UnknownOptionError; OptionError, a whole sentence, also saying at what value the option stays.
        """
        option = self._named.get(" ".join(name.split()).lower())
        if option is None:
            raise UnknownOptionError(f"no such option: {one_line(name, 60)}")
        if self.remote and option.key in LOCAL:
            raise OptionError(f"{option.names[self.protocol]} is set where the server starts, not over the network")
        if option.kind == "button":
            return option, True
        try:
            return option, option.parse("" if text is None and option.kind == "string" else _given(text))
        except OptionError as error:
            stays = show(self[option.key]) or "<empty>"
            raise OptionError(f"{option.names[self.protocol]} {error}; it stays at {stays}") from error

    def set(self, option: Option, value: Value) -> str:
        """Set a value that :meth:`read` returned; a sentence when a cap makes it less, else nothing."""
        most = self._caps.get(option.key)
        self.changes += 1
        if most is not None and int(value) > most:
            self[option.key] = most
            name = option.names.get(self.protocol, option.key)
            return f"{name} {value} is more than this server gives to one session: it is {most}"
        self[option.key] = value
        return ""

    def restore(self, good: EngineOptions, keys: Iterable[str]) -> None:
        """Set the options ``keys`` back to what they are in ``good``."""
        self.changes += 1
        for option in map(BY_KEY.__getitem__, keys):
            self[option.key] = option.read(good)

    def engine_options(self) -> EngineOptions:
        changes: dict[type, dict[str, Any]] = {owner: {} for owner in (EngineOptions, SearchParams, SessionOptions)}
        for option in OPTIONS:
            changes[option.owner][option.field] = option.setting_of(self[option.key])
        limited = bool(self["limit_strength"]) and not self["analyse_mode"]
        params = replace(SearchParams(), **changes[SearchParams], smart_pruning=not self["analyse_mode"])
        elo = int(self["elo"]) if limited else None
        options = replace(EngineOptions(), **changes[EngineOptions], search=params, elo=elo)
        return replace(options, own_book=False) if self["analyse_mode"] else options


def _given(text: str | None) -> str:
    if text is None:
        raise OptionError("needs a value: setoption name <option> value <value>")
    return text
