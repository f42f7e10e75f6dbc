"""The text of a file whose encoding nobody knows: Unicode by its marks, else what its bytes look like."""

from __future__ import annotations

import codecs
import io
import re
from typing import BinaryIO, cast

from ..errors import DataError

MAX_BYTES = 16 << 20  # of a file that is read whole
MAX_LINE = 1 << 20  # characters of a line, in a file that is read line by line
MAX_GAME = 16 << 20  # characters of one game there
_SAMPLE = 1 << 16
_MARKS = {
    "utf-8-sig": (codecs.BOM_UTF8,),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
# The codes of the characters that are used every day: (encoding, least and greatest first byte)
_FIRST_LEVEL = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "big5hkscs": ("big5", 0xA4, 0xC6),
    "cp932": ("euc_jp", 0xB0, 0xCF),
    "eucjp": ("euc_jp", 0xB0, 0xCF),
}
_CYRILLIC = re.compile("[\u0400-\u045f\u0490\u0491]+")
_CYRILLIC_WORD = re.compile("[\u0400-\u042f]?[\u0430-\u045f]{3,}")
_UNDEFINED = re.compile("[\x81\x8d\x8f\x90\x9d]")  # bytes without a character in Windows-1252


def read_whole(stream: BinaryIO) -> bytes:
    """The bytes of a file. Errors: DataError when it is too long."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DataError(f"it is larger than {MAX_BYTES >> 20} MiB; split it")
    return data


def unicode_of(data: bytes) -> str | None:
    """UTF-16 or UTF-32 by the mark or the zeros at the beginning of a file, UTF-8 by its mark; None for others."""
    for name, marks in _MARKS.items():
        if data.startswith(marks):
            return name
    sample = data[:2000]
    high, low = sample[::2].count(0), sample[1::2].count(0)  # zeros are the higher bytes of what is ASCII
    if max(high, low) > max(1, len(sample) // 50) and min(high, low) <= max(high, low) // 20:
        return "utf-16-be" if high > low else "utf-16-le"
    return None


def is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8; the last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def decode_japanese(data: bytes) -> str:
    """A file of shogi: Unicode, Shift-JIS or EUC, whichever has the fewest characters of a wrong encoding."""
    name = unicode_of(data)
    if name is None:
        foreign = re.search(rb"[\x80-\xff]", data)
        sample = data[foreign.start() :][:_SAMPLE] if foreign else b""
        name = min(("utf-8", "cp932", "euc_jis_2004"), key=lambda each: _oddity(sample.decode(each, "replace")))
    return data.decode(name, "replace")


def _oddity(text: str) -> int:
    """Number of characters typical of a wrong encoding: unreadable ones, half-width kana, controls."""
    return len(re.findall("[\ufffd\uff61-\uff9f\x80-\x9f]", text))


def decode_latin(data: bytes) -> str:
    """A line that is UTF-8, else Latin-1 as the PGN standard says, with the quotation marks of Windows."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        return text if _UNDEFINED.search(text) else data.decode("cp1252")


def is_cyrillic(data: bytes) -> bool:
    """Whether text in Latin letters and others that are no UTF-8 is surely Windows-1251.

    So it is where words are of either alphabet alone, two or more have the length and the capitals of Cyrillic ones,
    and the frequencies of their letters fit: the words of Latin-1 mix both halves of the table.
    """
    words = [word for word in _words(data) if not word.isascii()]
    usual = sum(bool(_CYRILLIC_WORD.fullmatch(word)) for word in words)
    return usual > 1 and all(map(_CYRILLIC.fullmatch, words)) and detect(foreign_of(data)).lower() == "windows-1251"


def _words(data: bytes) -> list[str]:
    return re.findall(r"[^\W\d_]+", data.decode("cp1251", "replace"))


def detect(data: bytes) -> str:
    """The likeliest encoding of bytes that may be of any language."""
    from chardet import detect as detected  # which few callers need

    if is_utf8(data):
        return "utf-8"
    result = detected(data[: 4 * _SAMPLE])["encoding"] or "latin-1"
    name = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc-kr": "cp949"}.get(result.lower(), result)
    try:
        codecs.lookup(name)
    except LookupError:
        return "latin-1"
    return name


def decode_any(data: bytes) -> str:
    """A file of any language: Unicode, else the likeliest encoding of what is not ASCII in it."""
    if name := unicode_of(data):
        return data.decode(name, "replace")
    return data.decode("utf-8" if is_utf8(data) else detect(foreign_of(data)), "replace")


def foreign_of(data: bytes) -> bytes:
    """What is not ASCII in bytes, with what stands close to it."""
    words = re.findall(rb"[^\s\[\]=]+", data[: 16 * _SAMPLE])
    return b"\n".join(_from_comma(word) for word in words if not word.isascii()) or data


