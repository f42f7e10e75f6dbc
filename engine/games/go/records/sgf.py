"""Reads SGF files (FF[1] to FF[4]): sgfmill parses them, our own rules check the main line.

Every property stays in ``Node.more`` as it was written. Stones that are set up in the main line begin it anew, so that
a record's last position is the file's. Two moves of one colour running have :data:`notation.SKIP` between them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from ....errors import DataError, IllegalMoveError, PositionError, quoted
from ....records.formats import MAX_PLIES
from ....records.record import ILLEGAL, Node, Record
from ....records.text import detect, foreign_of, is_utf8, likely, read_whole, unicode_of
from ...factory import line_kernel
from .. import notation, rules
from ..encoders.planes import encoder
from ..notation import SKIP
from ..rulesets import TERRITORY, rule_set
from ..state import BLACK, EMPTY, STATE, WHITE, stones_from_array, stones_to_array
from . import terms
from .grammar import sgf_grammar
from .mended import mended

_play_in_line = line_kernel(rules.PLAY)
Properties = dict[str, tuple[str, ...]]  # as they are written, escapes and all

MAX_MARKS = 400_000  # brackets and semicolons in a file: each becomes an object
HEADERS = {
    "EV": "Event",
    "PC": "Site",
    "DT": "Date",
    "RO": "Round",
    "TM": "TimeControl",
    "RU": "Rules",
    "ON": "Opening",
}
_SIMPLE_KO = "koSIMPLEscoreAREAtaxNONEsui1"  # Tromp-Taylor's rules but for the ko
_CHARSET = re.compile(
    r"utf-?8|us-?ascii|ascii|latin-?[0-9]|iso-?8859-?[0-9]+|(windows-?|cp)[0-9]+|gb2312|gbk|gb18030|big5([-_]?hkscs)?"
    r"|euc[-_]?(jp|kr|cn)|shift[-_]?jis|sjis|koi8-?[ru]|ks_?c_?5601.*|uhc",
    re.IGNORECASE,
)
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euccn": "gb18030",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "euckr": "cp949",
}
_CA = re.compile(rb"CA\s*\[([^\]]{0,40})\]")
_VALUE = re.compile(rb"\[(?:[^\]\\]|\\.)*(\]|\\?\Z)", re.DOTALL)  # or what there is of it
_UNFINISHED = string.ascii_letters.encode() + b" \t\r\n("  # no node, and no property with a value
_SPENT = re.compile(r"([0-9]{1,9}\.[0-9]{3}) s(?:, |$)", re.ASCII)  # how times stand in files of matches


def read(stream: BinaryIO) -> Iterator[Record]:
    """The games of a file. Errors: DataError when there is none, or it is too large to be one."""
    content = read_whole(stream)
    if sum(map(content.count, (b"(", b";", b"["))) > MAX_MARKS:
        raise DataError(f"it has more than {MAX_MARKS} nodes, variations and properties; split it")
    lost: dict[int, str] = {}
    try:
        try:
            trees, cut = _trees_and_cut(content)
        except ValueError:
            content, lost = mended(content.decode(encoding_of(content) or "latin-1", "replace").encode())
            trees, cut = _trees_and_cut(content)
    except ValueError as error:
        raise DataError("it is not SGF, or is damaged") from error
    for number, tree in enumerate(trees, 1):
        record = _SgfReader(tree).record()
        record.fault = "; ".join(filter(None, (record.fault, lost.get(number, ""))))
        if cut and number == len(trees):
            record.fault = record.fault or "the file ends within a comment, a move or another property, which is cut"
        yield record


def _trees_and_cut(content: bytes) -> tuple[list[Any], bool]:
    """The games of a file, and whether it ends within a property. Errors: ValueError."""
    try:
        return _trees(content), False
    except ValueError:
        whole, cut = _closed(content)
        return _trees(whole), cut


def _trees(content: bytes) -> list[Any]:
    """The games of a file, in UTF-8. Errors: ValueError."""
    name = encoding_of(content)
    text = content.decode(name, "replace") if name is not None else ""
    if name is not None and len(set(_CA.findall(content))) < 2 and not _escaped_as_bytes(text, name):
        try:
            results: list[Any] = sgf_grammar.parse_sgf_collection(text.encode())
        except ValueError:
            if is_utf8(content) or unicode_of(content):
                raise
        else:
            return results
    trees = sgf_grammar.parse_sgf_collection(content)  # each in its own encoding, or escaped before it was encoded
    for tree in trees:
        _translate(tree)
    return list(trees)


def _closed(content: bytes) -> tuple[bytes, bool]:
    """A file that ends too early, with what it lacks at its end, and whether this is more than brackets around nodes.

    Errors: ValueError for one that does not.
    """
    values = list(_VALUE.finditer(content))
    begun, half = b"", b""  # a value at the end, and the backslash of an escape of nothing
    if values and (half := values[-1][1]) != b"]":
        begun = values.pop()[0]
    outside = _VALUE.sub(b"", content)
    depth = outside.count(b"(") - outside.count(b")")
    if depth <= 0 or not values:
        raise ValueError("it does not end too early")
    if begun[1:].strip():
        whole = (content[: len(content) - cut] for cut in range(4))  # without half a character at its end
        return next((each for each in whole if _fits(each, "utf-8")), content) + half + b"]" + b")" * depth, True
    kept = content[: len(content) - len(begun)].rstrip(_UNFINISHED)
    rest = content[len(kept) :]
    return kept + b")" * (depth - rest.count(b"(")), bool(rest.strip(b" \t\r\n;("))


def _escaped_as_bytes(text: str, name: str) -> bool:
    """Whether a text was escaped after it was encoded: backslashes follow all characters that end with one in bytes."""
    if name.startswith(("utf", "latin")):
        return False
    ends = [i for i, letter in enumerate(text) if letter > "\x7f" and letter.encode(name, "ignore").endswith(b"\\")]
    return bool(ends) and all(text[i + 1 : i + 2] == "\\" for i in ends)


def _translate(tree: Any) -> None:
    """Put the properties of one game into UTF-8."""
    waiting, nodes = [tree], []
    while waiting:
        part = waiting.pop()
        nodes += part.sequence
        waiting += part.children
    values = [sgf_grammar.text_value(value) for node in nodes for each in node.values() for value in each]
    charset = b"CA[%s]" % b"".join(tree.sequence[0].get("CA", [])[:1])
    name = encoding_of(charset + b"\n".join(b"[%s]" % value for value in values)) or "latin-1"
    for node in nodes:
        for key, each in node.items():
            node[key] = [value if value.isascii() else _translated(value, name) for value in each]


def _translated(value: bytes, name: str) -> bytes:
    """A property in UTF-8, with the escapes of its colons, which may part it in two."""
    parts = re.findall(rb"\\:|(?:[^\\]|\\[^:]|\\\Z)+", value, re.DOTALL)
    return b"".join(part if part == rb"\:" else _in_utf8(part, name) for part in parts)


def _in_utf8(part: bytes, name: str) -> bytes:
    escaped: bytes = sgf_grammar.escape_text(sgf_grammar.text_value(part).decode(name, "replace").encode())
    return escaped


def encoding_of(content: bytes) -> str | None:
    """The encoding of a file: Unicode if it can be, else what it says of itself, unless it is wrong; None: unknown."""
    if (name := unicode_of(content)) or is_utf8(content):
        return name or "utf-8"
    match = _CA.search(content)
    foreign = foreign_of(content)
    names = [*_declared(match[1].decode("latin-1").strip() if match else ""), detect(foreign)]
    fitting = [name for name in names if _fits(content, name)]
    bonus = {names[0]: 0.2}  # what a file says of itself is right more often than not

    def worth(name: str) -> float:
        return likely(foreign.decode(name, "replace"), name) + bonus.get(name, 0.0)

    return max(fitting, key=worth) if fitting else None


def _declared(name: str) -> list[str]:
    """Python's name of a character set of people; Python knows more, such as Punycode, which takes hours."""
    if not _CHARSET.fullmatch(name):
        return []
    plain = re.sub("[-_]", "", name.lower())
    if plain.startswith(("ksc5601", "uhc")):
        return ["cp949"]
    return ["latin-1" if plain in ("iso88591", "latin1", "ascii", "usascii") else _WIDER.get(plain, name)]


