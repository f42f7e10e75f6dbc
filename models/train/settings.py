"""What a run is set to: the network's shape, the learner's settings, how long it lasts. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from ...engine.errors import OptionError
from ...engine.games.base import Game

Kind = Literal["dual-res", "sep-res", "dual-conv", "sep-conv"]
PolicyHead = Literal["conv", "flat", "pooled"]
ValueHead = Literal["wdl", "value"]
Schedule = Literal["cosine", "az", "az-go", "agz", "supervised", "constant"]

HISTORY = 8  # positions that the papers' planes hold (T)


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Everything that decides a network's shape.

    C, H, W are the game's planes, A its actions. ``kind`` is one of the four architectures that AlphaGo Zero
    compares (Figure 4): *dual* is one tower for both heads and *sep* one tower each; *res* has a first
    convolution and ``blocks`` residual blocks, *conv* is ``blocks`` plain convolutional blocks (12 in the paper).
    """

    planes: tuple[int, int, int]  # C, H, W of the input
    actions: int  # A
    kind: Kind = "dual-res"
    blocks: int = 6
    filters: int = 64
    squeeze: int = 0  # hidden units of squeeze-excitation in each residual block; 0 = none, as in the papers
    policy_head: PolicyHead = "conv"  # conv: AlphaZero's action planes; flat: AlphaGo Zero's fully connected layer;
    # pooled: a logit for each point and one for the pass, and a value read from means and maxima: fits every size
    policy_filters: int = 0  # 0 = as many as ``filters`` (conv), 2 (flat), 32 (pooled)
    value_head: ValueHead = "wdl"  # wdl: 3 logits; value: tanh, as in the papers
    value_filters: int = 1  # of the value head's 1x1 convolution; the papers have 1
    value_hidden: int = 256  # units of the value head's hidden layer
    history: int = HISTORY  # positions looked at; fewer than 8 ignores the older planes
    ownership: bool = False  # also say whose each point will be
    score: bool = False  # also say by how many points the side to move leads

    def __post_init__(self) -> None:
        _, height, width = self.planes
        for name, allowed in (("kind", Kind), ("policy_head", PolicyHead), ("value_head", ValueHead)):
            if getattr(self, name) not in get_args(allowed):
                raise OptionError(
                    f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(get_args(allowed))}"
                )
        for name in ("blocks", "filters", "value_filters", "value_hidden"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} must be at least 1")
        if self.policy_head == "conv" and self.actions % (height * width):
            raise OptionError(
                f"{self.actions} actions are no whole number of {height}x{width} planes; use policy_head flat or pooled"
            )
        if self.policy_head == "pooled" and self.actions != height * width + 1:
            raise OptionError("policy_head pooled is for actions that are the points of the board and a pass")
        if not 1 <= self.history <= HISTORY:
            raise OptionError(f"history is {self.history}; the planes hold 1 to {HISTORY} positions")

    @property
    def used_planes(self) -> tuple[int, ...]:
        """Indices of the input planes that the network looks at: the newest positions and the constant planes.

        C = 8 M + L (Table S1), and L < 8 in every game: 7 in chess, 2 in shogi, 1 in Go.
        """
        channels = self.planes[0]
        steps = channels // HISTORY * HISTORY
        return (*range(steps // HISTORY * self.history), *range(steps, channels))

    @property
    def any_size(self) -> bool:
        """Whether the network takes boards of every size, whatever ``planes`` says."""
        return self.policy_head == "pooled"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what the network gives, in order."""
        extra = (name for name in ("ownership", "score") if getattr(self, name))
        return ("policy", self.value_head, *extra)

    @property
    def architecture(self) -> str:
        """Short name, e.g. ``dual-res 6x64 se16``."""
        return f"{self.kind} {self.blocks}x{self.filters}" + (f" se{self.squeeze}" if self.squeeze else "")

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> NetConfig:
        """The inverse of :meth:`to_json`. Errors: OptionError."""
        try:
            return cls(**{**values, "planes": tuple(values["planes"])})
        except (KeyError, TypeError) as error:
            raise OptionError(f"the network's configuration is broken ({error}); start a new run") from error


def paper(game: Game, blocks: Literal[19, 39] = 19, *, head: PolicyHead | None = None) -> NetConfig:
    """The papers' network: 20 or 40 "blocks" of 256 filters (the first convolution counts as one), tanh value.

    The policy head is AlphaZero's convolution where the actions are planes of the board, else AlphaGo Zero's flat one.
    """
    _, height, width = game.planes
    fitting: PolicyHead = "flat" if game.num_actions % (height * width) else "conv"
    return NetConfig(
        game.planes, game.num_actions, blocks=blocks, filters=256, policy_head=head or fitting, value_head="value"
    )


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """Settings of a run that stay the same from its start to its end."""

    batch: int = 512
    optimiser: Literal["adamw", "muon", "sgd"] = "adamw"
    schedule: Schedule = "cosine"  # az, az-go, agz, supervised: the papers' steps, stretched over the run
    rate: float = 2e-3  # greatest learning rate of cosine and constant
    warmup: int = 200  # steps of linear warm-up
    weight_decay: float = 0.01  # AdamW's decoupled decay of the weights; SGD uses the papers' L2 of 1e-4
    value_weight: float = 1.0  # the papers: 1 in self-play, 0.01 in supervised learning
    ownership_weight: float = 1.0  # weight of the ownership's loss, where the network has that output
    score_weight: float = 0.2  # weight of the score's loss, where the network has that output
    clip: float = 5.0  # greatest norm of the gradient; 0 = no limit
    freeze: float = 1.0  # fraction of the run after which batch normalisation keeps its statistics, see Learner.freeze
    ema: float = 0.999  # decay of the averaged weights that are measured and exported; 0 = none
    precision: Literal["bf16", "fp32"] = "bf16"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 2:
            raise OptionError("the batch must hold at least 2 positions")
        if not 0 <= self.ema < 1:
            raise OptionError("the decay of the averaged weights must be in [0, 1)")


@dataclass(frozen=True, slots=True)
class Length:
    """How long a run lasts: ``steps`` or, when that is 0, ``minutes`` of training time over all its starts."""

    steps: int = 0
    minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class Intervals:
    """When things happen during a run: minutes of training time, or steps where it says so."""

    checkpoint_minutes: float = 2.0
    checkpoint_steps: int = 1000
    measure_minutes: float = 5.0
    measure_positions: int = 8192
    log_steps: int = 20
    export_minutes: float = 0.0  # 0 = never
