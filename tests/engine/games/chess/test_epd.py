"""EPD and lists of FENs, and the odd texts of PGN: letters of other languages, no lines between games, variants."""

from __future__ import annotations

import io

import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_named
from az_engine.engine.records.record import Record

CHESS = get_game("chess")
PGN, EPD = (format_named(CHESS.record_formats, name) for name in ("pgn", "epd"))
HEADERS = '[Event "T"]\n[Site "?"]\n[White "A, B"]\n[Black "C, D"]\n[Result "1-0"]\n'


def read(text: str) -> list[Record]:
    return list(PGN.read(io.BytesIO(text.encode())))


def epd(text: str) -> list[Record]:
    return list(EPD.read(io.BytesIO(text.encode())))


def test_epd() -> None:
    text = (
        '\ufeff1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id "BK.01"; c0 "a; b \\"c\\"";\n'
        "# comment\n\n"
        'rnbqkb1r/p3pppp/1p6/2ppP3/3N4/2P5/PPP1QPPP/R1B1KB1R w KQkq - 0 1 bm e6; id "FEN fields"\n'
        "4k3/8/8/8/8/8/8/4K3 w - - hmvc 3; fmvn 40; bm Kd2 Ke2;\n"
        "nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq -\n"
        "1k6/8/8/8/8/8/8/2R1KR2 w CF - 0 1\n"
        "rnbqkbnr/8/8 w - -\n"
        "hello\n"
        "6k1/5ppp/8/8/8/8/8/K2R4 w - - ; bm Rd8\n"
    )
    records = epd(text)
    assert records[0].headers == {"bm": "Qd1+", "id": "BK.01", "c0": 'a; b "c"'}
    assert records[1].headers == {"bm": "e6", "id": "FEN fields"}
    assert records[2].root == "4k3/8/8/8/8/8/8/4K3 w - - 3 40"
    assert records[3].root == "nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq - 0 1"
    assert records[4].root == "1k6/8/8/8/8/8/8/2R1KR2 w KQ - 0 1"
    assert [record.fault for record in records[5:7]] == [
        "line 8: 'rnbqkbnr/8/8 w - -' is neither EPD nor a FEN",
        "line 9: 'hello' is neither EPD nor a FEN",
    ]
    assert records[7].headers == {"bm": "Rd8"}
    assert CHESS.of_record(records[3]).form == CHESS.of_record(records[4]).form == "chess960"
    assert CHESS.of_record(records[0]).form == ""
    with pytest.raises(DataError, match="no position"):
        epd("\n\n")


@pytest.mark.parametrize(
    "text",
    [
        "1. e4 e5 2. ♘f3 ♞c6 3. ♗b5 *",  # figurines
        "1. e4 e5 2. ♘︎f3 ♘︎c6 3. ♗︎b5 *",
        "1. e4 e5 2. Sf3 Sc6 3. Lb5 *",  # German
        "1. e4 e5 2. Cf3 Cc6 3. Fb5 *",  # French
        "1. e4 e5 2. Cf3 Cc6 3. Ab5 *",  # Spanish
        "1. e4 e5 2. Pf3 Pc6 3. Lb5 *",  # Dutch
        "1. e4 e5 2. Кf3 Кc6 3. Сb5 *",  # Russian
        "1. e4 e5 2. Jf3 Jc6 3. Sb5 *",  # Czech
        "1. e4 e5 2. Ng1-f3 Nb8-c6 3. Bf1-b5 *",
        "1. e2e4 e7e5 2. g1f3 b8c6 3. f1b5 *",
        "1.e4 e5 2.Nf3! Nc6?! 3.Bb5$1 *",
    ],
)
def test_letters_of_other_languages(text: str) -> None:
    (record,) = read(HEADERS + "\n" + text)
    assert (record.moves, record.fault) == (("e2e4", "e7e5", "g1f3", "b8c6", "f1b5"), "")


