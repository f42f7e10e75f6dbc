"""SGF over GTP: games written and read, and files that cannot be used."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from .talk import GtpTalk, engine_that_says


def test_g14_a_game_comes_back_from_the_file_it_was_written_to(tmp_path: Path) -> None:
    file = tmp_path / "a game.sgf"
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "komi 5.5", "kata-set-rules aga", "fixed_handicap 3")
        talk.ask("play w E5", "play b C5", "play b pass", "play w D6", "play w D7")
        board, text = talk.ask("showboard", "printsgf")
        file.write_text(text.removeprefix("= "), encoding="utf-8")
        talk.ask("boardsize 19", "komi 0", "kata-set-rules chinese", "play b K10")
        assert talk.one(f"loadsgf {file}") == "="
        assert talk.ask("showboard", "printsgf", "get_komi") == [board, text, "= 5.5"]
        assert talk.one(f"loadsgf {file} 3") == "="
        assert talk.one("showboard").startswith("= move 3, white"), "the position before the third move"
        assert talk.ask("undo", "undo", "undo") == ["=", "=", "? cannot undo"]
        assert talk.ask(f"loadsgf {file} 1", f"loadsgf {file} 999", "showboard")[:2] == ["=", "="]


FILES = {
    "": "it is not SGF, or is damaged",
    "secret\nroot:hunter2": "it is not SGF, or is damaged",
    "(;C[hunter2": "it is not SGF, or is damaged",
    "(;SZ[9];B[aa];W[aa]C[hunter2])": "move 2 is illegal",
    "(;SZ[9];B[hunter2])": "move 1 is no point of the board",
    "(;SZ[9]AB[hunter2])": "stones are set up on what is no point of the board",
    "(;SZ[9]AB[aa]AW[ab][ba])": "stones are set up without a liberty",
    "(;SZ[hunter2])": "it has a board size that cannot be read",
    "(" * 100_000: "it is not SGF, or is damaged",
    "(;" * 300_000: "it has more than 400000 nodes, variations and properties; split it",
    "(;C[" + "x" * (17 << 20) + "])": "it is larger than 16 MiB; split it",
}


@pytest.mark.slow
def test_g14_files_that_cannot_be_used_are_refused_without_a_word_of_what_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "bad.sgf"
    with GtpTalk() as talk:
        talk.ask("boardsize 9", "play b E5")
        before = talk.ask("showboard", "printsgf")
        for text, message in FILES.items():
            file.write_text(text, encoding="utf-8")
            assert talk.one(f"loadsgf {file}") == f"? cannot load file: {message}"
            assert talk.ask("showboard", "printsgf") == before
        file.write_text("(;SZ[9]C[" + "x" * 10_000_000 + "];B[aa])", encoding="utf-8")
        assert talk.one(f"loadsgf {file}") == "="
    with GtpTalk(engine_that_says(lambda _: None, sizes=(13,))) as talk:
        assert talk.one(f"loadsgf {file}") == "? unacceptable size"


def test_g14_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.sgf"
    os.mkfifo(pipe)  # nobody will ever write to it
    (tmp_path / "link.sgf").symlink_to(tmp_path / "nowhere")
    with GtpTalk() as talk:
        before = talk.ask("boardsize 9", "play b E5", "showboard")[2]
        for place in (tmp_path, pipe, tmp_path / "link.sgf", "x" * 5000, "\udcff", f"{tmp_path}/a.sgf -1"):
            answer = talk.one(f"loadsgf {place}")
            reason = "there is no such file|it is a folder|it cannot be read"
            assert re.fullmatch(rf"\? cannot load file: ({reason})", answer)
        assert talk.one("loadsgf 3") == "? cannot load file: there is no such file"
        assert talk.one("showboard") == before


def test_g14_komi_rules_and_a_file_without_moves(tmp_path: Path) -> None:
    file = tmp_path / "start.sgf"
    file.write_text("(;SZ[9]KM[-3.5]RU[Chinese]HA[2]AB[cc][gg])", encoding="utf-8")
    with GtpTalk() as talk:
        assert talk.ask(f"loadsgf {file}", "get_komi", "undo") == ["=", "= -3.5", "? cannot undo"]
        assert '"whiteHandicapBonus": "N"' in talk.one("kata-get-rules")
        assert talk.one("final_score") == "= B+82.5", "81 points, komi, and two for the handicap"


def test_komi_and_rules_that_the_file_does_not_say_stay_as_they_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.sgf"
    with GtpTalk() as talk:
        for said, komi, rules in (
            ("KM[375]RU[Chinese]", "7.5", "chinese"),
            ("KM[3.75]RU[Chinese]", "7.5", "chinese"),
            ("", "5.5", "aga"),
            ("RU[Japanese]", "5.5", "japanese"),
            ("KM[0]RU[hunter2]", "0", "aga"),
            ("KM[7.25]", "5.5", "aga"),
        ):
            file.write_text(f"(;SZ[9]{said};B[ee])", encoding="utf-8")
            assert talk.ask("komi 5.5", "kata-set-rules aga", f"loadsgf {file}", "get_komi")[2:] == ["=", f"= {komi}"]
            assert f"komi {komi}, {rules} rules" in talk.one("showboard")
    told = capfd.readouterr().err
    assert "the file's rules, 'hunter2', are not known; aga stay in force" in told
    assert "the file's komi, '7.25', is no number of half points; 5.5 stays in force" in told


def test_prisoners_of_the_moves_before_stones_are_set_up(tmp_path: Path) -> None:
    file = tmp_path / "set up.sgf"
    file.write_text("(;SZ[5]KM[0]RU[Japanese];B[ba];W[aa];B[ab];W[];AB[cc]PL[W];W[ee])", encoding="utf-8")
    with GtpTalk() as talk:
        assert talk.ask(f"loadsgf {file} 1", "final_score") == ["=", "= B+23"], "22 points and a prisoner"
