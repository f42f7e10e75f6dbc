"""Endgame tables at the leaves: the kernel that searches by itself asks them as the search in batches does."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import BY_TABLES, RUNNING
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import SearchParams
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.nodes import NODE
from az_engine.engine.search.tree.tree import Tree

CHESS = get_game("chess")
NET = load_evaluator("", CHESS)
ENDINGS = (
    "8/8/8/3k4/3r4/8/2P1K3/8 w - - 0 1",  # both can become three pieces by a capture
    "4k3/8/4K3/4P3/8/8/3r4/3R4 b - - 0 1",
    "8/8/8/3k4/2r5/1P6/3K4/8 b - - 0 1",
)


def tree_of(fen: str, *, compiled: bool, visits: int = 600, transpositions: bool = False) -> tuple[Tree, Search]:
    line, tree = CHESS.parse_position(fen)[0], Tree(1 << 24)
    assert CHESS.open_tables is not None
    tables = CHESS.open_tables([], most_pieces=3, rule50=True)
    params, scope = SearchParams(transpositions=transpositions, mate_plies=0), Scope(batch_size=1)
    with mock.patch.object(NET, "compiled", NET.compiled if compiled else None):
        search = Search(CHESS, tree, NET, params, CHESS.window(line), visits=visits, tables=tables, scope=scope)
    search.run(lambda: False)
    assert search.error is None
    return tree, search


@pytest.mark.parametrize("fen", ENDINGS)
def test_both_passes_make_the_same_tree(fen: str) -> None:
    trees = [tree_of(fen, compiled=compiled)[0] for compiled in (True, False)]
    used, other = (tree.nodes[: int(tree.counters[0])] for tree in trees)
    for name in set(NODE.names or ()) - {"first_edge", "edges"}:  # the kernel makes a node's edges at its second visit
        assert np.array_equal(used[name], other[name]), name
    known = (used["bound"] != RUNNING) & (used["plies"] >= BY_TABLES)
    assert known.sum() > 3, "no leaf was in the tables"


def test_threads_and_shared_positions_ask_them_too() -> None:
    tree, search = tree_of(ENDINGS[0], compiled=True, visits=5000, transpositions=True)
    nodes = tree.nodes[: int(tree.counters[0])]
    assert search.simulations == 5000 or tree.bound != RUNNING
    assert not nodes["in_flight"].any()
    assert ((nodes["bound"] != RUNNING) & (nodes["plies"] >= BY_TABLES)).sum() > 3
