"""What the readers of CSA, KIF and KI2 share: lines in any encoding, the replay of the moves, the draft of a record.

The rules check every move; a fault ends the game, and one sentence says why. A move that lost the game because it is
illegal is left out, and the game keeps its result.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from ...errors import DataError, IllegalMoveError
from ..factory import line_kernel
from ..outcome import DRAW, RUNNING
from ..record import MAX_BYTES, MAX_PLIES, Reason, Record
from . import endings, notation, rules
from .planes import ENCODER
from .rules import DROPS, PROMOTES
from .state import BLACK, HELD, PROMOTED, STATE, State

_LONGEST = 1 << 16  # characters of a line
_MOST_REMARKS, _MOST_HEADERS = 10_000, 1000  # lines after one move, and of a game; further ones are dropped
Ending = tuple[Reason, int | None]  # why, and the points of the side to move (None = unknown)
_SHARPER = {("illegal move", "perpetual check"), ("resignation", "mate")}  # (as files have it, as the rules have it)


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file: UTF-8 or UTF-16 by their marks, else the best fit of UTF-8, Shift-JIS and EUC.

    Errors: DataError when the file or a line is too long.
    """
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DataError(f"it is larger than {MAX_BYTES >> 20} MiB; split it")
    lines = io.TextIOWrapper(io.BytesIO(data), _encoding(data), "replace")
    number = 0
    while line := lines.readline(_LONGEST):
        number += 1
        if len(line) == _LONGEST:
            raise DataError(f"line {number} is longer than any can be")
        yield number, line.rstrip("\n")


