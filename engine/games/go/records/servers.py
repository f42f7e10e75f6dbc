"""Reads the records of Go servers: GIB of Tygem, NGF of WBaduk, UGF of PandaNet; each is put into SGF and read so."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from ....errors import DataError, quoted
from ....records.record import Record
from ....records.text import decode_any, lines_of, read_whole
from ..notation import handicap_points, most_handicap
from . import sgf
from .grammar import sgf_grammar

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@dataclass(slots=True)
class _Game:
    """What a server says of a game, in SGF's terms."""

    root: dict[str, list[str]] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)  # (B or W, two letters)
    comments: dict[int, str] = field(default_factory=dict)  # by the number of the move before them

    def say(self, name: str, text: str) -> None:
        if text.strip():
            self.root.setdefault(name, []).append(text.strip())

    def handicap(self, stones: int, size: int) -> None:
        """Fixed handicap stones, as the servers place them."""
        if 2 <= stones <= most_handicap(size):
            self.say("HA", str(stones))
            points = [divmod(point, size) for point in handicap_points(size, stones)]
            self.root["AB"] = [_ALPHABET[column] + _ALPHABET[row] for row, column in points]

    def records(self) -> Iterator[Record]:
        if not self.moves and not self.root:
            raise DataError("there is no game in it")
        self.root.setdefault("SZ", ["19"])
        nodes = [{"FF": ["4"], "GM": ["1"], "CA": ["UTF-8"], **self.root}]
        nodes += [{colour: [point]} for colour, point in self.moves]
        for number, text in self.comments.items():
            if 0 <= number < len(nodes):
                nodes[number]["C"] = [text]
        yield from sgf.read(io.BytesIO(f"({''.join(map(_written, nodes))})".encode()))


def _written(node: Mapping[str, list[str]]) -> str:
    values = {name: "".join(f"[{_escaped(value)}]" for value in texts) for name, texts in node.items()}
    return ";" + "".join(f"{name}{text}" for name, text in values.items())


def _escaped(text: str) -> str:
    return str(sgf_grammar.escape_text(text.encode()).decode())


def _lines(stream: BinaryIO) -> list[str]:
    return [line.strip() for line in lines_of(decode_any(read_whole(stream)).removeprefix("\ufeff"))]


def _number(text: str) -> int:
    """A number without a sign. Errors: DataError for one that no game has."""
    if len(text) > 9:
        raise DataError(f"the number {quoted(text, 20)} in it is larger than any can be")
    return int(text)


def _tenths(text: str) -> str:
    return f"{_number(text) / 10:g}"


# ---- GIB: \[KEY=value\] lines, then INI (with the handicap) and STO lines, a move each

_ENDINGS = {3: "B+R", 4: "W+R", 7: "B+T", 8: "W+T"}
_NAMED = re.compile(r"(.*)\(([^()]*)\)")


def read_gib(stream: BinaryIO) -> Iterator[Record]:
    """The game of a GIB file. Errors: DataError when there is none."""
    game, begun = _Game(), False
    for line in _lines(stream):
        begun = begun or line.startswith(("\\HS", "\\[GAME", "STO ", "INI "))
        if match := re.fullmatch(r"\\\[([A-Z]+)=(.*)\\\]", line):
            _gib_header(game, match[1], match[2])
        elif line.startswith("INI "):
            words = line.split()
            if len(words) > 3 and words[3].isdecimal():
                game.handicap(_number(words[3]), 19)
        elif line.startswith("STO "):
            words = line.split()
            point = line  # no point, as is reported
            if len(words) >= 6 and all(word.isdecimal() and _number(word) < 19 for word in words[4:6]):
                point = _ALPHABET[_number(words[4])] + _ALPHABET[_number(words[5])]
            game.moves.append(("B" if words[3:4] == ["1"] else "W", point))
        elif line.startswith("SKI "):
            game.moves.append(("B" if line.split()[-1] == "1" else "W", ""))
    if not begun:
        raise DataError("there is no GIB game in it")
    yield from game.records()


