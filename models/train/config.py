"""Settings of a run: the network's shape, the learner, the length. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ...engine.errors import OptionError
from ...engine.games.base import Game
from ...engine.games.encoder import Encoder
from ...engine.nets.families.sparse.integers import BUCKETS, WIDEST
from ...engine.settings import check, setting

Kind = Literal["dual-res", "sep-res", "dual-conv", "sep-conv", "sparse"]
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
    *sparse* is no tower but a shallow network of a list of features, see ``net.sparse``; ``filters`` is its width, and
    its value is ``value_filters`` times as wide and has ``value_buckets`` output layers.
    """

    planes: tuple[int, int, int]  # C, H, W of the input
    actions: int  # A
    used: tuple[int, ...] = ()  # indices of the planes that it looks at, () = all: see ``seeing``
    kind: Kind = setting(
        "dual-res",
        "one tower for both heads or two, residual or plain; sparse: a shallow network for CPUs, without a tower",
        flag=True,
    )
    blocks: int = setting(6, "residual blocks, or plain convolutional blocks", low=1, flag=True)
    filters: int = setting(
        64, "filters of every convolution of the tower; the width of a sparse network (256)", low=1, flag=True
    )
    squeeze: int = setting(0, "hidden units of squeeze-excitation; 0 = none, as in the papers", low=0, flag=True)
    policy_head: PolicyHead = setting(
        "conv",
        "conv: AlphaZero's action planes; flat: AlphaGo Zero's fully connected layer; pooled: a logit for each point "
        "and one for the pass, one net for boards of every size (value head included)",
        flag=True,
    )
    policy_filters: int = setting(
        0,
        "filters inside the policy head; 0 = as the papers: --filters (conv), 2 (flat); 32 (pooled)",
        low=0,
        flag=True,
    )
    value_head: ValueHead = setting("wdl", "wdl: win, draw, loss; value: tanh, as in the papers", flag=True)
    value_filters: int = setting(
        1,
        "filters of the value head's 1x1 convolution (the papers: 1); sparse: how many times as wide as the policy the "
        "value is",
        low=1,
        flag=True,
    )
    value_buckets: int = setting(
        1,
        "output layers of a sparse network's value, one to every four men; 8 for chess; of no use in shogi",
        low=1,
        high=BUCKETS,
        flag=True,
    )
    value_hidden: int = setting(256, "units of the value head's hidden layer (the papers: 256)", low=1, flag=True)
    history: int = setting(
        HISTORY, "positions of the input (the papers: 8); fewer is faster", low=1, high=HISTORY, flag=True
    )
    ownership: bool = setting(
        False, "also learn who will own each point, where the data or the games' ends say it", flag=True
    )
    score: bool = setting(False, "also learn by how many points the side to move leads", flag=True)

    def __post_init__(self) -> None:
        check(self)
        _, height, width = self.planes
        if self.kind != "sparse" and self.value_buckets > 1:
            raise OptionError("only a sparse network's value has buckets; leave out value_buckets or give kind sparse")
        if self.kind == "sparse":
            if self.filters % 32:
                raise OptionError(f"a sparse network of width {self.filters} has no even halves; give a multiple of 32")
            if self.filters * self.value_filters > WIDEST:
                raise OptionError(f"a sparse network's value is {WIDEST} wide at most; give less of value_filters")
            return
        if self.policy_head == "conv" and self.actions % (height * width):
            raise OptionError(
                f"{self.actions} actions are no whole number of {height}x{width} planes; use policy_head flat or pooled"
            )
        if self.policy_head == "pooled" and self.actions != height * width + 1:
            raise OptionError("policy_head pooled is for actions that are the points of the board and a pass")

    def seeing(self, encoder: Encoder) -> NetConfig:
        """The same network, looking only at the planes that its ``history`` leaves of an encoder's."""
        used = encoder.used_planes(self.history)
        return replace(self, used=used if len(used) < self.planes[0] else ())

    @property
    def used_planes(self) -> tuple[int, ...]:
        """Indices of the input planes that the network looks at."""
        return self.used or tuple(range(self.planes[0]))

    @property
    def any_size(self) -> bool:
        """Whether the network takes boards of every size, not only that of ``planes``."""
        return self.policy_head == "pooled"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the network's outputs, in order."""
        extra = (name for name in ("ownership", "score") if getattr(self, name))
        return ("policy", self.value_head, *extra)

    @property
    def architecture(self) -> str:
        """Short name, e.g. ``dual-res 6x64 se16``."""
        if self.kind == "sparse":
            wider = f", value {self.filters * self.value_filters}" if self.value_filters > 1 else ""
            buckets = f", buckets {self.value_buckets}" if self.value_buckets > 1 else ""
            return f"sparse {self.filters}{wider}{buckets}"
        return f"{self.kind} {self.blocks}x{self.filters}" + (f" se{self.squeeze}" if self.squeeze else "")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> NetConfig:
        try:
            planes, used = tuple(values["planes"]), values.get("used")
            if used is None:  # a run from before encoders said it: of 8 positions, then fewer than 8 planes of none
                each = planes[0] // HISTORY
                used = (*range(each * values["history"]), *range(each * HISTORY, planes[0]))
            return cls(**{**values, "planes": planes, "used": tuple(used) if len(used) < planes[0] else ()})
        except (KeyError, TypeError) as error:
            raise OptionError(f"the network's configuration is broken ({error}); start a new run") from error


