"""The command rate, against an independent computation."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from az_engine.bench.ratings.bayes import PRIOR_ELO, PairScore
from az_engine.bench.ratings.command import collect
from az_engine.cli import main

GAMES = [("A", "B", 1)] * 12 + [("A", "B", 0)] * 5 + [("B", "A", 1)] * 3 + [("B", "C", 1)] * 9 + [("C", "B", 1)] * 4
GAMES += [("C", "A", -1)] * 6 + [("C", "A", 0)] * 2


def climbed(log_likelihood: Callable[[list[float]], float], count: int) -> list[float]:
    """The maximum by trying ever smaller steps in each direction: slow, and knows no calculus."""
    at, step = [0.0] * count, 256.0
    while step > 1e-3:
        moved = False
        for i in range(count):
            for sign in (1, -1):
                other = [*at]
                other[i] += sign * step
                if log_likelihood(other) > log_likelihood(at):
                    at, moved = other, True
        step = step if moved else step / 2
    return at


def posterior(elos: list[float]) -> float:
    rating = {"A": 0.0, "B": elos[0], "C": elos[1]}
    total = -sum(e * e for e in elos) / (2 * PRIOR_ELO**2)
    for first, second, result in GAMES:
        p = 1 / (1 + 10 ** ((rating[second] - rating[first]) / 400))
        points = (result + 1) / 2
        total += points * math.log(p) + (1 - points) * math.log(1 - p)
    return total


def pgn(games: list[tuple[str, str, int]]) -> str:
    token = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}
    return "\n".join(
        f'[Event "x"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{token[r]}"]\n\n1. e4 {token[r]}\n'
        for white, black, r in games
    )


def test_collecting() -> None:
    scores = collect([GAMES[:10], GAMES[10:]])
    assert scores == [PairScore("A", "B", 12, 5, 3), PairScore("B", "C", 9, 0, 4), PairScore("C", "A", 0, 2, 6)]
    assert collect([[("A", "A", 1)]]) == []


def test_ratings_are_those_of_an_independent_computation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "one.pgn", tmp_path / "two.pgn"]
    files[0].write_text(pgn(GAMES[:15]))
    files[1].write_text(pgn([*GAMES[15:], ("P", "Q", 1)]))
    assert main(["rate", *map(str, files), "--json", "--anchor", "A=1500"]) == 0
    said = capsys.readouterr()
    found = {line["player"]: line for line in map(json.loads, said.out.splitlines())}
    for name, elo in zip("BC", climbed(posterior, 2), strict=True):
        assert found[name]["elo"] == pytest.approx(1500 + elo, abs=0.1)
        assert found[name]["low"] < found[name]["elo"] < found[name]["high"]
    assert (found["A"]["elo"], found["A"]["low"], found["A"]["games"]) == (1500, 1500, 28)
    assert "P is left out" in said.err
    assert main(["rate", *map(str, files), "--json", "--anchor", "A=1500", "--anchor", "C=1400"]) == 0
    found = {line["player"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert (found["A"]["elo"], found["C"]["elo"], found["C"]["low"]) == (1500, 1400, 1400)
    (middle,) = climbed(lambda elos: posterior([*elos, -100.0]), 1)
    assert found["B"]["elo"] == pytest.approx(1500 + middle, abs=0.1)
    assert main(["rate", *map(str, files), "--anchor", "B"]) == 0
    assert "anchor" in capsys.readouterr().out


def test_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(pgn([("A", "B", 1), ("B", "A", -1), ("B", "C", 0), ("C", "B", 1)]))
    assert main(["rate", str(file), "--markdown", "--anchor", "B=1500"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| player | opponent |")
    assert lines[2].startswith("| A | B | 2 | +2 =0 -0 | 100.0 % | more than ")
    assert lines[3].startswith("| B | C | 2 | +0 =1 -1 | 25.0 % | -191 [")
    assert {line.split(" | ")[0] for line in lines[-3:]} == {"| A", "| B", "| C"}
    assert any(line.startswith("| B | 1500 | anchor | 4 |") for line in lines)
    file.write_text(pgn([("A", "B", 1)]))
    assert main(["rate", str(file), "--markdown"]) == 0
    assert "rating" not in capsys.readouterr().out


def test_one_pair_is_the_closed_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the prior, 3 of 4 points are 400 log10(3) Elo; with as many games the prior is nothing."""
    file = tmp_path / "games.pgn"
    file.write_text(pgn([("A", "B", 1)] * 750 + [("B", "A", 1)] * 250))
    assert main(["rate", str(file), "--anchor", "B", "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["elo"] == pytest.approx(400 * math.log10(3), abs=0.5)
    half = 1.96 * 400 / math.log(10) / math.sqrt(1000 * 0.75 * 0.25)
    assert (first["high"] - first["low"]) / 2 == pytest.approx(half, rel=0.01)


def test_results_of_different_games_are_not_pooled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, game in (("m1", "chess"), ("g1", "go9"), ("g2", "go19")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "event.json").write_text(json.dumps({"game": game}))
        (tmp_path / name / "games.jsonl").write_text("")
    records = tmp_path / "games.pgn"
    records.write_text(pgn([("A", "B", 1)]))
    m1, g1, g2 = (tmp_path / name for name in ("m1", "g1", "g2"))
    for a, b in ((m1, g1), (records, g1)):
        assert main(["rate", str(a), str(b)]) == 2
        said = capsys.readouterr().err
        assert said == f"az-engine: {a} has games of chess and {b} of go; rate each game by itself\n"
    assert main(["rate", str(m1), str(records), "--json"]) == 0
    assert main(["rate", str(g1), str(g2)]) == 2
    assert "no finished games" in capsys.readouterr().err


def test_games_that_are_given_twice_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder beside its own files made the intervals too narrow."""
    records, more = tmp_path / "games.pgn", tmp_path / "more.pgn"
    records.write_text(pgn([("A", "B", 1), ("A", "B", 0)]))
    more.write_text(pgn([("A", "B", 1)]))
    assert main(["rate", str(records), str(more), str(records), "--json"]) == 0
    said = capsys.readouterr()
    assert [json.loads(line)["games"] for line in said.out.splitlines()] == [3, 3]
    assert said.err == f"{records}: its games are given twice and are counted once\n"
    (tmp_path / "games.jsonl").write_text("")
    assert main(["rate", str(records), str(more), str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    assert [json.loads(line)["games"] for line in said.out.splitlines()] == [1, 1]
    assert said.err == f"{records}: its games are given twice and are counted once\n"


def test_anchors_that_no_games_connect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(pgn([("A", "B", 1), ("A", "B", 0), ("C", "D", 1), ("C", "D", 0)]))
    assert main(["rate", str(file), "--anchor", "A=100", "--anchor", "C=50"]) == 0
    rows = capsys.readouterr().out
    assert all(name in rows for name in "ABCD")


def test_what_cannot_be_rated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(pgn([("A", "B", 1)]))
    for arguments, words in (
        ([str(tmp_path / "x.txt")], "no file of results"),
        ([str(tmp_path)], "cannot be read"),
        ([str(file), "--anchor", "Z=1"], "names none of the players (A, B)"),
        ([str(file), "--anchor", "A=x"], "names none of the players"),
    ):
        assert main(["rate", *arguments]) == 2
        assert words in capsys.readouterr().err
    file.write_text('[White "A"]\n[Result "*"]\n\n1. e4 *\n')
    assert main(["rate", str(file)]) == 2
    assert "no finished games" in capsys.readouterr().err
