"""Recorded games and the lines that a search with a net looks at in them.

A game's own positions are what two searches agreed on. Where a search rejects a move, it trusts its net in positions
that no game reaches; a net that is wrong there is exploited by its own search. So a teacher judges them, too: DAgger
(Ross, Gordon and Bagnell 2011) with the search as the learner's policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....engine.games.base import Game, State
from ....engine.games.outcome import RUNNING
from ....engine.params import SearchParams
from ....engine.search.search import Search
from ....engine.search.tree.tree import Tree
from ....engine.settings import setting
from ...data.shards import Records
from ...net.providers import load_evaluator
from ..flags import Net
from ..job import Job, Labelling, Teacher
from .records import Recorded, Variation, label_played

SHARE = 0.3  # of a game's positions that are searched
LINES = 2  # drawn from each tree
LEAST_DEPTH = 3  # plies from the root to the end of a line
_MEMORY = 32 << 20  # bytes of the tree
_BATCH = 8


class Explorer:
    """Searches positions of recorded games and draws lines from the trees."""

    def __init__(self, weights: str, game: Game, visits: int, seed: int, provider: str = "cpu") -> None:
        """weights: as for WeightsFile, "default" the net inside the package. Errors: NetError."""
        self._game, self._visits, self._seed = game, visits, seed
        net = "" if weights == "default" else weights
        self._evaluator = load_evaluator(net, game, provider=provider, batch_size=_BATCH)
        self._tree = Tree(_MEMORY)

    def variations(self, line: State, moves: NDArray[np.uint16], number: int) -> Iterator[Variation]:
        """Lines from positions of game ``number``, which depend on the game, the seed and the number alone.

        The last root comes first: in records, where a line's plies begin anew, none then seems to go on with the line
        before it. BLOCKS. Errors: NetError.
        """
        random = np.random.Generator(np.random.PCG64([self._seed, number, self._visits]))
        roots = np.flatnonzero(random.random(len(line) - 1) < SHARE)
        for root in reversed(roots.tolist()):
            leaves = self._search(line[: root + 1])
            for leaf in random.permutation(leaves)[:LINES].tolist():
                yield self._variation(line[: root + 1], moves[:root], self._moves_to(leaf))

    def _search(self, line: State) -> NDArray[np.int64]:
        """Grow the tree from a line's last position; its leaves that lie deep enough."""
        tree = self._tree
        tree.clear()
        params = SearchParams(transpositions=False)  # every leaf has a position of its own line
        search = Search(self._game, tree, self._evaluator, params, self._game.window(line), visits=self._visits)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        used = int(tree.counters[0])
        nodes = tree.nodes[:used]
        depth = np.zeros(used, np.int64)
        for node, parent in enumerate(nodes["parent"][1:].tolist(), 1):  # parents come before their children
            depth[node] = depth[parent] + 1
        return np.flatnonzero((nodes["children"] == 0) & (depth >= LEAST_DEPTH))

    def _moves_to(self, node: int) -> NDArray[np.uint16]:
        """The moves from the root to a node."""
        nodes, edges, moves = self._tree.nodes, self._tree.edges, []
        while (parent := int(nodes[node]["parent"])) >= 0:
            first = int(nodes[parent]["first_edge"])
            visited = edges[first : first + int(nodes[parent]["children"])]
            moves.append(int(visited["move"][visited["child"] == node][0]))
            node = parent
        return np.array(moves[::-1], np.uint16)

    def _variation(self, line: State, moves: NDArray[np.uint16], further: NDArray[np.uint16]) -> Variation:
        """The line as far as a teacher can judge it: not what is over, nor what dead stones would decide."""
        root = len(moves)
        for move in further.tolist():
            longer = self._game.play(line, move)
            territory = self._game.territory
            unclear = territory is not None and territory.counts_dead_stones(longer[-1])
            if unclear or self._game.outcome(longer) != RUNNING:
                break
            line = longer
        return Variation(root, line, np.concatenate([moves, further[: len(line) - 1 - root]]))


@dataclass(frozen=True)
class SearchedLines(Recorded):
    meaning = "these, and lines of searches in them: --records FILE ... --search VISITS"
    needs = ("records", "search")

    search: int = setting(0, "search some positions for so many visits: they expose the net's errors", 1, flag=True)
    student: Net = setting(Net("default"), "the net that searches", flag=True)

    def open(self, job: Job) -> Labelling:
        played = self.played(job)
        explorer = Explorer(self.student, job.game, self.search, job.seed, job.provider)

        def label(number: int, teacher: Teacher) -> Records:
            game = played[number - job.first_game]
            return label_played(teacher, number, game, tuple(explorer.variations(game.line, game.moves, number)))

        return label


SOURCE = SearchedLines