def _fits(content: bytes, name: str) -> bool:
    try:
        content.decode(name)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def text_of(values: tuple[str, ...]) -> str:
    """The text of a property, without its escapes; "" for none."""
    return _text(values[0]) if values else ""


def _text(value: str) -> str:
    return str(sgf_grammar.text_value(value.encode()).decode())


def _turn_in(node: Node) -> int:
    """The side to move in the position that a node sets up."""
    return "bw".index((node.position or "").split()[1])


class _SgfReader:
    """One game on its way from sgfmill's tree to a record."""

    def __init__(self, coarse: Any) -> None:
        self._coarse = coarse
        self._root = _properties(coarse.sequence[0])
        self._columns = self._rows = 19
        self._headers: dict[str, str] = {}
        self._line = np.empty(1, STATE)
        self._count = 1  # positions in _line
        self._played = 0  # moves of the main line, with SKIP
        self._turn = BLACK  # in variations, and after a fault
        self._checked = True  # the main line is read, and right so far
        self._nodes = 0
        self._fault = ""
        self._notes: list[str] = []
        self._tree = self._owner = Node()  # _owner: the node with the position that the main line begins from

    def record(self) -> Record:
        game = self._text("GM").strip() or "1"
        if game in terms.OTHERS:
            return Record(fault=f"this is a game of {terms.OTHERS[game]} (GM[{game}]), which no SGF file holds here")
        try:
            self._columns, self._rows = _size(self._text("SZ"))
            self._line[0] = notation.empty_board(self._columns, self._rows, *self._komi_and_rules())[0]
        except PositionError as error:
            return Record(names=(self._text("PB"), self._text("PW")), headers=self._headers, fault=str(error))
        self._read()
        self._look_for_handicap()
        result, reason, margin = terms.result_of_text(self._text("RE"))
        names = (self._text("PB"), self._text("PW"))
        assumed = (
            "" if self._text("KM").strip() else "the file says no komi and is judged at 0; for another add KM[6.5]"
        )
        note = "; ".join(self._notes)
        return Record(self._tree, result, reason, margin, names, self._headers, self._fault, note, assumed=assumed)

    def _text(self, name: str) -> str:
        return text_of(self._root.get(name, ()))

    def _komi_and_rules(self) -> tuple[float, str]:
        """What the file says; else 0 and Tromp-Taylor, and ``headers`` lack "Komi", or "RuleSet", our name of them."""
        headers = self._headers
        for name, header in HEADERS.items():
            text = self._text(name)
            if text:
                headers[header] = text
        if known := terms.rules_of_text(headers.get("Rules", "")):
            headers["RuleSet"] = known
        elif text := headers.get("Rules", "").strip():
            self._notes.append(f"the rules {quoted(text)} are not known and are read as Tromp-Taylor's")
        komi = terms.komi_of_text(self._text("KM"))
        if komi is not None:
            headers["Komi"] = f"{komi:g}"
        elif text := self._text("KM").strip():
            self._notes.append(f"the komi {quoted(text)} is no number of half points and is read as 0")
        return komi or 0.0, headers.get("RuleSet", "tromp-taylor")

    def _look_for_handicap(self) -> None:
        """Tell of a handicap without stones, set up or moved ahead of White's first move."""
        handicap, start = _whole(self._text("HA")), self._line[0]
        replies = [node.move for node in self._tree.line() if node.move][1::2]
        placed = replies[:1] == [SKIP] and int(start["turn"]) == BLACK
        if handicap > 1 and int(start["handicap"]) < 2 and not placed:
            self._notes.append(f"the handicap is {handicap}, but no stones are set up: the board begins empty")

    # ------------------------------------------------------------------ the tree

    def _read(self) -> None:
        """All nodes: the main line by the rules, variations as they stand."""
        start = notation.format_position(self._line[0])
        self._tree.position = start
        # turn None: the main line; a node: that of its position, which the first move of the main line may yet change
        waiting: list[tuple[Any, Node, int | Node | None]] = [(self._coarse, self._tree, None)]
        while waiting:
            coarse, node, turn = waiting.pop()
            if turn is not None:
                self._checked, self._turn = False, _turn_in(turn) if isinstance(turn, Node) else turn
            for raw in coarse.sequence:
                node = self._take(_properties(raw), node)
            turn = None if self._checked else self._turn
            after: int | Node = self._turn
            if self._checked:
                after = int(self._line[self._count - 1]["turn"]) if self._played else self._owner
            for i, child in reversed(list(enumerate(coarse.children))):
                waiting.append((child, node, turn if i == 0 else after))

    def _take(self, properties: Properties, before: Node) -> Node:
        """Add a node of the file below another; the last of ours that it becomes."""
        self._nodes += 1
        node = before if self._nodes == 1 else Node()
        node.comment = "\n".join(map(_text, properties.pop("C", ())))
        if spent := _SPENT.match(node.comment):
            node.seconds, node.comment = float(spent[1]), node.comment[spent.end() :]
        keys = [key for key in properties if key in ("B", "W")]  # as they stand in the file
        moves = [("BW".index(key), value) for key in keys for value in properties.pop(key)]
        node.more = properties
        if properties.keys() & {"AB", "AW", "AE", "PL"} or self._nodes == 1:
            self._set_up(node, moved=bool(moves))
        if self._nodes > 1 and (not moves or node.position is not None):
            before = before.add(node)
            node = Node() if moves else node
        elif self._nodes == 1 and moves:
            node = Node()
        for colour, value in moves:
            before = self._move(before, node, colour, value)
            node = Node()
        return before

    def _spoil(self, error: Exception) -> None:
        """What follows in the main line stands as it is."""
        self._fault = self._fault or str(error)
        self._turn = int(self._line[self._count - 1]["turn"])
        self._checked = False

    def _move(self, before: Node, node: Node, colour: int, value: str) -> Node:
        """Add a move below a node, and SKIP where it is the other side's turn; what was added last."""
        first = self._checked and not self._played and self._count == 1
        if first and int(self._line[0]["turn"]) != colour:  # the file's first move says who begins
            self._line["turn"] = colour
            self._restart()
        turn = int(self._line[self._count - 1]["turn"]) if self._checked else self._turn
        try:
            node.move = notation.vertex(_point(value, self._columns, self._rows), self._columns, self._rows)
        except PositionError as error:
            node.more = {**node.more, "BW"[colour]: (value,)}
            if self._checked:
                self._spoil(DataError(f"move {self._moves_made() + 2} is no point of the board"))
                node.more[ILLEGAL] = ()
            else:
                self._fault = self._fault or f"{error}, in a variation"
            return before.add(node)
        words = [SKIP] if turn != colour else []
        refused = node
        if words:
            refused = before = before.add(Node(SKIP))
        before = before.add(node)
        if self._checked:
            try:
                self._play([*words, node.move])
            except PositionError as error:
                refused.more = {**refused.more, ILLEGAL: ()}
                self._spoil(error)
        self._turn = 1 - colour
        return before

    def _restart(self) -> None:
        """Write the first position of the main line anew."""
        self._owner.position = notation.format_position(self._line[0])

    def _set_up(self, node: Node, *, moved: bool) -> None:
        """Stones and turn that a node sets up. In variations they stand as they are, the turn for want of a move."""
        result, root = node.more, self._nodes == 1
        player = text_of(result.get("PL", ())).strip().lower()[:1]
        turn = "bw".find(player) if player in ("b", "w") else "12".find(player) if player in ("1", "2") else -1
        if not self._checked:
            self._turn = turn if turn >= 0 and not moved else self._turn
            return
        try:
            black, white, cleared = (
                _points(result.get(key, ()), self._columns, self._rows) for key in ("AB", "AW", "AE")
            )
            for points, name in (((black & white) - cleared, "white"), ((black | white) & cleared, "empty")):
                if points:
                    point = notation.vertex(min(points), self._columns, self._rows)
                    self._notes.append(f"{point} is set up in two ways and is taken as {name}")
            self._place(black, white, cleared, turn, _whole(text_of(result.get("HA", ()))) if root else 0)
        except PositionError as error:
            self._spoil(error)
            result[ILLEGAL] = ()
            return
        node.position = notation.format_position(self._line[0])
        self._owner = node

    def _place(self, black: set[int], white: set[int], cleared: set[int], turn: int, handicap: int) -> None:
        """Begin the main line anew with stones set up. Errors: PositionError."""
        state = self._line[self._count - 1 : self._count].copy()
        ahead = notation.stones_ahead(state[0])
        board = stones_to_array(state[0])
        for colour, points in ((BLACK, black), (WHITE, white), (EMPTY, cleared)):
            board[list(points)] = colour
        state["stones"] = stones_from_array(board[None])
        state["ko"], state["passes"] = -1, 0
        if state[0]["rules"] & TERRITORY:  # stones that are set up are no prisoners
            state["played"] += notation.stones_ahead(state[0]) - ahead
        if not self._played and ((len(black) > 1 and not white) or (handicap > 1 and black)):
            state["handicap"] = handicap if handicap > 1 else len(black)
            state["turn"] = WHITE
        elif handicap > 1 and not black and not white:
            state["turn"] = WHITE
        if turn >= 0:
            state["turn"] = turn
        if rules.settle_all(state)[1] >= 0:
            raise PositionError("stones are set up without a liberty")
        self._line, self._count, self._played = state, 1, 0

    def _play(self, words: list[str]) -> None:
        for word in words:
            if self._played >= MAX_PLIES:
                raise PositionError(f"the game is longer than {MAX_PLIES} moves and is read no further")
            try:
                move = self._legal(word)
            except IllegalMoveError as error:
                raise IllegalMoveError(f"move {self._moves_made() + 1} is illegal") from error
            if self._count == len(self._line):
                self._line = np.concatenate([self._line, np.zeros(max(64, self._count), STATE)])
            _play_in_line(self._line, self._count - 1, move)
            self._count += 1
            self._played += 1

    def _legal(self, word: str) -> int:
        """The number of a move. A file without rules is played on with a simple ko once it repeats a position."""
        look, line = encoder(self._columns, self._rows).look, self._line[: self._count]
        try:
            return notation.parse_move(line[-1], word, look(line)[0])
        except IllegalMoveError:
            if "RuleSet" in self._headers:
                raise
            strict = line["rules"].copy()
            line["rules"] = rule_set(_SIMPLE_KO).flags
            try:
                move = notation.parse_move(line[-1], word, look(line)[0])
            except IllegalMoveError:
                line["rules"] = strict
                raise
            self._headers["RuleSet"] = _SIMPLE_KO
            self._restart()
            return move

    def _moves_made(self) -> int:
        """How many moves the main line has before its last one."""
        return sum(node.move not in ("", SKIP) for node in self._tree.line() if ILLEGAL not in node.more) - 1


