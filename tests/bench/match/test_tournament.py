"""Events: schedules, several players, going on after a kill, early endings."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from az_engine.bench.match.adjudication import Adjudication, Adjudicator, parse_chance, parse_draw, parse_resign
from az_engine.bench.match.arbiter import new_arbiter
from az_engine.bench.match.game import MatchGame, MatchSettings, play_game
from az_engine.bench.match.openings import Opening, choose_openings
from az_engine.bench.match.players import launch
from az_engine.bench.match.standings import pair_counts, ratings, score_between, sprt_state
from az_engine.bench.match.tournament import JOURNAL, Journal, pairs_of, parse_journal, repeated, schedule
from az_engine.bench.ratings.sprt import Sprt
from az_engine.cli import main
from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import read_games
from az_engine.protocols.clients.base import PvInfo

from ...fakes.program import COMMAND
from ...fakes.waiting import wait_for
from .events import Match
from .test_players import fake, scripted

ENGINE = f"cmd={shlex.quote(shlex.join([*COMMAND, 'uci']))} nodes=1"
FAULTY = f"cmd={shlex.quote(shlex.join([*COMMAND, 'uci', '--fault=go=(none)']))} nodes=1"


def test_schedules() -> None:
    assert pairs_of(3) == [(0, 1), (0, 2), (1, 2)]
    assert pairs_of(4, gauntlet=True) == [(0, 1), (0, 2), (0, 3)]
    openings = [Opening(str(i)) for i in range(3)]
    plan = schedule(pairs_of(3), openings, 5)
    assert len({pairing.number for pairing in plan}) == len(plan) == 15
    for a, b in pairs_of(3):
        games = [p for p in plan if {p.first, p.second} == {a, b}]
        assert [p.first for p in games] == [a, b, a, b, a]
        assert [p.opening.name for p in games] == ["0", "0", "1", "1", "2"]
    assert schedule(pairs_of(3), openings, 3) == [p for p in plan if p.opening.name < "2"][:6] + plan[6:12:2]


def test_three_players_meet_each_other(tmp_path: Path) -> None:
    match = Match("chess", [fake(nodes=1)] * 3, choose_openings("book", "chess", 1, 0), 2, tmp_path, max_plies=20)
    games = match.finished
    assert sorted((g.pairing.first, g.pairing.second) for g in games) == [
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 2),
        (2, 0),
        (2, 1),
    ]
    assert score_between(games, 0, 2).draws == 2
    names = [player.name for player in match.tournament.settings.players]
    rated = ratings(games, names, names[0])
    assert [round(rated[name].elo) for name in names] == [0, 0, 0]
    assert len(list(read_games(get_game("chess").record_formats, tmp_path / "games.pgn"))) == 6


def test_a_journal_says_everything(tmp_path: Path) -> None:
    match = Match(
        "chess", [fake(nodes=1), fake("die", 2, nodes=1)], choose_openings("book", "chess", 2, 0), 4, tmp_path
    )
    games = parse_journal((tmp_path / JOURNAL).read_text(), "x")
    assert games == [MatchGame.from_json(json.loads(json.dumps(game.to_json()))) for game in match.finished]
    assert [game.moves for game in games] == [game.moves for game in match.finished]
    assert [game.fault for game in games] == ["crash"] * 4
    odd = json.dumps({**games[0].to_json(), "opening": "one\u2028two\x85three"}, ensure_ascii=False)
    assert len(parse_journal(f"{odd}\n", "x")) == 1, "some characters end lines of other programs"
    for text in ("nonsense\n", "[]\n", "{}\n", '{"number": 1}\n'):
        with pytest.raises(DataError, match="line 1 is no game"):
            parse_journal(text, "x")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    settings = MatchSettings("chess", (fake(nodes=1), fake(nodes=1)))
    journal = Journal(tmp_path, settings, {})
    with pytest.raises(OptionError, match="another match is writing"):
        Journal(tmp_path, settings, {})
    journal.close()
    Journal(tmp_path, settings, {}).close()
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cannot write"):
        Journal(tmp_path / "file", settings, {})


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_no_loss(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "az_engine", "match", "-A", f"{ENGINE} name=X", "-B", f"{ENGINE} name=Y"]
    command += ["--games", "1000", "--openings", "random:2", "--max-plies", "30", "--out", str(tmp_path), "--json"]
    heedful = ["env", "--default-signal=INT", *command]  # what a shell runs in the background ignores the signal
    process = subprocess.Popen(heedful, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / JOURNAL
    wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 2)
    process.send_signal(number)
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    result = json.loads(said)
    games = (tmp_path / JOURNAL).read_bytes().count(b"\n")
    assert 2 <= result["wins"] + result["draws"] + result["losses"] == games < 1000
    assert "give the same command to go on" in complaints


def test_an_event_goes_on_with_the_same_openings_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of openings may change under its name."""
    openings, out = tmp_path / "openings.txt", tmp_path / "match"
    command = ["match", "-A", "uniform", "-B", "uniform", "--visits", "1", "--openings", str(openings)]
    command += ["--max-plies", "6", "--out", str(out)]
    for number, (moves, games, status) in enumerate((("e2e4", 1, 0), ("e2e4", 2, 0), ("d2d4", 3, 2), ("e2e4", 3, 0))):
        openings.write_text(f"{moves}\n")
        assert main([*command, "--games", str(games)]) == status, number
    assert "holds another match already (openings file differ)" in " ".join(capsys.readouterr().err.split())


