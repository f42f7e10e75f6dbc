"""The first start of a newcomer: a fresh clone, an empty home, nothing compiled; to a board and an answer in a browser.

    python -m tests.first_start [chess|shogi|go] [--terminal]

Clones this checkout's HEAD, runs ``./az-engine`` there and plays a move on the page in Chromium. Prints each line that
``./az-engine`` writes with its time, the longest silence, seconds and CPU seconds to each step. pip's settings are
taken from the environment; its cache is empty. Needs Chromium, the network and a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from .protocols.page.browser import READY, Browser, Chromium

ROOT = Path(__file__).parent.parent
MOVES = {"chess": ("e2", "e4"), "shogi": ("7g", "7f"), "go": ("E5",)}
_PATIENCE_S = 900.0


def cpu_seconds(process: int) -> float:
    """CPU time of a process and of all that it has started, ended or not."""
    total, todo = 0.0, [process]
    while todo:
        one = todo.pop()
        try:
            words = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            children = [Path(each).read_text() for each in Path(f"/proc/{one}/task").glob("*/children")]
        except OSError:  # it has ended
            continue
        total += sum(map(int, words[11:15]))
        todo += map(int, " ".join(children).split())
    return total / os.sysconf("SC_CLK_TCK")


class FirstStart:
    """``./az-engine`` in a clone, and when it writes what."""

    def __init__(self, folder: Path, *, terminal: bool) -> None:
        """folder: an empty one, for clone and home; terminal: whether its output is one."""
        clone, home = folder / "az-engine", folder / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        pip = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "http", "HTTP"))}
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "BROWSER": "true", "TERM": "dumb", **pip}
        ours, theirs = pty.openpty() if terminal else os.pipe()
        self.address = ""
        self.silence, self._last = 0.0, time.monotonic()
        self.began = self._last
        self._process = subprocess.Popen(
            ["./az-engine", "start", "--port", "0"],
            cwd=clone,
            env=env,
            stdin=subprocess.DEVNULL,
            stderr=theirs,
            stdout=theirs,
        )
        os.close(theirs)
        self._thread = threading.Thread(target=self._listen, args=(ours,), daemon=True)
        self._thread.start()

    def _listen(self, descriptor: int) -> None:
        said = b""
        while chunk := self._read(descriptor):
            now = time.monotonic()
            self.silence, self._last = max(self.silence, now - self._last), now
            *lines, said = re.split(rb"[\r\n]+", said + chunk)
            for line in filter(None, lines):
                text = line.decode("utf-8", "replace")
                print(f"{now - self.began:6.1f} s  {text[:150]}", flush=True)
                if found := re.search(r"the page is (\S+)", text):
                    self.address = found[1]

    @staticmethod
    def _read(descriptor: int) -> bytes:
        try:
            return os.read(descriptor, 1 << 16)
        except OSError:  # a terminal whose other end is gone
            return b""

    def step(self, name: str) -> None:
        self.silence = max(self.silence, time.monotonic() - self._last)
        took, cpu = time.monotonic() - self.began, cpu_seconds(self._process.pid)
        print(f"{took:6.1f} s  == {name}: {cpu:.0f} CPU-s, longest silence {self.silence:.0f} s", flush=True)

    def wait_for_address(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not self.address:
            assert time.monotonic() < deadline
            assert self._process.poll() is None
            time.sleep(0.1)

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="chess", choices=list(MOVES))
    parser.add_argument("--terminal", action="store_true", help="give it a terminal")
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        start = FirstStart(Path(folder), terminal=args.terminal)
        try:
            start.wait_for_address()
            start.step("the page can be opened")
            with Chromium(Path(folder) / "chromium") as chromium, Browser(chromium) as browser:
                browser.open(f"{start.address}#game={args.game}&moves=")
                browser.wait(READY, _PATIENCE_S)
                start.step("a board")
                browser.square(*MOVES[args.game])
                browser.wait("az.match.moves.length > 1", _PATIENCE_S)
                start.step("an answer")
                while not browser.do("fetch('/healthz').then((answer) => answer.ok)"):
                    time.sleep(0.5)
                start.step("everything is compiled")
        finally:
            start.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
