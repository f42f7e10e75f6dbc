"""Reads CSA files (Computer Shogi Association, versions 1 to 3).

One statement in each line, or several with commas; "/" between games; ``'`` begins a remark. Shift-JIS, EUC or UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, get_args

from ....errors import AzError, DataError, IllegalMoveError, PositionError
from ....records.record import Ending, Reason, Record
from .. import notation
from ..state import BLACK, HELD, PROMOTED, SQUARES
from .moves import shown
from .reader import GameReader, read_games
from .replay import Replay, board_move, drop_move
from .words import CODES, CSA_ENDINGS, CSA_HEADERS, SETS

_START = notation.parse_sfen(notation.START)[0][0]
# The Floodgate server's remark with each side's result
_SUMMARY = re.compile(r"'summary:([^:]{1,40}):[^:]{0,99} (win|lose|draw):[^:]{0,99} (win|lose|draw)\s*")
_SUMMED: dict[str, Reason] = {
    "toryo": "resignation",
    "time up": "time",
    "time_up": "time",
    "sennichite": "repetition",
    "oute_sennichite": "perpetual check",
    "uchifuzume": "pawn drop mate",
    "illegal move": "illegal move",
    "illegal_move": "illegal move",
    "illegal kachi": "illegal move",
    "kachi": "declaration",
    "jishogi": "impasse",
    "max_moves": "maximum moves",
    "tsumi": "mate",
    "abnormal": "disconnection",
    "chudan": "interrupted",
}


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a file. Errors: DataError when there is none."""
    return read_games(stream, _CsaReader, "CSA")


