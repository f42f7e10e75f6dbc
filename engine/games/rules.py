"""The rules of a game, and its positions and moves as text.

Text is for the edges, where people and programs write positions and moves; inside are structured arrays and numba
kernels over B rows. A *line* is State[n]: the game from its first known position to the current one, which is last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import IllegalMoveError
from .factory import Play, after_kernel, line_kernel, perft_kernel, replay_kernel

State = NDArray[np.void]


def line_of(line: State) -> State:
    """A line State[n]; a single State[] becomes a line of one."""
    return line if line.ndim else line.reshape(1)


class Rules(ABC):
    """How a game is played and written down; its :class:`Play` makes and lists the moves."""

    name: str
    protocol: str  # "uci", "usi" or "gtp"
    sides: tuple[str, str] = ("First", "Second")  # names of the first and the second player
    state_dtype: np.dtype[Any]
    play_functions: Play
    branching: float = 32.0  # legal moves of a typical position, a low estimate: the tree's memory is divided by it
    typical_moves: float = 40.0  # median length of a game, in moves of one player

    # ------------------------------------------------------------------ positions and moves as text

    @abstractmethod
    def initial(self) -> State:
        """The line that consists of the start position, State[1]."""

    @abstractmethod
    def parse_position(self, text: str) -> tuple[State, list[str]]:
        """State[1] of a position in the game's own notation, and notes on what was repaired.

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

    def read_move(self, line: State, text: str) -> int:
        """The legal move that a person means: as the protocol writes it, in either case, or in the game's own notation.

        Errors: IllegalMoveError, one sentence.
        """
        for spelling in (text, text.lower(), text.upper()):
            try:
                return self.parse_move(line, spelling)
            except IllegalMoveError as error:
                fault = error
        raise fault

    def write_move(self, line: State, move: int) -> str:
        """The move as a person writes it in the last position of a line."""
        return self.format_move(line_of(line)[-1], move)

    def write_native(self, line: State, move: int) -> str:
        """The move in the script of the game's own country, such as ▲７六歩, where it has one besides write_move's."""
        return self.write_move(line, move)

    def in_check(self, state: State) -> bool:
        """Whether the king of the side to move is attacked in a State[]; False in games without a king."""
        return False

    def count_move(self, state: State, ply: int, word: str) -> str:
        """A move with its number, as people count them; ``ply`` moves have led to the State[] before it."""
        return f"move {ply + 1}, {word}"

    @abstractmethod
    def format_move(self, state: State, move: int) -> str:
        """The move as the protocol writes it."""

    def format_moves(self, state: State, moves: Sequence[int]) -> tuple[str, ...]:
        """Moves that follow one another from one State[] on, as the protocol writes them."""
        words, line = [], state.reshape(1)
        for i, move in enumerate(moves):
            if i:
                line = self.play(line[-1:], moves[i - 1])
            words.append(self.format_move(line[-1], move))
        return tuple(words)

    # ------------------------------------------------------------------ playing

    @property
    @abstractmethod
    def max_moves(self) -> int:
        """M, greatest number of legal moves."""

    @abstractmethod
    def look(self, line: State) -> tuple[NDArray[np.uint16], int]:
        """(legal moves u2[m], outcome code as a search's root) of the last position of a line."""

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

    def after(self, states: State, index: NDArray[np.int64], moves: NDArray[np.uint16]) -> State:
        """State[B] after the legal moves u2[B] in states[index[b]], index i8[B]; their repetitions are not counted."""
        out = np.empty(len(index), self.state_dtype)
        after_kernel(self.play_functions)(states, index, moves, out)
        return out

    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        """Legal moves u2[m] of the last position of a line (in some games the line's past forbids some)."""
        return self.look(line_of(line))[0]

    def outcome(self, line: State) -> int:
        """Outcome code of the line's last position for the side to move, draws by rule included."""
        return self.look(line_of(line))[1]

    def window(self, line: State) -> State:
        """The end of a line that a search from here on needs (history planes, repetitions): State[k], k <= n."""
        return line

    def perft(self, state: State, depth: int, halt: bytearray | None = None) -> dict[int, int]:
        """{move: leaves of the legal move tree below it} of one State[], ``depth`` >= 1 plies deep.

        halt: four bytes, 0 at first; once another thread has set one of them the counts are those so far.
        """
        states = np.zeros(depth + 1, self.state_dtype)
        states[0] = state
        moves, leaves = np.empty((depth, self.max_moves), np.uint16), np.empty(self.max_moves, np.int64)
        flag = np.frombuffer(bytearray(4) if halt is None else halt, np.uint32)
        count = perft_kernel(self.play_functions)(states, moves, depth, leaves, flag)
        return dict(zip(moves[0, :count].tolist(), leaves[:count].tolist(), strict=True))

    def normalise(self, states: State) -> None:  # noqa: B027 - most games have nothing to finish
        """Derive the fields that follow from others, such as keys, in place; State[N] as filled in from data."""

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:  # noqa: B027 - nor to count
        """Count repetitions within games laid end to end, in place; first i8[N] = start of each state's game."""

    def side_to_move(self, state: State) -> int:
        """0 when the first player is to move, else 1."""
        return int(state["turn"])
