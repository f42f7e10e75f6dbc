"""Reads KIF and KI2 files, writes KIF.

Headers, a board diagram if the game begins from a special position, then one numbered move in each line (KIF) or moves
after ``▲`` and ``△`` without their origins (KI2). Variations, after ``変化``, are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from ...errors import AzError, DataError, IllegalMoveError, PositionError
from ..record import Reason, Record, RecordFormat
from . import notation
from .draft import (
    Draft,
    Ending,
    GameReader,
    Replay,
    board_move,
    drop_move,
    headers_of,
    last_target,
    one_line,
    read_games,
    remarks_on,
    shown,
)
from .rules import DROPS, PROMOTES
from .state import BLACK, HELD, SQUARES, WHITE, State

MEN = "歩香桂銀角飛金玉と杏圭全馬龍"  # man - 1, as in diagrams
NAMES = (*MEN[:9], "成香", "成桂", "成銀", "馬", "龍")  # man - 1, as in moves
_MAN_OF = {name: man for man, name in [*enumerate(MEN, 1), *enumerate(NAMES, 1), (8, "王"), (14, "竜")]}
_FILES, _RANKS = "１２３４５６７８９", "一二三四五六七八九"
_NUMBER_OF = {c: i for text in ("123456789", _FILES, _RANKS) for i, c in enumerate(text)}
HANDICAPS = {
    "平手": notation.START,
    "香落ち": "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "右香落ち": "1nsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "角落ち": "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "飛車落ち": "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "飛香落ち": "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "二枚落ち": "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "三枚落ち": "lnsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "四枚落ち": "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "五枚落ち": "2sgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "左五枚落ち": "1nsgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "六枚落ち": "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "八枚落ち": "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "十枚落ち": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
}
_HEADERS = {
    "開始日時": "Date",
    "終了日時": "EndDate",
    "棋戦": "Event",
    "場所": "Site",
    "持ち時間": "TimeControl",
    "戦型": "Opening",
}
_PLAYERS = {"先手": BLACK, "下手": BLACK, "後手": WHITE, "上手": WHITE}
_ENDINGS: dict[str, Ending] = {
    "投了": ("resignation", -1),
    "詰み": ("mate", -1),
    "詰": ("mate", -1),
    "切れ負け": ("time", -1),
    "時間切れ": ("time", -1),
    "反則負け": ("illegal move", -1),
    "反則勝ち": ("illegal move", 1),
    "千日手": ("repetition", 0),
    "入玉勝ち": ("declaration", 1),
    "勝ち宣言": ("declaration", 1),
    "入玉宣言": ("declaration", 1),
    "持将棋": ("impasse", 0),
    "最大手数": ("maximum moves", 0),
    "不戦敗": ("forfeit", -1),
    "不戦勝": ("forfeit", 1),
    "中断": ("interrupted", None),
    "封じ手": ("interrupted", None),
    "不詰": ("", None),
}
_MOVE = re.compile(
    r"(?:(?P<file>[1-9１-９])(?P<rank>[1-9１-９一二三四五六七八九])|同)\s*"
    r"(?P<man>成香|成桂|成銀|[歩香桂銀角飛金玉王と杏圭全馬龍竜])"
    r"(?P<place>[左直右]?)(?P<motion>[上行引入寄]?)(?P<how>打|成|不成|生|)(?:\((?P<origin>[1-9][1-9])\))?"
)
_LETTERS = "PLNSBRGK"
_WESTERN = re.compile(
    r"(?P<promoted>\+(?![GK]))?(?P<man>[PLNSGBRK])(?P<way>[-x*]?)(?P<file>[1-9])(?P<rank>[1-9a-i])(?P<how>[+=]?)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\s*([0-9]{1,9})\s+(\S.*)", re.ASCII | re.DOTALL)
_TIME = re.compile(r"\(\s*((?:[0-9]{1,6}:){1,2}[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?:/[^()]*)?\)", re.ASCII)
_SUMMARY = re.compile(r"\s*まで、?\s*[0-9０-９]*手で(.*)")
_HEADER = re.compile(r"([^\s：]{1,20})：(.*)")


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a KIF or KI2 file, of which there is usually one. Errors: DataError when there is none."""
    return read_games(stream, _KifReader, "KIF or KI2")


