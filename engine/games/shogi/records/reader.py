"""What the readers of CSA, KIF, KI2 and JKF share: a draft of the record that grows move by move.

The rules check every move; a fault ends a line, and one sentence says why. A move that lost the game because it is
illegal stays in the tree, marked, and the game keeps its result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from ....errors import DataError, IllegalMoveError, PositionError, counted
from ....records.formats import MAX_PLIES
from ....records.record import ILLEGAL, Ending, Node, Reason, Record
from ....records.text import decode_japanese, lines_of, read_whole
from ...outcome import DRAW, RUNNING
from .. import notation
from ..state import BLACK, HELD, STATE
from .replay import Replay

_LONGEST = 1 << 16  # characters of a line
_MOST_HEADERS = 1000  # lines of a game
_MOST_FAULTS = 3  # of a game, that are told one by one
_SHARPER = {("illegal move", "perpetual check"), ("resignation", "mate")}  # (as files have it, as the rules have it)


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file. Errors: DataError when the file or a line is too long."""
    for number, line in enumerate(lines_of(decode_japanese(read_whole(stream)).removeprefix("\ufeff")), 1):
        if len(line) >= _LONGEST:
            raise DataError(f"line {number} is longer than any can be")
        yield number, line


@dataclass(slots=True)
class Draft:
    """The part of a game read so far."""

    replay: Replay | None = None
    tree: Node = field(default_factory=Node)
    path: list[Node] = field(default_factory=list)  # of the line that is read; path[i] stands after i moves
    names: list[str] = field(default_factory=lambda: ["", ""])
    headers: dict[str, str] = field(default_factory=dict)
    result: int | None = None
    reason: Reason = ""
    ended: bool = False  # the line that is read: only remarks can follow
    varying: bool = False  # a variation is read
    fresh: bool = False  # no move of it so far
    fault: str = ""  # of the main line
    faults: list[str] = field(default_factory=list)  # of variations
    note: str = ""  # the first thing behind an end
    dead: bool = False  # the rest of the line is not read
    offender: int | None = None  # the side whose last move was not legal, while nothing has followed it
    _cut: list[int] = field(default_factory=lambda: [0, 0])  # moves and remarks behind the fault of the line
    _comments: list[str] = field(default_factory=list)
    _turn: int = BLACK  # the side to move at the end of the main line

    def __post_init__(self) -> None:
        self.path = [self.tree]

    def start(self, board: list[int], hands: list[list[int]], turn: int) -> None:
        """Begin from a position: board i[81] and hands i[2][7] as in State. Errors: PositionError."""
        line = np.zeros(1, STATE)
        line["board"], line["hands"], line["turn"] = board, np.minimum(hands, 99), turn
        self.start_from(notation.format_sfen(line[0]))

    def start_from(self, sfen: str) -> None:
        self.replay = Replay.of(sfen)
        self.tree.position = None if sfen == notation.START else sfen

    @property
    def node(self) -> Node:
        """What was read last."""
        return self.path[-1]

    def play(self, move: int) -> None:
        """Play a move; one that the rules refuse stays in the tree, marked. Errors: IllegalMoveError, DataError."""
        assert self.replay is not None
        if len(self.replay.moves) == MAX_PLIES:
            raise DataError(f"the game has more than {MAX_PLIES} moves")
        try:
            self.replay.play(move)
        except IllegalMoveError:
            self._append(Node(notation.format_usi(move), more={ILLEGAL: ()}))
            raise
        self._append(Node(notation.format_usi(move)))

    def attempt(self, text: str, parse: Callable[[], int]) -> None:
        """Play what a text says; keep the text where it means no move of this position. Errors: AzError."""
        try:
            move = parse()
        except PositionError:
            self._append(Node(more={ILLEGAL: (text,)}))
            raise
        self.play(move)

    def _append(self, node: Node) -> None:
        if self.fresh:
            node.before = "\n".join(self._comments)
            self._comments.clear()
        self.fresh = False
        self.settle()
        self.path.append(self.node.add(node))

    def settle(self) -> None:
        """Put the remarks that were read where they belong."""
        if self._comments:
            self.node.comment = "\n".join(filter(None, [self.node.comment, "\n".join(self._comments)]))
            self._comments.clear()

    def vary(self, ply: int) -> None:
        """Begin a variation in place of the move number ``ply`` >= 1 of the line that is read. Errors: DataError."""
        self.settle()
        self._close()
        self._tell_cut()
        self.varying, self.fresh, self.ended, self.dead, self.offender = True, False, False, False, None
        if not 1 <= ply <= len(self.path) or self.replay is None:
            self.dead = True
            raise DataError(f"a variation begins at move {ply}, before which there is no line")
        del self.path[ply:]
        if ILLEGAL in self.node.more or self.node.end is not None:
            self.dead = True
            raise DataError("a variation begins where the game has ended")
        self.replay.back_to(ply - 1)
        self.fresh = True

    def spoil(self, place: str, error: Exception) -> None:
        """The rest of the line cannot be read; place: such as "line 3"."""
        self.dead = True
        if self.varying:
            self.faults.append(f"{place}, in a variation: {error}")
            return
        self.fault = f"{place}: {error}"
        if isinstance(error, IllegalMoveError) and self.replay is not None:
            self.offender = self.replay.turn

    def skip(self, moves: int = 1, remarks: int = 0) -> None:
        """Leave out what stands behind a fault."""
        self._cut = [self._cut[0] + moves, self._cut[1] + remarks]
        self.offender = None

    def _tell_cut(self) -> None:
        """Add to the fault of a line what has followed it, once it is read."""
        counts = ", ".join(counted(n, noun) for n, noun in zip(self._cut, ("move", "comment"), strict=True) if n)
        if self.dead and counts:
            told = f"; what follows is left out ({counts})"
            if self.varying:
                self.faults[-1] += told
            else:
                self.fault += told
        self._cut = [0, 0]

    def comment(self, text: str) -> None:
        self._comments.append(text.rstrip())
        self._cut[1] += self.dead and not self.varying and ILLEGAL in self.node.more

    def behind(self, place: str, text: str) -> None:
        """Keep what stands behind the end of its line as a comment; place: such as "line 3"."""
        self.comment(text)
        line = "the variation" if self.varying else "the game"
        self.note = self.note or f"{place}: {line} has ended; what stands behind is kept as comments"

    def header(self, name: str, value: str) -> None:
        """Set a header, by its PGN name where it has one."""
        if value and len(self.headers) < _MOST_HEADERS:
            known = self.headers.get(name)
            self.headers[name] = value if known in (None, value) else f"{known}; {value}"

    def end(self, ending: Ending, **more: str) -> None:
        """End the line; the points are those of the side to move. more: what the format says beyond."""
        reason, points = ending
        if self.dead:
            if self.offender is None or reason not in ("illegal move", "pawn drop mate"):
                return
            self.fault, self.dead, self._cut = "", False, [0, 0]
            loser, self.offender = self.offender, None
            self.end_for(reason, -1 if loser == BLACK else 1)
            if points == 1 and not self.node.move:  # the move is a remark where formats have no word for it
                more = {}
            ending = reason, -1  # whoever says it: the move was not played, its side is the one to move
        elif not self.varying:
            turn = BLACK if self.replay is None else self.replay.turn
            self.end_for(reason, points if points is None or turn == BLACK else -points)
        self._append(Node(end=ending, more={name: (word,) for name, word in more.items() if word}))
        self.ended = True

    def end_for(self, reason: Reason, result: int | None) -> None:
        """End the game; the result is black's."""
        self.reason, self.result, self.ended = reason, result, True

    def record(self) -> Record:
        """The record; without a result in the text, the rules decide it."""
        self.settle()
        self._close()
        self._tell_cut()
        if self.fault:
            self.result, self.reason = None, ""
            _drop_illegal(self.tree)
        _drop_end(self.tree, usual_end(self.reason, self.result, self._turn))
        faults = [self.fault] * bool(self.fault) + self.faults
        more = len(faults) - _MOST_FAULTS
        fault = "; ".join(faults[:_MOST_FAULTS] + [f"and {counted(more, 'more fault')}"] * (more > 0))
        names = (self.names[0], self.names[1])
        return Record(self.tree, self.result, self.reason, None, names, self.headers, fault, self.note)

    def _close(self) -> None:
        """See by the rules how the main line ends, once it is read."""
        if self.varying:
            return
        replay = self.replay or Replay.of(None)
        self._turn = replay.turn
        ruled = by_rules(replay)
        if self.fault or ruled is None:
            return
        if self.reason == "repetition" or (not self.reason and self.result is None):
            self.reason, self.result = ruled
        elif self.result == ruled[1] and (self.reason, ruled[0]) in _SHARPER:
            self.reason = ruled[0]


