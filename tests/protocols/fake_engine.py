"""A small engine with the real one's interface, for transcripts that must not depend on nets and kernels.

It "searches" by counting up, always prefers the alphabetically first legal move, and can be told to be slow, to hang or
to fail in any method. Rules by python-chess.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import chess

from az_engine.engine.clock import Stopwatch, budget
from az_engine.engine.errors import IllegalMoveError, NetError, PositionError
from az_engine.engine.info import BestMove, Line, MoveStats, ThinkingInfo, Wdl
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions


class FakeEngine:
    """See the module. ``made`` is the last one made, for tests that look inside."""

    made: FakeEngine

    def __init__(self, options: EngineOptions) -> None:
        """Faults are set on the class by :func:`faulty`."""
        FakeEngine.made = self
        self.options = options
        self.description = ""
        self.notes: list[str] = []
        self.calls: list[str] = []
        self._board: chess.Board | None = None
        self._stop = threading.Event()
        self._hit = threading.Event()
        self._thread: threading.Thread | None = None

    # what can go wrong
    gate: threading.Event | None = None  # ready() waits for it
    faults: dict[str, BaseException] = {}  # noqa: RUF012  method -> what it raises
    embedded_is_broken = False
    too_large: BaseException | None = None  # what ready() raises when Hash is 100000 or more
    progress: Sequence[str] = ()
    silent = False  # no infos
    deaf = False  # never ends a search
    twice = False  # answers twice

    def configure(self, **changes: object) -> None:
        """Keep the options."""
        self._note("configure", " ".join(f"{k}={v}" for k, v in changes.items() if k != "search"))
        self.options = replace(self.options, **changes)  # type: ignore[arg-type]

    def ready(self, on_progress: Callable[[str], None] | None = None) -> None:
        """Accept the embedded net, "uniform" and files that end in good.onnx."""
        self._note("ready")
        for text in self.progress:
            if on_progress is not None:
                on_progress(text)
        if self.gate is not None:
            self.gate.wait()
        file = self.options.weights_file
        if file == "" and self.embedded_is_broken:
            raise NetError("the net inside the package is damaged: install az-engine again")
        if file not in ("", "uniform") and not file.endswith("good.onnx"):
            raise NetError(f"{file}: there is no such file")
        if self.too_large is not None and self.options.hash_mb >= 100_000:
            raise self.too_large
        self.description = file or "the embedded net"

    def new_game(self) -> None:
        """Only noted."""
        self._note("new_game")

    def set_position(self, root: str | None, moves: Sequence[str]) -> list[str]:
        """Set up with python-chess's idea of validity."""
        self._note("set_position", f"{root or 'start'} {' '.join(moves)}".strip())
        self._board = None
        try:
            board = chess.Board(root or chess.STARTING_FEN, chess960=self.options.chess960)
        except ValueError as error:
            raise PositionError(f"{root} is not a FEN: {error}") from error
        board.castling_rights = board.clean_castling_rights()
        lost = root is not None and "K" in root.split()[2] and not board.castling_rights
        if not board.is_valid():
            raise PositionError(f"{root} is not a chess position")
        for i, text in enumerate(moves):
            try:
                board.push_uci(text)
            except ValueError as error:
                raise IllegalMoveError(f"move {i + 1}, {text[:20]}, is illegal") from error
        self._board = board
        return ["castling right K dropped"] if lost else []

    def perft(self, depth: int) -> dict[str, int]:
        """Counted slowly."""
        self._note("perft", str(depth))
        board = self._board
        assert board is not None

        def leaves(depth: int) -> int:
            if depth == 0:
                return 1
            count = 0
            for move in board.legal_moves:
                board.push(move)
                count += leaves(depth - 1)
                board.pop()
            return count

        counts = {}
        for move in list(board.legal_moves):
            board.push(move)
            counts[move.uci()] = leaves(depth - 1)
            board.pop()
        return counts

    def go(self, limits: Limits, on_info: Callable[[ThinkingInfo], None], on_done: Callable[[BestMove], None]) -> None:
        """Start the thread."""
        self._note("go", str(limits))
        assert self._thread is None or not self._thread.is_alive(), "two searches at once"
        self._stop.clear()
        self._hit.clear()
        board = self._board
        self._thread = threading.Thread(target=self._think, args=(board, limits, on_info, on_done), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Noted and obeyed."""
        self._note("stop")
        self._stop.set()

    def ponderhit(self) -> None:
        """Noted and obeyed."""
        self._note("ponderhit")
        self._hit.set()

    def close(self) -> None:
        """End the search."""
        self._note("close")
        self._stop.set()

    def _note(self, method: str, what: str = "") -> None:
        self.calls.append(f"{method} {what}".strip())
        if method in self.faults:
            raise self.faults[method]

    def _think(
        self,
        board: chess.Board | None,
        limits: Limits,
        on_info: Callable[[ThinkingInfo], None],
        on_done: Callable[[BestMove], None],
    ) -> None:
        watch, own = Stopwatch(), Stopwatch()
        nodes, waiting = 0, limits.ponder
        legal = sorted(move.uci() for move in board.legal_moves) if board is not None else []
        wanted = sorted(move for move in limits.searchmoves if move in legal)
        if limits.searchmoves and not wanted:
            on_info(ThinkingInfo(1, 1, 0, 0, 0, 0, (), message="no legal searchmoves: all moves are searched"))
        moves = wanted or legal
        share = budget(limits, 0 if board is None or board.turn else 1, 0)
        error = self.faults.get("think")
        over = False
        while not (over or error):
            if waiting and self._hit.is_set():
                waiting = False
                own.restart()
            nodes += 10
            if moves and nodes % 50 == 0 and not self.silent:
                on_info(self._info(nodes, watch, moves))
            self._stop.wait(0.001)
            spent = share is not None and share.should_stop(own.seconds)
            deep = any(bound is not None and nodes >= bound for bound in (limits.nodes, limits.depth, limits.mate))
            over = self._stop.is_set() or (not (waiting or limits.infinite) and (spent or deep or not legal))
            if self.deaf:
                over = False
        mated = board is not None and board.is_checkmate()
        if not moves:
            best = BestMove(
                None, lines=(Line(0, 0 if mated else None, Wdl(0, 0, 1) if mated else Wdl(0, 1, 0), 0, 0, ()),)
            )
        else:
            lines = self._info(nodes, watch, moves).lines
            best = BestMove(moves[0], _reply(board, moves[0]), lines, nodes, watch.milliseconds, error=error)
        on_done(best)
        if self.twice:
            on_done(best)

    def _info(self, nodes: int, watch: Stopwatch, moves: list[str]) -> ThinkingInfo:
        lines = tuple(
            Line(30 - rank, 3 if rank == 0 and nodes > 10**6 else None, Wdl(0.3, 0.5, 0.2), nodes // 2, 0.1, (move,))
            for rank, move in enumerate(moves[: self.options.multipv])
        )
        stats = tuple(
            MoveStats(move, nodes if i == 0 else 0, 0.5, 0.25, 0.5, 0.01, None) for i, move in enumerate(moves)
        )
        ms = max(watch.milliseconds, 1)
        shown = stats if self.options.move_stats else ()
        return ThinkingInfo(2, 5, nodes, 1000 * nodes // ms, ms, 12, lines, shown)


def _reply(board: chess.Board | None, move: str) -> str | None:
    if board is None:
        return None
    after = board.copy(stack=False)
    after.push_uci(move)
    return min((reply.uci() for reply in after.legal_moves), default=None)


def faulty(**faults: object) -> Callable[[EngineOptions], FakeEngine]:
    """A maker of engines with these class attributes."""
    kind = type("FaultyEngine", (FakeEngine,), faults)

    def make(options: EngineOptions) -> FakeEngine:
        engine = kind(options)
        assert isinstance(engine, FakeEngine)
        return engine

    return make
