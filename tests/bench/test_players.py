"""What a SPEC means, and engine processes good and bad."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from az_engine.bench import players
from az_engine.bench.players import Clock, MoveLimit, PlayerFault, PlayerSpec, UciPlayer, parse_clock, parse_spec
from az_engine.engine.errors import EngineProcessError, OptionError

FAKE = Path(__file__).with_name("fake_engine.py")
OURS = (sys.executable, "-m", "az_engine", "uci")


def fake(fault: str = "", at: int = 1, **limits: int) -> PlayerSpec:
    return PlayerSpec(f"fake {fault}".strip(), (sys.executable, str(FAKE), fault, str(at)), {}, MoveLimit(**limits))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("default", PlayerSpec("az-engine default", OURS)),
        ("uniform nodes=7", PlayerSpec("az-engine uniform", OURS, {"WeightsFile": "uniform"}, MoveLimit(nodes=7))),
        (
            "net=/a/b/net.onnx tc=1+0.05 option.Threads=1",
            PlayerSpec(
                "net", OURS, {"WeightsFile": "/a/b/net.onnx", "Threads": "1"}, MoveLimit(base_ms=1000, increment_ms=50)
            ),
        ),
        (
            'cmd="prog --a b" name=X "option.Move Overhead=50" option.Path=a=b movetime=9 depth=3',
            PlayerSpec(
                "X", ("prog", "--a", "b"), {"Move Overhead": "50", "Path": "a=b"}, MoveLimit(depth=3, movetime_ms=9)
            ),
        ),
        ("cmd=/usr/bin/engine", PlayerSpec("engine", ("/usr/bin/engine",))),
    ],
)
def test_specs(text: str, spec: PlayerSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nodes=5",
        "cmd=",
        "strong",
        "default nodes=0",
        "default nodes=x",
        "default tc=abc",
        "default 'x",
        "default foo=1",
    ],
)
def test_bad_specs(text: str) -> None:
    with pytest.raises(OptionError):
        parse_spec(text)


def test_clocks() -> None:
    assert parse_clock("60+0.6") == (60_000, 600)
    assert parse_clock("0.5") == (500, 0)
    for text in ("", "0", "-1+1", "1+-1", "nan", "inf", "1+x"):
        with pytest.raises(OptionError):
            parse_clock(text)


def test_a_good_player(tmp_path: Path) -> None:
    spec = PlayerSpec("fake", fake().command, {"Level": "3", "With Blank": "a b"})
    player = UciPlayer(spec, tmp_path / "stderr.log")
    try:
        player.new_game()
        move, ms = player.think(None, ["e2e4"], MoveLimit(nodes=1), None)
        assert move[1] in "78"
        assert 0 < ms < 5000
        move, _ = player.think("4k3/8/8/8/8/8/8/4K2R w - - 0 1", [], MoveLimit(), Clock((1000, 1000), (0, 0), 0))
        assert move[:2] in ("e1", "h1")
    finally:
        player.close()
    log = (tmp_path / "stderr.log").read_text()
    assert "setoption name Level value 3" in log
    assert "setoption name With Blank value a b" in log


@pytest.mark.parametrize("fault", ["crash", "stall", "chatter"])
def test_faults_while_thinking(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "STALL_S", 0.5)
    player = UciPlayer(fake(fault))
    try:
        player.new_game()
        start = time.monotonic()
        with pytest.raises(PlayerFault) as raised:
            player.think(None, [], MoveLimit(movetime_ms=10), None)
        assert raised.value.kind == ("crash" if fault == "crash" else "stall")
        assert time.monotonic() - start < 5
        if fault == "crash":
            assert "exit status 3" in str(raised.value)
            with pytest.raises(PlayerFault):
                player.new_game()
    finally:
        player.close(0.1)


def test_engines_that_do_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "HANDSHAKE_S", 1.0)
    for command in (("/no/such/engine",), (sys.executable, "-c", "pass"), fake("deaf").command, fake("mute").command):
        with pytest.raises(EngineProcessError):
            UciPlayer(PlayerSpec("x", command))


def test_quotes_survive() -> None:
    command = (sys.executable, str(FAKE))
    assert parse_spec(f"cmd={shlex.quote(shlex.join(command))}").command == command
