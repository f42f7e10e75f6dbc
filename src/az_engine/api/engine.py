"""The engine of the Python library: play, analyse, and analysis that grows."""

from __future__ import annotations

import asyncio
import queue
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields
from inspect import GEN_SUSPENDED, getgeneratorstate
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..engine import blocking, engine
from ..engine import limits as limits_of_engine
from ..engine.errors import AzError, OptionError
from ..engine.games import get_game
from ..engine.info import BestMove, ThinkingInfo
from ..engine.params import EngineOptions, SearchParams
from ..engine.settings import check_kind, check_strictly, settings_of
from .analysis import Analysis, PlayResult, analysis_of, analysis_of_answer
from .limits import Limits
from .options import Options
from .position import Outcome, Position

if TYPE_CHECKING:
    import chess

_REPORT_MS = 200  # between reports that carry Go's score and ownership
_LINES = next(known for f, _, known in settings_of(EngineOptions) if f.name == "multipv")
_SEARCH = {f.name for f in fields(SearchParams)}


def _check_limits(limits: Any) -> None:
    """Errors: OptionError for what is no Limits."""
    if not isinstance(limits, Limits):
        raise OptionError(f"limits is of type {type(limits).__name__}; it must be Limits, as in Limits(visits=100)")


class Reports:
    """The reports of a search as it grows; see :meth:`Engine.analysis`."""

    def __init__(self, stop: Callable[[], None], reports: Generator[Analysis]) -> None:
        """stop: ends the search that the reports are of."""
        self._stop, self._reports = stop, reports
        self._turn, self._reader = threading.Lock(), threading.get_ident()

    @property
    def waits_for_caller(self) -> bool:
        """Whether the search goes on until this thread, which began it, reads on or closes the reports."""
        return self._reader == threading.get_ident() and getgeneratorstate(self._reports) == GEN_SUSPENDED

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Analysis:
        with self._turn:
            return next(self._reports)

    def close(self) -> None:
        """Stop the search and wait. BLOCKS."""
        if not self._turn.acquire(blocking=False):  # another thread waits for a report
            self._stop()
            self._turn.acquire()
        try:
            self._reports.close()
        finally:
            self._turn.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Analysis:
        report = await asyncio.to_thread(next, self, None)
        if report is None:
            raise StopAsyncIteration
        return report

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)


