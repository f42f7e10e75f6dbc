"""Reads and writes CSA files (Computer Shogi Association, version 2.2, and the parts of version 3 that games need).

One statement in each line, or several with commas; "/" between games; ``'`` begins a remark. Shift-JIS, EUC or UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from ...errors import AzError, DataError, IllegalMoveError, PositionError
from ..record import Record, RecordFormat
from . import notation
from .draft import (
    Ending,
    GameReader,
    Replay,
    board_move,
    drop_move,
    headers_of,
    one_line,
    read_games,
    remarks_on,
    shown,
)
from .rules import DROPS
from .state import BLACK, HELD, PROMOTED, SQUARES

MEN = ("FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY")  # man - 1
SETS = (18, 4, 4, 4, 2, 2, 4)  # of each of the first seven
HEADERS = {
    "EVENT": "Event",
    "SITE": "Site",
    "START_TIME": "Date",
    "END_TIME": "EndDate",
    "TIME_LIMIT": "TimeControl",
    "OPENING": "Opening",
}
ENDINGS: dict[str, Ending] = {
    "TORYO": ("resignation", -1),
    "TSUMI": ("mate", -1),
    "TIME_UP": ("time", -1),
    "ILLEGAL_MOVE": ("illegal move", -1),
    "SENNICHITE": ("repetition", 0),
    "OUTE_SENNICHITE": ("repetition", None),
    "KACHI": ("declaration", 1),
    "JISHOGI": ("impasse", 0),
    "HIKIWAKE": ("impasse", 0),
    "MAX_MOVES": ("maximum moves", 0),
    "CHUDAN": ("interrupted", None),
    "MATTA": ("interrupted", None),
    "ERROR": ("interrupted", None),
    "FUZUMI": ("", None),
}
_START = notation.parse_sfen(notation.START)[0][0]
# The Floodgate server's remark with each side's result
_SUMMARY = re.compile(r"'summary:[^:]{1,40}:[^:]{0,99} (win|lose|draw):[^:]{0,99} (win|lose|draw)\s*")


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a file. Errors: DataError when there is none."""
    return read_games(stream, _CsaReader, "CSA")