def _encoding(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    foreign = re.search(rb"[\x80-\xff]", data)
    sample = data[foreign.start() :][:_LONGEST] if foreign else b""
    return min(("utf-8-sig", "cp932", "euc_jp"), key=lambda encoding: _oddity(sample.decode(encoding, "replace")))


def _oddity(text: str) -> int:
    """Number of characters typical of a wrong encoding: unreadable ones, half-width kana, controls."""
    return len(re.findall("[\ufffd\uff61-\uff9f\x80-\x9f]", text))


def shown(text: str) -> str:
    """A piece of the file for a message, short and printable."""
    text = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return repr(text if len(text) <= 40 else text[:37] + "...")


_play_in_line = line_kernel(rules.PLAY)


class Replay:
    """A game played move by move."""

    def __init__(self, root: State) -> None:
        self._line = np.empty(128, STATE)
        self._line[0] = root[-1]
        self.moves: list[int] = []

    @property
    def state(self) -> State:
        state: State = self._line[len(self.moves)]
        return state

    @property
    def turn(self) -> int:
        return int(self.state["turn"])

    def legal_moves(self) -> list[int]:
        end = len(self.moves)
        legal: list[int] = ENCODER.look(self._line[end : end + 1])[0].tolist()
        return legal

    def play(self, move: int) -> None:
        if move not in self.legal_moves():
            raise IllegalMoveError(f"{notation.format_usi(move)} is not legal in {notation.format_sfen(self.state)}")
        if len(self.moves) + 1 == len(self._line):
            self._line = np.concatenate([self._line, np.empty(len(self._line), STATE)])
        _play_in_line(self._line, len(self.moves), move)
        self.moves.append(move)

    def outcome(self) -> int:
        """Outcome code for the side to move, repetitions counted."""
        end = len(self.moves)
        return int(endings.verdict_kernel(self._line[end : end + 1], len(self.legal_moves())))


def last_target(replay: Replay) -> int | None:
    """The square that the last move went to, None when there was none."""
    return replay.moves[-1] & 127 if replay.moves else None


def board_move(replay: Replay, source: int, to: int, man: int) -> int:
    """The move from ``source`` that leaves ``man`` (without colour) on ``to``. Errors: IllegalMoveError."""
    before = int(replay.state["board"][source])
    own = before and (before > 16) == (replay.turn != BLACK)
    if own and before & 15 == man:
        return to + (source << 7)
    if own and (before & 15) + PROMOTED == man:
        return to + (source << 7) + PROMOTES
    raise IllegalMoveError(f"no such man can move there in {notation.format_sfen(replay.state)}")


def drop_move(to: int, man: int) -> int:
    """The drop of ``man`` on ``to``. Errors: IllegalMoveError for a man that is never in hand."""
    if not 1 <= man <= 7:
        raise IllegalMoveError("such a man is never in hand")
    return to + ((DROPS + man - 1) << 7)


@dataclass(slots=True)
class Draft:
    """The part of a game read so far."""

    replay: Replay | None = None
    root: str | None = None
    names: list[str] = field(default_factory=lambda: ["", ""])
    headers: dict[str, str] = field(default_factory=dict)
    comments: list[list[str]] = field(default_factory=lambda: [[]])
    times: list[float | None] = field(default_factory=list)
    result: int | None = None
    reason: Reason = ""
    ended: bool = False  # only remarks can follow
    fault: str = ""
    offender: int | None = None  # the side whose last move was not legal, while nothing has followed it

    def start(self, board: list[int], hands: list[list[int]], turn: int) -> None:
        """Begin from a position: board i[81] and hands i[2][7] as in State. Errors: PositionError."""
        line = np.zeros(1, STATE)
        line["board"], line["hands"], line["turn"] = board, np.minimum(hands, 99), turn
        self.start_from(notation.format_sfen(line[0]))

    def start_from(self, sfen: str) -> None:
        self.replay = Replay(notation.parse_sfen(sfen)[0])
        self.root = None if sfen == notation.START else sfen

    def play(self, move: int) -> None:
        assert self.replay is not None
        if len(self.replay.moves) == MAX_PLIES:
            raise DataError(f"the game has more than {MAX_PLIES} moves")
        self.replay.play(move)
        self.comments.append([])
        self.times.append(None)

    def spoil(self, line: int, error: Exception) -> None:
        self.fault = f"line {line}: {error}"
        if isinstance(error, IllegalMoveError) and self.replay is not None:
            self.offender = self.replay.turn

    def comment(self, text: str) -> None:
        if len(self.comments[-1]) < _MOST_REMARKS:
            self.comments[-1].append(text.rstrip())

    def header(self, name: str, value: str) -> None:
        """Set a header, by its PGN name where it has one."""
        if value and len(self.headers) < _MOST_HEADERS:
            self.headers[name] = value

    def end(self, ending: Ending) -> None:
        """End the game; the points are those of the side to move."""
        reason, points = ending
        if self.fault:
            if self.offender is not None and reason == "illegal move":
                self.fault = ""
                self.end_for(reason, -1 if self.offender == BLACK else 1)
            return
        turn = BLACK if self.replay is None else self.replay.turn
        self.end_for(reason, points if points is None or turn == BLACK else -points)

    def end_for(self, reason: Reason, result: int | None) -> None:
        """End the game; the result is black's."""
        self.reason, self.result, self.ended = reason, result, True

    def record(self) -> Record:
        """The record; without a result in the text, the rules decide it."""
        replay = self.replay or Replay(notation.parse_sfen(notation.START)[0])
        if not self.fault and (ruled := _by_rules(replay)) is not None:
            if self.reason == "repetition" or (not self.reason and self.result is None):
                self.reason, self.result = ruled
            elif self.result == ruled[1] and (self.reason, ruled[0]) in _SHARPER:
                self.reason = ruled[0]
        return Record(
            moves=tuple(map(notation.format_usi, replay.moves)),
            root=self.root,
            result=None if self.fault else self.result,
            reason="" if self.fault else self.reason,
            names=(self.names[0], self.names[1]),
            times=tuple(self.times) if any(t is not None for t in self.times) else (),
            comments=tuple("\n".join(lines) for lines in self.comments) if any(self.comments) else (),
            headers=self.headers,
            fault=self.fault,
        )


class GameReader(ABC):
    """One game on its way from the lines of a file to a record."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.begun = False
        self.board: list[int] | None = None  # the position as far as it has been described
        self.hands = [[0] * HELD, [0] * HELD]

    @abstractmethod
    def ends_before(self, line: str) -> bool:
        """Whether the game is over and the line belongs to the next one."""

    @abstractmethod
    def take(self, number: int, line: str) -> None:
        """Read a line; a fault in it ends the game."""

    def record(self) -> Record:
        """The game as far as it has been read."""
        return self.draft.record()


def read_games(stream: BinaryIO, make_reader: Callable[[], GameReader], kind: str) -> Iterator[Record]:
    """The games of a file. Errors: DataError when there is none."""
    reader, count = make_reader(), 0
    for number, line in read_lines(stream):
        if reader.ends_before(line):
            if reader.begun:
                count += 1
                yield reader.record()
            reader = make_reader()
        reader.take(number, line)
    if reader.begun:
        yield reader.record()
    elif not count:
        raise DataError(f"there is no {kind} game in it")


def one_line(text: str) -> str:
    """A text for a header, without line breaks."""
    return " ".join(text.split())


def headers_of(record: Record) -> Iterator[tuple[str, str]]:
    """A record's headers by name, one line each, dates with slashes as in Japanese files."""
    for name, value in record.headers.items():
        text = one_line(value)
        yield name, re.sub(r"^(\d{4})[.-](\d\d)[.-](\d\d)", r"\1/\2/\3", text) if name == "Date" else text


def remarks_on(record: Record, i: int) -> list[str]:
    """The lines of the comment after i moves."""
    return record.comments[i].splitlines() if i < len(record.comments) else []


def _by_rules(replay: Replay) -> tuple[Reason, int] | None:
    """Why the game is over and black's result; None while it goes on."""
    code = replay.outcome()
    if code == RUNNING:
        return None
    result = code if replay.turn == BLACK else -code
    if code == DRAW:
        return "repetition", result
    return ("perpetual check" if replay.legal_moves() else "mate"), result
