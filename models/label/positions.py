"""Positions that an engine's evaluation net judges, with what a net of ours says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import OptionError
from ...engine.games import get_game
from ...engine.games.base import Game, State
from ...engine.games.leaves import Leaves
from ...engine.games.outcome import DRAW
from ...engine.params import SearchParams
from ...engine.search.minibatch import Minibatch
from ...engine.search.tree import Tree
from ..data.formats import labels_of
from ..data.shards import CUT, Records, Teaching
from ..net.providers import load_evaluator
from .nnue.judge import NnueJudge
from .recipe import NnueFile, Recipe
from .walks import shard_format

_MEMORY = 32 << 20  # bytes of the tree


class PositionLabeller:
    """Makes records of positions. Not for several threads."""

    def __init__(self, recipe: Recipe) -> None:
        """BLOCKS. Errors: NetError, OptionError, DataError."""
        assert isinstance(recipe.teacher, NnueFile)
        game = get_game(recipe.game)
        self.form, self.shards = labels_of(recipe.game), shard_format(recipe.game)
        if self.form.judged is None:
            raise OptionError(f"--nnue: records of {game.name} hold no scores without moves; use --net or --engine")
        self._judge = NnueJudge(recipe.teacher.path, game)
        net = "" if recipe.student in ("", "default") else recipe.student
        self.evaluator = load_evaluator(net, game, provider=recipe.provider, batch_size=8)
        self.game: Game = game.using(self.evaluator.encoder)
        told: dict[str, Any] = {} if self.evaluator.info is None else dict(self.evaluator.info.search)
        self.params = SearchParams(**(told | {"smart_pruning": False, "transpositions": False}))
        self.tree = Tree(_MEMORY, game.branching)

    def look(self, states: State) -> Leaves:
        """State[N] as leaves of a search that the net has judged: moves best first, policy, value, outcome.

        Errors: NetError.
        """
        batch = self._batch(states)
        fault = batch.evaluate(len(states), self.evaluator)
        if fault is not None:
            raise fault
        return batch.leaves

    def best_of_net(self, states: State) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """The moves u2[N, K] of State[N] that the net gives most, and their policy f4[N, K]. Errors: NetError."""
        if not len(states):
            return np.zeros((0, self.form.lines), np.uint16), np.zeros((0, self.form.lines), np.float32)
        leaves, lines = self.look(states), self.form.lines
        unused = np.arange(lines) >= leaves.rows["count"][:, None]
        policy = np.where(unused, np.float32(0), leaves.priors[:, :lines])
        return np.where(unused, np.uint16(0), leaves.moves[:, :lines]), policy

    def records(self, states: State, moves: NDArray[np.uint16], policy: NDArray[Any]) -> Records:
        """Records of State[N] with the evaluation net's scores; moves u2[N, K] with their policy f8[N, K]."""
        assert self.form.judged is not None
        return self.form.judged(states, moves, policy, self._judge.judge(states))

    def by_moves(self, states: State) -> Records:
        """Records of State[N] with the best moves by the evaluation net, centipawns of the side to move."""
        moves = [self.game.legal_moves(states[i : i + 1]) for i in range(len(states))]
        counts = [len(legal) for legal in moves]
        children = self.game.after(states, np.repeat(np.arange(len(states)), counts), np.concatenate(moves))
        scores = -self._judge.judge(children)
        scores[scores > CUT] -= 1  # a mate is a move longer from here
        scores[self._drawn(children)] = 0
        records = []
        for i, behind in enumerate(np.cumsum(counts).tolist()):
            own = scores[behind - counts[i] : behind]
            best = np.argsort(-own, kind="stable")[: self.form.lines]
            told = Teaching(moves[i][best], own[best], None, 1)
            records.append(self.form.record(self.game, states[i : i + 1], told))
            records[-1]["played"] = self.form.code(states[i], int(told.moves[0]))
        return np.concatenate(records)

    def _drawn(self, states: State) -> NDArray[np.bool_]:
        """bool[N]: which of State[N] the rules call a draw."""
        batch = self._batch(states)
        batch.choose(len(states), self.evaluator.history)
        return np.asarray(batch.leaves.rows["outcome"] == DRAW)

    def _batch(self, states: State) -> Minibatch:
        """Room for State[N] as the leaves of a search."""
        batch = Minibatch(self.game, self.params, self.tree.arrays, states.reshape(-1, 1), len(states))
        batch.leaves.rows["slot"] = np.arange(len(states))
        return batch


def last_first(records: Records) -> Records:
    """Records by their games, the last plies of each first: then none seems to go on with the one before."""
    return records[np.lexsort((-records["ply"].astype(np.int64), records["game"]))]
