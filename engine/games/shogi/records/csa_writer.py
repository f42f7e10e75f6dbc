"""Writes CSA: version 2.2, or 3.0 where times have fractions."""

from __future__ import annotations

import re

from ....errors import PositionError
from ....records.record import ILLEGAL, Ending, Node, Record
from .. import notation
from ..rules import DROPS, PROMOTES
from ..state import BLACK, HELD, PROMOTED
from .kif_writer import headers_of, one_line
from .reader import by_rules, end_of, usual_end
from .replay import Replay, code_of
from .words import CODES, CSA_ENDINGS, CSA_HEADERS, word_of

_START = notation.parse_sfen(notation.START)[0][0]


def lost(record: Record) -> list[str]:
    """What CSA cannot say of a record, beside what its format lists."""
    last, end = list(record.tree.line())[-1], end_of(record)
    results = unreasoned(record)
    if results or end is None:
        return results
    word, kept = last.more.get("CSA", ("",))[0], "summary" in record.tree.more
    said = _said(end, word, BLACK).removeprefix("%")
    if said and not tells(said, end, word, ruled=True) and not (kept and end[1] is not None):
        results.append(changed(last, end, said.lstrip("+-")))
    if not said and last.end is not None:  # a remark about the result stands for it
        results += [f"time of an end by {end[0]}"] * (last.seconds is not None)
        results += [f"remarks on an end by {end[0]}, which go to the last move"] * bool(last.comment or last.before)
    return results


def unreasoned(record: Record) -> list[str]:
    """A result whose reason is not known, as a loss."""
    if record.result is None or record.reason:
        return []
    return ["result without its reason" if record.result else "draw without its reason"]


def changed(node: Node, end: Ending, word: str) -> str:
    """The loss of an end that is written as another."""
    return f"end by {end[0] or ' '.join(node.more.get('KIF', ('an unknown reason',)))}, which is written as {word}"


def tells(said: str, end: Ending, word: str, *, ruled: bool) -> bool:
    """Whether a statement means an end; word: the file's, ruled: in a line whose end the rules see, too."""
    if said == word:
        return True
    if said.startswith(("+", "-")):
        return end[0] == "illegal move" or (ruled and end[0] == "perpetual check")
    return CSA_ENDINGS.get(said) == end


def write(record: Record) -> str:
    """One game as CSA, in UTF-8 (which its first line says). Errors: PositionError."""
    replay = Replay.of(record.tree.position)
    line = list(record.tree.line())
    exact = any(node.seconds is not None and node.seconds != int(node.seconds) for node in line)
    lines = ["'CSA encoding=UTF-8", "V3.0" if exact else "V2.2"]
    lines += [f"N{sign}{one_line(name)}" for sign, name in zip("+-", record.names, strict=True) if name]
    keys = {ours: theirs for theirs, ours in reversed(CSA_HEADERS.items())}
    for name, text in headers_of(record):
        key = keys.get(name, re.sub(r"[\s:,]", "_", name))
        if name == "TimeControl":
            key = "TIME_LIMIT" if re.fullmatch(r"\d+:\d\d\+\d+", text) else "TIME" if _is_v3(text) else name
        lines.append(f"${key}:{text}")
    lines += _position(replay)
    lines += _remarks(line[0], begin=True)
    for node in line[1:]:
        lines += _node(replay, node)
    lines += _ending(record, line[-1], replay)
    return "\n".join(lines) + "\n"


def _is_v3(text: str) -> bool:
    return re.fullmatch(r"[\d.]+\+[\d.]+\+[\d.]+", text) is not None


def _name(square: int) -> str:
    return f"{square // 9 + 1}{square % 9 + 1}"


def _node(replay: Replay, node: Node) -> list[str]:
    """A move or an end with its time and remarks."""
    lines = []
    if node.move:
        lines.append(move_text(replay, node))
    elif node.end is not None:
        lines += filter(None, [_said(node.end, node.more.get("CSA", ("",))[0], replay.turn)])
    elif ILLEGAL in node.more:
        lines.append(f"'*{' '.join(node.more[ILLEGAL])}")
    if node.seconds is not None and lines:
        lines.append(f"T{node.seconds:.3f}".rstrip("0").rstrip("."))
    return lines + _remarks(node)


