"""Every path that a command takes, impossible: one sentence that names it, and never a traceback."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from az_engine import cli

pytestmark = pytest.mark.slow

PROTOCOLS = ("uci", "usi", "gtp", "analysis")
KINDS = {"FILE": "file", "NET": "file", "DATA": "file", "IN": "file", "OUT": "file", "DIR": "folder", "RUN": "folder"}
NAMED = {"weights_file": "file", "log_file": "file", "init": "file"}  # by the attribute of the parsed arguments
SUFFIXES = {
    "label": ".csa",
    "regret": ".pgn",
    "report search": ".svg",
    "report curves": ".svg",
    "convert": ".pgn",
    "review": ".pgn",
}
# What a command needs beside the path, in an empty folder where "some" is a file of nonsense; {} is the path.
LINES = {
    "uci": "",
    "usi": "",
    "gtp": "",
    "bench perft": "--depth 1",
    "bench search": "",
    "bench selfplay": "",
    "bench serve": "",
    "bench startup": "",
    "bench figures": "",
    "match": "-A uniform -B uniform --games 2 --visits 1",
    "rate": "",
    "regret": "-P 'uniform visits=1' --judge 'uniform visits=1' --out out",
    "suite": "-P 'uniform visits=1'",
    "convert": "",
    "review": "--visits 1 --net uniform",
    "import": "",
    "export": "--to lc0",
    "label": "--game shogi --engine none --out out",
    "label --around": "--game shogi --net default --out out",
    "label --nnue": "--around data --out out",
    "bench gpu": "--sections environment --device cpu --quick",
    "distil": "--out out",
    "train": "--game go --size 5 --out out --minutes 1",
    "selfplay": "",
    "report search": "--visits 100",
    "report scaling": "--visits 1 --doublings 1 --games 2 --player uniform --out out",
    "report curves": "",
    "report architectures": "--supervised some --steps 1 --out out",
    "report openings": "",
    "report outside": "",
    "report calibration": "",
    "plot": "",
    "serve": "--port 0 --http-port none",
    "connect": "localhost:1 chess",
    "analysis": "",
    "lichess": "",
    "play": "--side none --visits 1",
}
POSITIONAL = {
    "teacher": "some",
    "source": "game.pgn",
    "target": "out.pgn",
    "records": "game.pgn",
    "run": "out",
    "folders": "out",
}


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and subcommand with its parser."""

    def parts(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if not inner:
            yield name, parser
        for action in inner:
            for word, each in action.choices.items():
                yield from parts(f"{name} {word}", each)

    for name, (module, _) in cli.COMMANDS.items():
        parser = argparse.ArgumentParser()
        __import__(module)
        sys.modules[module].add_arguments(parser)
        yield from parts(name, parser)


def kind_of(action: argparse.Action) -> str:
    """What an argument names: a file, a folder or no path."""
    if action.dest in NAMED:
        return NAMED[action.dest]
    if action.type is Path or action.metavar in KINDS:
        return KINDS.get(str(action.metavar), "file")
    return ""


PARSERS = dict(parsers())
PATHS = [(name, action, kind_of(action)) for name, parser in PARSERS.items() for action in parser._actions]
PATHS = [found for found in PATHS if found[2]]


def test_paths_are_found() -> None:
    assert len(PATHS) > 40
    assert {name for name, _, _ in PATHS} <= set(LINES)


@pytest.mark.parametrize(
    ("command", "action", "kind"), PATHS, ids=[f"{n} {(a.option_strings or [a.dest])[-1]}" for n, a, _ in PATHS]
)
def test_an_impossible_path_is_one_sentence(
    command: str,
    action: argparse.Action,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LICHESS_API_TOKEN", "token")
    (tmp_path / "some").write_bytes(b"nonsense")
    (tmp_path / "game.pgn").write_text('[Result "1-0"]\n\n1. e4 1-0\n')
    suffix = SUFFIXES.get(command, "")
    (tmp_path / f"folder{suffix}").mkdir()
    instead = "some" if kind == "folder" else f"folder{suffix}"
    if (command, action.dest) == ("convert", "target"):  # a folder is welcome
        instead = f"/proc/impossible{suffix}"
    for path in (f"some/impossible{suffix}", f"/proc/impossible/x{suffix}", instead):
        words = [*command.split(), *words_of(command, action, path)]
        if command in PROTOCOLS:  # these end their process
            done = subprocess.run(
                [sys.executable, "-m", "az_engine", *words], input="quit\n", capture_output=True, text=True, check=False
            )
            status, said = done.returncode, done.stderr or done.stdout
        else:
            status, said = cli.main(words), capsys.readouterr().err
        assert "Traceback" not in said
        if command not in PROTOCOLS or action.dest == "config":
            assert (status, said.strip().splitlines()[-1][:11]) == (2, "az-engine: "), said
        if status:
            named = {str(part) for part in (Path(path), *Path(path).parents)} - {".", "/", "/proc"}
            assert any(part in said for part in named), said


def words_of(command: str, action: argparse.Action, path: str) -> list[str]:
    """The words of the command's line with the path in its place."""
    words = shlex.split(LINES.get(f"{command} {(action.option_strings or [''])[-1]}", LINES[command]))
    for other in PARSERS[command]._actions:
        if not other.option_strings and kind_of(other):
            words.append(path if other is action else POSITIONAL.get(other.dest, "some"))
    if not action.option_strings:
        return words
    given = action.option_strings[-1]
    if given == "--net" and "--engine" in words:
        given = "--engine"  # one of the two
    at = words.index(given) if given in words else len(words)
    return [*words[:at], action.option_strings[-1], path, *words[at + 2 :]]
