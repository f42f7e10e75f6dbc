"""``az-engine convert`` from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from az_engine.commands import convert
from az_engine.engine.errors import AzError, DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_games, format_named, read_games
from az_engine.engine.records.record import Record

from ..fakes.arguments import parsed
from ..games import DIRECTORY

SHOGI = get_game("shogi")
GAMES = [
    Record.of_line(("7g7f", "3c3d", "8h2b+"), None, 1, "resignation", ("先手", "後手"), (1.0, 2.0, 3.0)),
    Record.of_line(("2g2f",), None, 0, "impasse", ("a", "b"), headers={"Event": "E"}),
]


def run(*words: object) -> int:
    return convert.main(parsed(convert, *words))


@pytest.fixture
def csa(tmp_path: Path) -> Path:
    path = tmp_path / "two.csa"
    path.write_text(format_games(GAMES, format_named(SHOGI.record_formats, "csa")), encoding="utf-8")
    return path


def test_a_line_for_replay_tools_is_printed(csa: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(csa) == 0
    assert capsys.readouterr().out == "position startpos moves 7g7f 3c3d 8h2b+\nposition startpos moves 2g2f\n"


def test_a_game_without_position_lines_prints_its_usual_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;GM[1]SZ[9]KM[7];B[ee];W[cc])")
    assert run(path) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("(;")
    assert ";B[ee]" in printed


def test_a_cut_comment_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;GM[1]SZ[9]KM[7];B[ee];W[cc]C[so f")
    assert run(path) == 1
    said = capsys.readouterr()
    assert said.err == ("game.sgf, game 1: the file ends within a comment, a move or another property, which is cut\n")
    assert "C[so f]W[cc]" in said.out


def test_an_encoding_that_was_recognised_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.pgn"
    path.write_bytes('[White "Иванов, Сергей"]\n[Black "Петров, Иван"]\n\n1. e4 e5 *\n'.encode("cp1251"))
    assert run(path, "--to", "pgn") == 0
    said = capsys.readouterr()
    assert said.err == "game.pgn: the file is not in UTF-8 and is read as Windows-1251 (Cyrillic)\n"
    assert '[White "Иванов, Сергей"]' in said.out


def test_two_results_of_one_game_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The header's is kept, as other programs do; the other one vanished without a word."""
    path = tmp_path / "games.pgn"
    rest = "\n\n1. e4 1-0\n\n"
    path.write_text("".join(f'[Result "{result}"]{rest}' for result in ("1-0", "0-1", "*", "1/2-1/2")))
    assert run(path, "--to", "pgn") == 0
    said = capsys.readouterr()
    assert said.out.count("1. e4 1-0\n") == 2
    told = "which is taken, and the moves end with 1-0"
    assert said.err.splitlines() == [
        f"games.pgn, game 2: the header says 0-1, {told}",
        f"games.pgn, game 4: the header says 1/2-1/2, {told}",
    ]


def test_a_suffix_that_no_format_of_the_game_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "game.txt").write_text("b2 a1\n")
    assert DIRECTORY.is_dir()  # of the game tictactoe
    with pytest.raises(OptionError, match=r"known are uci \(.tictactoe\)"):
        run(tmp_path / "game.txt", "--game", "tictactoe")


def test_there_and_back(csa: Path, tmp_path: Path) -> None:
    assert run(csa, tmp_path / "kif", "--to", "kif") == 0
    names = sorted(path.name for path in (tmp_path / "kif").iterdir())
    assert names == ["two_0001.kifu", "two_0002.kifu"]
    assert run(tmp_path / "kif", tmp_path / "again.csa") == 0
    assert list(read_games(SHOGI.record_formats, tmp_path / "again.csa")) == GAMES
    assert run(tmp_path / "kif" / "two_0001.kifu", tmp_path / "one.kif") == 0
    assert b"Shift_JIS" in (tmp_path / "one.kif").read_bytes()
    assert list(read_games(SHOGI.record_formats, tmp_path / "one.kif")) == GAMES[:1]


