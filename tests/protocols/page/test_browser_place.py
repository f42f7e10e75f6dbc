"""The place in a real Chromium: links, the browser's history, errors that go away."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote_plus

import pytest

from ..serve.lines import RunningServer
from ..serve.test_web import port_of
from .browser import IN_CHROMIUM, READY, Browser, Chromium, show
from .test_browser import NOTE

pytestmark = IN_CHROMIUM
POSITIONS = {
    "chess": "4k3/P7/8/8/8/8/8/4K3 w - - 0 1",
    "shogi": "4k4/9/4P4/9/9/9/9/9/4K4 b G 1",
    "go": "5/1X3/5/3O1/5 b - 0.5",
}
VIEWS = ("play", "analyse", "review", "inside")
PLACE = "[az.match.name, az.view.name, az.match.moves.join(' ')].join()"


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("game", list(POSITIONS))
def test_a_link_to_a_position_without_moves(server: RunningServer, browser: Browser, game: str, view: str) -> None:
    """Also where the browser has kept another game."""
    for words in (f"game={game}", f"game={game}&from={quote_plus(POSITIONS[game])}&you=2&view={view}"):
        show(browser, server, words)
    assert browser.do("az.match.here.text").startswith(POSITIONS[game].split()[0])
    assert browser.do("[az.view.name, az.match.you, az.match.moves.length].join()") == f"{view},2,0"
    browser.call("Page.reload")
    browser.wait(READY)
    assert browser.do("az.match.here.text").startswith(POSITIONS[game].split()[0])


@pytest.mark.parametrize(("ply", "shown"), [("abc", 2), ("99", 2), ("-5", 0), ("0.5", 2), ("1", 1)])
def test_a_link_to_a_ply_that_is_not_there(server: RunningServer, browser: Browser, ply: str, shown: int) -> None:
    show(browser, server, f"game=chess&moves=e2e4 e7e5&you=2&ply={ply}".replace(" ", "%20"))
    assert browser.do("[az.match.ply, az.match.moves.length].join()") == f"{shown},2"


@pytest.mark.parametrize("words", ["", "game=chess&moves=e2e4"])
def test_a_server_without_chess_and_without_the_game_before(tmp_path: Path, browser: Browser, words: str) -> None:
    with RunningServer(tmp_path / "log", http=True, games=("shogi",)) as server:
        show(browser, server, "")
        browser.do("localStorage.setItem('az-engine last', 'go')")
        show(browser, server, words)
        assert browser.do(
            "[az.match.name, az.match.moves.length, document.querySelector('#games').innerText].join()"
        ) == ("shogi,0,Shogi")


def test_a_server_without_a_game_of_the_page_says_so(tmp_path: Path, browser: Browser) -> None:
    with RunningServer(tmp_path / "log", http=True, games=()) as server:
        browser.open(f"http://localhost:{port_of(server)}/")
        browser.wait(
            "document.querySelector('#status')?.textContent === 'This server plays no game that the page can show.'"
        )


def test_back_returns_to_views_and_games(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2")
    browser.square("e2", "e4")
    browser.wait(f"{READY} && az.match.ply === 1")
    browser.tap("#views button:nth-child(2)")  # analyse
    browser.do("az.match.values[0] = {score: 0.25, visits: 9, best: [], words: []}")
    browser.tap("#games button:nth-child(2)")
    browser.wait(f"{READY} && az.match.name !== 'chess'")
    other = browser.do("az.match.name")
    browser.tap("#views button:nth-child(1)")
    browser.tap("#new")
    browser.wait(f"{READY} && {PLACE} === '{other},play,'")
    places = ["chess,analyse,e2e4", "chess,play,e2e4", "chess,analyse,e2e4"]
    browser.do("history.go(-3)")
    for place, step in zip(places, (-1, 1, 1), strict=True):
        browser.wait(f"{READY} && {PLACE} === {place!r}")
        assert browser.do("az.match.values[0].score") == 0.25, "what was found is still there"
        assert browser.do("az.board.name") == "chess"
        browser.do(f"history.go({step})")
    browser.wait(f"{READY} && {PLACE} === '{other},analyse,'")
    assert browser.do("az.board.name") == other


def test_back_after_loading_the_page_again(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=e2e4&you=2")
    browser.tap("#new")
    browser.wait(f"{READY} && az.match.moves.length === 0")
    browser.call("Page.reload")
    browser.wait(f"{READY} && az.match.moves.length === 0")
    browser.do("history.back()")
    browser.wait(f"{READY} && az.match.moves.join() === 'e2e4'")
    browser.do("history.forward()")
    browser.wait(f"{READY} && az.match.moves.length === 0")


def test_the_game_before_a_loaded_one_comes_back(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=d2d4&you=2")
    browser.do("az.turnTo(az.review)")
    browser.do("az.review.files.read('1. e4 e5 *')")
    browser.wait(f"{READY} && az.match.moves.length === 2")
    browser.do("history.back()")
    browser.wait(f"{READY} && az.match.moves.join() === 'd2d4'")
    browser.do("history.forward()")
    browser.wait(f"{READY} && az.match.moves.join() === 'e2e4,e7e5'")
    assert browser.do("Boolean(az.match.source)"), "with all that stood in the file"


def test_two_pages_keep_their_own_games(server: RunningServer, chromium: Chromium) -> None:
    with Browser(chromium) as one, Browser(chromium) as two:
        show(one, server, "game=chess&moves=e2e4&you=2")
        show(two, server, "game=chess&moves=d2d4&you=2")
        one.call("Page.reload")
        one.wait(READY)
        assert one.do("az.match.moves.join()") == "e2e4"


def test_an_error_goes_away_when_the_next_thing_works(server: RunningServer, browser: Browser) -> None:
    """And a text that cannot be loaded leaves no review of nothing."""
    show(browser, server, "game=chess&moves=&you=2&view=review")
    for then in (
        "az.play('e2e4')",
        "az.go(0)",
        "az.turnTo(az.views[0])",
        "az.review.files.read('1. d4 d5 *')",
        "az.choose('shogi')",
    ):
        browser.do("az.turnTo(az.review), 0")
        browser.do("az.review.files.read('nothing that is a game'), 0")
        browser.wait(f"{NOTE}.startsWith('this is neither')")
        if browser.do("az.match.moves.length") == 0:
            shown = browser.do("document.getElementById('panel').innerText")
            assert "No mistake" not in shown
            assert "PGN\n" not in shown
        browser.do(f"{then}, 0")
        browser.wait(f"{READY} && {NOTE} === ''")


# ---------------------------------------------------------------- what a search has reported of another game


def test_starts_of_two_games_are_not_one_position(server: RunningServer, browser: Browser) -> None:
    """Chess and shogi both begin without a root and moves: a report of one is not drawn on the other's board."""
    show(browser, server, "game=chess&moves=&you=2&view=analyse")
    browser.wait("az.view.report && az.view.report.lines.length")
    browser.do("az.view.paused = true, az.choose('shogi'), 0")
    browser.wait(f"{READY} && az.match.name === 'shogi' && az.board.board")
    assert browser.do("az.view.report") is None
    assert browser.do("az.view.here === az.match.position")