class Engine:
    """One engine: a game, a net and a search tree, loaded when first used.

    Any thread may call it: one search runs at a time, others wait for it; :meth:`stop` ends the one that runs. A
    search goes on with the tree of the one before it where the game does.

    >>> with Engine("chess", threads=1) as engine:
    ...     result = engine.play(Position("chess", moves=["f2f3", "e7e5", "g2g4"]), Limits(visits=100))
    >>> result.move
    'd8h4'
    """

    def __init__(self, game: str = "chess", net: str = "default", **options: Unpack[Options]) -> None:
        """game: a name of :func:`games`, with the board's size behind it: "go19".

        net: "default" (inside the package), "uniform" (none), or the path of an ONNX file or of a net of Lc0, KataGo,
        dlshogi or miniosl. options: such as threads, hash_mb, provider, batch_size, c_puct, temperature, seed.
        Errors: OptionError for an unknown game or option, or a value that an option does not take.
        """
        known = Options.__annotations__
        if unknown := options.keys() - known:
            raise OptionError(f"there is no option {min(unknown)!r}; there are {', '.join(sorted(known))}")
        search: dict[str, Any] = {name: value for name, value in options.items() if name in _SEARCH}
        others: dict[str, Any] = {name: value for name, value in options.items() if name not in _SEARCH}
        check_kind("game", game, str)
        check_kind("net", net, str)
        get_game(game)
        self.game = game
        weights = "" if net == "default" else net
        params = SearchParams(**search)
        others = {"weights_file": weights, "move_overhead_ms": 0, "move_stats": True, **others}
        chosen = EngineOptions(search=params, **others)
        check_strictly(params)
        check_strictly(chosen)
        self._engine = engine.Engine(game, chosen)
        self._turn = threading.Lock()  # of the searches
        self._made: list[weakref.ref[Reports]] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def description(self) -> str:
        """One line: the net and what runs it. Blocks until it is loaded. Errors: NetError."""
        self.load()
        return self._engine.description

    def load(self, on_progress: Callable[[str], None] | None = None) -> None:
        """Load kernels and net now, not at the first search.

        Blocks: for half a minute when the kernels are compiled for the first time on a machine, else for about half a
        second; not during a search, which goes on. ``on_progress`` gets a sentence for each step that takes long.
        Errors: NetError.
        """
        self._engine.ready(on_progress)

    def play(self, position: Position | chess.Board, limits: Limits) -> PlayResult:
        """The engine's move. Blocks.

        Errors: OptionError when nothing ends the search, IllegalMoveError for one of the limits, NetError,
        PositionError.
        """
        best, info = self._search(position, limits, 1)
        return PlayResult(best.move, best.ponder, best.resign, best.win, info)

    def analyse(self, position: Position | chess.Board, limits: Limits, lines: int = 1) -> Analysis:
        """The ``lines`` best lines and every root move's statistics. Blocks. Errors: as :meth:`play`."""
        return self._search(position, limits, lines)[1]

    def _search(self, source: Position | chess.Board, limits: Limits, lines: int) -> tuple[BestMove, Analysis]:
        _check_limits(limits)
        if not limits.bounded:
            raise OptionError("nothing ends this search; give Limits visits, seconds, depth, mate or a clock")
        with self._own_turn():
            position, exact = self._prepare(source, limits, lines)
            best, last = blocking.search(self._engine, exact)
        return self._answer(best), analysis_of_answer(position, best, last)

    def analysis(self, position: Position | chess.Board, limits: Limits | None = None, lines: int = 1) -> Reports:
        """Reports of a search as it grows, ten a second at most. Errors: as :meth:`play`.

        For ``for`` and ``async for``; ``with`` and ``async with`` stop it at their end. So does the thread's next call
        of the engine.

        >>> with Engine("chess", threads=1) as engine:
        ...     for info in engine.analysis(Position()):
        ...         if info.nodes >= 200:
        ...             break
        >>> info.nodes >= 200
        True
        """
        limits = Limits() if limits is None else limits
        _check_limits(limits)
        reports = Reports(self._engine.stop, self._reports(position, limits, lines))
        self._made = [each for each in self._made if each() is not None]
        self._made.append(weakref.ref(reports))
        return reports

    @contextmanager
    def _own_turn(self) -> Generator[None]:
        """Wait for the searches of other threads; end those whose reports this thread has left."""
        for reports in [each() for each in self._made]:
            if reports is not None and reports.waits_for_caller:
                reports.close()
        with self._turn:
            yield

    def _reports(self, position: Position | chess.Board, limits: Limits, lines: int) -> Generator[Analysis]:
        reports: queue.SimpleQueue[ThinkingInfo | BestMove] = queue.SimpleQueue()
        with self._own_turn():
            held, exact = self._prepare(position, limits, lines)
            self._engine.go(exact, reports.put, reports.put)
            try:
                while isinstance(report := reports.get(), ThinkingInfo):
                    if report.message is None:
                        yield analysis_of(held, report, ())
                self._answer(report)
            finally:
                self._engine.stop()
                self._engine.wait()

    def _prepare(self, source: Any, limits: Limits, lines: int) -> tuple[Position, limits_of_engine.Limits]:
        """Hold a position and the options of a search of it; both as the engine has them."""
        if self._closed:
            raise OptionError("this engine is closed; make another one")
        check_kind("lines", lines, int)
        if not _LINES.allows(lines):
            raise OptionError(f"lines is {lines}; it must be {_LINES.range}")
        position = Position.of(source)
        if get_game(position.game) is not get_game(self.game):
            raise OptionError(f"this engine plays {self.game}, the position is of {position.game}; make another engine")
        for move in limits.moves:
            position.notation(move)  # one that is not legal is refused, not left out
        territory = get_game(self.game).territory
        self._engine.configure(multipv=lines, chess960=position.variant == "chess960")
        self._engine.ready()
        self._engine.set_position(position.root, position.moves)
        return position, limits.of_engine(None if territory is None else _REPORT_MS)

    @staticmethod
    def _answer(best: BestMove) -> BestMove:
        if best.error is not None:
            raise best.error
        if best.move is None and best.messages and not best.lines:
            raise AzError(best.messages[-1])
        return best

    def count(self, position: Position) -> Outcome | None:
        """How a game ended: ``position.outcome``, in Go without dead stones if the rules let players take them off.

        Dead are those that the net judges so; where it judges none, every stone counts as alive. Blocks. Errors: as
        :meth:`play`.
        """
        outcome, game = position.outcome, get_game(self.game)
        territory = game.territory
        state = position.line[-1]
        if outcome is None or territory is None or not territory.agreed(state):
            return outcome
        with self._own_turn():
            self._prepare(position, Limits(), 1)
            chains = self._engine.dead_chains()
        if chains is None:
            return outcome
        lead = float(territory.score(state, chains)[0])
        dead = tuple(game.format_move(state, point) for chain in chains for point in sorted(chain))
        return Outcome(None if lead == 0 else int(lead < 0), lead, dead)

    def stop(self) -> None:
        """End the search that runs; its caller gets what it has found. Returns at once."""
        self._engine.stop()

    def new_game(self) -> None:
        """Forget the tree of the game before."""
        self._engine.new_game()

    def close(self) -> None:
        """Stop and wait. The engine cannot be used afterwards."""
        self._closed = True
        self._engine.close()
