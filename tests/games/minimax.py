"""Perfect play in games that are small enough to be solved, through the Game seam alone."""

from __future__ import annotations

from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import RUNNING


class Minimax:
    """The exact value of every position of a game without repetitions."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._values: dict[bytes, int] = {}

    def value(self, line: State) -> int:
        """1 when the side to move wins with best play by both, 0 a draw, -1."""
        key = line[-1].tobytes()
        if key not in self._values:
            outcome = self.game.outcome(line)
            self._values[key] = (
                outcome if outcome != RUNNING else max(-self.value(after) for after in self._after(line).values())
            )
        return self._values[key]

    def best_moves(self, line: State) -> list[int]:
        """The moves that keep the position's value."""
        value = self.value(line)
        return [move for move, after in self._after(line).items() if -self.value(after) == value]

    def _after(self, line: State) -> dict[int, State]:
        return {move: self.game.play(line[-1:], move) for move in self.game.legal_moves(line).tolist()}

    @property
    def positions(self) -> int:
        """Positions solved so far."""
        return len(self._values)
