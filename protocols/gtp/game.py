"""The game that GTP's commands change, kept in step with the position that the engine holds.

A method that raises an error has changed nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...engine.errors import NetError, PositionError
from ...engine.games import get_game
from ...engine.info import Estimate
from ...engine.nets.netinfo import boards_in_words
from ..loader import EngineSeam
from .board import PASS, STONES, Board, GtpError, Size, handicap_of, other, point, territory, vertex
from .rules import DEFAULT, Rules

if TYPE_CHECKING:
    from ...engine.games.base import State
    from ...engine.nets.netinfo import NetInfo
    from ...engine.nets.opinions import Opinion

SIZES = range(2, 26)
DEFAULT_SIZE, DEFAULT_KOMI = 19, 7.5  # the size if the net plays it, else its greatest
SKIP = "skip"  # the engine's word for: the side to move changes, and nothing else
_MOST_KOMI = 1000
_PASSES = 6  # field of the engine's line of text


class GoEngine(EngineSeam, Protocol):
    """What GTP needs of an engine beyond :class:`EngineSeam`."""

    @property
    def knows_rules(self) -> bool: ...
    @property
    def net(self) -> NetInfo | None: ...
    def sizes(self) -> tuple[int, ...]: ...
    def resize(self, columns: int, rows: int | None = None) -> None: ...
    def play(self, move: str) -> None: ...
    def undo(self) -> None: ...
    def estimate(self, seconds: float = ...) -> Estimate | None: ...
    def dead_chains(self, seconds: float = ...) -> list[frozenset[int]] | None: ...
    def opinion(self, symmetry: int = 0, *, alone: bool = False) -> Opinion: ...


@dataclass(frozen=True, slots=True)
class Move:
    """One move of the game; ``skip`` when the other colour would have been to move."""

    colour: str
    vertex: str
    skip: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return (SKIP, self.vertex) if self.skip else (self.vertex,)


@dataclass(frozen=True, slots=True)
class Start:
    board: Board
    turn: str = "b"
    handicap: int = 0  # stones that are known to be one
    prisoners: int = 0  # black's less white's

    def text(self, komi: float, rules: Rules, handicap: int = 0) -> str:
        """The engine's line of text. handicap: if it has more stones than were known."""
        stones = max(self.handicap, handicap)
        return f"{self.board.text} {self.turn} - {komi:g} {rules.name} {stones} 0 0 {self.prisoners}"


def empty(size: Size) -> Start:
    return Start(Board(size, "." * size.points))


