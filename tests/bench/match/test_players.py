"""What a SPEC means."""

from __future__ import annotations

import shlex

import pytest

from az_engine.bench.match.players import MoveLimit, PlayerSpec, parse_clock, parse_spec
from az_engine.engine.errors import OptionError

from ...fakes.program import COMMAND


def fake(fault: str = "", at: int = 1, **limits: int) -> PlayerSpec:
    """A player that knows the rules of chess, and goes wrong from its ``at``-th move on."""
    faults = [f"--fault=go@{at}={fault}"] if fault else []
    return PlayerSpec("fake", (*COMMAND, "uci", *faults), {}, MoveLimit(**limits))


def scripted(protocol: str, *moves: str, options: dict[str, str] | None = None, **limits: int) -> PlayerSpec:
    """A player that answers moves[ply % len(moves)]."""
    command = (*COMMAND, protocol, *moves)
    usual = MoveLimit(movetime_ms=5000) if protocol == "gtp" else MoveLimit(nodes=1)
    return PlayerSpec("scripted", command, options or {}, MoveLimit(**limits) if limits else usual)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("default", PlayerSpec("az-engine default")),
        ("uniform visits=7", PlayerSpec("az-engine uniform", limit=MoveLimit(nodes=7), net="uniform")),
        ("/a/b/net.onnx", PlayerSpec("net", net="/a/b/net.onnx")),
        ("raw:/a/b/net.onnx", PlayerSpec("raw net", net="/a/b/net.onnx", raw=True)),
        ("raw:default name=X", PlayerSpec("X", raw=True)),
        (
            "net=/a/b/net.onnx tc=1+0.05 option.Threads=1",
            PlayerSpec("net", (), {"Threads": "1"}, MoveLimit(base_ms=1000, increment_ms=50), "/a/b/net.onnx"),
        ),
        (
            'cmd="prog --a b" name=X "option.Move Overhead=50" option.Path=a=b seconds=0.009 depth=3',
            PlayerSpec(
                "X", ("prog", "--a", "b"), {"Move Overhead": "50", "Path": "a=b"}, MoveLimit(depth=3, movetime_ms=9)
            ),
        ),
        ("cmd=/usr/bin/engine", PlayerSpec("engine", ("/usr/bin/engine",))),
        ("cmd=/usr/bin/engine.onnx", PlayerSpec("engine.onnx", ("/usr/bin/engine.onnx",))),
        ("cmd=e byoyomi=0.5", PlayerSpec("e", ("e",), {}, MoveLimit(base_ms=0, byoyomi_ms=500))),
        ("cmd=e tc=9 byoyomi=0.5", PlayerSpec("e", ("e",), {}, MoveLimit(base_ms=9000, byoyomi_ms=500))),
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
        "default byoyomi=1000",
        "default seconds=0",
        "default seconds=1000",
        "default seconds=x",
        "default movetime=100",
        "default depth=-1",
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


def test_limits_of_all_players() -> None:
    common = MoveLimit(nodes=9)
    assert parse_spec("default", "uci").with_limit(common, "uci").limit == common
    assert parse_spec("default depth=2", "uci").with_limit(common, "uci").limit == MoveLimit(depth=2)
    assert parse_spec("raw:default", "uci").with_limit(common, "uci").limit == MoveLimit(nodes=1)
    assert parse_spec("cmd=gnugo", "gtp").with_limit(common, "gtp").limit == MoveLimit()
    assert parse_spec("default", "gtp").with_limit(common, "gtp").limit == common
    with pytest.raises(OptionError, match="has no limit"):
        parse_spec("default", "gtp").with_limit(MoveLimit(), "gtp")
    with pytest.raises(OptionError, match="GTP cannot tell visits"):
        parse_spec("cmd=gnugo visits=5", "gtp")


def test_limits_in_words() -> None:
    assert str(MoveLimit(nodes=5, base_ms=1000, increment_ms=50)) == "5 nodes, 1+0.05 s"
    assert str(MoveLimit(byoyomi_ms=500)) == "0 s and 500 ms byoyomi"


def test_quotes_survive() -> None:
    command = (*COMMAND, "uci", "a b")
    assert parse_spec(f"cmd={shlex.quote(shlex.join(command))}", "uci").command == command


@pytest.mark.parametrize("limit", [{"nodes": 0}, {"depth": -1}, {"movetime_ms": -5}, {"byoyomi_ms": -5}])
def test_limits_that_leave_no_move(limit: dict[str, int]) -> None:
    with pytest.raises(OptionError, match="must be"):
        MoveLimit(**limit)


def test_an_option_without_its_prefix_is_told() -> None:
    with pytest.raises(OptionError, match=r"own option is option\.Threads=2"):
        parse_spec("default Threads=2", "uci")
