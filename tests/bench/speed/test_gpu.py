"""``az-engine bench gpu`` on a CPU: every section is there, and one that fails stops no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from az_engine.cli import main

torch = pytest.importorskip("torch")
run = pytest.importorskip("az_engine.models.selfplay.gpu.sections").run
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


@pytest.mark.parametrize("name", [*EXPECTED, "kernels-go9"])
def test_a_section_is_complete(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(name, "cpu", 0.2, quick=True)
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert not any("error" in figure for figure in found)
    figures = {figure["what"]: figure for figure in found}
    expected = EXPECTED.get(name, {"compiling for go9"})
    assert expected <= {*figures}
    if name == "parity":
        for figure in found:
            assert 0 < figure["value"] < (1e-4 if "fp32" in figure["what"] else 0.5), figure
    elif name != "environment":
        assert all(figures[what]["value"] > 0 for what in expected)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_fails_is_said_and_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    given = ["bench", "gpu", "--quick", "--seconds", "1", "--out", str(path), "--sections"]
    assert main([*given, "environment,learner", "--device", "cuda"]) == 1
    for section in json.loads(path.read_text())["sections"].values():
        assert section["status"] == "ended with status 2"
        assert "there is no GPU here that torch can use; give --device cpu" in section["error"][-1]
    assert capsys.readouterr().out.count("there is no GPU") == 2
    assert main([*given, "environment", "--device", "cpu", "--total", "0.2"]) == 1
    assert json.loads(path.read_text())["sections"]["environment"]["status"] == "out of time"


@pytest.mark.skipif(os.name == "nt", reason="a script for sh")
def test_a_day_with_a_gpu(tmp_path: Path) -> None:
    out, sections = tmp_path / "out", "environment,learner"
    given = {"DEVICE": "cpu", "SECTIONS": sections, "OUT": str(out), "PYTHON": sys.executable}
    done = subprocess.run(
        [str(DAY)], env={**os.environ, **given}, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    files = {path.name: path.stat().st_size for path in out.iterdir()}
    assert {"report.json", "report.txt", "log.txt", "run.tar.gz", "net.onnx"} <= {*files}, (out / "log.txt").read_text()
    assert len(files) <= 6
    assert max(files.values()) < 16e6
    report = json.loads((out / "report.json").read_text())["sections"]
    assert {name: section["status"] for name, section in report.items()} == dict.fromkeys(sections.split(","), "ok")
    for name in report:
        assert EXPECTED[name] <= {figure["what"] for figure in report[name]["figures"]}
        assert all(what in (out / "report.txt").read_text() for what in EXPECTED[name])
    assert "train: status 0" in (out / "log.txt").read_text()
