"""Moves as people write them: ７六歩(77) of KIF, 5八金右 of KI2, P-7f of western books."""

from __future__ import annotations

import re

from ....errors import DataError, IllegalMoveError
from .. import notation
from ..rules import DROPS, PROMOTES
from ..state import BLACK, HELD, SQUARES, State
from .replay import Replay, board_move, drop_move
from .words import FILES, NAMES, NUMBER_OF, PIECE_OF, RANKS

_MOVE = re.compile(
    r"[▲△▼▽☗☖]?(?:(?P<file>[1-9１-９])(?P<rank>[1-9１-９一二三四五六七八九])|同)\s*"
    r"(?P<piece>成香|成桂|成銀|[歩步香桂銀角飛金玉王と杏圭全馬龍竜])"
    r"(?P<place>[左直右]?)(?P<motion>[上行引入寄]?)(?P<how>打|成|不成|生|)(?:\s*[(（](?P<origin>[1-9１-９][1-9１-９])[)）])?"
)
_LETTERS = "PLNSBRGK"
_WESTERN = re.compile(
    r"(?P<promoted>\+(?![GK]))?(?P<piece>[PLNSGBRK])(?P<way>[-x*]?)(?P<file>[1-9])(?P<rank>[1-9a-i])(?P<how>[+=]?)",
    re.IGNORECASE | re.ASCII,
)


class SeveralFitError(IllegalMoveError):
    """A text names a move of more than one piece."""


def shown(text: str) -> str:
    """A piece of the file for a message, short and printable."""
    text = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return repr(text if len(text) <= 40 else text[:37] + "...")


def parse(replay: Replay, text: str) -> int:
    """The move that a text begins with. Errors: DataError; IllegalMoveError where the rules know none like it."""
    return _move_of(replay, _matched(text), replay.last_target)


def written(text: str) -> str:
    """The move in a text, without what follows."""
    match = _MOVE.match(text)
    return "".join(str(match[0]).split()) if match is not None else text


def behind(text: str) -> str:
    """What follows the move in a text."""
    match = _MOVE.match(text)
    return text[match.end() :].strip() if match is not None else ""


def _matched(text: str) -> re.Match[str]:
    match = _MOVE.match(text)
    if match is None:
        raise DataError(f"{shown(text)} is no move")
    return match


def _move_of(replay: Replay, result: re.Match[str], last: int | None) -> int:
    """The move that a match of ``_MOVE`` names; ``last`` is where the move before it went. Errors: DataError."""
    to = 9 * NUMBER_OF[result["file"]] + NUMBER_OF[result["rank"]] if result["file"] else last
    if to is None:
        raise DataError(f"{shown(result.string)} goes where the move before it went, and there is none")
    return _resolve(replay, to, result)


def read_move(line: State, text: str) -> str:
    """A move that a person types (7六歩, 76歩, 同歩, 5五角打, P-7f, Bx2b+), in USI. Errors: IllegalMoveError."""
    typed, western = text, _WESTERN.fullmatch(text)
    if western:
        piece = NAMES[_LETTERS.index(western["piece"].upper()) + (8 if western["promoted"] else 0)]
        how = {"+": "成", "=": "不成", "": ""}[western["how"]]
        rank = western["rank"] if western["rank"].isdigit() else str(" abcdefghi".index(western["rank"].lower()))
        text = f"{western['file']}{rank}{piece}{'打' if western['way'] == '*' else how}"
    replay = Replay(line)
    try:
        move = _move_of(replay, _matched(text), _last_target(line))
    except DataError:
        raise IllegalMoveError(f"{typed[:20]!r} is no move; write it as 7g7f, 7六歩 or P-7f") from None
    except SeveralFitError:
        fault = f"several pieces can play {typed[:20]!r}; say which, as in 5八金右 or 4i5h"
        raise IllegalMoveError(fault) from None
    except IllegalMoveError:
        raise IllegalMoveError(f"{typed[:20]!r} is not a legal move here") from None
    if move not in replay.legal_moves():
        raise IllegalMoveError(f"{typed[:20]!r} is not a legal move here")
    return notation.format_usi(move)


def japanese(line: State, move: int) -> str:
    """A legal move in the last position of a line as Japanese people write it: ▲７六歩, △同　銀右."""
    return "▲△"[int(line[-1]["turn"])] + ki2(Replay(line), move, _last_target(line))


def _last_target(line: State) -> int | None:
    """The square that the last move of a line went to, None when there was none."""
    if len(line) < 2:
        return None
    now, before = line[-1]["board"], line[-2]["board"]
    return next((i for i in range(SQUARES) if now[i] and now[i] != before[i]), None)