class _KifReader(GameReader):
    def __init__(self) -> None:
        super().__init__()
        self.moving = False  # the moves have begun
        self.varying = False  # variations have begun
        self.number = 0  # of the last move
        self.sfen: str | None = None  # of the handicap; "" = an unknown one
        self.handicap = ""
        self.ranks = 0  # of the diagram read so far
        self.turn: int | None = None

    def ends_before(self, line: str) -> bool:
        found = _HEADER.match(line) if self.moving else None
        return found is not None and found[1] in ("手合割", "開始日時", "先手", "下手")

    def record(self) -> Record:
        if self.draft.replay is None and not self.draft.fault:
            try:
                self._start()
            except AzError as error:
                self.draft.fault = str(error)
        return self.draft.record()

    def take(self, number: int, line: str) -> None:
        draft = self.draft
        if line.startswith("*"):
            if not self.varying:
                draft.comment(line[1:])
            return
        if not line.strip() or line.startswith(("#", "&")) or self.varying:
            return
        try:
            if line.startswith("変化"):
                self.varying = True
            elif draft.fault:
                self._look_for_illegal(line)
            else:
                self._state(line)
        except AzError as error:
            draft.spoil(number, error)

    def _look_for_illegal(self, line: str) -> None:
        """After an illegal move: check whether it ended the game."""
        found = _NUMBERED.fullmatch(line)
        word = _first_word(found[2] if found else line)
        if word in _ENDINGS:
            self.draft.end(_ENDINGS[word])
        self.draft.offender = None

    def _state(self, line: str) -> None:
        draft = self.draft
        if summary := _SUMMARY.match(line):
            self._start()
            if not draft.ended:
                _sum_up(draft, summary[1])
        elif draft.ended:
            return
        elif found := _NUMBERED.fullmatch(line):
            self._numbered(int(found[1]), found[2].strip())
        elif re.match(r"\s*[▲△▼▽☗☖]", line):
            for text in re.split("[▲△▼▽☗☖]", line)[1:]:
                self._move(text.strip())
        elif self.moving:
            raise DataError(f"{shown(line)} is no move, remark or end of a game")
        elif found := _HEADER.match(line.strip()):
            self._header(found[1], found[2].strip())
        elif found := re.match(r"(.*?)\|(.*)\|", line):
            self._rank(found[2])
        elif line.strip() in ("後手番", "上手番", "先手番", "下手番"):
            self.begun = True
            self.turn = _PLAYERS[line.strip()[:2]]
        elif line.startswith("手数--"):
            self.begun = True

    def _header(self, key: str, value: str) -> None:
        self.begun = True
        if key in _PLAYERS:
            self.draft.names[_PLAYERS[key]] = value
        elif key.removesuffix("の持駒") in _PLAYERS:
            self.hands[_PLAYERS[key.removesuffix("の持駒")]] = _hand(value)
        elif key == "手合割":
            self.handicap, self.sfen = value, HANDICAPS.get(value, "")
        elif key == "手番":
            self.turn = _PLAYERS.get(value[:2], self.turn)
        else:
            self.draft.header(_HEADERS.get(key, key), value)

    def _rank(self, text: str) -> None:
        """A rank of the diagram, from rank a on. Errors: PositionError."""
        self.begun = True
        cells = re.findall(r"\s*([vV▽△^▲]?)([^\svV▽△^▲])", text)
        if len(cells) != 9 or self.ranks == 9:
            raise PositionError(f"{shown(text)} is no rank of nine squares, or the tenth")
        self.board = self.board or [0] * SQUARES
        for column, (side, name) in enumerate(cells):
            man = _MAN_OF.get(name, 0)
            if not man and name not in "・.＊*":
                raise PositionError(f"{shown(name)} in rank {_RANKS[self.ranks]} is no man")
            white = side in ("v", "V", "▽", "△")
            self.board[9 * (8 - column) + self.ranks] = man + 16 * white if man else 0
        self.ranks += 1

    def _start(self) -> None:
        self.begun = True
        if self.draft.replay is not None:
            return
        if self.board is not None:
            if self.ranks != 9:
                raise PositionError(f"the board has {self.ranks} ranks instead of nine")
            self.draft.start(self.board, self.hands, self.turn or BLACK)
        elif self.sfen == "":
            raise PositionError(f"the handicap {shown(self.handicap)} is not known and no board is given")
        else:
            self.draft.start_from(self.sfen or notation.START)

    def _numbered(self, number: int, text: str) -> None:
        if self.moving and number != self.number + 1:
            raise DataError(f"move {number} stands where move {self.number + 1} should be")
        self._start()
        self.moving, self.number = True, number
        word = _first_word(text)
        if word in _ENDINGS:
            self.draft.end(_ENDINGS[word])
            return
        self._move(text)
        time = _TIME.search(text, len(word))
        if time is not None:
            seconds = 0.0
            for part in time[1].split(":"):
                seconds = 60 * seconds + float(part)
            self.draft.times[-1] = seconds

    def _move(self, text: str) -> None:
        self._start()
        self.moving = True
        replay = self.draft.replay
        assert replay is not None
        found = _matched(text)
        try:
            self.draft.play(_move_of(replay, found, last_target(replay)))
        except IllegalMoveError as error:
            raise IllegalMoveError(f"{''.join(found[0].split())}: {error}") from error


