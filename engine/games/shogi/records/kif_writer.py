"""Writes KIF and KI2."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....records.record import ILLEGAL, Ending, Node, Reason, Record
from .. import notation
from ..state import BLACK
from . import moves
from .reader import end_of, usual_end
from .replay import Replay, code_of
from .words import DIAGRAM_LETTERS, HANDICAPS, KIF_ENDINGS, KIF_HEADERS, RANKS, word_of

_HOW: dict[Reason, str] = {"declaration": "入玉勝ち", "illegal move": "反則勝ち", "forfeit": "不戦勝ち"}
_WHY: dict[Reason, str] = {"time": "時間切れにより", "mate": "詰みにより", "disconnection": "切断により"}
_USUAL = {-1: "投了", 0: "引き分け", None: "中断"}  # by the points of the side to move
_A_LINE = 6  # moves of KI2 in a line


def write(record: Record) -> str:
    """One game as KIF. Errors: PositionError."""
    return _Writer(record, numbered=True).text()


def write_ki2(record: Record) -> str:
    """One game as KI2. Errors: PositionError."""
    return _Writer(record, numbered=False).text()


def lost(record: Record) -> list[str]:
    """What KIF cannot say of a record, beside what its format lists."""
    results = []
    if record.result is not None and not record.reason:
        results.append("result without its reason (it is written as a resignation)")
    if record.reason == "pawn drop mate":
        results.append("word for a mate by a dropped pawn (it is written as an illegal move)")
    last, end = list(record.tree.line())[-1], end_of(record)
    ends = [(node, node.end) for node in record.tree.descendants() if node is not last and node.end is not None]
    ends += [(last, end)] if end is not None and not results else []
    for node, each in ends:
        if "KIF" not in node.more and (word := _other_word(each, summed=node.end is None)):
            reason = each[0] or " ".join(node.more.get("CSA", ("an unknown reason",)))
            results.append(f"end by {reason}, which is written as {word}")
    return results


def _other_word(end: Ending, *, summed: bool) -> str:
    """What is written for an end that KIF has no word for, "" where it has one; summed: in the last line alone."""
    if word_of(KIF_ENDINGS, _sayable(end)):
        return ""
    if end[1] == 1 or (end[1] and summed):
        return "" if end[0] in ("resignation", *_HOW, *_WHY) else "a resignation"
    return _USUAL[end[1]]


def _sayable(end: Ending) -> Ending:
    """An end in KIF's terms."""
    return ("illegal move", end[1]) if end[0] in ("perpetual check", "pawn drop mate") else end


def lines_with_variations(tree: Node) -> Iterator[tuple[int, Node]]:
    """(plies before it, node) of all moves and ends, in the order of KIF.

    The main line comes first, then its variations, the last of them first, each followed by its own.
    """
    waiting = [(0, child) for child in reversed(tree.children)]
    while waiting:
        ply, node = waiting.pop()
        while True:
            yield ply, node
            if not node.children:
                break
            ply += bool(node.move)
            waiting += [(ply, child) for child in reversed(node.children[1:])]
            node = node.children[0]


