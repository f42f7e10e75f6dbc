"""Matches between made-up engines: results, faults told apart, clocks, records, openings."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import pytest

from az_engine.bench.match import command
from az_engine.bench.match.arbiter import new_arbiter
from az_engine.bench.match.openings import choose_openings, suite
from az_engine.bench.match.players import MoveLimit, PlayerSpec
from az_engine.cli import main
from az_engine.engine.errors import DataError, OptionError

from ...fakes.program import COMMAND
from .events import Match
from .test_players import fake, scripted

pytestmark = pytest.mark.slow


def play(a: PlayerSpec, b: PlayerSpec, games: int = 4, **more: Any) -> Match:
    return Match("chess", (a, b), choose_openings("book", "chess", games, 0), games, **more)


def test_a_match_and_its_records(tmp_path: Path) -> None:
    match = play(fake(nodes=1), fake(nodes=1), 4, directory=tmp_path, max_plies=120)
    assert match.score().games == 4
    assert [game.pairing.first for game in match.finished] == [0, 1, 0, 1]
    assert match.finished[0].pairing.opening == match.finished[1].pairing.opening != match.finished[2].pairing.opening
    file = io.StringIO((tmp_path / "games.pgn").read_text())
    for game in match.finished:
        record = chess.pgn.read_game(file)
        assert record is not None
        assert record.errors == []
        assert [move.uci() for move in record.mainline_moves()] == list(game.moves)
        assert list(game.moves[: len(game.pairing.opening.moves)]) == list(game.pairing.opening.moves)
        assert record.headers["Result"] == {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[game.ending.result]
        outcome = record.end().board().outcome(claim_draw=False)
        if outcome is not None and outcome.winner is not None:
            assert outcome.result() == record.headers["Result"]
        assert " cp, depth 3" in next(iter(record.mainline())).comment or game.pairing.opening.moves
    assert chess.pgn.read_game(file) is None


def test_the_clock_is_given_and_kept(tmp_path: Path) -> None:
    heard = tmp_path / "heard.txt"
    a = PlayerSpec("a", (*COMMAND, "uci"), {"Log": str(heard)}, MoveLimit(base_ms=60_000, increment_ms=30_000))
    b = PlayerSpec("b", (*COMMAND, "uci"), {}, MoveLimit(base_ms=30_000))
    match = play(a, b, 2, max_plies=14)
    assert not match.faults(0) | match.faults(1)
    goes = [line.split() for line in heard.read_text().splitlines() if line.startswith("go")]
    assert goes[0] == "go wtime 60000 btime 30000 winc 30000".split()
    later = dict(zip(goes[1][1::2], map(int, goes[1][2::2]), strict=True))
    assert 60_000 < later["wtime"] <= 90_000
    assert 0 < later["btime"] <= 30_000
    assert any(int(go[2]) <= 30_000 for go in goes)  # the second game: colours swapped


def test_a_player_without_a_clock_against_one_with(tmp_path: Path) -> None:
    heard = tmp_path / "heard.txt"
    a = PlayerSpec("a", (*COMMAND, "uci"), {"Log": str(heard)}, MoveLimit(nodes=5))
    match = play(a, fake(base_ms=60_000), 1, max_plies=14)
    assert not match.faults(0) | match.faults(1)
    assert "go wtime 3600000 btime 60000 nodes 5\n" in heard.read_text()


def test_draws_by_rule_end_games() -> None:
    """Two engines that shuffle a knight: the arbiter does not wait for a claim."""
    shuffler = scripted("uci", "g1f3", "g8f6", "f3g1", "f6g8")
    match = Match("chess", (shuffler, shuffler), choose_openings("none", "chess", 1, 0), 2, concurrency=2)
    assert [game.ending.words for game in match.finished] == ["threefold repetition"] * 2
    assert [len(game.moves) for game in match.finished] == [8, 8]
    assert match.score().draws == 2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_LINE_SECONDS", 0.0)
    engine = f"cmd={shlex.quote(shlex.join((*COMMAND, 'uci')))} nodes=1"
    out = tmp_path / "deep" / "out"
    words = ["match", "-A", f"{engine} name=X", "-B", engine, "--games", "3", "--openings", "random:6", "--json"]
    assert main([*words, "--out", str(out), "--max-plies", "60", "--concurrency", "2"]) == 0
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert re.match(r"(\d of 3 games: X \+\d =\d -\d, \S+ \+\d =\d -\d\n){3}", output.err), output.err
    assert result["wins"] + result["draws"] + result["losses"] == 3
    assert result["A"] == {"name": "X", "limit": "1 node", "faults": {}}
    assert json.loads((out / "result.json").read_text()) == result
    assert (out / "games.pgn").read_text().count("[Event ") == 3
    assert main([*words, "--out", str(out), "--seed", "5"]) == 2
    assert "another match already (seed, max_plies differ)" in capsys.readouterr().err
    assert main(["match", "-A", "cmd=/no/such/engine", "-B", engine, "--visits", "1"]) == 2
    assert "'/no/such/engine' cannot be started" in capsys.readouterr().err
    assert main(["match", "-A", "default", "-B", engine]) == 2
    assert "has no limit" in capsys.readouterr().err
    assert main(["match", "-A", f"{engine} byoyomi=0.1", "-B", engine]) == 2
    assert "chess has no byoyomi" in capsys.readouterr().err


def test_a_player_that_does_not_start_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["match", "-A", "cmd=/no/such/engine", "-B", "uniform", "--visits", "1", "--games", "2", "--out"]
    assert main([*words, str(tmp_path / "runs" / "x")]) == 2
    assert "does not start" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main([*words, str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["m.pgn", "m.SGF", "m.json"])
def test_a_file_as_out_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / name
    assert main(["match", "-B", "uniform", "--visits", "1", "--out", str(out)]) == 2
    said = "az-engine: --out is a folder, for the games, the journal and the result, not a file: --out m\n"
    assert capsys.readouterr().err == said
    assert not out.exists()


@pytest.mark.parametrize("game", ["chess", "shogi"])
def test_the_book(game: str) -> None:
    seen = set()
    book = suite("book", game)
    for opening in book:
        arbiter = new_arbiter(game)
        for move in opening.moves:
            arbiter.push(move)
        assert arbiter.turn == 0, opening.name
        assert arbiter.ending() is None
        seen.add(tuple(sorted(opening.moves)))
    assert len(seen) == len(book) >= 35


def test_openings_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("# a comment\n\ne2e4 e7e5\n4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n")
    openings = choose_openings(str(file), "chess", 5, 1)
    assert len(openings) == 5
    assert {(o.root, o.moves) for o in openings} == {(None, ("e2e4", "e7e5")), ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ())}
    for bad in ("e2e5\n", "8/8/8/8/8/8/8/8 w - - 0 1\n", "\n", "7k/5Q2/8/8/8/8/8/7K b - - 0 1\n"):
        file.write_text(bad)
        with pytest.raises(DataError):
            choose_openings(str(file), "chess", 1, 0)
    for wrong in ("random:0", "random:x", str(tmp_path / "missing")):
        with pytest.raises(OptionError):
            choose_openings(wrong, "chess", 1, 0)


def test_random_openings_are_fixed_by_the_seed() -> None:
    first, again, other = (choose_openings("random:8", "chess", 5, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert all(len(opening.moves) == 8 for opening in first)
