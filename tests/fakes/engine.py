"""A small engine with the real one's interface, for transcripts that must not depend on nets and kernels.

It "searches" by counting up, 10 nodes a millisecond of its own time, always prefers the alphabetically first legal
move, and can be told to be slow, to hang or to fail in any method. Chess by python-chess; shogi by our own rules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import chess
import numpy as np

from az_engine.engine.clock import budget
from az_engine.engine.errors import AzError, IllegalMoveError, NetError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove, Checkmate, Line, MoveStats, ThinkingInfo, Wdl
from az_engine.engine.limits import Limits
from az_engine.engine.nets.opinions import Opinion
from az_engine.engine.params import EngineOptions


class FakeEngine:
    """See the module. ``made`` is the last one made, for tests that look inside."""

    made: FakeEngine
    game_name = "chess"

    def __init__(self, options: EngineOptions) -> None:
        """Faults are set on the class by :func:`faulty`."""
        FakeEngine.made = self
        self.options = options
        self.description = ""
        self.notes: list[str] = []
        self.calls: list[str] = []
        self.spent_ms = 0  # of its time, by the last search, from the ponder hit on
        self._board: Any = None
        self._stop = threading.Event()
        self._hit = threading.Event()
        self._closed = threading.Event()
        self._searching = False

    # what can go wrong
    gate: threading.Event | None = None  # ready() waits for it
    faults: dict[str, BaseException] = {}  # noqa: RUF012  method -> what it raises
    embedded_is_broken = False
    too_large: BaseException | None = None  # what ready() raises when Hash is 100000 or more
    progress: Sequence[str] = ()
    silent = False  # no infos
    deaf = False  # ends no search until it is closed
    twice = False  # answers twice
    resigns = False
    verdict: BestMove | None = None  # its answer
    proof: Checkmate | None = None  # its answer to a search for a mate

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

    def new_tree(self) -> None:
        self._note("new_tree")

    def set_position(self, root: str | None, moves: Sequence[str]) -> list[str]:
        """Set up with python-chess's idea of validity."""
        self._note("set_position", f"{root or 'start'} {' '.join(moves)}".strip())
        self._board = None
        self._board, notes = self.set_up(root, moves)
        return notes

    def legal_moves(self) -> list[str]:
        """Of the position held."""
        if self._board is None:
            raise PositionError("no position is set")
        return self.legal(self._board)

    @property
    def position(self) -> str | None:
        """As its game writes it."""
        return None if self._board is None else self.text(self._board)

    def opinion(self, symmetry: int = 0, *, alone: bool = False) -> Opinion:
        """All moves alike, and an even game."""
        count = len(self.legal_moves())
        return Opinion(np.zeros(count, np.uint16), np.full(count, 1 / count), 0.5, None, ())

    def snapshot(self, most: int) -> None:
        """It grows no tree."""
        self._note("snapshot", str(most))

    def dead_chains(self) -> None:
        """It sees no dead stones."""
        self._note("dead_chains")

    def perft(self, depth: int, halt: bytearray | None = None) -> list[tuple[str, int]]:
        """Counted slowly."""
        self._note("perft", str(depth))

        def leaves(board: Any, depth: int) -> int:
            if depth == 0 or (halt is not None and halt[0]):
                return 1
            return sum(leaves(self.after(board, move), depth - 1) for move in self.legal(board))

        return [(move, leaves(self.after(self._board, move), depth - 1)) for move in self.legal(self._board)]

    # the game

    def set_up(self, root: str | None, moves: Sequence[str]) -> tuple[Any, list[str]]:
        """A position and what was mended in it."""
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
        return board, ["castling right K dropped"] if lost else []

    def text(self, board: Any) -> str:
        """A position as text."""
        return str(board.fen())

    def legal(self, board: Any) -> list[str]:
        """Legal moves, the one it prefers first."""
        return sorted(move.uci() for move in board.legal_moves)

    def after(self, board: Any, move: str) -> Any:
        """The position after a move."""
        after = board.copy(stack=False)
        after.push_uci(move)
        return after

    def lost(self, board: Any) -> bool:
        """Whether a side without moves has lost."""
        return bool(board.is_checkmate())

    def side(self, board: Any) -> int:
        """Whose clock runs: 0 the first player's."""
        return 0 if board.turn else 1

    def go(self, limits: Limits, on_info: Callable[[ThinkingInfo], None], on_done: Callable[[BestMove], None]) -> None:
        """Start the thread."""
        self._note("go", str(limits))
        assert not self._searching, "two searches at once"
        self._searching = True
        self._stop.clear()
        self._hit.clear()
        board = self._board
        threading.Thread(target=self._think, args=(board, limits, on_info, on_done), daemon=True).start()

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
        self._closed.set()
        self._stop.set()

    def _note(self, method: str, what: str = "") -> None:
        self.calls.append(f"{method} {what}".strip())
        if method in self.faults:
            raise self.faults[method]

    def _think(
        self,
        board: Any,
        limits: Limits,
        on_info: Callable[[ThinkingInfo], None],
        on_done: Callable[[BestMove], None],
    ) -> None:
        nodes, waiting, self.spent_ms = 0, limits.ponder, 0
        legal = self.legal(board) if board is not None else []
        wanted = sorted(move for move in limits.searchmoves if move in legal)
        if limits.searchmoves and not wanted:
            on_info(ThinkingInfo(1, 1, 0, 0, 0, 0, (), message="no legal searchmoves: all moves are searched"))
        moves = wanted or legal
        share = budget(limits, 0 if board is None else self.side(board), 0, typical_moves=45.0)
        error = self.faults.get("think")
        over = False
        while not (over or error):
            if waiting and self._hit.is_set():
                waiting, self.spent_ms = False, 0
            nodes += 10
            self.spent_ms += 1
            if moves and nodes % 50 == 0 and not self.silent:
                on_info(self._info(nodes, moves))
            if share is None or waiting:  # a clock is its own time: no need to wait
                (self._closed if self.deaf else self._stop).wait(0.001)
            spent = share is not None and share.should_stop(self.spent_ms / 1000.0)
            deep = any(bound is not None and nodes >= bound for bound in (limits.nodes, limits.depth, limits.mate))
            over = self._stop.is_set() or (not (waiting or limits.infinite) and (spent or deep or not legal))
            if self.deaf:
                over = self._closed.is_set()
        mated = board is not None and not legal and self.lost(board)
        if limits.solve:
            best = BestMove(None, checkmate=self.proof)
        elif self.verdict is not None:
            best = self.verdict
        elif not moves:
            best = BestMove(
                None, lines=(Line(0, 0 if mated else None, Wdl(0, 0, 1) if mated else Wdl(0, 1, 0), 0, 0, ()),)
            )
        else:
            lines = self._info(nodes, moves).lines
            reply = min(self.legal(self.after(board, moves[0])), default=None)
            told = (str(error),) if isinstance(error, AzError) else ()
            time_ms, resign = nodes // 10, self.resigns
            best = BestMove(
                moves[0], reply, resign, lines=lines, nodes=nodes, time_ms=time_ms, messages=told, error=error
            )
        self._searching = False  # before somebody hears of it, and goes on
        on_done(best)
        if self.twice:
            on_done(best)

    def _info(self, nodes: int, moves: list[str]) -> ThinkingInfo:
        lines = tuple(
            Line(30 - rank, 3 if rank == 0 and nodes > 10**6 else None, Wdl(0.3, 0.5, 0.2), nodes // 2, 0.1, (move,))
            for rank, move in enumerate(moves[: self.options.multipv])
        )
        stats = tuple(
            MoveStats(move, nodes if i == 0 else 0, 0.5, 0.25, 0.5, 0.01, None) for i, move in enumerate(moves)
        )
        shown = stats if self.options.move_stats else ()
        return ThinkingInfo(2, 5, nodes, nodes, nodes // 10, 12, lines, shown)


class FakeShogiEngine(FakeEngine):
    """The same for shogi."""

    game_name = "shogi"

    def text(self, board: Any) -> str:
        """A position as text."""
        return get_game("shogi").format_position(board[-1])

    def set_up(self, root: str | None, moves: Sequence[str]) -> tuple[Any, list[str]]:
        """The game so far."""
        game = get_game("shogi")
        line = game.initial() if root is None else game.parse_position(root)[0]
        for text in moves:
            line = game.play(line, game.parse_move(line, text))
        return line, []

    def legal(self, board: Any) -> list[str]:
        """Legal moves, the one it prefers first."""
        game = get_game("shogi")
        return sorted(game.format_move(board[-1], int(move)) for move in game.legal_moves(board))

    def after(self, board: Any, move: str) -> Any:
        """The game with one move more."""
        game = get_game("shogi")
        return game.play(board, game.parse_move(board, move))

    def lost(self, board: Any) -> bool:
        """Whoever cannot move has lost."""
        return True

    def side(self, board: Any) -> int:
        """Whose clock runs."""
        return get_game("shogi").side_to_move(board[-1])


def faulty(engine_type: type[FakeEngine] = FakeEngine, **faults: object) -> Callable[[EngineOptions], FakeEngine]:
    """A maker of engines with these class attributes."""
    kind = type("FaultyEngine", (engine_type,), faults)

    def make(options: EngineOptions) -> FakeEngine:
        engine = kind(options)
        assert isinstance(engine, FakeEngine)
        return engine

    return make
