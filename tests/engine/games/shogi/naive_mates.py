"""Forced mates by checks, by trying every legal move: the oracle of short mates."""

from __future__ import annotations

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State

_SHOGI = get_game("shogi")


def mates(line: State, plies: int) -> tuple[int, list[int]] | None:
    """(plies, first moves) of the shortest mates at the end of a line, of at most ``plies`` plies; None without one.

    With odd plies the side to move gives check until it mates; with even ones it is in check and is mated: no moves.
    """
    for n in range(1, plies + 1):
        if n % 2 == 0 and line[-1]["checked"] and _mated(line, n):
            return n, []
        if n % 2 and (moves := _mating(line, n)):
            return n, moves
    return None


def _mating(line: State, plies: int) -> list[int]:
    found = []
    for move in _SHOGI.legal_moves(line).tolist():
        after = _SHOGI.play(line, move)
        if after[-1]["checked"] and _mated(after, plies - 1):
            found.append(move)
    return found


def _mated(line: State, plies: int) -> bool:
    moves = _SHOGI.legal_moves(line).tolist()
    if plies == 0:
        return not moves
    return all(_mating(_SHOGI.play(line, move), plies - 1) for move in moves)
