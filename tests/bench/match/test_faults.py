"""What goes wrong with a player, over each protocol: told apart, counted, and the tournament goes on for a while."""

from __future__ import annotations

from pathlib import Path

import pytest

from az_engine.bench.match.openings import choose_openings
from az_engine.bench.match.tournament import JOURNAL, parse_journal
from az_engine.engine.errors import EngineProcessError
from az_engine.protocols.clients import base as driver
from az_engine.protocols.clients import process

from .events import Match
from .test_players import scripted

pytestmark = pytest.mark.slow

GOOD = {  # the moves of both sides, over and over
    "chess": ("uci", "g1f3", "g8f6", "f3g1", "f6g8"),
    "shogi": ("usi", "2h3h", "8b7b", "3h2h", "7b8b"),
    "go5": ("gtp", "A1", "B1", "C1", "D1", "pass", "pass"),
}


@pytest.mark.parametrize("game", sorted(GOOD))
@pytest.mark.parametrize(
    ("fault", "kind"),
    [("0-0-0-0", "illegal move"), ("die", "crash"), ("hang", "stall"), ("flood", "flood"), ("slow", "time loss")],
)
def test_faults_are_told_apart(game: str, fault: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "GRACE_S", 0.5 if fault in ("hang", "flood") else 60.0)
    monkeypatch.setattr(process, "QUIT_S", 0.3)
    protocol, first, second, *rest = GOOD[game]
    answer = f"slow={second}" if fault == "slow" else fault
    good = scripted(*GOOD[game], base_ms=60_000)
    clocks = {"slow": 100, "hang": 3_000, "flood": 3_000}  # ms; the others have time enough
    bad = scripted(protocol, first, answer, *rest, base_ms=clocks.get(fault, 60_000))
    start = "5/5/5/5/5 b - 2.5 chinese-ogs 0 0 0" if game == "go5" else None
    match = Match(game, (good, bad), choose_openings("none", game, 2, 0, start), 4)
    wrong = [played.pairing.number for played in match.finished if played.fault is not None]
    assert wrong[:2] == [0, 2]
    assert set(match.faults(1)) == {kind}
    assert not match.faults(0)
    assert len(match.finished) == 4
    for played in match.finished:
        if played.fault is not None:
            assert played.points(0) == 1
            assert f"scripted 1: {kind}" in played.ending.words


def test_a_player_that_always_fails_ends_the_match(tmp_path: Path) -> None:
    """After twenty games; they are kept, and the same command goes on."""
    good, bad = scripted(*GOOD["chess"]), scripted("uci", "g1f3", "0-0-0-0")
    for played in (20, 40):
        with pytest.raises(
            EngineProcessError, match=r"illegal move.*its last 20 games by faults.* give the command again"
        ):
            Match("chess", (good, bad), choose_openings("none", "chess", 30, 0), 60, tmp_path)
        assert len(parse_journal((tmp_path / JOURNAL).read_text(), "x")) == played


def test_losses_on_time_do_not_end_it() -> None:
    good, slow = (
        scripted(*GOOD["chess"], base_ms=10_000),
        scripted("uci", "g1f3", "slow=g8f6", "f3g1", "f6g8", base_ms=100),
    )
    match = Match("chess", (good, slow), choose_openings("none", "chess", 11, 0), 22)
    assert len(match.finished) == 22
    assert set(match.faults(1)) == {"time loss"}
