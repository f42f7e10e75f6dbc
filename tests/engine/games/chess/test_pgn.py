"""PGN: python-chess's reader behind our record, main lines only, bounded and never crashing."""

from __future__ import annotations

import io
import random
import re

import chess.pgn
import pytest

from az_engine.engine.errors import DataError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_games, format_named
from az_engine.engine.records.record import Record

CHESS = get_game("chess")
PGN, UCI = format_named(CHESS.record_formats, "pgn"), format_named(CHESS.record_formats, "uci")


def read(text: str) -> list[Record]:
    return list(PGN.read(io.BytesIO(text.encode())))


def test_a_game_with_everything() -> None:
    text = """\
[Event "Test"]
[White "A"]
[Black "B"]
[Result "1-0"]
[Termination "time forfeit"]

{Begin} 1. e4 {[%emt 0:00:01.5] king's pawn} (1. d4 d5 (1... Nf6)) e5 $1 2. Nf3! Nc6 3. Bb5 a6 {slow
 reply} 1-0
"""
    (record,) = read(text)
    assert record.moves == ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6")
    assert (record.root, record.result, record.reason, record.fault) == (None, 1, "time", "")
    assert record.names == ("A", "B")
    assert record.times == (1.5, None, None, None, None, None)
    assert record.comments == ("Begin", "king's pawn", "", "", "", "", "slow\n reply")
    assert record.headers == {"Event": "Test", "Termination": "time forfeit"}


def test_what_is_written_is_read_by_us_and_by_python_chess() -> None:
    root = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    records = [
        Record.of_line(("e2e4", "c7c5"), None, 0, "", ("A a", "B"), (1.25, 61.0), ("x", "y {z}", ""), {"Event": "E"}),
        Record.of_line(("e1g1", "e8c8"), root, None, "", ("A", "B")),
        Record.of_line((), None, -1, "", ("", "B")),
    ]
    text = format_games(records, PGN)
    again = read(text)
    assert [(r.moves, r.root, r.result, r.names, r.times) for r in again] == [
        (r.moves, r.root, r.result, r.names, r.times) for r in records
    ]
    assert again[0].comments == ("x", "y {z}", "")
    with io.StringIO(text) as file:
        games = list(iter(lambda: chess.pgn.read_game(file), None))
    assert [[m.uci() for m in game.mainline_moves()] for game in games] == [list(r.moves) for r in records]
    assert [game.headers["Result"] for game in games] == ["1/2-1/2", "*", "0-1"]


@pytest.mark.parametrize(
    ("moves", "note"),
    [
        ("1. P-K4 P-K4", "line 1: 'P-K4' is no move: kept as a comment"),
        ("1. e4\n\ne5 2. Qxe9", "line 3: 'Qxe9' is no move: kept as a comment"),
        ("1. e4 e5 2. Nf3 e.p. mate N +0.33 (2. Nc3 1-0)", ""),
    ],
)
def test_a_word_that_was_meant_as_a_move_is_told(moves: str, note: str) -> None:
    (record,) = read(f"{moves} *\n")
    assert (record.fault, record.note) == ("", note)


def test_chess960_keeps_its_castling() -> None:
    root = "nrk1bqrb/pppppppp/8/8/8/8/PPPPPPPP/NRK1BQRB w KQkq - 0 1"
    written = PGN.write(Record.of_line(("e2e3",), root, headers={"Variant": "Chess960"})) if PGN.write else ""
    (record,) = read(written)
    assert record.root == root
    assert record.headers["Variant"] == "Chess960"


def test_null_moves_of_variations_names_of_headers_and_early_annotations_stay() -> None:
    text = '[My-Tag "x"]\n\n$10 {first} 1. e4 (1. d4 0000 2. c4) 1... e5 *\n'
    (record,) = read(text)
    assert (record.fault, record.tree.nags, record.headers) == ("", (10,), {"My-Tag": "x"})
    assert [node.move for node in record.tree.children[1].line()] == ["d2d4", "0000", "c2c4"]
    assert PGN.write is not None
    assert not PGN.lost(record)
    assert read(PGN.write(record)) == [record]
    with io.StringIO(PGN.write(record)) as file:
        assert (game := chess.pgn.read_game(file)) is not None
    assert game.headers["My-Tag"] == "x"
    assert [node.move.uci() for node in game.variations[1].mainline()] == ["0000", "c2c4"]


def test_headers_whose_names_pgn_does_not_allow_are_named() -> None:
    record = Record.of_line(("e2e4",), headers={"a_b": "1", "手合": "2", "a b": "3"})
    assert sorted(PGN.lost(record)) == ["header a b", "header 手合 of this name, which is written as X__"]
    assert PGN.write is not None
    (again,) = read(PGN.write(record))
    assert (again.moves, again.headers) == (("e2e4",), {"a_b": "1", "X__": "2"})


