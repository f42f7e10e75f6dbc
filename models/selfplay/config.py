"""All settings of a self-play run, one dataclass a section.

Presets, a TOML file and flags set them, each overriding the one before; the run keeps the result in ``config.json``.
Nothing here needs torch, as workers read it, too.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

from ...cluster import RAY_HELP
from ...engine.errors import DataError, OptionError
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.search.selfplay.games import SelfPlayConfig
from ...engine.settings import setting
from ..families import DEFAULT_KIND, all_settings, family_of
from ..families.config import NetConfig
from ..fields import Values, built
from ..net.providers import PROVIDER_HELP, TORCH, Provider
from ..train.config import LearnerConfig, Length
from ..train.log import read_config
from .boards import Board, boards_of
from .store.window import WindowConfig

NEVER = 1_000_000_000  # first_positions of a run that only plays
# settings of earlier versions, and the value with which each did nothing
RETIRED = {"selfplay.full_share": 1.0, "selfplay.fast_gumbel": 0, "window.surprise": 0.0, "selfplay.fast_visits": ...}


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """How playing and learning go together, and when the run ends."""

    steps: int = setting(
        700_000, "training steps of the whole run; the papers' rates are stretched over them", flag=True
    )
    minutes: float = setting(
        0.0,
        "training time over all starts, after which the run ends whatever steps says; 0 = by steps, never by time",
        low=0,
        flag=True,
    )
    reuse: float = setting(8.0, "positions trained on for each new one: the learner waits for games", above=0)
    least_reuse: float = setting(0.0, "workers wait while the learner falls below this reuse; 0 = never")
    first_positions: int = setting(10_000, f"new positions before the first step; {NEVER} = a run that only plays")
    checkpoint_steps: int = setting(
        1000, "steps between checkpoints; each is published, or goes through the gate", low=1
    )
    first_checkpoint: int = setting(
        0,
        "steps to the first checkpoint, then twice as many, until checkpoint_steps (not with a gate); 0 = "
        "checkpoint_steps",
        low=0,
    )
    symmetries: bool = setting(
        False, "turn and mirror each position at random, in games that allow it (agz: always; az: never)", flag=True
    )
    log_steps: int = setting(20, "steps between rows of the log", low=1)

    def __post_init__(self) -> None:
        if self.steps < 1 and not self.minutes:
            raise OptionError("a run needs an end: give loop.steps or loop.minutes")

    @property
    def length(self) -> Length:
        """How long the run lasts: by minutes when they are given."""
        return Length(self.minutes, 0 if self.minutes else self.steps)


@dataclass(frozen=True, slots=True)
class ResignConfig:
    """The resignation threshold, kept so that few of the games given up could have been saved (AlphaGo Zero)."""

    enabled: bool = setting(True, "games may be given up")
    wrong: float = setting(0.05, "greatest share of games given up that would not have been lost", low=0, high=1)
    games: int = setting(1000, "newest games played to their end that the threshold is chosen from", low=0)
    least: int = setting(100, "fewer of them: nobody resigns; so many of the newest are also judged by themselves")
    highest: float = setting(-0.5, "the threshold is never above this", low=-1, high=1)
    lowest: float = setting(-0.99, "nor below this", low=-1, high=1)


@dataclass(frozen=True, slots=True)
class GateConfig:
    """AlphaGo Zero's evaluator: a checkpoint generates games when it has beaten the best player so far."""

    games: int = setting(0, "games of a match, 400 in the paper; 0 = no gate, the latest net generates games", low=0)
    score: float = setting(0.55, "share of the points to be exceeded", low=0, high=1)
    visits: int = setting(1600, "visits a move")
    opening_plies: int = setting(
        4, "random moves before each pair of games, which would all be one game without", low=0
    )


