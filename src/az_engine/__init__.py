"""AlphaZero and AlphaGo Zero as an engine for chess, shogi and Go, and as a Python library.

>>> import az_engine as az
>>> with az.Engine("chess", threads=1) as engine:
...     result = engine.play(az.Position("chess", moves=["e2e4"]), az.Limits(visits=100))
>>> result.move in az.Position("chess", moves=["e2e4"]).legal_moves
True
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

# onnxruntime's official builds keep and send telemetry, from a thread of their own
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from .api.analysis import Analysis, PlayResult
    from .api.engine import Engine
    from .api.limits import Limits
    from .api.matches import MatchResult, match
    from .api.net import Evaluation, Net, nets
    from .api.position import Outcome, Position
    from .api.training import Run, SelfPlayGame, self_play
    from .engine.errors import AzError
    from .engine.games import game_names as games
    from .engine.info import Line, MoveStats, Wdl

__all__ = [
    "Analysis",
    "AzError",
    "Engine",
    "Evaluation",
    "Limits",
    "Line",
    "MatchResult",
    "MoveStats",
    "Net",
    "Outcome",
    "PlayResult",
    "Position",
    "Run",
    "SelfPlayGame",
    "Wdl",
    "games",
    "match",
    "nets",
    "self_play",
]
_HOMES = {
    "api.analysis": ("Analysis", "PlayResult"),
    "api.engine": ("Engine",),
    "api.limits": ("Limits",),
    "api.matches": ("MatchResult", "match"),
    "api.net": ("Evaluation", "Net", "nets"),
    "api.position": ("Outcome", "Position"),
    "api.training": ("Run", "SelfPlayGame", "self_play"),
    "engine.errors": ("AzError",),
    "engine.info": ("Line", "MoveStats", "Wdl"),
}


def __getattr__(name: str) -> object:
    """Load a name of the library when it is first used; the command line uses none."""
    if name == "games":
        return import_module(".engine.games", __name__).game_names
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