def _matched(text: str) -> re.Match[str]:
    found = _MOVE.match(text)
    if found is None:
        raise DataError(f"{shown(text)} is no move")
    return found


def _move_of(replay: Replay, found: re.Match[str], last: int | None) -> int:
    """The move that a match of ``_MOVE`` names; ``last`` is where the move before it went. Errors: DataError."""
    to = 9 * _NUMBER_OF[found["file"]] + _NUMBER_OF[found["rank"]] if found["file"] else last
    if to is None:
        raise DataError(f"{shown(found.string)} goes where the move before it went, and there is none")
    return _resolve(replay, to, found)


def read_move(line: State, text: str) -> str:
    """A move that a person types (7六歩, 76歩, 同歩, 5五角打, P-7f, Bx2b+), in USI. Errors: IllegalMoveError."""
    western = _WESTERN.fullmatch(text)
    if western:
        man = NAMES[_LETTERS.index(western["man"].upper()) + (8 if western["promoted"] else 0)]
        how = {"+": "成", "=": "不成", "": ""}[western["how"]]
        rank = western["rank"] if western["rank"].isdigit() else str(" abcdefghi".index(western["rank"]))
        text = f"{western['file']}{rank}{man}{'打' if western['way'] == '*' else how}"
    last = None
    if len(line) > 1:
        now, before = line[-1]["board"], line[-2]["board"]
        last = next((i for i in range(SQUARES) if now[i] and now[i] != before[i]), None)
    replay = Replay(line)
    try:
        move = _move_of(replay, _matched(text), last)
    except DataError:
        raise IllegalMoveError(f"{text[:20]!r} is no move; write it as 7g7f, 7六歩 or P-7f") from None
    if move not in replay.legal_moves():
        raise IllegalMoveError(f"{notation.format_usi(move)} is not a legal move here")
    return notation.format_usi(move)


def _first_word(text: str) -> str:
    found = re.match(r"[^\s(]+", text.strip())
    return found[0] if found else ""


def _hand(text: str) -> list[int]:
    """Pieces in hand, such as "飛　歩十二" or なし. Errors: PositionError."""
    hand = [0] * HELD
    for word in text.split():
        if word == "なし":
            continue
        man = _MAN_OF.get(word[0], 0)
        number = _kanji_number(word[1:])
        if not 1 <= man <= HELD or number is None:
            raise PositionError(f"{shown(word)} is nothing to have in hand")
        hand[man - 1] += number
    return hand


def _kanji_number(text: str) -> int | None:
    """A number up to 19 in kanji, or in digits; nothing is 1."""
    if not text:
        return 1
    if re.fullmatch("[0-9０-９]{1,2}", text):
        return int(text)
    found = re.fullmatch(f"(十?)([{_RANKS}]?)", text)
    return None if found is None else 10 * len(found[1]) + (_NUMBER_OF[found[2]] + 1 if found[2] else 0)


