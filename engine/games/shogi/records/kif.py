"""Reads KIF and KI2 files.

Headers, a board diagram if the game begins from a special position, then one numbered move in each line (KIF) or moves
after ``▲`` and ``△`` without their origins (KI2); a variation goes back to move N of the line before it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from ....errors import AzError, DataError, IllegalMoveError, PositionError
from ....records.record import Ending, Node, Reason, Record
from .. import notation
from ..state import BLACK, HELD, SQUARES
from . import moves
from .moves import shown
from .reader import Draft, GameReader, read_games
from .words import HANDICAPS, KIF_ENDINGS, KIF_HEADERS, NUMBER_OF, PIECE_OF, PLAYERS, RANKS, word_of

_NUMBERED = re.compile(r"\s*([0-9０-９]{1,9})\s+(\S.*)", re.DOTALL)
_MOVE = re.compile("[1-9１-９▲△▼▽☗☖]|同")
_SIDED = re.compile(r"\s*[▲△▼▽☗☖]")  # moves of KI2
_TIME = re.compile(r"\(\s*((?:[0-9]{1,6}:){1,2}[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?:/[^()]*)?\)", re.ASCII)
_SUMMARY = re.compile(r"\s*まで、?\s*[0-9０-９]*手で?(.*)")
_HEADER = re.compile(r"([^\s：:*#&|+]{1,20})[：:](.*)")
_VARIATION = re.compile(r"\s*変化[：:]\s*([0-9０-９]{1,9})")
_CELL = re.compile(r"([vV▽△^▲]?)([^\svV▽△^▲])")
_HELD = re.compile(f"(.)([0-9０-９]{{1,2}}|十?[{RANKS}]?)(?![0-9０-９{RANKS}十])")  # a piece in hand and how many
_COLUMNS = re.compile(r"\s*手数\s*([-－‐―─━ー]{2}|指し?手)")  # the heads of the columns of moves
_FURNITURE = re.compile(r"\s*(\+-|[９9][ 　]*[８8]|[-=]*$|手数[＝=]\s*[0０]\s*(まで)?\s*$)")  # only helps the eye
_COUNT = re.compile(r"\s*手数[＝=](.*)")  # of the moves before a diagram, and the last of them


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a KIF or KI2 file, of which there is usually one. Errors: DataError when there is none."""
    return read_games(stream, _KifReader, "KIF or KI2")


