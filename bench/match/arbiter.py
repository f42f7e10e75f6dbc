"""The judge of a match: legal moves and the end of a game, with what each game has of its own in one class.

Chess is judged by the package ``chess`` (python-chess). Shogi is judged by our own rules, and where the package
``cshogi`` is installed every position is judged by both: a match also checks our rules. Go is judged by our own rules.
"""

from __future__ import annotations

import importlib.metadata
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import chess
import chess.syzygy

from ...engine.errors import AzError, IllegalMoveError, OptionError, PositionError
from ...engine.games import get_game
from ...engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from ...engine.games.record import Reason

GO_RULES = "chinese-ogs"  # area scoring, no board comes again, no suicide: what every Go program can play by


@dataclass(frozen=True, slots=True)
class Ending:
    """How a game ended. ``result``: 1 the first player won, 0 draw, -1 the second player won."""

    result: int
    words: str  # for people
    reason: Reason = ""  # for the record
    margin: float | None = None  # points by which the first player is ahead, where points were counted


class Arbiter(ABC):
    """A game in progress."""

    sides: tuple[str, str]  # what the first and the second player are called
    judge: str  # by whose rules
    max_plies: int  # after which a game is usually given up as drawn

    @property
    @abstractmethod
    def turn(self) -> int:
        """0 while the first player is to move, 1 while the second is."""

    @abstractmethod
    def push(self, move: str) -> None:
        """Play a move. Errors: IllegalMoveError."""

    @abstractmethod
    def legal_moves(self) -> list[str]:
        """In no particular order."""

    @abstractmethod
    def ending(self) -> Ending | None:
        """None while the game goes on. Draws by rule are not left to the players to claim."""

    def can_declare(self) -> bool:
        """Whether the side to move may win by saying so, where the game has that."""
        return False

    def at_limit(self, plies: int) -> Ending:
        """The ending of a game that is stopped after so many plies."""
        return Ending(0, f"stopped after {plies} plies", "maximum moves")

    def known_result(self, tablebase: str) -> Ending | None:
        """The ending of a position whose result a tablebase in that folder knows. Errors: OptionError."""
        raise OptionError(f"there are no tablebases of this game; leave {tablebase!r} out")

    def agreed(self, counts: Sequence[float | None]) -> Ending | None:
        """The ending of a counted game by what both players count, first player's points less the second's.

        None where nothing is agreed on: the game does not end that way, a player has no count, or they differ.
        """
        return None

    def won_by(self, side: int, words: str, reason: Reason = "") -> Ending:
        """The ending in which side 0 or 1 has won."""
        return Ending(-1 if side else 1, words, reason)


class ChessArbiter(Arbiter):
    """Standard chess by python-chess."""

    sides = ("White", "Black")
    judge = f"python-chess {chess.__version__}"
    max_plies = 600

    def __init__(self, root: str | None = None) -> None:
        """Errors: PositionError for a FEN that is no legal position."""
        try:
            self._board = chess.Board() if root is None else chess.Board(root)
        except ValueError as error:
            raise PositionError(f"{root!r} is no FEN: {error}") from None
        if not self._board.is_valid():
            raise PositionError(f"{root!r} is no legal position; give one that can arise in a game")

    @property
    def turn(self) -> int:
        """See Arbiter."""
        return 0 if self._board.turn else 1

    def push(self, move: str) -> None:
        """See Arbiter."""
        try:
            self._board.push_uci(move)
        except ValueError:
            raise IllegalMoveError(f"{move!r} is not legal in {self._board.fen()}") from None

    def legal_moves(self) -> list[str]:
        """See Arbiter."""
        return [move.uci() for move in self._board.legal_moves]

    def ending(self) -> Ending | None:
        """See Arbiter."""
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
        """See Arbiter. Syzygy files; a win that the fifty moves spoil is a draw."""
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
    """Shogi with the 27-point declaration, by our own rules and by cshogi where it is installed."""

    sides = ("Black", "White")
    max_plies = 512

    def __init__(self, root: str | None = None) -> None:
        """Errors: PositionError for a SFEN that is no legal position."""
        self._game = get_game("shogi")
        self._line = self._game.initial() if root is None else self._game.parse_position(root)[0]
        try:
            self._other: _Cshogi | None = _Cshogi(self._sfen)
        except ImportError:
            self._other = None
        self.judge = "az-engine's own rules" + (f" and {self._other.name}" if self._other else "")
        self._legal = self._moves()

    @property
    def turn(self) -> int:
        """See Arbiter."""
        return self._game.side_to_move(self._line[-1])

    def push(self, move: str) -> None:
        """See Arbiter. Errors also: AzError when cshogi judges otherwise."""
        if move not in self._legal:
            raise IllegalMoveError(f"{move!r} is not legal in {self._sfen}")
        self._line = self._game.play(self._line, self._game.parse_move(self._line, move))
        if self._other is not None:
            self._other.push(move)
        self._legal = self._moves()

    def legal_moves(self) -> list[str]:
        """See Arbiter."""
        return sorted(self._legal)

    def ending(self) -> Ending | None:
        """See Arbiter. Errors: AzError when cshogi judges otherwise."""
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
        """See Arbiter."""
        own = self._game.can_declare(self._line)
        if self._other is not None:
            self._compare("a declaration", own, self._other.can_declare())
        return own

    @property
    def _sfen(self) -> str:
        return self._game.format_position(self._line[-1])

    def _moves(self) -> set[str]:
        state = self._line[-1]
        legal = {self._game.format_move(state, int(move)) for move in self._game.legal_moves(self._line)}
        if self._other is not None:
            self._compare("the legal moves", legal, self._other.legal_moves())
        return legal

    def _compare(self, what: str, own: object, other: object) -> None:
        if own != other:
            raise AzError(f"az-engine and cshogi disagree on {what} in {self._sfen}; please report this position")