def fitting_head(game: Game) -> PolicyHead:
    """AlphaZero's convolution where the actions are planes of the board, else AlphaGo Zero's flat head."""
    _, height, width = game.planes
    return "flat" if game.num_actions % (height * width) else "conv"


def paper(game: Game, blocks: Literal[19, 39] = 19, *, head: PolicyHead | None = None) -> NetConfig:
    """The papers' network: 20 or 40 "blocks" of 256 filters (the first convolution counts as one), tanh value.

    head: None: :func:`fitting_head`.
    """
    head = head or fitting_head(game)
    return NetConfig(game.planes, game.num_actions, blocks=blocks, filters=256, policy_head=head, value_head="value")


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """Settings of the learner; a resumed run keeps them."""

    batch: int = setting(512, "positions a step", low=2, flag=True)
    optimiser: Literal["adamw", "muon", "sgd"] = setting(
        "adamw",
        "muon: AdamW with Muon for the convolutions, learns more from as many positions; sgd: momentum 0.9 and L2 "
        "1e-4, as in the papers",
        flag=True,
    )
    schedule: Schedule = setting(
        "cosine", "az, az-go, agz, supervised: the papers' learning rates, stretched over the run", flag=True
    )
    rate: float = setting(2e-3, "greatest learning rate of cosine and constant", flag=True)
    cooldown: float = setting(
        0.0,
        "share of the run, at its end, in which the rate falls to zero along a cosine, whatever the schedule; the "
        "averaged weights then settle",
        low=0,
        high=1,
        flag=True,
    )
    warmup: int = setting(200, "steps of linear warm-up", low=0, flag=True)
    weight_decay: float = setting(0.01, "AdamW's decoupled decay of the weights", flag=True)
    policy_weight: float = setting(
        1.0,
        "weight of the policy loss; 0: it is not learned, and a sparse network keeps its policy",
        low=0,
        flag=True,
    )
    value_weight: float = setting(
        1.0,
        "weight of the value loss (supervised learning in the paper: 0.01); 0: a sparse network keeps its value",
        low=0,
        flag=True,
    )
    ownership_weight: float = setting(1.0, "weight of the ownership's loss", flag=True)
    score_weight: float = setting(0.2, "weight of the score's loss", flag=True)
    clip: float = setting(5.0, "greatest norm of the gradient; 0 = no limit", low=0, flag=True)
    ema: float = setting(
        0.999, "decay of the averaged weights, which are measured and exported; 0 = none", low=0, below=1, flag=True
    )
    precision: Literal["bf16", "fp32"] = setting(
        "bf16", "arithmetic of the network; bf16 needs a recent CPU or a GPU", flag=True
    )
    freeze: float = setting(
        1.0,
        "fraction of the run after which batch normalisation keeps its statistics; about 0.5 with several sizes",
        flag=True,
    )
    seed: int = setting(0, "seed of the first weights and of the order of the positions", flag=True)

    def __post_init__(self) -> None:
        check(self)
        if not self.policy_weight and not self.value_weight:
            raise OptionError("neither policy nor value is to be learned; give one of them a weight above 0")


@dataclass(frozen=True, slots=True)
class Length:
    """How long a run lasts: ``steps`` or, when that is 0, ``minutes`` of training time over all its starts."""

    minutes: float = setting(0.0, "training time over all starts; the schedule ends with it", flag=True)
    steps: int = setting(0, "training steps; 0 = by --minutes", flag=True)


@dataclass(frozen=True, slots=True)
class Intervals:
    """When things happen during a supervised run, in training time and steps."""

    checkpoint_minutes: float = setting(2.0, "minutes between checkpoints", flag=True)
    checkpoint_steps: int = setting(1000, "steps between checkpoints")
    measure_minutes: float = setting(5.0, "minutes between measurements on held-out positions", flag=True)
    measure_positions: int = setting(8192, "held-out positions of a measurement")
    log_steps: int = setting(20, "steps between rows of the log")
    export_minutes: float = setting(
        0.0, "minutes between candidate nets (candidate_<minutes>_int8.onnx); 0 = none", flag=True
    )