class _KifReader(GameReader):
    def __init__(self) -> None:
        super().__init__()
        self.moving = False  # the moves have begun
        self.first = 1  # number of the first move
        self.number = 0  # of the last move
        self.sfen: str | None = None  # of the handicap; "" = an unknown one
        self.handicap = ""
        self.ranks = 0  # of the diagram read so far
        self.turn: int | None = None
        self.marks: dict[tuple[int, str], tuple[Node, list[str]]] = {}  # lines that stay as they are, by their sign

    def is_new_game(self, line: str) -> bool:
        match = _HEADER.match(line) if self.moving else None
        return match is not None and match[1] in ("手合割", "開始日時", "先手", "下手")

    def record(self) -> Record:
        if self.draft.replay is None and not self.draft.fault:
            try:
                self._start()
            except AzError as error:
                self.draft.fault = str(error)
        for (_, sign), (node, lines) in self.marks.items():
            node.more[sign] = tuple(lines)
        return self.draft.record()

    def take(self, number: int, line: str) -> None:
        draft = self.draft
        if line.startswith("*"):
            draft.comment(line[1:])
        elif line.startswith(("#", "&")):
            self._mark(line)
        elif line.strip():
            try:
                self._state(number, line)
            except AzError as error:
                draft.spoil(f"line {number}", error)

    def _mark(self, line: str) -> None:
        """A bookmark, or a line of the program that has written the file, which are kept as they are."""
        draft = self.draft
        if line[0] == "&":
            draft.settle()
        node = draft.node if line[0] == "&" else draft.tree
        if not re.match("#KIF version|# *-+.*棋譜ファイル", line):
            self.marks.setdefault((id(node), line[0]), (node, []))[1].append(line[1:])

    def _state(self, number: int, line: str) -> None:
        draft = self.draft
        if match := _VARIATION.match(line):
            if self.moving:
                self.number = int(match[1]) - 1
                draft.vary(int(match[1]) - self.first + 1)
        elif _COLUMNS.match(line):
            self.begun = True
        elif _SIDED.match(line) and not draft.ended:
            self._sided(number, line)
        elif draft.dead:
            self._look_for_illegal(line)
        elif summary := _SUMMARY.match(line):
            self._start()
            if not draft.ended:
                _sum_up(draft, summary[1])
        elif draft.ended:
            move = _NUMBERED.fullmatch(line)
            if _MOVE.match(move[2]) if move else _SIDED.match(line):
                draft.behind(f"line {number}", line)
            else:
                draft.comment(line)
        elif not self.moving and _FURNITURE.match(line):
            pass
        elif match := _NUMBERED.fullmatch(line):
            self._numbered(int(match[1]), match[2].strip())
        elif self.moving and _first_word(line) in KIF_ENDINGS:
            self._end(line.strip())
        elif self.moving:
            raise DataError(f"{shown(line)} is no move, remark or end of a game")
        else:
            self._begin(line)

    def _begin(self, line: str) -> None:
        """A line before the first move."""
        if match := re.match(r"(.*?)\|(.*)\|", line):
            self._rank(match[2])
        elif line.strip() in ("後手番", "上手番", "先手番", "下手番"):
            self.begun = True
            self.turn = PLAYERS[line.strip()[:2]]
        elif match := _COUNT.match(line):
            self._header("手数", match[1].strip())
        elif match := _HEADER.match(line.strip()):
            self._header(match[1], match[2].strip())
        else:
            self.draft.comment(line)

    def _look_for_illegal(self, line: str) -> None:
        """After a fault: check whether an illegal move ended the game, count the moves that are left out."""
        match = _NUMBERED.fullmatch(line)
        word = _first_word(match[2] if match else line)
        if _SUMMARY.match(line) and "反則" in line:
            self.draft.end(("illegal move", -1))
        elif word in KIF_ENDINGS:
            ending = KIF_ENDINGS[word]
            self.draft.end(ending, KIF=word if ending[1] == 1 else "")
            self._time(match[2] if match else "")
        elif _MOVE.match(match[2] if match else line):
            self.draft.skip()
        self.draft.offender = None

    def _header(self, key: str, value: str) -> None:
        self.begun = True
        if key in PLAYERS:
            self.draft.names[PLAYERS[key]] = value
        elif key.removesuffix("の持駒") in PLAYERS:
            self.hands[PLAYERS[key.removesuffix("の持駒")]] = self._hand(value)
        elif key == "手合割":
            self.handicap, self.sfen = value, HANDICAPS.get(value, "")
        elif key == "手番":
            self.turn = PLAYERS.get(value[:2], self.turn)
        else:
            self.draft.header(KIF_HEADERS.get(key, key), value)

    def _rank(self, text: str) -> None:
        """A rank of the diagram, from rank a on. Errors: PositionError."""
        self.begun = True
        cells = _CELL.findall(text)
        if len(cells) != 9 or self.ranks == 9:
            raise PositionError(f"{shown(text)} is no rank of nine squares, or the tenth")
        self.board = self.board or [0] * SQUARES
        for column, (side, name) in enumerate(cells):
            piece = PIECE_OF.get(name, 0)
            if not piece and name not in "・･.＊*":
                raise PositionError(f"{shown(name)} in rank {RANKS[self.ranks]} is no piece")
            white = side in ("v", "V", "▽", "△")
            self.board[9 * (8 - column) + self.ranks] = piece + 16 * white if piece else 0
        self.ranks += 1

    def _hand(self, text: str) -> list[int]:
        """Pieces in hand, such as "飛　歩十二", 飛歩十二 or なし. Errors: PositionError."""
        hand = [0] * HELD
        for word in text.split():
            if word == "なし":
                continue
            at = 0
            while at < len(word):
                match = _HELD.match(word, at)
                piece = 0 if match is None else PIECE_OF.get(match[1], 0)
                count = None if match is None else _number(match[2])
                if match is None or not 1 <= piece <= HELD or count is None:
                    raise PositionError(f"{shown(word)} is nothing to have in hand")
                hand[piece - 1] += count
                at = match.end()
        return hand

    def _start(self) -> None:
        self.begun = True
        if self.draft.replay is not None:
            return
        self.draft.settle()
        if self.board is not None:
            if self.ranks != 9:
                raise PositionError(f"the board has {self.ranks} ranks instead of nine")
            self.draft.start(self.board, self.hands, self.turn or BLACK)
            self._note_handicap()
        elif self.sfen == "":
            raise PositionError(f"the handicap {shown(self.handicap)} is not known and no board is given")
        else:
            self.draft.start_from(self.sfen or notation.START)

    def _note_handicap(self) -> None:
        """A name of the start beside a board, such as 詰将棋, is a header like others."""
        if self.handicap not in ("", "その他", *HANDICAPS):
            self.draft.header("手合割", self.handicap)

    def _numbered(self, number: int, text: str) -> None:
        if self.moving and self.first <= number <= self.number:  # a variation without its own line
            self.draft.vary(number - self.first + 1)
        elif self.moving and number != self.number + 1:
            raise DataError(f"move {number} stands where move {self.number + 1} should be")
        self._start()
        if not self.moving:
            self.first = number
        self.moving, self.number = True, number
        word = _first_word(text)
        if word in KIF_ENDINGS or not _MOVE.match(text):
            ending: Ending = KIF_ENDINGS.get(word, ("", None))
            self.draft.end(ending, KIF="" if word == word_of(KIF_ENDINGS, ending) else word)
        else:
            self._move(text)
        self._time(text[len(word) :])

    def _sided(self, number: int, line: str) -> None:
        """The moves of a line of KI2, an end among them, and the remark behind them."""
        played, star, remark = line.partition("*")
        for match in re.finditer("[▲△▼▽☗☖]([^▲△▼▽☗☖]*)", played):
            text = match[1].strip()
            if self.draft.dead:
                self._look_for_illegal(text)
            elif self.draft.ended:
                self.draft.behind(f"line {number}", line[match.start() :].rstrip())
                return
            elif _first_word(text) in KIF_ENDINGS:
                self._end(text)
            else:
                try:
                    self._move(text)
                    self._remark(moves.behind(text))
                except AzError as error:
                    self.draft.spoil(f"line {number}", error)
        if star:
            self.draft.comment(remark)

    def _end(self, text: str) -> None:
        """An end of the game without a number."""
        self._start()
        self.moving = True
        word = _first_word(text)
        self.draft.end(KIF_ENDINGS[word], KIF="" if word == word_of(KIF_ENDINGS, KIF_ENDINGS[word]) else word)
        self._remark(text[len(word) :].strip())

    def _remark(self, text: str) -> None:
        """What stands behind a move or an end of KI2, on its line."""
        if (summary := _SUMMARY.match(text)) and not self.draft.ended:
            _sum_up(self.draft, summary[1])
        elif text:
            self.draft.comment(text)

    def _time(self, text: str) -> None:
        """The time that a move has taken."""
        if time := _TIME.search(text):
            seconds = 0.0
            for part in time[1].split(":"):
                seconds = 60 * seconds + float(part)
            self.draft.node.seconds = seconds

    def _move(self, text: str) -> None:
        self._start()
        self.moving = True
        replay = self.draft.replay
        assert replay is not None
        try:
            self.draft.attempt(moves.written(text), partial(moves.parse, replay, text))
        except IllegalMoveError as error:
            raise IllegalMoveError(f"{moves.written(text)}: {error}") from error