def _from_comma(word: bytes) -> bytes:
    """A word without what stands before the last comma in front of its first foreign letter."""
    ascii_part = re.match(rb"[\x00-\x7f]*", word)
    return word[word.rfind(b",", 0, ascii_part.end() if ascii_part else 0) + 1 :]


def likely(text: str, encoding: str) -> float:
    """The share of the foreign characters of a text that are common ones where people use an encoding."""
    foreign = [letter for letter in text[: 4 * _SAMPLE] if letter > "\x7f"]
    return sum(_is_common(letter, encoding) for letter in foreign) / max(len(foreign), 1)


def _is_common(letter: str, encoding: str) -> bool:
    plain = encoding.lower().replace("-", "").replace("_", "")
    if plain in ("cp949", "euckr"):
        return "\uac00" <= letter <= "\ud7a3" or "\u3130" <= letter <= "\u318f"
    if "\u3000" <= letter <= "\u30ff" or "\uff01" <= letter <= "\uff5e":  # kana and full-width signs
        return True
    first = _FIRST_LEVEL.get(plain)
    if first is None:
        return letter.isalpha()
    name, least, most = first
    try:
        return least <= letter.encode(name)[0] <= most
    except UnicodeEncodeError:
        return False


_KINDS = {
    "a web page": r"\s*<(!doctype|html|head|body)",
    "JKF": r'\s*[\[{][^\0]*"moves"\s*:',
    "JSON": r"\s*[\[{]\s*[\"{\[]",
    "SGF": r"\s*\(\s*;",
    "PGN": r'\s*\[[A-Za-z]+ "[^\n]*"\]',
    "CSA": r"('[^\n]*\n)*(V[123]|N[+-]|PI|P1|\$EVENT)",
    "KIF": r"[^\0]{0,2000}(手合割|手数----|開始日時|先手\uff1a|変化\uff1a)",
    "GIB": r"\s*\\HS|\s*\\\[GAME",
    "UGF": r"\s*\[Header\]",
    "USI": r"\s*(position\s+)?(sfen|startpos)\b",
    "a FEN": r"\s*([1-8pnbrqk]+/){7}",
    "an SFEN": r"\s*([+1-9plnsgbrk]+/){8}",
}


def kind_of(data: bytes) -> str:
    """What a file looks like, by its beginning; "" where that is unknown."""
    text = decode_japanese(data[:_SAMPLE]).removeprefix("\ufeff")
    return next((kind for kind, pattern in _KINDS.items() if re.match(pattern, text, re.IGNORECASE)), "")


def lines_of(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class BoundedLines:
    """The lines of a stream with bounds on lines and games; each is UTF-8 or else Latin-1, or the whole is Unicode.

    Where the beginning is surely Windows-1251, lines in Cyrillic are that, and ``note`` says so.
    """

    def __init__(self, stream: BinaryIO) -> None:
        begin = stream.read(_SAMPLE)
        self._raw = unicode_of(begin) in (None, "utf-8-sig")
        encoding = "latin-1" if self._raw else unicode_of(begin)
        begin = begin.removeprefix(codecs.BOM_UTF8)
        self._cyrillic = self._raw and not is_utf8(begin) and is_cyrillic(begin)
        self.note = "the file is not in UTF-8 and is read as Windows-1251 (Cyrillic)" if self._cyrillic else ""
        joined = io.BufferedReader(cast("io.RawIOBase", _Joined(begin, stream)))
        self._text = io.TextIOWrapper(joined, encoding, "replace")
        self.number = 0  # of the last line
        self._left = MAX_GAME

    def begin_game(self) -> None:
        """Restart the count of the game's characters."""
        self._left = MAX_GAME

    def readline(self) -> str:
        """The next line with its end, "" at the end of the stream. Errors: DataError for one that is too long."""
        line = self._text.readline(MAX_LINE)
        self.number += 1
        self._left -= len(line)
        if len(line) == MAX_LINE or self._left < 0:
            raise DataError(f"line {self.number}: a line or a game is longer than any can be")
        if not self._raw or line.isascii():
            return line
        data = line.encode("latin-1")
        if (
            self._cyrillic
            and not is_utf8(data)
            and all(word.isascii() or _CYRILLIC.fullmatch(word) for word in _words(data))
        ):
            return data.decode("cp1251", "replace")
        return decode_latin(data)


class _Joined(io.RawIOBase):
    """Bytes that have been read already, then the rest of a stream, which stays open."""

    def __init__(self, begin: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._begin, self._rest = begin, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        chunk = self._begin[: len(buffer)] or self._rest.read(len(buffer))
        self._begin = self._begin[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)
