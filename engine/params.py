"""Every setting of the engine and its search, each with its meaning, its unit and the values it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .os.system import memory_bytes
from .settings import setting

_USUAL_HASH, _USUAL_SHARE = 256, 16  # MiB at most, and one part in so many of the machine's memory


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Settings of the tree search; the defaults are those used for playing.

    ``az`` and ``agz`` name the papers' settings: see :func:`paper_params`.
    """

    puct: Literal["az", "agz"] = setting(
        "az",
        "Selection formula: az = AlphaZero's, c grows with the visits; agz = AlphaGo Zero's constant c.",
        choices=("az", "agz"),
    )
    c_puct: float = setting(1.25, "Exploration: c_init of AlphaZero, or the constant of AlphaGo Zero.", 0, 100)
    c_base: float = setting(19652.0, "Visits from which c grows noticeably, with az.", 1, 1e9)
    c_factor: float = setting(
        1.0, "How fast c grows with the logarithm of the visits, with az; the paper has 1.", 0, 1000
    )
    fpu: Literal["zero", "reduction", "loss"] = setting(
        "reduction",
        "Value of an unvisited move: zero, the parent's less a reduction, or a loss.",
        choices=("zero", "reduction", "loss"),
    )
    fpu_value: float = setting(0.33, "The reduction: this times the root of the prior visited so far.", 0, 10)
    fpu_root_value: float = setting(0.33, "The same for the moves of the root.", 0, 10)
    policy_temperature: float = setting(
        1.0, "Softmax temperature of the net's policy; greater = wider search.", 0.1, 10
    )
    root_policy_temperature: float = setting(
        1.0, "The root's policy temperature is PolicyTemperature times this; greater = wider search there.", 0.01, 100
    )
    virtual_loss: float = setting(
        1.0, "How much of a simulation in flight counts as lost: 0 = it is a visit and no more, 1 = all of it.", 0, 1
    )
    subtree_bias: float = setting(  # in games that number local patterns
        0.0,
        "How much of the net's mean error at a local pattern corrects its values there (subtree value bias "
        "correction): 0 = nothing, 1 = all of it.",
        0,
        1,
    )
    score_utility: float = setting(  # with nets that tell leads
        0.0,
        "How much of what a search maximises is the lead in points, not the chance to win: 0 = nothing, 1 = all of it.",
        0,
        1,
    )
    solver: bool = True  # back up proven wins, draws and losses
    mate_plies: int = setting(  # with the solver, in games that have such a search
        5, "The longest mate, in plies, that is looked for at every leaf of the search beside the net; 0 = none.", 0, 7
    )
    ladders: bool = setting(  # in games that have them
        True, "Read ladders beside our nets: which chains one catches, and which escape."
    )
    transpositions: bool = setting(  # with compiled nets
        True, "Search a position once, whatever the order of the moves that lead to it; with the net for CPUs."
    )
    symmetries: bool = setting(  # in games that have some
        False, "Show the net each position turned or mirrored at random, as AlphaGo Zero does."
    )
    temperature: float = setting(
        0.0, "Variety of play: 0 = always the most visited move, 1 = in proportion to the visits.", 0, 10
    )
    seed: int = setting(0, "Seed of everything random; with 0 a temperature draws other moves each time.", 0, 2**53)
    smart_pruning: bool = True  # stop early when the best move can no longer change