def _properties(raw: dict[str, list[bytes]]) -> Properties:
    return {name: tuple(value.decode("utf-8", "replace") for value in values) for name, values in raw.items() if name}


def _size(text: str) -> tuple[int, int]:
    """Columns and rows. Errors: DataError for no size, PositionError for one that is not played."""
    match = re.fullmatch(r"([0-9]{1,2})(?:\s*[:xX]\s*([0-9]{1,2}))?", text.strip(), re.ASCII)
    if not text.strip():
        return 19, 19
    if match is None or not 1 <= int(match[1]) <= 52 or (match[2] and not 1 <= int(match[2]) <= 52):
        raise DataError("it has a board size that cannot be read")
    return int(match[1]), int(match[2] or match[1])


def _point(value: str, columns: int, rows: int) -> int:
    """The point of two letters, columns * rows for a pass. Errors: PositionError."""
    value = value.strip()
    if value == "" or (value == "tt" and columns <= 19 and rows <= 19):
        return columns * rows
    numbers = ["abcdefghijklmnopqrstuvwxyz".find(letter) for letter in value]
    if len(numbers) != 2 or not (0 <= numbers[0] < columns and 0 <= numbers[1] < rows):
        raise PositionError("a move that is no point of the board")
    return numbers[1] * columns + numbers[0]


def _points(values: tuple[str, ...], columns: int, rows: int) -> set[int]:
    """The points of a list, in which aa:cc is a rectangle. Errors: PositionError."""
    points: set[int] = set()
    for value in filter(None, map(str.strip, values)):
        try:
            ends = [divmod(_point(end, columns, rows), columns) for end in value.split(":")]
        except PositionError:
            ends = []
        if not 1 <= len(ends) <= 2 or any(row == rows for row, _ in ends):
            raise PositionError("stones are set up on what is no point of the board")
        (top, left), (bottom, right) = ends[0], ends[-1]
        if top > bottom or left > right:
            raise PositionError("stones are set up on what is no point of the board")
        points |= {row * columns + column for row in range(top, bottom + 1) for column in range(left, right + 1)}
    return points


def _whole(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,2}", text.strip(), re.ASCII) else 0
