"""The command regret: its figures against a computation of their own, going on after an interruption, bad input."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from az_engine.bench.positions.regret import JOURNAL, worth
from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.protocols.clients.base import Answer, PvInfo

PGN = """[Event "x"]
[White "a"]
[Black "b"]
[Result "*"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. Nxe5 Qd4 6. Nf3 Qxe4+ 7. Qe2 Qxe2+ 8. Kxe2 Bg4 9. h3 Bh5 *
"""
JUDGE = """
import sys, chess
sys.path.insert(0, {folder!r})
from test_regret import material
for line in sys.stdin:
    words = line.split()
    if words[0] == "uci":
        print("id name counter\\nuciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "position":
        board = chess.Board()
        for move in words[words.index("moves") + 1 :]:
            board.push_uci(move)
    elif words[0] == "go":
        move = next(iter(board.legal_moves))
        print(f"info depth 1 score cp {{material(board)}} pv {{move}}\\nbestmove {{move}}", flush=True)
    elif words[0] == "quit":
        break
"""
WORTH = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 310, chess.ROOK: 500, chess.QUEEN: 900}


def material(board: chess.Board) -> int:
    """Centipawns of the side to move, before anything is taken back."""
    return sum(
        value * (len(board.pieces(man, board.turn)) - len(board.pieces(man, not board.turn)))
        for man, value in WORTH.items()
    )


def points(fen: str) -> float:
    return float(1 / (1 + 10 ** (-material(chess.Board(fen)) / 400)))


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A call that compares two players in the games of PGN by counting their pieces."""
    (tmp_path / "games.pgn").write_text(PGN)
    (tmp_path / "judge.py").write_text(JUDGE.format(folder=str(Path(__file__).parent)))
    judge = f"cmd='{sys.executable} {tmp_path / 'judge.py'}' name=counter nodes=1"
    players = ["-P", "uniform visits=20 option.Threads=1", "-P", "raw:uniform"]
    where = ["--from-ply", "4", "--positions", "9", "--level", "100", "--out", str(tmp_path / "out")]
    return ["regret", str(tmp_path / "games.pgn"), *players, "--judge", judge, *where]


def rows(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main([*words, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.slow
def test_figures_are_those_of_an_independent_computation(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(words, capsys)
    kept = [json.loads(line) for line in (tmp_path / "out" / JOURNAL).read_text().splitlines()]
    moves: dict[str, dict[str, str]] = {}
    for row in kept:
        if "move" in row:
            moves.setdefault(row["position"], {})[row["player"]] = row["move"]
        elif "points" in row:
            assert row["points"] == pytest.approx(points(row["position"]), abs=1e-5)
    assert len(moves) == 9
    after: list[list[float]] = []
    best = []
    for fen, chosen in moves.items():
        mine = []
        for name in ("az-engine uniform", "raw az-engine uniform"):
            board = chess.Board(fen)
            board.push_uci(chosen[name])
            mine.append(1 - points(board.fen(en_passant="legal")))
        after.append(mine)
        best.append(max(points(fen), *mine))
    losses = 100 * (np.array(best)[:, None] - np.array(after))
    assert losses.max() > 0
    for place, row in enumerate(found):
        less = losses[:, place] - losses[:, 0]
        assert row["positions"] == 9
        assert row["loss"] == pytest.approx(losses[:, place].mean(), abs=1e-3)
        assert row["blunders"] == pytest.approx(100 * (losses[:, place] > 20).mean(), abs=1e-3)
        assert row["more_than_first"] == pytest.approx(less.mean(), abs=1e-3)
        assert row["more_than_first_95"] == pytest.approx(1.96 * less.std(ddof=1) / 3, abs=1e-2)


@pytest.mark.slow
def test_it_goes_on_with_what_it_has(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = rows(words, capsys)
    journal = tmp_path / "out" / JOURNAL
    kept = journal.read_text()
    assert rows(words, capsys) == whole
    assert journal.read_text() == kept
    journal.write_text(kept[: len(kept) * 2 // 3])  # as a kill leaves it, in the middle of a line
    assert rows(words, capsys) == whole
    assert sorted(journal.read_text().splitlines()) == sorted(kept.splitlines())
    more = rows([*words, "-P", "uniform name=third visits=50 option.Threads=1"], capsys)
    assert [row["player"] for row in more[:2]] == [row["player"] for row in whole]
    assert more[2]["player"] == "third"
    assert all(
        new["loss"] >= old["loss"] for new, old in zip(more, whole, strict=False)
    )  # what it found counts for all


@pytest.mark.slow
def test_the_table_names_players_and_judge(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("az-engine uniform", "raw az-engine", "counter", "loss a move"))


@pytest.mark.parametrize(
    ("game", "info", "expected"),
    [
        ("chess", PvInfo(cp=0), 0.5),
        ("chess", PvInfo(cp=400), 10 / 11),
        ("chess", PvInfo(cp=-400), 1 / 11),
        ("shogi", PvInfo(cp=600), 0.7310586),
        ("chess", PvInfo(cp=5, mate=3), 1.0),
        ("chess", PvInfo(mate=-1), 0.0),
        ("chess", PvInfo(mate=0), 0.0),
        ("chess", PvInfo(chance=0.3), 0.3),
    ],
)
def test_expected_points(game: str, info: PvInfo, expected: float) -> None:
    assert worth(Answer("e2e4", None, (info,), 0.1), get_game(game)) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"uniform visits=20 option.Threads=1": "uniform"}, "needs visits=N|has no limit"),
        ({"uniform visits=20 option.Threads=1": "uniform tc=10+1"}, "no clocks here"),
        ({"raw:uniform": "uniform visits=9"}, "same name"),
        ({"9": "0"}, "must be 1 or more"),
        ({"4": "400"}, "no position that is level enough"),
        ({"100": "20"}, "--level 50 to 100"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    change: dict[str, str], says: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([change.get(word, word) for word in words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") <= 2
    assert re.search(says, error)


@pytest.mark.slow
def test_other_judges_silent_judges_other_players_and_go(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = words.index("--judge") + 1
    text = (tmp_path / "judge.py").read_text()
    (tmp_path / "silent.py").write_text(re.sub(r"info .* pv .move.\\n", "", text))
    silent = f"cmd='{sys.executable} {tmp_path / 'silent.py'}' nodes=1"
    assert main([*words[:place], silent, *words[place + 1 :]]) == 2
    assert "gives no scores" in capsys.readouterr().err
    assert main(words) == 2
    assert "another judge" in capsys.readouterr().err
    out = ["--out", str(tmp_path / "new")]
    assert main([*words, *out]) == 0
    assert main([*[word.replace("visits=20", "visits=21") for word in words], *out]) == 2
    assert "had other settings" in capsys.readouterr().err
    (tmp_path / "new" / JOURNAL).write_text("no JSON\n")
    assert main([*words, *out]) == 2
    assert "is damaged" in capsys.readouterr().err
    assert main([*words, "--game", "go"]) == 2
    assert "played over GTP" in capsys.readouterr().err


def test_files_are_read_before_a_folder_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "games.pgn", tmp_path / "out"
    words = ["-P", "uniform visits=2", "--judge", "uniform visits=2", "--out", str(out), "--from-ply", "9"]
    assert main(["regret", str(file), *words]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert not out.exists()
    file.write_text('1. e4 e5 2. Ke3 *\n\n[Variant "Atomic"]\n\n1. e4 *\n')
    assert main(["regret", str(file), *words]) == 2
    first, second, _ = capsys.readouterr().err.splitlines()
    assert first.startswith("games.pgn, game 1: line 1: illegal san")
    assert first.endswith("; the moves before it are used")
    assert second.startswith("games.pgn, game 2: this is a game of Atomic")
    assert second.endswith("; the game is left out")
