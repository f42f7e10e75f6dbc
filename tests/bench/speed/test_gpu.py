"""``az-engine bench gpu`` on a CPU: every section is there, and one that fails stops no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from az_engine.bench.speed.gpu import SECTIONS
from az_engine.cli import main

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
DAY = Path(__file__).parents[3] / "examples" / "gpu-day.sh"
EXPECTED = {  # some of each section's figures
    "environment": {"torch, CUDA, cuDNN", "GPU"},
    "parity": {f"go on go {size}, torch {kind}, score" for size in (9, 13, 19) for kind in ("fp32", "bf16")}
    | {f"{game}-conv on {game} {size}, torch fp32, probability" for game, size in (("chess", 8), ("shogi", 9))},
    "leaves": {"chess-conv, loading it, second time", "preset gpu on go 9, bf16, batch 16"},
    "learner": {"fp32, learner", "fp32, optimiser"},
    "search": {"chess, batch 8, threads 2", "shogi, batch 8, threads 1", "go19, batch 8, threads 1"},
    "selfplay": {"2 processes"},
    "train": {"steps", "played"},
}


def report(path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit status, and what was written."""
    status = main(["bench", "gpu", "--quick", "--seconds", "1.5", "--out", str(path), *words])
    return status, json.loads(path.read_text())["sections"]


def test_the_report_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, sections = report(tmp_path / "report.json", "--device", "cpu", "--limit", "600")
    assert {name: section["status"] for name, section in sections.items()} == dict.fromkeys(sections, "ok")
    assert status == 0
    assert {*SECTIONS, "kernels-chess", "kernels-shogi", "kernels-go9"} == {*sections}
    for name, expected in EXPECTED.items():
        figures = {figure["what"]: figure for figure in sections[name]["figures"]}
        assert expected <= {*figures}, name
        assert all(figures[what]["value"] > 0 for what in expected if name not in ("environment", "parity"))
    for figure in sections["parity"]["figures"]:
        assert figure["value"] < (1e-4 if "fp32" in figure["what"] else 0.5), figure
    text = capsys.readouterr().out
    assert all(name in text for name in (*SECTIONS, *EXPECTED["search"]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_fails_is_said_and_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--device", "cuda", "--sections", "environment,parity")
    status, sections = report(tmp_path / "report.json", *words)
    assert status == 1
    for section in sections.values():
        assert section["status"] == "ended with status 2"
        assert "there is no GPU here that torch can use; give --device cpu" in section["error"][-1]
    assert capsys.readouterr().out.count("there is no GPU") == 2
    status, sections = report(tmp_path / "late.json", "--device", "cpu", "--sections", "environment", "--total", "0.2")
    assert (status, sections["environment"]["status"]) == (1, "out of time")


@pytest.mark.skipif(os.name == "nt", reason="a script for sh")
def test_a_day_with_a_gpu(tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = {"DEVICE": "cpu", "MINUTES": "3", "OUT": str(out), "PYTHON": sys.executable}
    done = subprocess.run(
        [str(DAY)], env={**os.environ, **given}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    files = {path.name: path.stat().st_size for path in out.iterdir()}
    assert {"report.json", "report.txt", "log.txt", "run.tar.gz", "net.onnx"} <= {*files}, (out / "log.txt").read_text()
    assert len(files) <= 6
    assert max(files.values()) < 16e6
    assert set(EXPECTED) - {"train"} <= set(json.loads((out / "report.json").read_text())["sections"])
    assert "train: status 0" in (out / "log.txt").read_text()
