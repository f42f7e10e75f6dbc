"""The table of figures: its command, and that it stands beside the version that it was measured with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from az_engine import __version__, cli
from az_engine.bench.speed import figures
from az_engine.engine.errors import AzError

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "docs" / "results" / "figures.md"


def test_the_table_is_of_this_version_and_of_every_bench() -> None:
    text = KEPT.read_text()
    assert f"az-engine {__version__}," in text
    assert set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)) - {"az-engine bench"} == set(figures.BENCHES)


@pytest.mark.parametrize("bench", figures.BENCHES)
def test_each_bench_of_the_table_is_a_command(bench: str) -> None:
    cli.parse("bench", [*shlex.split(bench), "--json"])


@pytest.mark.slow
def test_the_command_writes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "BENCHES", ("perft --depth 2", "perft --depth 3"))
    assert cli.main(["bench", "figures", "--out", str(tmp_path / "figures.md")]) == 0
    text = (tmp_path / "figures.md").read_text()
    assert f"az-engine {__version__}, 2" in text
    assert re.search(r"^\| `perft --depth 2` \| perft.* \| [\d,.]+ [kM]?nodes/s \|", text, re.MULTILINE)
    assert "| `perft --depth 3` | " in text


@pytest.mark.slow
def test_a_bench_that_fails_ends_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AzError, match=r"bench search --net none\.onnx failed"):
        figures.table(["search --net none.onnx"])
    assert "none.onnx" in capfd.readouterr().err
