"""The judge of a match: legal moves, the end of a game and its record, by rules that are not the engine's own.

Chess is judged by the package ``chess`` (python-chess), so that a match also checks our rules.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import chess
import chess.pgn

from ..engine.errors import IllegalMoveError, OptionError, PositionError

Result = Literal["1-0", "0-1", "1/2-1/2"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a game ended; "1-0" = the first player won."""

    result: Result
    reason: str


class Arbiter(Protocol):
    """A game in progress."""

    sides: tuple[str, str]  # names of first and second player in the record's headers

    @property
    def turn(self) -> int:
        """0 while the first player is to move, 1 while the second is."""

    def push(self, move: str) -> None:
        """Play a move. Errors: IllegalMoveError."""

    def legal_moves(self) -> list[str]:
        """In no particular order."""

    def ending(self) -> Ending | None:
        """None while the game goes on. Draws by repetition and the 50-move rule are not left to the players."""

    def record(self, headers: Mapping[str, str], ending: Ending, thoughts: Sequence[str]) -> str:
        """The game in its usual text form; thoughts: a comment for each move since the root."""


class ChessArbiter:
    """Standard chess by python-chess; PGN records."""

    sides = ("White", "Black")

    def __init__(self, root: str | None = None) -> None:
        """Errors: PositionError for a FEN that is no legal position."""
        try:
            self._board = chess.Board() if root is None else chess.Board(root)
        except ValueError as error:
            raise PositionError(f"{root!r} is no FEN: {error}") from None
        if not self._board.is_valid():
            raise PositionError(f"{root!r} is no legal position; give one that can arise in a game")

    @property
    def turn(self) -> int:
        """See Arbiter."""
        return 0 if self._board.turn else 1

    def push(self, move: str) -> None:
        """See Arbiter."""
        try:
            self._board.push_uci(move)
        except ValueError:
            raise IllegalMoveError(f"{move!r} is not legal in {self._board.fen()}") from None

    def legal_moves(self) -> list[str]:
        """See Arbiter."""
        return [move.uci() for move in self._board.legal_moves]

    def ending(self) -> Ending | None:
        """See Arbiter."""
        board = self._board
        if board.is_checkmate():
            return Ending("0-1" if board.turn else "1-0", "checkmate")
        if board.is_stalemate():
            return Ending("1/2-1/2", "stalemate")
        if board.is_insufficient_material():
            return Ending("1/2-1/2", "insufficient material")
        if board.is_repetition(3):
            return Ending("1/2-1/2", "threefold repetition")
        if board.is_fifty_moves():
            return Ending("1/2-1/2", "fifty moves")
        return None

    def record(self, headers: Mapping[str, str], ending: Ending, thoughts: Sequence[str]) -> str:
        """See Arbiter."""
        game = chess.pgn.Game.from_board(self._board)
        for name, value in headers.items():
            game.headers[name] = value
        game.headers["Result"] = ending.result
        for node, thought in zip(game.mainline(), thoughts, strict=False):
            node.comment = thought
        game.end().comment = ", ".join(filter(None, [game.end().comment, ending.reason]))
        return str(game)


ARBITERS = {"chess": ChessArbiter}


def new_arbiter(game: str, root: str | None = None) -> Arbiter:
    """Errors: OptionError for a game that has no arbiter yet; PositionError for a bad root."""
    if game not in ARBITERS:
        raise OptionError(f"matches are played in {', '.join(ARBITERS)}, not in {game!r}")
    return ARBITERS[game](root)


def random_opening(game: str, plies: int, rng: random.Random) -> tuple[str, ...]:
    """Moves of a game of ``plies`` uniformly random moves that has not ended."""
    while True:
        arbiter = new_arbiter(game)
        moves: list[str] = []
        while len(moves) < plies and arbiter.ending() is None:
            moves.append(rng.choice(sorted(arbiter.legal_moves())))
            arbiter.push(moves[-1])
        if arbiter.ending() is None:
            return tuple(moves)
