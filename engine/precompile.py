"""The first start on a machine: a helper process compiles the tree while the engine compiles its game.

numba compiles one kernel at a time in a process. The tree's kernels take about as long as a game's; the process that
comes second finds them in the cache. The helper searches a tree of made-up positions and ends with the engine, or when
the engine no longer needs it. If it fails, the engine compiles everything itself.
"""

from __future__ import annotations

import contextlib
import copy
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .games import get_game, register_path, registered_paths
from .games.base import Game, State
from .games.leaves import Leaves
from .games.outcome import RUNNING, WIN
from .kernels import jit
from .nets.evaluator import Evaluator, UniformEvaluator
from .params import SearchParams
from .process import module_command
from .search.cache import PositionCache
from .search.policy import digest
from .search.results import RootView
from .search.search import Search
from .search.tree import Tree

_MOVES = 4  # of every made-up position


@contextlib.contextmanager
def helped(game: Game) -> Iterator[None]:
    """Run the helper meanwhile, if the cache is empty and there is a core for it."""
    helper = None
    if jit.is_cold() and jit.cores() > 1:
        command = module_command("az_engine.engine.precompile", game.name, *registered_paths())
        with contextlib.suppress(OSError):  # cannot start a process: compile in this one
            helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        if helper is not None:
            helper.kill()
            helper.communicate()


def compile_all(game: Game) -> None:
    """Call every kernel that playing needs, on a few visits, so that all are compiled and loaded."""
    line, tree = game.initial(), Tree(1 << 20)
    search = _small_search(game, tree, line, game.legal_moves(line)[:_MOVES])
    move = _explore(search, tree, line)
    RootView(game, tree, line).lines(2)
    game.play(line, move)


def compile_growth(game: Game, evaluator: Evaluator) -> None:
    """Likewise for a net that kernels of its own search with; ``game`` as the net sees it."""
    line = game.initial()
    cache = PositionCache(1 << 16)
    search = Search(game, Tree(1 << 20), evaluator, SearchParams(), game.window(line), visits=40, cache=cache)
    search.run(lambda: False)


def compile_tree(game: Game) -> None:
    """Compile the kernels of tree, search and report that a search of ``game`` calls, and none of its own."""
    made_up = copy.copy(game)
    vars(made_up).update(encoder=replace(game.encoder, describe=_describe), mate_search=None)
    line, tree = np.zeros(1, game.state_dtype), Tree(1 << 20)
    search = _small_search(made_up, tree, line, np.arange(_MOVES, dtype=np.uint16))
    _compile_digest(search)
    _explore(search, tree, line)
    if game.mate_search is not None:
        game.mate_search(game.initial(), 1 << 16).advance(1)


def _small_search(game: Game, tree: Tree, line: State, only: NDArray[np.uint16]) -> Search:
    evaluator, cache = UniformEvaluator(game), PositionCache(1 << 16)
    return Search(game, tree, evaluator, SearchParams(), game.window(line), visits=40, cache=cache, only=only)


def _explore(search: Search, tree: Tree, line: State) -> int:
    """Search, and do with the tree what a game does; the move played."""
    search.run(lambda: False)
    if search.error is not None:
        raise search.error
    move = RootView(search.game, tree, line).choose(0.0, 0)
    assert move is not None
    tree.depths()
    tree.settle([move], WIN)
    tree.root = tree.child(0, move)
    tree.keep(tree.root)
    return move


def _compile_digest(search: Search) -> None:
    """Compile the slowest kernel first, before the engine needs it; with no leaves."""
    leaves = search.game.encoder.make_leaves(1)
    logits, values = search.evaluator.evaluate(leaves.planes)
    digest(leaves, 0, logits, values, np.float32(1.0))


def _describe(states: State, leaves: Leaves, count: int, history: int, plies: int) -> None:
    """Describe made-up positions, all with the same moves."""
    rows = leaves.rows[:count]
    leaves.planes[:count] = 0
    leaves.moves[:count, :_MOVES] = leaves.actions[:count, :_MOVES] = np.arange(_MOVES)
    rows["count"], rows["outcome"] = _MOVES, RUNNING
    for b in range(count):
        rows["key"][b] = hash(leaves.paths[b, : rows["length"][b]].tobytes()) & (1 << 63) - 1


def _end_with_the_engine() -> None:
    os.read(0, 1)  # nothing is ever sent: returns when the engine has ended
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_engine, daemon=True).start()
    for directory in sys.argv[2:]:
        register_path(Path(directory))
    compile_tree(get_game(sys.argv[1]))
