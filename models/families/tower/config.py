"""Settings of towers of convolutions. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....engine.errors import OptionError
from ....engine.games.base import Game
from ....engine.settings import setting
from ..config import NetConfig

Kind = Literal["dual-res", "sep-res", "dual-conv", "sep-conv"]
PolicyHead = Literal["conv", "flat", "pooled"]
ValueHead = Literal["wdl", "value"]


@dataclass(frozen=True)
class TowerConfig(NetConfig):
    """A tower and its heads.

    ``kind`` is one of the four architectures that AlphaGo Zero compares (Figure 4): *dual* is one tower for both heads
    and *sep* one tower each; *res* has a first convolution and ``blocks`` residual blocks, *conv* is ``blocks`` plain
    convolutional blocks (12 in the paper).
    """

    kind: Kind = setting("dual-res", "one tower for both heads or two, residual or plain", flag=True)
    blocks: int = setting(6, "residual blocks, or plain convolutional blocks", low=1, flag=True)
    filters: int = setting(64, "filters of every convolution of the tower", low=1, flag=True)
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
    value_filters: int = setting(1, "filters of the value head's 1x1 convolution (the papers: 1)", low=1, flag=True)
    value_hidden: int = setting(256, "units of the value head's hidden layer (the papers: 256)", low=1, flag=True)
    ownership: bool = setting(
        False, "also learn who will own each point, where the data or the games' ends say it", flag=True
    )
    score: bool = setting(False, "also learn by how many points the side to move leads", flag=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _, height, width = self.planes
        if self.policy_head == "conv" and self.actions % (height * width):
            raise OptionError(
                f"{self.actions} actions are no whole number of {height}x{width} planes; use policy_head flat or pooled"
            )
        if self.policy_head == "pooled" and self.actions != height * width + 1:
            raise OptionError("policy_head pooled is for actions that are the points of the board and a pass")

    @property
    def any_size(self) -> bool:
        return self.policy_head == "pooled"

    @property
    def outputs(self) -> tuple[str, ...]:
        extra = (name for name in ("ownership", "score") if getattr(self, name))
        return ("policy", self.value_head, *extra)

    @property
    def architecture(self) -> str:
        return f"{self.kind} {self.blocks}x{self.filters}" + (f" se{self.squeeze}" if self.squeeze else "")

    @property
    def heads(self) -> str:
        return f"policy head {self.policy_head}, {super().heads}"


def fitting_head(game: Game) -> PolicyHead:
    """AlphaZero's convolution where the actions are planes of the board, else AlphaGo Zero's flat head."""
    _, height, width = game.planes
    return "flat" if game.num_actions % (height * width) else "conv"