def test_position_lines() -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    text = f"position startpos moves e2e4\n# remark\n\nfen {fen} moves e1g1\n"
    records = list(UCI.read(io.BytesIO(text.encode())))
    assert records == [Record.of_line(("e2e4",)), Record.of_line(("e1g1",), fen)]
    assert format_games(records, UCI) == f"position startpos moves e2e4\nposition fen {fen} moves e1g1\n"


@pytest.mark.parametrize(
    ("text", "moves", "fault"),
    [
        ("1. e4 e5 2. Ke3 1-0\n", 2, "illegal san"),
        ("1. e4 -- 2. d4 1-0\n", 1, "left out"),
        ("1. e4 0000 2. d4 1-0\n", 1, "left out"),
        ('[Variant "Crazyhouse"]\n\n1. e4 1-0\n', 0, "a game of Crazyhouse, which is not played here"),
        ('[FEN "nonsense"]\n\n1. e4 1-0\n', 0, "fen"),
        ("1. Nf3 Nf6 2. Ng1 Ng8 " * 600 + "1-0\n", 2000, "more than 2000 moves"),
    ],
)
def test_faults_are_told(text: str, moves: int, fault: str) -> None:
    (record,) = read('[Result "1-0"]\n' + text)
    assert len(record.moves) == moves
    assert fault in record.fault


@pytest.mark.slow
def test_bombs_are_refused_or_harmless() -> None:
    (record,) = read("1. e4 " + "(1. d4 " * 100_000 + ")" * 100_000 + " e5 1-0\n")
    assert record.moves == ("e2e4", "e7e5")
    with pytest.raises(DataError, match="longer than any can be"):
        read("1. e4 {" + "x" * (10 << 20) + "} e5 1-0\n")
    with pytest.raises(DataError, match="longer than any can be"):
        read("1. e4 {" + "x\n" * (10 << 20) + "} e5 1-0\n")
    with pytest.raises(DataError, match="no PGN"):
        read("1. e4 $" + "9" * 5000 + " e5 1-0\n")
    with pytest.raises(DataError, match="no PGN: a move has more than 256 annotations"):
        read("1. e4 " + " ".join(f"${i}" for i in range(300)) + " e5 1-0\n")
    with pytest.raises(DataError, match="no PGN game"):
        read("\n\n")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_never_crash(seed: int) -> None:
    rng = random.Random(seed)
    moves = ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "e1g1")
    text = format_games([Record.of_line(moves, None, 1, "mate", ("A", "B"), (), ("c",) * 8, {"Event": "E"})] * 2, PGN)
    pieces = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        '"',
        "$9",
        "--",
        "Z0",
        "1-0",
        "*",
        "\n",
        "\n\n",
        "%",
        ";",
        "O-O",
        "e8=Q",
        "\0",
    ]
    for _ in range(60):
        characters = list(text)
        for _ in range(rng.choice((1, 3, 10))):
            at = rng.randrange(len(characters))
            characters[at : at + rng.choice((0, 1, 9))] = rng.choice(pieces)
        try:
            records = read("".join(characters))
        except DataError:
            continue
        for record in records:
            assert "\n" not in record.fault
            try:
                written = PGN.write(record) if PGN.write else ""
            except PositionError:
                continue  # a position that FEN allows and our rules do not
            assert read(written)[0].moves == record.moves


def test_promotions_in_brackets_and_behind_a_stroke() -> None:
    fen = '[FEN "1n6/P6k/8/8/8/8/7p/K5N1 w - - 0 1"]\n\n'
    for text in ("1. axb8(Q) hxg1/R+ *", "1.a7xb8=(Q)! (1. a8(N) h1(B)) 1...hxg1(R)+ *", "1. axb8(D) hxg1(T)+ *"):
        (record,) = read(f"{fen}{text}\n")
        assert (record.moves, record.fault, record.note) == (("a7b8q", "h2g1r"), "", "")
    (record,) = read("1. e4 e5 2. Ke2 Ke7 3. Ke1 Ke8(D) *\n")  # a diagram
    assert (len(record.moves), record.fault) == (6, "")
    line = CHESS.parse_position("1n6/P6k/8/8/8/8/7p/K5N1 w - - 0 1")[0]
    for text in ("a8(Q)", "a8/Q", "a8=(Q)", "a8q"):
        assert CHESS.read_move(line, text) == CHESS.parse_move(line, "a7a8q")


def test_what_stands_behind_a_null_move_is_kept() -> None:
    (record,) = read("1. e4 e5 2. Nf3 -- {tempo} 3. Nxe5 Nc6 (3... d6) 4. Nxc6 1-0\n")
    assert (record.moves, record.result) == (("e2e4", "e7e5", "g1f3"), 1)
    assert record.fault == "line 1: a move is left out (--): the game is read up to it, what follows stays in PGN alone"
    assert [node.move for node in record.tree.line()][4:] == ["0000", "f3e5", "b8c6", "e5c6"]
    text = format_games([record], PGN)
    assert text.endswith("\n\n1. e4 e5 2. Nf3 -- { tempo } 3. Nxe5 Nc6 ( 3... d6 ) 4. Nxc6 1-0\n")
    assert read(text)[0].tree == record.tree
    assert UCI.lost(record)["illegal moves"] == 1
    assert format_games([record], UCI) == "position startpos moves e2e4 e7e5 g1f3\n"