class GoArbiter(Arbiter):
    """Go by our own rules. Komi and rule set are part of the root.

    Two passes end the game. If both players then count the same, that is the result: dead stones are settled by them.
    Else the board is counted as it stands, by area with every stone alive (Tromp-Taylor).
    """

    sides = ("Black", "White")
    judge = "az-engine's own rules"

    def __init__(self, root: str | None = None) -> None:
        """Errors: PositionError for a root that is no position."""
        root = root or go_start()
        self._game = get_game(f"go{root.split()[0].count('/') + 1}")
        self._line = self._game.parse_position(root)[0]
        self._size = int(self._line[0]["size"])
        self.max_plies = max(4 * self._size * self._size, 60)

    @property
    def turn(self) -> int:
        """See Arbiter."""
        return self._game.side_to_move(self._line[-1])

    def push(self, move: str) -> None:
        """See Arbiter."""
        if move == "skip":  # which is no move of the rules
            raise IllegalMoveError("a player may not leave its move out")
        self._line = self._game.play(self._line, self._game.parse_move(self._line, move))

    def legal_moves(self) -> list[str]:
        """See Arbiter."""
        return [self._game.format_move(self._line[-1], int(move)) for move in self._game.legal_moves(self._line)]

    def ending(self) -> Ending | None:
        """See Arbiter."""
        return None if self._game.outcome(self._line) == RUNNING else self._counted(self._area(), "counted by area")

    def at_limit(self, plies: int) -> Ending:
        """See Arbiter: counted as the board stands."""
        return self._counted(self._area(), f"stopped after {plies} plies, counted by area", "maximum moves")

    def agreed(self, counts: Sequence[float | None]) -> Ending | None:
        """See Arbiter."""
        first, second = counts
        if first is None or first != second:
            return None
        return self._counted(first, "both players count the same")

    def _area(self) -> float:
        """Black's points less white's with every stone alive."""
        assert self._game.territory is not None
        return self._game.territory.score(self._line[-1])[0]

    def _counted(self, margin: float, words: str, reason: Reason = "") -> Ending:
        return Ending((margin > 0) - (margin < 0), words, reason, margin)


class _Cshogi:
    """What cshogi says, with the rule of repetition counted here from its positions and checks.

    (Its own ``is_draw`` already speaks at the second occurrence.)
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
        """Play a legal move."""
        self._board.push_usi(move)
        self._note()

    def legal_moves(self) -> set[str]:
        """As USI writes them."""
        return {self._write(move) for move in self._board.legal_moves}

    def can_declare(self) -> bool:
        """By the 27-point rule."""
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


ARBITERS: dict[str, type[ChessArbiter | ShogiArbiter | GoArbiter]] = {
    "chess": ChessArbiter,
    "shogi": ShogiArbiter,
    "go": GoArbiter,
}


def go_start(size: int = 9, komi: float | None = None, rules: str = GO_RULES) -> str:
    """An empty board; komi None: 7 on 9x9, 7.5 on others. Errors: PositionError."""
    territory = get_game("go").territory
    assert territory is not None
    return territory.start(size, komi, rules)


def new_arbiter(game: str, root: str | None = None) -> Arbiter:
    """Errors: OptionError for a game that has no arbiter yet; PositionError for a bad root."""
    name = game.rstrip("0123456789")
    if name not in ARBITERS:
        raise OptionError(f"matches are played in {', '.join(ARBITERS)}, not in {game!r}")
    return ARBITERS[name](root)


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
