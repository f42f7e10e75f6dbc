"""What a SPEC means."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from az_engine.bench.players import MoveLimit, PlayerSpec, parse_clock, parse_spec
from az_engine.engine.errors import OptionError

FAKE = Path(__file__).with_name("fake_engine.py")
SCRIPTED = Path(__file__).with_name("scripted_engine.py")
OURS = (sys.executable, "-P", "-m", "az_engine", "uci")
UNIFORM = ("--weights-file", "uniform")


def fake(fault: str = "", at: int = 1, **limits: int) -> PlayerSpec:
    return PlayerSpec(f"fake {fault}".strip(), (sys.executable, str(FAKE), fault, str(at)), {}, MoveLimit(**limits))


def scripted(protocol: str, *moves: str, options: dict[str, str] | None = None, **limits: int) -> PlayerSpec:
    """A player that answers moves[ply % len(moves)]."""
    command = (sys.executable, str(SCRIPTED), protocol, *moves)
    return PlayerSpec("scripted", command, options or {}, MoveLimit(**limits) if limits else MoveLimit(nodes=1))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("default", PlayerSpec("az-engine default", OURS)),
        ("uniform nodes=7", PlayerSpec("az-engine uniform", (*OURS, *UNIFORM), {}, MoveLimit(nodes=7))),
        (
            "net=/a/b/net.onnx tc=1+0.05 option.Threads=1",
            PlayerSpec(
                "net",
                (*OURS, "--weights-file", "/a/b/net.onnx"),
                {"Threads": "1"},
                MoveLimit(base_ms=1000, increment_ms=50),
            ),
        ),
        (
            'cmd="prog --a b" name=X "option.Move Overhead=50" option.Path=a=b movetime=9 depth=3',
            PlayerSpec(
                "X", ("prog", "--a", "b"), {"Move Overhead": "50", "Path": "a=b"}, MoveLimit(depth=3, movetime_ms=9)
            ),
        ),
        ("cmd=/usr/bin/engine", PlayerSpec("engine", ("/usr/bin/engine",))),
        ("cmd=e byoyomi=500", PlayerSpec("e", ("e",), {}, MoveLimit(base_ms=0, byoyomi_ms=500))),
        ("cmd=e tc=9 byoyomi=500", PlayerSpec("e", ("e",), {}, MoveLimit(base_ms=9000, byoyomi_ms=500))),
    ],
)
def test_specs(text: str, spec: PlayerSpec) -> None:
    assert parse_spec(text, "uci") == spec


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
        "default byoyomi=0",
        "default byoyomi=5 tc=1+1",
    ],
)
def test_bad_specs(text: str) -> None:
    with pytest.raises(OptionError):
        parse_spec(text, "uci")


def test_clocks() -> None:
    assert parse_clock("60+0.6") == (60_000, 600)
    assert parse_clock("0.5") == (500, 0)
    for text in ("", "0", "-1+1", "1+-1", "nan", "inf", "1+x"):
        with pytest.raises(OptionError):
            parse_clock(text)


def test_our_engine_speaks_the_protocol_of_the_game() -> None:
    assert parse_spec("uniform", "usi") == PlayerSpec("az-engine uniform", (*OURS[:-1], "usi", *UNIFORM))


def test_limits_in_words() -> None:
    assert str(MoveLimit(nodes=5, base_ms=1000, increment_ms=50)) == "5 nodes, 1+0.05 s"
    assert str(MoveLimit(byoyomi_ms=500)) == "0 s and 500 ms byoyomi"


def test_quotes_survive() -> None:
    command = (sys.executable, str(FAKE))
    assert parse_spec(f"cmd={shlex.quote(shlex.join(command))}", "uci").command == command
