"""The settings of a network: what all families have, and how a family adds its own. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Self

from ...engine.games.encoder import Encoder
from ...engine.settings import check, setting
from ..fields import Values

HISTORY = 8  # positions that the papers' planes hold (T)


@dataclass(frozen=True)
class NetConfig:
    """Everything that decides a network's shape; a family adds its own settings.

    A subclass narrows ``kind`` to a Literal of its kinds, with a default. C, H, W are the game's planes, A its actions.
    """

    planes: tuple[int, int, int]  # C, H, W of the input
    actions: int  # A
    used: tuple[int, ...] = ()  # indices of the planes that it looks at, () = all: see ``seeing``
    kind: str = ""
    history: int = setting(
        HISTORY, "positions of the input (the papers: 8); fewer is faster", low=1, high=HISTORY, flag=True
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def value_head(self) -> str:
        """Name of the value's output: "wdl", logits [B, 3] of win, draw and loss, or "value", [B, 1] in [-1, 1]."""
        return "wdl"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the network's outputs, in order: "policy", the value, and "ownership" and "score" where it has them.

        See :func:`~az_engine.models.families.network.Network.to_onnx` for their shapes.
        """
        return ("policy", self.value_head)

    @property
    def territory(self) -> bool:
        """Whether it learns what only games of territory know."""
        return not {"ownership", "score"}.isdisjoint(self.outputs)

    @property
    def any_size(self) -> bool:
        """Whether the network takes boards of every size, not only that of ``planes``."""
        return False

    @property
    def architecture(self) -> str:
        """Short name, e.g. ``dual-res 6x64 se16``; the kind is its first word."""
        return self.kind

    @property
    def heads(self) -> str:
        """Its input and outputs in a few words, for the card."""
        return f"value head {self.value_head}, positions of history {self.history}"

    def seeing(self, encoder: Encoder) -> Self:
        """The same network, looking only at the planes that its ``history`` leaves of an encoder's."""
        used = encoder.used_planes(self.history)
        return replace(self, used=used if len(used) < self.planes[0] else ())

    @property
    def used_planes(self) -> tuple[int, ...]:
        """Indices of the input planes that the network looks at."""
        return self.used or tuple(range(self.planes[0]))

    def to_json(self) -> Values:
        return asdict(self)
