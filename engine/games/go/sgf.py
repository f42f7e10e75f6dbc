"""SGF files (FF[4]): sgfmill reads and writes them, our own rules check every move.

A record is a game's main line. Stones that are set up begin it; those set up later begin it anew, so that its last
position is the file's. Two moves of one colour running have :data:`notation.SKIP` between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
from sgfmill import sgf, sgf_grammar

from ...errors import DataError, IllegalMoveError, PositionError
from ..factory import line_kernel
from ..record import MAX_PLIES, Reason, Record, RecordFormat
from . import notation, rules
from .notation import SKIP
from .planes import encoder
from .rulesets import TERRITORY, rule_set, rules_of
from .state import BLACK, EMPTY, STATE, WHITE, State, stones_from_array, stones_to_array

_play_in_line = line_kernel(rules.PLAY)
Place = tuple[int, int]  # row from below and column, as sgfmill counts

MAX_BYTES = 16 << 20  # of a file
MAX_MARKS = 400_000  # brackets and semicolons in it: each becomes an object
HEADERS = {
    "EV": "Event",
    "PC": "Site",
    "DT": "Date",
    "RO": "Round",
    "TM": "TimeControl",
    "RU": "Rules",
    "ON": "Opening",
}
_RULES = {
    "nz": "new-zealand",
    "new zealand": "new-zealand",
    "bga": "aga",
    "chinese, pair go": "chinese",
    "cn": "chinese",
    "jp": "japanese",
    "korean": "japanese",
    "kr": "japanese",
}
_NAMES = {"chinese": "Chinese", "aga": "AGA", "new-zealand": "NZ", "japanese": "Japanese"}
_FOX: dict[float, float] = {
    275: 5.5,
    325: 6.5,
    350: 7.0,
    375: 7.5,
    550: 5.5,
    650: 6.5,
    700: 7.0,
    750: 7.5,
}  # komi as Fox writes it
_CHARSET = re.compile(
    r"utf-?8|us-?ascii|ascii|latin-?[0-9]|iso-?8859-?[0-9]+|(windows-?|cp)[0-9]+|gb2312|gbk|gb18030|big5(hkscs)?"
    r"|euc[-_]?(jp|kr|cn)|shift[-_]?jis|sjis|koi8-?[ru]",
    re.IGNORECASE,
)
_LETTERS = "bw"  # of BLACK and WHITE
_REASONS: dict[str, Reason] = {"R": "resignation", "T": "time", "F": "forfeit"}
_LETTER_OF = {reason: letter for letter, reason in _REASONS.items()} | {"illegal move": "F"}


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a file. Errors: DataError when there is none, or it is too large to be one."""
    content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise DataError(f"it is larger than {MAX_BYTES >> 20} MiB; split it")
    if sum(map(content.count, (b"(", b";", b"["))) > MAX_MARKS:
        raise DataError(f"it has more than {MAX_MARKS} nodes, variations and properties; split it")
    try:
        trees = sgf_grammar.parse_sgf_collection(content)
    except ValueError as error:
        raise DataError("it is not SGF, or is damaged") from error
    for number, tree in enumerate(trees, 1):
        try:
            game = sgf.Sgf_game.from_coarse_game_tree(tree, _other_encoding(tree))
        except ValueError as error:  # of sgfmill: a size or character set that it does not know
            raise DataError(f"game {number} has a board size or a character set that cannot be read") from error
        yield _SgfReader(game).record()


def _other_encoding(tree: Any) -> str | None:
    """What a game is read as instead of what it says; None when that is one of the character sets of people.

    Python knows more, such as Punycode, which takes hours for a long comment.
    """
    said = tree.sequence[0].get("CA", [b""])[0].decode("latin-1").strip()
    return None if not said or _CHARSET.fullmatch(said) else "latin-1"


