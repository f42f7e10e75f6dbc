"""Settings of sparse networks. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....engine.errors import OptionError
from ....engine.nets.families.sparse.integers import BUCKETS, WIDEST
from ....engine.settings import setting
from ..config import NetConfig


@dataclass(frozen=True)
class SparseConfig(NetConfig):
    """No tower but a shallow network of a list of features, see :mod:`network`."""

    kind: Literal["sparse"] = setting("sparse", "a shallow network for CPUs, without a tower", flag=True)
    filters: int = setting(256, "width of the policy", low=1, flag=True)
    value_filters: int = setting(1, "how many times as wide as the policy the value is", low=1, flag=True)
    value_buckets: int = setting(
        1,
        "output layers of the value, one to every four pieces; 8 for chess; of no use in shogi",
        low=1,
        high=BUCKETS,
        flag=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.filters % 32:
            raise OptionError(f"a sparse network of width {self.filters} has no even halves; give a multiple of 32")
        if self.filters * self.value_filters > WIDEST:
            raise OptionError(f"a sparse network's value is {WIDEST} wide at most; give less of value_filters")

    @property
    def architecture(self) -> str:
        wider = f", value {self.filters * self.value_filters}" if self.value_filters > 1 else ""
        buckets = f", buckets {self.value_buckets}" if self.value_buckets > 1 else ""
        return f"sparse {self.filters}{wider}{buckets}"

    @property
    def heads(self) -> str:
        return "one position, a row for each move, value head wdl"