class _CsaReader(GameReader):
    def ends_before(self, line: str) -> bool:
        return line.rstrip() == "/"

    def take(self, number: int, line: str) -> None:
        draft = self.draft
        if line.startswith("'"):
            self._remark(line)
            return
        statements = line.split(",") if line[:1] in ("+", "-", "T", "%", "P") else [line]
        for statement in map(str.strip, statements):
            if statement in ("", "/"):
                continue
            self.begun = True
            try:
                if statement.startswith("%"):
                    self._end(statement)
                elif not draft.fault and not draft.ended:
                    self._state(statement)
                elif statement[:1] in ("+", "-"):
                    draft.offender = None
            except AzError as error:
                if not draft.fault:
                    draft.spoil(number, error)

    def _remark(self, line: str) -> None:
        found = _SUMMARY.fullmatch(line)
        if found and self.draft.result is None and not self.draft.fault:
            self.draft.end_for(self.draft.reason, {"win": 1, "lose": -1, "draw": 0}[found[1]])
        elif not found and not re.match("'(CSA )?encoding=", line):
            self.draft.comment(re.sub(r"'\*?", "", line, count=1))

    def _state(self, statement: str) -> None:
        kind, rest = statement[0], statement[1:]
        if kind in "+-":
            self._turn_or_move("+-".index(kind), rest)
        elif kind == "T":
            if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", rest, re.ASCII):
                raise DataError(f"{shown(statement)} is no time in seconds")
            if self.draft.times:
                self.draft.times[-1] = float(rest)
        elif kind == "P" and self.draft.replay is None:
            self._place(rest)
        elif kind == "N" and rest[:1] in ("+", "-"):
            self.draft.names["+-".index(rest[0])] = rest[1:].strip()
        elif kind == "$":
            key, _, value = rest.partition(":")
            self.draft.header(HEADERS.get(key, key), value.strip())
        elif kind != "V":
            raise DataError(f"{shown(statement)} is no CSA statement")

    def _place(self, rest: str) -> None:
        """A P statement without its P: the usual board (I), a rank (1 to 9), one side's men. Errors: PositionError."""
        board = self.board = self.board or [0] * SQUARES
        if rest[:1] == "I":
            board[:] = _START["board"].tolist()
            for file, rank, man in self._men(rest[1:]):
                square = _square(file + rank)
                if board[square] & 15 != man:
                    raise PositionError(f"there is no {MEN[man - 1]} on {file}{rank} to take away")
                board[square] = 0
        elif re.fullmatch("[1-9]", rest[:1], re.ASCII):
            self._rank(int(rest[0]) - 1, rest[1:])
        elif rest[:1] in ("+", "-"):
            side = "+-".index(rest[0])
            if rest[1:] == "00AL":
                self._all_the_rest(side)
                return
            for file, rank, man in self._men(rest[1:]):
                if file + rank != "00":
                    board[_square(file + rank)] = man + 16 * side
                elif man <= HELD:
                    self.hands[side][man - 1] += 1
                else:
                    raise PositionError(f"{MEN[man - 1]} is never in hand")
        else:
            raise PositionError(f"{shown('P' + rest)} is no part of a position")

    def _rank(self, rank: int, text: str) -> None:
        assert self.board is not None
        text = text.rstrip()
        for column in range(9):
            cell = text[3 * column : 3 * column + 3]
            if cell.strip() in ("", "*"):
                man = 0
            elif cell[0] in "+-" and cell[1:] in MEN:
                man = MEN.index(cell[1:]) + 1 + 16 * "+-".index(cell[0])
            else:
                raise PositionError(f"{shown(cell)} in rank {rank + 1} is no man")
            self.board[9 * (8 - column) + rank] = man
        if len(text) > 27:
            raise PositionError(f"rank {rank + 1} has more than nine squares")

    def _men(self, text: str) -> list[tuple[str, str, int]]:
        """(file, rank, man) of each of "82HI22KA". Errors: PositionError."""
        if not re.fullmatch(f"([0-9]{{2}}({'|'.join(MEN)}))*", text, re.ASCII):
            raise PositionError(f"{shown(text)} are no men on squares, such as 82HI22KA")
        return [(text[i], text[i + 1], MEN.index(text[i + 2 : i + 4]) + 1) for i in range(0, len(text), 4)]

    def _all_the_rest(self, side: int) -> None:
        """Put all remaining men into one hand."""
        assert self.board is not None
        for man in range(1, HELD + 1):
            placed = sum(m & 15 in (man, man + PROMOTED) for m in self.board)
            left = SETS[man - 1] - placed - self.hands[0][man - 1] - self.hands[1][man - 1]
            self.hands[side][man - 1] += max(left, 0)

    def _turn_or_move(self, side: int, text: str) -> None:
        if self.draft.replay is None:
            self.draft.start(self.board or _START["board"].tolist(), self.hands, side)
        if text:
            replay = self.draft.replay
            assert replay is not None
            try:
                self.draft.play(_move(replay, side, text))
            except PositionError as error:
                raise IllegalMoveError(f"{'+-'[side]}{text}: {error}") from error

    def _end(self, statement: str) -> None:
        draft = self.draft
        if draft.ended:
            return
        if draft.replay is None and not draft.fault:
            self._turn_or_move(BLACK, "")
        word = statement[1:]
        if word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION") and not draft.fault:
            draft.end_for("illegal move", 1 if word[0] == "-" else -1)
        else:
            draft.end(ENDINGS.get(word.lstrip("+-"), ("illegal move" if "ILLEGAL" in word else "", None)))


def _square(text: str) -> int:
    if "0" in text:
        raise PositionError(f"there is no square {text}")
    return 9 * (int(text[0]) - 1) + int(text[1]) - 1


