"""The arbiter of a match: legal moves and the end of a game.

Every game is judged by its own rules (:class:`Arbiter`). Two have an independent judge besides: python-chess replaces
our rules of chess, and cshogi, where it is installed, checks our rules of shogi in every position.
"""

from __future__ import annotations

import importlib.metadata
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import chess
import chess.syzygy

from ...engine.errors import AzError, IllegalMoveError, OptionError, PositionError
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from ...engine.records.record import Reason

TERRITORY_RULES = "chinese-ogs"  # area scoring, positional superko, no suicide: every Go program can play by them


@dataclass(frozen=True, slots=True)
class Ending:
    """How a game ended. ``result``: 1 the first player won, 0 draw, -1 the second player won."""

    result: int
    words: str  # for people
    reason: Reason = ""  # for the record
    margin: float | None = None  # points by which the first player is ahead, where points were counted


class Arbiter:
    """A game in progress, judged by the game's own rules; a subclass adds the verdict of an independent program.

    Two passes end a game of territory. If both players then count the same, that is the result: they settle what is
    dead. Otherwise the board is counted as it stands, by area with every stone alive (Tromp-Taylor).
    """

    judge = "az-engine's own rules"

    def __init__(self, game: Game, root: str | None = None) -> None:
        """Errors: PositionError for a root that is not a legal position."""
        if root is None and game.territory is not None:
            _, rows, columns = game.planes
            root = game.territory.start(columns, rows, None, TERRITORY_RULES)
        self._game = game
        self._line = game.initial() if root is None else game.parse_position(root)[0]

    @property
    def max_plies(self) -> int:
        """Plies after which a game is usually stopped: drawn, or counted."""
        longest = self._game.training.longest_game
        return longest if self._game.territory is None else max(2 * longest, 60)

    @property
    def turn(self) -> int:
        """0 while the first player is to move, 1 while the second is."""
        return self._game.side_to_move(self._line[-1])

    def push(self, move: str) -> None:
        """Play a move. Errors: IllegalMoveError."""
        played = self._game.parse_move(self._line, move)
        if played not in self._game.legal_moves(self._line):  # Go's "skip" can be read, but is no move of the rules
            raise IllegalMoveError(f"{move!r} is not a legal move here")
        self._line = self._game.play(self._line, played)

    def legal_moves(self) -> list[str]:
        """The legal moves as the game's protocol writes them, in no particular order."""
        return [self._game.format_move(self._line[-1], int(move)) for move in self._game.legal_moves(self._line)]

    def ending(self) -> Ending | None:
        """How the game has ended, None while it goes on. Draws by rule need no claim by a player."""
        outcome = self._game.outcome(self._line)
        if outcome == RUNNING:
            return None
        if self._game.territory is not None:
            return self._counted(self._area(), "counted by area")
        if outcome == DRAW:
            return Ending(0, "drawn by the rules")
        return self.won_by(self.turn if outcome == WIN else 1 - self.turn, "won by the rules")

    def can_declare(self) -> bool:
        """Whether the side to move may win by a declaration, in games that know one."""
        declaration = self._game.declaration
        return declaration is not None and declaration.possible(self._line)

    def at_limit(self, plies: int) -> Ending:
        """The ending of a game that is stopped after ``plies`` plies."""
        if self._game.territory is not None:
            return self._counted(self._area(), f"stopped after {plies} plies, counted by area", "maximum moves")
        return Ending(0, f"stopped after {plies} plies", "maximum moves")

    def known_result(self, tablebase: str) -> Ending | None:
        """The ending that a tablebase in that folder gives the position, None if it has none. Errors: OptionError."""
        raise OptionError(f"there are no tablebases of this game; leave {tablebase!r} out")

    def agreed(self, counts: Sequence[float | None]) -> Ending | None:
        """The ending of a counted game if both players' counts, first player's points less the second's, are equal.

        None when nothing is agreed: the game is not counted, a player has no count, or the counts differ.
        """
        first, second = counts
        if self._game.territory is None or first is None or first != second:
            return None
        return self._counted(first, "both players count the same")

    def won_by(self, side: int, words: str, reason: Reason = "") -> Ending:
        return Ending(-1 if side else 1, words, reason)

    def _area(self) -> float:
        """The first player's points less the second's with every stone alive."""
        assert self._game.territory is not None
        return self._game.territory.score(self._line[-1])[0]

    def _counted(self, margin: float, words: str, reason: Reason = "") -> Ending:
        return Ending((margin > 0) - (margin < 0), words, reason, margin)


