"""Matches of shogi between scripted engines: how games end, byoyomi, records; and what the arbiter makes of cshogi."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

from az_engine.bench.match import arbiter as arbiter_module
from az_engine.bench.match.arbiter import new_arbiter, random_opening
from az_engine.bench.match.openings import Opening, choose_openings
from az_engine.bench.match.players import PlayerSpec
from az_engine.cli import main
from az_engine.engine.errors import AzError, IllegalMoveError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import read_games

from ...fakes.program import COMMAND
from .events import Match
from .test_players import scripted

ENDINGS = Path(__file__).parents[2] / "data" / "endings_shogi.jsonl"
SHUFFLE = ("2h3h", "8b7b", "3h2h", "7b8b")
CHECKER = "lnsg1gsnl/1r5b1/ppppppppp/4k4/9/5R3/PPPPPPPPP/1B7/LNSGKGSNL b - 1"
PERPETUAL = ("4f5f", "5d4d", "5f4f", "4d5d")
ENTERED = "4K4/9/9/9/9/9/4k4/+p+p+p+p+p4/+p+p+p+p+p4 w rb7p 200"  # white may declare


def play(a: PlayerSpec, b: PlayerSpec, root: str | None = None, games: int = 2, directory: Path | None = None) -> Match:
    return Match("shogi", (a, b), [Opening("test", root)] * games, games, directory)


def endings(match: Match) -> list[tuple[int, str]]:
    return [(game.ending.result, game.ending.words) for game in match.finished]


def test_repetition_is_drawn_and_both_are_told(tmp_path: Path) -> None:
    heard = tmp_path / "heard.txt"
    match = play(scripted("usi", *SHUFFLE, options={"Log": str(heard)}), scripted("usi", *SHUFFLE))
    assert endings(match) == [(0, "fourfold repetition")] * 2
    assert [len(game.moves) for game in match.finished] == [12, 12]
    lines = heard.read_text().splitlines()
    assert lines.count("gameover draw") == 2
    first = lines.index("usinewgame")
    assert lines[first - 1 : first + 3] == ["isready", "usinewgame", "position startpos", "go nodes 1"]
    assert lines.count("isready") == 2 + 1  # once after the options, then before each game: never during one


def test_a_perpetual_checker_loses() -> None:
    match = play(scripted("usi", *PERPETUAL), scripted("usi", *PERPETUAL), CHECKER)
    assert endings(match) == [(-1, "perpetual check")] * 2
    assert not match.faults(0) | match.faults(1)


def test_resignation_and_results_told(tmp_path: Path) -> None:
    heard = tmp_path / "heard.txt"
    quitter = scripted("usi", "resign", options={"Log": str(heard)})
    match = play(scripted("usi", "7g7f", "8c8d"), quitter)
    assert endings(match) == [(1, "resignation"), (-1, "resignation")]
    assert match.score().wins == 2
    assert heard.read_text().splitlines().count("gameover lose") == 2


def test_mate_ends_the_game_without_a_word_of_the_loser() -> None:
    match = play(scripted("usi", "G*5b"), scripted("usi", "nothing"), "4k4/9/4P4/9/9/9/9/9/4K4 b G 1", games=1)
    assert endings(match) == [(1, "checkmate")]
    assert match.finished[0].record.reason == "mate"


def test_declarations() -> None:
    match = play(scripted("usi", "resign"), scripted("usi", "win"), ENTERED, games=1)
    assert endings(match) == [(-1, "declaration")]
    assert match.finished[0].record.reason == "declaration"
    match = play(scripted("usi", "win"), scripted("usi", "resign"), None, games=1)
    assert dict(match.faults(0)) == {"illegal move": 1}
    assert match.finished[0].ending.result == -1


@pytest.mark.parametrize("answer", ["7g7e", "P*5e", "nonsense", "(none)", "7g7f="])
def test_illegal_moves_lose(answer: str) -> None:
    match = play(scripted("usi", answer, answer), scripted("usi", "2g2f", "8c8d"))
    assert dict(match.faults(0)) == {"illegal move": 2}
    assert match.score().losses == 2


@pytest.mark.slow
def test_byoyomi(tmp_path: Path) -> None:
    heard = tmp_path / "heard.txt"
    quick = scripted("usi", *SHUFFLE, options={"Log": str(heard)}, base_ms=0, byoyomi_ms=5000)
    slow = scripted("usi", *SHUFFLE[:3], f"slow={SHUFFLE[3]}", base_ms=100, byoyomi_ms=60_000)
    match = play(quick, slow, games=1)
    assert endings(match) == [(0, "fourfold repetition")]
    goes = [line for line in heard.read_text().splitlines() if line.startswith("go")]
    assert goes[0] == "go btime 0 wtime 100 byoyomi 5000"
    assert goes[-1] == "go btime 0 wtime 0 byoyomi 5000"  # the other's main time is used up
    assert match.finished[0].overstep_ms == 0
    slow = scripted("usi", *SHUFFLE[:3], f"slow={SHUFFLE[3]}", base_ms=100, byoyomi_ms=100)
    match = play(quick, slow, games=1)
    assert dict(match.faults(1)) == {"time loss": 1}
    assert 100 < match.finished[0].overstep_ms < 60_000
    assert match.finished[0].record.reason == "time"


def test_increments_come_before_the_move(tmp_path: Path) -> None:
    heard = tmp_path / "heard.txt"
    players = [
        scripted("usi", *SHUFFLE, options={"Log": str(log)}, base_ms=10_000, increment_ms=5000)
        for log in (heard, tmp_path / "other.txt")
    ]
    match = play(players[0], players[1], games=1)
    goes = [line.split() for line in heard.read_text().splitlines() if line.startswith("go")]
    assert goes[0] == "go btime 10000 wtime 10000 binc 5000 winc 5000".split()
    assert 10_000 < int(goes[1][2]) <= 15_000
    assert not match.faults(0) | match.faults(1)


def test_records_are_read_again(tmp_path: Path) -> None:
    match = play(scripted("usi", *SHUFFLE), scripted("usi", *SHUFFLE[:3], "resign"), directory=tmp_path)
    records = list(read_games(get_game("shogi").record_formats, tmp_path / "games.csa"))
    assert [record.moves for record in records] == [game.moves for game in match.finished]
    assert [record.result for record in records] == [game.ending.result for game in match.finished]
    assert [record.reason for record in records] == ["resignation", "repetition"]
    assert all(record.fault == "" for record in records)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = f"cmd={shlex.quote(shlex.join([*COMMAND, 'usi', 'resign']))} nodes=1"
    command = ["match", "--game", "shogi", "-A", engine, "-B", engine, "--games", "2", "--json", "--out", str(tmp_path)]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["endings"] == {"resignation": 2}
    assert result["judge"].startswith("az-engine's own rules")
    assert (tmp_path / "games.csa").read_text().count("%TORYO") == 2


def test_random_openings() -> None:
    opening = random_opening("shogi", 7, random.Random(3))
    assert len(opening) == 7
    assert opening == random_opening("shogi", 7, random.Random(3))
    assert len(choose_openings("book", "shogi", 100, 0)) == 100


@pytest.mark.parametrize(
    "sample", [json.loads(line) for line in ENDINGS.read_text().splitlines()], ids=lambda s: s["id"]
)
def test_the_arbiter_knows_the_endings(sample: dict[str, object]) -> None:
    if sample["id"] == "shogi-nyugyoku-black-in-check":  # three rooks
        with pytest.raises(PositionError):
            new_arbiter("shogi", str(sample["sfen"]))
        return
    arbiter = new_arbiter("shogi", str(sample["sfen"]))
    for move in sample["moves"]:  # type: ignore[attr-defined]
        arbiter.push(move)
    expect = sample["expect"]
    assert isinstance(expect, dict)
    if "declaration_win_27_point" in expect:
        assert arbiter.can_declare() == expect["declaration_win_27_point"]
        return
    assert len(arbiter.legal_moves()) == expect["legal_moves"]
    ending, ended = arbiter.ending(), expect["ended"]
    assert (ending is None) == (ended is None)
    if ending is not None and ended is not None:
        assert ending.result == {"draw": 0, "black_wins": 1, "white_wins": -1}[ended["result"]]


def test_bad_roots_and_moves() -> None:
    with pytest.raises(PositionError):
        new_arbiter("shogi", "9/9 b - 1")
    with pytest.raises(IllegalMoveError):
        new_arbiter("shogi").push("1a1b")


def test_a_disagreement_with_cshogi_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cshogi", reason="cshogi has no wheel for this machine")
    monkeypatch.setattr(arbiter_module.Cshogi, "legal_moves", lambda self: {"7g7f"})
    with pytest.raises(AzError, match="disagree on the legal moves in lnsgkgsnl"):
        new_arbiter("shogi")


def test_without_cshogi_our_rules_judge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: object, sfen: str) -> None:
        raise ImportError

    monkeypatch.setattr(arbiter_module.Cshogi, "__init__", missing)
    arbiter = new_arbiter("shogi", CHECKER)
    for move in PERPETUAL * 3:
        assert arbiter.ending() is None
        arbiter.push(move)
    assert arbiter.ending() == arbiter.won_by(1, "perpetual check", "perpetual check")
    assert not arbiter.can_declare()
    assert arbiter.judge == "az-engine's own rules"
