"""A game on its way from a file to a :class:`Record`: what readers of CSA, KIF and KI2 have in common.

Every move is checked by the rules. What cannot be used ends the game with a sentence; a move that is said to have lost
the game as illegal is left out, and the game keeps its result.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from ...errors import DataError, IllegalMoveError
from ..factory import line_kernel
from ..outcome import DRAW, RUNNING
from ..record import MAX_BYTES, MAX_PLIES, Reason, Record
from . import notation, rules
from .planes import ENCODER
from .rules import DROPS, PROMOTES
from .state import BLACK, PROMOTED, STATE, State

_LONGEST = 1 << 16  # characters of a line
_MOST_REMARKS, _MOST_HEADERS = 10_000, 1000  # lines after one move, and of a game; the rest is not kept
Ending = tuple[Reason, int | None]  # why, and the points of the side to move (None = unknown)
_SHARPER = {("illegal move", "perpetual check"), ("resignation", "mate")}  # (as files have it, as the rules have it)


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file: UTF-8 or UTF-16 by their marks, else whichever of UTF-8, Shift-JIS, EUC reads best.

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
    """How many characters are those that text in a wrong encoding is full of: unreadable, half-width kana, controls."""
    return len(re.findall("[\ufffd\uff61-\uff9f\x80-\x9f]", text))


def shown(text: str) -> str:
    """A piece of the file for a message: short, without control characters."""
    text = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return repr(text if len(text) <= 40 else text[:37] + "...")


_play_in_line = line_kernel(rules.PLAY)


class Replay:
    """A game played move by move."""

    def __init__(self, root: State) -> None:
        """Begin at the last of State[n]."""
        self._line = np.empty(128, STATE)
        self._line[0] = root[-1]
        self.moves: list[int] = []

    @property
    def state(self) -> State:
        """The current position, State[]."""
        state: State = self._line[len(self.moves)]
        return state

    @property
    def turn(self) -> int:
        """BLACK or WHITE to move."""
        return int(self.state["turn"])

    def legal_moves(self) -> list[int]:
        """In the form of the engine."""
        end = len(self.moves)
        legal: list[int] = ENCODER.look(self._line[end : end + 1])[0].tolist()
        return legal

    def play(self, move: int) -> None:
        """Play a legal move. Errors: IllegalMoveError."""
        if move not in self.legal_moves():
            raise IllegalMoveError(f"{notation.format_usi(move)} is not legal in {notation.format_sfen(self.state)}")
        if len(self.moves) + 1 == len(self._line):
            self._line = np.concatenate([self._line, np.empty(len(self._line), STATE)])
        _play_in_line(self._line, len(self.moves), move)
        self.moves.append(move)

    def outcome(self) -> int:
        """Outcome code for the side to move, repetitions counted."""
        end = len(self.moves)
        return int(rules.verdict_kernel(self._line[end : end + 1], len(self.legal_moves())))


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
    """What has been read of a game so far."""

    replay: Replay | None = None
    root: str | None = None
    names: list[str] = field(default_factory=lambda: ["", ""])
    headers: dict[str, str] = field(default_factory=dict)
    comments: list[list[str]] = field(default_factory=lambda: [[]])
    times: list[float | None] = field(default_factory=list)
    result: int | None = None
    reason: Reason = ""
    ended: bool = False  # nothing but remarks can follow
    fault: str = ""
    offender: int | None = None  # the side whose last move was not legal, while nothing has followed it

    def start(self, board: list[int], hands: list[list[int]], turn: int) -> None:
        """Begin from a position: board i[81] and hands i[2][7] as in State. Errors: PositionError."""
        line = np.zeros(1, STATE)
        line["board"], line["hands"], line["turn"] = board, np.minimum(hands, 99), turn
        self.start_from(notation.format_sfen(line[0]))

    def start_from(self, sfen: str) -> None:
        """Begin from a SFEN. Errors: PositionError."""
        self.replay = Replay(notation.parse_sfen(sfen))
        self.root = None if sfen == notation.START else sfen

    def play(self, move: int) -> None:
        """Play a move. Errors: IllegalMoveError, DataError."""
        assert self.replay is not None
        if len(self.replay.moves) == MAX_PLIES:
            raise DataError(f"the game has more than {MAX_PLIES} moves")
        self.replay.play(move)
        self.comments.append([])
        self.times.append(None)

    def spoil(self, line: int, error: Exception) -> None:
        """Note why the rest of the game cannot be read."""
        self.fault = f"line {line}: {error}"
        if isinstance(error, IllegalMoveError) and self.replay is not None:
            self.offender = self.replay.turn

    def comment(self, text: str) -> None:
        """A remark on the last move."""
        if len(self.comments[-1]) < _MOST_REMARKS:
            self.comments[-1].append(text.rstrip())

    def header(self, name: str, value: str) -> None:
        """Something about the game, by its PGN name where it has one."""
        if value and len(self.headers) < _MOST_HEADERS:
            self.headers[name] = value

    def end(self, ending: Ending) -> None:
        """The game ended; the points are those of the side to move."""
        reason, points = ending
        if self.fault:
            if self.offender is not None and reason == "illegal move":
                self.fault = ""
                self.end_for(reason, -1 if self.offender == BLACK else 1)
            return
        turn = BLACK if self.replay is None else self.replay.turn
        self.end_for(reason, points if points is None or turn == BLACK else -points)

    def end_for(self, reason: Reason, result: int | None) -> None:
        """The game ended; the result is black's."""
        self.reason, self.result, self.ended = reason, result, True

    def record(self) -> Record:
        """What became of it; where the text leaves it open, the rules tell the result."""
        replay = self.replay or Replay(notation.parse_sfen(notation.START))
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


def _by_rules(replay: Replay) -> tuple[Reason, int] | None:
    """Why the game is over and black's result; None while it goes on."""
    code = replay.outcome()
    if code == RUNNING:
        return None
    result = code if replay.turn == BLACK else -code
    if code == DRAW:
        return "repetition", result
    return ("perpetual check" if replay.legal_moves() else "mate"), result
