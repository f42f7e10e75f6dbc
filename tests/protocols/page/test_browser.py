"""The page in a real Chromium: whole games by mouse, keyboard and touch; values; a server that comes back."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from az_engine.engine.errors import OptionError
from az_engine.engine.records.record import Record
from az_engine.protocols.page.paper import write_paper
from az_engine.protocols.page.review import Judgement, review_data
from az_engine.protocols.serve.preparation import GameLoad, Preparation, Tell

from ..serve.lines import RunningServer
from ..serve.test_web import port_of
from .browser import IN_CHROMIUM, PATIENCE_S, READY, Browser, Chromium, show
from .test_review import FOOLS_MATE, sheet_of

pytestmark = IN_CHROMIUM
NOTE = "document.getElementById('note').textContent"
STATUS = "document.getElementById('status').textContent"
SAYS = "document.getElementById('says').textContent"
DROP_MATES = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


GAMES = {
    "chess": (
        "game=chess&moves=&you=2",
        "e2e4 f7f5 e4f5 g7g5 f5g6 g8f6 g6g7 f6e4 g7h8q b8c6 d1h5",
        "White wins by mate",
    ),
    "shogi": ("game=shogi&moves=&you=2", "7g7f 3c3d 8h2b+ 5c5d 2b3a 4a3b 3a3b 7a6b G*4b", "Black wins by mate"),
    "go": (
        "game=go&from=5/5/5/5/5 b - 0.5&moves=&you=2",
        "C3 D3 C4 D4 C2 D2 C5 D5 C1 D1 B3 A5 A4 pass B5 A1 pass pass",
        "White wins by 1.5 points",
    ),
}  # with a capture in passing, promotions, a drop, a capture of a stone, passes


def play(browser: Browser, way: str, move: str) -> None:
    """Make a move as a person does."""
    if move == "pass" and way == "keyboard":
        browser.reach("#pass")
        browser.press("Enter")
    elif move == "pass":
        browser.tap("#pass")
    else:
        places = [move[:2], move[2:4]] if move[2:] else [move]
        if way == "drag" and len(places) == 2:
            browser.drag(*places)
        elif way == "keyboard":
            for place in places:
                browser.walk(place)
                browser.press("Enter")
        else:
            browser.square(*places)
        if move[4:] in ("q", "+"):
            browser.wait("!document.getElementById('ask').hidden")
            if way == "keyboard":  # the first one has the focus
                browser.press("Enter")
            else:
                browser.tap("#ask button:first-child")


@pytest.mark.parametrize("way", ["mouse", "keyboard", "touch"])
@pytest.mark.parametrize("game", list(GAMES))
def test_a_whole_game(server: RunningServer, chromium: Chromium, game: str, way: str) -> None:
    touch, (words, moves, end) = way == "touch", GAMES[game]
    with Browser(chromium, *((390, 800) if touch else (1500, 900)), touch=touch) as browser:
        show(browser, server, words)
        for i, move in enumerate(moves.split()):
            browser.wait(f"az.canPlay() && az.match.ply === {i}")
            play(browser, "drag" if way == "mouse" and i % 2 else way, move)
        browser.wait(f"{STATUS} === {json.dumps(end)}")
        assert browser.do("az.match.moves") == moves.split()
        assert browser.do("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
        assert browser.faults == []


def test_against_the_net(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess")
    browser.do("az.view.setStrength('visits 20')")
    for i, (begin, end) in enumerate((("e2", "e4"), ("d1", "h5"), ("f1", "c4"), ("h5", "f7"))):
        browser.wait(f"az.canPlay() && az.match.ply === {2 * i}")
        browser.square(begin, end)
    browser.wait(f"{STATUS} === 'White wins by mate'")
    browser.tap("#undo")
    browser.wait("az.match.ply === 6 && az.canPlay()")
    browser.tap("#resign")
    browser.tap("#play-on")
    assert browser.do("az.match.ended") is None, "it is asked for"
    browser.tap("#resign")
    browser.tap("#resign")
    browser.wait(f"{STATUS} === 'White resigns: Black wins'")
    show(browser, server, "game=chess")
    assert browser.do(STATUS) == "White resigns: Black wins"


def test_other_promotions_and_screen_readers(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&from=8/4P3/8/8/8/k7/8/4K3 w - - 0 1&moves=&you=2")
    browser.square("e7", "e8")
    browser.wait("!document.getElementById('ask').hidden")
    browser.tap("#ask button:nth-child(4)")
    browser.wait("az.match.ply === 1")
    assert browser.do("az.match.moves") == ["e7e8n"]
    show(browser, server, f"game=shogi&from={DROP_MATES}&moves=&you=2")
    browser.walk("G*")
    assert browser.do(SAYS) == "gold in hand, 1"
    browser.press("Enter")
    assert "taken up; it goes to" in browser.do(SAYS)
    browser.walk("5b")
    assert browser.do(SAYS) == "5b, empty"


def test_typed_moves(server: RunningServer, browser: Browser) -> None:
    for words, typed, move in (
        ("game=chess", "Nf3", "g1f3"),
        ("game=chess", "g1f3", "g1f3"),
        ("game=chess&from=r3k3/8/8/8/8/8/8/4K2R w K - 0 1", "0-0", "e1g1"),
        ("game=chess&from=r7/3P4/8/8/8/k7/8/4K2R w K - 0 1", "d8=Q", "d7d8q"),
        ("game=shogi", "7g7f", "7g7f"),
        ("game=shogi", "26歩", "2g2f"),
        ("game=shogi", "▲７六歩", "7g7f"),
        ("game=go&from=5/5/5/5/5 b - 0.5", "c3", "C3"),
    ):
        show(browser, server, f"{words}&moves=&you=2")
        for text in ("zz", typed):
            browser.tap("#typed")
            browser.do("document.getElementById('typed').value = ''")
            browser.call("Input.insertText", text=text)
            browser.press("Enter")
            browser.wait(f"{NOTE} === {'zz is not one legal move here.' if text == 'zz' else ''!r}")
        browser.wait("az.match.ply === 1")
        assert browser.do("az.match.moves") == [move]
    # pasted by the user just before an answer of the server
    browser.do("location.hash = 'game=shogi&moves=2g2f'; az.changed()")
    browser.wait(f"{READY} && az.match.name === 'shogi' && az.match.ply === 1")


def test_dead_stones_are_marked(server: RunningServer, browser: Browser) -> None:
    words, moves, _ = GAMES["go"]
    show(browser, server, words.replace("moves=", f"moves={moves}"))
    browser.wait("Array.isArray(az.match.over.dead) && !az.match.waiting")
    browser.square("A1")
    browser.wait(f"{STATUS} === 'Black wins by 4.5 points'")
    assert browser.do("az.match.dead") == ["A1"]
    browser.call("Page.reload")
    browser.wait(f"{READY} && {STATUS} === 'Black wins by 4.5 points'")
    browser.wait("document.querySelectorAll('.board .cross').length === 1")
    browser.walk("A1")
    browser.press("Enter")
    browser.wait(f"{STATUS} === 'White wins by 1.5 points'")


def test_clocks(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2")
    browser.do("document.getElementById('control').value = '180 2 0'")
    browser.do("document.getElementById('control').dispatchEvent(new Event('change'))")
    browser.tap("#new")
    browser.wait("az.match.clock && !az.match.waiting")
    for i, (begin, end) in enumerate((("e2", "e4"), ("e7", "e5"))):
        browser.wait(f"az.canPlay() && az.match.ply === {i}")
        browser.square(begin, end)
    browser.wait("az.match.clock.side === 0")
    browser.wait("document.querySelector('#clocks [aria-current=true]').textContent < 'White 3:00'")
    browser.square("g1", "f3")
    browser.wait("az.match.clock.side === 1 && az.match.clock.left[0] > 180000 - 60000")
    browser.do("az.match.clock.left[1] = 5000000")
    browser.call("Page.reload")
    browser.wait(f"{READY} && az.match.clock.side === 1")
    assert browser.do("az.match.clock.of(1)") > 4000000
    browser.do("az.match.clock.left[1] = 0")
    browser.wait(f"{STATUS} === 'Black has run out of time: White wins'")
    assert browser.do("az.match.clock.side") is None
    browser.call("Page.reload")
    browser.wait(f"{READY} && {STATUS} === 'Black has run out of time: White wins'")


def test_go_by_keyboard_and_the_values_of_the_engine(server: RunningServer, browser: Browser) -> None:
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


@pytest.mark.parametrize("view", ["play", "analyse"])
def test_the_page_goes_on_when_the_server_comes_back(browser: Browser, tmp_path: Path, view: str) -> None:
    first = RunningServer(tmp_path / "log", http=True)
    port = port_of(first)
    show(browser, first, f"game=chess&moves=&you=2&view={view}")
    browser.square("e2", "e4")
    browser.wait("az.match.ply === 1 && !az.match.waiting")
    first.end()
    browser.wait("document.documentElement.dataset.link === 'closed'")
    away = "document.getElementById('away')"
    browser.do("clearTimeout(az.noteTimer), az.go(0), az.go(1), 0")  # what takes other messages away
    browser.wait("document.documentElement.dataset.link === 'connecting'")
    browser.wait("document.documentElement.dataset.link === 'closed'")
    assert browser.do(f"!{away}.hidden && {away}.textContent").startswith("No connection to the server: moves")
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            second = RunningServer(tmp_path / "log2", http=True, http_port=port)
            break
        except OptionError:  # the port is not free yet
            assert time.monotonic() < deadline
            time.sleep(0.2)
    with second:
        browser.wait("document.documentElement.dataset.link === 'open' && !az.match.waiting")
        assert browser.do(f"{away}.hidden && {away}.textContent === ''")
        browser.square("e7", "e5")
        browser.wait("az.match.ply === 2")
        assert browser.do("az.match.moves") == ["e2e4", "e7e5"]
        browser.wait("az.view.name === 'play' || az.view.report")
    browser.faults.clear()  # the tries while no server was there


def test_a_review_opens_from_the_disk(browser: Browser, tmp_path: Path) -> None:
    sheet = sheet_of("chess", FOOLS_MATE)
    values = [Judgement(s, best=("d2d4",), words=("d4",)) for s in (0.5, 0.45, 0.4, 0.1)] + [Judgement(0.0)]
    data = review_data(sheet, values, Record(), "net")
    page = tmp_path / "review.html"
    page.write_text(write_paper(data["title"], "papers/paper.js", data))
    browser.open(page.as_uri())
    browser.wait("document.querySelectorAll('.board .piece').length === 32")
    browser.tap(".mistakes button")
    browser.wait("document.querySelector('[role=status]').textContent.startsWith('1… e5')")


def test_the_board_is_there_while_the_engine_is_compiled(tmp_path: Path, chromium: Chromium) -> None:
    go_on = threading.Event()

    def load(tell: Tell) -> None:
        tell("compiling for this machine, once: kernel 2 of 14, about 9 s left")
        assert go_on.wait(60)

    chess = GameLoad("chess", load)
    with RunningServer(tmp_path / "log", http=True, loading={"chess": chess}) as server, Browser(chromium) as browser:
        Preparation([chess], lambda: None).start()
        show(browser, server, "game=chess&moves=")
        browser.do("az.view.setStrength('visits 20')")
        browser.square("e2", "e4")
        status = "document.getElementById('status').textContent"
        browser.wait(f"{status}.endsWith('Chess, step 2 of 14, about 9 s left.')")
        assert browser.do("az.match.moves.join()") == "e2e4"
        go_on.set()
        browser.wait("az.match.moves.length === 2")
        assert "step 2" not in browser.do(status)
        assert browser.faults == []
