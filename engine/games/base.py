"""What a game offers: the seam between a folder under ``games/`` and everything else.

Text lives at the edges (positions and moves as people write them); between them are structured arrays and numba
kernels over B rows. A *line* is State[n]: the game from its first known position to the current one, which is last.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from .capabilities import MateSearch, Territory
from .leaves import Leaves, make_leaves
from .outcome import DRAW, RUNNING
from .record import RecordFormat

State = NDArray[np.void]
OWN_ENCODER = "alphazero"  # name of a game's own planes and actions


def line_of(line: State) -> State:
    """A line State[n]; one State[] alone stands for a line of which nothing else is known."""
    return line if line.ndim else line.reshape(1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Encoder:
    """How a family of nets sees a game: its planes, its numbering of the moves, and the kernels that make both.

    Every field is the attribute of :class:`Game` of the same name. A family whose nets take several arrays has them
    side by side in its planes; the converted net takes them apart.
    """

    planes: tuple[int, int, int]
    num_actions: int
    history: int  # positions shown in the planes, the greatest that a net may ask for
    describe: Callable[..., None]
    encode_kernel: Callable[..., None]
    actions_kernel: Callable[..., None]
    legal_actions_kernel: Callable[..., None]
    plane_scale: NDArray[np.float32]
    planes_version: int = 1
    moves_version: int = 1


class Game(ABC):
    """One game. Its class attributes are constants of the net's format; a change of meaning raises the version."""

    name: str
    protocol: str  # "uci", "usi" or "gtp"
    own_options: frozenset[str] = frozenset()  # keys of protocols' options that mean nothing to most other games
    sides: tuple[str, str] = ("First", "Second")  # what the first and the second player are called
    encoder: str = OWN_ENCODER
    planes: tuple[int, int, int]  # C, H, W of the network's input
    num_actions: int  # A, size of the policy
    max_moves: int  # M, greatest number of legal moves
    history: int  # positions shown in the planes
    state_dtype: np.dtype[Any]
    planes_version: int
    moves_version: int
    branching: float = 32.0  # legal moves of a typical position, rather too few: memory is shared out by it
    noise_alpha: float  # Dirichlet alpha of self-play, about 10 / typical number of legal moves
    typical_moves: float = 40.0  # median length of a game, in moves of one player
    longest_game: int = 512  # plies after which the papers cut a game of self-play off, see adjudicate
    az_schedule: str = "az"  # name of AlphaZero's learning rates for the game
    plane_scale: NDArray[np.float32]  # f4[C], what a network multiplies each plane by

    # kernels, see the chess folder for their arrays
    describe: Callable[..., None]  # (states, leaves, count, history): what the leaves of a search are
    territory: Territory | None = None
    mates: Callable[..., None] | None = None  # of a game with mates to look for at the leaves, see shogi/shortmate
    encode_kernel: Callable[..., None]
    actions_kernel: Callable[..., None]
    legal_actions_kernel: Callable[..., None]
    _plain: Game | None = None  # of a game seen through another encoder: the game as it is

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        """By name, how other families of nets see this game."""
        return {}

    def using(self, encoder: str) -> Game:
        """The same game as a net with that encoder sees it; one object a name. Errors: OptionError for an unknown one.

        Rules, positions and moves stay; planes, actions and their kernels are the encoder's.
        """
        return self if encoder == self.encoder else _view(self._plain or self, encoder)

    @property
    def width(self) -> int:
        """Bytes of one position's planes, C * H * W."""
        return int(np.prod(self.planes))

    def make_leaves(self, size: int, depth: int = 1) -> Leaves:
        """Room for ``size`` leaves of up to ``depth`` plies below their roots."""
        return make_leaves(size, self.max_moves, self.width, depth)

    def leaf_after(self, line: State, path: Sequence[int] = ()) -> tuple[State, Leaves]:
        """State[1, T] and the one leaf that ``path`` leads to from a line's end, for a kernel."""
        states, leaves = np.zeros((1, len(line) + len(path) + 1), self.state_dtype), self.make_leaves(1, len(path) + 1)
        states[0, : len(line)] = line
        leaves.paths[0, : len(path)] = path
        leaves.rows["root"], leaves.rows["length"] = len(line) - 1, len(path)
        leaves.rows["outcome"] = RUNNING
        return states, leaves

    @abstractmethod
    def initial(self) -> State:
        """The line that consists of the start position, State[1]."""

    @abstractmethod
    def parse_position(self, text: str, *, chess960: bool = False) -> tuple[State, list[str]]:
        """State[1] of a position in the game's own notation, and notes on what had to be mended.

        Errors: PositionError, one sentence.
        """

    @abstractmethod
    def format_position(self, state: State) -> str:
        """The game's own notation of one State[]."""

    @abstractmethod
    def parse_move(self, line: State, text: str) -> int:
        """The legal move that ``text`` names in the last position of a line. Errors: IllegalMoveError, one sentence."""

    @abstractmethod
    def format_move(self, state: State, move: int, *, chess960: bool = False) -> str:
        """The move as the protocol writes it."""

    def format_moves(self, state: State, moves: Sequence[int], *, chess960: bool = False) -> tuple[str, ...]:
        """Moves that follow one another from one State[] on, as the protocol writes them."""
        words, line = [], state.reshape(1)
        for move in moves:
            words.append(self.format_move(line[-1], move, chess960=chess960))
            line = self.play(line[-1:], move)
        return tuple(words)

    @abstractmethod
    def play(self, line: State, move: int) -> State:
        """The line after a legal move, State[n + 1], repetitions counted."""

    @abstractmethod
    def play_at(self, line: State, i: int, move: int) -> None:
        """line[i + 1] becomes the position after a legal move in line[i], repetitions counted over line[: i + 2]."""

    @abstractmethod
    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        """Legal moves u2[m] of the last position of a line (some games forbid what was on the board before)."""

    @abstractmethod
    def outcome(self, line: State) -> int:
        """Outcome code of the line's last position for the side to move, draws by rule included."""

    def adjudicate(self, line: State) -> int:
        """Outcome code for the side to move when a game is cut off: a draw, or the score where there is one."""
        return DRAW

    @abstractmethod
    def window(self, line: State) -> State:
        """The end of a line that matters from here on (history planes, repetitions): State[k], k <= n."""

    def start_planes(self) -> NDArray[np.uint8]:
        """Planes u1[1, C, H, W] of the start position, by the search's own kernel."""
        states, leaves = self.leaf_after(self.initial())
        self.describe(states, leaves, 1, self.history)
        return leaves.planes.reshape(1, *self.planes)

    @abstractmethod
    def perft(self, state: State, depth: int) -> dict[str, int]:
        """Leaves of the legal move tree below each legal move of one State[], ``depth`` >= 1 plies deep."""

    @abstractmethod
    def normalise(self, states: State) -> None:
        """Finish positions whose fields were set by hand, State[N], in place (unusable e.p. squares, keys)."""

    @abstractmethod
    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:
        """Count repetitions within games laid end to end, in place; first i8[N] = start of each state's game."""

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        """How people write games of it down, the usual form first."""
        return ()

    def sized(self, size: int) -> Game:
        """The same game on a board of another size. Errors: OptionError where there is but one."""
        raise OptionError(f"{self.name} has one size of board; leave the size out")

    @property
    def action_images(self) -> NDArray[np.int32]:
        """i4[S, A]: the image of each action under each of the game's S symmetries; the first is the identity."""
        return np.arange(self.num_actions, dtype=np.int32)[None]

    def transform(self, planes: NDArray[np.uint8], which: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Planes u1[B, C, H, W] under the symmetries which i8[B], each 0 .. S - 1."""
        return planes

    def random_games(self, count: int, seed: int) -> int:
        """Play ``count`` games of random legal moves inside one kernel; returns the moves played. For benches.

        Errors: OptionError where the game's rules are measured by perft instead.
        """
        raise OptionError(f"the rules of {self.name} are measured by az-engine bench perft")

    def set_rules(  # noqa: B027 - most games have none
        self, line: State, *, declaration: str = "27", max_plies: int = 0
    ) -> None:
        """Set the rules that no position's text states for every position of a line, in place.

        declaration: the entering-king rule, "27", "24" or "none"; max_plies: the ply at which the game is drawn, 0 =
        never.
        """

    def can_declare(self, line: State) -> bool:
        """Whether the side to move may win by a declaration instead of moving; most games know none."""
        return False

    def mate_search(self, line: State, memory: int) -> MateSearch | None:
        """A search for a forced mate with a table of ``memory`` bytes; None in a game that has no such search."""
        return None

    def side_to_move(self, state: State) -> int:
        """0 when the first player is to move, else 1."""
        return int(state["turn"])

    def encode(
        self,
        states: State,
        index: NDArray[np.int64],
        first: NDArray[np.int64],
        out: NDArray[np.uint8],
        history: int = 0,
    ) -> None:
        """Planes of states[index[b]] into out u1[B, C, H, W]; first i8[B] = start of that state's game."""
        flat = out.reshape(len(index), -1)
        self.encode_kernel(states, index, first, history or self.history, flat)

    def actions(
        self, states: State, index: NDArray[np.int64], moves: NDArray[np.uint16], out: NDArray[np.int32]
    ) -> None:
        """Policy indices of moves u2[B, K] in states[index[b]] into out i4[B, K]."""
        self.actions_kernel(states, index, moves, out)

    def legal_actions(
        self, states: State, index: NDArray[np.int64], out: NDArray[np.int32], counts: NDArray[np.int32]
    ) -> None:
        """Policy indices of the legal moves of states[index[b]] into out i4[B, M], their number into counts i4[B]."""
        self.legal_actions_kernel(states, index, out, counts)


@cache
def _view(game: Game, encoder: str) -> Game:
    if encoder == game.encoder:
        return game
    if encoder not in game.encoders:
        names = ", ".join((game.encoder, *game.encoders))
        raise OptionError(f"{game.name} has no planes called {encoder[:40]!r}; there are {names}")
    view, chosen = copy.copy(game), game.encoders[encoder]
    view.__dict__.update({f.name: getattr(chosen, f.name) for f in fields(chosen)}, encoder=encoder, _plain=game)
    return view