def _move(replay: Replay, side: int, text: str) -> int:
    if not re.fullmatch(f"[0-9]{{4}}({'|'.join(MEN)})", text, re.ASCII):
        raise DataError(f"{shown('+-'[side] + text)} is no move such as +7776FU")
    if side != replay.turn:
        raise DataError(f"{'+-'[side]}{text} is a move of the side that is not to move")
    man = MEN.index(text[4:]) + 1
    if text[:2] == "00":
        return drop_move(_square(text[2:4]), man)
    return board_move(replay, _square(text[:2]), _square(text[2:4]), man)


# ---- writing


def write(record: Record) -> str:
    """One game as CSA 2.2, in UTF-8 (which its first line says). Errors: PositionError."""
    replay = Replay(notation.parse_sfen(record.root or notation.START)[0])
    lines = ["'CSA encoding=UTF-8", "V2.2"]
    lines += [f"N{sign}{one_line(name)}" for sign, name in zip("+-", record.names, strict=True) if name]
    keys = {ours: theirs for theirs, ours in HEADERS.items()}
    for name, text in headers_of(record):
        fits = name in keys and (name != "TimeControl" or re.fullmatch(r"\d+:\d\d\+\d+", text))
        lines.append(f"${keys[name]}:{text}" if fits else f"'{one_line(name)}: {text}")
    lines += _position(replay)
    lines += _remarks(record, 0)
    for i, move in enumerate(record.moves):
        sign, code = "+-"[replay.turn], notation.parse_usi(replay.state, move, replay.legal_moves())
        replay.play(code)
        to, source = code & 127, code >> 7 & 127
        origin = "00" if source >= DROPS else _name(source)
        lines.append(f"{sign}{origin}{_name(to)}{MEN[(int(replay.state['board'][to]) & 15) - 1]}")
        if i < len(record.times) and (seconds := record.times[i]) is not None:
            lines.append(f"T{int(seconds)}")
        lines += _remarks(record, i + 1)
    return "\n".join([*lines, *_ending(record, replay.turn)]) + "\n"


def _name(square: int) -> str:
    return f"{square // 9 + 1}{square % 9 + 1}"


def _remarks(record: Record, i: int) -> list[str]:
    # "'** " before the first move, where engines' remarks on moves cannot be, makes a widely used reader crash
    return [f"'*{' ' * (i == 0 and line.startswith('*'))}{line}" for line in remarks_on(record, i)]


def _position(replay: Replay) -> list[str]:
    state = replay.state
    lines = []
    if (state["board"] == _START["board"]).all() and not state["hands"].any():
        lines.append("PI")
    else:
        for rank in range(9):
            men = [int(state["board"][9 * file + rank]) for file in range(8, -1, -1)]
            cells = [f"{'+-'[man >> 4]}{MEN[(man & 15) - 1]}" if man else " * " for man in men]
            lines.append(f"P{rank + 1}{''.join(cells)}")
        for side in range(2):
            held = "".join(f"00{MEN[kind]}" * int(state["hands"][side][kind]) for kind in range(HELD))
            lines += [f"P{'+-'[side]}{held}"] if held else []
    return [*lines, "+-"[replay.turn]]


def _ending(record: Record, turn: int) -> list[str]:
    """The statement of how the game ended; a result without a statement goes into a remark."""
    if record.result is None:
        return ["%CHUDAN"]
    points = record.result if turn == BLACK else -record.result
    for word, ending in ENDINGS.items():
        if ending == (record.reason, points) and word != "TSUMI":  # some readers take it for a draw
            return [f"%{word}"]
    if record.reason in ("illegal move", "perpetual check") and record.result:
        return ["%-ILLEGAL_ACTION" if record.result > 0 else "%+ILLEGAL_ACTION"]
    if points < 0:
        return ["%TORYO"]
    if points == 0:
        return ["%HIKIWAKE"]
    words = ("win", "lose") if record.result > 0 else ("lose", "win")
    names = [one_line(name).replace(":", " ")[:60].strip() or "?" for name in record.names]
    sides = ":".join(f"{name} {word}" for name, word in zip(names, words, strict=True))
    return [f"'summary:{record.reason or 'end'}:{sides}"]


FORMAT = RecordFormat("CSA", (".csa",), read, write, "/\n")