def _gib_header(game: _Game, name: str, value: str) -> None:
    if name in ("GAMEBLACKNAME", "GAMEWHITENAME"):
        key, rank = ("PB", "BR") if name == "GAMEBLACKNAME" else ("PW", "WR")
        match = _NAMED.fullmatch(value.strip())
        game.say(key, match[1] if match else value)
        game.say(rank, match[2] if match else "")
    elif name in ("GAMEINFOMAIN", "GAMETAG"):
        patterns = (r"GRLT:(\d+)", r"ZIPSU:(\d+)", r"GONGJE:(\d+)")
        tags = (r",W(\d+)(?:,|$)", r",Z(\d+)(?:,|$)", r",G(\d+)(?:,|$)")
        end, points, komi = (re.search(each, value) for each in (patterns if name == "GAMEINFOMAIN" else tags))
        if komi and "KM" not in game.root:
            game.say("KM", _tenths(komi[1]))
        if end and "RE" not in game.root:
            kind = _number(end[1])
            counted = f"{'BW'[kind]}+{_tenths(points[1])}" if kind in (0, 1) and points else ""
            game.say("RE", _ENDINGS.get(kind, counted))
        if (date := re.search(r"C(\d{4}):(\d\d):(\d\d)", value)) and "DT" not in game.root:
            game.say("DT", "-".join(date.groups()))
    elif name in ("GAMEPLACE", "GAMENAME", "GAMECOMMENT"):
        game.say({"GAMEPLACE": "PC", "GAMENAME": "GN", "GAMECOMMENT": "GC"}[name], value)
    elif name == "GAMEDATE" and "DT" not in game.root and (date := re.search(r"(\d{4})\D+(\d+)\D+(\d+)", value)):
        game.say("DT", f"{date[1]}-{_number(date[2]):02}-{_number(date[3]):02}")


# ---- NGF: twelve lines of headers, then PM lines, a move each


def read_ngf(stream: BinaryIO) -> Iterator[Record]:
    """The game of an NGF file. Errors: DataError when there is none."""
    lines = _lines(stream)
    game = _Game()
    for line in lines:
        if (match := re.match(r"PM..([BW])([A-Z])([A-Z])", line)) is not None:
            game.moves.append((match[1], _ngf_point(match[2], match[3])))
    head = [*lines[:12], *[""] * 12]
    if head[0].startswith("GI"):
        yield from _with_marks(game, [line.removeprefix("GI") for line in head])
        return
    if not head[1].isdecimal() or not 2 <= _number(head[1]) <= 25:
        raise DataError("there is no NGF game in it: its second line is no size of a board")
    size = _number(head[1])
    game.say("SZ", str(size))
    game.say("GN", head[0])
    for line, key, rank in ((head[2], "PW", "WR"), (head[3], "PB", "BR")):
        name, _, level = line.rpartition(" ") if " " in line else (line, "", "")
        game.say(key, name)
        game.say(rank, level.replace("DP", "p").replace("D", "d").replace("K", "k"))
    game.say("PC", head[4] if head[4].startswith("http") or "." in head[4] else "")
    stones = _number(head[5]) if head[5].isdecimal() else 0
    game.handicap(stones, size)
    komi = float(head[7]) if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", head[7], re.ASCII) else None
    game.say("KM", head[7] if komi is None else f"{komi + 0.5 * (not stones and komi == int(komi)):g}")
    if date := re.match(r"(\d{4})(\d\d)(\d\d)", head[8]):
        game.say("DT", "-".join(date.groups()))
    game.say("RE", _ngf_result(head[10]))
    yield from game.records()


def _with_marks(game: _Game, head: list[str]) -> Iterator[Record]:
    """The form of NGF whose headers each begin with GI: event, White, Black, ..., date, size."""
    game.say("GN", head[0])
    for line, key, rank in ((head[1], "PW", "WR"), (head[2], "PB", "BR")):
        name, _, level = line.partition(" ")
        game.say(key, name)
        game.say(rank, level)
    if date := re.match(r"(\d{4})-(\d+)-(\d+)", head[5]):
        game.say("DT", f"{date[1]}-{_number(date[2]):02}-{_number(date[3]):02}")
    game.say("SZ", head[6] if head[6].isdecimal() else "")
    return game.records()


