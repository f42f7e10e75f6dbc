"""The page of a run over HTTP, from the trainer itself."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest

from az_engine.engine.errors import OptionError
from az_engine.protocols.serve.runpage import RunServer, show_run


def ask(address: str, **headers: str) -> tuple[int, bytes, Message]:
    """(status, body, headers) of a GET."""
    request = urllib.request.Request(address, headers={name.replace("_", "-"): text for name, text in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def test_the_page_is_read_anew_each_time(tmp_path: Path) -> None:
    with RunServer(tmp_path, 0) as server:
        status, body, headers = ask(server.address)
        assert (status, headers["Refresh"]) == (404, "10"), "the browser asks again"
        assert b"no page yet" in body
        for text in (b"<p>one", b"<p>two"):
            (tmp_path / "run.html").write_bytes(text)
            status, body, headers = ask(server.address)
            assert (status, body) == (200, text)
            assert headers["Content-Type"] == "text/html; charset=utf-8"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == "no-store"


def test_nothing_else_is_shown(tmp_path: Path) -> None:
    (tmp_path / "run.html").write_bytes(b"<p>")
    (tmp_path / "config.json").write_bytes(b"{}")
    with RunServer(tmp_path, 0) as server:
        for path in ("config.json", "../config.json", "%2e%2e/config.json", "run.html", "?x"):
            assert ask(server.address + path)[0] == 404, path
        status, text, _ = ask(server.address, Host="evil.example")
        assert status == 421, "a page's own name leads here"
        assert b"serve --run RUN" in text
        assert ask(server.address, Origin="https://evil.example")[0] == 403


def test_other_machines_cannot_connect(tmp_path: Path) -> None:
    with RunServer(tmp_path, 0) as server:
        port = int(server.address.rsplit(":", 1)[1].rstrip("/"))
        own = socket.gethostbyname(socket.gethostname())
        if own.startswith("127."):
            pytest.skip("this machine has no address but loopback")
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((own, port), timeout=5).close()


def test_a_port_that_is_taken_and_none_at_all(tmp_path: Path) -> None:
    said: list[str] = []
    with show_run(tmp_path, None, said.append):
        assert said == []
    with show_run(tmp_path, 0, said.append):
        assert len(said) == 1
        port = int(said[0].rsplit(":", 1)[1].rstrip("/"))
        with pytest.raises(OptionError, match=f"port {port} cannot be listened on"):
            RunServer(tmp_path, port)
    with pytest.raises(OptionError, match="port 70000 cannot be listened on"):
        RunServer(tmp_path, 70_000)
    assert said[0].startswith("the run's page is http://localhost:")