def usual_end(reason: Reason, result: int | None, turn: int) -> Ending | None:
    """How a record's reason and result are written at the end of its main line; None where nothing is known."""
    if result is None and not reason:
        return None
    return reason, result if result is None or turn == BLACK else -result


def end_of(record: Record) -> Ending | None:
    """How the main line of a record ends: as its last node says, else as the record does."""
    line = list(record.tree.line())
    moves = sum(bool(node.move) and ILLEGAL not in node.more for node in line)
    turn = (Replay.of(record.tree.position).turn + moves) % 2
    return line[-1].end or usual_end(record.reason, record.result, turn)


def _drop_end(tree: Node, usual: Ending | None) -> None:
    """Take off an end of the main line that says no more than the record does."""
    before, last = tree, tree
    for node in tree.line():
        before, last = last, node
    if last.end is not None and last.bare and last.end == usual and len(before.children) == 1:
        before.children.clear()


def _drop_illegal(tree: Node) -> None:
    """Take off the illegal moves of a damaged main line."""
    for node in tree.line():
        if node.children and ILLEGAL in node.children[0].more:
            del node.children[0]
            return


class GameReader(ABC):
    """One game on its way from the lines of a file to a record."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.begun = False
        self.board: list[int] | None = None  # the position as far as it has been described
        self.hands = [[0] * HELD, [0] * HELD]

    @abstractmethod
    def is_new_game(self, line: str) -> bool:
        """Whether the game is over and the line belongs to the next one."""

    @abstractmethod
    def take(self, number: int, line: str) -> None:
        """Read a line; a fault in it ends the game, or the variation."""

    def record(self) -> Record:
        """The game as far as it has been read."""
        return self.draft.record()


def read_games(stream: BinaryIO, make_reader: Callable[[], GameReader], kind: str) -> Iterator[Record]:
    """The games of a file. Errors: DataError when there is none."""
    reader, count = make_reader(), 0
    for number, line in read_lines(stream):
        if reader.is_new_game(line):
            if reader.begun:
                count += 1
                yield reader.record()
            reader = make_reader()
        reader.take(number, line)
    if reader.begun:
        yield reader.record()
    elif not count:
        raise DataError(f"there is no {kind} game in it")


def by_rules(replay: Replay) -> tuple[Reason, int] | None:
    """Why the game is over and black's result; None while it goes on."""
    code = replay.outcome()
    if code == RUNNING:
        return None
    result = code if replay.turn == BLACK else -code
    if code == DRAW:
        return "repetition", result
    return ("perpetual check" if replay.legal_moves() else "mate"), result
