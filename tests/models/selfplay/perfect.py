"""Exhaustive play against a small game's perfect player: the oracle for learning.

``AZ_ENGINE_GAMES=examples python -m tests.models.selfplay.perfect RUN`` plays a run's newest net of tic-tac-toe.
"""

from __future__ import annotations

import sys
from pathlib import Path

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.params import paper_params
from az_engine.engine.search.selfplay.matches import NetPlayer, Seat


class Perfect:
    """Minimax over the whole game."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._values: dict[str, int] = {}

    def value(self, line: State) -> int:
        """Outcome code of the last position under perfect play, for the side to move."""
        key = self.game.format_position(line[-1])
        if key not in self._values:
            code = self.game.outcome(line)
            if code == RUNNING:
                code = max(-self.value(self.game.play(line, int(m))) for m in self.game.legal_moves(line))
            self._values[key] = code
        return self._values[key]

    def replies(self, line: State, *, perfect: bool) -> list[int]:
        """The moves that keep the value, or all of them."""
        moves = [int(m) for m in self.game.legal_moves(line)]
        if not perfect:
            return moves
        best = self.value(line)
        return [m for m in moves if -self.value(self.game.play(line, m)) == best]


def results(perfect: Perfect, player: NetPlayer, *, against_perfect: bool) -> dict[int, int]:
    """How often a player, as either side, comes to each outcome code over every line of play of the opponent."""
    game = perfect.game
    seat = Seat(game, player, 600, 9, 0)
    found: dict[int, int] = {}
    for side in (0, 1):
        lines = {game.format_position(game.initial()[0]): game.initial()}
        while lines:
            mine = [line for line in lines.values() if (len(line) - 1) % 2 == side]
            theirs = [line for line in lines.values() if (len(line) - 1) % 2 != side]
            played = [game.play(line, m) for line, m in zip(mine, seat.moves(mine) if mine else [], strict=True)]
            played += [game.play(line, m) for line in theirs for m in perfect.replies(line, perfect=against_perfect)]
            lines = {}
            for line in played:
                code = game.outcome(line)
                if code == RUNNING:
                    lines[game.format_position(line[-1])] = line
                else:
                    mine_to_move = (len(line) - 1) % 2 == side
                    code = code if mine_to_move else -code
                    found[code] = found.get(code, 0) + 1
    return found


def never_loses(perfect: Perfect, player: NetPlayer) -> bool:
    """Whether a player draws every line of perfect play, and loses none of any play."""
    return set(results(perfect, player, against_perfect=True)) == {DRAW} and LOSS not in results(
        perfect, player, against_perfect=False
    )


def main(run: Path) -> None:
    game = get_game("tictactoe")
    perfect, net = Perfect(game), max((run / "nets").glob("*.onnx"))
    evaluator = OnnxEvaluator(net, game, provider="cpu", batch_size=8)
    for visits in (0, 25, 100):
        player = NetPlayer("net", evaluator, visits, paper_params("az"))
        word = "never loses" if never_loses(perfect, player) else "can be beaten"
        sys.stdout.write(f"{net.name}, {visits} visits: {word}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