ILLEGAL = "line 1: illegal san: 'Qxh8' in rnbqkbnr/ppp1pppp/8/3p4/3PP3/8/PPP2PPP/RNBQKBNR w KQkq"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("1. e4 -- 2. d4 d5 3. Qxh8 {a} Nf6 {b} (3... e6 {c}) *", ["(--)", ILLEGAL, "left out (2 moves, 3 comments)"]),
        (
            "1. e4 -- 2. d4 e5 (2... -- {a} 3. dxe5 {b}) *",
            ["(--)", "in a variation: illegal san: 'dxe5'", "(1 comment)"],
        ),
        (
            "1. e4 e5 (1... d5 2. exd4 a6) (1... c5 2. exd4 (2. c3)) 2. Ke3 *",
            ["'exd4'", "'exd4'", "illegal san: 'Ke3'"],
        ),
        ("1. e4 e5 2. Ke3 *", ["line 1: illegal san: 'Ke3'"]),
        ("1. e4 (1. Nd4) (1. Nd4) (1. Nd4) (1. Nd4) (1. Nd4) *", ["illegal san"] * 3 + ["and 2 more faults"]),
    ],
)
def test_all_that_is_cut_is_told(text: str, faults: list[str]) -> None:
    (record,) = read(text + "\n")
    assert re.search(".*".join(map(re.escape, faults)), record.fault), record.fault
    assert record.fault.count("what follows is left out") == len(re.findall(r"out \([0-9]", record.fault))


def test_a_wrong_promotion_is_told_as_it_is_written() -> None:
    (record,) = read('[FEN "1n5k/P7/8/8/8/8/8/K7 w - - 0 1"]\n\n1. a8(K)! {x} *\n')
    assert record.fault.startswith("line 3: illegal san: 'a8(K)!' in 1n5k/")


BEHIND = "line 1: the game has ended; what stands behind is kept as comments"


@pytest.mark.parametrize(
    ("text", "plies", "comment", "note"),
    [
        (
            "1. e4 e5 1-0 {after} 5. Kxf7 $1 {ghost} (5. Kd8) Nd5 1-0",
            2,
            "after 5. Kxf7 $1 ghost ( 5. Kd8 ) Nd5",
            BEHIND,
        ),
        ("1. e4 e5 1-0 {a}\n\n{b}\n2. Nf3\n1... c5 *", 2, "a b 2. Nf3 1... c5 *", BEHIND.replace("1", "4")),
        ("1. f3 e5 2. g4 Qh4# {a} 3. a3 {b} *", 4, "a 3. a3 b", BEHIND),
        ("1. f3 e5 2. g4 1-0 2... Qh4# {a} {b}", 3, "2... Qh4# a b", BEHIND),
        ("1. f3 e5 2. g4 Qh4# 0-1 0-1 {b}", 4, "b", ""),
        ("e4 e5 1-0 {a}", 2, "a", ""),
    ],
)
def test_what_stands_behind_the_end_of_a_game_is_kept(text: str, plies: int, comment: str, note: str) -> None:
    (record,) = read(text + "\n")
    assert (len(record.moves), record.comments[-1], record.fault, record.note) == (plies, comment, "", note)
    assert read(format_games([record], PGN))[0].comments == record.comments
    assert len(read(f'{text}\n[Event "M"]\n\n1. d4 *\n')) == 2


def test_what_stands_behind_the_end_of_a_variation_is_kept() -> None:
    (record,) = read("1. f3 e5 2. g4 d5 (2... Qh4# 3. a3 {b} (3. a4)) 3. Nh3 *\n")
    mate = record.tree.children[0].children[0].children[0].children[1]
    assert (mate.comment, record.moves[-1]) == ("3. a3 b ( 3. a4 )", "g1h3")
    assert record.note == "line 1: the variation has ended; what stands behind is kept as comments"


@pytest.mark.parametrize(
    "text",
    [
        "1. e4 e5 1-0\n1. d4 d5 *",
        "1. e4 e5 1-0 1. d4 d5 *",
        "1. e4 e5 1-0 {x} 1.d4 d5 *",
        "1. e4 e5 1-0 {x}\n\n1 . d4 d5",
        "1 e4 e5 1-0\n1 d4 d5 0-1",
        "1. e4 e5\n\n1. d4 d5",
        "e4 e5 1-0\nd4 d5 *",
        "e4 e5 1-0 d4 d5 *",
        "1. e4 e5 1-0 2. Nf3 1. d4 d5 *",
    ],
)
def test_games_without_headers_stay_games(text: str) -> None:
    assert [record.moves for record in read(text + "\n")] == [("e2e4", "e7e5"), ("d2d4", "d7d5")]