class _SgfReader:
    """One game on its way from sgfmill's tree to a record."""

    def __init__(self, game: Any) -> None:
        self._game = game
        self._size = int(game.get_size())
        self._headers: dict[str, str] = {}
        self._line = np.empty(1, STATE)
        self._count = 1  # positions in _line
        self._moves: list[str] = []
        self._comments: list[str] = []

    def record(self) -> Record:
        fault = ""
        try:
            self._line[0] = notation.empty_board(self._size, self._size, *self._komi_and_rules())[0]
            for number, node in enumerate(self._game.main_sequence_iter()):
                if number > MAX_PLIES:
                    raise PositionError(f"the game is longer than {MAX_PLIES} moves and is read no further")
                self._take(node)
        except PositionError as error:
            fault = str(error)
        result, reason = _result(_text(self._game.get_root(), "RE"))
        root = self._game.get_root()
        names = (_text(root, "PB"), _text(root, "PW"))
        comments = tuple(self._comments) if any(self._comments) else ()
        start = notation.format_position(self._line[0]) if self._size >= 2 else None
        return Record(tuple(self._moves), start, result, reason, names, (), comments, self._headers, fault)

    def _komi_and_rules(self) -> tuple[float, str]:
        """What the file says; else 0 and Tromp-Taylor, and ``headers`` lack "Komi", or "RuleSet", our name of them."""
        root, headers = self._game.get_root(), self._headers
        for name, header in HEADERS.items():
            text = _text(root, name)
            if text:
                headers[header] = text
        wanted = headers.get("Rules", "").strip()
        for name in (wanted, _RULES.get(wanted.lower(), wanted.lower())):
            with suppress(PositionError):
                headers["RuleSet"] = rule_set(name).name
        rules = headers.get("RuleSet", "tromp-taylor")
        komi = _komi(_text(root, "KM"))
        if komi is not None:
            headers["Komi"] = f"{komi:g}"
        return komi or 0.0, rules

    def _take(self, node: Any) -> None:
        try:
            black, white, cleared = node.get_setup_stones()
        except ValueError:
            raise PositionError("stones are set up on what is no point of the board") from None
        if black or white or cleared or node.has_property("PL"):
            self._set_up(black, white, cleared, _text(node, "PL"))
        colour, point = _move(node)
        if colour is not None:
            self._play(colour, point)
        if not self._comments:
            self._comments.append("")
        self._comments += [""] * (len(self._moves) + 1 - len(self._comments))
        self._comments[-1] = "\n".join(filter(None, (self._comments[-1], _text(node, "C"))))

    def _set_up(self, black: set[Place], white: set[Place], cleared: set[Place], player: str) -> None:
        state = self._line[self._count - 1 : self._count].copy()
        ahead = notation.stones_ahead(state[0])
        board = stones_to_array(state[0])
        for colour, points in ((BLACK, black), (WHITE, white), (EMPTY, cleared)):
            for row, column in points:
                board[(self._size - 1 - row) * self._size + column] = colour
        state["stones"] = stones_from_array(board[None])
        state["ko"], state["passes"] = -1, 0
        if state[0]["rules"] & TERRITORY:  # stones that are set up are no prisoners
            state["played"] += notation.stones_ahead(state[0]) - ahead
        if not self._moves and len(black) > 1 and not white:
            state["handicap"] = len(black)
            state["turn"] = WHITE
        if player.lower() in (*_LETTERS,):
            state["turn"] = _LETTERS.index(player.lower())
        if rules.settle_all(state)[1] >= 0:
            raise PositionError("stones are set up without a liberty")
        self._line, self._count = state, 1
        self._moves.clear()
        self._comments.clear()

    def _play(self, colour: int, point: int) -> None:
        state = self._line[self._count - 1]
        words = [SKIP] if int(state["turn"]) != colour else []
        if words and not self._moves and self._count == 1:  # the file's first move says who begins
            self._line["turn"] = colour
            words = []
        for word in (*words, notation.vertex(point, self._size, self._size)):
            line = self._line[: self._count]
            try:
                move = notation.parse_move(line[-1], word, encoder(self._size, self._size).look(line)[0])
            except IllegalMoveError as error:
                del self._moves[len(self._moves) - len(words) :]
                raise IllegalMoveError(f"move {len(self._moves) + 1 - self._moves.count(SKIP)} is illegal") from error
            self._extend(move)
            self._moves.append(word)

    def _extend(self, move: int) -> None:
        if self._count == len(self._line):
            self._line = np.concatenate([self._line, np.zeros(max(64, self._count), STATE)])
        _play_in_line(self._line, self._count - 1, move)
        self._count += 1


