"""HAProxy as docs/reference/deployment.md says, before three servers: one is slow, one dies, one is asked to end."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from az_engine.engine.clock import Stopwatch

from .lines import PATIENCE_S, LineClient

HAPROXY = shutil.which("haproxy")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed")]
DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "deployment.md"


class Backend:
    """``az-engine serve`` in a process of its own, with chess alone."""

    def __init__(self, log: Path) -> None:
        self._log = log
        command = [
            sys.executable,
            "-m",
            "az_engine",
            "serve",
            "--game",
            "chess",
            "--threads",
            "1",
            "--log-file",
            str(log),
        ]
        limits = ["--port", "0", "--http-port", "0", "--max-sessions", "40", "--per-client", "40"]
        self.process = subprocess.Popen([*command, *limits], stderr=subprocess.DEVNULL)
        ready = wait(lambda: next((event for event in self.events() if event["event"] == "ready"), {}))
        self.port, self.http_port = ready["port"], ready["http_port"]

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []

    def opened(self, protocol: str) -> int:
        """Sessions of a protocol so far."""
        return sum(event["event"] == "open" and event["protocol"] == protocol for event in self.events())


def wait(found: Callable[[], Any]) -> Any:
    """What ``found`` returns, once that is true."""
    watch = Stopwatch()
    while not (value := found()):
        assert watch.seconds < PATIENCE_S
        time.sleep(0.1)
    return value


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as link:
        return int(link.getsockname()[1])


@contextmanager
def haproxy(backends: list[Backend], folder: Path) -> Iterator[tuple[int, int]]:
    """Run it as the document says; its ports of lines and of HTTP."""
    found = re.search(r"```haproxy\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    text, lines, web = found[1], free_port(), free_port()
    for number, each in enumerate(backends, 1):
        text = text.replace(
            f"10.0.0.{number}:8766 check port 8765", f"127.0.0.1:{each.port} check port {each.http_port}"
        )
        text = text.replace(f"10.0.0.{number}:8765", f"127.0.0.1:{each.http_port}")
    text = text.replace("bind *:8766", f"bind 127.0.0.1:{lines}").replace("bind *:8765", f"bind 127.0.0.1:{web}")
    text = re.sub(r"\n    stats socket .*", "", text)
    assert "10.0.0" not in text
    (folder / "haproxy.cfg").write_text(text)
    assert HAPROXY is not None
    process = subprocess.Popen([HAPROXY, "-f", str(folder / "haproxy.cfg"), "-db"])
    try:
        wait(lambda: answers(web))
        yield lines, web
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> str | None:
    """The page's cookie; None while nothing answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE_S) as answer:
            return str(answer.headers["set-cookie"]).partition(";")[0]
    except OSError:
        return None


def test_three_servers_of_which_one_is_slow_one_dies_and_one_ends(tmp_path: Path) -> None:
    with ExitStack() as stack:
        backends = [Backend(tmp_path / f"{name}.jsonl") for name in "abc"]
        for each in backends:
            stack.callback(each.process.wait)
            stack.callback(each.process.kill)
        lines, web = stack.enter_context(haproxy(backends, tmp_path))
        clients = list[tuple[int, LineClient]]()
        for _ in range(9):
            before = [each.opened("uci") for each in backends]
            client = stack.enter_context(LineClient(lines, "uci"))
            client.until("uciok")
            after = [each.opened("uci") for each in backends]
            clients.append((next(i for i in range(3) if after[i] > before[i]), client))
        assert Counter(place for place, _ in clients) == {0: 3, 1: 3, 2: 3}, "the least busy server comes first"
        for _, client in clients:
            client.send("position startpos", "isready", "go infinite")
            client.until("readyok")

        backends[0].process.send_signal(signal.SIGSTOP)  # as busy as can be
        time.sleep(3.5)
        backends[0].process.send_signal(signal.SIGCONT)
        for _, client in clients:
            client.send("isready")
            client.until("readyok")

        cookie = answers(web)
        assert cookie is not None
        place = page(web, cookie, backends)
        assert [page(web, cookie, backends) for _ in range(3)] == [place] * 3, "the page comes back to its server"

        backends[place].process.kill()
        for at, client in clients:
            if at == place:
                client.rest()  # up to the end of the connection
        stack.enter_context(LineClient(lines, "uci")).until("uciok")
        assert page(web, cookie, backends) != place, "the page goes on elsewhere"

        ending = next(i for i in range(3) if i != place)
        backends[ending].process.send_signal(signal.SIGTERM)
        for at, client in clients:
            if at == ending:
                assert client.rest()[-1].startswith("bestmove"), "the search gives its move"
        assert backends[ending].process.wait(PATIENCE_S) == 0
        for _ in range(6):
            stack.enter_context(LineClient(lines, "uci")).until("uciok")
        for at, client in clients:
            if at not in (place, ending):
                client.send("stop")
                client.until("bestmove")


def page(port: int, cookie: str, backends: list[Backend]) -> int:
    """Hold a conversation of the page, with its cookie; the server that had it."""
    before = [each.opened("page") for each in backends]
    with connect(f"ws://127.0.0.1:{port}/page?game=chess", additional_headers={"Cookie": cookie}) as client:
        while json.loads(client.recv(PATIENCE_S))["is"] != "hello":  # what is loaded may come before
            pass
        return next(i for i, each in enumerate(backends) if each.opened("page") > before[i])
