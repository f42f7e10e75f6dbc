"""Every setting of the engine and its search, one line of meaning and unit each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Settings of the tree search; the defaults are those used for playing.

    ``az`` and ``agz`` name the papers' settings: see :func:`paper_params`.
    """

    puct: Literal["az", "agz"] = "az"  # az: c(s) grows with log N(s); agz: constant c_puct
    c_puct: float = 1.25  # c_init of AlphaZero, or AlphaGo Zero's constant
    c_base: float = 19652.0  # c_base of AlphaZero
    fpu: Literal["zero", "reduction", "loss"] = "reduction"  # Q of an unvisited edge: 0, below its parent's, or -1
    fpu_value: float = 0.33  # reduction: Q = the parent's value - fpu_value * sqrt(sum of the visited edges' P)
    policy_temperature: float = 1.0  # softmax temperature of the priors
    virtual_loss: int = 1  # losses counted for each simulation in flight
    solver: bool = True  # back up proven wins, draws and losses
    mate_plies: int = 5  # with the solver: the longest mate looked for at each leaf, in games that can; 0 = none
    symmetries: bool = False  # show the net each position under a random symmetry of the board, where the game has some
    temperature: float = 0.0  # tau of the move choice: 0 = most visits
    seed: int = 0  # of move sampling and symmetries
    smart_pruning: bool = True  # stop early when the best move can no longer change


def paper_params(preset: Literal["az", "agz"]) -> SearchParams:
    """The search settings that the papers fix (AlphaZero Methods; AlphaGo Zero Methods, 'Search algorithm')."""
    return SearchParams(
        puct=preset, fpu="zero", solver=False, mate_plies=0, smart_pruning=False, symmetries=preset == "agz"
    )


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What a user can set on an engine, whatever the protocol calls it."""

    weights_file: str = ""  # path of an ONNX net; "" = the net inside the package; "uniform" = no net
    hash_mb: int = 256  # memory of tree and position cache together, MiB
    threads: int = 2  # search workers
    batch_size: int = 0  # leaves a batch; 0 = chosen from the measured speed
    provider: str = "auto"  # auto | cpu | cuda | tensorrt | openvino | dml
    multipv: int = 1  # principal variations reported
    move_overhead_ms: int = 30  # what every move loses on the way to the GUI and back, on average
    last_overhead_ms: int | None = None  # the most it may lose: kept back of the last moment; None = the average
    minimum_ms: int = 0  # spent at least on a move when there is a clock that affords it
    ponder: bool = False  # the GUI may ponder: use of the clock may be bolder
    chess960: bool = False  # castling is written as king takes rook
    move_stats: bool = False  # fill ThinkingInfo.move_stats
    nodes_limit: int = 0  # visits after which any bounded search stops; 0 = none
    elo: int | None = None  # limit the strength to about this rating
    resign_cp: int | None = None  # give up when the best line is worth at most -resign_cp centipawns; None = never
    declaration: Literal["27", "24", "none"] = "27"  # entering-king rule, in a game that has one
    max_plies: int = 0  # the game is drawn at this ply, in a game that may be limited; 0 = never
    search: SearchParams = field(default_factory=SearchParams)
