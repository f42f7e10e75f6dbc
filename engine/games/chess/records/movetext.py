"""The games of a PGN stream as headers and tokens: whatever stands between the games, and however lines end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ....records.text import BoundedLines

NAME = "[A-Za-z0-9][A-Za-z0-9_+#=:-]*"  # of a header
_TAG = re.compile(rf'\[\s*({NAME})\s+"((?:[^"\\]|\\.)*)"\s*\]')
_LOOSE_TAG = re.compile(rf'\[\s*({NAME})\s+"(.*)"\s*\]\s*')  # with quotation marks in it
_PROMOTION = r"[0-9]*[.…]*(?:[a-h]?[27]?[-x:×]?)[a-h][18]=?\([^\W\d_]{1,2}\)[^\s{}();$]*"  # a8(Q), in any language
_TOKEN = re.compile(rf"{_PROMOTION}|\{{|;|\$[0-9]*|\(|\)|\}}|[^\s{{}}();$]+")
_RESULTS = {"1-0": "1-0", "0-1": "0-1", "1/2-1/2": "1/2-1/2", "*": "*", "½-½": "1/2-1/2", "1/2": "1/2-1/2"}
_RESULTS |= {"1–0": "1-0", "0–1": "0-1", "½–½": "1/2-1/2", "1:0": "1-0", "0:1": "0-1"}
_FIRST = re.compile(r"0*1(?!\s*(?:\.\s*\.|…))[\s.]")  # the number of a first move
_NUMBER = re.compile(r"[0-9]+(?:\.+|…|$)|\.{2,}|…|\.")


class Token(NamedTuple):
    """A piece of movetext."""

    kind: str  # a word, "{" a comment, ";" one to the end of its line, "$", "(", ")" or "*" a result
    text: str
    line: int
    number: str = ""  # that stands before a word: 3. or 3...


@dataclass(slots=True)
class RawGame:
    """The text of one game."""

    headers: dict[str, str] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    result: str = ""  # the token that ends it
    behind: int | None = None  # the first token of the moves behind that
    fault: str = ""

    @property
    def begun(self) -> bool:
        return bool(self.headers or self.tokens or self.result)


def raw_games(lines: BoundedLines) -> Iterator[RawGame]:
    """The games of a stream, one after the other. Errors: DataError."""
    splitter = _Splitter(lines)
    while (game := splitter.next()) is not None:
        yield game


class _Splitter:
    """Decides where a game ends: before the headers of the next, and before another first move.

    A result ends it, too, unless moves with higher numbers stand behind it.
    """

    def __init__(self, lines: BoundedLines) -> None:
        self._lines = lines
        self._ahead: str | None = None  # a line that belongs to the next game
        self._number = ""  # of a move that has not come yet

    def next(self) -> RawGame | None:
        game, blank, depth = RawGame(), False, 0
        self._number = ""
        self._lines.begin_game()
        while line := self._line():
            text = line.strip()
            if not text:
                blank = True
                continue
            if line.startswith("%"):
                continue
            tag = text[0] == "[" and self._tag(text)
            if tag:
                if game.tokens or game.result or (blank and game.headers and tag[0][0] in game.headers):
                    self._ahead = line
                    return game
                game.headers.update(tag)
            elif text[0] == "[" and re.match(r"\[[A-Za-z0-9]+\s*[\"\]]", text) and not game.tokens:
                game.fault = game.fault or f"line {self._lines.number}: {text[:40]!r} is no header"
            else:
                if blank and depth == 0 and game.tokens and re.match(r"1\s*\.(?!\.)", text):
                    self._ahead = line
                    return game
                depth = self._tokens(game, line, depth)
            blank = False
            if game.result and depth == 0 and self._ahead is not None:
                return game
        return game if game.begun else None

    def _line(self) -> str:
        line, self._ahead = self._ahead, None
        return self._lines.readline() if line is None else line

    def _tag(self, text: str) -> list[tuple[str, str]]:
        """The headers in a line; none where it is no line of headers."""
        result = _TAG.findall(text)
        if result and not _TAG.sub("", text).strip():
            return [(name, re.sub(r"\\([\"\\])", r"\1", value)) for name, value in result]
        loose = _LOOSE_TAG.fullmatch(text)
        return [(loose[1], loose[2])] if loose else []

    def _tokens(self, game: RawGame, line: str, depth: int) -> int:
        """Split a line of movetext; the depth of variations after it. A line of a comment may be followed by others."""
        at, number, add = 0, self._lines.number, game.tokens.append
        while match := _TOKEN.search(line, at):
            word, at = match[0], match.end()
            kind = word[0]
            if game.result and depth == 0 and kind not in "{;}":
                if _RESULTS.get(word) == game.result:  # once more
                    continue
                if self._is_next(game, line[match.start() :]):
                    self._ahead = line[match.start() :]
                    break
                game.behind = len(game.tokens) if game.behind is None else game.behind
            if kind == "{":
                text, line, at = self._comment(game, line, at)
                add(Token("{", text, number))
                number = self._lines.number
            elif kind == ";":
                add(Token(";", line[at:].strip(), number))
                break
            elif kind in "()":
                depth = depth + 1 if kind == "(" else max(depth - 1, 0)
                add(Token(kind, word, number))
            elif kind == "$":
                add(Token("$", word[1:], number))
            elif depth == 0 and word in _RESULTS and not game.result:
                game.result, self._number = _RESULTS[word], ""
            elif kind != "}":
                if word[0] in "0123456789.…" and word != "0000" and (prefix := _NUMBER.match(word)):
                    self._number, word = prefix[0], word[prefix.end() :]
                if word:
                    add(Token("", word, number, self._number))
                    self._number = ""
        return depth

    def _is_next(self, game: RawGame, text: str) -> bool:
        """Whether a text behind a result begins another game: with a first move, or without a number, as this one."""
        if not (game.tokens or game.headers) or _FIRST.match(text):
            return True
        return game.behind is None and text[0] not in "0123456789.…*½($%" and not any(t.number for t in game.tokens)

    def _comment(self, game: RawGame, line: str, at: int) -> tuple[str, str, int]:
        """(a comment, the line that it ends in, where it ends there)."""
        parts, start = [], self._lines.number
        while (end := line.find("}", at)) < 0:
            parts.append(line[at:])
            line, at = self._lines.readline(), 0
            if not line or line.startswith('[Event "'):
                game.fault = game.fault or f"line {start}: a comment is not closed"
                self._ahead = line or None
                return "".join(parts).strip(), "", 0
        parts.append(line[at:end])
        return "".join(parts).strip(), line, end + 1
