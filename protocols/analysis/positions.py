"""Positions and moves of queries: Go's fields as KataGo has them, other games in their own notation."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...engine.errors import AzError, IllegalMoveError, PositionError
from ...engine.games import get_game
from ...engine.games.base import State
from ...engine.nets.netinfo import boards_in_words
from ..gtp.board import PASS, STONES, GtpError, Size, handicap_of, other, point, read_vertex, vertex
from ..gtp.game import SIZES, SKIP, Start, empty
from ..gtp.rules import Rules, read_rules
from ..loader import EngineSeam
from .fields import COLOURS, QueryError, QueryFields

MOST_MOVES = 2_000  # of a query; no game of people has a third of them
_AT_ONCE = 200  # moves that are played before the next look whether the turn is still wanted
_PAIRS = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
_KOMI = "Must be a integer or half-integer from -400.0 to 400.0"
_RULES = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with detailed rules parameters.'
)
_HANDICAP = 5  # field of a position's text
_XY = re.compile(r"\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")


@dataclass(frozen=True, slots=True)
class Played:
    """The game of a query: a position and the moves from it, in the engine's notation."""

    game: str  # as the engine calls it: "go9"
    root: str | None  # None: the start position
    words: tuple[str, ...]  # the moves; between two of one colour a word that changes the side to move
    stops: tuple[int, ...]  # words before turn 0, 1, ... to the last
    turns: str  # who is to move at turn 0, 1, ...: "b" or "w"
    size: Size | None = None  # of a Go board; None: another game
    placed: Mapping[int, str] = field(default_factory=dict)  # stones by point at the start
    coloured: tuple[tuple[str, str], ...] = ()  # colour and vertex of each move in Go

    def root_at(self, turn: int) -> str | None:
        """The root as it is seen at a turn: black moves before white's first are a handicap, as KataGo has it."""
        if self.root is None or self.size is None:
            return self.root
        fields = self.root.split()
        fields[_HANDICAP] = str(handicap_of("".join(self.placed.values()), self.coloured[:turn]))
        return " ".join(fields)

    @property
    def moves(self) -> int:
        return len(self.stops) - 1

    def play(self, engine: EngineSeam, requested: Callable[[], bool]) -> None:
        """Let the engine hold the last position, unless the answer is no longer ``requested``.

        Blocks; cheap where the engine holds a position of the same game. Errors: QueryError, with KataGo's words for an
        illegal move; PositionError for a root that cannot be set up.
        """
        try:
            for end in [*range(0, len(self.words), _AT_ONCE), len(self.words)]:
                if requested():
                    engine.set_position(self.root, self.words[:end])
        except IllegalMoveError as error:
            number = next(n for n, end in enumerate(self.stops[1:]) if end > error.place)
            raise QueryError(f"Illegal move {number}: {self.words[error.place][:40]}", "moves") from None


class Notation(Protocol):
    """How the queries of one game write positions and moves."""

    first: str  # colour of the first player

    def read(self, fields: QueryFields) -> Played:
        """The game that a query's fields name, no move of it replayed. Errors: QueryError."""

    def move(self, word: Any, played: Played) -> str:
        """A move as the engine writes it. Errors: QueryError, of no field."""


class GoNotation:
    """KataGo's: ``moves``, ``initialStones``, ``initialPlayer``, ``rules``, ``komi``, ``boardXSize`` ..."""

    first = "b"

    def __init__(self, sizes: Callable[[], Sequence[int]]) -> None:
        """``sizes``: of board that the net plays; none: all."""
        self._sizes = sizes

    def read(self, fields: QueryFields) -> Played:
        size = self._size(fields)
        stones = self._pairs(fields, "initialStones", size) if "initialStones" in fields else []
        if "moves" not in fields:
            raise QueryError("Must specify an array of [player,location] pairs", "moves")
        moves = self._pairs(fields, "moves", size)
        if any(place == PASS for _, place in stones):
            raise QueryError(f"Could not parse board location: {PASS}", "initialStones")
        placed = _placed(stones, size)
        handicap = handicap_of("".join(placed.values()), ())
        usual = moves[0][0] if moves else "w" if handicap else "b"
        turn = fields.player("initialPlayer") if "initialPlayer" in fields else usual
        rules = _rules(fields)
        komi = 6.5 if rules.territory else 7.5
        if "komi" in fields:
            komi = fields.number("komi", -400.0, 400.0, _KOMI) + 0.0
            if not (2 * komi).is_integer():
                raise QueryError(_KOMI, "komi")
        start = Start(empty(size).board.with_stones(placed), turn, handicap)
        words, stops, turns = list[str](), [0], turn
        for colour, place in moves:
            words += [SKIP, place] if colour != turns[-1] else [place]
            stops.append(len(words))
            turns += other(colour)
        root = start.text(komi, rules)
        if stones:
            _read_root(f"go{size}", root, "initialStones")
        return Played(f"go{size}", root, tuple(words), tuple(stops), turns, size, placed, (*moves,))

    def _size(self, fields: QueryFields) -> Size:
        words = f"Must provide an integer from {SIZES.start} to {SIZES.stop - 1}"
        size = Size(*(fields.integer(f"board{axis}Size", SIZES.start, SIZES.stop - 1, words) for axis in "XY"))
        sizes = self._sizes()
        for axis, lines in zip("XY", size, strict=True):
            if sizes and lines not in sizes:
                raise QueryError(f"This net plays on {boards_in_words(sizes)}, not on {size}", f"board{axis}Size")
        return size

    def _pairs(self, fields: QueryFields, name: str, size: Size) -> list[tuple[str, str]]:
        given = fields.get(name)
        if not isinstance(given, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(word, str) for word in pair) for pair in given
        ):
            raise QueryError(_PAIRS, name)
        _not_too_many(given, name)
        pairs = []
        for player, place in given:
            colour = COLOURS.get(player.lower())
            if colour is None:
                raise QueryError(f"Could not parse player: {player[:40]}", name)
            pairs.append((colour, sys.intern(_vertex(place, size, name))))  # thousands wait
        return pairs

    def move(self, word: Any, played: Played) -> str:
        if not isinstance(word, str):
            raise QueryError("Must be an array of GTP board vertices")
        assert played.size is not None
        return _vertex(word, played.size, "")


