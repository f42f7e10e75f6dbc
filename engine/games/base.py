"""What a game offers: the seam between a folder under ``games/`` and everything else.

Text lives at the edges (positions and moves as people write them); between them are structured arrays and numba
kernels over B rows. A *line* is State[n]: the game from its first known position to the current one, which is last.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import IllegalMoveError, OptionError
from .capabilities import Declaration, MateSearch, Territory, TrainingDefaults
from .encoder import Encoder
from .factory import Play, line_kernel, perft_kernel, replay_kernel
from .outcome import DRAW
from .position_lines import position_lines
from .record import RecordFormat

State = NDArray[np.void]


def line_of(line: State) -> State:
    """A line State[n]; one State[] alone stands for a line of which nothing else is known."""
    return line if line.ndim else line.reshape(1)


class Game(ABC):
    """One game: its rules, its text, and an encoder through which a net sees it.

    A game that is made of a :class:`Play` need not say how a move is made, which are legal, nor count them.
    """

    name: str
    protocol: str  # "uci", "usi" or "gtp"
    own_options: frozenset[str] = frozenset()  # keys of protocols' options that mean nothing to most other games
    sides: tuple[str, str] = ("First", "Second")  # what the first and the second player are called
    pieces: Literal["discs", "chessmen", "tiles", "stones"] = "discs"  # how boards are drawn
    state_dtype: np.dtype[Any]
    play_functions: Play
    encoder: Encoder  # through which a net sees it
    branching: float = 32.0  # legal moves of a typical position, rather too few: memory is shared out by it
    typical_moves: float = 40.0  # median length of a game, in moves of one player
    training: TrainingDefaults = TrainingDefaults()
    mates: Callable[..., None] | None = None  # kernel that looks for mates at the leaves, see shogi/shortmate
    territory: Territory | None = None
    declaration: Declaration | None = None
    _plain: Game | None = None  # of a game seen through another encoder: the game as it is

    # ------------------------------------------------------------------ how a net sees it

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        """By name, how other families of nets see this game."""
        return {}

    def using(self, encoder: str) -> Game:
        """The same game as a net with that encoder sees it; one object a name. Errors: OptionError for an unknown one.

        Rules, positions and moves stay; planes, actions and their kernels are the encoder's.
        """
        return self if encoder == self.encoder.name else _view(self._plain or self, encoder)

    @property
    def planes(self) -> tuple[int, int, int]:
        """C, H, W of the network's input."""
        return self.encoder.planes

    @property
    def num_actions(self) -> int:
        """A, size of the policy."""
        return self.encoder.num_actions

    @property
    def max_moves(self) -> int:
        """M, greatest number of legal moves."""
        return self.encoder.max_moves

    @property
    def history(self) -> int:
        """Positions shown in the planes, the greatest that a net may ask for."""
        return self.encoder.history

    def start_planes(self) -> NDArray[np.uint8]:
        """Planes u1[1, C, H, W] of the start position, by the search's own kernel."""
        states, leaves = self.encoder.leaf_after(self.initial())
        self.encoder.describe(states, leaves, 1, self.history)
        return leaves.planes.reshape(1, *self.planes)

    def encode(
        self,
        states: State,
        index: NDArray[np.int64],
        first: NDArray[np.int64],
        out: NDArray[np.uint8],
        history: int = 0,
    ) -> None:
        """Planes of states[index[b]] into out u1[B, C, H, W]; first i8[B] = start of that state's game."""
        self.encoder.encode(states, index, first, history or self.history, out.reshape(len(index), -1))

    def actions(
        self, states: State, index: NDArray[np.int64], moves: NDArray[np.uint16], out: NDArray[np.int32]
    ) -> None:
        """Policy indices of moves u2[B, K] in states[index[b]] into out i4[B, K]."""
        self.encoder.actions(states, index, moves, out)

    def legal_actions(
        self, states: State, index: NDArray[np.int64], out: NDArray[np.int32], counts: NDArray[np.int32]
    ) -> None:
        """Policy indices of the legal moves of states[index[b]] into out i4[B, M], their number into counts i4[B]."""
        self.encoder.legal_actions(states, index, out, counts)

    @property
    def action_images(self) -> NDArray[np.int32]:
        """i4[S, A]: the image of each action under each of the game's S symmetries; the first is the identity."""
        return np.arange(self.num_actions, dtype=np.int32)[None]

    def transform(self, planes: NDArray[np.uint8], which: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Planes u1[B, C, H, W] under the symmetries which i8[B], each 0 .. S - 1."""
        return planes

    # ------------------------------------------------------------------ positions and moves as text

    @abstractmethod
    def initial(self) -> State:
        """The line that consists of the start position, State[1]."""

    @abstractmethod
    def parse_position(self, text: str) -> tuple[State, list[str]]:
        """State[1] of a position in the game's own notation, and notes on what had to be mended.

        Errors: PositionError, one sentence.
        """

    @abstractmethod
    def format_position(self, state: State) -> str:
        """The game's own notation of one State[]."""

    def parse_move(self, line: State, text: str) -> int:
        """The legal move that ``text`` names in the last position of a line. Errors: IllegalMoveError, one sentence."""
        line = line_of(line)
        for move in self.legal_moves(line).tolist():
            if self.format_move(line[-1], move) == text:
                return int(move)
        raise IllegalMoveError(f"{text[:20]!r} is not a legal move here")

    @abstractmethod
    def format_move(self, state: State, move: int) -> str:
        """The move as the protocol writes it."""

    def format_moves(self, state: State, moves: Sequence[int]) -> tuple[str, ...]:
        """Moves that follow one another from one State[] on, as the protocol writes them."""
        words, line = [], state.reshape(1)
        for move in moves:
            words.append(self.format_move(line[-1], move))
            line = self.play(line[-1:], move)
        return tuple(words)

    # ------------------------------------------------------------------ the rules

    def play(self, line: State, move: int) -> State:
        """The line after a legal move, State[n + 1], repetitions counted."""
        longer = np.empty(len(line) + 1, self.state_dtype)
        longer[:-1] = line
        self.play_at(longer, len(line) - 1, move)
        return longer

    def play_at(self, line: State, i: int, move: int) -> None:
        """line[i + 1] becomes the position after a legal move in line[i], repetitions counted over line[: i + 2]."""
        line_kernel(self.play_functions)(line, i, move)

    def replay(
        self,
        line: State,
        moves: NDArray[np.uint16],
        counts: NDArray[np.uint16] | None = None,
        others: NDArray[np.uint16] | None = None,
    ) -> int:
        """Play moves u2[n] from line[0] on in State[n + 1]; the plies before the first illegal move, n without one.

        counts u2[n]: how many of the moves others u2[m] belong to each position, where they must be legal, too.
        """
        none = np.zeros(0, np.uint16)
        counts = np.zeros(len(moves), np.uint16) if counts is None else counts
        room = np.empty((1, self.max_moves), np.uint16)
        played: int = replay_kernel(self.play_functions)(line, moves, counts, none if others is None else others, room)
        return played

    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        """Legal moves u2[m] of the last position of a line (some games forbid what was on the board before)."""
        return self.encoder.look(line_of(line))[0]

    def outcome(self, line: State) -> int:
        """Outcome code of the line's last position for the side to move, draws by rule included."""
        return self.encoder.look(line_of(line))[1]

    def adjudicate(self, line: State) -> int:
        """Outcome code for the side to move when a game is cut off: a draw, or the score where there is one."""
        return DRAW

    def window(self, line: State) -> State:
        """The end of a line that matters from here on (history planes, repetitions): State[k], k <= n."""
        return line

    def perft(self, state: State, depth: int) -> dict[int, int]:
        """{move: leaves of the legal move tree below it} of one State[], ``depth`` >= 1 plies deep."""
        states = np.zeros(depth + 1, self.state_dtype)
        states[0] = state
        moves, leaves = np.empty((depth, self.max_moves), np.uint16), np.empty(self.max_moves, np.int64)
        count = perft_kernel(self.play_functions)(states, moves, depth, leaves)
        return dict(zip(moves[0, :count].tolist(), leaves[:count].tolist(), strict=True))

    def normalise(self, states: State) -> None:  # noqa: B027 - most games have nothing to finish
        """Finish positions whose fields were set by hand, State[N], in place (unusable e.p. squares, keys)."""

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:  # noqa: B027 - nor to count
        """Count repetitions within games laid end to end, in place; first i8[N] = start of each state's game."""

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        """How people write games of it down, the usual form first; here position lines, in files named .GAME."""
        keyword = "sfen" if self.protocol == "usi" else "fen"
        return (position_lines(self, self.protocol, keyword, (f".{self.name}",)),)

    def sized(self, size: int) -> Game:
        """The same game on a board of another size. Errors: OptionError where there is but one."""
        raise OptionError(f"{self.name} has one size of board; leave the size out")

    def variant(self, name: str) -> Game:
        """The same game in another form, which reads and writes other text; its own name stands for the usual form.

        Rules and encoder stay. Errors: OptionError for a form that it does not have.
        """
        if name != self.name:
            raise OptionError(f"{self.name} has no variant {name[:40]!r}")
        return self

    def random_games(self, count: int, seed: int) -> int:
        """Play ``count`` games of random legal moves inside one kernel; returns the moves played. For benches.

        Errors: OptionError where the game's rules are measured by perft instead.
        """
        raise OptionError(f"the rules of {self.name} are measured by az-engine bench perft")

    def mate_search(self, line: State, memory: int) -> MateSearch | None:
        """A search for a forced mate with a table of ``memory`` bytes; None in a game that has no such search."""
        return None

    def side_to_move(self, state: State) -> int:
        """0 when the first player is to move, else 1."""
        return int(state["turn"])


@cache
def _view(game: Game, encoder: str) -> Game:
    if encoder == game.encoder.name:
        return game
    if encoder not in game.encoders:
        names = ", ".join((game.encoder.name, *game.encoders))
        raise OptionError(f"{game.name} has no planes called {encoder[:40]!r}; there are {names}")
    view = copy.copy(game)
    vars(view).update(encoder=game.encoders[encoder], _plain=game)
    return view