class _CsaReader(GameReader):
    def __init__(self) -> None:
        super().__init__()
        self._behind = False  # something stands behind the end

    def is_new_game(self, line: str) -> bool:
        moved = self.draft.node is not self.draft.tree
        return line.rstrip() == "/" or (moved and re.match("V[0-9]|N[-+]|P[I1]", line) is not None)

    def take(self, number: int, line: str) -> None:
        draft = self.draft
        statements = line.split(",") if line[:1] in ("+", "-", "T", "%", "P") else [line]
        for i, statement in enumerate(map(str.strip, statements)):
            if statement in ("", "/"):
                continue
            try:
                if statement.startswith("'"):
                    self._remark(",".join(statements[i:]).strip())
                    return
                self.begun = True
                if draft.ended and (self._behind or statement[0] not in ("T$" if draft.node.end else "T$%")):
                    self._behind = True
                    draft.behind(f"line {number}", statement)
                elif statement.startswith("%"):
                    self._end(statement)
                elif not draft.dead:
                    self._state(statement)
                elif statement[:1] in ("+", "-") and statement[1:]:
                    draft.skip()
            except AzError as error:
                if not draft.dead:
                    draft.spoil(f"line {number}", error)

    def _remark(self, line: str) -> None:
        draft = self.draft
        if match := _SUMMARY.fullmatch(line):
            draft.tree.more["summary"] = (line.removeprefix("'summary:"),)
            self._sum_up(match[1], {"win": 1, "lose": -1, "draw": 0}[match[2]])
        elif match := re.fullmatch(r"'\$([^:]{1,40}):(.*)", line):
            draft.header(CSA_HEADERS.get(match[1], match[1]), match[2].strip())
        elif (match := re.fullmatch(r"'T([0-9]{1,9}(?:\.[0-9]{0,9})?)", line, re.ASCII)) and draft.node.move:
            draft.node.seconds = float(match[1])
        elif not re.match("'(CSA )?encoding=", line):
            text = re.sub(r"'\*?", "", line, count=1)
            begin = draft.node is draft.tree and re.match(r" +\*", text)  # see the writer's remarks
            draft.comment(text[1:] if begin else text)

    def _sum_up(self, word: str, result: int) -> None:
        """What the server says of the result: the reason, and the result where no statement tells it."""
        draft = self.draft
        reason = _SUMMED.get(word) or next((each for each in get_args(Reason) if each and each == word), "")
        if draft.dead and reason == "illegal move" and draft.offender is not None:
            draft.end(("illegal move", -1))
        if draft.dead:
            return
        ended = draft.result is not None
        if not ended or reason in ("perpetual check", "pawn drop mate", "maximum moves"):
            draft.end_for(reason or draft.reason, result if not ended else draft.result)
        elif draft.reason in ("", "interrupted") and reason:
            draft.reason = reason

    def _state(self, statement: str) -> None:
        kind, rest = statement[0], statement[1:]
        if kind in "+-":
            self._turn_or_move("+-".index(kind), rest)
        elif kind == "T":
            if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?|", rest, re.ASCII):
                raise DataError(f"{shown(statement)} is no time in seconds")
            if rest and self.draft.node is not self.draft.tree:
                self.draft.node.seconds = float(rest)
        elif kind == "P" and self.draft.replay is None:
            self._place(rest)
        elif kind == "N" and rest[:1] in ("+", "-"):
            self.draft.names["+-".index(rest[0])] = rest[1:].strip()
        elif kind == "$":
            key, _, value = rest.partition(":")
            self.draft.header(CSA_HEADERS.get(key, key), value.strip())
        elif kind != "V":
            raise DataError(f"{shown(statement)} is no CSA statement")

    def _place(self, rest: str) -> None:
        """A P statement without its P: the usual board (I), a rank (1 to 9), a side's pieces. Errors: PositionError."""
        board = self.board = self.board or [0] * SQUARES
        if rest[:1] == "I":
            board[:] = _START["board"].tolist()
            for file, rank, piece in self._pieces(rest[1:]):
                square = _square(file + rank)
                if board[square] & 15 != piece:
                    raise PositionError(f"there is no {CODES[piece - 1]} on {file}{rank} to take away")
                board[square] = 0
        elif re.fullmatch("[1-9]", rest[:1], re.ASCII):
            self._rank(int(rest[0]) - 1, rest[1:])
        elif rest[:1] in ("+", "-"):
            side = "+-".index(rest[0])
            if rest[1:] == "00AL":
                self._all_the_rest(side)
                return
            for file, rank, piece in self._pieces(rest[1:]):
                if file + rank != "00":
                    board[_square(file + rank)] = piece + 16 * side
                elif piece <= HELD:
                    self.hands[side][piece - 1] += 1
                else:
                    raise PositionError(f"{CODES[piece - 1]} is never in hand")
        else:
            raise PositionError(f"{shown('P' + rest)} is no part of a position")

    def _rank(self, rank: int, text: str) -> None:
        """A rank of the board; mail programs shorten the three characters of an empty square to two."""
        assert self.board is not None
        text = text.rstrip()
        if len(text) <= 27 and re.fullmatch(r"(?:[ 　]?\*[ ]?|[-+][A-Z]{2}|[ ]{3})*", text) and "*" in text:
            cells = re.findall(r"[-+][A-Z]{2}|\*", text)
            cells += ["*"] * (9 - len(cells))
        else:
            cells = [text[3 * column : 3 * column + 3] for column in range(9)]
        for column, cell in enumerate(cells[:9]):
            if cell.strip() in ("", "*"):
                piece = 0
            elif cell[0] in "+-" and cell[1:] in CODES:
                piece = CODES.index(cell[1:]) + 1 + 16 * "+-".index(cell[0])
            else:
                raise PositionError(f"{shown(cell)} in rank {rank + 1} is no piece")
            self.board[9 * (8 - column) + rank] = piece
        if len(text) > 27 or len(cells) > 9:
            raise PositionError(f"rank {rank + 1} has more than nine squares")

    def _pieces(self, text: str) -> list[tuple[str, str, int]]:
        """(file, rank, piece) of each of "82HI22KA". Errors: PositionError."""
        if not re.fullmatch(f"([0-9]{{2}}({'|'.join(CODES)}))*", text, re.ASCII):
            raise PositionError(f"{shown(text)} are no pieces on squares, such as 82HI22KA")
        return [(text[i], text[i + 1], CODES.index(text[i + 2 : i + 4]) + 1) for i in range(0, len(text), 4)]

    def _all_the_rest(self, side: int) -> None:
        """Put all remaining pieces into one hand."""
        assert self.board is not None
        for piece in range(1, HELD + 1):
            placed = sum(m & 15 in (piece, piece + PROMOTED) for m in self.board)
            left = SETS[piece - 1] - placed - self.hands[0][piece - 1] - self.hands[1][piece - 1]
            self.hands[side][piece - 1] += max(left, 0)

    def _turn_or_move(self, side: int, text: str) -> None:
        draft = self.draft
        if draft.replay is None:
            draft.settle()
            draft.start(self.board or _START["board"].tolist(), self.hands, side)
        if text:
            replay = draft.replay
            assert replay is not None
            try:
                draft.attempt("+-"[side] + text, partial(_move, replay, side, text))
            except PositionError as error:
                raise IllegalMoveError(f"{'+-'[side]}{text}: {error}") from error

    def _end(self, statement: str) -> None:
        draft = self.draft
        if draft.ended:  # a remark has said it
            return
        if draft.replay is None and not draft.dead:
            self._turn_or_move(BLACK, "")
        word = statement[1:]
        turn = BLACK if draft.replay is None else draft.replay.turn
        if word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION") and not draft.dead:
            draft.end(("illegal move", 1 if "+-".index(word[0]) != turn else -1))
            return
        bare = word.lstrip("+-")
        unknown: Ending = ("illegal move" if "ILLEGAL" in word else "", None)
        draft.end(CSA_ENDINGS.get(bare, unknown), CSA="" if bare == word in CSA_ENDINGS and word != "TSUMI" else word)


def _square(text: str) -> int:
    if "0" in text:
        raise PositionError(f"there is no square {text}")
    return 9 * (int(text[0]) - 1) + int(text[1]) - 1


def _move(replay: Replay, side: int, text: str) -> int:
    if not re.fullmatch(f"[0-9]{{4}}({'|'.join(CODES)})", text, re.ASCII):
        raise DataError(f"{shown('+-'[side] + text)} is no move such as +7776FU")
    if side != replay.turn:
        raise DataError(f"{'+-'[side]}{text} is a move of the side that is not to move")
    piece = CODES.index(text[4:]) + 1
    if text[:2] == "00":
        return drop_move(_square(text[2:4]), piece)
    return board_move(replay, _square(text[:2]), _square(text[2:4]), piece)
