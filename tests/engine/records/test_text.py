"""The encoding of a file by its content."""

from __future__ import annotations

import io

import pytest

from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_named
from az_engine.engine.records.record import Record
from az_engine.engine.records.text import BoundedLines, kind_of

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")
ENDS = ("\n", "\r\n", "\r")


def read(game: str, form: str, data: bytes) -> list[Record]:
    return list(format_named(get_game(game).record_formats, form).read(io.BytesIO(data)))


@pytest.mark.parametrize("encoding", [*ENCODINGS, "latin-1", "cp1252"])
@pytest.mark.parametrize("end", ENDS)
def test_pgn(encoding: str, end: str) -> None:
    game = '[Event "T"]\n[White "Müller, Jörg"]\n[Black "Šimun"]\n\n1. e4 { für immer } e5 2. Qh5 Nc6 1-0\n\n'
    game = game.replace("Š", "S") if encoding == "latin-1" else game
    records = read("chess", "pgn", (game * 2).replace("\n", end).encode(encoding))
    assert [record.moves for record in records] == [("e2e4", "e7e5", "d1h5", "b8c6")] * 2
    assert records[0].names == ("Müller, Jörg", "Simun" if encoding == "latin-1" else "Šimun")
    assert records[0].comments[1] == "für immer"


RUSSIAN = ("Иванов, Сергей", "Ёлкин, Пётр")


@pytest.mark.parametrize(
    ("names", "encoding", "read_as"),
    [
        (RUSSIAN, "cp1251", RUSSIAN),
        (("Іванчук, Василь", "Пономарьов"), "cp1251", ("Іванчук, Василь", "Пономарьов")),
        (("Carlsen", "Непомнящий, Ян"), "cp1251", ("Carlsen", "Непомнящий, Ян")),
        (("Müller, Иванов", "Петров"), "utf-8", ("Müller, Иванов", "Петров")),
        *(
            (names, encoding, tuple(name.encode(encoding).decode("cp1252") for name in names))
            for names, encoding in [
                (("Müller, Jörg", "Özil"), "latin-1"),
                (("äöüß", "ÄÖÜ"), "latin-1"),
                (("Ásgeirsson", "Þór"), "latin-1"),
                (("Řehoř", "Louda"), "cp1250"),
                (("Κώστας", "Αθήνα"), "cp1253"),
                (RUSSIAN, "koi8-r"),
                (("Ли", "Ян"), "cp1251"),
            ]
        ),
    ],
)
def test_cyrillic_is_read_as_windows_1251_where_it_surely_is(
    names: tuple[str, str], encoding: str, read_as: tuple[str, str]
) -> None:
    game = f'[White "{names[0]}"]\n[Black "{names[1]}"]\n\n1. e4 e5 *\n\n'
    first, second = read("chess", "pgn", 2 * game.encode(encoding))
    assert first.names == second.names == read_as
    said = "the file is not in UTF-8 and is read as Windows-1251 (Cyrillic)"
    assert (first.note, second.note) == (said if names == read_as and encoding == "cp1251" else "", "")


@pytest.mark.parametrize("encoding", [*ENCODINGS, "cp932", "euc_jp"])
@pytest.mark.parametrize("end", ENDS)
def test_kif(encoding: str, end: str) -> None:
    text = "手合割：平手\n先手：能代ソ表示\n後手：A B\n手数----指手---------消費時間--\n*申込表\n   1 ７六歩(77)\n"
    (record,) = read("shogi", "kif", text.replace("\n", end).encode(encoding))
    assert record.names == ("能代ソ表示", "A B")
    assert (record.moves, record.comments, record.fault) == (("7g7f",), ("申込表", ""), "")


NAMES = {
    "gb18030": ("柯洁", "黑中盘胜，这手棋是好棋。"),
    "cp932": ("本因坊秀策", "黒番中押し勝ち、表示能力ソ連"),
    "cp949": ("이세돌", "흑 불계승 농심배"),
    "big5": ("周俊勳", "黑中盤勝，許功蓋"),
    "euc_jp": ("本因坊秀策", "これはいい手です。"),
    "cp1252": ("Jörg Müller", "für immer schön"),
    "utf-8": ("柯洁", "黑中盘胜"),
    "utf-16": ("柯洁", "黑中盘胜"),
}


@pytest.mark.parametrize("encoding", NAMES)
@pytest.mark.parametrize("said", ["", "right", "UTF-8", "ISO-8859-1", "nonsense"])
def test_sgf(encoding: str, said: str) -> None:
    """Right, wrong and no CA."""
    name, comment = NAMES[encoding]
    labels = {"cp932": "Shift_JIS", "cp949": "EUC-KR", "euc_jp": "EUC-JP", "cp1252": "Windows-1252"}
    charset = labels.get(encoding, encoding) if said == "right" else said
    text = f"(;GM[1]FF[4]{f'CA[{charset}]' if charset else ''}SZ[9]PB[{name}]KM[7.5];B[ee]C[{comment}];W[cc])"
    (record,) = read("go", "sgf", text.encode(encoding))
    assert (record.names[0], record.comments[1], record.moves) == (name, comment, ("E5", "C7"))


def test_games_of_one_sgf_file_in_several_encodings() -> None:
    """And text that was escaped after it was encoded: the second byte of 表 is a backslash, that of 充 is [."""
    games = [
        f"(;SZ[9]CA[{label}]PB[{name}]C[{comment}];B[ee])".encode(encoding)
        for encoding, label in (("gb18030", "GB2312"), ("utf-8", "UTF-8"), ("cp949", "EUC-KR"))
        for name, comment in [NAMES[encoding]]
    ]
    assert [record.names[0] for record in read("go", "sgf", b"\n".join(games))] == ["柯洁", "柯洁", "이세돌"]
    plain = "(;SZ[9]CA[Shift_JIS]PB[表]PW[予]C[申込表\\]です];B[ee])".encode("cp932")
    (record,) = read("go", "sgf", plain)
    assert (record.names, record.comments[0]) == (("表", "予"), "申込表]です")
    escaped = b"(;SZ[9]CA[Shift_JIS]PB[\x95\x5c\x5c]PW[\x97\x5c\x5c]C[" + "良い手です。".encode("cp932") + b"];B[ee])"
    (record,) = read("go", "sgf", escaped)
    assert record.names == ("表", "予")


def test_the_kind_of_a_file_is_known() -> None:
    kinds = {
        '{"header":{},"moves":[{}]}': "JKF",
        '{"a":1}': "JSON",
        "<!DOCTYPE html><html>": "a web page",
        "(;GM[1])": "SGF",
        '[Event "x"]\n': "PGN",
        "V2.2\nN+a\n": "CSA",
        "手合割：平手\n": "KIF",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1": "a FEN",
        "hello": "",
    }
    assert {text: kind_of(text.encode()) for text in kinds} == kinds


def test_lines_come_one_by_one() -> None:
    """A file of any length is read with bounded memory."""

    class Counted(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert 0 <= size <= 1 << 16
            return super().read(size)

    lines = BoundedLines(Counted(b"1. e4 e5 *\n\n" * 50_000))
    assert lines.readline() == "1. e4 e5 *\n"
