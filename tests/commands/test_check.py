"""az-engine check: what it finds, what it says is missing, and when it fails."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import shlex
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from az_engine.commands import check, installation, nets
from az_engine.commands.guis import recipes
from az_engine.commands.installation import Installation
from az_engine.engine.errors import AzError, NetError

from ..fakes.arguments import parsed

Findings = list[dict[str, str]]


def options(*words: str, seconds: float = 0.2) -> argparse.Namespace:
    return parsed(check, "--seconds", seconds, *(words or ["--json"]))


def findings(capsys: pytest.CaptureFixture[str]) -> Findings:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def install(builds: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that these builds of onnxruntime are what pip has installed."""

    def version(name: str) -> str:
        if name not in builds:
            raise importlib.metadata.PackageNotFoundError(name)
        return builds[name]

    monkeypatch.setattr(importlib.metadata, "version", version)


@pytest.mark.parametrize(("number", "text"), [(1, ", 1 core, "), (2, ", 2 cores, ")])
def test_cores_are_counted(
    number: int, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "cores", lambda: number)
    check.check_machine(check.Report(as_json=True), Installation(None, Path("/env")))
    assert any(text in finding["text"] for finding in findings(capsys))


@pytest.fixture
def runtime_findings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> object:
    def look(builds: dict[str, str], providers: list[str] | None, *, nvidia: bool = False) -> tuple[Findings, bool]:
        def available() -> list[str]:
            if providers is None:
                raise NetError("onnxruntime is broken")
            return providers

        install(builds, monkeypatch)
        monkeypatch.setattr(check, "available_providers", available)
        monkeypatch.setattr("shutil.which", lambda _: "nvidia-smi" if nvidia else None)
        report = check.Report(as_json=True)
        check.check_onnxruntime(report, Installation(None, Path("/env")))
        return findings(capsys), report.failed

    return look


CPU = ["CPUExecutionProvider"]
CUDA = ["CUDAExecutionProvider", "CPUExecutionProvider"]


@pytest.mark.parametrize(
    ("builds", "providers", "nvidia", "failed", "says"),
    [
        ({"onnxruntime": "1.2"}, CPU, False, False, ["onnxruntime 1.2; can run nets on CPU"]),
        ({"onnxruntime-gpu": "1.2"}, CUDA, True, False, ["onnxruntime-gpu 1.2; can run nets on CUDA, CPU"]),
        (
            {"onnxruntime": "1.2"},
            CPU,
            True,
            False,
            ["to use it: ", "pip uninstall --yes onnxruntime && ", "pip install 'onnxruntime-gpu"],
        ),
        ({}, None, False, True, ["no onnxruntime is installed", "-m pip install onnxruntime"]),
        (
            {"onnxruntime": "1", "onnxruntime-gpu": "2"},
            CPU,
            False,
            False,
            ["are both installed", "pip uninstall --yes onnxruntime onnxruntime-gpu && ", "pip install onnxruntime"],
        ),
        (
            {"onnxruntime": "1", "onnxruntime-gpu": "2"},
            None,
            False,
            True,
            ["onnxruntime is broken: ", "pip uninstall --yes onnxruntime onnxruntime-gpu && "],
        ),
    ],
)
def test_onnxruntime(
    builds: dict[str, str],
    providers: list[str] | None,
    nvidia: bool,
    failed: bool,
    says: list[str],
    runtime_findings: object,
) -> None:
    assert callable(runtime_findings)
    found, has_failed = runtime_findings(builds, providers, nvidia=nvidia)
    assert has_failed == failed
    said = " ".join(finding["text"] for finding in found)
    assert all(words in said for words in says), said


@pytest.mark.slow
def test_the_whole_check_plays_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(options()) == 0
    found = findings(capsys)
    assert {f["status"] for f in found} <= {"ok", "hint"}
    chess = [f["text"] for f in found if f["what"] == "chess"]
    assert chess[0].startswith("net: ")
    assert "searched " in chess[2]
    assert "best " in chess[2]


def test_what_to_enter_in_programs_is_there_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(options("--json", "--programs")) == 0
    found = findings(capsys)
    assert {f["status"] for f in found} == {"recipe"}
    assert {"Arena", "ShogiHome", "Sabaki"} <= {f["what"] for f in found}


