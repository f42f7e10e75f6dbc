"""A position as a Python user holds it: the game so far, its text, its legal moves and its picture."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.errors import DataError, OptionError
from ..engine.games import game_names, get_game
from ..engine.games.base import Game, State
from ..engine.games.diagram import board_svg, board_text, board_words
from ..engine.games.outcome import RUNNING
from ..engine.records.formats import is_record, read_games
from ..engine.records.record import Node, Reason, Record
from ..engine.settings import check_kind
from .limits import check_moves

if TYPE_CHECKING:
    import chess


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a finished game ended."""

    winner: int | None  # 0 the first player (White in chess, Black in shogi and Go), 1 the second, None a draw
    lead: float | None = None  # points by which the first player is ahead, komi counted, in games that count points
    dead: tuple[str, ...] = ()  # the points of stones that were taken off before the count


class Position:
    """One position with the game that led to it. It never changes: :meth:`play` returns another one.

    >>> position = Position("chess", moves=["e2e4", "e7e5"])
    >>> position.text
    'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2'
    >>> position.turn, len(position.legal_moves), position.outcome
    (0, 29, None)
    >>> print(Position("go9", moves=["E5"]).play("C3").text)
    9/9/9/9/4X4/9/2O6/9/9 b - 7 tromp-taylor 0 0 2
    """

    def __init__(
        self,
        game: str = "chess",
        text: str | None = None,
        moves: Iterable[str] = (),
        *,
        variant: str | None = None,
        komi: float | None = None,
        rules: str | None = None,
        handicap: int = 0,
    ) -> None:
        """A position of ``game``, a name of :func:`games`; a number behind it is the board's size: "go19".

        text: in the game's own notation (FEN, SFEN, what ``text`` returns), None for the start position; moves: as
        the game's protocol writes them (e2e4, 7g7f, D4), played from there; variant: "chess960" writes castling as
        king takes rook; a FEN with rights that only it has is of it anyway. komi, rules and handicap (stones on the
        fixed points, White to move) are for the empty board of a game that counts points.

        Errors: OptionError, PositionError, IllegalMoveError.
        """
        check_kind("komi", komi, float | None)
        check_kind("handicap", handicap, int)
        check_kind("rules", rules, str | None)
        check_kind("text", text, str | None)
        check_kind("game", game, str)
        check_kind("variant", variant, str | None)
        check_moves(moves)
        self._game = get_game(game) if variant is None else get_game(game).variant(variant)
        if variant is None and text is not None and (form := self._game.of_record(Record(Node(position=text)))).form:
            self._game = form
        self.game, self.variant = game, variant or self._game.form or None
        if komi is not None or rules is not None or handicap:
            if self._game.territory is None or text is not None:
                raise OptionError("komi, rules and handicap belong to an empty board of Go; leave them out")
            komi = 0.5 if handicap and komi is None else komi
            _, rows, columns = self._game.planes
            text = self._game.territory.start(columns, rows, komi, rules or "tromp-taylor")
            text = _with_handicap(self._game, text, handicap) if handicap else text
        self.root = text
        #: State[n]: the game from its first known position to this one
        self.line: State = self._game.initial() if text is None else self._game.parse_position(text)[0]
        self.moves: tuple[str, ...] = ()
        for move in moves:
            check_kind("move", move, str)
            self._append(move)

    def __getstate__(self) -> dict[str, Any]:
        """The game is known by its name: another process, and a copy, have the same one."""
        return {name: value for name, value in vars(self).items() if name != "_game"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        game = get_game(self.game)
        self._game = game if self.variant is None else game.variant(self.variant)

    @classmethod
    def of(cls, source: Position | chess.Board | Any) -> Position:
        """``source`` as a position: one of ours, or a board of python-chess or python-shogi with its moves.

        Errors: TypeError for anything else, PositionError.
        """
        if isinstance(source, Position):
            return source
        module = type(source).__module__.partition(".")[0]
        if module == "chess" and hasattr(source, "root"):
            if getattr(source, "uci_variant", None) != "chess":
                raise TypeError(f"{type(source).__name__} is no board of chess, or of a variant that is not played")
            root = source.root().fen(shredder=source.chess960, en_passant="fen")
            start = None if root == type(source)().fen() else root
            moves = [move.uci() for move in source.move_stack]
            return cls("chess", start, moves, variant="chess960" if source.chess960 else None)
        if module == "shogi" and hasattr(source, "sfen"):
            root, moves = deepcopy(source), list[Any](source.move_stack)
            while root.move_stack:
                root.pop()
            return cls("shogi", root.sfen(), [str(move.usi()) for move in moves])
        raise TypeError(f"{type(source).__name__} is no position; give az_engine.Position or chess.Board")

    @classmethod
    def load(cls, path: str | Path, *, number: int = 1, ply: int | None = None) -> Position:
        """The position after ``ply`` moves (None: all) of a game in a file: PGN, KIF, CSA, SGF ...

        number: of the game in the file, from 1. What of a game cannot be read is the text of a Python warning.
        Errors: OptionError for an unknown kind of file, DataError.
        """
        if not isinstance(path, str | PathLike):
            raise OptionError(f"path is {path!r}; it must be the name of a file")
        check_kind("number", number, int)
        check_kind("ply", ply, int | None)
        if number < 1 or (ply is not None and ply < 0):
            raise OptionError(f"number must be 1 or more and ply 0 or more, not {number} and {ply}")
        path = Path(path)
        for name in game_names():
            game = get_game(name)
            if is_record(game.record_formats, path):
                record = next(islice(read_games(game.record_formats, path), number - 1, None), None)
                if record is None:
                    raise DataError(f"{path.name} has no game {number}; it has fewer")
                if record.fault and record.root is None and not record.moves:
                    raise DataError(f"{path.name}, game {number}: {record.fault}")
                for text in filter(None, (record.note, record.fault)):
                    warnings.warn(f"{path.name}, game {number}: {text}", stacklevel=2)
                _, rows, columns = (game := game.of_record(record)).planes
                size = "" if game.territory is None else columns if rows == columns else f"{columns}x{rows}"
                return cls(f"{name}{size}", record.root, record.moves[:ply], variant=game.form or None)
        name = path.name or str(path)
        raise OptionError(f"{name} is no game record; the name of one ends in .pgn, .kif, .csa, .sgf or the like")

    def _append(self, move: str) -> None:
        self.line = self._game.play(self.line, self._game.parse_move(self.line, move))
        self.moves = (*self.moves, move)

    def play(self, *moves: str) -> Position:
        """The position after ``moves``. Errors: OptionError, IllegalMoveError; PositionError when the game is over."""
        for move in moves:
            check_kind("move", move, str)
        later: Position = copy(self)
        for name in ("text", "legal_moves", "outcome"):
            vars(later).pop(name, None)
        for move in moves:
            later._append(move)
        return later

    def read(self, text: str) -> str:
        """The legal move that a person means (Nf3, 7六歩, P-7f, d4), as the protocol writes it.

        Errors: OptionError for no text, IllegalMoveError, one sentence.
        """
        check_kind("text", text, str)
        return self._game.format_move(self.line[-1], self._game.read_move(self.line, text))

    def notation(self, move: str) -> str:
        """A legal move as people write it: SAN in chess. Errors: OptionError, IllegalMoveError."""
        check_kind("move", move, str)
        return self._game.write_move(self.line, self._game.parse_move(self.line, move))

    @cached_property
    def text(self) -> str:
        """The position in the game's own notation; history is not part of it."""
        return self._game.format_position(self.line[-1])

    @property
    def turn(self) -> int:
        """The player to move: 0 the first (White in chess, Black in shogi and Go), 1 the second."""
        return self._game.side_to_move(self.line[-1])

    @cached_property
    def legal_moves(self) -> tuple[str, ...]:
        """The legal moves, as the game's protocol writes them; none once the game is over."""
        moves = self._game.legal_moves(self.line)
        return tuple(self._game.format_move(self.line[-1], int(move)) for move in moves)

    @cached_property
    def outcome(self) -> Outcome | None:
        """How the game ended by the rules, repetitions counted; None while it goes on."""
        code = self._game.outcome(self.line)
        if code == RUNNING:
            return None
        winner = None if code == 0 else self.turn if code > 0 else 1 - self.turn
        territory = self._game.territory
        return Outcome(winner, None if territory is None else territory.score(self.line[-1])[0])

    def __eq__(self, other: object) -> bool:
        """Whether it is the same position after the same game: what came before decides repetitions."""
        if not isinstance(other, Position):
            return NotImplemented
        return self._game is other._game and np.array_equal(self.line, other.line)

    def __hash__(self) -> int:
        return hash((self._game.name, len(self.line), self.text))

    def __str__(self) -> str:
        """The board with its coordinates."""
        return board_text(self._game, self.text)

    def drawn(self, *, pictures: bool = False) -> str:
        """The board as lines of text, the last move in brackets, star points; pictures: pieces as Unicode has them."""
        return board_text(self._game, self.text, self.moves[-1] if self.moves else "", pictures=pictures)

    def record(
        self,
        winner: int | None = None,
        *,
        reason: Reason = "",
        names: tuple[str, str] = ("", ""),
        outcome: Outcome | None = None,
    ) -> Record:
        """The game so far; winner: 0 or 1, where it is over for another reason than the rules.

        outcome: what stands in place of ``self.outcome``, such as :meth:`Engine.count` gives.
        """
        outcome, result, margin = outcome or self.outcome, None, None
        if outcome is not None:
            winner, result = outcome.winner, 0
            margin = abs(outcome.lead) if outcome.lead else None
        if winner is not None:
            result = 1 - 2 * winner
        start = self.root if self._game.territory is None else self._game.format_position(self.line[0])
        return Record.of_line(self.moves, start, result, reason, names, margin=margin)

    @property
    def words(self) -> str:
        """The board in words, a line for each side, for those who listen to it."""
        return board_words(self._game, self.text)

    def __repr__(self) -> str:
        return f"Position({self.game!r}, {self.text!r})"

    def _repr_html_(self) -> str:
        return board_svg(self._game, self.text, self.moves[-1] if self.moves else "")


def _with_handicap(game: Game, empty: str, stones: int) -> str:
    """The empty board with Black's handicap stones. Errors: OptionError for too many."""
    assert game.territory is not None
    _, height, size = game.planes
    most = game.territory.most_handicap(size) if height == size else 0
    if not 2 <= stones <= most:
        takes = f"a handicap of 2 to {most} stones" if most else "no handicap"
        raise OptionError(f"a board of {size}x{height} takes {takes}, not {stones}")
    points = set(game.territory.handicap(size, stones))
    cells = ["X" if point in points else "." for point in range(size * size)]
    rows = ["".join(cells[i : i + size]) for i in range(0, size * size, size)]
    fields = empty.split()
    board = "/".join(re.sub(r"\.+", lambda dots: str(len(dots[0])), row) for row in rows)
    return " ".join([board, "w", fields[2], fields[3], fields[4], str(stones), *fields[6:]])