def test_a_format_may_be_printed(csa: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(csa, "--to", "csa") == 0
    assert capsys.readouterr().out == csa.read_text(encoding="utf-8")


def test_chess_and_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.pgn").write_text("1. e4 e5 1-0\n")
    assert run(tmp_path / "x.pgn") == 0
    assert capsys.readouterr().out == "position startpos moves e2e4 e7e5\n"


def test_damage_is_told_and_the_rest_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.csa").write_text("PI\n+\n+7776FU\n+2726FU\n/\nPI\n+\n+2726FU\n")
    assert run(tmp_path / "bad.csa") == 1
    said = capsys.readouterr()
    assert said.out == "position startpos moves 7g7f\nposition startpos moves 2g2f\n"
    assert said.err == "bad.csa, game 1: line 4: +2726FU is a move of the side that is not to move\n"


def test_a_null_move_is_damage_where_it_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.pgn").write_text("1. e4 -- 2. d4 d5 *\n")
    for to, status, written in (("pgn", 0, "1. e4 -- 2. d4 d5 *\n"), ("uci", 1, "position startpos moves e2e4\n")):
        assert run(tmp_path / "x.pgn", "--to", to) == status
        output = capsys.readouterr()
        assert output.out.endswith(written)
        assert "what follows stays in PGN alone" in output.err
    (tmp_path / "x.pgn").write_text("1. e4 -- 2. d4 d5 3. Ke3 *\n")
    assert run(tmp_path / "x.pgn", "--to", "pgn") == 1


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "x.fen",
            "8/8/8/8/8/8/8/8 w - - 0 1\n4k3/8/8/8/8/8/8/4K3 w - - 0 1\n",
            "line 1: white has 0 kings instead of one",
        ),
        ("x.pgn", '[FEN "x"]\n\n1. e4 *\n\n[FEN "4k3/8/8/8/8/8/8/4K3 w - - 0 1"]\n\n*\n', "expected 8 rows"),
        ("x.csa", "P1-XX\n+\n+7776FU\n/\nP-00AL\nP+59OU\nP-51OU\n+\n", "line 1: '-XX' in rank 1 is no piece"),
    ],
)
def test_no_game_begins_where_it_did_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, told: str
) -> None:
    """A position that cannot be read was written as the usual start."""
    (tmp_path / name).write_text(content)
    assert run(tmp_path / name) == 1
    said = capsys.readouterr()
    assert said.out.count("\n") == 1
    assert "startpos" not in said.out
    assert said.err.startswith(f"{name}, game 1: {told}")
    assert said.err.endswith("; it is left out\n")
    assert "looks like" not in said.err


@pytest.mark.parametrize(
    ("name", "content", "text", "status", "told"),
    [
        ("a.gib", "\\HS\n\\[GAMEBLACKNAME=a\\]\nSTO 0 2 1 3 3\n", "PB[a]SZ[19];B[dd]", 0, ""),
        ("a.sgf", "(;GM[6])(;SZ[5];B[aa])", "SZ[5];B[aa]", 1, "a.sgf, game 1: this is a game of Backgammon"),
    ],
)
def test_go_is_written_as_sgf(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, text: str, status: int, told: str
) -> None:
    """GIB was said to lose the properties that it has, and a game of another kind lost those after it."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert run(tmp_path / name, "--to", "sgf") == status
    output = capsys.readouterr()
    assert text in output.out
    assert told in output.err
    assert bool(told) == bool(output.err)


def test_two_games_never_have_one_file(csa: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    csa.rename(folder / "x.csa")
    (folder / "x_0001.csa").write_text("PI\n+\n+2726FU\n")
    assert run(folder, out, "--to", "kif") == 0
    assert sorted(path.stem for path in out.iterdir()) == ["x_0001", "x_0002", "x_0003"]
    assert "２六歩" in (out / "x_0001.kifu").read_text(encoding="utf-8"), "a game keeps its file's name"
    for name in ("x_0001", "x_0002"):
        (out / f"{name}.kifu").unlink()
    with pytest.raises(OptionError, match=r"x_0003.kifu is there already"):
        run(folder, out, "--to", "kif")
    assert len([*out.iterdir()]) == 1, "nothing is written then"


@pytest.mark.parametrize("source", [".", "kifu/.."])
def test_the_folder_that_one_is_in_has_its_name(
    source: str, csa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "games.2026"
    (here / "kifu").mkdir(parents=True)
    csa.rename(here / csa.name)
    monkeypatch.chdir(here)
    assert run(source, "--game", "shogi") == 0
    assert capsys.readouterr().err.startswith("games.2026: USI holds no")
    assert run(source, "kifu", "--game", "shogi", "--to", "kif") == 0
    assert sorted(path.name for path in (here / "kifu").iterdir()) == ["games.2026_0001.kifu", "games.2026_0002.kifu"]


def test_what_cannot_be_done_is_refused(csa: Path, tmp_path: Path) -> None:
    (tmp_path / "there.kif").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.sgf").write_text("(;SZ[9])", encoding="utf-8")
    refused: list[tuple[tuple[object, ...], type[AzError], str]] = [
        ((tmp_path / "none.csa",), DataError, "does not exist"),
        ((tmp_path / "empty",), DataError, "no game's records"),
        ((tmp_path / "empty", "--game", "shogi"), DataError, "holds no records of shogi"),
        ((csa, tmp_path / "x.kifu"), OptionError, "one game, not 2"),
        ((csa, tmp_path / "folder"), OptionError, "say --to"),
        ((csa, tmp_path / "x.pgn"), OptionError, "no format for games"),
        ((csa, csa), OptionError, "there already"),
        ((tmp_path / "x.sgf", tmp_path / "y.gib"), OptionError, "only read"),
        ((tmp_path / "x.sgf", "--to", "uci"), OptionError, r"known are SGF \(\.sgf\)$"),
        (
            (tmp_path, tmp_path / "out", "--to", "csa"),
            OptionError,
            "holds records of go and shogi: say which with --game",
        ),
        ((tmp_path / "there.kif",), DataError, "there is no KIF"),
    ]
    for words, kind, text in refused:
        with pytest.raises(kind, match=text):
            run(*words)
    assert run(csa, csa, "--force") == 0