class ChessArbiter(Arbiter):
    judge = f"python-chess {chess.__version__}"
    max_plies = 600

    def __init__(self, game: Game, root: str | None = None) -> None:
        """Errors: PositionError for a FEN that is not a legal position."""
        super().__init__(game)
        try:
            self._board = chess.Board() if root is None else chess.Board(root)
        except ValueError as error:
            raise PositionError(f"{root!r} is no FEN: {error}") from None
        self._board.chess960 = self._board.has_chess960_castling_rights()
        if not self._board.is_valid():
            raise PositionError(f"{root!r} is no legal position; give one that can arise in a game")

    @property
    def turn(self) -> int:
        return 0 if self._board.turn else 1

    def push(self, move: str) -> None:
        try:
            self._board.push_uci(move)
        except ValueError:
            raise IllegalMoveError(f"{move!r} is not legal in {self._board.fen()}") from None

    def legal_moves(self) -> list[str]:
        return [move.uci() for move in self._board.legal_moves]

    def ending(self) -> Ending | None:
        board = self._board
        if board.is_checkmate():
            return self.won_by(1 - self.turn, "checkmate", "mate")
        if board.is_stalemate():
            return Ending(0, "stalemate", "stalemate")
        if board.is_insufficient_material():
            return Ending(0, "insufficient material")
        if board.is_repetition(3):
            return Ending(0, "threefold repetition", "repetition")
        if board.is_fifty_moves():
            return Ending(0, "fifty moves")
        return None

    def known_result(self, tablebase: str) -> Ending | None:
        """By Syzygy files; a win that the fifty-move rule spoils is a draw."""
        board = self._board
        tables = _syzygy(tablebase)
        if board.castling_rights or board.halfmove_clock or chess.popcount(board.occupied) > chess.syzygy.TBPIECES:
            return None
        wdl = tables.get_wdl(board)
        if wdl is None:
            return None
        if abs(wdl) < 2:
            return Ending(0, "tablebase")
        return self.won_by(self.turn if wdl > 0 else 1 - self.turn, "tablebase")


@cache
def _syzygy(folder: str) -> chess.syzygy.Tablebase:
    """The tablebases of a folder. Errors: OptionError when it holds none."""
    try:
        tables = chess.syzygy.open_tablebase(folder, load_dtz=False)
    except OSError as error:
        raise OptionError(f"the tablebase folder {folder!r} cannot be read: {error.strerror}") from None
    if not tables.wdl:
        raise OptionError(f"{folder!r} holds no Syzygy tablebases (.rtbw files)")
    return tables


