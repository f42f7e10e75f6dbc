"""The command suite: what solves a position, real engines, bad files."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from az_engine.bench.positions.epd import Task, read_suite
from az_engine.bench.positions.players import track
from az_engine.bench.positions.regression import read_regression
from az_engine.cli import main
from az_engine.engine.errors import DataError

MATE = 'r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - bm Qxf7#; id "scholar";'
FREE = '4k3/8/8/3q4/8/8/3R4/4K3 w - - bm Rxd5; id "queen";'
CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - am O-O Kd1;"
ONE_MOVE = '7k/8/8/8/8/8/5q2/7K w - - am a1; id "none";'


def suite(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "suite.epd"
    path.write_text("# a comment\n\n" + "\n".join(lines) + "\n")
    return path


def test_operations_become_moves(tmp_path: Path) -> None:
    mate, free, castles = read_suite(suite(tmp_path, MATE, FREE, CASTLES))
    assert mate == Task("scholar", mate.fen, frozenset({"h5f7"}), frozenset())
    assert mate.fen == "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 1"
    assert free.solved_by("d2d5")
    assert not free.solved_by("d2d4")
    assert (castles.name, castles.avoided) == ("5", frozenset({"e1g1", "e1d1"}))
    assert castles.solved_by("e1c1")
    assert castles.solved_by("e1a1"), "as engines write it once another task is of Chess960"
    assert not castles.solved_by("e1g1")
    assert not castles.solved_by("e1h1")
    assert not castles.solved_by(None)
    assert (mate.solution, castles.solution) == ("Qxf7#", "not Kd1, O-O")
    assert [castles.san(move) for move in ("e1c1", None, "soon")] == ["O-O-O", "no move", "soon"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (ONE_MOVE, "line 4: "),
        (FREE.replace("bm Rxd5;", ""), "line 4: there is no bm, am or dm"),
        (FREE.replace("bm Rxd5", "bm Rxd6"), "line 4: illegal san"),
        (FREE.replace("bm Rxd5", "bm Qz9!"), "line 4: 'Qz9!' is no move; it is skipped"),
        (FREE.replace("bm Rxd5", "bm --"), "line 4: '--' is no move; it is skipped"),
        (FREE.replace("bm Rxd5", "dm 1"), "line 4: there is no mate in 1"),
        (FREE.replace("4k3", "8"), "line 4: black has 0 kings instead of one"),
        ("nonsense", "line 4: "),
    ],
)
def test_odd_lines_are_skipped_by_their_number(
    tmp_path: Path, line: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(read_suite(suite(tmp_path, MATE, line, FREE))) == 2
    assert f"suite.epd, {text}" in capsys.readouterr().err
    with pytest.raises(DataError, match="no position"):
        read_suite(suite(tmp_path, line))


def test_everything_that_suites_hold(tmp_path: Path) -> None:
    tasks = read_suite(
        suite(
            tmp_path,
            'rnbqkb1r/p3pppp/1p6/2ppP3/3N4/2P5/PPP1QPPP/R1B1KB1R w KQkq - 0 1 bm e6; id "FEN fields";',
            "7k/8/6K1/8/8/8/R7/8 w - - dm 1;",
            "nqrnbbkr/pppppppp/8/8/8/8/PPPPPPPP/NQRNBBKR w KQkq - bm g3 f3;",
            "8/4P1k1/8/8/8/8/8/K7 w - - bm e8Q e8=N;",
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - bm 0-0 O-O-O;",
            "4k3/8/8/8/8/8/8/4K3 w - - hmvc 3; fmvn 40; bm Kd2 Ke2;",
            "6k1/5ppp/8/8/8/8/8/K2R4 w - - bm d1d8; acd 10; ce 32767;",
            "1k6/8/8/8/8/8/8/2R1KR2 w CF - bm O-O;",
        )
    )
    assert [sorted(task.best) for task in tasks] == [
        ["e5e6"],
        ["a2a8"],
        ["f2f3", "g2g3"],
        ["e7e8n", "e7e8q"],
        ["e1c1", "e1g1"],
        ["e1d2", "e1e2"],
        ["d1d8"],
        ["e1f1"],
    ]
    assert tasks[5].fen.endswith(" 3 40")
    assert [task.chess960 for task in tasks] == [False, False, True, False, False, False, False, True]
    assert tasks[7].san("e1f1") == "O-O"


def test_players_solve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = suite(tmp_path, MATE, FREE, FREE.replace("bm", "am").replace("queen", "keep"))
    words = ["-P", "default visits=200 option.Threads=1", "-P", "default name=fast visits=1 option.MatePlies=0"]
    assert main(["suite", str(path), *words, "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"player": "az-engine default", "positions": 3, "solved": 2} | {
        "failed": ["keep"],
        "played": ["Rxd5"],
    }
    assert (second["player"], second["positions"]) == ("fast", 3)
    assert main(["suite", str(path), *words]) == 0
    shown = capsys.readouterr().out
    assert "66.7%" in shown
    [row] = [[cell.strip() for cell in line.split("│")[1:4]] for line in shown.splitlines() if "keep" in line]
    assert row == ["keep", "not Rxd5", "Rxd5"]
    assert main(["suite", str(path), "-P", "default"]) == 2
    assert "has no limit" in capsys.readouterr().err
    assert main(["suite", str(path), "-P", "default", "-P", "default", "--seconds", "0.1"]) == 2
    assert "have the same name" in capsys.readouterr().err
    assert main(["suite", str(path), "-P", "default", "--seconds", "0"]) == 2
    assert "0.001 to 600" in capsys.readouterr().err


REGRESSION = """\
loadsgf games/one.sgf 2
1 reg_genmove white
#? [D4|E4]
2 attack E5
#? [0]
play white E4
reg_genmove black
# between them
#? [!(A1|PASS)]*
3 reg_genmove black
"""


def test_questions_of_a_regression_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "seki.tst"
    path.write_text(REGRESSION)
    first, second = read_regression(path)
    assert (first.name, first.colour, first.mover, first.solution) == ("seki 1", "white", 1, "D4, E4")
    assert first.commands == (f"loadsgf {tmp_path.resolve()}/games/one.sgf 2",)
    assert [first.solved_by(move) for move in ("D4", "e4", "D44", None)] == [True, True, False, False]
    assert (second.name, second.commands, second.solution) == ("seki line 7", ("play white E4",), "not A1, PASS")
    assert [second.solved_by(move) for move in ("A1", "pass", "A10", None)] == [False, False, True, False]
    assert "ask for no move: 1" in capsys.readouterr().err
    path.write_text(REGRESSION.replace("D4|E4", "D4|("))
    assert [question.name for question in read_regression(path)] == ["seki line 7"]
    assert "seki.tst, line 3: " in capsys.readouterr().err
    path.write_text("1 attack E5\n#? [0]\n")
    with pytest.raises(DataError, match="asks for no move"):
        read_regression(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_regression(tmp_path / "none.tst")


@pytest.mark.slow
def test_players_answer_a_regression_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = tmp_path / "games"
    games.mkdir()
    (games / "one.sgf").write_text("(;SZ[9];B[ee];W[de];B[df];W[ff])")
    path = tmp_path / "own.tst"
    path.write_text(REGRESSION.replace("D4|E4", "[A-J][1-9]"))
    assert main(["suite", str(path), "-P", "uniform visits=8 option.threads=1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["player"], row["positions"], row["solved"]) == ("az-engine uniform", 2, 2)
    assert main(["suite", str(path), str(suite(tmp_path, MATE)), "-P", "default"]) == 2
    assert "either EPD or .tst" in capsys.readouterr().err
    path.write_text(REGRESSION.replace("one.sgf", "two.sgf"))
    assert main(["suite", str(path), "-P", "uniform visits=8", "--json"]) == 0
    shown = capsys.readouterr()
    assert "own 1: az-engine uniform refuses loadsgf" in shown.err
    assert json.loads(shown.out)["played"] == ["no move", "no move"]  # also where its board is not the suite's


NO_REG_GENMOVE = """
import sys
moves = []
for line in sys.stdin:
    word, *rest = line.split()[line[0].isdigit():]
    if word == "play":
        moves.append(rest[1])
    if word == "genmove":
        moves.append(f"A{1 + len(moves)}")
    if word == "undo":
        moves.pop()
    answers = {"list_commands": "play\\ngenmove\\nundo\\nloadsgf", "genmove": moves[-1] if moves else ""}
    print(f"={line.split()[0] if line[0].isdigit() else ''} {answers.get(word, '')}\\n", flush=True)
    if word == "quit":
        break
"""


def test_a_player_without_reg_genmove_takes_its_moves_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    player, path = tmp_path / "player.py", tmp_path / "own.tst"
    player.write_text(NO_REG_GENMOVE)
    path.write_text(
        "1 reg_genmove white\n#? [A1]\nplay white E4\n2 reg_genmove black\n#? [A2]\n3 reg_genmove black\n#? [A2]\n"
    )
    command = shlex.join([sys.executable, str(player)])
    assert main(["suite", str(path), "-P", f"cmd={shlex.quote(command)} name=other", "--seconds", "1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["positions"], row["solved"]) == (3, 3)
    player.write_text(NO_REG_GENMOVE.replace("={", "{'?' if word == 'undo' else '='}{"))
    assert main(["suite", str(path), "-P", f"cmd={shlex.quote(command)} name=other", "--seconds", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["played"] == ["no move", "no move"], "its board is not the suite's"


def test_long_work_shows_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("az_engine.bench.positions.players.LINE_S", -1.0)  # it is always time for one
    assert list(track("abc", "default")) == list("abc")
    assert capsys.readouterr().err.splitlines() == [f"default: {number} of 3 positions" for number in range(3)]
