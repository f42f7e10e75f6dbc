"""The engine in lichess' analysis board: registration, work, its end, and everything that goes wrong."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from az_engine.cli import main
from az_engine.engine.errors import OptionError
from az_engine.engine.limits import Limits
from az_engine.protocols.lichess.api import LichessApi, LichessError
from az_engine.protocols.lichess.provider import Analyst, Provider
from az_engine.protocols.lichess.work import Work, WorkError

from ...fakes import program
from ...fakes.waiting import wait_for
from ..process import COMMAND
from .broker import PATIENCE_S, START, TOKEN, Broker, work

SECRET = "a-secret-of-this-provider"
INFO = "info depth 3 multipv 1 score cp 21 nodes 40 time 5 pv e2e4 e7e5"
NOISE = ["info string hello", "info depth 3 currmove e2e4", "info depth 4 score cp 1 nodes 5 time 6"]
FAKE = [*program.COMMAND, "uci", "e2e4", *(word for line in (*NOISE, INFO) for word in ("--info", line))]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


class _EndedError(Exception):
    """The test has ended while the provider waits."""


class Running:
    """A provider at work. Context manager: ends it."""

    def __init__(self, url: str, command: list[str]) -> None:
        self.told: list[str] = []
        self.waits: list[float] = []
        self.api = LichessApi(url, url, TOKEN, SECRET, self.told.append)
        self.api.sleep = self._wait
        self.starts = 0
        self._command = command
        self._ended = threading.Event()
        self.provider = Provider(self.api, self._start, self.told.append)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _start(self) -> Analyst:
        self.starts += 1
        return Analyst(self._command, 3, 32)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        if self._ended.wait(0.01):
            raise _EndedError

    def _run(self) -> None:
        with contextlib.suppress(_EndedError):
            while not self._ended.is_set():
                self.provider.step()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self.provider.__exit__()


def api(broker: Broker, told: list[str], token: str = TOKEN) -> LichessApi:
    found = LichessApi(broker.url, broker.url, token, SECRET, told.append)
    found.sleep = lambda seconds: told.append(f"waits {seconds:g}")
    return found


def test_registers_updates_and_removes(broker: Broker) -> None:
    told: list[str] = []
    lichess = api(broker, told)
    lichess.register("mine", 3, 32)
    entry = {"name": "mine", "maxThreads": 3, "maxHash": 32, "variants": ["chess"], "providerSecret": SECRET}
    assert broker.engines == {"eei_1": entry}
    lichess.register("mine", 8, 64)
    assert broker.engines == {"eei_1": {**entry, "maxThreads": 8, "maxHash": 64}}
    assert not lichess.remove("another")
    assert lichess.remove("mine")
    assert broker.engines == {}
    assert told == []


def test_what_passes_is_waited_for_and_told_once(broker: Broker) -> None:
    told: list[str] = []
    for fault in (500, 502, b"", b"HTTP/1.1 what?\r\n\r\n", 429):
        broker.faults.put(fault)
    api(broker, told).register("mine", 1, 16)
    assert told == [
        "127.0.0.1 cannot be used now (status 500); trying again until it can",
        *("waits 1", "waits 2", "waits 4", "waits 8", "waits 16"),
        "127.0.0.1 answers again",
    ]
    assert len(broker.engines) == 1
    broker.faults.put(429)
    assert api(broker, told).work() is None
    assert told[7:9] == ["127.0.0.1 cannot be used now (status 429); trying again until it can", "waits 7"]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (401, "127.0.0.1 refuses the token (status 401): make one that may read and write engines"),
        (403, "127.0.0.1 refuses the token (status 403): make one that may read and write engines"),
        (400, '127.0.0.1 refuses GET /api/external-engine (status 400): {"error": "no: Bearer ..."}'),
        (302, '127.0.0.1 refuses GET /api/external-engine (status 302): {"error": "no: Bearer ..."}'),
    ],
)
def test_refusals_are_final_and_hide_the_token(broker: Broker, fault: int, text: str) -> None:
    broker.faults.put(fault)
    told: list[str] = []
    with pytest.raises(LichessError) as caught:
        api(broker, told).register("mine", 1, 16)
    assert str(caught.value) == text
    assert told == []


def test_another_site(broker: Broker) -> None:
    broker.faults.put(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
    with pytest.raises(LichessError, match="does not answer as lichess does"):
        api(broker, []).register("mine", 1, 16)


def test_work_is_done_and_streamed(broker: Broker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    offers = ["UCI_AnalyseMode type check default false", "UCI_Chess960 type check default false",
              "Threads type spin default 1 min 1 max 64", "Hash type spin default 1 min 1 max 24",
              "MultiPV type spin default 1 min 1 max 5"]  # fmt: skip
    command = [*FAKE, *(word for offer in offers for word in ("--offers", offer))]
    with Running(broker.url, command) as running:
        assert running.provider._engine is not None  # noqa: SLF001
        running.provider._engine.send(f"setoption name Log value {log}")  # noqa: SLF001
        first = broker.ask(work("one", threads=8, hash=999, multiPv=2, movetime=500, moves=["e2e4", "e7e5"]))
        assert first.rest() == [INFO]
        assert first.whole
        assert broker.ask(work("two", threads=8, hash=999, multiPv=5, depth=20)).rest() == [INFO]
        assert broker.ask(work("three", threads=8, hash=999, multiPv=5, nodes=7, sessionId="t")).rest() == [INFO]
        assert running.told == []
    said = [line for line in log.read_text().splitlines() if line != "isready"][1:]
    assert said == [
        "setoption name Threads value 3",
        "setoption name Hash value 24",
        "setoption name MultiPV value 2",
        "ucinewgame",
        f"position fen {START} moves e2e4 e7e5",
        "go movetime 500",
        "setoption name MultiPV value 5",
        f"position fen {START}",
        "go depth 20",
        "ucinewgame",
        f"position fen {START}",
        "go nodes 7",
        "quit",
    ]
    assert {"providerSecret": SECRET} in broker.polls


def test_newer_work_and_closed_streams_end_the_search(broker: Broker) -> None:
    with Running(broker.url, FAKE) as running:
        first = broker.ask(work("first"))
        assert first.line() == INFO
        second = broker.ask(work("second"))
        assert first.rest() == []
        assert first.whole
        assert second.line() == INFO
        second.close()
        assert second.rest() == []
        wait_for(lambda: not running.provider.working, "the search goes on though nobody listens")
        assert broker.ask(work("third", nodes=5)).rest() == [INFO]
        assert (running.starts, running.told) == (1, [])


BAD = [
    ({"variant": "atomic"}, "its variant is not chess"),
    ({"initialFen": "8/8/8/8 w - - 0 1\nquit"}, "initialFen is '8/8/8/8 w - - 0 1\\nquit'"),
    ({"moves": ["e2e4", "stop\nquit"]}, "'stop\\nquit' is no move"),
    ({"moves": "e2e4"}, "it has no list of moves"),
    ({"threads": 0}, "threads is '0'"),
    ({"multiPv": True}, "multiPv is 'True'"),
    ({"hash": "1"}, "hash is '1'"),
    ({"depth": -1}, "depth is '-1'"),
    ({"depth": 3, "nodes": 3}, "it has more than one limit"),
]


@pytest.mark.parametrize(("fields", "text"), BAD)
def test_malformed_work(fields: dict[str, object], text: str) -> None:
    with pytest.raises(WorkError) as caught:
        Work.read(work("w", **fields))
    assert str(caught.value) == f"lichess sent work that cannot be done: {text}"
    assert caught.value.work == "w"


@pytest.mark.parametrize(
    "given", [None, [], "work", {"id": "../../x", "work": {}}, {"id": "x"}, {"id": "x", "work": 3}]
)
def test_what_is_no_work(given: object) -> None:
    with pytest.raises(WorkError):
        Work.read(given)


def test_limits_of_work() -> None:
    assert Work.read(work("w")).limits == Limits(infinite=True)
    assert Work.read(work("w", movetime=None, depth=9)).limits == Limits(depth=9)


def test_malformed_work_costs_nothing_else(broker: Broker) -> None:
    with Running(broker.url, FAKE) as running:
        assert broker.ask(work("bad", variant="horde")).rest() == []  # answered, so that the site does not wait
        broker.work.put(b"no JSON {")
        assert broker.ask(work("good", nodes=5)).rest() == [INFO]
        assert running.told == [
            "lichess sent work that cannot be done: its variant is not chess",
            "lichess sent work that cannot be done: id is 'None'",
        ]


def test_a_broker_that_is_killed_and_comes_back() -> None:
    with Broker() as broker:
        running = Running(broker.url, FAKE)
        with running:
            first = broker.ask(work("first"))
            assert first.line() == INFO
            broker.kill()
            wait_for(lambda: not running.provider.working, "the search goes on though nobody listens")
            wait_for(lambda: bool(running.told), "nobody was told")
            with Broker(broker.port) as again:
                assert again.ask(work("second", nodes=5)).rest() == [INFO]
                assert len(running.told) == 2
                assert running.told[0].startswith("127.0.0.1 cannot be used now (")
                assert running.told[1] == "127.0.0.1 answers again"
                assert max(running.waits) <= 60


def test_an_engine_that_dies_is_started_again(broker: Broker) -> None:
    with Running(broker.url, [*FAKE, "--fault", "go@2=exit"]) as running:
        assert broker.ask(work("first", nodes=5)).rest() == [INFO]
        dying = broker.ask(work("second", nodes=5))
        assert dying.rest() == []
        assert not dying.whole
        assert broker.ask(work("third", nodes=5)).rest() == [INFO]
        assert running.starts == 2
        assert len(running.told) == 1
        assert running.told[0].endswith("; it is started again for the next work")


@pytest.mark.parametrize(
    "url",
    ["lichess.org", "ftp://lichess.org", "http://lichess.org", "https://u:p@lichess.org", "https://h:99999", "://"],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(OptionError):
        LichessApi(url, "https://engine.lichess.ovh", TOKEN, SECRET, print)


def test_tokens_that_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("LICHESS_API_TOKEN", raising=False)
    open_to_all = tmp_path / "open"
    open_to_all.write_text(TOKEN)
    open_to_all.chmod(0o644)
    for flags, text in (
        ([], "give a token with --token-file or LICHESS_API_TOKEN"),
        (["--token", "lip_\n"], "the token is no token of lichess"),
        (["--token-file", str(tmp_path / "none")], "there is no "),
        (["--token-file", str(open_to_all)], "others can read the tokens in "),
    ):
        assert main(["lichess", *flags]) == 2
        said = capsys.readouterr().err
        assert text in said
        assert TOKEN not in said
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_the_command(broker: Broker, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "LICHESS_API_TOKEN": TOKEN}
    command = [*COMMAND, "lichess", "--server", broker.url, "--net", "uniform", "--threads", "1"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            analysis = broker.ask(work("one", movetime=86_400_000, multiPv=2))
            line = analysis.line()
            assert line is not None
            assert {"depth", "multipv", "score", "nodes", "time", "pv"} <= set(line.split())
            white = broker.ask(work("two", moves=["e2e4"], initialFen=START, nodes=50)).rest()
            assert white
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 0
    assert said == f"az-engine: az-engine is ready: choose it in the menu of {broker.url}/analysis\n"
    (secret,) = tmp_path.rglob("lichess-secret")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert broker.engines["eei_1"]["providerSecret"] == secret.read_text().strip()