class ShogiArbiter(Arbiter):
    """Shogi with the 27-point declaration: every position is judged by cshogi, too, where it is installed."""

    def __init__(self, game: Game, root: str | None = None) -> None:
        """Errors: PositionError for a SFEN that is not a legal position."""
        super().__init__(game, root)
        try:
            self._other: Cshogi | None = Cshogi(self._sfen)
        except ImportError:
            self._other = None
        self.judge = Arbiter.judge + (f" and {self._other.name}" if self._other else "")
        self._legal = self._moves()

    def push(self, move: str) -> None:
        """Play a move. Errors: IllegalMoveError; AzError when cshogi judges otherwise."""
        if move not in self._legal:
            raise IllegalMoveError(f"{move!r} is not legal in {self._sfen}")
        super().push(move)
        if self._other is not None:
            self._other.push(move)
        self._legal = self._moves()

    def legal_moves(self) -> list[str]:
        return sorted(self._legal)

    def ending(self) -> Ending | None:
        """How the game has ended, None while it goes on. Errors: AzError when cshogi judges otherwise."""
        if not self._legal:  # a loss in shogi, in check or not
            return self.won_by(1 - self.turn, "checkmate", "mate")
        outcome = self._game.outcome(self._line)
        if self._other is not None:
            self._compare("a repetition", outcome, self._other.outcome_by_repetition())
        if outcome == RUNNING:
            return None
        if outcome == DRAW:
            return Ending(0, "fourfold repetition", "repetition")
        return self.won_by(self.turn if outcome == WIN else 1 - self.turn, "perpetual check", "perpetual check")

    def can_declare(self) -> bool:
        ruling = super().can_declare()
        if self._other is not None:
            self._compare("a declaration", ruling, self._other.can_declare())
        return ruling

    @property
    def _sfen(self) -> str:
        return self._game.format_position(self._line[-1])

    def _moves(self) -> set[str]:
        legal = set(super().legal_moves())
        if self._other is not None:
            self._compare("the legal moves", legal, self._other.legal_moves())
        return legal

    def _compare(self, what: str, ruling: object, other: object) -> None:
        if ruling != other:
            raise AzError(f"az-engine and cshogi disagree on {what} in {self._sfen}; please report this position")


class Cshogi:
    """The rules by cshogi; repetitions are counted here from its positions and checks.

    Its own ``is_draw`` is already true at the second occurrence.
    """

    def __init__(self, sfen: str) -> None:
        """Errors: ImportError where it is not installed."""
        import cshogi

        self.name = f"cshogi {importlib.metadata.version('cshogi')}"
        self._write = cshogi.move_to_usi
        self._board = cshogi.Board(sfen)
        self._places: list[str] = []  # board, side to move and hands
        self._checks: list[bool] = []  # whether the side to move is in check
        self._note()

    def _note(self) -> None:
        self._places.append(self._board.sfen().rsplit(" ", 1)[0])
        self._checks.append(bool(self._board.is_check()))

    def push(self, move: str) -> None:
        self._board.push_usi(move)
        self._note()

    def legal_moves(self) -> set[str]:
        return {self._write(move) for move in self._board.legal_moves}

    def can_declare(self) -> bool:
        return bool(self._board.is_nyugyoku())

    def outcome_by_repetition(self) -> int:
        """Outcome code for the side to move: who gave check with all its moves since the first occurrence loses.

        RUNNING before the fourth occurrence; DRAW also when both sides did.
        """
        place, now = self._places[-1], len(self._places)
        if self._places.count(place) < 4:
            return RUNNING
        first = self._places.index(place)
        by_opponent, by_mover = (all(self._checks[first + k : now : 2]) for k in (2, 1))
        if by_opponent == by_mover:
            return DRAW
        return WIN if by_opponent else LOSS


INDEPENDENT: dict[str, type[Arbiter]] = {"chess": ChessArbiter, "shogi": ShogiArbiter}


def new_arbiter(game: str, root: str | None = None) -> Arbiter:
    """The arbiter of a new game that begins from ``root``. Errors: OptionError, PositionError."""
    rules = get_game(game)
    return INDEPENDENT.get(rules.name, Arbiter)(rules, root)


def random_opening(game: str, plies: int, rng: random.Random, root: str | None = None) -> tuple[str, ...]:
    """Moves of a game of ``plies`` uniformly random moves from ``root`` that has not ended; no passes."""
    while True:
        arbiter = new_arbiter(game, root)
        moves: list[str] = []
        while len(moves) < plies and arbiter.ending() is None:
            moves.append(rng.choice(sorted(set(arbiter.legal_moves()) - {"pass"})))
            arbiter.push(moves[-1])
        if arbiter.ending() is None:
            return tuple(moves)
