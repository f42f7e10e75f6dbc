"""JKF, the JSON form of shogi records that web programs use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from ....errors import AzError, DataError
from ....records.record import ILLEGAL, Ending, Node, Record
from ....records.text import decode_japanese, read_whole
from .. import notation
from ..rules import DROPS, PROMOTES
from ..state import BLACK, HELD, SQUARES
from . import csa_writer, moves
from .reader import Draft, end_of, usual_end
from .replay import Replay, board_move, code_of, drop_move
from .words import CODES, CSA_ENDINGS, HANDICAPS, KIF_HEADERS, NAMES, PLAYERS, PRESETS

_STARTS = dict(zip(PRESETS, HANDICAPS.values(), strict=False))
# What stands for one character in a text of JSON; one half of a pair of surrogates is none
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_WAYS = {"L": "左", "C": "直", "R": "右", "U": "上", "M": "寄", "D": "引", "H": "打"}


def read(stream: BinaryIO) -> Iterator[Record]:
    """The game of a file, or the games of a list. Errors: DataError when it is no JKF."""
    try:
        result = json.loads(_ESCAPE.sub(_whole_character, decode_japanese(read_whole(stream))))
    except (ValueError, RecursionError):
        raise DataError("it is no JKF: it is no JSON") from None
    games = result if isinstance(result, list) else [result]
    for game in games:
        if not isinstance(game, dict) or not isinstance(game.get("moves"), list):
            raise DataError("it is JSON, but no JKF: it has no list of moves")
        yield _JkfReader(game).record()
    if not games:
        raise DataError("there is no JKF game in it")


def _whole_character(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape["half"] else escape[0]


class _JkfReader:
    def __init__(self, game: dict[str, Any]) -> None:
        self._game, self._draft = game, Draft()

    def record(self) -> Record:
        draft = self._draft
        try:
            header = _dict(_given(self._game.get("header"), {}))
            self._start(_dict(self._game.get("initial") or {"preset": "HIRATE"}))
            self._headers(header)
            self._read()
        except AzError as error:
            draft.fault = draft.fault or str(error)
        return draft.record()

    def _headers(self, header: dict[str, Any]) -> None:
        for key, value in header.items():
            if key in PLAYERS:
                self._draft.names[PLAYERS[key]] = str(value)
            elif key != "手合割":
                self._draft.header(KIF_HEADERS.get(key, key), str(value))

    def _start(self, initial: dict[str, Any]) -> None:
        preset = str(initial.get("preset", ""))
        if preset in _STARTS:
            self._draft.start_from(_STARTS[preset])
            return
        if preset != "OTHER":
            raise DataError(f"the preset {moves.shown(preset)} is no start of JKF")
        data = _dict(initial.get("data"))
        board, hands = [0] * SQUARES, [[0] * HELD, [0] * HELD]
        for file, column in enumerate(_list(data.get("board"))[:9]):
            for rank, cell in enumerate(_list(column)[:9]):
                if kind := _dict(cell).get("kind"):
                    board[9 * file + rank] = _piece_of(kind) + 16 * int(_dict(cell).get("color") == 1)
        for side, hand in enumerate(_list(_given(data.get("hands"), []))[:2]):
            for kind, number in _dict(hand).items():
                if number and _piece_of(kind) <= HELD:
                    hands[side][_piece_of(kind) - 1] = _whole(number)
        self._draft.start(board, hands, int(data.get("color") == 1))

    def _read(self) -> None:
        """All moves with their forks: a fork replaces the move that it stands at."""
        draft = self._draft
        waiting: list[tuple[int, list[Any]]] = [(0, _list(self._game["moves"]))]
        while waiting:
            ply, entries = waiting.pop()
            forks: list[tuple[int, list[Any]]] = []
            if ply:
                self._vary(ply)
            for i, entry in enumerate(map(_dict, entries)):
                at = ply + i
                forks += [(at, _list(fork)) for fork in reversed(_list(_given(entry.get("forks"), [])))]
                if not draft.dead:
                    try:
                        self._take(entry, at)
                    except AzError as error:
                        draft.spoil(f"move {at}", error)
                        if isinstance(entry.get("comments"), list):
                            self._comment(entry)
                elif not draft.varying and entry.get("special"):
                    self._end(str(entry["special"]))
                else:
                    remarks = entry.get("comments")
                    draft.skip(int("move" in entry), len(remarks) if isinstance(remarks, list) else 0)
            waiting += forks

    def _vary(self, ply: int) -> None:
        try:
            self._draft.vary(ply)
        except DataError as error:
            self._draft.spoil(f"move {ply}", error)

    def _take(self, entry: dict[str, Any], at: int) -> None:
        draft = self._draft
        if draft.ended and (entry.get("move") or entry.get("special")):
            rest = {name: value for name, value in entry.items() if name not in ("comments", "forks")}
            draft.behind(f"move {at}", json.dumps(rest, ensure_ascii=False))
        else:
            self._move_or_end(entry, at)
        self._comment(entry)

    def _comment(self, entry: dict[str, Any]) -> None:
        for comment in _list(entry.get("comments") or []):
            self._draft.comment(str(comment))
        self._draft.settle()

    def _move_or_end(self, entry: dict[str, Any], at: int) -> None:
        draft = self._draft
        if entry.get("move"):
            replay = draft.replay
            assert replay is not None
            draft.attempt(json.dumps(entry["move"]), partial(_move, replay, _dict(entry["move"])))
        if entry.get("special"):
            self._end(str(entry["special"]))
        elif not entry.get("move") and at and not entry.get("comments"):
            raise DataError("an entry has neither move nor special")
        if isinstance(entry.get("time"), dict):
            now = _dict(_given(entry["time"].get("now"), {}))
            hours, minutes, seconds = (now.get(unit) or 0 for unit in "hms")
            draft.node.seconds = _number(hours) * 3600 + _number(minutes) * 60 + _number(seconds)

    def _end(self, word: str) -> None:
        draft = self._draft
        turn = BLACK if draft.replay is None else draft.replay.turn
        if word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION") and not draft.dead:
            draft.end(("illegal move", 1 if "+-".index(word[0]) != turn else -1))
        else:
            known = word in CSA_ENDINGS and word != "TSUMI"
            draft.end(
                CSA_ENDINGS.get(word, ("illegal move" if "ILLEGAL" in word else "", None)), CSA="" if known else word
            )


def _given(value: Any, usual: Any) -> Any:
    """A value, the usual one for null."""
    return usual if value is None else value


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{moves.shown(json.dumps(value))} stands where an object should be")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(f"{moves.shown(json.dumps(value))} stands where a list should be")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise DataError(f"{moves.shown(json.dumps(value))} is no time")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 99:
        raise DataError(f"{moves.shown(json.dumps(value))} is no number of pieces")
    return value


def _piece_of(kind: Any) -> int:
    if kind not in CODES:
        raise DataError(f"{moves.shown(str(kind))} is no piece")
    return CODES.index(kind) + 1


def _place(value: Any) -> int:
    x, y = _whole(_dict(value).get("x")), _whole(_dict(value).get("y"))
    if not (1 <= x <= 9 and 1 <= y <= 9):
        raise DataError(f"there is no square {x}{y}")
    return 9 * (x - 1) + y - 1


def _move(replay: Replay, move: dict[str, Any]) -> int:
    """The move of an entry, whose origin may be left out where a word tells it. Errors: DataError, PositionError."""
    to = _place(move["to"]) if move.get("to") else replay.last_target if move.get("same") else None
    if to is None:
        raise DataError("a move goes nowhere")
    piece, promotes = _piece_of(move.get("piece")), bool(move.get("promote"))
    if move.get("from"):
        return board_move(replay, _place(move["from"]), to, piece) + PROMOTES * promotes
    words = "".join(_WAYS.get(letter, "") for letter in str(move.get("relative", "")))
    if words in ("", "打") and not promotes and "promote" not in move:
        try:
            return drop_move(to, piece) if words else moves.parse(replay, f"{moves.square(to)}{NAMES[piece - 1]}")
        except AzError:
            return drop_move(to, piece)
    return moves.parse(replay, f"{moves.square(to)}{NAMES[piece - 1]}{words}{'成' if promotes else ''}")


# ---- writing


def write(record: Record) -> str:
    """One game as JKF. Errors: PositionError."""
    replay = Replay.of(record.tree.position)
    keys = {ours: theirs for theirs, ours in KIF_HEADERS.items()}
    header = {keys.get(name, name): text for name, text in record.headers.items()}
    sides = (
        ("先手", "後手") if replay.turn == BLACK or record.tree.position not in HANDICAPS.values() else ("下手", "上手")
    )
    header |= {side: name for side, name in zip(sides, record.names, strict=True) if name}
    game = {"header": header, "initial": _initial(replay, record.tree.position), "moves": _entries(record, replay)}
    return json.dumps(game, ensure_ascii=False, indent=1) + "\n"


def _initial(replay: Replay, root: str | None) -> dict[str, Any]:
    presets = {sfen: name for name, sfen in _STARTS.items()}
    if (root or notation.START) in presets:
        return {"preset": presets[root or notation.START]}
    board, hands = replay.state["board"].tolist(), replay.state["hands"].tolist()
    cells = [[_cell(board[9 * file + rank]) for rank in range(9)] for file in range(9)]
    held = [{CODES[kind]: hand[kind] for kind in range(HELD)} for hand in hands]
    return {"preset": "OTHER", "data": {"color": replay.turn, "board": cells, "hands": held}}


def _cell(piece: int) -> dict[str, Any]:
    return {"color": piece >> 4, "kind": CODES[(piece & 15) - 1]} if piece else {}


def _entries(record: Record, replay: Replay) -> list[dict[str, Any]]:
    """The main line; forks stand at the moves that they replace."""
    tree = record.tree
    main: list[dict[str, Any]] = [_comments(tree)]
    spent, turn = [(0.0, 0.0)], replay.turn
    waiting = [(0, tree.children[0], main, tree.children[1:])] if tree.children else []
    while waiting:
        ply, node, entries, others = waiting.pop()
        replay.back_to(ply)
        del spent[ply + 1 :]
        while True:
            entries.append(_entry(replay, node, spent))
            forks: list[list[dict[str, Any]]] = [[] for _ in others]
            waiting += [(ply, other, fork, []) for other, fork in zip(others, forks, strict=True)]
            if forks:
                entries[-1]["forks"] = forks
            if not node.children:
                break
            ply, others, node = len(replay.moves), node.children[1:], node.children[0]
        turn = replay.turn if entries is main else turn
    end = usual_end(record.reason, record.result, turn)
    if end is not None and list(tree.line())[-1].end is None:
        main.append({"special": _special(end, "", turn)})
    return main


def _entry(replay: Replay, node: Node, spent: list[tuple[float, float]]) -> dict[str, Any]:
    """A move, which is played, or an end."""
    entry, turn = _comments(node), replay.turn
    if node.seconds is not None:
        now = node.seconds
        total = spent[-1][turn] + now
        entry["time"] = {"now": _clock(now), "total": {"h": int(total) // 3600, **_clock(total % 3600)}}
    if node.move and ILLEGAL not in node.more:
        entry["move"] = _move_entry(replay, notation.parse_usi(replay.state, node.move, replay.legal_moves()))
        replay.play_usi(node.move)
        times = [*spent[-1]]
        times[turn] += node.seconds or 0.0
        spent.append((times[0], times[1]))
    elif node.move:
        entry["move"] = _move_entry(replay, code_of(node.move))
    elif node.end is not None:
        entry["special"] = _special(node.end, node.more.get("CSA", ("",))[0], turn)
    return entry


def _comments(node: Node) -> dict[str, Any]:
    text = "\n".join(filter(None, (node.before, node.comment, *(() if node.move else node.more.get(ILLEGAL, ())))))
    return {"comments": text.split("\n")} if text else {}


def _clock(seconds: float) -> dict[str, int]:
    return {"m": int(seconds) // 60, "s": int(seconds) % 60}


def lost(record: Record) -> list[str]:
    """What JKF cannot say of a record, beside what its format lists: its ends are those of CSA."""
    last, end = list(record.tree.line())[-1], end_of(record)
    ends = [(node, node.end) for node in record.tree.descendants() if node is not last and node.end is not None]
    results = csa_writer.unreasoned(record)
    ends += [(last, end)] if end is not None and not results else []
    for node, each in ends:
        word = node.more.get("CSA", ("",))[0]
        special = _special(each, word, BLACK)
        if not csa_writer.tells(special, each, word, ruled=node is last):
            results.append(csa_writer.changed(node, each, special.lstrip("+-")))
    return results


def _special(end: Ending, word: str, turn: int) -> str:
    statement = csa_writer.statement(end, word, turn)
    return statement.removeprefix("%") or ("TORYO" if end[1] == -1 else "HIKIWAKE" if end[1] == 0 else "CHUDAN")


def _move_entry(replay: Replay, code: int) -> dict[str, Any]:
    """A move as JKF describes it; it need not be legal."""
    to, source = code & 127, code >> 7 & 127
    board, legal = replay.state["board"], replay.legal_moves()
    piece = source - DROPS + 1 if source >= DROPS else int(board[source]) & 15
    move: dict[str, Any] = {"color": replay.turn, "piece": CODES[piece - 1], "to": _square(to)}
    if source >= DROPS:
        move |= {"relative": "H"} if moves.sources(replay, to, piece) else {}
        return move
    move["from"] = _square(source)
    if replay.last_target == to:
        move["same"] = True
    if code & PROMOTES or code ^ PROMOTES in legal:
        move["promote"] = bool(code & PROMOTES)
    if board[to]:
        move["capture"] = CODES[(int(board[to]) & 15) - 1]
    if code in legal and (words := moves.way(replay, code)):
        letters = {word: letter for letter, word in _WAYS.items()}
        move["relative"] = "".join(letters[word] for word in words)
    return move


def _square(square: int) -> dict[str, int]:
    return {"x": square // 9 + 1, "y": square % 9 + 1}
