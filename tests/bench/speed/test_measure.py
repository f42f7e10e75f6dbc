"""Figures in JSON and for people."""

from __future__ import annotations

import json

import pytest

from az_engine.bench.speed.measure import Measurement, percentile, show

FIGURES = [
    Measurement("speed", 300.0, "things/s", "the peer [x]", 200.0, note="a note"),
    Measurement("size", 12.34567891, "MiB", note="a note"),
    Measurement("median of ratios", 3.0, "s", "the peer [x]", 2.0, ratio=1.25),
]


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show(FIGURES, as_json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {
        "what": "speed",
        "value": 300,
        "unit": "things/s",
        "peer": "the peer [x]",
        "peer_value": 200,
        "ratio": 1.5,
        "note": "a note",
    }
    assert lines[1] == {"what": "size", "value": 12.3457, "unit": "MiB", "note": "a note"}
    assert lines[2]["ratio"] == 1.25


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    show(FIGURES, as_json=False)
    text = capsys.readouterr().out
    for part in ("speed", "300", "1.500 of 200", "1.250", "ratio to the peer [x]"):
        assert part in text
    assert text.count("a note") == 1


def test_percentiles() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert percentile(values, 50) == 50
    assert percentile(values, 95) == 95
    assert percentile(values, 100) == 100
    assert percentile([7.0], 95) == 7
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)
