"""The papers' figures: what is drawn, and that broken-off reports go on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from az_engine.bench.event import JOURNAL
from az_engine.bench.players import MoveLimit, PlayerSpec
from az_engine.bench.rating import Rating
from az_engine.bench.scaling import Ladder, Step
from az_engine.bench.snapshots import SeenState, Snapshot
from az_engine.cli import main
from az_engine.models.report_architectures import KINDS, Compared, as_json
from az_engine.models.report_scaling import draw
from az_engine.models.report_search import places

DATA = Path(__file__).parents[1] / "data" / "chess_train_sample.npz"


def test_the_tree_is_laid_out_without_overlap() -> None:
    #        root
    #      a      b
    #    a1  a2   b1
    parents = (-1, 0, 0, 1, 1, 2)
    depths = (0, 1, 1, 2, 2, 2)
    states = tuple(SeenState("m", p, d, 1, 0.1, 50) for p, d in zip(parents, depths, strict=True))
    assert places(Snapshot(6, states)) == [(1.25, 0.0), (0.5, -1.0), (2.0, -1.0), (0.0, -2.0), (1.0, -2.0), (2.0, -2.0)]


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_search(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / f"search.{suffix}"
    command = ["report", "search", "--net", "uniform", "--visits", "1000", "--states", "4", "--json", "--out", str(out)]
    assert main([*command, "--moves", "e2e4 e7e5"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["simulations"] for row in rows] == [100, 1000]
    assert rows[0]["states"][0]["path"] == "root"
    content = out.read_bytes()
    if suffix == "png":
        assert content.startswith(b"\x89PNG")
    else:
        assert content.count(b"<svg") == 1
    if suffix == "html":
        assert content.count(b"<tr>") == 1 + 2 * 5
    assert main(["report", "search", "--out", "x.gif"]) == 2
    assert main(["report", "search", "--visits", "99"]) == 2
    assert main(["report", "search", "--fen", "nonsense"]) == 2


def test_steps_of_scaling() -> None:
    ladder = Ladder(PlayerSpec("x", net="uniform"), 10, 3, timed=False)
    assert [player.limit for player in ladder.players] == [MoveLimit(nodes=n) for n in (10, 20, 40, 80)]
    assert ladder.pairs == [(0, 1), (1, 2), (2, 3)]
    based = Ladder(PlayerSpec("x"), 10, 1, timed=True, baseline=PlayerSpec("y", limit=MoveLimit(nodes=1)))
    assert [player.name for player in based.players] == ["y", "x, 10 ms", "x, 20 ms"]
    assert based.pairs == [(0, 1), (0, 2), (1, 2)]
    steps = [Step(str(n), n, Rating(100.0 * n, 100.0 * n - 50, 100.0 * n + 50, 4)) for n in (1, 2, 4)]
    chart = draw(steps, "title", "visits", "zero").axes[0]
    assert np.array_equal(chart.lines[0].get_xydata(), [(1, 100), (2, 200), (4, 400)])


def test_scaling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", "scaling", "--player", "uniform", "--visits", "1", "--doublings", "2", "--out", str(tmp_path)]
    command += ["--openings", "random:60"]  # short games
    assert main([*command, "--games", "1"]) == 0
    assert main([*command, "--games", "2"]) == 0
    result = json.loads((tmp_path / "scaling.json").read_text())
    assert [step["amount"] for step in result["steps"]] == [1, 2, 4]
    assert result["steps"][0]["elo"] == 0
    assert (tmp_path / JOURNAL).read_text().count("\n") == 4
    assert (tmp_path / "scaling.html").read_text().count("<tr>") == 4
    assert "uniform, 4 visits" in capsys.readouterr().out
    assert main(["report", "scaling", "--visits", "0", "--out", str(tmp_path)]) == 2


@pytest.mark.slow
def test_architectures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", "architectures", "--supervised", str(DATA), "--steps", "4", "--blocks", "1", "--filters", "8"]
    command += ["--batch", "16", "--visits", "2", "--games", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    rows = json.loads((tmp_path / "architectures.json").read_text())
    assert [row["kind"] for row in rows] == list(KINDS)
    assert all(0 <= row["accuracy"] <= 1 and row["value_error"] > 0 and row["parameters"] > 1000 for row in rows)
    assert rows[0]["elo"] == 0
    assert (tmp_path / "games" / JOURNAL).read_text().count("\n") == 6
    said = capsys.readouterr().out
    assert all(kind in said for kind in KINDS)
    assert main(command) == 0  # everything is there already


def test_figures_without_games() -> None:
    assert as_json([Compared("dual-res", 0.5, 0.1, 7)]) == [
        {"kind": "dual-res", "accuracy": 0.5, "value_error": 0.1, "parameters": 7}
    ]
