"""The page in a real Chromium: whole games by mouse, keyboard and touch; values; a server that comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from az_engine.engine.errors import OptionError
from az_engine.engine.games.record import Record
from az_engine.protocols.page.paper import write_paper
from az_engine.protocols.page.review import Judgement, review_data

from ..serve.lines import RunningServer
from ..serve.test_web import port_of
from .browser import CHROMIUM, Browser
from .test_review import FOOLS_MATE, sheet_of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt install chromium")
READY = "window.az && az.match.here && !az.match.waiting"
STATUS = "document.getElementById('status').textContent"
DROP_MATES = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("page") / "log", http=True) as running:
        yield running


def show(browser: Browser, server: RunningServer, words: str) -> None:
    browser.open(f"http://localhost:{port_of(server)}/#{words}")
    browser.wait(READY)


def test_chess_by_mouse(server: RunningServer, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        show(browser, server, "game=chess")
        browser.do("az.view.setStrength('visits 20')")
        for i, (begin, end) in enumerate((("e2", "e4"), ("d1", "h5"), ("f1", "c4"), ("h5", "f7"))):
            browser.wait(f"az.canPlay() && az.match.ply === {2 * i}")
            if i % 2:
                browser.drag(begin, end)
            else:
                browser.square(begin, end)
        browser.wait(f"{STATUS} === 'White wins by mate'")
        browser.tap("#undo")
        browser.wait("az.match.ply === 6 && az.canPlay()")
        browser.tap("#resign")
        browser.wait(f"{STATUS} === 'White resigns: Black wins'")
        assert browser.faults == []


def test_promotions_are_asked_for(server: RunningServer, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        show(browser, server, "game=chess&from=8/4P3/8/8/8/k7/8/4K3 w - - 0 1&moves=&you=2")
        browser.square("e7", "e8")
        browser.wait("!document.getElementById('ask').hidden")
        browser.tap("#ask button:nth-child(4)")
        browser.wait("az.match.ply === 1")
        assert browser.do("az.match.moves") == ["e7e8n"]
        assert browser.faults == []


def test_shogi_by_keyboard(server: RunningServer, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        show(browser, server, f"game=shogi&from={DROP_MATES}&moves=&you=2")
        browser.do("az.board.svg.focus()")
        browser.press(*["ArrowDown"] * 5)  # from 5e to the hand
        assert browser.do("document.getElementById('says').textContent") == "gold in hand, 1"
        browser.press("Enter")
        assert "taken up; it goes to" in browser.do("document.getElementById('says').textContent")
        browser.press(*["ArrowUp"] * 8)
        assert browser.do("document.getElementById('says').textContent") == "5b, empty"
        browser.press("Enter")
        browser.wait(f"{STATUS} === 'Black wins by mate'")
        assert browser.do("az.match.moves") == ["G*5b"]
        assert browser.faults == []


@pytest.mark.parametrize("game", ["chess", "shogi", "go"])
def test_the_same_by_touch_on_a_telephone(server: RunningServer, tmp_path: Path, game: str) -> None:
    with Browser(tmp_path, 390, 800, touch=True) as browser:
        if game == "go":
            show(browser, server, "game=go&from=3/3/3 b - 0.5&moves=&you=2")
            for i, point in enumerate(("B2", "A1", "B1")):
                browser.square(point)
                browser.wait(f"az.match.ply === {i + 1} && az.canPlay()")
            for i in range(2):
                browser.tap("#pass")
                browser.wait(f"az.match.ply === {4 + i} && !az.match.waiting")
            assert browser.do(STATUS).startswith("Black wins by ")
        elif game == "shogi":
            show(browser, server, "game=shogi&moves=&you=2")
            for i, (begin, end) in enumerate((("7g", "7f"), ("3c", "3d"), ("8h", "2b"))):
                browser.wait(f"az.match.ply === {i} && az.canPlay()")
                browser.square(begin, end)
            browser.wait("!document.getElementById('ask').hidden")
            browser.tap("#ask button")
            browser.wait("az.match.ply === 3")
            assert browser.do("az.match.last").startswith("8h2b")
            browser.tap("#resign")
            browser.wait(f"{STATUS}.includes('resigns')")
        else:
            show(browser, server, "game=chess&moves=&you=2")
            for i, move in enumerate(FOOLS_MATE):
                browser.wait(f"az.match.ply === {i} && az.canPlay()")
                browser.square(move[:2], move[2:])
            browser.wait(f"{STATUS} === 'Black wins by mate'")
        assert browser.do("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
        assert browser.faults == []


def test_go_by_keyboard_and_the_values_of_the_engine(server: RunningServer, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        show(browser, server, "game=go&from=5/5/5/5/5 b - 0.5&moves=&you=2")
        browser.do("az.board.svg.focus()")
        browser.press("ArrowUp", "ArrowDown", "Enter")
        browser.wait("az.match.moves[0] === 'C3'")
        browser.do("az.turnTo(az.views.find((view) => view.name === 'analyse')), 0")
        browser.do("az.view.more(300), 0")
        assert "view=analyse" in browser.do("location.hash"), "the address shows the same view again"
        browser.wait("az.view.report && az.view.report.nodes >= 300 && !az.view.asked")
        browser.wait("!az.view.frame")
        report = json.loads(browser.do("JSON.stringify(az.view.report)"))
        rows = browser.do(
            "[...document.querySelectorAll('.table tbody tr:not([hidden])')]"
            ".map((row) => [...row.cells].slice(1, 6).map((cell) => cell.textContent))"
        )
        known = {row[0]: row for row in report["moves"]}
        for move, prior, visits, share, value in rows:
            told = known[move]
            assert prior == f"{100 * told[1]:.1f}"
            assert int(visits.replace(",", "")) == (told[2] if len(told) > 2 else 0)
            if len(told) > 2:
                assert value == f"{told[3]:.3f}"
                assert float(share) == pytest.approx(
                    100 * told[2] / sum(row[2] for row in report["moves"] if row[2:]), abs=0.06
                )
        assert browser.faults == []


def test_the_page_goes_on_when_the_server_comes_back(tmp_path: Path) -> None:
    first = RunningServer(tmp_path / "log", http=True)
    port = port_of(first)
    with Browser(tmp_path / "browser") as browser:
        show(browser, first, "game=chess&moves=&you=2")
        browser.square("e2", "e4")
        browser.wait("az.match.ply === 1 && !az.match.waiting")
        first.end()
        browser.wait("document.documentElement.dataset.link === 'closed'")
        deadline = time.monotonic() + 30
        while True:
            try:
                second = RunningServer(tmp_path / "log2", http=True, http_port=port)
                break
            except OptionError:  # the port is not free yet
                assert time.monotonic() < deadline
                time.sleep(0.2)
        with second:
            browser.wait("document.documentElement.dataset.link === 'open' && !az.match.waiting")
            browser.square("e7", "e5")
            browser.wait("az.match.ply === 2")
            assert browser.do("az.match.moves") == ["e2e4", "e7e5"]


def test_a_review_opens_from_the_disk(tmp_path: Path) -> None:
    sheet = sheet_of("chess", FOOLS_MATE)
    values = [Judgement(s, best=("d2d4",), words=("d4",)) for s in (0.5, 0.45, 0.4, 0.1)] + [Judgement(0.0)]
    data = review_data(sheet, values, Record(), "net")
    page = tmp_path / "review.html"
    page.write_text(write_paper(data["title"], "paper.js", data))
    with Browser(tmp_path / "browser") as browser:
        browser.open(page.as_uri())
        browser.wait("document.querySelectorAll('.board .piece').length === 32")
        browser.tap(".mistakes button")
        browser.wait("document.querySelector('[role=status]').textContent.startsWith('1… e5')")
        assert browser.faults == []
