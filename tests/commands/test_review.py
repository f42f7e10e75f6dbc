"""``az-engine review``: what people wrote stays, and other programs find what was added."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path

import chess.pgn
import pytest

from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_games, format_named, read_games
from az_engine.engine.records.opinion import Opinion
from az_engine.engine.records.record import Node, Record

KIF = """手合割：平手
先手：甲
後手：乙
手数----指手---------消費時間--
*開始コメント
   1 ７六歩(77)   ( 0:11/00:00:11)
*一手目
   2 ３四歩(33)   ( 0:22/00:00:22)
   3 投了
変化：2手
   2 ８四歩(83)   ( 0:05/00:00:05)
"""
PGN = """[Event "T"]
[White "A"]
[Black "B"]
[WhiteElo "?"]
[Annotator "x"]
[Result "0-1"]

{ begin } 1. f3 $5 { [%clk 0:01:00] mine } ( 1. e4 { better } ) 1... e5 2. g4 Qh4# 0-1
"""
C960 = (
    '[White "A"]\n[Black "B"]\n[Variant "Chess960"]\n[SetUp "1"]\n'
    '[FEN "nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq - 0 1"]\n\n1. g3 g6 2. Bg2 Bg7 3. O-O O-O *\n'
)
OPTIONS = ("--net", "uniform", "--visits", "40", "--threads", "1")


def review(source: Path, *words: object) -> int:
    return main(["review", str(source), *OPTIONS, *map(str, words)])


def test_pgn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "a.pgn", tmp_path / "b.pgn"
    source.write_text(PGN)
    assert review(source, "--out", out) == 0
    text = out.read_text()
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    first = game.variations[0]
    assert (game.comment, first.nags >= {5}) == ("begin", True)
    assert first.comment.endswith("mine")
    assert first.clock() == 60
    assert (game.variations[1].san(), game.variations[1].comment) == ("e4", "better")
    nodes = list(game.mainline())
    assert all(node.eval() is not None for node in nodes[:-1])
    assert nodes[2].nags & {2, 4, 6}, "g4 loses at once"
    assert "gives away" in nodes[2].comment
    assert len(nodes[1].variations) == 2, "with the better line"
    value = nodes[2].eval()
    assert value is not None
    assert value.white().mate() == -1
    for part in ('[WhiteElo "?"]', '[Annotator "x"]'):
        assert part in text
    printed = capsys.readouterr().out
    assert re.search(r"^2\. g4 \(White\): blunder, \d+ %, better ", printed, re.MULTILINE)
    assert re.search(r"^accuracy: A [0-9.]+ %, B [0-9.]+ %$", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "text", "mine"),
    [
        ("a.pgn", "1. f3 e5 2. g4 {mine} Qh4# 0-1\n", r"\{ \[%eval #-1\] mine \| az-engine: Blunder, gives away "),
        ("a.kifu", "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ９六歩(97)\n*mine\n   4 ８八角成(22)\n", "mine"),
        ("a.csa", "PI\n+\n+7776FU\n-3334FU\n+9796FU\n'*mine\n-2288UM\n", "'\\*mine"),
        ("a.sgf", "(;GM[1]SZ[5]KM[7];B[cc]C[mine];W[bb])", r"C\[mine"),
    ],
)
def test_what_a_review_says_is_told_from_what_people_wrote_and_stands_there_once(
    tmp_path: Path, name: str, text: str, mine: str
) -> None:
    paths = [tmp_path / name, tmp_path / f"1{name}", tmp_path / f"2{name}"]
    paths[0].write_text(text, encoding="utf-8")
    for path, out in pairwise(paths):
        assert review(path, "--out", out) == 0
    first, again = (path.read_text(encoding="utf-8") for path in paths[1:])
    assert re.search(mine, first)
    assert first == again


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.pgn", "1. f3 e5 2. g4 {mine} Qh4# 0-1\n"),
        ("a.kifu", "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ９六歩(97)\n*mine\n   4 ８八角成(22)\n"),
        ("a.csa", "PI\n+\n+7776FU\n-3334FU\n+9796FU\n'*mine\n-2288UM\n"),
    ],
)
def test_evaluations_of_the_file_are_kept_or_replaced_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    paths = [tmp_path / f"{number}{name}" for number in range(5)]
    paths[0].write_text(text, encoding="utf-8")
    for source, out, words in (
        (0, 1, ()),
        (1, 2, ("--visits", 2)),
        (2, 3, ("--visits", 2, "--anew")),
        (0, 4, ("--visits", 2)),
    ):
        assert review(paths[source], "--out", paths[out], *words) == 0
        told = " ".join(capsys.readouterr().err.split())
        assert ("are kept as they were in the file; --anew replaces them" in told) == (out == 2)

    def on_main_line(path: Path) -> list[tuple[object, ...]]:
        (record,) = read_games(get_game("chess" if name == "a.pgn" else "shogi").record_formats, path)
        return [(node.comment, node.nags, node.more) for node in record.main_line()]

    assert on_main_line(paths[3]) == on_main_line(paths[4])
    assert on_main_line(paths[1]) != on_main_line(paths[4])
    assert "mine" in paths[3].read_text(encoding="utf-8")


@pytest.mark.parametrize(("game", "form"), [("chess", "pgn"), ("go", "sgf"), ("shogi", "kif"), ("shogi", "csa")])
@pytest.mark.parametrize("better", ["", "; better Nf3 O-O ▲７六歩 ▲同　銀 Q16 pass"])
def test_what_a_review_writes_can_be_taken_off(game: str, form: str, better: str) -> None:
    known = format_named(get_game(game).record_formats, form)
    position = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    for comment in ("mine", ""):
        node, before = (Node("g1f3", comment, nags=(140,), more={"N": ("x",)}) for _ in range(2))
        for score in (0.4, 0.3):
            remark = f"Blunder, gives away 30 %{better}"
            known.opine(node, Opinion(position, score, -50, lead=-3.0, kind="blunder", remark=remark))
            assert known.forget(node)
            assert node == before
        assert not known.forget(node)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--all", "--number", "2"], "--all reviews every game, --number one: give one of them"),
        (["--number", "0"], "--visits, --threads and --number must be at least 1"),
        (["--threads", "0"], "--visits, --threads and --number must be at least 1"),
        (["--threads", "999"], "threads is 999; it must be 1 to 128"),
    ],
)
def test_arguments_that_cannot_be_meant(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.pgn"
    source.write_text(PGN)
    assert review(source, *words) == 2
    assert capsys.readouterr().err == f"az-engine: {told}\n"


def test_a_folder_that_is_missing_is_told_and_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, missing = tmp_path / "a.kif", tmp_path / "no"
    source.write_bytes(KIF.encode("cp932"))
    assert review(source, "--out", missing / "x.html") == 2
    assert f"there is no folder {missing} for x.html; make it, or choose another --out" in capsys.readouterr().err
    assert not missing.exists()


@pytest.mark.parametrize("suffix", [".kifu", ".ki2u", ".jkf", ".csa"])
def test_kif(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "a.kif", tmp_path / f"b{suffix}"
    source.write_bytes(KIF.encode("cp932"))
    assert review(source, "--out", out) == 0
    (record,) = read_games(get_game("shogi").record_formats, out)
    assert record.moves == ("7g7f", "3c3d")
    assert record.names == ("甲", "乙")
    assert (record.result, record.reason) == (-1, "resignation")
    assert record.comments[0].startswith("開始コメント")
    assert record.comments[1].startswith("一手目")
    if suffix != ".csa":
        assert [child.move for child in record.moved()[0].children][:2] == ["3c3d", "8c8d"]
        assert re.search(
            r"^\*解析 0 候補1 深さ \d+ ノード数 \d+ 評価値 -?\d+ 読み筋 ▲", record.comments[2], re.MULTILINE
        )
    else:
        assert re.search(r"^\* -?\d+ \+\d{4}[A-Z]{2} -", record.comments[2], re.MULTILINE)
    if suffix != ".ki2u":
        assert record.times == (11.0, 22.0)
    said = capsys.readouterr().err.replace("\n", " ")
    assert ("holds no" in said) == (suffix in (".csa", ".ki2u"))


def test_sgf(tmp_path: Path) -> None:
    source, out = tmp_path / "a.sgf", tmp_path / "b.sgf"
    source.write_text("(;GM[1]SZ[5]KM[7]BR[3d]RE[W+3.5]C[start];B[cc]C[mine]BL[5](;W[bb])(;W[dd]C[other]))")
    assert review(source, "--out", out) == 0
    text = out.read_text().replace("\n", "")
    for part in ("BR[3d]", "RE[W+3.5]", "C[start]", "C[mine", "BL[5]", "W[dd]", "C[other]"):
        assert part in text
    assert text.count("SBKV[") == 3
    assert "RU[" not in text


def test_a_komi_that_nobody_said_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.sgf"
    source.write_text("(;GM[1]SZ[5];B[cc])")
    assert review(source) == 0
    assert "a.sgf: the file says no komi and is judged at 0; for another add KM[6.5]\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["o.pgn", "o.html"])
def test_chess960(tmp_path: Path, name: str) -> None:
    source, out = tmp_path / "a.pgn", tmp_path / name
    source.write_text(C960)
    assert review(source, "--out", out) == 0
    text = out.read_text()
    assert ("O-O" in text) == (name == "o.pgn") or '"g1h1"' in text
    if name == "o.pgn":
        (record,) = read_games(get_game("chess").record_formats, out)
        assert (record.moves[-2:], record.fault) == (("g1h1", "g8h8"), "")


def test_all_games_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "many.pgn"
    source.write_text(PGN + "\n" + C960 + '\n[White "n"]\n[Result "*"]\n\n*\n\n[Variant "Atomic"]\n\n1. e4 *\n')
    assert review(source, "--all", "--out", tmp_path / "o.pgn", "--out", tmp_path / "p.html") == 1
    records = list(read_games(get_game("chess").record_formats, tmp_path / "o.pgn"))
    assert [len(record.moves) for record in records] == [4, 6, 0]
    assert sorted(path.name for path in tmp_path.glob("p*")) == ["p_0001.html", "p_0002.html"]
    said = capsys.readouterr()
    assert "game 1, A - B" in said.out
    error = said.err.replace("\n", " ")
    assert "game 3: it has no moves to review; it is written as it is" in error
    assert re.search("game 4: this is a game of Atomic.*; it is not written", error)


def test_a_game_without_moves_stays_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pgn").write_text('[White "C"]\n[Result "1-0"]\n\n{D did not come} 1-0\n\n[White "A"]\n\n1. e4 *\n')
    assert review(tmp_path / "a.pgn", "--all") == 0
    first, second = read_games(get_game("chess").record_formats, tmp_path / "a.review.pgn")
    assert (first.tree.comment, first.result, first.names[0]) == ("D did not come", 1, "C")
    assert (second.moves, second.names[0]) == (("e2e4",), "A")
    (tmp_path / "b.pgn").write_text('[White "C"]\n\n{D did not come} 1-0\n')
    assert review(tmp_path / "b.pgn", "--all") == 2
    assert not (tmp_path / "b.review.pgn").exists()
    assert review(tmp_path / "a.pgn", "--all", "--out", tmp_path / "a.html") == 0
    assert "game 1: it has no moves to review; it is not written" in " ".join(capsys.readouterr().err.split())


def test_the_review_s_own_lines_are_no_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSA holds no variations; those of the file are told."""
    missed = Record.of_line(("5i4h", "5a4a"), "4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    csa = format_games([missed], format_named(get_game("shogi").record_formats, "csa"))
    for name, text, words in (("a.csa", csa, "blunder: 1"), ("b.kif", KIF, "CSA holds no variations")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert review(tmp_path / name, "--out", tmp_path / f"{name}.csa") == 0
        said = capsys.readouterr()
        assert words in " ".join((said.out + said.err).split())
        assert ("variations" in said.err) == (name == "b.kif")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.pgn", '[Event "A"]\n\n*\n', "it has no moves to review"),
        ("a.pgn", '[Variant "Crazyhouse"]\n\n1. e4 *\n', "a game of Crazyhouse"),
        ("a.pgn", '{"header":{},"moves":[{}]}', "it looks like JKF"),
        ("a.kif", '[Event "A"]\n\n1. e4 *\n', "it looks like PGN"),
        ("a.sgf", "(;GM[2]SZ[8];B[d3])", "a game of Othello"),
        ("a.csa", "<html>", "it looks like a web page"),
        ("a.sgf", "(;GM[1]SZ[2:27];B[aa])", "a board has 2 to 25 lines, not 27"),
    ],
)
def test_another_game_is_refused_by_name(
    tmp_path: Path, name: str, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert review(tmp_path / name) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_a_board_that_the_net_does_not_play_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.sgf").write_text("(;GM[1]SZ[25]KM[7];B[aa];W[bb])")
    assert main(["review", str(tmp_path / "a.sgf")]) == 2
    assert capsys.readouterr().err == (
        "az-engine: a.sgf is a game on 25x25, and the net plays on 7x7 to 19x19 alone; "
        "name one that plays on 25x25 with --net\n"
    )


def test_a_folder_is_no_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["review", "."]) == 2
    assert capsys.readouterr().err == "az-engine: . is a folder; name one file of games, such as game.pgn\n"


