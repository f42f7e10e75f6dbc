"""The page in Japanese and in English in a real Chromium: every word, and the moves of shogi in kanji."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from az_engine.engine.records.record import Record
from az_engine.protocols.page.paper import write_paper
from az_engine.protocols.page.review import Judgement, review_data

from ..serve.lines import RunningServer
from .browser import IN_CHROMIUM, READY, Browser, Chromium, show
from .test_review import FOOLS_MATE, sheet_of

pytestmark = IN_CHROMIUM
GAMES = {
    "chess": "game=chess&moves=f2f3 e7e5 g2g4 d8h4",
    "shogi": "game=shogi&moves=7g7f 3c3d 8h2b%2B 3a2b",
    "go": "game=go&from=5/5/5/5/5 b - 0.5&moves=C3 A1 pass pass",
}
VIEWS = ("play", "analyse", "review", "edit", "inside")
# what is read on the page: texts and the attributes that have some
READ = """(() => { const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = (e) => !e.closest('script, noscript, #net, #nets, #language, .moves, .line, [hidden]');
  while (walk.nextNode()) if (seen(walk.currentNode.parentElement)) found.push(walk.currentNode.data);
  for (const name of ['aria-label', 'title', 'placeholder'])
    for (const e of document.querySelectorAll(`[${name}]`)) if (seen(e)) found.push(e.getAttribute(name));
  return found; })()"""
NAMES = "az-engine serve|az-engine|Tromp-Taylor|AGA|PGN|KIF|KI2|CSA|JKF|SGF|SFEN|FEN|UCI|USI|Enter"
MOVES = r"[A-Z][a-z]?[a-h]?\d[+#]?|[a-h]\dx?[a-h]?\d?"
FOREIGN = re.compile(f"{NAMES}|{MOVES}")  # what is the same in every language


def read(browser: Browser) -> list[str]:
    """The texts of the page that have English words."""
    texts = {text.strip() for text in browser.do(READ)}
    return sorted(text for text in texts if re.search(r"[A-Za-z]{3}", FOREIGN.sub("", text)))


def speak(browser: Browser, server: RunningServer, language: str) -> None:
    """Choose a language as a reader does."""
    show(browser, server, "game=chess&moves=&you=2")
    browser.do(f"document.getElementById('language').value = {language!r}")
    browser.do("document.getElementById('language').dispatchEvent(new Event('change'))")
    browser.wait(f"{READY} && document.documentElement.lang === {language!r}")


@pytest.mark.parametrize("game", list(GAMES))
def test_every_word_is_japanese(server: RunningServer, chromium: Chromium, game: str) -> None:
    with Browser(chromium, 1500, 1000) as browser:
        show(browser, server, GAMES[game] + "&you=0")
        assert len(read(browser)) > 10, "the test finds English"
        speak(browser, server, "ja")
        for you in (0, 2):
            show(browser, server, f"{GAMES[game]}&you={you}")
            for view in VIEWS[: 4 if game == "shogi" else 5]:  # the shogi engine of these tests has no tree
                browser.do(f"az.turnTo(az.views.find((view) => view.name === {view!r})), 0")
                browser.wait(READY)
                assert read(browser) == [], view
        # a reviewed game, and a lesson
        best = {"chess": "a2a3", "shogi": "9g9f", "go": "B2"}[game]
        browser.do(
            "az.match.values = az.match.moves.concat('').map((_, ply) => ({score: ply % 2 ? 0.1 : 0.9, "
            f"lead: ply % 2 ? -1 : 1, visits: 99999, best: [{best!r}], words: []}})), az.turnTo(az.review), 0"
        )
        browser.wait(f"{READY} && document.getElementById('learn') !== null")
        assert read(browser) == []
        browser.tap("#learn")
        browser.wait(READY)
        assert read(browser) == []
        browser.do("az.view.lesson.show(99), 0")
        assert read(browser) == []
        # errors of the page, and what a screen reader says
        browser.do("az.views[0].takeSide(2), az.turnTo(az.views[0]), 0")
        browser.tap("#typed")
        browser.call("Input.insertText", text="zz")
        browser.press("Enter")
        browser.walk({"chess": "e1", "shogi": "5i", "go": "C3"}[game])
        browser.wait("document.getElementById('note').textContent")
        assert [text for text in read(browser) if "zz" not in text] == []
        assert browser.faults == []


def test_the_language_of_the_browser_comes_first_and_a_choice_stays(server: RunningServer, browser: Browser) -> None:
    browser.call("Emulation.setUserAgentOverride", userAgent="Chromium", acceptLanguage="ja-JP,en")
    show(browser, server, "game=shogi&moves=7g7f&you=2")
    assert browser.do("document.documentElement.lang") == "ja"
    assert browser.do("document.getElementById('status').textContent") == "後手の番"
    assert browser.do("document.querySelector('#moves button').textContent") == "▲７六歩"
    speak(browser, server, "en")
    show(browser, server, "game=shogi&moves=7g7f&you=2")
    assert browser.do("document.getElementById('status').textContent") == "White to move"
    assert browser.do("document.querySelector('#moves button').textContent") == "7g7f"


def test_shogi_in_either_notation(server: RunningServer, browser: Browser) -> None:
    moves = "7g7f 3c3d 8h2b+ 3a2b B*5e"
    words = {"kanji": "▲７六歩 △３四歩 ▲２二角成 △同　銀 ▲５五角", "": moves}
    show(browser, server, f"game=shogi&moves={quote(moves)}&you=2")
    browser.do("az.match.values[1] = {score: 0.5, lead: null, visits: 1, best: ['3c3d', '2g2f'], words: []}, 0")
    lines = {"kanji": "△３四歩 ▲２六歩", "": "3c3d 2g2f"}
    for kind in ("kanji", "", "kanji"):
        browser.do(f"document.getElementById('notation').value = {kind!r}")
        browser.do("document.getElementById('notation').dispatchEvent(new Event('change'))")
        browser.wait(f"{READY} && az.match.plies.slice(1).map((ply) => ply.word).join(' ') === {words[kind]!r}")
        assert browser.do("az.match.values[1].words.join(' ')") == lines[kind], "what was found, too"
        ranks = browser.do("[...document.querySelectorAll('.board .name')].map((each) => each.textContent).join('')")
        assert ("一" in ranks) == (kind == "kanji")
        assert ("a" in ranks) != (kind == "kanji")
    browser.call("Page.reload")
    browser.wait(f"{READY} && az.match.plies[1].word === '▲７六歩'")
    for typed, move in (("△３三銀", "2b3c"), ("26歩", "2g2f")):
        browser.tap("#typed")
        browser.call("Input.insertText", text=typed)
        browser.press("Enter")
        browser.wait(f"{READY} && az.match.moves.at(-1) === {move!r}")
    browser.do("az.turnTo(az.views[1]), 0")
    browser.wait(
        "az.view.report && az.view.report.lines.length && document.querySelector('.table tbody button').textContent"
    )
    assert browser.do("document.querySelector('.table tbody button').textContent")[0] == "△"


def test_the_rules_of_a_new_game_of_go(server: RunningServer, browser: Browser) -> None:
    show(browser, server, GAMES["go"] + "&you=2")
    for name, value in (("rules", "japanese"), ("size", "5")):
        browser.do(f"document.getElementById({name!r}).value = {value!r}")
        browser.do(f"document.getElementById({name!r}).dispatchEvent(new Event('change'))")
    browser.tap("#new")
    browser.wait(f"{READY} && az.match.moves.length === 0 && az.match.root.includes('japanese')")
    assert browser.do("document.getElementById('terms').textContent").endswith("Japanese rules")


def test_a_review_is_saved_in_the_language(browser: Browser, tmp_path: Path) -> None:
    sheet = sheet_of("chess", FOOLS_MATE)
    values = [Judgement(s, best=("d2d4",), words=("d4",)) for s in (0.5, 0.45, 0.4, 0.1)] + [Judgement(0.0)]
    page = tmp_path / "review.html"
    page.write_text(write_paper("対局", "papers/paper.js", review_data(sheet, values, Record(), ""), "ja"))
    browser.open(page.as_uri())
    browser.wait("document.querySelectorAll('.board .piece').length === 32")
    assert json.loads(browser.do("JSON.stringify(document.documentElement.lang)")) == "ja"
    assert [text for text in read(browser) if text != "Made by az-engine."] == []