def _resolve(replay: Replay, to: int, found: re.Match[str]) -> int:
    """The move that a text names, by its origin or by the words for its way. Errors: IllegalMoveError."""
    man, promotes = _MAN_OF[found["man"]], found["how"] == "成"
    if found["origin"]:
        source = 9 * _NUMBER_OF[found["origin"][0]] + _NUMBER_OF[found["origin"][1]]
        return board_move(replay, source, to, man) + PROMOTES * promotes
    drop = drop_move(to, man) if man <= HELD else None
    if found["how"] == "打":
        return drop_move(to, man)
    turn, board = replay.turn, replay.state["board"]
    own = man + 16 * turn
    moves = [m for m in replay.legal_moves() if m & 127 == to and m >> 7 & 127 < DROPS and board[m >> 7 & 127] == own]
    sources = sorted({m >> 7 & 127 for m in moves}, key=lambda square: square if turn == BLACK else -square)
    if not sources:
        if drop is None or found["how"]:
            raise IllegalMoveError(f"no {found['man']} can go there in {notation.format_sfen(replay.state)}")
        return drop
    sources = _narrow(sources, to, turn, found["place"], found["motion"])
    if len(sources) != 1:
        raise IllegalMoveError(f"{len(sources)} men fit it in {notation.format_sfen(replay.state)}")
    return to + (sources[0] << 7) + PROMOTES * promotes