_FORMS = {
    "chess": re.compile("[a-h][1-8][a-h][1-8][nbrqNBRQ]?"),
    "shogi": re.compile(r"[1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i]"),
}  # of moves


class PlainNotation:
    """Ours, for other games: ``moves`` as the protocol writes them, ``initialPosition`` (FEN, SFEN)."""

    def __init__(self, game: str) -> None:
        self._game = game
        self.first = "w" if get_game(game).protocol == "uci" else "b"

    def read(self, fields: QueryFields) -> Played:
        if "moves" not in fields:
            raise QueryError("Must specify an array of moves", "moves")
        moves = fields.get("moves")
        if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
            raise QueryError("Must be an array of moves", "moves")
        _not_too_many(moves, "moves")
        root = None
        if "initialPosition" in fields:
            root = fields.string("initialPosition", "Must be a string")
        order = self.first + other(self.first)
        if root is not None and get_game(self._game).side_to_move(_read_root(self._game, root, "initialPosition")[-1]):
            order = order[::-1]
        turns = "".join(order[i % 2] for i in range(len(moves) + 1))
        return Played(self._game, root, tuple(moves), tuple(range(len(moves) + 1)), turns)

    def move(self, word: Any, played: Played) -> str:
        if not isinstance(word, str):
            raise QueryError("Must be an array of moves")
        form = _FORMS.get(self._game)
        if form is not None and not form.fullmatch(word):
            raise QueryError(f"Could not parse move: {word[:20]}")
        return word


def _placed(stones: Sequence[tuple[str, str]], size: Size) -> dict[int, str]:
    """Stones by point, put down one after another as KataGo does: each may capture, a lone one without liberty not."""
    board: dict[int, str] = {}

    def near(p: int) -> list[int]:
        sides = [p - 1] * (p % size.columns > 0) + [p + 1] * (p % size.columns < size.columns - 1)
        return [q for q in (p - size.columns, p + size.columns, *sides) if 0 <= q < size.points]

    def captured(p: int) -> set[int]:
        """The chain of a stone where it has no liberty."""
        chain, waiting = {p}, [p]
        while waiting:
            for q in near(waiting.pop()):
                if q not in board:
                    return set()
                if board[q] == board[p] and q not in chain:
                    chain.add(q)
                    waiting.append(q)
        return chain

    for colour, place in stones:
        p, before = point(place, size), board.copy()
        board[p] = STONES[colour]
        for q in near(p):
            if q in board and board[q] != board[p]:
                for taken in captured(q):
                    del board[taken]
        group = captured(p)
        if group == {p}:
            board = before
            board.pop(p, None)
        else:
            for taken in group:
                del board[taken]
    return board


def _not_too_many(moves: list[Any], field: str) -> None:
    if len(moves) > MOST_MOVES:
        raise QueryError(f"Must be at most {MOST_MOVES} moves", field)


def _vertex(word: str, size: Size, field: str) -> str:
    match = _XY.fullmatch(word)
    if match is not None and int(match[1]) < size.columns and int(match[2]) < size.rows:
        return vertex(int(match[2]) * size.columns + int(match[1]), size)
    try:
        return read_vertex(word, size)
    except GtpError:
        raise QueryError(f"Could not parse board location: {word[:40]}", field) from None


def _rules(fields: QueryFields) -> Rules:
    given = fields.get("rules")
    if not isinstance(given, str | dict):
        raise QueryError(_RULES, "rules")
    text = given if isinstance(given, str) else json.dumps(given)
    try:
        rules = read_rules(text)
    except AzError:
        raise QueryError(f"Could not parse rules: {text[:400]}", "rules") from None
    if "whiteHandicapBonus" in fields:
        bonus = fields.string("whiteHandicapBonus", "Must be a string")
        try:
            rules = rules.with_field("whiteHandicapBonus", bonus)
        except AzError:
            raise QueryError(f"Could not parse whiteHandicapBonus: {bonus[:40]}", "whiteHandicapBonus") from None
    return rules


def _read_root(game: str, root: str, field: str) -> State:
    """The line State[1] of a position's text. Errors: QueryError, of ``field``."""
    try:
        return get_game(game).parse_position(root)[0]
    except PositionError as error:
        raise QueryError(str(error), field) from None
