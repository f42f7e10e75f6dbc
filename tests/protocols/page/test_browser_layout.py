"""Where things are on the page in a real Chromium: nothing that is needed lies below the fold or beside the screen."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ..serve.lines import RunningServer
from .browser import IN_CHROMIUM, READY, Browser, Chromium, show

pytestmark = IN_CHROMIUM
GAMES = {
    "chess": "game=chess&moves=e2e4 e7e5",
    "shogi": "game=shogi&moves=7g7f 3c3d",
    "go": "game=go&moves=&from=9/9/9/9/9/9/9/9/9 b - 7",
    "go19": "game=go&moves=&from=" + "/".join(["19"] * 19) + " b - 7.5",
}
BOTTOM = "document.querySelector(%r).getBoundingClientRect().bottom"
OVER_THE_SQUARE = """(() => { const b = az.board, [x, y] = b.middle(b.game.square(b.board, %r));
  const p = new DOMPoint(x, y).matrixTransform(b.svg.getScreenCTM());
  const r = document.getElementById('ask').getBoundingClientRect(), s = b.svg.getBoundingClientRect();
  return p.x >= r.left && p.x <= r.right && p.y >= r.top && p.y <= r.bottom && r.right <= s.right + 1; })()"""


@pytest.mark.parametrize("size", [(1500, 1000), (1280, 720), (390, 844)], ids=str)
@pytest.mark.parametrize("game", list(GAMES))
def test_board_chances_and_five_moves_are_in_the_first_screen(
    server: RunningServer, chromium: Chromium, game: str, size: tuple[int, int]
) -> None:
    with Browser(chromium, *size, touch=size[0] < 800) as browser:
        show(browser, server, GAMES[game] + "&you=2&view=analyse")
        browser.wait("document.querySelectorAll('.table tbody tr:not([hidden])').length >= 5")
        browser.do("az.view.pause()")
        seen = ["#board", ".wdl", ".table tbody tr:nth-child(5) button"] + ["#moves"] * (size[0] > 800)
        below = {each: browser.do(BOTTOM % each) for each in seen}
        assert max(below.values()) <= size[1], below
        for view in ("play", "analyse", "review", "inside", "edit"):
            browser.do(f"az.turnTo(az.views.find((view) => view.name === {view!r})), 0")
            assert browser.do("document.documentElement.scrollWidth <= innerWidth"), "wider than the screen"
        assert browser.faults == []


def test_coordinates_of_a_large_board_can_be_read_on_a_telephone(server: RunningServer, chromium: Chromium) -> None:
    with Browser(chromium, 390, 844, touch=True) as browser:
        show(browser, server, GAMES["go19"] + "&you=2")
        high = browser.do("document.querySelector('.board .name').getBoundingClientRect().height")
        assert high >= 9.0
        names = "[...document.querySelectorAll('.board .name')].map((each) => each.getBoundingClientRect())"
        assert browser.do(f"{names}.every((each) => each.left >= 0 && each.right <= innerWidth)")


@pytest.mark.parametrize(
    ("words", "king"),
    [
        ("game=chess&from=4k3/8/8/8/7q/8/8/4K3 w - - 0 1", "e1"),
        ("game=shogi&from=4k4/4G4/9/9/9/9/9/9/4K4 w - 1", "5a"),
    ],
)
def test_a_check_is_marked(server: RunningServer, browser: Browser, words: str, king: str) -> None:
    corner = f"az.board.corner(az.board.game.square(az.board.board, {king!r}))"
    show(browser, server, words + "&moves=&you=2")
    mark = "['x', 'y'].map((side) => Number(document.querySelector('.glow .check').getAttribute(side)))"
    assert browser.do(mark) == browser.do(corner)
    browser.do("az.play(az.match.legal[0]), 0")
    browser.wait(f"{READY} && az.match.ply === 1")
    assert browser.do("document.querySelectorAll('.glow .check').length") == 0


@pytest.mark.parametrize("touch", [False, True])
@pytest.mark.parametrize(
    ("words", "begin", "end", "move"),
    [
        ("game=chess&from=8/4P3/8/8/8/k7/8/4K3 w - - 0 1&moves=", "e7", "e8", "e7e8r"),
        ("game=chess&from=4k3/8/K7/8/8/8/7p/8 b - - 0 1&moves=&you=1", "h2", "h1", "h2h1r"),
        ("game=shogi&moves=7g7f 3c3d", "8h", "2b", "8h2b"),
    ],
)
def test_a_promotion_is_chosen_at_the_square(
    server: RunningServer, chromium: Chromium, words: str, begin: str, end: str, move: str, touch: bool
) -> None:
    with Browser(chromium, *((390, 844) if touch else (1280, 720)), touch=touch) as browser:
        show(browser, server, words if "you" in words else words + "&you=2")
        for leave in ("Cancel", "Escape", "elsewhere"):
            browser.square(begin, end)
            browser.wait("!document.getElementById('ask').hidden")
            assert browser.do(OVER_THE_SQUARE % end)
            if leave == "Escape":
                browser.press("Escape")
            else:
                browser.tap("#ask button:last-child" if leave == "Cancel" else "#status")
            browser.wait("document.getElementById('ask').hidden")
        assert browser.do("az.match.moves").count(move) == 0
        browser.square(begin, end)
        browser.tap("#ask button:nth-child(2)")
        browser.wait(f"az.match.moves.includes({move!r})")
        assert browser.faults == []


def test_the_end_has_a_panel_for_what_comes_next(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=f2f3 e7e5 g2g4&you=1")
    browser.do("az.view.setStrength('visits 20')")
    assert browser.do("document.getElementById('end').hidden")
    browser.square("d8", "h4")
    browser.wait("!document.getElementById('end').hidden")
    assert browser.do("document.getElementById('end').innerText").startswith("You win")
    assert "Black wins by mate, after 4 moves." in browser.do("document.getElementById('end').innerText")
    browser.tap("#rematch")
    browser.wait(f"{READY} && az.match.moves.length === 0 && az.match.you === 0")
    assert browser.do("document.getElementById('end').hidden")
    browser.do("history.back()")
    browser.wait(f"{READY} && az.match.moves.length === 4 && az.match.you === 1")
    browser.tap("#to-review")
    browser.wait(f"{READY} && az.view.name === 'review' && az.match.values.filter(Boolean).length === 5")


def test_the_tree_of_a_search_can_be_read_on_a_telephone(server: RunningServer, chromium: Chromium) -> None:
    """Whole boards, each in its own row, none beside the screen."""
    with Browser(chromium, 390, 844, touch=True) as browser:
        show(browser, server, "game=go&from=5/5/5/5/5 b - 0.5&moves=&you=2")
        browser.do("az.views.find((view) => view.name === 'inside').most = 1000, 0")
        browser.do("az.turnTo(az.views.find((view) => view.name === 'inside')), 0")
        browser.wait("az.view.milestones.length === 2 && !az.view.asked && !az.view.frame")
        boards = browser.do(
            "[...document.querySelectorAll('.tree .state .board')].map((each) => each.getBoundingClientRect())"
            ".map(({left, right, top, bottom, width}) => ({left, right, top, bottom, width}))"
        )
        assert len(boards) == 11
        assert all(board["width"] >= 80 and board["left"] >= 0 and board["right"] <= 390 for board in boards)
        rows = sorted((board["top"], board["bottom"]) for board in boards)
        assert all(above[1] <= below[0] for above, below in pairwise(rows))


def test_names_of_moves_in_the_plot_do_not_lie_on_each_other(server: RunningServer, browser: Browser) -> None:
    show(browser, server, GAMES["chess"] + "&you=2&view=analyse")
    browser.wait("az.view.report && az.view.report.moves.length > 5")
    browser.do("az.view.pause()")
    alike = "['g1f3', 'f1c4', 'b1c3'].map((move, i) => [move, 0.1, 100 - i, 0.001 * i])"
    browser.do(f"az.view.dots.show({{moves: {alike}, lines: []}}, (move) => move), 0")
    assert browser.do("[...document.querySelectorAll('.dot-text')].map((each) => each.textContent)") == ["g1f3"]
    assert browser.do("document.querySelectorAll('.plot .dot').length") == 3


def test_komi_shows_what_an_empty_field_means(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=go&you=2&view=play")
    shown = "document.querySelector('[aria-label=\"New game\"] input[type=number]').placeholder"
    choose = (
        "(() => {{ const each = document.getElementById('{}'); each.value = '{}';"
        " each.dispatchEvent(new Event('change')); }})()"
    )
    komi = []
    for field, value in (("size", "9"), ("size", "19"), ("handicap", "3"), ("handicap", "0")):
        browser.do(choose.format(field, value))
        komi.append(browser.do(shown))
    assert komi == ["7", "7.5", "0.5", "7.5"]