class GtpGame:
    """One game after another. All methods may block while kernels are loaded; call them from one thread."""

    def __init__(self, engine: Callable[[], GoEngine], tell: Callable[[str], None]) -> None:
        """``engine`` makes the engine or brings it up to date; ``tell`` tells the user a sentence."""
        self.komi, self.rules = DEFAULT_KOMI, DEFAULT
        self.moves: list[Move] = []
        self._engine, self._tell = engine, tell
        self._start: Start | None = None  # None: no size has been chosen yet
        self._held = False  # whether the engine holds the position

    # ------------------------------------------------------------------ state

    @property
    def start(self) -> Start:
        if self._start is None:
            sizes = [n for n in self._sizes() if n <= DEFAULT_SIZE]
            lines = DEFAULT_SIZE if not self._sizes() else max(sizes or self._sizes())
            self._start = empty(Size(lines, lines))
        return self._start

    @property
    def size(self) -> Size:
        """Columns and rows of the board."""
        return self.start.board.size

    @property
    def vertices(self) -> list[str]:
        """All points, as they are numbered."""
        return [vertex(p, self.size) for p in range(self.size.points)]

    @property
    def turn(self) -> str:
        return other(self.moves[-1].colour) if self.moves else self.start.turn

    @property
    def board(self) -> Board:
        return Board.read(self.engine().position or "")

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for move in self.moves for word in move.words)

    @property
    def handicap(self) -> int:
        """Black's stones and moves before white's first, see :func:`handicap_of`."""
        moves = [(move.colour, move.vertex) for move in self.moves]
        return handicap_of(self.start.board.stones.replace(".", ""), moves)

    @property
    def text(self) -> str:
        return self.start.text(self.komi, self.rules, self.handicap)

    def engine(self) -> GoEngine:
        engine = self._engine()
        if not self._held:
            engine.resize(*self.size)
            engine.set_position(self.text, self.words)
            self._held = True
        return engine

    def _sizes(self) -> tuple[int, ...]:
        try:
            return self._engine().sizes()
        except NetError:
            return ()  # a board can be set up without a net; the next search reports what is wrong

    # ------------------------------------------------------------------ setting it up

    def resize(self, size: Size) -> None:
        """A new game on an empty board of that size."""
        self.admit(size)
        self._begin(empty(size))

    def admit(self, size: Size) -> None:
        """Errors: GtpError for a size that the net does not play."""
        played, possible = self._sizes(), all(lines in SIZES for lines in size)
        if not possible or (played and not all(lines in played for lines in size)):
            if possible:
                boards = boards_in_words(played)
                self._tell(f"this net plays on {boards}, not on {size}; choose another with --weights-file")
            raise GtpError("unacceptable size")

    def clear(self) -> None:
        self._begin(empty(self.size))

    def _begin(self, start: Start) -> None:
        self._start, self.moves, self._held = start, [], False

    def set_komi(self, komi: float) -> None:
        if abs(komi) > _MOST_KOMI or not (2 * komi).is_integer():
            raise GtpError("unacceptable komi")
        self.komi, self._held = komi + 0.0, False  # + 0.0: no minus before a zero

    def set_rules(self, rules: Rules) -> None:
        """Change the rule set; the moves so far must be legal by it."""
        if not self.moves:
            self.rules, self._held = rules, False
            return
        try:
            self.load(self.start, self.moves, komi=self.komi, rules=rules)
        except GtpError as error:
            raise GtpError("the moves so far are not legal by these rules") from error

    def set_handicap(self, stones: Sequence[str]) -> None:
        """Black begins with these stones on an empty board, white moves."""
        if self.moves or not self.start.board.empty:
            raise GtpError("board not empty")
        size = self.size
        board = self.start.board.with_stones({point(vertex, size): STONES["b"] for vertex in stones})
        self.load(Start(board, "w", len(stones)), (), komi=self.komi, rules=self.rules)

    def load(self, start: Start, moves: Sequence[Move], *, komi: float, rules: Rules) -> None:
        """Replace the game, up to its last position. Errors: GtpError when a move or the position is illegal."""
        before = self._start, self.moves, self.komi, self.rules
        self._start, self.moves, self.komi, self.rules, self._held = start, [*moves], komi, rules, False
        try:
            self.engine()
        except PositionError as error:
            self._start, self.moves, self.komi, self.rules = before
            self._held = False
            raise GtpError(str(error)) from error

    # ------------------------------------------------------------------ moving

    def play(self, colour: str, vertex: str) -> None:
        engine, move, handicap = self.engine(), Move(colour, vertex, skip=colour != self.turn), self.handicap
        with self._turned(engine, move.colour):
            try:
                engine.play(vertex)
            except PositionError as error:
                raise GtpError("illegal move") from error
            self.moves.append(move)
        self._held = self.handicap == handicap

    @contextmanager
    def to_move(self, colour: str) -> Iterator[GoEngine]:
        """The engine with that colour to move; afterwards the game is as it was."""
        engine = self.engine()
        with self._turned(engine, colour):
            yield engine

    @contextmanager
    def evened(self, colour: str, lead: float) -> Iterator[None]:
        """The game with a komi that takes a colour's lead away; afterwards it is as it was."""
        komi, given = self.komi, round(2 * lead) / 2 * (1 if colour == "b" else -1)
        self.komi, self._held = min(max(komi + given, -_MOST_KOMI), _MOST_KOMI), False
        try:
            yield
        finally:
            self.komi, self._held = komi, False

    @contextmanager
    def _turned(self, engine: GoEngine, colour: str) -> Iterator[None]:
        """Let ``colour`` be to move inside; undone at the end unless a move was made."""
        skip, made = colour != self.turn, len(self.moves)
        if skip:
            engine.play(SKIP)
        try:
            yield
        finally:
            if skip and len(self.moves) == made:
                engine.undo()

    def without_suicide(self, colour: str, moves: Sequence[str]) -> str:
        """The first of a colour's moves that leaves its stone on the board; pass when there is none.

        Some rule sets allow suicide, but most controllers and referees reject it, and it is rarely a good move.
        """
        with self.to_move(colour) as engine:
            for move in moves:
                if move == PASS:
                    return move
                engine.play(move)
                taken = self.board.stones[point(move, self.size)] == "."
                engine.undo()
                if not taken:
                    return move
        return PASS

    def undo(self) -> None:
        if not self.moves:
            raise GtpError("cannot undo")
        engine, handicap = self.engine(), self.handicap
        for _ in self.moves.pop().words:
            engine.undo()
        self._held = self.handicap == handicap

    # ------------------------------------------------------------------ the end

    @property
    def ended(self) -> bool:
        """Whether two passes have ended the game."""
        return self._passes > 1

    @property
    def passed(self) -> bool:
        """Whether another pass ends the game."""
        return self._passes > 0

    @property
    def _passes(self) -> int:
        """Passes in a row that count towards the end."""
        return int((self.engine().position or "").split()[_PASSES]) if self.moves else 0

    def dead(self, seconds: float = math.inf) -> list[frozenset[int]] | None:
        """Chains that the net thinks dead; None when the net has no ownership output. BLOCKS as ``engine.estimate``."""
        try:
            return self.engine().dead_chains(seconds)
        except NetError:
            return None

    def dead_in(self, estimate: Estimate | None) -> list[frozenset[int]] | None:
        """Chains that are dead by an estimate of the position; None when it tells no ownership."""
        if estimate is None or estimate.ownership is None:
            return None
        return territory().dead_chains(self._state, estimate.ownership, estimate.score)

    def chains(self) -> list[frozenset[int]]:
        """The chains of stones on the board, each as its points."""
        return territory().chains(self._state)

    def seki(self, dead: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        """The chains that live in seki."""
        return territory().seki(self._state, dead)

    def settled(self, colour: str, ownership: Sequence[float]) -> bool:
        """Whether only neutral points are left; ``ownership`` from the view of a colour."""
        return territory().settled(self._state, self._turned_to(colour, ownership))

    def dead_by(self, colour: str, ownership: Sequence[float]) -> list[frozenset[int]]:
        """Chains that are dead by an ownership from the view of a colour."""
        return territory().dead_chains(self._state, self._turned_to(colour, ownership))

    def _turned_to(self, colour: str, ownership: Sequence[float]) -> list[float]:
        same = (colour == "b") == (self._state["turn"] == 0)
        return [x if same else -x for x in ownership]

    def margin(self, dead: Sequence[frozenset[int]] = ()) -> float:
        """Black's lead in points on the present board, with the ``dead`` chains removed."""
        return territory().score(self._state, dead)[0]

    def over(self, colour: str, estimate: Estimate | None) -> bool:
        """Whether a colour may pass, by rules that count territory: every further move would cost it a point.

        Only neutral points are left, and the opponent's dead stones, two points each, do not change the winner.
        estimate: of the position, from the view of the colour.
        """
        if not self.rules.territory or estimate is None or estimate.ownership is None:
            return False
        if not self.settled(colour, estimate.ownership):
            return False
        dead = self.dead_by(colour, estimate.ownership)
        lead = self._lead(colour, dead)
        theirs = sum(len(points) for points in dead if not self._is_of(colour, points))
        return not 0 < lead <= 2 * theirs

    def sure_lead(self, colour: str, seconds: float) -> float:
        """Points by which a colour is sure to be ahead if the game ends now. BLOCKS as :meth:`dead`.

        Tromp-Taylor counts every stone as alive. By other rules the players take dead stones off: then the colour's
        own do not count, and the opponent's are not yet captured.
        """
        dead = (self.dead(seconds) or ()) if self.rules.agreed else ()
        return self._lead(colour, [points for points in dead if self._is_of(colour, points)])

    def moves_of_cleanup(self, colour: str, seconds: float) -> tuple[str, ...]:
        """A colour's moves but for the pass, while stones of the opponent are dead and not captured; else all: ().

        BLOCKS as :meth:`dead`.
        """
        dead = self.dead(seconds)
        captured = self._lead(colour) > 0 if dead is None else all(self._is_of(colour, points) for points in dead)
        return () if captured else tuple(move for move in self.engine().legal_moves() if move != PASS)

    def _is_of(self, colour: str, points: frozenset[int]) -> bool:
        return self.board.stones[min(points)] == STONES[colour]

    def _lead(self, colour: str, dead: Sequence[frozenset[int]] = ()) -> float:
        return self.margin(dead) * (1 if colour == "b" else -1)

    @property
    def _state(self) -> State:
        line, _ = get_game(f"go{self.size}").parse_position(self.engine().position or "")
        return line[0]  # type: ignore[no-any-return]
