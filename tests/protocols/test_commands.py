"""What the commands of UCI, USI and GTP have in common as processes: how they start and end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from .process import COMMAND, EngineProcess, UsiProcess

pytestmark = pytest.mark.slow
QUICK = ("--weights-file", "uniform", "--hash", "16", "--threads", "1")
HEAVY = ("numpy", "numba", "onnxruntime", "torch", "chess", "rich", "sgfmill")
both = pytest.mark.parametrize("kind", [EngineProcess, UsiProcess], ids=["uci", "usi"])


@pytest.mark.parametrize("protocol", ["uci", "usi", "gtp"])
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
        assert process.wait(20) == 0
