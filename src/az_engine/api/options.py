"""The options of the Python library's engine, for type checkers; :mod:`~az_engine.engine.params` explains them."""

from __future__ import annotations

from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """What :class:`Engine` takes by name: settings of the engine, then of its search."""

    hash_mb: int
    threads: int
    batch_size: int
    provider: str
    int8: bool
    move_overhead_ms: int
    last_overhead_ms: int | None
    minimum_ms: int
    ponder: bool
    nodes_limit: int
    elo: int | None
    own_book: bool
    book_file: str
    syzygy_path: str
    syzygy_probe_limit: int
    syzygy_50_move_rule: bool
    best_book_move: bool
    resign_cp: int | None
    eval_coef: int
    resign_permille: int
    declaration: Literal["27", "27 handicap", "24", "24 handicap", "try", "none"]
    max_plies: int
    net_search: bool
    puct: Literal["az", "agz"]
    c_puct: float
    c_base: float
    c_factor: float
    fpu: Literal["zero", "reduction", "loss"]
    fpu_value: float
    fpu_root_value: float
    policy_temperature: float
    root_policy_temperature: float
    virtual_loss: float
    subtree_bias: float
    score_utility: float
    solver: bool
    ladders: bool
    mate_plies: int
    transpositions: bool
    symmetries: bool
    temperature: float
    seed: int
    smart_pruning: bool
