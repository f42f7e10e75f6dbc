"""A search looked at while it grows: the most visited states after so many simulations (AlphaZero 2018, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...engine.errors import OptionError
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.nets.weights import load_evaluator
from ...engine.params import SearchParams
from ...engine.search.cache import PositionCache
from ...engine.search.search import Search
from ...engine.search.states import Snapshot, look
from ...engine.search.tree import Tree

_NODE, _EDGE, _SPARE = 64, 8, 2  # bytes; twice what a typical position needs


def grow(
    game: Game, line: State, net: str, params: SearchParams, simulations: Sequence[int], *, states: int = 10
) -> Iterator[Snapshot]:
    """Search on and on, and look at the tree after each number of ``simulations``, rising. BLOCKS.

    Ends early when the root's result is proven. net: as EngineOptions.weights_file. Errors: NetError; OptionError when
    the game is over.
    """
    if game.outcome(line) != RUNNING:
        raise OptionError("the game is over in this position; there is nothing to search")
    evaluator = load_evaluator(net, game)
    each = _SPARE * int(_NODE + _EDGE * game.branching)
    tree = Tree(each * max(simulations) + (1 << 20), game.branching)
    cache = PositionCache(64 << 20, game.branching) if evaluator.info is not None else None
    done = 0
    for wanted in simulations:
        search = Search(game, tree, evaluator, params, game.window(line), cache=cache, visits=wanted - done)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        done += search.simulations
        yield look(game, tree, line, done, states)
        if tree.full or search.proven:
            return