def test_an_event_goes_on_with_the_same_nets_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file of a net may change under its name, as the newest net of a run does."""
    nets = [files("az_engine") / f"models/nets/{name}.onnx" for name in ("chess-conv", "chess")]
    net, out = tmp_path / "net.onnx", tmp_path / "match"
    command = ["match", "-A", f"{net} option.Threads=1", "-B", "uniform", "--visits", "1", "--openings", "random:4"]
    command += ["--max-plies", "6", "--out", str(out)]
    for number, (source, games, status) in enumerate(((0, 1, 0), (0, 2, 0), (1, 3, 2), (0, 3, 0))):
        net.write_bytes(nets[source].read_bytes())
        assert main([*command, "--games", str(games)]) == status, number
    assert "holds another match already (nets differ)" in " ".join(capsys.readouterr().err.split())
    identity = json.loads((out / "event.json").read_text())
    del identity["nets"]
    (out / "event.json").write_text(json.dumps(identity))
    assert main([*command, "--games", "4"]) == 0, "of an earlier version"


def test_an_event_is_made_longer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also when its journal ends as a kill in the middle of a write leaves it; tests/test_kills.py kills one."""
    command = ["match", "-A", f"{ENGINE} name=X", "-B", f"{ENGINE} name=Y", "--openings", "random:4", "--json"]
    command += ["--max-plies", "10", "--out", str(tmp_path)]
    for games in (2, 4, 4, 6):
        before = (tmp_path / JOURNAL).read_text() if games > 2 else ""
        if games == 6:
            (tmp_path / JOURNAL).write_text(before + '{"number": 3, "cut sho')
        assert main([*command, "--games", str(games)]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["draws"] == games
        assert (tmp_path / JOURNAL).read_text().startswith(before)
        assert len(parse_journal((tmp_path / JOURNAL).read_text(), "x")) == games
    (tmp_path / "event.json").unlink()
    assert main([*command, "--games", "8"]) == 2
    assert "missing or damaged" in capsys.readouterr().err


def test_repeated_games_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    script = shlex.quote(shlex.join(scripted("uci", "g1f3", "g8f6", "f3g1", "f6g8").command))
    command = ["match", "-A", f"cmd={script}", "-B", f"cmd={script}", "--visits", "1", "--openings", "none"]
    assert main([*command, "--games", "4", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["duplicates"] == 3
    assert "3 games repeat others" in said.err
    assert repeated([]) == 0


def test_an_sprt_ends_the_event(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["match", "-A", f"{ENGINE} name=X", "-B", FAULTY]
    assert main([*command, "--games", "400", "--sprt", "0,200", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["sprt"]["verdict"] == "H1"
    assert result["wins"] < 100
    assert result["sprt"]["pairs"][4] == result["wins"] // 2
    assert result["los"] > 0.99


def test_pairs_are_counted_apart_from_single_games() -> None:
    match = Match("chess", [fake(nodes=1), fake("(none)", nodes=1)], choose_openings("book", "chess", 2, 0), 3)
    assert pair_counts(match.finished, 0, 1) == ([0, 0, 0, 0, 1], [0, 0, 1])
    assert pair_counts(match.finished, 1, 0) == ([1, 0, 0, 0, 0], [1, 0, 0])
    assert sprt_state(Sprt(0, 10), match.finished).pairs == (0, 0, 0, 0, 1)
    assert sprt_state(Sprt(0, 10), match.finished[:1]).llr > 0  # without a pair, by single games


def judged(rule: Adjudication, *said: PvInfo | None) -> list[str]:
    """The words of every judgement when both sides say these things in turn; "" while the game goes on."""
    adjudicator, arbiter = Adjudicator(rule), new_arbiter("chess")
    endings = [adjudicator.after_move(arbiter, ply % 2, best, ply + 1) for ply, best in enumerate(said)]
    return ["" if ending is None else f"{ending.result} {ending.words}" for ending in endings]


def test_early_endings() -> None:
    bad, good, level, silent = PvInfo(cp=-900), PvInfo(cp=900), PvInfo(cp=5), None
    resign = Adjudication(resign_cp=900, resign_moves=2)
    assert judged(resign, good, bad, good, bad) == ["", "", "", "1 adjudicated: -900 cp or less"]
    assert judged(resign, good, bad, good, level, good, bad) == [""] * 6
    assert judged(resign, good, bad, good, silent) == [""] * 4
    assert judged(resign, PvInfo(mate=-5), silent, PvInfo(mate=-3))[-1] == "-1 adjudicated: -900 cp or less"
    draw = Adjudication(draw_cp=10, draw_moves=2, draw_from=3)
    assert judged(draw, *[level] * 6) == [""] * 5 + ["0 adjudicated: within 10 cp"]
    chance = Adjudication(chance=0.05, chance_moves=1)
    assert judged(chance, PvInfo(wdl=(0, 80, 920)))[0] == "-1 adjudicated: chance below 5 %"
    assert judged(chance, PvInfo(chance=0.06), PvInfo(cp=-9999)) == ["", ""]
    assert judged(Adjudication(), bad, bad, level, level) == [""] * 4  # off by default


def test_arguments_of_early_endings(tmp_path: Path) -> None:
    assert parse_resign("900") == (900, 10)
    assert parse_chance("5,3") == (0.05, 3)
    assert parse_draw("10,8,80") == (10, 8, 80)
    for parse, text in ((parse_resign, "x"), (parse_resign, "1,2,3"), (parse_chance, "60"), (parse_draw, "10,8")):
        with pytest.raises(OptionError):
            parse(text)
    for folder, words in ((tmp_path / "none", "cannot be read"), (tmp_path, "no Syzygy tablebases")):
        with pytest.raises(OptionError, match=words):
            new_arbiter("chess", "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1").known_result(str(folder))
    with pytest.raises(OptionError, match="no tablebases of this game"):
        new_arbiter("go9").known_result("x")


def test_no_clock_runs_while_the_first_players_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process another worker's kernels and nets would take the time of the games under way."""
    log: list[str] = []

    def slow(*args: Any, **more: Any) -> Any:
        player = launch(*args, **more)
        time.sleep(0.1 * len(log))
        log.append("player")
        return player

    def noted(*args: Any) -> MatchGame:
        log.append("game")
        return play_game(*args)

    monkeypatch.setattr("az_engine.bench.match.game.launch", slow)
    monkeypatch.setattr("az_engine.bench.match.tournament.play_game", noted)
    Match("chess", [fake(nodes=1)] * 2, choose_openings("book", "chess", 1, 0), 2, concurrency=2, max_plies=10)
    assert log == ["player"] * 4 + ["game"] * 2
