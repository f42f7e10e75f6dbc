"""The game that an engine holds, up to the position to search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .errors import IllegalMoveError, PositionError
from .games.base import Game, State

_MOST_PLIES = 20_000  # of a game: all its positions are kept


class GameLine:
    """Positions State[n] from a root on, and the n - 1 moves between them; none at first.

    Each method gets the game, in the form in which its texts are read.
    """

    def __init__(self) -> None:
        self.states: State | None = None
        self.moves: list[int] = []
        self._words: list[str] = []  # texts of the moves ...
        self._form = ""  # ... and the form of the game in which they were read

    def set(self, game: Game, root: str | None, moves: Sequence[str], rule: Callable[[State], None]) -> list[str]:
        """Hold the position after ``moves`` from ``root`` (None: the start position); returns notes on repaired input.

        rule: puts the rules that are in force into State[1]. Errors: PositionError, IllegalMoveError; then no position
        is held.
        """
        before, self.states = self.states, None
        _refuse_too_long(len(moves))
        line, notes = (game.initial(), list[str]()) if root is None else game.parse_position(root)
        states = np.empty(len(moves) + 1, game.state_dtype)
        states[0] = line[-1]
        rule(states[:1])
        played = self._shared(game, before, states, moves)
        for i, text in enumerate(moves[len(played) :], start=len(played)):
            try:
                move = game.parse_move(states[: i + 1], text)
            except IllegalMoveError as error:
                fault = IllegalMoveError(f"move {i + 1} of {len(moves)}: {error}")
                fault.place = i
                raise fault from None
            game.play_at(states, i, move)
            played.append(move)
        self.states, self.moves, self._words, self._form = states, played, [*moves], game.form
        return notes

    def _shared(self, game: Game, before: State | None, states: State, moves: Sequence[str]) -> list[int]:
        """The first of the moves that the line ``before`` has, too; their positions go into states[0, ...]."""
        if before is None or self._form != game.form or (before[:1] != states[:1]).any():
            return []
        n = 0
        while n < min(len(moves), len(self._words)) and moves[n] == self._words[n]:
            n += 1
        states[: n + 1] = before[: n + 1]
        return self.moves[:n]

    def play(self, game: Game, move: str) -> None:
        """Errors: PositionError without a position, IllegalMoveError; then nothing changes."""
        line = self.held()
        _refuse_too_long(len(line))
        played = game.parse_move(line, move)
        self.states = game.play(line, played)
        self.moves.append(played)
        self._words.append(move)

    def undo(self) -> None:
        """Errors: PositionError when there is no move."""
        line = self.held()
        if not self.moves:
            raise PositionError("there is no move to take back")
        self.states = line[:-1]
        self.moves.pop()
        self._words.pop()

    def held(self) -> State:
        """Errors: PositionError without a position."""
        if self.states is None:
            raise PositionError("no position is set; send a position first")
        return self.states


def _refuse_too_long(plies: int) -> None:
    if plies > _MOST_PLIES:
        raise PositionError(f"a game has at most {_MOST_PLIES} moves here: set up its last position")
