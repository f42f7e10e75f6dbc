"""The search for a forced mate alone (``Limits.solve``, ``Limits.mate``): runs the game's own mate search in slices.

Its kernel is loaded by the first such search, not by ``Engine.ready``, because most games never need it: a tenth of a
second from the cache, some seconds once where it must be compiled. Compiling may exceed the time limit, since "timeout"
would say nothing about the position; stop() ends the wait at once.

:func:`short_mate` and :func:`mating_move` read the short mates that a search of the tree finds at its leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ..games.base import Game, State
from ..games.capabilities import MateSearch
from ..games.tactics.proofs import MAX_PLIES
from ..info import Checkmate, Verdict

_SLICE = 5_000  # nodes between two looks at the clock, a few milliseconds
_PATIENCE = 4  # without a limit a shorter mate is looked for with so many times the nodes of the first one ...
_PATIENCE_NODES = 1_000_000  # ... and these


class MateSolver:
    """One search for a forced mate by the side to move at the end of a line, as short as can be found.

    Once a mate is known, shorter ones are looked for until there is none.
    """

    def __init__(
        self, game: Game, line: State, memory: int, moves: int | None = None, *, patient: bool = False
    ) -> None:
        """``memory``: bytes of its table; moves: of the mate, by moves of any kind, in a game that has such a search.

        patient: whether to look for a shorter mate as long as it takes, not for some times as long as for the first.
        """
        self._game, self._line, self._memory, self._patient = game, line, memory, patient
        self._make = game.mate_search if moves is None else game.mate_within
        self._search: MateSearch | None = None
        if self._make is not None:
            self._search = self._make(line, memory, MAX_PLIES if moves is None else min(2 * moves - 1, MAX_PLIES))
        self._spent = 0  # nodes of searches that are over
        self._most = 0  # nodes, once a mate is known
        self.moves: list[int] = []  # of the shortest mate so far
        self.plies = 0  # of that mate against any defence
        self.verdict: Verdict | None = None  # once nothing is left to search
        if self._search is None:
            self.verdict = "notimplemented"
        elif not self._search.possible:
            self.verdict = "nomate"

    @property
    def nodes(self) -> int:
        """Positions made so far."""
        return self._spent + (0 if self._search is None else self._search.nodes)

    @property
    def note(self) -> str:
        """Why there can be no mate on such a board, a sentence; mostly empty."""
        if self._search is None or self._search.possible:
            return ""
        mated = self._game.sides[1 - self._game.side_to_move(self._line[-1])]
        return f"no mate: {mated.lower()} has no king"

    def step(self, stopped: threading.Event) -> None:
        """Search on for some milliseconds. Blocks; at first until the kernel is compiled or ``stopped`` is set."""
        search, make = self._search, self._make
        assert search is not None
        assert make is not None
        result = search.advance(_SLICE) if self.nodes else _first_slice(search, stopped)
        if result == "mate":
            self.moves, self.plies = search.moves, search.plies
            self._most = self._most or _PATIENCE * self.nodes + _PATIENCE_NODES
        if result == "mate" and search.plies > 2:
            self._spent += search.nodes
            self._search = make(self._line, self._memory, search.plies - 2)
        elif result is not None or (self.moves and not self._patient and self.nodes > self._most):
            self.verdict = "mate" if self.moves else result

    def solve(self, stopped: threading.Event, exhausted: Callable[[int], bool]) -> Checkmate:
        """The answer; "timeout" once ``stopped`` is set or ``exhausted(nodes)`` before it is known. Blocks."""
        while self.verdict is None and not stopped.is_set() and not (self.nodes and exhausted(self.nodes)):
            self.step(stopped)
        if self.moves:
            return Checkmate("mate", self._game.format_moves(self._line[-1], self.moves))
        return Checkmate(self.verdict or "timeout")


def _first_slice(search: MateSearch, stopped: threading.Event) -> Verdict | None:
    """Advance for the first time, which may compile for seconds, in a thread that a stop need not wait for."""
    verdicts: list[Verdict | None] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            verdicts.append(search.advance(_SLICE))
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    thread = threading.Thread(target=run, name="mate search", daemon=True)
    thread.start()
    while thread.is_alive() and not stopped.is_set():
        thread.join(0.01)
    if failures:
        raise failures[0]
    return verdicts[0] if verdicts else None


def short_mate(game: Game, line: State, moves: Sequence[int], plies: int) -> list[int]:
    """The moves of the mate in ``plies`` that ``describe`` has found after ``moves``, one or more, from a line's end.

    The defender plays the longest defence. The list ends early where the kernel no longer finds the mate.
    """
    for move in moves[:-1]:
        line = game.play(line, move)
    last, result, left = int(moves[-1]), list[int](), plies
    while left > 0:
        after = game.play(line, last)
        if left % 2:
            plies_left, move = _mate_after(game, line, last, left)
            left = plies_left - 1
        else:  # a defence after which the kernel finds no mate any more, as by a repetition, is left out
            left, move = max((_mate_after(game, after, reply, left - 1)[0], reply) for reply in _moves(game, after))
        if left < 0:
            break
        result.append(move)
        line, last = after, move
    return result


def mating_move(game: Game, line: State, plies: int) -> int | None:
    """A move of the side to move that forces mate within ``plies``; None when none is found. Blocks."""
    if not game.encoder.finds_mates:
        return None
    begins = _look(game, line, (), plies)[1]  # without a mate: a number that is no legal move
    return begins if begins in _moves(game, line) else None


def _moves(game: Game, line: State) -> list[int]:
    return [int(move) for move in game.legal_moves(line)]


def _mate_after(game: Game, line: State, move: int, plies: int) -> tuple[int, int]:
    """(plies, first move) of the mate that the side to move after ``move`` has within ``plies``; -1 plies for none."""
    return _look(game, line, (move,), plies)


def _look(game: Game, line: State, moves: tuple[int, ...], plies: int) -> tuple[int, int]:
    """(plies, first move) that the kernel gives for the leaf after ``moves``; without moves, for the root, -1 plies."""
    states, leaves = game.encoder.leaf_after(game.window(line), moves, plies)
    game.encoder.describe(states, leaves, 1, 1, plies)
    return int(leaves.rows[0]["end"]), int(leaves.rows[0]["begin"])