def test_a_damaged_game_is_reviewed_up_to_the_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pgn").write_text("1. e4 e5 2. Ke3 *\n")
    assert review(tmp_path / "a.pgn", "--out", tmp_path / "o.pgn") == 1
    assert "illegal san: 'Ke3'" in capsys.readouterr().err.replace("\n", " ")


def test_what_is_told_of_a_damaged_game_is_true_of_one_that_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.sgf", tmp_path / "b.sgf"
    source.write_text("(;SZ[7];B[dd]C[a ] b];W[cc])")
    assert review(source, "--out", out) == 1
    said = capsys.readouterr().err.replace("\n", " ")
    assert "line 1 holds what is no SGF, which is left out; what can be read is reviewed" in said
    assert out.read_text().count("SBKV") == 3


def test_a_record_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, page = tmp_path / "a.pgn", tmp_path / "a.html"
    source.write_text(PGN)
    page.write_text("old")
    assert review(source, "--out", source, "--out", page) == 2
    assert f"{source} is there already; choose another --out, or say --force" in capsys.readouterr().err
    assert (source.read_text(), page.read_text()) == (PGN, "old")
    assert review(source, "--out", page) == 0
    assert page.read_text() != "old"
    assert review(source, "--out", source, "--force") == 0
    assert "%eval" in source.read_text()


def test_of_several_games_one_is_reviewed_and_the_others_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "two.sgf", tmp_path / "out.sgf"
    source.write_text("(;SZ[9]C[first];B[ee])(;SZ[9]C[second];B[ee])")
    assert review(source, "--out", out) == 0
    assert "two.sgf has other games: this is game 1 alone" in " ".join(capsys.readouterr().err.split())
    assert review(source, "--number", 2, "--out", source, "--force") != 0
    assert "has other games, which would be lost" in " ".join(capsys.readouterr().err.split())
    assert "first" in source.read_text()
    assert review(source, "--all", "--out", source, "--force") == 0
    assert re.findall("first|second", source.read_text()) == ["first", "second"]