def _narrow(sources: list[int], to: int, turn: int, place: str, motion: str) -> list[int]:
    """The squares that fit the words for place and motion, from the mover's right to its left."""
    ahead = 1 if turn == BLACK else -1  # what a square behind has more of rank
    if motion or place == "直":
        wanted = 0 if motion == "寄" else -1 if motion in ("引", "入") else 1
        behind = [(s, ((s % 9 - to % 9) * ahead > 0) - ((s % 9 - to % 9) * ahead < 0)) for s in sources]
        sources = [s for s, way in behind if way == wanted]
    if place == "直":
        sources = [s for s in sources if s // 9 == to // 9]
    elif place and sources:
        extreme = sources[0 if place == "右" else -1] // 9
        sources = [s for s in sources if s // 9 == extreme]
    return sources


def _sum_up(draft: Draft, text: str) -> None:
    """The result in a last line such as まで112手で後手の勝ち."""
    for word in ("千日手", "持将棋", "中断"):
        if text.strip().startswith(word):
            draft.end(_ENDINGS[word])
            return
    found = re.search("(先手|後手|下手|上手)の(入玉|反則)?(勝ち|負け)", text)
    if found is None:
        return
    won = (_PLAYERS[found[1]] == BLACK) == (found[3] == "勝ち")
    reason: Reason = "resignation"
    if found[2]:
        reason = "declaration" if found[2] == "入玉" else "illegal move"
    elif "時間切れ" in text:
        reason = "time"
    elif "詰" in text:
        reason = "mate"
    draft.end_for(reason, 1 if won else -1)


# ---- writing


def write(record: Record) -> str:
    """One game as KIF. Errors: PositionError."""
    replay = Replay(notation.parse_sfen(record.root or notation.START)[0])
    lines = ["#KIF version=2.0 encoding=UTF-8"]
    keys = {ours: theirs for theirs, ours in _HEADERS.items()}
    for name, text in headers_of(record):
        key = keys.get(name, name)
        plain = key in keys.values() or re.fullmatch("[A-Za-z]{1,20}", key)
        lines.append(f"{'' if plain else '#'}{one_line(key)}：{text}")
    handicap = _handicap(record.root)
    lines += [f"手合割：{handicap}"] if handicap else _diagram(replay)
    sides = ("下手", "上手") if handicap != "平手" and handicap else ("先手", "後手")
    lines += [f"{side}：{one_line(name)}" for side, name in zip(sides, record.names, strict=True)]
    lines.append("手数----指手---------消費時間--")
    lines += [f"*{line}" for line in remarks_on(record, 0)]
    spent = [0.0, 0.0]
    for i, move in enumerate(record.moves):
        code = notation.parse_usi(replay.state, move, replay.legal_moves())
        seconds = record.times[i] if i < len(record.times) else None
        spent[replay.turn] += seconds or 0.0
        text = _format_move(replay, code)
        if seconds is not None:
            text += " " * (14 - 2 * len(re.sub("[ -~]", "", text)) - len(re.findall("[ -~]", text)))
            text += f"({_clock(seconds, 2)}/{_clock(spent[replay.turn], 3)})"
        lines.append(f"{i + 1:4} {text}")
        replay.play(code)
        lines += [f"*{line}" for line in remarks_on(record, i + 1)]
    return "\n".join([*lines, *_end(record, replay.turn, sides)]) + "\n"


def _clock(seconds: float, fields: int) -> str:
    """Minutes and seconds " 0:16", or hours too "00:00:16"."""
    total = int(seconds)
    if fields == 2:
        return f"{total // 60:2}:{total % 60:02}"
    return f"{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}"


def _handicap(root: str | None) -> str:
    """The name of a usual start, else ""."""
    names = {sfen: name for name, sfen in HANDICAPS.items()}
    return names.get(notation.START if root is None else root, "")


def _diagram(replay: Replay) -> list[str]:
    state = replay.state
    hands = []
    for side in range(2):
        held = [(MEN[kind], int(state["hands"][side][kind])) for kind in (5, 4, 6, 3, 2, 1, 0)]
        hands.append("　".join(name + (_in_kanji(n) if n > 1 else "") for name, n in held if n) or "なし")
    lines = [f"後手の持駒：{hands[1]}", "  ９ ８ ７ ６ ５ ４ ３ ２ １", "+---------------------------+"]
    for rank in range(9):
        men = [int(state["board"][9 * file + rank]) for file in range(8, -1, -1)]
        cells = [f"{' v'[man >> 4]}{MEN[(man & 15) - 1]}" if man else " ・" for man in men]
        lines.append(f"|{''.join(cells)}|{_RANKS[rank]}")
    lines += ["+---------------------------+", f"先手の持駒：{hands[0]}"]
    return lines if replay.turn == BLACK else [*lines, "後手番"]


def _in_kanji(number: int) -> str:
    return "十" * (number // 10) + (_RANKS[number % 10 - 1] if number % 10 else "")


def _format_move(replay: Replay, move: int) -> str:
    to, source = move & 127, move >> 7 & 127
    target = "同　" if last_target(replay) == to else _FILES[to // 9] + _RANKS[to % 9]
    if source >= DROPS:
        return f"{target}{NAMES[source - DROPS]}打"
    man = int(replay.state["board"][source]) & 15
    promotes = "成" if move & PROMOTES else ""
    return f"{target}{NAMES[man - 1]}{promotes}({source // 9 + 1}{source % 9 + 1})"


def _end(record: Record, turn: int, sides: tuple[str, str]) -> list[str]:
    """The special move for the game's end, if any, and the summary line."""
    plies = len(record.moves)
    if record.result is None:
        return [f"{plies + 1:4} 中断", f"まで{plies}手で中断"]
    points = record.result if turn == BLACK else -record.result
    reason: Reason = "illegal move" if record.reason == "perpetual check" else record.reason
    words = [word for word, ending in _ENDINGS.items() if ending == (reason, points)]
    if not words and points <= 0:
        words = ["投了" if points else "持将棋"]
    lines = [f"{plies + 1:4} {words[0]}"] if words else []
    if not record.result:
        return [*lines, f"まで{plies}手で{'千日手' if record.reason == 'repetition' else '持将棋'}"]
    winner = sides[0 if record.result > 0 else 1]
    how = {"declaration": "入玉勝ち", "illegal move": "反則勝ち"}.get(reason, "勝ち")
    return [*lines, f"まで{plies}手で{winner}の{how}"]


def encode(text: str, name: str) -> bytes:
    """A file's bytes: Shift-JIS for the name .kif, as programs expect, else UTF-8."""
    if name.lower().endswith(".kif"):
        return text.replace("encoding=UTF-8", "encoding=Shift_JIS", 1).encode("cp932", "replace")
    return text.encode()


KIF = RecordFormat("KIF", (".kifu", ".kif"), read, write, None, encode)
KI2 = RecordFormat("KI2", (".ki2", ".ki2u"), read, None, None)