def _ngf_point(column: str, row: str) -> str:
    """Letters from B on; A is off the board, a pass."""
    numbers = [ord(letter) - ord("B") for letter in (column, row)]
    return "".join(_ALPHABET[number] for number in numbers) if min(numbers) >= 0 else ""


def _ngf_result(text: str) -> str:
    winner = "W" if re.search("hite win|lack lose", text) else "B" if re.search("lack win|hite lose", text) else ""
    points = re.findall(r"[0-9]+(?:\.[0-9]+)?", text)
    how = "R" if "resign" in text else "T" if "time" in text else points[-1] if points else ""
    return f"{winner}+{how}" if winner else ""


# ---- UGF: sections in brackets, key=value headers, a move on each line of [Data]


def read_ugf(stream: BinaryIO) -> Iterator[Record]:
    """The game of a UGF file. Errors: DataError when there is none."""
    game, section, headers, text, number = _Game(), "", dict[str, str](), list[str](), 0
    stones: list[str] = []
    for line in _lines(stream):
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
        elif section == "Header" and "=" in line:
            key, _, value = line.partition("=")
            headers[key] = value.strip()
        elif section == "Data" and (match := re.match(r"([A-Z])([A-Z]),([BW])\w?,(\d+)", line)):
            point = _ugf_point(match[1], match[2], _ugf_size(headers))
            if match[4] == "0" and match[3] == "B":
                stones.append(point)
            else:
                game.moves.append((match[3], point))
        elif match := re.match(r"\.Text,(\d+)", line):
            number, text = _number(match[1]), []
        elif line == ".EndText":
            game.comments[number] = "\n".join(text)
        elif not line.startswith("."):
            text.append(line)
    if not headers:
        raise DataError("there is no UGF game in it: it has no [Header]")
    _ugf_headers(game, headers, stones)
    yield from game.records()


def _ugf_size(headers: Mapping[str, str]) -> int:
    return int(headers["Size"]) if re.fullmatch("[1-9][0-9]?", headers.get("Size", "")) else 19


def _ugf_point(column: str, row: str, size: int) -> str:
    """Columns from the left, rows from below; what is off the board is a pass."""
    x, y = ord(column) - ord("A"), size - 1 - (ord(row) - ord("A"))
    return _ALPHABET[x] + _ALPHABET[y] if 0 <= x < min(size, 25) and 0 <= y < min(size, 25) else ""


def _ugf_headers(game: _Game, headers: Mapping[str, str], stones: list[str]) -> None:
    fields = {name: [part.strip() for part in value.split(",")] for name, value in headers.items()}
    for name, key, rank in (("PlayerB", "PB", "BR"), ("PlayerW", "PW", "WR")):
        parts = [*fields.get(name, []), "", ""]
        game.say(key, parts[0])
        game.say(rank, parts[1])
    for name, key in (
        ("Size", "SZ"),
        ("Rules", "RU"),
        ("Title", "GN"),
        ("Place", "PC"),
        ("Copyright", "CP"),
        ("Memo", "GC"),
    ):
        game.say(key, headers.get(name, ""))
    game.say("DT", fields.get("Date", [""])[0].replace("/", "-"))
    handicap, komi, *_ = [*fields.get("Hdcp", []), "", ""]
    game.say("KM", komi)
    if stones:
        game.say("HA", str(len(stones)))
        game.root["AB"] = stones
    elif handicap.isdecimal() and _number(handicap) > 1:
        game.handicap(_number(handicap), _ugf_size(headers))
    winner, how, *_ = [*fields.get("Winner", []), "", ""]
    if winner in ("B", "W"):
        game.say("RE", f"{winner}+{'R' if how in ('C', 'R') else how}")