@pytest.mark.parametrize(
    ("text", "moves", "fault"),
    [
        ("1. e4 e5 2. Xf3 *", 2, "line 1: 'Xf3' is no move; pieces are written X: write them as K, Q, R, B and N"),
        ("1. e4 e5 2. Sd5 *", 2, "line 1: 'Sd5' is no move; pieces are written S: write them as K, Q, R, B and N"),
        ("1. e4 e5 2. Nf6 *", 2, "line 1: illegal san: 'Nf6'"),
        ('[Variant "Antichess"]\n\n1. e3 *', 0, "this is a game of Antichess, which is not played here"),
        ("1. e4 { never closed\n", 1, "line 1: a comment is not closed"),
    ],
)
def test_another_game_is_refused_by_name(text: str, moves: int, fault: str) -> None:
    (record,) = read(text)
    assert len(record.moves) == moves
    assert record.fault.startswith(fault)


@pytest.mark.parametrize("text", ["1. 0-0 0-0-0 2. g8D *", "1. O-O O-O-O 2. g8=D *", "1. О-О O-O-O 2. g8/D *"])
def test_promotions_and_castling_in_other_letters(text: str) -> None:
    (record,) = read('[FEN "r3k2r/6P1/8/8/8/8/8/R3K2R w KQkq - 0 1"]\n\n' + text)
    assert (record.moves, record.fault) == (("e1g1", "e8c8", "g7g8q"), "")


@pytest.mark.parametrize("between", ["", "\n", "\n\n", "\n\n\n"])
@pytest.mark.parametrize("after", ["", "\n", "\n\n"])
def test_any_lines_stand_between_games(between: str, after: str) -> None:
    game = f"{HEADERS}{after}1. d4 {{ [%eval +0.16] }} 1... d5 *\n"
    records = read((game + between) * 3)
    assert [(record.moves, record.comments) for record in records] == [
        (("d2d4", "d7d5"), ("", "[%eval +0.16]", ""))
    ] * 3


def test_blank_lines_inside_games_and_games_without_headers() -> None:
    records = read("1. e4\n\ne5\n\n2. Nf3 *\n\n1. d4 d5\n\n1. c4 {a\n\nb} c5 1-0\n1. e3 1-0 1. f4 0-1 {Black won}\n")
    assert [len(record.moves) for record in records] == [3, 2, 2, 1, 1]
    assert records[2].comments[1] == "a\n\nb"
    assert records[4].comments[-1] == "Black won"


def test_everything_around_the_moves_stays() -> None:
    text = (
        '[Event "x \\"y\\" \\\\"]\n[Annotator "z"]\n[WhiteElo "?"]\n\n'
        "{ [%clk 0:10:00] begin } 1. e4 $1 $14 { [%eval 0.3] [%clk 0:09:58] [%cal Gd2d4] } "
        "( { before } 1. d4 { after } 1... d5 ( 1... Nf6 $6 2. c4 ) 2. -- e5 ) 1... e5 ; to the end }\n2. Nf3 *\n"
    )
    (record,) = read(text)
    assert record.fault == ""
    assert PGN.write is not None
    written = PGN.write(record)
    assert read(written)[0] == record
    for part in ('[Event "x \\"y\\" \\\\"]', '[WhiteElo "?"]', "[%clk 0:09:58] [%cal Gd2d4]", "{ before }", "2. -- e5"):
        assert part in written
    assert "; to the end }\n" in written


def test_games_of_chess960_keep_their_castling() -> None:
    for fen, moves in (
        ("nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq - 0 1", "1. g3 g6 2. Bg2 Bg7 3. O-O O-O *"),
        ("nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w HChc - 0 1", "1. g3 g6 2. Bg2 Bg7 3. O-O O-O *"),
        ("1k6/8/8/8/8/8/8/2R1KR2 w CF - 0 1", "1. O-O *"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. O-O O-O *"),
    ):
        (record,) = read(f'[Variant "Chess960"]\n[SetUp "1"]\n[FEN "{fen}"]\n\n{moves}')
        assert record.fault == ""
        assert any(move in ("g1h1", "e1f1", "e1h1") for move in record.moves)
        game = CHESS.of_record(record)
        line = game.start_of(record)
        for move in record.moves:
            line = game.play(line, game.parse_move(line, move))
        assert PGN.write is not None
        assert read(PGN.write(record))[0] == record