def move_text(replay: Replay, node: Node) -> str:
    """A move such as +7776FU, and plays it. Errors: IllegalMoveError, PositionError."""
    sign = "+-"[replay.turn]
    if ILLEGAL in node.more:
        code = code_of(node.move)
        to, source = code & 127, code >> 7 & 127
        piece = source - DROPS + 1 if source >= DROPS else int(replay.state["board"][source]) & 15
        if not piece:
            raise PositionError(f"{node.move} moves no piece")
        piece |= PROMOTED if code & PROMOTES else 0
        return f"{sign}{'00' if source >= DROPS else _name(source)}{_name(to)}{CODES[piece - 1]}"
    code = replay.play_usi(node.move)
    to, source = code & 127, code >> 7 & 127
    origin = "00" if source >= DROPS else _name(source)
    return f"{sign}{origin}{_name(to)}{CODES[(int(replay.state['board'][to]) & 15) - 1]}"


def _remarks(node: Node, *, begin: bool = False) -> list[str]:
    # "'** " before the first move, where engines' remarks on moves cannot be, makes a widely used reader crash
    comment = "\n".join(filter(None, (node.before, node.comment)))
    return [f"'*{' ' * (begin and line.lstrip(' ').startswith('*'))}{line}" for line in comment.splitlines()]


def _position(replay: Replay) -> list[str]:
    state = replay.state
    lines = []
    if (state["board"] == _START["board"]).all() and not state["hands"].any():
        lines.append("PI")
    else:
        for rank in range(9):
            pieces = [int(state["board"][9 * file + rank]) for file in range(8, -1, -1)]
            cells = [f"{'+-'[piece >> 4]}{CODES[(piece & 15) - 1]}" if piece else " * " for piece in pieces]
            lines.append(f"P{rank + 1}{''.join(cells)}")
        for side in range(2):
            held = "".join(f"00{CODES[kind]}" * int(state["hands"][side][kind]) for kind in range(HELD))
            lines += [f"P{'+-'[side]}{held}"] if held else []
    return [*lines, "+-"[replay.turn]]


def statement(end: Ending, word: str, turn: int) -> str:
    """The statement of an end, "" where CSA has no word for it."""
    reason, points = end
    if re.fullmatch("[-+A-Z_]+", word):
        return f"%{word}"
    if word := word_of(CSA_ENDINGS, end):
        return f"%{word}"
    if reason in ("illegal move", "perpetual check", "pawn drop mate") and points:
        return "%-ILLEGAL_ACTION" if (points > 0) == (turn == BLACK) else "%+ILLEGAL_ACTION"
    return ""


def _said(end: Ending, word: str, turn: int) -> str:
    """The statement of an end; without a word for it %CHUDAN, or "" where the result is known."""
    return statement(end, word, turn) or ("%CHUDAN" if end[1] is None else "")


def _ending(record: Record, last: Node, replay: Replay) -> list[str]:
    """The statement of how the game ended, unless a node has it; a result without one goes into a remark."""
    kept = [f"'summary:{text}" for text in record.tree.more.get("summary", ())]
    end = usual_end(record.reason, record.result, replay.turn)
    if kept or end is None:
        return kept
    if last.end is None or not _said(last.end, last.more.get("CSA", ("",))[0], replay.turn):
        if end == ("mate", -1) and by_rules(replay) is not None:  # which readers see, and some take TSUMI for a draw
            return ["%TORYO"]
        if ending := _said(end, "", replay.turn):
            return [ending]
    elif last.end[1] is not None:
        return []
    if record.result is None:
        return []
    words = {1: ("win", "lose"), 0: ("draw", "draw"), -1: ("lose", "win")}[record.result]
    names = [one_line(name).replace(":", " ")[:60].strip() or "?" for name in record.names]
    sides = ":".join(f"{name} {word}" for name, word in zip(names, words, strict=True))
    return [f"'summary:{record.reason or 'end'}:{sides}"]