def paper_params(preset: Literal["az", "agz"]) -> SearchParams:
    """The search settings that the papers fix (AlphaZero Methods; AlphaGo Zero Methods, 'Search algorithm')."""
    return SearchParams(
        puct=preset,
        fpu="zero",
        solver=False,
        mate_plies=0,
        ladders=False,
        transpositions=False,
        smart_pruning=False,
        symmetries=preset == "agz",
    )


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What a user can set on an engine, whatever the protocol calls it."""

    weights_file: str = setting(
        "",
        "The net: path of an ONNX file or of another program's net (Lc0, KataGo, dlshogi); empty = the package's own; "
        '"chess-conv", "shogi-conv" = its others for chess and shogi, the default on a GPU; "go-large" = the default '
        'on boards from 13x13, "go-stones" = one that sees no komi; '
        '"uniform" = no net (for tests).',
    )
    hash_mb: int = setting(
        max(min(_USUAL_HASH, (memory_bytes() >> 20) // _USUAL_SHARE), 1),
        "Memory for the search tree and the position cache together, in MiB; usually 256, or a sixteenth of the "
        "machine's memory where that is less.",
        1,
        131072,
    )
    threads: int = setting(2, "Search workers.", 1, 128)
    batch_size: int = setting(0, "Positions per call of the net; 0 = chosen from the measured speed.", 0, 1024)
    provider: str = setting(
        "auto",
        "What runs the net: onnxruntime on this device, or torch (a net of az-engine train in fp32).",
        choices=("auto", "cpu", "cuda", "tensorrt", "openvino", "dml", "torch"),
    )
    int8: bool = setting(
        True, "Quantise another program's net for a CPU, where the onnx package is there and it judges nearly the same."
    )
    multipv: int = setting(1, "Principal variations reported.", 1, 500)
    move_overhead_ms: int = setting(
        30, "Keep back so much of the time of every move for the GUI and the network, in ms.", 0, 10000
    )
    last_overhead_ms: int | None = setting(  # None: as the average
        None,
        "Longest delay of a move on its way to the GUI, in ms; as much of the clock is kept back, half of it at most.",
        0,
        10000,
        none=0,
    )
    minimum_ms: int = setting(0, "Spend at least so long on a move when the clock allows it, in ms.", 0, 100000)
    ponder: bool = setting(False, "The GUI may let it think on the opponent's time.")  # the clock is used more boldly
    chess960: bool = setting(False, "Write castling as king takes rook.")
    move_stats: bool = setting(
        False, "Report visits, prior and value of every root move at the end of a search, as Lc0 does."
    )
    nodes_limit: int = setting(
        0, "Stop every search but an endless one after so many visits; 0 = never.", 0, 2_000_000_000
    )
    elo: int | None = None  # limit the strength to about this rating
    own_book: bool = setting(True, "Play from the opening book that BookFile names.")
    book_file: str = setting(
        "", "Opening book: Polyglot (.bin) in chess, YaneuraOu (.db) or Apery (.bin) in shogi; empty = none."
    )
    syzygy_path: str = setting(
        "", "Folders of Syzygy endgame tables, separated as in PATH; the tables of up to four pieces are inside."
    )
    syzygy_probe_limit: int = setting(7, "Look up positions of at most so many pieces; 0 = none.", 0, 7)
    syzygy_50_move_rule: bool = setting(True, "Count a win that the fifty-move rule spoils as a draw.")
    best_book_move: bool = setting(False, "Always play the book's most frequent move, not a random one.")
    resign_cp: int | None = setting(
        None,
        "Resign when the best line is this many centipawns behind, or more; 99999 = never.",
        0,
        99999,
        none=99999,
    )
    eval_coef: int = setting(  # in shogi
        600, "The scale of scores: for expected points p so many centipawns times ln(p / (1 - p)).", 1, 10000
    )
    resign_permille: int = setting(
        0, "Resign when the best line's expected points are below this, in 1/1000 of a win; 0 = never.", 0, 1000
    )
    declaration: Literal["27", "27 handicap", "24", "24 handicap", "try", "none"] = setting(  # in a game that has one
        "27",
        "How a king in the enemy's camp wins: declared with 27 or 24 points (H: white is credited with the pieces of a "
        "handicap), or by a try, a step to where the other king began.",
        choices=("27", "27 handicap", "24", "24 handicap", "try", "none"),
    )
    max_plies: int = setting(0, "The game is drawn when it is so many plies long; 0 = never.", 0, 100000)
    net_search: bool = setting(
        True, "Use the search settings that a net brings, where they are left at their defaults."
    )
    search: SearchParams = field(default_factory=SearchParams)
