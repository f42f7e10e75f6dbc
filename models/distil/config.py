"""Settings of ``az-engine distil``. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...engine.settings import check, setting

RULES = "rules"  # the encoder of our networks, which shows komi and rules
HISTORY = 1  # moves of the past that they are shown: with more, a search meets fewer positions that it knows
SETTINGS, EXACT = "config.json", "_fp32.onnx"  # of a run's folder: the settings, and how its nets' names end


class Seen(NamedTuple):
    """What the networks are shown."""

    encoder: str
    history: int  # moves of the past


OURS = Seen(RULES, HISTORY)


@dataclass(frozen=True, slots=True)
class DistilConfig:
    """Settings of a run beside its networks' and their learner's."""

    minutes: float = setting(10.0, "length of the run", above=0, flag=True)
    points: int = setting(20_000, "points of the boards that the teacher looks at together", low=25, flag=True)
    reuse: float = setting(3.0, "times that a position is learned from", above=0, flag=True)
    gib: float = setting(2.0, "memory for positions on the device, GiB, all sizes together", above=0, flag=True)
    student: float = setting(
        0.5, "share of the games whose moves the first network chooses, not the teacher", low=0, high=1, flag=True
    )
    apart: float = setting(
        8.0,
        "moves from a position of a game that the teacher looks at to the next one, on 19x19; fewer on smaller boards",
        low=1,
        flag=True,
    )
    least: int = setting(4096, "positions of a size before it is learned from", low=1, flag=True)
    export_seconds: float = setting(60.0, "seconds between nets written", above=0, flag=True)

    def __post_init__(self) -> None:
        check(self)
