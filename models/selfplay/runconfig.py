"""All settings of a self-play run, one dataclass a section, and how they are put together.

They come from the presets, then a TOML file, then flags, each overriding the one before; the run keeps what came out
in its ``config.json``. Nothing here needs torch: workers read it, too.
"""

from __future__ import annotations

import json
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

from ...engine.errors import DataError, OptionError
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.search.selfplay import SelfPlayConfig
from ..train.log import read_config
from ..train.settings import LearnerConfig, NetConfig
from .window import WindowConfig

Section = TypeVar("Section")
Values = dict[str, Any]

NEVER = 1_000_000_000  # positions, more than any run gathers


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """How playing and learning go together, and when the run ends."""

    steps: int = 700_000  # training steps of the whole run; the papers' learning rates are stretched over them
    minutes: float = 0.0  # > 0: the run ends after so much time over all its starts, and ``steps`` is not looked at
    reuse: float = 8.0  # positions trained on for each new one: the learner waits when it is ahead of the games
    least_reuse: float = 0.0  # > 0: workers pause when the learner is so far behind that it falls below this
    first_positions: int = 10_000  # new positions before the first step; NEVER or more: a run that only plays
    checkpoint_steps: int = 1000  # between checkpoints; each is published, or goes through the gate
    symmetries: bool = False  # show each position to the learner under one of the game's symmetries (AlphaGo Zero)
    log_steps: int = 20

    def __post_init__(self) -> None:
        if self.steps < 1 and not self.minutes:
            raise OptionError("a run needs an end: give loop.steps or loop.minutes")
        if self.reuse <= 0 or self.checkpoint_steps < 1:
            raise OptionError("loop.reuse and loop.checkpoint_steps must be greater than 0")


@dataclass(frozen=True, slots=True)
class ResignConfig:
    """The resignation threshold, kept so that few of the games given up could have been saved (AlphaGo Zero)."""

    enabled: bool = True
    wrong: float = 0.05  # greatest share of games given up that would not have been lost
    games: int = 1000  # newest games played to their end that it is chosen from
    least: int = 100  # fewer of them: nobody resigns; and so many of the newest are looked at by themselves, too
    highest: float = -0.5  # the threshold is never above this
    lowest: float = -0.99


@dataclass(frozen=True, slots=True)
class GateConfig:
    """AlphaGo Zero's evaluator: a checkpoint generates games when it has beaten the best player so far."""

    games: int = 0  # 400 in the paper; 0 = no gate, the latest net generates (AlphaZero)
    score: float = 0.55  # to be exceeded
    visits: int = 1600
    opening_plies: int = 4  # random moves in front of each pair of games: without noise all games would be one


@dataclass(frozen=True, slots=True)
class LadderConfig:
    """Rating while training: every so often a checkpoint plays fixed opponents and earlier checkpoints."""

    share: float = 0.05  # of the run's compute, at most; 0 = no rating
    every: int = 1  # rate each so many-th checkpoint
    visits: int = 100  # of the net with search
    plain_visits: int = 1000  # of the opponent that searches without a net
    pairs: int = 16  # colour-swapped pairs of games against each opponent
    opening_plies: int = 4
    earlier: int = 2  # earlier checkpoints that each new one plays


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """What the run may use; may change at every start."""

    workers: int = 1  # self-play processes that train starts, by default one a core; 0 = play in the learner's process
    threads: int = 1  # of the training steps
    device: str = "cpu"  # of the training steps: cpu or cuda
    provider: str = "auto"  # what runs the nets in self-play, as the engine's option Provider
    int8: bool = False  # self-play with nets quantised to int8
    hang_seconds: float = 120.0  # a worker that shows no progress for so long is killed and started again


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides a run; ``net`` and ``learner`` hold fields of NetConfig and LearnerConfig."""

    game: str  # name for get_game, with the board's size: "go9"
    preset: str = ""
    seed: int = 0
    init: str = ""  # whose weights this run begins with: a run's folder, a checkpoint's file, a net, or "default"
    net: Values = field(default_factory=dict)
    learner: Values = field(default_factory=dict)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    window: WindowConfig = field(default_factory=WindowConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    resign: ResignConfig = field(default_factory=ResignConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    ladder: LadderConfig = field(default_factory=LadderConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> RunConfig:
        """From nested plain values. Errors: OptionError naming what is unknown or of the wrong kind."""
        return built(cls, values, "")

    def to_json(self) -> Values:
        """As plain JSON values."""
        plain: Values = json.loads(json.dumps(asdict(self)))
        return plain

    def get_game(self) -> Game:
        """The game, on its board. Errors: OptionError."""
        return get_game(self.game)

    def net_config(self, game: Game) -> NetConfig:
        """The network's shape. Errors: OptionError."""
        shape = {"planes": list(game.planes), "actions": game.num_actions}
        net = built(NetConfig, {"history": game.history, **self.net, **shape}, "net.")
        if net.ownership or net.score:
            raise OptionError("games against itself say neither ownership nor score; leave --ownership and --score out")
        return net

    def learner_config(self) -> LearnerConfig:
        """The learner's settings. Errors: OptionError."""
        return built(LearnerConfig, {**self.learner, "seed": self.seed}, "learner.")


def built(cls: type[Section], values: Mapping[str, Any], where: str) -> Section:
    """A dataclass from plain values, checked. ``where``: name of the section with a dot. Errors: OptionError."""
    hints = typing.get_type_hints(cls)
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f"; did you mean {where}{near[0]}?" if near else f"; there are {', '.join(names)}"
            raise OptionError(f"there is no setting {where}{name}{hint}")
    return cls(**{name: _fitting(hints[name], value, where + name) for name, value in values.items()})


def _fitting(kind: Any, value: Any, name: str) -> Any:
    """``value`` as a field of type ``kind``. Errors: OptionError."""
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise OptionError(f"{name} is a section; set {name}.{fields(kind)[0].name} and so on")
        return built(kind, value, name + ".")
    origin, choices = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        if value not in choices:
            raise OptionError(f"{name} is {value!r}; it must be one of {', '.join(map(str, choices))}")
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in choices:
            return None
        return _fitting(next(c for c in choices if c is not type(None)), value, name)
    if origin is tuple:
        return tuple(value)
    if origin is dict:
        return dict(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise OptionError(f"{name} is {value!r}; it must be of type {kind.__name__}")
    return value


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Nested values with those of ``over`` in place of those of ``base``."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        nested = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if nested else value  # type: ignore[arg-type]
    return result


def read_toml(path: Path) -> Values:
    """The settings of a TOML file. Errors: OptionError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"the settings in {path} cannot be read ({error})") from error


def assignment(text: str) -> Values:
    """``section.name=value`` as nested values; the value is written as in TOML, a plain word needs no quotes.

    Errors: OptionError.
    """
    name, sign, value = text.partition("=")
    parts = name.strip().split(".")
    if not sign or not all(parts):
        raise OptionError(f"{text!r} sets nothing; write section.name=value, as in selfplay.visits=100")
    content: Any
    if value.strip() == "none":
        content = None
    else:
        try:
            content = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            content = value.strip()
    for part in reversed(parts):
        content = {part: content}
    result: Values = content
    return result


def load_run(folder: Path) -> RunConfig:
    """The settings of a run's folder. Errors: DataError."""
    values = read_config(folder / "config.json")
    try:
        return RunConfig.from_values(values["run"])
    except (KeyError, TypeError, OptionError) as error:
        raise DataError(f"{folder} holds no self-play run of this version ({error})") from error
