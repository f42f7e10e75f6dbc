"""A real Chromium without a window, driven over its debugging protocol: it needs nothing but the browser itself.

One process serves many tests: each :class:`Browser` is a page with storage of its own.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.sync.client import connect

from ..serve.lines import RunningServer
from ..serve.test_web import port_of

PROGRAMS = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"  # the first takes half the time
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
IN_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt install chromium-headless-shell"),
]
PATIENCE_S = 120.0
LINK: dict[str, Any] = {"open_timeout": PATIENCE_S, "ping_interval": None}  # a busy browser answers no pings
READY = "window.az && az.match.here && !az.match.waiting"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --remote-debugging-port=0 about:blank"
)
_KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, "")}
_KEYS |= {f"Arrow{name}": (37 + i, "") for i, name in enumerate(("Left", "Up", "Right", "Down"))}
_STEPS = """(() => { const b = az.board, n = %s, at = az.input.cursor, { columns, rows, squares } = b.board;
  if (n[1] === "*") {
    const side = az.match.turn, place = b.game.hand.indexOf(n[0]);
    return (side === 1) === b.flipped ? [columns - 7 + place - at.x, rows - at.y] : [6 - place - at.x, -1 - at.y];
  }
  let i = squares.findIndex((_, i) => b.game.name(b.board, i) === n);
  if (b.flipped) i = squares.length - 1 - i;
  return [i %% columns - at.x, Math.floor(i / columns) - at.y]; })()"""
_PLACE = """(() => { const b = az.board; const n = %s;
  b.svg.scrollIntoView({block: "center"});
  const i = b.board.squares.findIndex((_, i) => b.game.name(b.board, i) === n);
  const [x, y] = n[1] === "*" ? b.handCorner(az.match.turn, n[0]).map((at) => at + 50) : b.middle(i);
  const p = new DOMPoint(x, y).matrixTransform(b.svg.getScreenCTM());
  return [p.x, p.y]; })()"""
_MIDDLE = """(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center"});
  const r = e.getBoundingClientRect();
  window.missed = null;
  addEventListener("pointerdown", (event) => {
    window.missed = !e.contains(event.target);
    if (!window.missed) return;
    const swallow = (later) => { later.preventDefault(); later.stopImmediatePropagation(); };
    swallow(event);
    const kinds = ["mousedown", "touchstart", "pointerup", "mouseup", "touchend", "click"];
    for (const kind of kinds) addEventListener(kind, swallow, { capture: true, passive: false });
    setTimeout(() => kinds.forEach((kind) => removeEventListener(kind, swallow, true)), 300);
  }, { capture: true, once: true });
  return [r.x + r.width / 2, r.y + r.height / 2]; })()"""


class Chromium:
    """The process. Context manager: ends it."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [CHROMIUM, f"--user-data-dir={folder}", *FLAGS.split()], stderr=nowhere, stdout=nowhere
        )
        self.pid = self._process.pid
        file, deadline = folder / "DevToolsActivePort", time.monotonic() + PATIENCE_S
        while not file.exists() or len(words := file.read_text().split()) < 2:
            assert time.monotonic() < deadline, "chromium did not start"
            time.sleep(0.05)
        self.address = f"ws://127.0.0.1:{words[0]}/devtools/"
        whole = connect(self.address + words[1].rpartition("devtools/")[2], **LINK)
        self._stack = ExitStack()
        self.link = self._stack.enter_context(whole)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._process.terminate()
        self._process.wait(PATIENCE_S)


class Navigated(AssertionError):
    """The page went elsewhere before it had answered."""


