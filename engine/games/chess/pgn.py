"""PGN files, read, checked and written by python-chess; main lines only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, TextIO, cast

import chess
import chess.pgn

from ...errors import DataError, IllegalMoveError, PositionError
from ..record import MAX_PLIES, BoundedLines, Reason, Record, RecordFormat
from .notation import is_chess960

RESULTS = {"1-0": 1, "1/2-1/2": 0, "0-1": -1}
_REASONS: dict[str, Reason] = {"time forfeit": "time", "rules infraction": "illegal move", "abandoned": "interrupted"}
_SET_BY_GAME = ("FEN", "SetUp", "Variant", "Result")
_TIME = re.compile(r"\s*\[%emt (\d{1,4}):(\d\d):(\d\d(?:\.\d{1,6})?)\]\s*", re.ASCII)


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a file. Errors: DataError when it is no PGN file or has no game."""
    lines = BoundedLines(stream)
    count = 0
    try:
        while True:
            lines.begin_game()
            record = chess.pgn.read_game(cast("TextIO", lines), Visitor=_PgnReader)
            if record is None:
                break
            count += 1
            yield record
    except (ValueError, AssertionError, IndexError) as error:  # the library's own at malformed text
        raise DataError(f"line {lines.number} is no PGN ({error})") from error
    if not count:
        raise DataError("there is no PGN game in it")


def read_san(fen: str, text: str, chess960: bool) -> str:
    """A move that a person types as SAN (Nf3, nf3, 0-0), in UCI. Errors: IllegalMoveError, one sentence."""
    board = chess.Board(fen, chess960=True)
    shown = repr(text[:20])
    fault = f"{shown} is no move; write it as Nf3 or g1f3"
    for spelling in (text, text[:1].upper() + text[1:].lower(), text.upper()):  # nf3 may be a knight's, o-o is castling
        try:
            return board.uci(board.parse_san(spelling), chess960=chess960)
        except chess.AmbiguousMoveError:
            raise IllegalMoveError(f"several pieces can play {shown}; say which, as in Nbd2 or b1d2") from None
        except chess.IllegalMoveError:
            fault = f"{shown} is not a legal move here"
        except ValueError:
            continue
    raise IllegalMoveError(fault)


def write_san(fen: str, uci: str) -> str:
    """A legal UCI move as SAN."""
    board = chess.Board(fen, chess960=True)
    return board.san(board.parse_uci(uci))


class _PgnReader(chess.pgn.BaseVisitor[Record]):
    """Collects one game from python-chess's parser."""

    def begin_game(self) -> None:
        self.headers: dict[str, str] = {}
        self.root: str | None = None
        self.moves: list[str] = []
        self.comments = [""]
        self.times: list[float | None] = []
        self.fault = ""
        self.token = "*"

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        self.headers[tagname] = tagvalue

    def visit_board(self, board: chess.Board) -> None:
        """The first position and all later ones; only the first matters."""
        if self.moves or self.fault:
            return
        if type(board) is not chess.Board:
            self.fault = f"the variant {board.uci_variant} is not played here"
        elif board.fen() != chess.STARTING_FEN:
            self.root = board.fen()

    def begin_parse_san(self, board: chess.Board, san: str) -> chess.pgn.SkipType | None:
        if len(self.moves) == MAX_PLIES:
            self.fault = f"the game has more than {MAX_PLIES} moves"
        return chess.pgn.SKIP if self.fault else None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        if not move:
            self.handle_error(ValueError("a move is left out (--)"))
            return
        self.moves.append(move.uci())
        self.comments.append("")
        self.times.append(None)

    def visit_comment(self, comment: str) -> None:
        if self.fault:
            return
        found = _TIME.search(comment)
        if found and self.times:
            self.times[-1] = 3600 * int(found[1]) + 60 * int(found[2]) + float(found[3])
            comment = comment[: found.start()] + comment[found.end() :]
        self.comments[-1] = " ".join(filter(None, [self.comments[-1], " ".join(comment.split())]))

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def visit_result(self, result: str) -> None:
        self.token = result

    def handle_error(self, error: Exception) -> None:
        self.fault = self.fault or str(error)

    def result(self) -> Record:
        headers = self.headers
        names = tuple(headers.pop(side, "").replace("?", "") for side in ("White", "Black"))
        token = headers.pop("Result", "*")
        for used in ("FEN", "SetUp"):
            headers.pop(used, None)
        return Record(
            tuple(self.moves),
            self.root,
            RESULTS.get(token if token in RESULTS else self.token),
            _REASONS.get(headers.get("Termination", "").lower(), ""),
            cast("tuple[str, str]", names),
            tuple(self.times) if any(t is not None for t in self.times) else (),
            tuple(self.comments) if any(self.comments) else (),
            {name: value for name, value in headers.items() if value.strip("?.")},
            self.fault,
        )


def write(record: Record) -> str:
    """One game as PGN. Errors: PositionError."""
    try:
        board = chess.Board(record.root or chess.STARTING_FEN, chess960=is_chess960(record))
    except ValueError as error:
        raise PositionError(f"{record.root!r} is no FEN: {error}") from None
    for move in record.moves:
        try:
            board.push_uci(move)
        except ValueError:
            raise IllegalMoveError(f"{move!r} is not legal in {board.fen()}") from None
    game = chess.pgn.Game.from_board(board)
    headers = {"White": record.names[0] or "?", "Black": record.names[1] or "?", **record.headers}
    for name, value in headers.items():
        tag = re.sub("[^A-Za-z0-9_]", "_", name)
        if tag in _SET_BY_GAME:
            continue
        game.headers[tag] = " ".join(value.split()).replace("/", ".") if name == "Date" else " ".join(value.split())
    game.headers["Result"] = next((token for token, result in RESULTS.items() if result == record.result), "*")
    node: chess.pgn.GameNode = game
    for i in range(len(record.moves) + 1):
        text = record.comments[i] if i < len(record.comments) else ""
        seconds = record.times[i - 1] if 0 < i <= len(record.times) else None
        if seconds is not None:
            text = f"[%emt {int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{seconds % 60:06.3f}] {text}"
        if i == len(record.moves) and record.reason and record.reason not in text:
            text = ", ".join(filter(None, [text, record.reason]))
        node.comment = " ".join(text.replace("{", "(").replace("}", ")").split())
        node = node.next() or node
    return f"{game}\n"


FORMAT = RecordFormat("PGN", (".pgn",), read, write, "\n")
