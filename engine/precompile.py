"""The first start on a machine: a helper process compiles the search while the engine compiles its game.

numba compiles one kernel at a time in a process. The tree's kernels, or the one that searches with a compiled net, take
about as long as a game's; the process that comes second finds them in the cache. For the tree the helper searches
made-up positions. It ends with the engine, or when the engine no longer needs it. If it fails, the engine compiles
everything itself.
"""

from __future__ import annotations

import contextlib
import copy
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .clock import Stopwatch
from .games import get_game, register_path, registered_paths
from .games.base import Game, State
from .games.leaves import Leaves
from .games.outcome import RUNNING, WIN
from .kernels import cache as kernel_cache
from .nets.evaluator import Evaluator, UniformEvaluator
from .nets.families import find_family
from .nets.weights import encoder_of
from .os.process import module_command
from .params import SearchParams
from .search.leaves.cache import PositionCache
from .search.leaves.policy import digest
from .search.leaves.simulations import simulation_entry, simulation_kernel
from .search.search import Scope, Search
from .search.tree.nodes import EDGES, NODES
from .search.tree.puct import select
from .search.tree.recycling import keep
from .search.tree.results import RootView
from .search.tree.tree import Tree

_MOVES = 4  # of every made-up position
_HEARTBEAT_S = 5.0
_COSTS = {"describe": 7.0, "grow": 8.0, "advance": 2.0, "settle_all": 1.3, "choose_nodes": 1.3, "expand": 1.8}  # CPU s
_COST = 0.4  # of other kernels
_WHOLE = {"chess": (14, 16.0), "shogi": (16, 19.0), "go": (10, 13.0)}  # kernels of a first start, seconds they take


class Progress:
    """Tells which kernel of how many is compiled at a first start, and for how long, every few seconds.

    A context manager around the compilation. It reports nothing when all kernels are in the cache.
    """

    def __init__(self, game: str, tell: Callable[[str], object]) -> None:
        """``tell`` gets a sentence, from this thread and from one of its own."""
        self._kernels, self._seconds = _WHOLE.get(game.rstrip("0123456789x"), _WHOLE["chess"])
        self._tell, self._thread = tell, threading.get_ident()
        self._watch, self._ended = Stopwatch(), threading.Event()
        self._number, self._cost = 0, 0.0  # of the kernel that is compiled now ...
        self._done, self._began, self._pace = 0.0, 0.0, 1.0  # ... those before it, and how slow this machine is

    def __enter__(self) -> Self:
        kernel_cache.on_compile(self._begin)
        return self

    def __exit__(self, *_: object) -> None:
        kernel_cache.on_compile(None)
        self._ended.set()

    def _begin(self, kernel: str) -> None:
        if threading.get_ident() != self._thread:  # another engine's
            return
        if not self._number:
            self._watch.restart()
            threading.Thread(target=self._report_time, name="progress", daemon=True).start()
        self._number, self._done, self._cost = self._number + 1, self._done + self._cost, _COSTS.get(kernel, _COST)
        self._began = self._watch.seconds
        self._pace = max(self._began / self._done, 1.0) if self._done > 1.0 else 1.0
        self._tell(self._text())

    def _report_time(self) -> None:
        while not self._ended.wait(_HEARTBEAT_S):
            self._tell(self._text())

    def _text(self) -> str:
        within = self._watch.seconds - self._began  # this kernel
        pace = max(self._pace, within / self._cost if self._cost > 1.0 else 0.0)
        left = pace * max(self._seconds - self._done, self._cost) - within
        whole = max(self._kernels, self._number)
        return f"compiling for this machine, once: kernel {self._number} of {whole}, about {max(left, 1.0):.0f} s left"


@contextlib.contextmanager
def helped(game: Game) -> Iterator[Callable[[], object]]:
    """Run the helper meanwhile, if the cache lacks the search of a game, as a net sees it, and a core is there for it.

    Gives a function that waits until the helper has done its work.
    """
    helper = None
    if kernel_cache.cores() > 1 and kernel_cache.is_missing(_longest(game)):
        command = module_command("az_engine.engine.precompile", game.name, game.encoder.name, *registered_paths())
        with contextlib.suppress(OSError):  # cannot start a process: compile in this one
            helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        yield helper.wait if helper is not None else lambda: None
    finally:
        if helper is not None:
            helper.kill()
            helper.communicate()


