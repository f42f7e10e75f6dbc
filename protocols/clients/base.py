"""What drives an external engine in matches, in labelling and in comparisons, whatever protocol it speaks.

Callers know :class:`EngineClient`; :mod:`uci`, :mod:`usi` and :mod:`gtp` speak the protocols. Errors are those of
:mod:`process`: EngineDied, EngineStalled, EngineFlooded, EngineMisbehaved; after any of them, throw the client away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...engine.errors import EngineProcessError
from ...engine.limits import Limits
from .process import EngineProcess

START_S = 10.0  # for the greeting's answer
READY_S = 30.0  # until it is ready: an engine may load a large net or clear a large table
GRACE_S = 5.0  # for a move beyond the time that the limits allow
ENDLESS_S = 600.0  # for a move when the limits name no time


@dataclass(frozen=True, slots=True)
class PvInfo:
    """The last report on one principal variation; scores from the view of the side to move."""

    multipv: int = 1
    depth: int | None = None
    seldepth: int | None = None
    cp: int | None = None
    mate: int | None = None  # UCI: moves; USI: plies
    bound: str = ""  # "lowerbound", "upperbound" or exact
    wdl: tuple[int, int, int] | None = None  # 1/1000
    nodes: int | None = None  # GTP: visits of the variation's first move
    nps: int | None = None
    time: int | None = None  # ms
    pv: tuple[str, ...] = ()
    chance: float | None = None  # GTP: expected points of the side to move, 0 to 1
    lead: float | None = None  # GTP: points ahead at the end
    mean: float | None = None  # this engine: the search's mean outcome in [-1, 1], before it becomes chances


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one ``go``. ``move`` is ``None`` when there is none, the engine resigns or declares a win."""

    move: str | None
    ponder: str | None
    lines: tuple[PvInfo, ...]  # by multipv, the best first; empty when it sent no score
    seconds: float  # from `go` to the answer, as a match clock counts them
    resign: bool = False  # USI, GTP
    win: bool = False  # USI: the engine declares that its king has entered
    ownership: tuple[float, ...] = ()  # GTP: N * N points from the top left, 1 = surely the side to move's; or ()


Legal = Callable[[str], bool]  # whether a move is legal in the position of the request


class EngineClient(EngineProcess, ABC):
    """One external engine. Methods say whether they block; use as a context manager, or call :meth:`close`."""

    has_byoyomi = False
    counts_nodes = True  # `go nodes N` is standard; GTP has no such command
    tells_both_clocks = True  # the engine is sent the opponent's clock, too
    lines_by_option = True  # the option MultiPV sets the number of lines
    increment_first = False  # a move's increment is added before the move, not after it

    def __init__(
        self,
        command: str | Sequence[str],
        options: Mapping[str, object] | None = None,
        *,
        start_s: float = START_S,
        ready_s: float = READY_S,
        endless_s: float = ENDLESS_S,
        directory: str | None = None,
    ) -> None:
        """Start it and set ``options``. BLOCKS up to ``start_s`` + ``ready_s`` seconds.

        endless_s: how long an answer may take when the limits name no time. directory: the working directory.
        Errors: EngineProcessError when it cannot be started, lacks an option or does not answer.
        """
        self.author = ""
        self.offered: dict[str, str] = {}  # option name -> the rest of its line
        self._ready_s = ready_s
        self._endless_s = endless_s
        self._sent_at: float | None = None  # when the running question was sent
        self._deadline = 0.0  # for its answer
        self._legal: Legal | None = None
        super().__init__(command, directory)
        try:
            self._greet(start_s, options or {})
        except BaseException:
            self.kill()
            raise

    @abstractmethod
    def new_game(self) -> None:
        """Announce a new game and wait until the engine is ready. BLOCKS."""

    @abstractmethod
    def ready(self) -> None:
        """Wait until the engine is ready. BLOCKS. Not between :meth:`go` and :meth:`wait`."""

    @abstractmethod
    def set_option(self, name: str, value: object) -> None: ...

    def play(self, root: str | None, moves: Sequence[str], limits: Limits, legal: Legal | None = None) -> Answer:
        self.go(root, moves, limits, legal)
        return self.wait()

    @abstractmethod
    def go(self, root: str | None, moves: Sequence[str], limits: Limits, legal: Legal | None = None) -> None:
        """Start a search of the position after ``moves`` from the position ``root`` (None: the start position).

        BLOCKS until the engine has read the position; this time is not on its clock. ``legal`` checks the move of the
        answer; without it only the move's form is checked. :meth:`wait` returns the answer.
        """

    @abstractmethod
    def wait(self) -> Answer:
        """The answer to the last :meth:`go`. BLOCKS, at most for the limits' time and ``GRACE_S``.

        Errors: EngineDied, EngineStalled, EngineFlooded, EngineMisbehaved.
        """

    def judge(self, root: str | None, moves: Sequence[str], limits: Limits, lines: int) -> Answer:
        """Analyse a position; ``lines``: the number of moves to report, in protocols without an option for it. BLOCKS.

        Errors: as :meth:`wait`.
        """
        return self.play(root, moves, limits)

    def judge_all(
        self, positions: Sequence[tuple[str | None, Sequence[str]]], limits: Limits, lines: int, ahead: int = 1
    ) -> Iterator[Answer]:
        """Analyse positions, each a root and moves, in their order. BLOCKS between answers.

        ahead: positions that an engine is sent at most before it has answered, in protocols that allow for it.
        Errors: as :meth:`wait`.
        """
        for root, moves in positions:
            yield self.judge(root, moves, limits, lines)

    def game_over(self, result: str) -> None:
        """Announce the engine's result, "win", "lose" or "draw", where the protocol has a command. Returns at once."""

    def final_score(self) -> float | None:
        """The engine's count of a finished game, first player's points less second's; None when it has none. BLOCKS.

        For games that end by agreement. Errors: as :meth:`wait`.
        """
        return None

    @abstractmethod
    def _greet(self, start_s: float, options: Mapping[str, object]) -> None: ...

    def _check_idle(self) -> None:
        if self._sent_at is not None:
            raise EngineProcessError(f"{self.name} is still thinking: wait() for its answer first")

    def _allowed(self, limits: Limits, mover: int) -> float:
        """Seconds that the answer of player 0 or 1 may take before the engine counts as hanging."""
        if limits.infinite:
            return self._endless_s
        if limits.movetime is not None:
            return max(limits.movetime, 0) / 1000.0 + GRACE_S
        clock = limits.time[mover]
        if clock is None and not limits.byoyomi:
            return self._endless_s
        return (max(clock or 0, 0) + limits.byoyomi) / 1000.0 + GRACE_S
