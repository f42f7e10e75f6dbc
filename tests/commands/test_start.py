"""az-engine alone: the page in the browser."""

from __future__ import annotations

import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from az_engine.commands import start

from ..fakes.waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a program stands for the browser: a shell script")


def begin(tmp_path: Path, *words: str) -> tuple[subprocess.Popen[str], Path]:
    """Start it with a browser that writes the address to a file."""
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    browser.write_text(f'#!/bin/sh\necho "$1" >> "{shown}"\n')
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": str(browser), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "az_engine", *words]
    with Path(os.devnull).open() as nothing:
        process = subprocess.Popen(command, stdin=nothing, stderr=subprocess.PIPE, text=True, env=environment)
    return process, shown


def address_in(shown: Path) -> str:
    wait_for(lambda: shown.exists() and shown.read_text().endswith("\n"))
    return shown.read_text().split()[-1]


@pytest.mark.slow
def test_it_opens_the_page_and_a_second_one_finds_it(tmp_path: Path) -> None:
    process, shown = begin(tmp_path)
    try:
        address = address_in(shown)
        assert "<title>az-engine" in urllib.request.urlopen(address, timeout=60).read().decode()
        shown.unlink()
        port = address.rpartition(":")[2].strip("/")
        second, _ = begin(tmp_path, "start", "--port", port)
        said = second.communicate(timeout=60)[1]
        assert (second.returncode, address_in(shown)) == (0, f"http://localhost:{port}/")
        assert "it runs already" in said
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert re.search(r"shows its page in your browser; Ctrl-C ends it\.\n.*check --programs .* play\n.*--help\n", said)


def test_a_port_that_another_program_has_is_left_to_it() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        port = other.server_port
        assert not start._is_free(port)  # noqa: SLF001
        assert not start._shows_the_page(f"http://localhost:{port}/")  # noqa: SLF001
        other.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "text"), [([], "in a program enter the command az-engine-uci"), (["start", "--port", "70000"], "65535")]
)
def test_what_cannot_be_is_one_sentence(words: list[str], text: str) -> None:
    source = subprocess.PIPE if not words else subprocess.DEVNULL
    done = subprocess.Popen(
        [sys.executable, "-m", "az_engine", *words], stdin=source, stderr=subprocess.PIPE, text=True
    )
    said = done.communicate(timeout=60)[1]
    assert (done.returncode, said.count("\n")) == (2, 1)
    assert text in said
