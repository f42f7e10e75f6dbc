"""The planes and the numbering of moves that a family of nets uses for a game, and the kernels for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .leaves import Leaves, make_leaves
from .outcome import RUNNING

State = NDArray[np.void]
GAME_ENCODER = "alphazero"  # name of a game's own planes and actions
SPARSE_ENCODER = "sparse"  # of the features and rows of sparse nets, see sparse
NO_TABLES = 1 << 30  # pieces, where endgame tables know nothing


class LeafFunctions(NamedTuple):
    """The device functions that describe one leaf of a search; together they are ``describe``."""

    workspace: Callable[..., Any]  # (states) -> work, once in each call of a kernel
    make_space: Callable[..., Any]  # () -> space for short mates, likewise
    begin: Callable[..., Any]  # (work, line, root): take in the game up to line[root]
    reach: Callable[..., Any]  # (work, line, leaves, b, played) -> where it lies; so many moves of its path are played
    look: Callable[..., Any]  # (work, space, line, at, leaves, b, history, plies): all but the actions
    name_moves: Callable[..., Any]  # (line, at, leaves, b): the actions of its moves
    table_pieces: Callable[..., Any]  # (line, at) -> pieces on the board, NO_TABLES where no endgame table knows them


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Encoder:
    """A game's planes and actions. Its values are part of a net's format; raise the version when their meaning changes.

    Several input arrays lie one after another in the planes; the converted net splits them.
    """

    name: str = GAME_ENCODER
    planes: tuple[int, int, int]  # C, H, W of the network's input
    num_actions: int  # A, size of the policy
    max_moves: int  # M, greatest number of legal moves
    history: int = 1  # positions shown in the planes; a net may ask for fewer
    planes_per_position: int = 0  # the first history * planes_per_position planes show positions, newest first; 0: none
    unused: tuple[int, ...] = ()  # planes that our own nets leave out
    constants: int = 0  # of the last planes, which hold one number each
    planes_from: Callable[[Any, int], Any] | None = None  # of a teacher's planes, see games.go.encoders.katago
    plane_scale: NDArray[np.float32]  # f4[C], what a network multiplies each plane by
    planes_version: int = 1
    moves_version: int = 1
    alike: tuple[int, int] = (1, 1)  # i kinds of each feature and j of each row of a move, see sparse
    transpositions: bool = False  # whether positions of one key are worth the same, and repetitions are draws
    features: int = 0  # F, whose numbers the planes list for sparse nets, see sparse; 0: the planes are planes
    policy_features: int = 0  # the first of them: all that a policy sees, and the value of older nets

    # kernels, see the factory
    leaf: LeafFunctions
    describe: Callable[..., None]  # (states, leaves, count, history, plies): fill in the leaves of a search
    encode: Callable[..., None]
    actions: Callable[..., None]
    legal_actions: Callable[..., None]
    finds_mates: bool = False  # whether describe looks for short mates
    advises: bool = False  # whether describe reads what bounds the priors of moves, such as ladders
    knows_patterns: bool = False  # whether it numbers local patterns
    knows_rules: bool = False  # whether the planes show the rules and komi

    @property
    def width(self) -> int:
        """Bytes of one position's planes, C * H * W."""
        return int(np.prod(self.planes))

    def used_planes(self, history: int) -> tuple[int, ...]:
        """Indices of the planes that a net uses: those of its ``history`` newest positions and those of no position."""
        shown, whole = (n * self.planes_per_position for n in (min(history, self.history), self.history))
        return tuple(i for i in (*range(shown), *range(whole, self.planes[0])) if i not in self.unused)

    def make_leaves(self, size: int, depth: int = 1) -> Leaves:
        """Room for ``size`` leaves of up to ``depth`` plies below their roots."""
        return make_leaves(size, self.max_moves, self.width, depth)

    def leaf_after(self, line: State, path: Sequence[int] = (), plies: int = 0) -> tuple[State, Leaves]:
        """State[1, T] and the one leaf that ``path`` leads to from a line's end, with room for mates in ``plies``."""
        states, leaves = (
            np.zeros((1, len(line) + len(path) + plies + 1), line.dtype),
            self.make_leaves(1, len(path) + 1),
        )
        states[0, : len(line)] = line
        leaves.paths[0, : len(path)] = path
        leaves.rows["root"], leaves.rows["length"] = len(line) - 1, len(path)
        leaves.rows["outcome"] = RUNNING
        return states, leaves

    def look(self, line: State) -> tuple[NDArray[np.uint16], int]:
        """(legal moves u2[n], outcome code as a search's root) of the last position of a line.

        Calls the search's own kernel: compiling the move generator a second time would cost seconds at a cold start.
        """
        states, leaves = self.leaf_after(line)
        self.describe(states, leaves, 1, 1, 0)
        leaf = leaves.rows[0]
        return leaves.moves[0, : leaf["count"]], int(leaf["outcome"])