def _resolve(replay: Replay, to: int, result: re.Match[str]) -> int:
    """The move that a text names, by its origin or by the words for its way. Errors: IllegalMoveError."""
    piece, promotes = PIECE_OF[result["piece"]], result["how"] == "成"
    if result["origin"]:
        source = 9 * NUMBER_OF[result["origin"][0]] + NUMBER_OF[result["origin"][1]]
        return board_move(replay, source, to, piece) + PROMOTES * promotes
    drop = drop_move(to, piece) if piece <= HELD else None
    if result["how"] == "打":
        return drop_move(to, piece)
    fitting = sources(replay, to, piece)
    if not fitting:
        if drop is None or result["how"]:
            raise IllegalMoveError(f"no {result['piece']} can go there in {notation.format_sfen(replay.state)}")
        return drop
    fitting = _narrow(fitting, to, replay.turn, result["place"], result["motion"])
    if len(fitting) != 1:
        raise SeveralFitError(f"{len(fitting)} pieces can play it in {notation.format_sfen(replay.state)}")
    return to + (fitting[0] << 7) + PROMOTES * promotes


def sources(replay: Replay, to: int, piece: int) -> list[int]:
    """The squares from which a piece of the side to move can go to one, from the mover's right to its left."""
    turn, board = replay.turn, replay.state["board"]
    ours = piece + 16 * turn
    moves = [m for m in replay.legal_moves() if m & 127 == to and m >> 7 & 127 < DROPS and board[m >> 7 & 127] == ours]
    return sorted({m >> 7 & 127 for m in moves}, key=lambda square: square if turn == BLACK else -square)


def _narrow(squares: list[int], to: int, turn: int, place: str, motion: str) -> list[int]:
    """The squares that fit the words for place and motion, from the mover's right to its left."""
    ahead = 1 if turn == BLACK else -1  # what a square behind has more of rank
    if motion or place == "直":
        requested = 0 if motion == "寄" else -1 if motion in ("引", "入") else 1
        behind = [(s, ((s % 9 - to % 9) * ahead > 0) - ((s % 9 - to % 9) * ahead < 0)) for s in squares]
        squares = [s for s, way in behind if way == requested]
    if place == "直":
        squares = [s for s in squares if s // 9 == to // 9]
    elif place and squares:
        extreme = squares[0 if place == "右" else -1] // 9
        squares = [s for s in squares if s // 9 == extreme]
    return squares


def square(to: int) -> str:
    """A square as in ７六."""
    return FILES[to // 9] + RANKS[to % 9]


def kif(replay: Replay, move: int) -> str:
    """A move as KIF writes it, with its origin; it need not be legal."""
    to, source = move & 127, move >> 7 & 127
    target = "同　" if replay.last_target == to else square(to)
    if source >= DROPS:
        return f"{target}{NAMES[source - DROPS]}打"
    piece = int(replay.state["board"][source]) & 15
    promotes = "成" if move & PROMOTES else ""
    return f"{target}{NAMES[piece - 1]}{promotes}({source // 9 + 1}{source % 9 + 1})"


def ki2(replay: Replay, move: int, last: int | None = None) -> str:
    """A legal move as KI2 writes it, distinguished by words for its way; last: where the move before it went."""
    to, source = move & 127, move >> 7 & 127
    target = "同" if to in (replay.last_target, last) else square(to)
    if source >= DROPS:
        piece = source - DROPS + 1
        return f"{target}{NAMES[piece - 1]}{'打' if sources(replay, to, piece) else ''}"
    piece = int(replay.state["board"][source]) & 15
    sides = {move, move ^ PROMOTES}
    how = "" if len(sides & set(replay.legal_moves())) < 2 else "成" if move & PROMOTES else "不成"
    how = how or ("成" if move & PROMOTES else "")
    name = f"{'　' if target == '同' and len(NAMES[piece - 1]) == 1 else ''}{NAMES[piece - 1]}"
    return f"{target}{name}{way(replay, move)}{how}"


def way(replay: Replay, move: int) -> str:
    """The words that tell a legal move of a piece on the board from those of others of its kind, such as 右 or 引."""
    to, source = move & 127, move >> 7 & 127
    piece = int(replay.state["board"][source]) & 15
    fitting = sources(replay, to, piece)
    if len(fitting) == 1:
        return ""
    straight = ("直",) if piece not in (13, 14) else ()  # not of horses and dragons
    for words in ("上", "寄", "引", *straight, "右", "左", "右上", "左上", "右寄", "左寄", "右引", "左引"):
        place, motion = (words, "") if words in "直右左" else (words[:-1], words[-1])
        if _narrow(fitting, to, replay.turn, place, motion) == [source]:
            return str(words)
    raise DataError(f"the way of {notation.format_usi(move)} cannot be told in words")
