"""SGF: games come back as they went, and nothing in a file can hurt."""

from __future__ import annotations

import contextlib
import io
import random
import time
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import DataError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.games.go import Go
from az_engine.engine.games.go.notation import SKIP
from az_engine.engine.games.go.records import sgf, sgf_writer
from az_engine.engine.records.formats import format_games, format_named, read_games
from az_engine.engine.records.record import Record


def read(text: str | bytes) -> Record:
    """The only game of a file."""
    (record,) = sgf.read(io.BytesIO(text.encode() if isinstance(text, str) else text))
    return record


def random_record(rng: random.Random) -> Record:
    """A game of random moves on a random board by random rules, now and then out of turn."""
    game = get_game(f"go{rng.choice((2, 5, 9, 19))}")
    assert isinstance(game, Go)
    rules = rng.choice(("tromp-taylor", "chinese", "aga", "new-zealand", "chinese-ogs", "japanese"))
    line = game.initial(rng.choice((0, 6.5, -3.5)), rules)
    start, words = game.format_position(line[-1]), list[str]()
    while len(words) < 60:
        legal = game.legal_moves(line)
        if words and words[-1] != SKIP and rng.random() < 0.05:
            words.append(SKIP)
        else:
            words.append(game.format_move(line[-1], int(rng.choice(legal))))
        line = game.play(line, game.parse_move(line, words[-1]))
    words = words[:-1] if words[-1] == SKIP else words
    return Record.of_line(
        tuple(words),
        start,
        rng.choice((1, 0, -1, None)),
        "",
        ("Black ] \\ player", "W\u00e9iss"),
        comments=tuple(rng.choice(("", "good [!] \\ \u2603")) for _ in range(len(words) + 1)),
        headers={"Event": "a [b] \\ c", "Rules": {"chinese": "Chinese", "aga": "AGA"}.get(rules, rules)},
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_games_come_back(seed: int) -> None:
    record = random_record(random.Random(seed))
    again = read(sgf_writer.write(record))
    assert again.fault == ""
    assert (again.moves, again.root, again.result) == (record.moves, record.root, record.result)
    assert again.names == record.names
    assert again.headers["Event"] == record.headers["Event"]
    comments = [c for c, word in zip(record.comments, ("", *record.moves), strict=True) if word != SKIP]
    found = again.comments or ("",) * (len(again.moves) + 1)
    assert [c for c, word in zip(found, ("", *again.moves), strict=True) if word != SKIP] == comments


def test_a_real_file() -> None:
    record = read(
        "(;GM[1]FF[4]CA[UTF-8]SZ[19]KM[0.5]RU[Japanese]HA[2]AB[pd][dp]PB[Honinbo]PW[Yasui]RE[W+R]DT[1846-09-11]"
        "C[first];W[qf]C[second];B[nc](;W[rd])(;W[qh]))"
    )
    assert record.moves == ("R14", "O17", "S16"), "the first variation"
    assert record.root == f"19/19/19/15X3/{'19/' * 11}3X15/19/19/19 w - 0.5 japanese 2 0 0 0"
    assert (record.result, record.reason, record.names) == (-1, "resignation", ("Honinbo", "Yasui"))
    assert record.headers == {"Rules": "Japanese", "Date": "1846-09-11", "Komi": "0.5", "RuleSet": "japanese"}
    assert record.comments == ("first", "second", "", "")


@pytest.mark.parametrize(
    ("text", "moves", "root"),
    [
        ("(;SZ[5]PL[W];W[aa])", ("A5",), "5/5/5/5/5 w - 0 tromp-taylor 0 0 0"),
        ("(;SZ[5];W[aa];B[])", ("A5", "pass"), "5/5/5/5/5 w - 0 tromp-taylor 0 0 0"),
        ("(;SZ[5];B[aa];B[tt])", ("A5", SKIP, "pass"), "5/5/5/5/5 b - 0 tromp-taylor 0 0 0"),
        ("(;SZ[5]AB[aa:bb];W[ee])", ("E1",), "XX3/XX3/5/5/5 w - 0 tromp-taylor 4 0 0"),
        ("(;SZ[5];B[aa];W[bb];AE[aa]AW[cc];B[dd])", ("D2",), "5/1O3/2O2/5/5 b - 0 tromp-taylor 0 0 2"),
        ("(;SZ[5]KM[375]RU[chinese];B[aa])", ("A5",), "5/5/5/5/5 b - 7.5 chinese 0 0 0"),
        ("(;SZ[5]KM[3.75]RU[Chinese];B[aa])", ("A5",), "5/5/5/5/5 b - 7.5 chinese 0 0 0"),
        ("(;SZ[5]KM[650]RU[JP];B[aa])", ("A5",), "5/5/5/5/5 b - 6.5 japanese 0 0 0 0"),
        ("(;SZ[5]KM[6.5]RU[Korean]AB[aa]AW[bb][cc])", (), "X4/1O3/2O2/5/5 b - 6.5 japanese 0 0 0 0"),
        ("(;SZ[5]KM[5]RU[koSIMPLEscoreAREAtaxSEKIsui0])", (), "5/5/5/5/5 b - 5 koSIMPLEscoreAREAtaxSEKIsui0 0 0 0"),
        ("(;SZ[5]KM[6.3])", (), "5/5/5/5/5 b - 0 tromp-taylor 0 0 0"),
        ("(;SZ[5]KM[1e99]KM[x])", (), "5/5/5/5/5 b - 0 tromp-taylor 0 0 0"),
    ],
)
def test_starts(text: str, moves: tuple[str, ...], root: str) -> None:
    record = read(text)
    assert (record.moves, record.root, record.fault) == (moves, root, "")


SIMPLE = "koSIMPLEscoreAREAtaxNONEsui1"


@pytest.mark.parametrize("rules", ["", "RU[AGA]", "RU[GOE]", "RU[my own]"])
def test_a_file_without_rules_may_repeat_a_position(rules: str) -> None:
    record = read(f"(;SZ[2]{rules};B[aa];W[bb];B[ab];W[ba];B[aa];W[ab];B[aa];W[bb])")
    if rules in ("", "RU[my own]"):
        assert (len(record.moves), record.fault) == (8, "")
        assert (record.root, record.headers["RuleSet"]) == (f"2/2 b - 0 {SIMPLE} 0 0 0", SIMPLE)
    else:
        assert record.fault == "move 7 is illegal"


CUT = "the file ends within a comment, a move or another property, which is cut"


@pytest.mark.parametrize(
    ("text", "comment", "fault"),
    [
        ("(;SZ[5];B[aa];W[bb]C[so far", "so far", CUT),
        ("(;SZ[5];B[aa];W[bb]C[a \\] and [", "a ] and [", CUT),
        ("(;SZ[5];B[aa](;W[bb]C[first])(;W[cc]", "first", ""),
        *((f"(;SZ[5];B[aa];W[bb]{end}", "", "") for end in ("", ";", "(", "\n")),
        *((f"(;SZ[5];B[aa];W[bb]{end}", "", CUT) for end in (";B", ";B[", "C[", "LB[aa:1][b")),
    ],
)
def test_a_file_that_was_cut_off(text: str, comment: str, fault: str) -> None:
    record = read(text)
    assert (record.moves, record.fault) == (("A5", "B4"), fault)
    assert [*record.tree.line()][-1].comment == comment


def test_only_the_last_game_of_a_file_is_cut() -> None:
    records = [*sgf.read(io.BytesIO(b"(;SZ[5];B[aa])\n(;SZ[5];B[aa]C[so"))]
    assert [record.fault for record in records] == ["", CUT]


@pytest.mark.parametrize(
    ("text", "moves", "fault"),
    [
        ("(;SZ[5];B[aa];W[aa];B[bb])", ("A5",), "move 2 is illegal"),
        ("(;SZ[5];B[aa];B[aa])", ("A5",), "move 2 is illegal"),
        ("(;SZ[5];B[aa];W[zz])", ("A5",), "move 2 is no point of the board"),
        ("(;SZ[5]AB[x])", (), "stones are set up on what is no point of the board"),
        ("(;SZ[5]AB[aa]AW[ab][ba])", (), "stones are set up without a liberty"),
        ("(;SZ[1])", (), "a board has 2 to 25 lines, not 1"),
    ],
)
def test_faults_end_a_game_and_keep_what_was_before(text: str, moves: tuple[str, ...], fault: str) -> None:
    record = read(text)
    assert (record.moves, record.fault) == (moves, fault)


def test_several_games_in_a_file(tmp_path: Path) -> None:
    rng = random.Random(7)
    records = [random_record(rng) for _ in range(5)]
    form = format_named(get_game("go").record_formats, "sgf")
    file = tmp_path / "games.sgf"
    file.write_text(format_games(records, form), encoding="utf-8")
    assert [r.moves for r in read_games(get_game("go").record_formats, file)] == [r.moves for r in records]


@pytest.mark.parametrize(
    "content",
    [*(b"", b"x", b"(", b"(;B", b"(x[", b"(;SZ[99])", b"(;SZ[0])"), *(b"(" * 10**6, b"\xff" * 1000, b"(;)" * 200_001)],
    ids=lambda content: repr(content[:12]),
)
def test_what_is_no_game_is_refused(content: bytes) -> None:
    with pytest.raises(DataError):
        list(sgf.read(io.BytesIO(content)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b"(;" * 50_000 + b")" * 50_000,
        b"(;B[aa]" * 50_000 + b")" * 50_000,
        b"(;SZ[19]C[" + b"x" * 10_000_000 + b"];B[aa])",
        b"(;C[" + b"\\]" * 1_000_000 + b"])",
        b"(;CA[punycode]C[" + b"a-" * 1_000_000 + b"])",
        b"(;CA[rot13]C[x])",
        b"(;CA[zlib]C[x])",
        b"(" + b";" * 300_000 + b")",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_bombs_do_no_harm(content: bytes) -> None:
    begun = time.process_time()
    assert len(read(content).moves) <= 2000
    assert time.process_time() - begun < 30


def test_random_bytes_never_raise_anything_else() -> None:
    rng = np.random.default_rng(1)
    good = b"(;GM[1]FF[4]CA[UTF-8]SZ[9]KM[6.5]AB[aa][bb]AW[cc]PL[B];B[dd]C[x\\]y];W[ee](;B[])(;B[tt]))"
    for _ in range(1000):
        content = bytearray(good)
        for _ in range(int(rng.integers(1, 6))):
            content[int(rng.integers(len(content)))] = int(rng.choice([*b"();[]\\:ABWCSZKMP0129aez\xff\x00"]))
        with contextlib.suppress(DataError):
            list(sgf.read(io.BytesIO(bytes(content))))


def test_a_record_that_is_no_game_of_go_cannot_be_written() -> None:
    with pytest.raises(PositionError):
        sgf_writer.write(Record.of_line(("A1",)))
    with pytest.raises(PositionError):
        sgf_writer.write(Record.of_line(("Z99",), "5/5/5/5/5 b"))