def _first_word(text: str) -> str:
    match = re.match(r"[^\s(（]+", text.strip())
    return match[0] if match else ""


def _number(text: str) -> int | None:
    """A number up to 19 in kanji, or in digits; nothing is 1."""
    if not text:
        return 1
    if re.fullmatch("[0-9０-９]{1,2}", text):
        return int(unicodedata.normalize("NFKC", text))
    match = re.fullmatch(f"(十?)([{RANKS}]?)", text)
    return None if match is None else 10 * len(match[1]) + (NUMBER_OF[match[2]] + 1 if match[2] else 0)


def _sum_up(draft: Draft, text: str) -> None:
    """The result in a last line such as まで112手で後手の勝ち."""
    turn = BLACK if draft.replay is None else draft.replay.turn
    text = re.sub(r"\s", "", text)
    match = re.search("(先手|後手|下手|上手)の(入玉|反則|宣言|不戦)?(勝ち?|負け)", text)
    if match is None:
        for word in sorted(KIF_ENDINGS, key=len, reverse=True):
            if text.startswith(word):
                draft.end(KIF_ENDINGS[word], KIF="" if word == word_of(KIF_ENDINGS, KIF_ENDINGS[word]) else word)
                return
        if text:
            draft.end(("", None), KIF=text)
        return
    won = (PLAYERS[match[1]] == BLACK) == match[3].startswith("勝")
    kinds: dict[str, Reason] = {"入玉": "declaration", "宣言": "declaration", "反則": "illegal move", "不戦": "forfeit"}
    others: dict[str, Reason] = {"時間切れ": "time", "詰": "mate", "切断": "disconnection"}
    usual: Reason = next((each for word, each in others.items() if word in text), "resignation")
    reason = kinds.get(match[2] or "", usual)
    draft.end((reason, 1 if won == (turn == BLACK) else -1))
