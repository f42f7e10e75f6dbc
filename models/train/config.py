"""Settings of a run beside its network's: the learner, the length, the intervals. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...engine.errors import OptionError
from ...engine.os.system import fast_bf16
from ...engine.settings import check, setting

Schedule = Literal["cosine", "az", "az-go", "agz", "supervised", "constant"]
# settings that decide what a checkpoint holds, or which outputs it has learned
LASTING = ("optimiser", "policy_weight", "value_weight", "ownership_weight", "score_weight", "seed")


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """Settings of the learner; a resumed run keeps those of LASTING, the others may change."""

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
        "weight of the policy loss; 0: it is not learned, and kept where value and policy share no weights",
        low=0,
        flag=True,
    )
    value_weight: float = setting(
        1.0,
        "weight of the value loss (supervised learning in the paper: 0.01); 0: likewise",
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
        "bf16" if fast_bf16() else "fp32",
        "arithmetic of the network; bf16 where the CPU has instructions for it, else fp32",
        flag=True,
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

    def advice(self, device: str) -> str:
        """A sentence about a precision that this machine emulates, or ""."""
        if self.precision == "fp32" or device != "cpu" or fast_bf16():
            return ""
        return "this CPU has no instructions for bf16 and emulates it slowly; --precision fp32 is faster here"

    def weight_of(self, output: str) -> float:
        """The weight of an output's loss; 1 for a loss of a researcher's own."""
        weight: float = getattr(self, f"{'value' if output == 'wdl' else output}_weight", 1.0)
        return weight


@dataclass(frozen=True, slots=True)
class Length:
    """How long a run lasts: ``steps`` or, when that is 0, ``minutes`` of training time over all its starts."""

    minutes: float = setting(
        0.0, "training time over all starts; the schedule ends with it; 0 = never by time", low=0, flag=True
    )
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