@dataclass(frozen=True, slots=True)
class LadderConfig:
    """Rating while training: every so often a checkpoint plays fixed opponents and earlier checkpoints."""

    share: float = setting(0.05, "share of the run's time, at most; 0 = no rating")
    every: int = setting(1, "rate each so many-th checkpoint", low=1)
    visits: int = setting(100, "visits a move of the net with search")
    plain_visits: int = setting(1000, "visits a move of the search without a net")
    pairs: int = setting(16, "colour-swapped pairs of games against each opponent", low=1)
    opening_plies: int = setting(4, "random moves before each pair of games", low=0)
    earlier: int = setting(2, "earlier checkpoints that each new one plays", low=0)


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """Resources of the run; may change at every start."""

    workers: int = setting(
        1,
        "self-play processes; 0 = play in this process, in turns with learning (a repeatable run); with ray its "
        "actors, 0 = as many as the cluster has room for, also when nodes join",
        low=0,
        flag=True,
    )
    ray: str = setting("", f"let actors play: {RAY_HELP}; empty = processes of this machine", flag=True)
    actor_cpus: float = setting(1.0, "CPUs that Ray reserves for an actor", above=0)
    actor_gpus: float = setting(0.0, "GPUs that Ray reserves for an actor; 0.25 = four share one", low=0)
    threads: int = setting(1, "CPU threads of the training steps", low=1, flag=True)
    device: str = setting("cpu", "cpu, or cuda for a GPU", flag=True)
    provider: Provider = setting("auto", PROVIDER_HELP, flag=True)
    precision: Literal["auto", "bf16", "fp32"] = setting(
        "auto", "arithmetic of torch as provider; auto = bf16 on a GPU, fp32 on a CPU"
    )
    evaluators: int = setting(
        0,
        "processes that run the nets for all self-play processes of this machine, by torch, one a GPU; 0 = each runs "
        "its own",
        low=0,
    )
    batch: int = setting(
        0, "greatest batch of such a process, in positions; 0 = half of the games of its processes", low=0
    )
    int8: bool = setting(False, "play with nets quantised to int8")
    hang_seconds: float = setting(120.0, "a worker that shows no progress for so long is started again", above=0)

    def __post_init__(self) -> None:
        if self.int8 and self.provider == TORCH:
            raise OptionError("torch computes in fp32 or bf16: set machine.int8=false or choose another provider")
        if self.evaluators and (self.int8 or self.provider not in ("auto", TORCH)):
            raise OptionError("machine.evaluators run the nets by torch, in fp32 or bf16; set machine.provider=torch")
        if self.evaluators and (self.ray or not self.workers):
            raise OptionError("machine.evaluators serve processes of this machine: set machine.workers, no machine.ray")

    @property
    def in_turns(self) -> bool:
        """Whether the learner's own process plays."""
        return not self.workers and not self.ray


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides a run; ``net`` and ``learner`` hold settings of the network and of LearnerConfig."""

    game: str  # name for get_game, with the board's size: "go9"
    preset: str = ""
    seed: int = setting(0, "seed of the weights, the games and the order of the positions", flag=True)
    init: str = setting("", "a run's folder, a checkpoint's file, a net or default: the first weights", flag=True)
    boards: Values = field(default_factory=dict)  # lines of the other boards it plays on: their share of the positions
    net: Values = field(default_factory=dict, metadata={"section": all_settings()})
    learner: Values = field(default_factory=dict, metadata={"section": LearnerConfig})
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
        return built(cls, values)

    def to_json(self) -> Values:
        plain: Values = json.loads(json.dumps(asdict(self)))
        return plain

    def next_checkpoint(self, step: int) -> int:
        """The step of the first checkpoint after ``step``."""
        early = 0 if self.gate.games else self.loop.first_checkpoint
        while 0 < early < self.loop.checkpoint_steps:
            if step < early:
                return early
            early *= 2
        return (step // self.loop.checkpoint_steps + 1) * self.loop.checkpoint_steps

    def is_checkpoint(self, step: int) -> bool:
        return step > 0 and self.next_checkpoint(step - 1) == step

    def get_game(self) -> Game:
        return get_game(self.game)

    def get_boards(self) -> tuple[Board, ...]:
        """The boards that games are played on, the run's own first. Errors: OptionError."""
        return boards_of(self.get_game(), self.boards)

    def net_config(self, game: Game) -> NetConfig:
        family = family_of(self.net.get("kind", DEFAULT_KIND))
        if not family.plays_itself:
            kind = family.kinds[0]
            raise OptionError(f"a {kind} network learns from records alone; choose another net.kind for self-play")
        net = family.configured(game, {"history": game.history, **self.net})
        if net.territory and game.territory is None:
            raise OptionError(f"{game.name} has no territory to own; leave net.ownership and net.score out")
        if len(self.get_boards()) > 1 and not net.any_size:
            raise OptionError("only net.policy_head=pooled makes a net for several sizes of board")
        if self.boards and self.machine.evaluators:
            raise OptionError("machine.evaluators run nets for one size of board; leave them out, or the other sizes")
        return net

    def learner_config(self) -> LearnerConfig:
        return built(LearnerConfig, {**self.learner, "seed": self.seed}, "learner.")


def sections() -> dict[str, type]:
    """The classes of a run's settings by what their names begin with: "", "net.", "learner.", "selfplay.search." ..."""

    def below(name: str, part: type) -> Iterator[tuple[str, type]]:
        yield name, part
        hints = typing.get_type_hints(part)
        for f in fields(part):
            inner = f.metadata.get("section", hints[f.name])
            if isinstance(inner, type) and is_dataclass(inner):
                yield from below(f"{name}{f.name}.", inner)

    return dict(below("", RunConfig))


def used_settings(values: Mapping[str, Any]) -> Values:
    """Settings without RETIRED ones. Errors: OptionError where one of these is in use."""
    for name, idle in RETIRED.items():
        section, _, key = name.partition(".")
        part = values.get(section)
        value = part.get(key, idle) if isinstance(part, Mapping) else idle
        if idle not in (value, ...):
            raise OptionError(
                f"{name} = {value}: this version no longer has the setting; leave it out, or go on with a run that "
                "uses it by the version that began it"
            )
    return without_retired(values)


def without_retired(values: Mapping[str, Any]) -> Values:
    return {
        section: {key: value for key, value in part.items() if f"{section}.{key}" not in RETIRED}
        if isinstance(part, Mapping)
        else part
        for section, part in values.items()
    }


def load_run(folder: Path) -> RunConfig:
    """The settings of a run, to read or play its games; RETIRED ones are skipped. Errors: DataError."""
    values = read_config(folder / "config.json")
    try:
        return RunConfig.from_values(without_retired(values["run"]))
    except (KeyError, TypeError, OptionError) as error:
        raise DataError(f"{folder} holds no self-play run of this version ({error})") from error