class _Writer:
    def __init__(self, record: Record, *, numbered: bool) -> None:
        self._record, self._numbered = record, numbered
        self._summed: list[Node] = []  # ends that a summary tells, not a line of a move
        self._replay = Replay.of(record.tree.position)
        self._lines: list[str] = []
        self._words: list[str] = []  # of a line of KI2
        self._spent: list[tuple[float, float]] = [(0.0, 0.0)]  # after each move of the line
        self._handicap = _handicap(record.tree.position)
        handicapped = self._handicap not in ("平手", "")
        self._sides = ("下手", "上手") if handicapped else ("先手", "後手")

    def text(self) -> str:
        record = self._record
        self._head()
        self._remark(record.tree)
        at, ended = 0, False
        nodes = list(lines_with_variations(record.tree))
        starts = {id(child) for node in record.tree.descendants() for child in node.children[1:]}
        for ply, node in nodes:
            if id(node) in starts:
                if not ended:
                    self._finish(at)
                    ended = True
                self._flush()
                self._lines += ["", f"変化：{ply + 1}手", *_remarks(node.before)]
            self._replay.back_to(ply)
            del self._spent[ply + 1 :]
            self._node(ply, node, begins=id(node) in starts)
            at = ply + bool(node.move)
        if not ended:
            self._finish(at)
        self._flush()
        return "\n".join(self._lines) + "\n"

    # ------------------------------------------------------------------ the beginning

    def _head(self) -> None:
        record = self._record
        mine = "#KIF version=2.0 encoding=UTF-8" if self._numbered else ""
        self._lines += [mine] if mine else []
        self._lines += [f"#{line}" for line in record.tree.more.get("#", ())]
        keys = {ours: theirs for theirs, ours in KIF_HEADERS.items()}
        for name, value in headers_of(record):
            key = re.sub(r"[\s：:*#&|+]", "_", keys.get(name, name))[:20] or "_"
            self._lines.append(f"{key}{'＝' if key == '手数' else '：'}{value}")
        self._lines += [f"手合割：{self._handicap}"] if self._handicap else diagram(self._replay)
        named = any(record.names) or self._numbered
        sides = zip(self._sides, record.names, strict=True)
        self._lines += [f"{side}：{one_line(name)}" for side, name in sides] if named else []
        self._lines += ["手数----指手---------消費時間--"] if self._numbered else [""]

    def _remark(self, node: Node, *, before: bool = True) -> None:
        """The comments of a node and its bookmarks."""
        comment_lines = _remarks(node.before) if before else []
        comment_lines += _remarks(node.comment) + [f"&{line}" for line in node.more.get("&", ())]
        if comment_lines:
            self._flush()
            self._lines += comment_lines

    # ------------------------------------------------------------------ moves and ends

    def _node(self, ply: int, node: Node, *, begins: bool) -> None:
        """begins: a variation, whose remark before the move stands already."""
        if node.move:
            self._move(ply, node)
        elif node.end is not None:
            self._end(ply, node, node.end)
        elif ILLEGAL in node.more:
            self._flush()
            self._lines.append(f"*反則：{' '.join(node.more[ILLEGAL])}")
        self._remark(node, before=not begins)

    def _move(self, ply: int, node: Node) -> None:
        replay = self._replay
        if ILLEGAL in node.more:
            code = code_of(node.move)
            text = moves.kif(replay, code)
        else:
            code = notation.parse_usi(replay.state, node.move, replay.legal_moves())
            text = moves.kif(replay, code) if self._numbered else moves.ki2(replay, code)
        if self._numbered:
            self._lines.append(self._timed(ply, text, node))
        else:
            self._words.append(f"{'▲△'[replay.turn]}{text}")
            if len(self._words) == _A_LINE:
                self._flush()
        spent = [*self._spent[ply]]
        spent[replay.turn] += node.seconds or 0.0
        self._spent.append((spent[0], spent[1]))
        if ILLEGAL not in node.more:
            replay.play(code)

    def _timed(self, ply: int, text: str, node: Node) -> str:
        """A numbered line, with the time where one is known."""
        if node.seconds is not None:
            wide = len(re.sub("[ -~]", "", text))
            text += " " * (14 - 2 * wide - (len(text) - wide))
            total = self._spent[min(ply, len(self._spent) - 1)][self._replay.turn] + node.seconds
            text += f"({_clock(node.seconds, 2)}/{_clock(total, 3)})"
        return f"{ply + 1:4} {text}"

    def _flush(self) -> None:
        """End a line of KI2."""
        if self._words:
            self._lines.append(" ".join(self._words))
            self._words.clear()

    def _end(self, ply: int, node: Node, end: Ending) -> None:
        word = node.more.get("KIF", ("",))[0] or word_of(KIF_ENDINGS, _sayable(end))
        if self._numbered and (word or end[1] != 1):
            word = word or _USUAL[end[1]]
            self._lines.append(self._timed(ply, word, node))
        else:  # no line of a move says that who is to move has won
            self._flush()
            self._summed.append(node)
            ours = "KIF" in node.more
            self._lines.append(f"まで{ply}手で{word}" if ours else self._summary(ply, _sayable(end), word))

    def _finish(self, plies: int) -> None:
        """The end of the main line, unless a node has it, and the summary."""
        record = self._record
        last = list(record.tree.line())[-1]
        turn = self._replay.turn
        end = last.end or usual_end(record.reason, record.result, turn)
        if end is None or any(node is last for node in self._summed):  # the node has it
            return
        reason, points = _sayable(end)
        if last.end is None and self._numbered:
            word = word_of(KIF_ENDINGS, (reason, points)) or ("投了" if not reason and points == -1 else "")
            word = word or ("引き分け" if points == 0 else "")
            self._lines += [f"{plies + 1:4} {word}"] if word else []
        word = last.more.get("KIF", ("",))[0] or word_of(KIF_ENDINGS, (reason, points))
        self._flush()
        self._lines.append(self._summary(plies, (reason, points), word))

    def _summary(self, plies: int, end: Ending, word: str) -> str:
        reason, points = end
        if not points:
            return f"まで{plies}手で{word or '引き分け' if points == 0 else word or '中断'}"
        first = (points > 0) == (self._replay.turn == BLACK)
        side = self._sides[not first]
        how = _HOW.get(reason, "勝ち")
        why = _WHY.get(reason, "")
        why = "" if self._numbered and word else why  # the move's line has it
        return f"まで{plies}手で{why}{side}の{how}"