def test_people_see_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    report = check.Report(as_json=False, details=False)
    report.say("ok", "cache", "kernels are kept")
    report.say("ok", "chess", "searched", detail=False)
    report.say("hint", "cache", "mend it")
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [["ok", "chess"], ["hint", "cache"]]


def test_a_broken_net_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(game: str) -> nets.EmbeddedNet:
        raise NetError(f"the net for {game} is damaged")

    monkeypatch.setattr(check, "find_net", broken)
    assert check.main(options()) == 1
    found = findings(capsys)
    assert {"what": "chess", "status": "fail", "text": "the net for chess is damaged"} in found


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("#!/bin/sh\nread line; echo hello; exit 0", "does not greet: hello"),
        ("#!/bin/sh\necho no python >&2; exit 1", "does not greet: no python"),
        ("#!/nowhere/sh\n", "does not start (No such file or directory)"),
    ],
)
def test_a_command_that_does_not_greet_fails(
    script: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = tmp_path / "bin" / "az-engine-uci"
    command.parent.mkdir()
    command.write_text(script)
    command.chmod(0o755)
    report = check.Report(as_json=True)
    check.check_command(report, "uci", Installation(None, tmp_path))
    assert report.failed
    assert text in findings(capsys)[0]["text"]


def test_progress_is_told_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first step at once, then whatever is going on, also when a step takes long."""
    monkeypatch.setattr(check, "_LINE_SECONDS", 0.01)
    clock, said = [100.0], ""
    monkeypatch.setattr(check, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with check.progress("loading chess") as on_progress:
        on_progress("rules")
        clock[0] += 7.0
        on_progress("tree")
        while said.count("tree") < 2:
            said += capsys.readouterr().err
            time.sleep(0.01)
    lines = said.splitlines()
    assert lines[0] == "loading chess: rules, 0 s"
    assert {line for line in lines if "tree" in line} == {"loading chess: tree, 7 s"}


def test_a_silly_length_is_refused() -> None:
    with pytest.raises(AzError, match="--seconds must be"):
        check.main(options(seconds=0))


def test_people_see_marks_and_plain_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    report = check.Report(as_json=False)
    report.say("ok", "x", "pip install 'az-engine[train]'")
    report.say("fail", "y", "no")
    assert capsys.readouterr().out == "ok   x            pip install 'az-engine[train]'\nfail y            no\n"


def test_a_checkout_with_its_own_venv_names_the_launcher(tmp_path: Path) -> None:
    root = tmp_path / "my engine"
    root.mkdir()
    for name in ("az-engine", "az-engine-uci"):
        (root / name).touch()
    where = Installation(root, root / ".venv")
    assert shlex.split(where.command) == [str(root / "az-engine")]
    assert where.add("gpu") == f"AZ_ENGINE_EXTRA=gpu {shlex.quote(str(root / 'az-engine'))} version"
    pasted = dict(recipes("uci", where))
    match_tool = shlex.split(pasted["cutechess-cli"])
    assert f"cmd={root / 'az-engine-uci'}" in match_tool
    assert f'dir: "{root}"' in pasted["lichess-bot"]


def test_a_wheel_names_its_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_origin", lambda: None)
    (tmp_path / "bin").mkdir()
    for name in ("az-engine", "az-engine-uci", "az-engine-usi"):
        (tmp_path / "bin" / name).touch()
    where = Installation(None, tmp_path)
    assert where.command == str(tmp_path / "bin" / "az-engine")
    assert where.add("gpu").endswith("-m pip install 'onnxruntime-gpu[cuda,cudnn]'")
    assert where.add("train").endswith("-m pip install 'az-engine[train]'")
    of_chess = dict(recipes("uci", where))
    for program in ("Arena", "GNOME Chess", "Nibbler", "PyChess"):
        assert str(tmp_path / "bin" / "az-engine-uci") in of_chess[program]
    of_shogi = dict(recipes("usi", where))
    assert f'engine_path: "{tmp_path / "bin" / "az-engine-usi"}"' in of_shogi["shogiarena"]
    assert of_shogi["a terminal"] == f"{where.command} usi"


def test_windows_has_exe_files_and_a_cmd_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "windows", lambda: True)
    root = tmp_path / "my engine"
    (root / ".venv" / "Scripts").mkdir(parents=True)
    for name in ("az-engine.cmd", ".venv/Scripts/az-engine.exe", ".venv/Scripts/az-engine-uci.exe"):
        (root / name).touch()
    where = Installation(root, root / ".venv")
    assert where.command == f'"{root / "az-engine.cmd"}"'
    assert where.add("gpu") == f'set AZ_ENGINE_EXTRA=gpu&& "{root / "az-engine.cmd"}" version'
    assert str(root / ".venv" / "Scripts" / "az-engine-uci.exe") in dict(recipes("uci", where))["Arena"]
    wheel = Installation(None, root / ".venv")
    assert wheel.command == f'"{root / ".venv" / "Scripts" / "az-engine.exe"}"'
    assert wheel.add("gpu").endswith("-m pip install onnxruntime-gpu[cuda,cudnn]")


def test_go_programs_are_told_the_gtp_command(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "az-engine-gtp").touch()
    pasted = dict(recipes("gtp", Installation(None, tmp_path)))
    assert {"Sabaki", "GoGui", "q5Go", "qGo", "Quarry", "Lizzie", "a terminal"} <= set(pasted)
    assert shlex.split(pasted["gogui-twogtp"])[2] == str(tmp_path / "bin" / "az-engine-gtp")


def test_a_package_that_is_not_installed_still_has_a_command(tmp_path: Path) -> None:
    where = Installation(tmp_path, tmp_path / "elsewhere")
    assert where.command.endswith(" -m az_engine")
    assert recipes("uci", where) == [("a terminal", f"{where.command} uci")]
    assert where.add("train").endswith(f"-m pip install -e '{tmp_path}[train]'")


class _Installed:
    """The metadata of a package that an installer left behind."""

    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.direct_url


def test_an_extra_comes_from_where_the_package_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my engine"
    folder.mkdir()
    wheel = tmp_path / "az_engine-1-py3-none-any.whl"
    git = '{"url": "https://example.org/az.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}'
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ['torch>=2.10; extra == "train"'])
    for direct_url, requirement in (
        (None, "az-engine[train]"),
        (json.dumps({"url": folder.as_uri(), "dir_info": {}}), f"{folder}[train]"),
        (json.dumps({"url": wheel.as_uri(), "archive_info": {}}), "torch>=2.10"),  # the file is gone
        (git, "az-engine[train] @ git+https://example.org/az.git"),
    ):
        monkeypatch.setattr(importlib.metadata, "distribution", lambda _, text=direct_url: _Installed(text))
        assert shlex.split(Installation(None, tmp_path).add("train"))[-1] == requirement
    wheel.touch()
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: _Installed(json.dumps({"url": wheel.as_uri()})))
    assert shlex.split(Installation(None, tmp_path).add("train"))[-1] == f"{wheel}[train]"


def test_an_environment_of_uv_or_pipx_is_not_told_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_origin", lambda: None)
    where = Installation(None, tmp_path)
    (tmp_path / "pipx_metadata.json").touch()
    assert where.add("train") == "pipx runpip az-engine install 'az-engine[train]'"
    assert where.add("gpu").startswith("pipx runpip az-engine uninstall --yes onnxruntime && ")
    (tmp_path / "pipx_metadata.json").unlink()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert where.add("train") == f"uv pip install --python {shlex.quote(sys.executable)} 'az-engine[train]'"


def test_an_extra_beside_onnxruntime_gpu_does_not_bring_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_is_installed", lambda package: package == "onnxruntime-gpu")
    monkeypatch.setattr(installation, "_origin", lambda: None)
    requirements = ["onnxruntime>=1.22", 'ray>=2.40; extra == "ray"', 'torch>=2.10; extra == "train"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: requirements)
    assert Installation(None, tmp_path).add("train").endswith("-m pip install 'torch>=2.10'")


def test_nets_lists_and_shows_cards(capsys: pytest.CaptureFixture[str]) -> None:
    assert nets.main(parsed(nets)) == 0
    listed = capsys.readouterr().out
    assert "chess sparse" in listed
    assert f"SHA-256 {nets.find_net('chess').sha256[:12]}" in listed
    assert nets.main(parsed(nets, "chess")) == 0
    assert capsys.readouterr().out.startswith("# ")
