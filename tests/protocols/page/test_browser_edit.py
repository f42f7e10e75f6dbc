"""Positions that are set up, and variations, in a real Chromium."""

from __future__ import annotations

import pytest

from ..serve.lines import RunningServer
from .browser import IN_CHROMIUM, READY, Browser, Chromium, show

pytestmark = IN_CHROMIUM
SETUPS = {  # squares of a piece, and what the position is then
    "chess": ([("white king", "e1"), ("black king", "e8"), ("white rook", "h1")], "4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
    "shogi": ([("black king", "5i"), ("white king", "5a"), ("black tokin", "5c")], "4k4/9/4+P4/9/9/9/9/9/4K4 b G 1"),
    "go": ([("black stone", "C3"), ("white stone", "G7")], "9/9/6O2/9/9/9/2X6/9/9 b - 7 tromp-taylor"),
}
EDITED = "az.view.name === 'edit' && az.view.set"


@pytest.mark.parametrize("way", ["mouse", "touch", "keyboard"])
@pytest.mark.parametrize("game", list(SETUPS))
def test_a_position_is_set_up(server: RunningServer, chromium: Chromium, game: str, way: str) -> None:
    pieces, text = SETUPS[game]
    with Browser(chromium, touch=way == "touch") as browser:
        show(browser, server, f"game={game}&moves=")

        def press(selector: str) -> None:
            if way == "keyboard":
                browser.reach(selector)
                browser.press("Enter")
            else:
                browser.tap(selector)

        press("#set-up")
        browser.wait(EDITED)
        press("#empty")
        for piece, square in pieces:
            press(f'#palette [aria-label="{piece}"]')
            if way == "keyboard":
                browser.walk(square)
                browser.press("Enter")
            else:
                browser.square(square)
        if game == "shogi":
            browser.do("az.view.pick({side: 0, piece: 'G'})")
        assert browser.do("document.getElementById('position').value").startswith(text)
        press("#edit-analyse")
        browser.wait(f"{READY} && az.view.name === 'analyse' && az.match.here.text.startsWith({text.split()[0]!r})")
        assert browser.do("[az.match.moves.length, az.match.you].join()") == "0,2"
        browser.do("history.back()")
        browser.wait(f"{READY} && {EDITED}")
        assert browser.faults == []


def test_what_is_no_position_is_an_error_and_the_editor_stays(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=e2e4&view=edit")
    browser.wait(EDITED)
    browser.do("az.view.empty(), az.view.begin(az.view.text, 'play')")
    browser.wait("document.getElementById('note').textContent.includes('king')")
    assert browser.do("[az.view.name, az.match.moves.join()].join(' ')") == "edit e2e4"
    browser.do("az.view.begin('4k3/8/8/8/8/8/8/4K2R b K - 0 1', 'play')")
    browser.wait(f"{READY} && az.view.name === 'play' && az.match.you === 1")


def test_a_move_in_the_middle_begins_a_variation(server: RunningServer, browser: Browser) -> None:
    moves = "az.match.moves.join(' ')"
    show(browser, server, "game=chess&moves=e2e4 e7e5 g1f3&you=2&view=review")
    browser.do("az.match.values[3] = {score: 0.5, visits: 9, best: [], words: []}, az.go(1)")
    browser.wait(f"{READY} && az.match.ply === 1")
    browser.square("c7", "c5")
    browser.wait(f"{READY} && {moves} === 'e2e4 c7c5' && az.match.left")
    assert browser.do("document.querySelector('#moves .other').textContent") == "(e5 Nf3)"
    browser.call("Page.reload")
    browser.wait(f"{READY} && {moves} === 'e2e4 c7c5' && az.match.left")
    browser.tap("#moves .other")
    browser.wait(f"{READY} && {moves} === 'e2e4 e7e5 g1f3' && az.match.ply === 2 && !az.match.left")
    assert browser.do("az.match.values[3].visits") == 9, "what was found is still there"
    assert browser.do("document.querySelector('#moves .other').textContent") == "(c5)"
    browser.tap("#moves .other")
    browser.wait(f"{READY} && az.match.left")
    browser.tap("#promote")
    browser.wait("!az.match.left")
    browser.do("az.link.ask('write', {format: 'pgn', root: az.match.root, moves: az.match.main, "
               "tree: az.match.written}, (said) => (window.said = said))")  # fmt: skip
    browser.wait("window.said")
    assert "1. e4 c5 ( 1... e5 2. Nf3 ) *" in browser.do("said.text")
    browser.do("az.review.files.read(said.text)")
    browser.wait(f"{READY} && {moves} === 'e2e4 c7c5' && az.match.tree.kids[0].kids.length === 2")
    browser.wait("document.querySelector('#moves .other')?.textContent === '(e5 Nf3)'")