@pytest.mark.parametrize("then", ["az.view.draw()", "az.view.hover(['e2e4'])", "az.view.setHeat('policy')"])
def test_an_analysis_does_not_draw_on_the_next_game(server: RunningServer, browser: Browser, then: str) -> None:
    """What comes between the change of the game and the server's word on it: a frame, the pointer, a choice."""
    show(browser, server, "game=shogi&moves=&you=2&view=analyse")
    browser.wait("az.view.report && az.view.report.lines.length")
    browser.do("az.choose('chess'), 0")
    browser.wait(f"{READY} && az.match.name === 'chess' && az.view.report && az.view.report.lines.length")
    # the page's own listener comes first: back in shogi, before any word of the server
    browser.do(
        "window.done = false, addEventListener('popstate', () => { window.due = az.view.frame;"
        f"window.done = true; {then}; }}, {{once: true}}), az.view.hear(az.view.report), history.back()"
    )
    browser.wait("done")
    assert browser.do("due") == 0, "the frame went with its search"
    browser.wait(f"{READY} && az.match.name === 'shogi' && az.board.board && az.view.report")


def test_inside_the_search_shows_no_states_of_another_game(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2&view=inside")
    browser.do("az.choose('go'), 0")
    browser.wait(f"{READY} && az.match.name === 'go' && az.view.milestones.length")
    browser.do(
        "window.done = false, addEventListener('popstate', () => { window.due = az.view.frame; az.view.draw();"
        "window.seen = document.querySelectorAll('.tree .state, .states .state').length; window.done = true; },"
        "{once: true}), az.view.add(az.view.history.at(-1).states), history.back()"
    )
    browser.wait("done")
    assert browser.do("[due, seen].join()") == "0,0"
    assert "NaN" not in browser.do("document.body.innerHTML")
    browser.wait(f"{READY} && az.match.name === 'chess' && az.board.board")


def test_the_states_of_a_game_are_searched_anew_after_another_one(server: RunningServer, browser: Browser) -> None:
    """The server's tree went with the conversation: what is told of it does not go on."""
    over = "f2f3 e7e5 g2g4 d8h4"
    show(browser, server, f"game=chess&moves={over}&you=2".replace(" ", "%20"))
    show(browser, server, "game=go&from=5/5/5/5/5 b - 0.5&moves=&you=2&view=inside")
    browser.wait("az.view.milestones.length")
    browser.do("az.choose('chess'), 0")
    browser.wait(f"{READY} && az.match.name === 'chess' && az.match.over")
    browser.do("az.view.most = 1000, az.choose('go'), 0")
    browser.wait(f"{READY} && az.match.name === 'go' && az.view.milestones.length >= 2 && !az.view.asked")
    assert browser.do("az.view.milestones.every(({visits}, i) => visits >= 10 ** (i + 2))")