def _longest(game: Game) -> Callable[..., Any]:
    """The kernel of a search that takes longest to compile."""
    family = find_family(game.encoder.name)
    return select if family is None else simulation_kernel(game.encoder.leaf, family.blank.functions)


def compile_all(game: Game, evaluator: Evaluator, join: Callable[[], object]) -> None:
    """Call every kernel that playing needs, on a few visits, so that all are compiled and loaded.

    game: as the net of ``evaluator`` sees it; ``join`` waits for the helper.
    """
    line, tree = game.initial(), Tree(1 << 20)
    only = game.legal_moves(line)[:_MOVES]
    game.play(line, int(only[0]))
    _sprout(tree, only)
    RootView(game, tree, line).lines(2)
    if evaluator.compiled is None:
        evaluator = UniformEvaluator(game)
    else:
        _use(game, tree, line)
        join()
    tree.clear()
    _explore(_small_search(game, tree, line, only, evaluator), line)


def _sprout(tree: Tree, moves: NDArray[np.uint16]) -> None:
    """Give an empty tree what the first visit of its first move leaves behind."""
    tree.nodes[1] = tree.nodes[0]
    nodes = tree.nodes
    nodes["first_edge"][0], nodes["edges"][0], nodes["children"][0], nodes["n"][0] = 0, len(moves), 1, 2
    nodes["parent"][1], nodes["n"][1] = 0, 1
    edges = tree.edges[: len(moves)]
    edges["child"], edges["move"], edges["prior"] = -1, moves, 1
    edges["child"][0] = 1
    tree.counters[NODES], tree.counters[EDGES] = 2, len(moves)


def compile_tree(game: Game) -> None:
    """Compile the kernels of tree, search and report that a search of ``game`` calls, and none of its own."""
    made_up = copy.copy(game)
    vars(made_up).update(encoder=replace(game.encoder, describe=_describe), mate_search=None)
    line, tree = np.zeros(1, game.state_dtype), Tree(1 << 20)
    search = _small_search(made_up, tree, line, np.arange(_MOVES, dtype=np.uint16), UniformEvaluator(made_up))
    _compile_digest(search)
    _explore(search, line)
    if game.mate_search is not None:
        game.mate_search(game.initial(), 1 << 16).advance(1)


def _small_search(game: Game, tree: Tree, line: State, only: NDArray[np.uint16], evaluator: Evaluator) -> Search:
    cache, window = PositionCache(1 << 16), game.window(line)
    return Search(game, tree, evaluator, SearchParams(), window, visits=40, cache=cache, scope=Scope(only))


def _explore(search: Search, line: State) -> None:
    """Search, and do with the tree what a game does."""
    search.run(lambda: False)
    if search.error is not None:
        raise search.error
    _use(search.game, search.tree, line)


def _use(game: Game, tree: Tree, line: State) -> None:
    """Read the tree and go on to the root's best move, as after a search."""
    edge = RootView(game, tree, line).choose(0.0, 0)
    assert edge is not None
    move = int(tree.edges[edge]["move"])
    tree.depths()
    tree.settle([move], WIN)
    tree.root = tree.child(0, move)
    keep(tree, tree.root)


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


def end_with_the_caller() -> None:
    """End this process when the one that has started it ends."""

    def wait() -> None:
        os.read(0, 1)  # nothing is ever sent
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def is_cold(game: Game, weights: str, provider: str) -> bool:
    """Whether the cache can be used and lacks the search of a game with a net."""
    encoder = encoder_of(weights, game, provider)
    return kernel_cache.is_missing(_longest(game.using(encoder) if find_family(encoder) is not None else game))


if __name__ == "__main__":
    end_with_the_caller()
    for directory in sys.argv[3:]:
        register_path(Path(directory))
    game = get_game(sys.argv[1]).using(sys.argv[2])
    family = find_family(game.encoder.name)
    if family is None:
        compile_tree(game)
    else:
        simulation_entry(game, family.blank)
