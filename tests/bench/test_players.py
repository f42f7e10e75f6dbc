"""What a SPEC means."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from az_engine.bench.players import MoveLimit, PlayerSpec, parse_clock, parse_spec
from az_engine.engine.errors import OptionError

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


def test_quotes_survive() -> None:
    command = (sys.executable, str(FAKE))
    assert parse_spec(f"cmd={shlex.quote(shlex.join(command))}").command == command
