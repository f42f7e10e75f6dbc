"""Engine processes and their raw lines."""

from __future__ import annotations

import sys
import time

import pytest

from az_engine.bench.speed.process import EngineProcess
from az_engine.engine.errors import EngineProcessError

from ..match.test_players import fake


def test_lines_and_their_times() -> None:
    seen: list[str] = []
    with EngineProcess(fake("slow").command) as process:
        process.send("uci")
        greeted, _ = process.until("uciok", 30, seen.append)
        assert [line.split()[0] for line in seen] == ["banner", "id", "id", *["option"] * 4, "uciok"]
        process.send("position startpos")
        asked = time.perf_counter()
        process.send("go nodes 1")
        time.sleep(0.7)  # the answer comes after 0.4 s, however late it is read
        answered, line = process.until("bestmove", 5)
        assert process.started < greeted < asked < answered
        assert answered - asked < 0.65
        assert line.split()[0] == "bestmove"
        process.send("isready")
        seen.clear()
        process.drain(0.3, seen.append)
        assert seen == ["readyok\n"]


@pytest.mark.parametrize("fault", ["exit", "hang", "spam"])
def test_faults(fault: str) -> None:
    process = EngineProcess(fake(fault).command)
    try:
        process.send("position startpos")
        process.send("go nodes 1")
        start = time.monotonic()
        with pytest.raises(EngineProcessError, match="exit status 3" if fault == "exit" else "did not say bestmove"):
            process.until("bestmove", 2.0)
        assert time.monotonic() - start < 4
    finally:
        process.close(0.1)
    with pytest.raises(EngineProcessError):
        process.send("isready")


def test_engines_that_do_not_start() -> None:
    with pytest.raises(EngineProcessError, match="cannot start /no/such/engine"):
        EngineProcess(["/no/such/engine"])
    with EngineProcess([sys.executable, "-c", "pass"]) as process, pytest.raises(EngineProcessError, match="ended"):
        process.until("uciok", 20)
