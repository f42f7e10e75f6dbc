"""What the commands of UCI, USI and GTP have in common as processes: how they start and end."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .process import COMMAND, EngineProcess, UsiProcess

pytestmark = pytest.mark.slow
QUICK = ("--weights-file", "uniform", "--hash", "16", "--threads", "1")
HEAVY = ("numpy", "numba", "onnxruntime", "torch", "chess", "rich", "sgfmill")
both = pytest.mark.parametrize("kind", [EngineProcess, UsiProcess], ids=["uci", "usi"])


@pytest.mark.parametrize("protocol", ["uci", "uci.usi", "gtp"])
def test_nothing_heavy_is_imported_before_it_is_needed(protocol: str) -> None:
    modules = f"az_engine.cli, az_engine.protocols.{protocol}"
    program = f"import sys, {modules}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@both
def test_s1_a_greeting_and_quit(kind: type[EngineProcess]) -> None:
    with kind() as process:
        process.ask([kind.protocol], f"{kind.protocol}ok")
        process.send("quit")
        assert process.end() == (0, [])
        assert process.complaints == b""


@both
@pytest.mark.parametrize("end", ["quit", "EOF"])
def test_s15_the_end_in_an_endless_search(kind: type[EngineProcess], end: str) -> None:
    with kind(*QUICK) as process:
        process.ask(["isready"], timeout=120)
        process.ask(["go infinite"], "info")
        if end == "quit":
            process.send("quit")
        else:
            process.stdin.close()
        code, rest = process.end()
        assert process.complaints == b""
    assert (code, sum(line.startswith("bestmove") for line in rest)) == (0, 1)


@pytest.mark.parametrize("protocol", ["uci", "usi"])
def test_a_signal_ends_it_although_nobody_reads(protocol: str) -> None:
    program = [*COMMAND, protocol, *QUICK]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(f"{protocol}\n".encode() * 200)  # the answers are more than a pipe holds
        process.stdin.flush()
        assert process.stdout is not None
        process.stdout.read(10)  # it has started
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


QUERY = '{"id":"a","moves":[],"rules":"chinese","boardXSize":9,"boardYSize":9,"maxVisits":100000000'
SEARCHES = {  # commands by name: lines after which much is left to do, and those that have been read when a line comes
    "uci": ("uci", "go infinite", "go wtime 1000000000 btime 1000000000"),
    "usi": ("usi", "go infinite", "go btime 1000000000 wtime 1000000000"),
    "gtp": ("name", "kata-analyze 10", "time_settings 200000 0 0\ngenmove b"),
    "analysis": ('{"id":"v","action":"query_version"}', QUERY + ',"reportDuringSearchEvery":0.1}', QUERY + "}"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("way", ["pipes closed", "shell killed"])
@pytest.mark.parametrize("state", ["starting", "idle", "reporting", "thinking"])
@pytest.mark.parametrize("protocol", SEARCHES)
def test_it_ends_with_its_client(protocol: str, state: str, way: str) -> None:
    engine = shlex.join(["env", "--default-signal=HUP", *COMMAND, protocol, *QUICK])  # whatever started the tests
    program = f"exec 3<&0; {engine} <&3 & echo $! >&2; exec >&-; wait"
    with subprocess.Popen(
        ["sh", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        assert shell.stderr is not None
        number = int(shell.stderr.readline())
        hello, reporting, thinking = SEARCHES[protocol]
        if state != "starting":
            shell.stdin.write(f"{hello}\n".encode())
            shell.stdin.flush()
            shell.stdout.readline()
        else:
            time.sleep(1.0)  # else it never had this parent
        if state in ("reporting", "thinking"):
            shell.stdin.write(f"{reporting if state == 'reporting' else thinking}\n".encode())
            shell.stdin.flush()
            time.sleep(1.0)
        if way == "shell killed":
            shell.kill()
        else:
            shell.stdout.close()
            shell.stdin.close()
        watch = time.monotonic()
        while (left := is_running(number)) and time.monotonic() - watch < 60:  # 3 s on an idle machine
            time.sleep(0.05)
        if left:
            os.kill(number, signal.SIGKILL)
    assert not left


def is_running(number: int) -> bool:
    """Whether the process is there, and no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
