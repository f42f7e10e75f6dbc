"""``az-engine gtp`` as a process, with the real engine: start, end, malformed input, another program's client."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from az_engine.protocols.gtp.command import read_command
from az_engine.protocols.lines import clean

from ..process import COMMAND, GtpProcess

pytestmark = pytest.mark.slow

CASES = [
    json.loads(line)
    for line in Path(__file__).parents[2].joinpath("data", "badinput_gtp.jsonl").read_text("utf-8").splitlines()
]
QUICK = ("--weights-file", "uniform", "--hash", "16", "--threads", "1", "--move-time", "0.05", "--resign", "0")


@pytest.fixture(scope="module")
def engine() -> Iterator[GtpProcess]:
    """One process for all cases that leave it alive."""
    with GtpProcess(*QUICK) as process:
        process.responses("boardsize 9", "genmove b")
        yield process


# ----------------------------------------------------------------------------------------------------- start and end


def test_a_greeting_and_quit() -> None:
    with GtpProcess() as process:
        assert process.responses("name", "list_commands", "quit")[0] == "= az-engine"
        assert process.end() == (0, [])
        assert process.complaints == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_during_an_analysis(number: int) -> None:
    with GtpProcess(*QUICK) as process:
        process.responses("boardsize 9", "genmove b")
        process.send("kata-analyze 50")
        assert process.line() == "="
        process.process.send_signal(number)
        code, rest = process.end()
        assert (code, rest[-1]) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_while_nobody_reads(number: int) -> None:
    with GtpProcess(*QUICK) as process:
        process.responses("name")  # it has started
        process.send(*["list_commands"] * 200)  # more than a pipe holds
        time.sleep(0.5)
        process.process.send_signal(number)
        assert process.process.wait(60) == 0


def test_the_end_of_the_input_ends_it_with_everything_answered() -> None:
    done = subprocess.run(
        [*COMMAND, "gtp", *QUICK],
        input=b"name\n\n7 boardsize 9\n8 genmove b",
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0
    assert re.fullmatch(rb"= az-engine\n\n=7\n\n=8 [A-HJ][1-9]\n\n", done.stdout), done.stdout


def test_flags_that_are_no_option_of_gtp_are_refused() -> None:
    done = subprocess.run([*COMMAND, "gtp", "--multipv", "3"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    helped = subprocess.run([*COMMAND, "gtp", "--help"], capture_output=True, text=True, check=True).stdout
    for flag in ("--weights-file", "--move-time", "--resign", "--resign-moves", "--nodes-limit", "--log-file"):
        assert flag in helped


def test_everything_is_logged_if_the_user_wishes(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with GtpProcess(*QUICK, "--log-file", str(log)) as process:
        process.responses("5 name", "nonsense", "quit")
        process.end()
    written = [line[24:] for line in log.read_text().splitlines()]
    assert [line for line in written if line[0] == "<"] == ["< 5 name", "< nonsense", "< quit"]
    assert [line for line in written if line[0] == ">" and line != "> "] == [
        "> =5 az-engine",
        "> ? unknown command",
        "> =",
    ]


# ----------------------------------------------------------------------------------------------------- malformed input


def expected(lines: Sequence[str]) -> list[str]:
    """The ids of the responses that lines must get."""
    commands = [read_command(clean(line.encode("utf-8", "surrogateescape"))) for line in lines]
    return [command.number for command in commands if command is not None]


@pytest.mark.parametrize("case", [c for c in CASES if "input" in c], ids=lambda c: c["id"])
def test_sample_of_malformed_commands(case: dict[str, Any], engine: GtpProcess) -> None:
    engine.responses("boardsize 9", "komi 7.5", "time_settings 0 1 0")
    before = engine.responses("showboard", "get_komi")
    engine.send(*case["input"])
    responses = [engine.response() for _ in expected(case["input"])]
    assert engine.responses("123 protocol_version") == ["=123 2"]
    wanted = case["assert"][0]
    if wanted.startswith("no response"):
        assert responses == []
    elif wanted.startswith("=7"):
        assert responses[-1].startswith("=007 ")
    elif wanted.startswith("= then"):
        assert responses[-2:] == ["=", wanted.removeprefix("= then ")]
    elif wanted.startswith("? unacceptable") or wanted == "? board not empty":
        assert responses[-1] == wanted
    elif case["expect"].startswith("E1"):
        assert responses[-1].startswith("? ")
    else:
        assert responses[-1].startswith("=")
    if len(case["input"]) == 1 and case["expect"].startswith("E1"):
        assert engine.responses("showboard", "get_komi") == before


@pytest.mark.parametrize("case", [c for c in CASES if "input_b64" in c], ids=lambda c: c["id"])
def test_sample_of_raw_bytes(case: dict[str, Any], engine: GtpProcess) -> None:
    data = base64.b64decode(case["input_b64"])
    engine.raw(data)
    responses = [engine.response() for _ in data.strip().split(b"\n")]
    assert responses[-1] == "= az-engine"
    assert engine.responses("9 name") == ["=9 az-engine"]


def test_a_hundred_megabytes_without_a_line_end_do_not_fill_the_memory(engine: GtpProcess) -> None:
    status = Path(f"/proc/{engine.process.pid}/status")
    if not status.exists():
        pytest.skip("needs /proc")

    def memory() -> int:
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status.read_text())[0])

    before = memory()
    for _ in range(100):
        engine.stdin.write(b"x" * (1 << 20))
    engine.send("", "5 name")
    assert [engine.response(), engine.response()] == ["? a line longer than 1 MiB", "=5 az-engine"]
    assert memory() - before < 8192


GNU_GO = next((path for path in ("/usr/games/gnugo", "/usr/bin/gnugo") if os.access(path, os.X_OK)), None)


@pytest.mark.skipif(GNU_GO is None, reason="GNU Go is not installed")
def test_a_game_against_gnu_go_has_no_illegal_move(engine: GtpProcess) -> None:
    assert GNU_GO is not None
    with subprocess.Popen([GNU_GO, "--mode", "gtp", "--level", "1"], stdin=-1, stdout=-1, text=True) as gnu:
        assert gnu.stdin is not None
        assert gnu.stdout is not None

        def ask(command: str) -> str:
            gnu.stdin.write(command + "\n")  # type: ignore[union-attr]
            gnu.stdin.flush()  # type: ignore[union-attr]
            lines = []
            while line := gnu.stdout.readline().strip():  # type: ignore[union-attr]
                lines.append(line)
            assert lines[0].startswith("="), (command, lines)
            return lines[0][2:]

        for command in ("boardsize 9", "clear_board", "komi 7"):
            ask(command)
            assert engine.responses(command) == ["="]
        assert engine.responses("kata-set-rules chinese") == ["="]
        passes = 0
        for number in range(200):
            colour, other = "bw"[number % 2], number % 2
            move = engine.responses(f"genmove {colour}")[0][2:] if other else ask(f"genmove {colour}")
            if move.lower() == "resign":
                break
            passes = passes + 1 if move.lower() == "pass" else 0
            if other:
                ask(f"play {colour} {move}")
            else:
                assert engine.responses(f"play {colour} {move}") == ["="]
            if passes == 2:
                break
        assert re.fullmatch(r"= ([BW]\+\d+(\.5)?|0)", engine.responses("final_score")[0])
        gnu.terminate()


def test_it_outlived_all_that(engine: GtpProcess) -> None:
    assert engine.responses("boardsize 9", "quit") == ["=", "="]
    assert engine.end() == (0, [])
    assert b"Traceback" not in engine.complaints