def _remarks(comment: str) -> list[str]:
    return [f"*{line}" for line in comment.splitlines()]


def one_line(text: str) -> str:
    """A text for a header, without line breaks."""
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def headers_of(record: Record) -> Iterator[tuple[str, str]]:
    """A record's headers by name, one line each, dates with slashes as in Japanese files."""
    for name, value in record.headers.items():
        text = one_line(value)
        yield name, re.sub(r"^(\d{4})[.-](\d\d)[.-](\d\d)", r"\1/\2/\3", text) if name == "Date" else text


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


def diagram(replay: Replay) -> list[str]:
    """A board with the pieces in hand."""
    state = replay.state
    hands = []
    for side in range(2):
        held = [(DIAGRAM_LETTERS[kind], int(state["hands"][side][kind])) for kind in (5, 4, 6, 3, 2, 1, 0)]
        hands.append("　".join(name + (_in_kanji(n) if n > 1 else "") for name, n in held if n) or "なし")
    lines = [f"後手の持駒：{hands[1]}", "  ９ ８ ７ ６ ５ ４ ３ ２ １", "+---------------------------+"]
    for rank in range(9):
        pieces = [int(state["board"][9 * file + rank]) for file in range(8, -1, -1)]
        cells = [f"{' v'[piece >> 4]}{DIAGRAM_LETTERS[(piece & 15) - 1]}" if piece else " ・" for piece in pieces]
        lines.append(f"|{''.join(cells)}|{RANKS[rank]}")
    lines += ["+---------------------------+", f"先手の持駒：{hands[0]}"]
    return lines if replay.turn == BLACK else [*lines, "後手番"]


def _in_kanji(number: int) -> str:
    return "十" * (number // 10) + (RANKS[number % 10 - 1] if number % 10 else "")


def encode(text: str, name: str) -> bytes:
    """A file's bytes: Shift-JIS for the names .kif and .ki2, as programs expect; UTF-8 with its mark where it must."""
    if name.lower().endswith((".kif", ".ki2")):
        try:
            return text.replace("encoding=UTF-8", "encoding=Shift_JIS", 1).encode("cp932")
        except UnicodeEncodeError:
            return text.encode("utf-8-sig")
    return text.encode()