def _move(node: Any) -> tuple[int | None, int]:
    """(BLACK, WHITE or None, the point or pass) of a node. Errors: PositionError."""
    try:
        letter, place = node.get_move()
    except ValueError:
        raise PositionError("a move that is no point of the board") from None
    if letter is None:
        return None, 0
    size = node.get_size()
    point = size * size if place is None else (size - 1 - place[0]) * size + place[1]
    return _LETTERS.index(letter), point


def _text(node: Any, name: str) -> str:
    try:
        return str(node.get(name)) if node.has_property(name) else ""
    except ValueError:  # of sgfmill: text that is not in the character set it claims
        return ""


def _komi(text: str) -> float | None:
    """Komi in points; None when the text is no number of half points.

    A quarter says that it counts stones, which are worth two points: 3.75 is 7.5.
    """
    try:
        komi = float(text) if text.isascii() else math.nan
        komi = _FOX.get(komi, 2 * komi if komi % 0.5 else komi)
        notation.half_points(komi)
    except (ValueError, OverflowError, PositionError):
        return None
    return komi


def _result(text: str) -> tuple[int | None, Reason]:
    winner, _, how = text.strip().partition("+")
    if winner in ("B", "W"):
        return (1 if winner == "B" else -1), _REASONS.get(how.strip()[:1].upper(), "")
    return (0, "") if winner in ("0", "Draw") else (None, "interrupted" if winner == "Void" else "")


def write(record: Record) -> str:
    """One game as SGF. Errors: PositionError when the moves do not fit the position they begin from."""
    if record.root is None:
        raise PositionError("a game of Go is written with the position it begins from: its size is not known otherwise")
    start = notation.parse_position(record.root)[0][0]
    size, rows = notation.size_of(start)
    if size != rows:
        raise PositionError(f"games on a {size}x{rows} board are not written as SGF here: only square boards are")
    game = sgf.Sgf_game(size=size)
    root = game.get_root()
    rule_set = rules_of(int(start["rules"])).name
    root.set("AP", ("az-engine", "1"))
    root.set("KM", int(start["komi"]) / 2)
    root.set("RU", _NAMES.get(rule_set, rule_set))
    for name, text in zip(("PB", "PW"), record.names, strict=True):
        if text:
            root.set(name, text)
    for name, header in HEADERS.items():
        if header in record.headers and name != "RU":
            root.set_raw(name, sgf_grammar.escape_text(record.headers[header].encode()))
    if record.result is not None:
        letter = _LETTER_OF.get(record.reason, record.headers.get("Margin", ""))
        root.set("RE", {1: f"B+{letter}", 0: "0", -1: f"W+{letter}"}[record.result])
    _write_start(root, start)
    _write_moves(game, root, record, int(start["turn"]))
    return str(game.serialise().decode())


def _write_start(root: Any, start: State) -> None:
    size = int(start["columns"])
    board = stones_to_array(start)
    places = [{_place(int(p), size) for p in np.flatnonzero(board == colour)} for colour in (BLACK, WHITE)]
    if int(start["handicap"]) > 1:
        root.set("HA", int(start["handicap"]))
    if any(places):
        root.set_setup_stones(*places)
        root.set("PL", _LETTERS[int(start["turn"])])


def _write_moves(game: Any, root: Any, record: Record, turn: int) -> None:
    size = root.get_size()
    comments = record.comments or [""] * (len(record.moves) + 1)
    times = record.times or [None] * len(record.moves)
    if comments[0]:
        root.set("C", comments[0])
    for word, said, seconds in zip(record.moves, comments[1:], times, strict=True):
        comment = ", ".join(filter(None, ("" if seconds is None else f"{seconds:.3f} s", said)))
        if word != SKIP:
            node = game.extend_main_sequence()
            try:
                point = notation.point_of(word, size, size)
            except ValueError:
                raise PositionError("a move that is no point of the board") from None
            node.set_move(_LETTERS[turn], None if point == size * size else _place(point, size))
            if comment:
                node.set("C", comment)
        turn = 1 - turn


def _place(point: int, size: int) -> Place:
    return size - 1 - point // size, point % size


FORMAT = RecordFormat("SGF", (".sgf",), read, write, "\n")
