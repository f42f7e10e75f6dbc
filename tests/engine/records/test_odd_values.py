"""Numbers and texts that no game has, in files of every format, are refused, left out or read."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time

import pytest

from az_engine.engine.errors import AzError, DataError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import RecordFormat, format_named
from az_engine.engine.records.record import Record

FORMATS = [get_game(name).record_formats for name in ("chess", "shogi", "go")]
FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
MOVE = '{"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":6},"piece":"FU"},"time":{"now":{"h":0,"m":1,"s":2}}}'
FILES = [
    ("gib", "\\HS\n\\[GAMEINFOMAIN=GRLT:0,ZIPSU:35,GONGJE:65,\\]\nINI 0 1 3 &4\nSTO 0 2 1 9 3\n"),
    ("gib", "\\HS\n\\[GAMEDATE=2024- 5- 6-10\\]\n\\[GAMETAG=S1,G65,W1,Z35,C2024:05:06:07\\]\nSTO 0 2 1 15 3\n"),
    ("ngf", "game\n19\nwhite 3D\nblack 2D\nplace\n2\n0\n6.5\n20240506 [10:20]\n5\nWhite wins by 3.5\n3\nPMABWDP\n"),
    ("ngf", "GIevent\nGIw 3D\nGIb 2D\nGI\nGI\nGI2024-05-06\nGI19\nGI\nPMABWDP\n"),
    (
        "ugf",
        "[Header]\nSize=13\nHdcp=3,6.50\nDate=2024/05/06\nWinner=B,2.5\n[Data]\nPP,B1,1,30\n.Text,1\nx\n.EndText\n",
    ),
    ("sgf", "(;SZ[9:9]KM[6.5]HA[2]TM[1800]RE[B+2.5];B[ee]BL[12.5]OB[3]C[1.500 s, x]MN[3];W[aa]AB[bb:cc]PL[1])"),
    ("sgf", "(;SZ[9]KM[7目半]RE[白3目半勝]RU[koSIMPLEscoreAREAtaxNONEsui1fpok1];B[ee])"),
    ("csa", "V3.0\n$TIME:600+10+5\nPI82HI\n-\n-3334FU,T3.5\n+2726FU\nT4.125\n'T0.5\n'** 30 -3334FU\n%TORYO\nT7\n"),
    ("csa", "V2.2\nP-51OU\nP+53GI00FU\nP-00AL\nP1-KY *  * \n+\n+0055FU\n"),
    (
        "kif",
        "手合割：平手\n   1 ７六歩(77) ( 0:11.5/0:0:11)\n   2 投了\nまで1手で先手の勝ち\n変化：1手\n   1 ２六歩(27)\n",
    ),
    ("ki2", "先手の持駒：歩18　飛二\n▲７六歩 △３四歩(33)\nまで2手で先手の勝ち\n"),
    ("jkf", f'{{"header":{{"場所":"1"}},"moves":[{{"comments":["1"]}},{MOVE[:-1]},"forks":[[{MOVE}]]}}]}}'),
    (
        "pgn",
        f'[Date "2024.01.02"]\n[FEN "{FEN} 3 12"]\n\n12. e4 {{[%emt 0:00:05.5] [%eval 0.3,12]}} e5 $1 13. d4 1-0\n',
    ),
    ("epd", f"{FEN} hmvc 3; fmvn 12; acd 12;\n{FEN} 0 1 bm e4;\n"),
    ("uci", f"position fen {FEN} 0 1 moves e2e4\n"),
    ("usi", "position sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1 moves 7g7f\n"),
]
VALUES = ("9" * 5000, "9" * 400, "9" * 19, "1e999", "NaN", "-5", "½", "null", '{"a":null}', '"\\ud83d"', "")


def read(form: RecordFormat, text: str) -> list[Record]:
    return list(form.read(io.BytesIO(text.encode())))


@pytest.mark.parametrize(("name", "text"), FILES, ids=[f"{name}{i}" for i, (name, _) in enumerate(FILES)])
def test_odd_values_do_no_harm(name: str, text: str) -> None:
    formats = next(each for each in FORMATS if any(form.name.lower() == name for form in each))
    odd = [text[: m.start()] + value + text[m.end() :] for m in re.finditer(r"[0-9]+|\"1\"", text) for value in VALUES]
    assert read(format_named(formats, name), text)[0].fault == "" or name in ("csa", "ki2")
    for each in odd:
        try:
            records = read(format_named(formats, name), each)
        except AzError:
            continue
        for record in records:
            json.dumps([record.margin, record.times], allow_nan=False)
            for form in formats:
                _write(form, record)


def _write(form: RecordFormat, record: Record) -> None:
    form.lost(record)
    with contextlib.suppress(AzError):
        form.encode(form.write(record) if form.write else "", f"x{form.suffixes[0]}")


def test_a_number_that_no_game_has_is_shown() -> None:
    gib = format_named(FORMATS[2], "gib")
    with pytest.raises(DataError, match=r"the number '99999999999999999\.\.\.' in it is larger than any can be"):
        read(gib, f"\\HS\nSTO 0 1 1 {'9' * 5000} 3\n")


def test_half_a_character_of_json_is_replaced() -> None:
    jkf = format_named(FORMATS[1], "jkf")
    (record,) = read(jkf, r'{"header":null,"moves":[{"comments":["\ud83d \ud83d\ude00 \\ud83d"],"forks":null}]}')
    assert (record.tree.comment, record.fault) == ("\ufffd \U0001f600 \\ud83d", "")
    assert jkf.write is not None
    assert "\U0001f600".encode() in jkf.encode(jkf.write(record), "x.jkf")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kif", f"先手の持駒：{'1' * 60_000}一1\n▲７六歩\n"),
        ("kif", f"|{' ' * 60_000}|\n"),
        ("kif", "&b\n" * 60_000 + "▲７六歩\n"),
        ("csa", f"$EVENT:a{' ' * 60_000}b\nPI\n+\n+7776FU\n"),
        ("sgf", f"(;SZ[9]RU[x{' ' * 100_000}x];B[aa])"),
        ("sgf", f"(;SZ[9]RE[黒{'1' * 100_000}];B[aa])"),
        ("sgf", f"(;SZ[9]PB[\udcff]C[{'a' * 100_000}];B[aa])"),
        ("epd", FEN + ' "' + "a " * 50_000 + '"'),
    ],
    ids=lambda text: repr(text[:16]),
)
def test_long_texts_take_no_longer_than_their_length(name: str, text: str) -> None:
    formats = next(each for each in FORMATS if any(form.name.lower() == name for form in each))
    times = []
    for _ in range(2):  # kernels may be compiled in the first
        begun = time.process_time()
        with contextlib.suppress(AzError):
            for record in format_named(formats, name).read(io.BytesIO(text.encode(errors="surrogateescape"))):
                _write(formats[0], record)
        times.append(time.process_time() - begun)
    assert min(times) < 1
