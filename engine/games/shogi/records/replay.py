"""A game of shogi played move by move, by the rules."""

from __future__ import annotations

import numpy as np

from ....errors import IllegalMoveError
from ...factory import line_kernel
from .. import endings, notation, rules
from ..encoders.planes import ENCODER
from ..rules import DROPS, PROMOTES
from ..state import BLACK, PROMOTED, STATE, State

_play_in_line = line_kernel(rules.PLAY)


class Replay:
    """A game played move by move."""

    def __init__(self, root: State) -> None:
        self._line = np.empty(128, STATE)
        self._line[0] = root[-1]
        self.moves: list[int] = []

    @classmethod
    def of(cls, root: str | None) -> Replay:
        """From a SFEN, None for the usual start; problems may have two pawns on a file. Errors: PositionError."""
        return cls(notation.parse_sfen(root or notation.START, problem=True)[0])

    @property
    def state(self) -> State:
        state: State = self._line[len(self.moves)]
        return state

    @property
    def turn(self) -> int:
        return int(self.state["turn"])

    @property
    def last_target(self) -> int | None:
        """The square that the last move went to, None when there was none."""
        return self.moves[-1] & 127 if self.moves else None

    def legal_moves(self) -> list[int]:
        end = len(self.moves)
        legal: list[int] = ENCODER.look(self._line[end : end + 1])[0].tolist()
        return legal

    def play(self, move: int) -> None:
        if move not in self.legal_moves():
            raise IllegalMoveError(f"{notation.format_usi(move)} is not legal in {notation.format_sfen(self.state)}")
        if len(self.moves) + 1 == len(self._line):
            self._line = np.concatenate([self._line, np.empty(len(self._line), STATE)])
        _play_in_line(self._line, len(self.moves), move)
        self.moves.append(move)

    def play_usi(self, text: str) -> int:
        """Play a move; its code. Errors: IllegalMoveError."""
        move = notation.parse_usi(self.state, text, self.legal_moves())
        self.play(move)
        return move

    def back_to(self, plies: int) -> None:
        """Take back all but so many moves."""
        del self.moves[plies:]

    def outcome(self) -> int:
        """Outcome code for the side to move, repetitions counted."""
        end = len(self.moves)
        return int(endings.verdict_kernel(self._line[end : end + 1], len(self.legal_moves())))


def board_move(replay: Replay, source: int, to: int, piece: int) -> int:
    """The move from ``source`` that leaves ``piece`` (without colour) on ``to``. Errors: IllegalMoveError."""
    before = int(replay.state["board"][source])
    ours = before and (before > 16) == (replay.turn != BLACK)
    if ours and before & 15 == piece:
        return to + (source << 7)
    if ours and (before & 15) + PROMOTED == piece:
        return to + (source << 7) + PROMOTES
    raise IllegalMoveError(f"no such piece can move there in {notation.format_sfen(replay.state)}")


def drop_move(to: int, piece: int) -> int:
    """The drop of ``piece`` on ``to``. Errors: IllegalMoveError for one that is never in hand."""
    if not 1 <= piece <= 7:
        raise IllegalMoveError("such a piece is never in hand")
    return to + ((DROPS + piece - 1) << 7)


def code_of(text: str) -> int:
    """The code of a move in USI notation, legal or not."""
    to = _square(text[2:4])
    if text[1] == "*":
        return drop_move(to, notation.LETTERS.index(text[0]) + 1)
    return to + (_square(text[:2]) << 7) + PROMOTES * text.endswith("+")


def _square(text: str) -> int:
    return 9 * (int(text[0]) - 1) + "abcdefghi".index(text[1])