class Browser:
    """One page. ``faults`` are its errors on the console, and requests that failed or left the server."""

    def __init__(self, chromium: Chromium, width: int = 1500, height: int = 900, *, touch: bool = False) -> None:
        self.faults: list[str] = []
        self.touch, self._size = touch, (width, height)
        self._chromium, self._link = chromium, chromium.link
        self._numbers = itertools.count(1)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._context = context
        page = f"{self._chromium.address}page/{target}"
        link = connect(page, max_size=None, compression=None, **LINK)
        self._link = self._stack.enter_context(link)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        width, height = self._size
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=self.touch
        )
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        if self.touch:
            self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        # Chromium can take more than a minute to answer: the next page's calls skip it
        message = {"id": 0, "method": "Target.disposeBrowserContext", "params": {"browserContextId": self._context}}
        self._chromium.link.send(json.dumps(message))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._link.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            heard = json.loads(self._link.recv(timeout=PATIENCE_S))
            if heard.get("id") == number:
                if "navigated" in heard.get("error", {}).get("message", ""):
                    raise Navigated(method, params)
                assert "error" not in heard, heard
                found: dict[str, Any] = heard["result"]
                return found
            self._note(heard.get("method", ""), heard.get("params", {}))

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(params["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.faults.append(json.dumps(params["args"])[:400])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.faults.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith((self.origin, "blob:", "data:")):
                self.faults.append(f"request to {url}")

    def save_files(self, folder: Path) -> None:
        """Save what the page offers as a file in a folder."""
        self.call(
            "Browser.setDownloadBehavior",
            behavior="allow",
            browserContextId=self._context,
            downloadPath=str(folder),
        )

    def open(self, url: str) -> None:
        self.origin = "/".join(url.split("/")[:3])
        self.call("Page.navigate", url="about:blank")  # another fragment alone would not load it again
        self.call("Page.navigate", url=url)

    def do(self, script: str) -> Any:
        """The value of an expression, or of what it promises."""
        said = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def _holds(self, script: str) -> bool:
        """Whether an expression is true; not while the page is on its way elsewhere."""
        try:
            return bool(self.do(f"Boolean({script})"))
        except Navigated:
            return False

    def wait(self, script: str, patience: float = PATIENCE_S) -> None:
        """Until an expression is true, also across the loading of a page."""
        deadline = time.monotonic() + patience
        while not self._holds(script):
            assert time.monotonic() < deadline, (script, self.do("document.body.innerText"), self.faults)
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        for key in keys:
            code, text = _KEYS[key]
            common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
            self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def walk(self, name: str) -> None:
        """Move the board's cursor to a square, or to a piece in hand such as "P*", by the arrow keys."""
        if self.do("document.activeElement !== az.board.svg"):
            self.do("az.board.svg.focus()")
        self.press("ArrowUp", "ArrowDown")  # there is a cursor now
        across, down = self.do(_STEPS % json.dumps(name))
        self.press(*["ArrowDown" if down > 0 else "ArrowUp"] * abs(down))
        across = self.do(_STEPS % json.dumps(name))[0]  # the hands are narrower than the board
        self.press(*["ArrowRight" if across > 0 else "ArrowLeft"] * abs(across))

    def reach(self, selector: str) -> None:
        """Move the focus to an element by the tabulator."""
        for _ in range(60):
            if self.do(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.press("Tab")
        raise AssertionError(f"{selector} is not reached")

    def tap(self, selector: str) -> None:
        """Click or touch an element; again if the page has moved it away meanwhile."""
        for _ in range(10):
            self._point(*self.do(_MIDDLE % json.dumps(selector)))
            if not self._holds("window.missed === true"):
                return
            time.sleep(0.5)
        raise AssertionError(f"something lies on {selector}")

    def square(self, *names: str) -> None:
        """Click or touch squares, one after the other."""
        for name in names:
            self._point(*self.do(_PLACE % json.dumps(name)))

    def drag(self, begin: str, end: str) -> None:
        places = [self.do(_PLACE % json.dumps(name)) for name in (begin, end)]
        for kind, (x, y) in zip(
            ("mousePressed", "mouseMoved", "mouseReleased"), (places[0], places[1], places[1]), strict=True
        ):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def _point(self, x: float, y: float) -> None:
        if self.touch:
            self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            return
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def show(browser: Browser, server: RunningServer, words: str) -> None:
    """Open the page with the words of its address, and wait for the position."""
    browser.open(f"http://localhost:{port_of(server)}/#{words}")
    browser.wait(READY)
