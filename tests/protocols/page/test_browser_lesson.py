"""Learning from the mistakes of a reviewed game in a real Chromium: whole rounds by mouse, keyboard and touch."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from ..serve.lines import RunningServer
from .browser import IN_CHROMIUM, READY, Browser, Chromium, show
from .test_browser import play

pytestmark = IN_CHROMIUM
LESSON = "document.getElementById('lesson').innerText"
# moves, values of the first player, the best move in each position
GAMES = {
    "chess": ("f2f3 e7e5 g2g4 d8h4", (0.5, 0.42, 0.4, 0.05, 0.0), "e2e4 e7e5 d2d4 d8h4"),
    "shogi": ("7g7f 3c3d 9g9f 2b8h+", (0.5, 0.5, 0.5, 0.05, 0.0), "7g7f 3c3d 8h2b+ 2b8h+"),
    "go": ("C3 A1 D4 D3", (0.5, 0.5, 0.95, 0.95, 0.95), "C3 D4 D4 D3"),
}
ROOT = {"go": "&from=5/5/5/5/5 b - 0.5"}


def review(browser: Browser, server: RunningServer, game: str) -> None:
    """A game whose review is known."""
    moves, scores, best = GAMES[game]
    show(browser, server, f"game={game}{ROOT.get(game, '')}&moves={quote(moves)}&you=2&view=review")
    values = [
        {"score": score, "lead": None, "visits": 10**6, "best": line, "words": line}
        for score, line in zip(scores, [*([move] for move in best.split()), []], strict=True)
    ]
    browser.do(f"az.match.values = {json.dumps(values)}, az.changed()")


@pytest.mark.parametrize("way", ["mouse", "keyboard", "touch"])
@pytest.mark.parametrize("game", list(GAMES))
def test_a_round(server: RunningServer, chromium: Chromium, game: str, way: str) -> None:
    touch, (moves, _, best) = way == "touch", GAMES[game]
    mistakes = {"chess": [0, 2], "shogi": [2], "go": [1]}[game]

    def press(name: str) -> None:
        if way == "keyboard":
            browser.reach(f"#{name}")
            browser.press("Enter")
        else:
            browser.tap(f"#{name}")

    with Browser(chromium, *((390, 844) if touch else (1280, 720)), touch=touch) as browser:
        review(browser, server, game)
        press("learn")
        for number, ply in enumerate(mistakes, 1):
            browser.wait(f"{READY} && az.match.ply === {ply} && az.canPlay()")
            assert browser.do(LESSON).startswith(f"Mistake {number} of {len(mistakes)}")
            assert browser.do("document.querySelectorAll('.arrows > *').length") == 0, "nothing gives it away"
            press("lesson-hint")
            browser.wait("document.querySelectorAll('.arrows .selected').length > 0")
            press("lesson-why")
            browser.wait(f"{READY} && az.match.ply === {ply + 1}")
            browser.wait(f"{LESSON}.includes('The answer: ')")
            press("lesson-back")
            browser.wait(f"{READY} && az.match.ply === {ply} && az.canPlay()")
            play(browser, way, moves.split()[ply])  # the mistake again
            browser.wait("!az.view.asked && az.view.lesson.wrong || az.view.lesson.found")
            if browser.do("Boolean(az.view.lesson.wrong)"):
                browser.wait(f"{LESSON}.includes('Try again.')")
                browser.wait("az.canPlay()")
                play(browser, way, best.split()[ply])
            browser.wait("az.view.lesson.found")
            browser.wait("document.activeElement.id === 'lesson-next'")
            press("lesson-next")
        browser.wait(f"{LESSON}.startsWith('The lesson is over')")
        assert f"of {len(mistakes)} solved at the first try" in browser.do(LESSON)
        press("lesson-end")
        assert browser.do("az.match.moves.join(' ')") == moves, "the game is as it was"
        assert browser.do("document.getElementById('learn') !== null")
        assert browser.faults == []


def test_moves_are_judged_by_a_search(server: RunningServer, browser: Browser) -> None:
    """Every move but the best one: as good, or refuted."""
    review(browser, server, "go")
    browser.tap("#learn")
    browser.wait(f"{READY} && az.canPlay()")
    for loss, found in ((0.5, "wrong"), (-0.5, "found")):
        browser.do(f"az.view.lesson.show(0), az.view.lesson.task.mover = 0.5 + {loss}")
        browser.wait(f"{READY} && az.canPlay()")
        browser.square("B2")
        browser.wait(f"az.view.lesson.{found} && !az.view.asked")
        told = browser.do(f"[az.view.lesson.{found}.word, az.view.lesson.{found}.line[0]]")
        assert told == ["B2", "B2"]
        assert browser.do("document.querySelectorAll('.arrows .stone').length") > 0, "the line is drawn"
    assert browser.do("az.view.lesson.solved") == 1
    browser.tap("#lesson-show" if browser.do("document.getElementById('lesson-show') !== null") else "#lesson-next")


def test_the_mistakes_of_one_side(server: RunningServer, browser: Browser) -> None:
    review(browser, server, "chess")
    browser.do("document.getElementById('whose').value = '1'")
    browser.do("document.getElementById('whose').dispatchEvent(new Event('change'))")
    assert browser.do("document.getElementById('learn').disabled")
    browser.do("document.getElementById('whose').value = '0'")
    browser.do("document.getElementById('whose').dispatchEvent(new Event('change'))")
    browser.tap("#learn")
    browser.wait(f"{READY} && az.match.ply === 0")
    browser.tap("#lesson-show")
    browser.wait("az.view.lesson.found")
    assert browser.do(LESSON).split("\n\n")[1].startswith("e2e4 is best.")
    browser.tap("#views button:nth-child(1)")
    browser.square("e2", "e4")
    browser.wait(f"{READY} && az.match.moves.join() === 'e2e4'")
    browser.tap("#views button:nth-child(3)")
    assert browser.do("document.getElementById('learn')") is None
