"""The views beside the board in a real Chromium: analysis, review of a game, inside the search."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from ...engine.games.go.test_kept import GIB, NGF
from ..serve.lines import RunningServer
from .browser import IN_CHROMIUM, PATIENCE_S, READY, Browser, show

pytestmark = IN_CHROMIUM
EMPTY = "game=go&from=5/5/5/5/5 b - 0.5&moves=&you=2"
FOOLS_MATE = "1. f3 e5 2. g4 Qh4# 0-1"
REVIEWED = "!az.review.runs && az.match.values.filter(Boolean).length === az.match.moves.length + 1"
KIF = "手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n"
JKF = """{"header": {}, "moves": [{},
{"move": {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}},
{"move": {"from": {"x": 3, "y": 3}, "to": {"x": 3, "y": 4}, "piece": "FU"}}]}"""
FILES = {
    "a.pgn": (b"1. e4 e5 *\n", "chess", ["e2e4", "e7e5"]),
    "a.kif": (KIF.encode("cp932"), "shogi", ["7g7f", "3c3d"]),
    "a.csa": (b"V2.2\nPI\n+\n+7776FU\n-3334FU\n", "shogi", ["7g7f", "3c3d"]),
    "a.ki2": ("▲７六歩 △３四歩\n".encode(), "shogi", ["7g7f", "3c3d"]),
    "a.jkf": (JKF.encode(), "shogi", ["7g7f", "3c3d"]),
    "a.gib": (GIB.encode(), "go", ["Q16", "D4", "pass"]),
    "a.ngf": (NGF.encode(), "go", ["C5", "Q17", "pass"]),
    "a.sgf": (b"(;GM[1]SZ[5]KM[7];B[cc];W[dd])", "go", ["C3", "D2"]),
}


def turn_to(browser: Browser, view: str) -> None:
    browser.do(f"az.turnTo(az.views.find((view) => view.name === {view!r})), 0")


def load(browser: Browser, text: str) -> None:
    """Type a game into the field of the review, and load it."""
    browser.do("document.querySelector('details').open = true")
    browser.do(f"document.getElementById('text').value = {json.dumps(text)}")
    browser.tap("#load")


# ---------------------------------------------------------------- analysis


def test_the_search_is_paused_goes_on_and_is_restricted_to_ticked_moves(
    server: RunningServer, browser: Browser
) -> None:
    show(browser, server, EMPTY + "&view=analyse")
    browser.wait("az.view.report && az.view.report.visits > 20")
    browser.tap("#pause")
    browser.wait("!az.view.asked")
    browser.do("window.before = az.view.report.visits")
    browser.tap("button[title='search 1,000 more visits']")
    browser.wait("!az.view.asked && az.view.report.visits >= before + 1000")
    assert browser.do("document.getElementById('pause').textContent") == "Go on"
    browser.wait("!az.view.frame")
    name = browser.do("document.querySelector('.table tbody tr:nth-child(2) button').textContent")
    browser.do("az.view.paused = false")
    browser.tap(".table tbody tr:nth-child(2) input")
    browser.wait(f"az.view.report.moves.length === 1 && az.view.report.moves[0][0] === {name!r}")
    browser.tap("#pause")
    browser.wait("!az.view.frame && !az.view.asked")
    assert browser.do("document.querySelectorAll('.table tbody tr:not([hidden])').length") == 1


def test_heat_lines_and_a_click_in_the_table(server: RunningServer, browser: Browser) -> None:
    show(browser, server, EMPTY + "&view=analyse")
    browser.do("az.view.more(300), 0")
    browser.wait("az.view.report && az.view.report.visits >= 300 && !az.view.asked && !az.view.frame")
    assert browser.do("document.querySelectorAll('.arrows .mark').length") > 0
    for kind in ("policy", "visits", "value"):
        browser.do(f"az.view.setHeat({kind!r})")
        heat = "document.querySelectorAll('.board .heat .warm').length"
        assert browser.do(heat) > 5, kind
    report = json.loads(browser.do("JSON.stringify(az.view.report)"))
    best = report["lines"][0]
    row = ".table tbody tr:first-child"
    browser.do(f"document.querySelector('{row}').dispatchEvent(new PointerEvent('pointerenter'))")
    stones = min(len([move for move in best["pv"] if move != "pass"]), 12)
    assert browser.do("document.querySelectorAll('.arrows .stone').length") == stones
    browser.tap(f"{row} button")
    browser.wait(f"{READY} && az.match.ply === 1")
    assert browser.do("az.match.moves") == [best["pv"][0]]


@pytest.mark.parametrize(
    "words", ["game=chess&moves=e2e4&you=2", "game=shogi&moves=7g7f&you=2", EMPTY.replace("moves=", "moves=C3")]
)
def test_values_of_the_second_player_are_shown_as_the_engine_says(
    server: RunningServer, browser: Browser, words: str
) -> None:
    """The table has the mover's values, the head the first player's."""
    show(browser, server, words + "&view=analyse")
    browser.do("az.view.more(200), 0")
    browser.wait("az.view.report && !az.view.asked && !az.view.frame")
    report = json.loads(browser.do("JSON.stringify(az.view.report)"))
    win, draw, loss = report["lines"][0]["wdl"]
    shown = browser.do("document.querySelector('.figures strong').textContent")
    assert shown.split()[1] == f"{100 * (loss + draw / 2):.1f}"
    line, shown = report["lines"][0], browser.do("document.querySelector('.table tbody tr .line').textContent")
    if line["mate"] is None and line["cp"] and "go" not in words:
        assert shown.startswith(f"{line['cp'] / 100:+.2f}" if "chess" in words else f"{line['cp']:+d}")
    cells = "[...document.querySelector('.table tbody tr').cells].map((cell) => cell.textContent)"
    row = browser.do(cells)
    percents = [int(chance) for chance in row[7].split()]
    assert sum(percents) == 100
    assert percents == pytest.approx([100 * x for x in (win, draw, loss)], abs=1)
    told = browser.do("document.querySelector('.wdl').getAttribute('aria-label')")
    assert sum(map(int, re.findall(r"(\d+) %", told))) == 100
    told = next(each for each in report["moves"] if each[0] == report["lines"][0]["pv"][0])
    assert (int(row[3].replace(",", "")), row[5], row[6]) == (told[2], f"{told[3]:.3f}", f"{told[5]:.3f}")


# ---------------------------------------------------------------- review


def test_a_game_is_reviewed_while_one_steps_through_it(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2&view=review")
    browser.do("az.view.visits = 800")
    load(browser, FOOLS_MATE)
    browser.wait("az.match.moves.length === 4 && az.review.at > 0")
    browser.press("ArrowRight", "ArrowRight")
    browser.wait("az.match.ply === 2 && az.review.runs")
    turn_to(browser, "play")
    browser.wait("az.view.name === 'play' && az.review.at < 0")
    turn_to(browser, "review")
    browser.wait(REVIEWED)
    assert browser.do("az.match.values.at(-1).score") == 0, "Black has mated"
    values = browser.do("JSON.stringify(az.match.values)")
    # a variation, and back
    browser.do("az.play('b1c3'), 0")
    browser.wait(f"{READY} && az.match.left && az.match.moves.length === 3")
    browser.tap("#back")
    browser.wait(f"{READY} && !az.match.left")
    assert browser.do("JSON.stringify(az.match.values)") == values
    assert browser.do("az.review.runs") is False
    browser.do("az.play('g2g4'), 0")  # the game's own move leaves nothing
    browser.wait(f"{READY} && az.match.ply === 3 && az.match.moves.length === 4")
    browser.call("Page.reload")
    browser.wait(READY)
    assert browser.do("JSON.stringify(az.match.values)") == values, "the browser keeps the review"


def test_mistakes_are_listed_worst_first_and_shown_on_the_board(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2&view=review")
    load(browser, FOOLS_MATE)
    browser.wait(f"az.match.moves.length === 4 && {REVIEWED}")
    scores = [0.5, 0.42, 0.4, 0.05, 0.0]
    browser.do(
        f"az.match.values = {scores}.map((score, i) => ({{score, lead: null, visits: 9999, "
        "best: ['a2a3'], words: ['a3', 'd4']})), az.match.values[3].best = ['d8h4'], az.view.draw()"
    )
    found = browser.do("[...document.querySelectorAll('.mistakes button')].map((each) => each.textContent)")
    assert found == ["2. g4 blunder, 35 % better a3 d4", "1. f3 inaccuracy, 8 % better a3 d4"]
    assert browser.do("document.querySelectorAll('#moves .mistake').length") == 2
    browser.tap(".mistakes button")
    browser.wait(f"{READY} && az.match.ply === 2")
    assert browser.do("document.querySelectorAll('.arrows .arrow').length") == 2, "the better one, too"
    assert browser.do("document.querySelectorAll('.arrows .arrow.blunder').length") == 1


@pytest.mark.parametrize(("text", "kind", "suffix", "words"), [
    (FOOLS_MATE, "PGN", ".pgn", "{ [%eval -0.30]"),
    (KIF, "KIF", ".kifu", "**解析 0 候補1 深さ 2"),
    ("(;GM[1]SZ[5]KM[7];B[cc];W[dd])", "SGF", ".sgf", "SBKV["),
    ("(;GM[1]SZ[5]KM[7];B[cc];W[dd])", "Page", ".html", '"values":[{'),
])  # fmt: skip
def test_the_commented_record_is_saved(
    server: RunningServer, browser: Browser, tmp_path: Path, text: str, kind: str, suffix: str, words: str
) -> None:
    browser.save_files(tmp_path)
    show(browser, server, "game=chess&moves=&you=2&view=review")
    load(browser, text)
    browser.wait(f"az.match.moves.length >= 2 && {REVIEWED}")
    button = f"[...document.querySelectorAll('#panel button')].find((each) => each.textContent === {kind!r})"
    browser.do(f"{button}.click()")
    deadline = time.monotonic() + PATIENCE_S
    saved = list[str]()
    while not any(words in text for text in saved):  # at first the browser's file is empty
        assert time.monotonic() < deadline, saved
        time.sleep(0.05)
        saved = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir() if path.suffix == suffix]


@pytest.mark.parametrize(
    ("words", "do", "part"),
    [
        ("game=chess&moves=f2f3 e7e5 g2g4 d8h4&you=2", "0", '[Result "0-1"]'),
        ("game=chess&moves=e2e4 e7e5&you=2", "az.view.resign()", '[Result "0-1"]'),
        ("game=go&from=5/5/5/5/5 b - 0.5&moves=C3 pass pass&you=2", "az.view.count({dead: ['C3']})", "RE[W+0.5]"),
    ],
)
def test_a_game_is_saved_with_its_result(
    server: RunningServer, browser: Browser, words: str, do: str, part: str
) -> None:
    show(browser, server, words)
    browser.wait("az.match.moves.length !== 3 || az.match.dead")  # the net has proposed
    browser.do(f"{do}, 0")
    if "dead" in do:
        browser.wait("az.match.dead.length === 1")
    browser.do(
        "(() => { const ask = az.link.ask; az.link.ask = (what, fields, hear) =>"
        " ask.call(az.link, what, fields, (said) => { if (what === 'write') window.saved = said; hear(said); }); })()"
    )
    turn_to(browser, "review")
    browser.do("az.review.files.save(az.hello.formats[0]), 0")
    browser.wait("window.saved")
    assert part in browser.do("saved.text")


def test_moves_are_counted_on_from_the_position(server: RunningServer, browser: Browser) -> None:
    """And a turn that was left out is no mistake."""
    show(browser, server, "game=chess&from=4k3/8/8/8/8/8/4P3/4K3 b - - 3 20&moves=e8e7 e2e4&you=2&view=review")
    listed = "[...document.querySelectorAll('#moves .number')].map((each) => each.innerText).join()"
    assert browser.do(listed) == "20…,21."
    browser.do(
        "az.review.runs = false, az.match.values = [0.2, 0.5, 0.1].map((score) => ({score, lead: null, visits: 9, "
        "best: ['e8d8'], words: ['Kd8']})), az.view.draw()"
    )
    mistakes = "[...document.querySelectorAll('.mistakes button')].map((each) => each.textContent).join()"
    assert browser.do(mistakes) == "21. e4 blunder, 40 % better Kd8,20… Ke7 blunder, 30 % better Kd8"
    browser.do("az.match.moves[1] = 'skip', az.view.draw()")
    assert browser.do(mistakes) == "20… Ke7 blunder, 30 % better Kd8"


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_is_dropped_anywhere(server: RunningServer, browser: Browser, name: str) -> None:
    """Also of another game than the one on the board."""
    data, game, moves = FILES[name]
    show(browser, server, "game=chess&moves=d2d4&you=2" if game != "chess" else "game=shogi&moves=2g2f&you=2")
    browser.do(
        f"(() => {{ const dropped = new DataTransfer(); "
        f"dropped.items.add(new File([new Uint8Array({[*data]})], {name!r}));"
        "document.querySelector('header').dispatchEvent("
        "new DragEvent('drop', {dataTransfer: dropped, bubbles: true, cancelable: true})); })()"
    )
    browser.wait(f"{READY} && az.match.name === {game!r} && az.match.moves.length === {len(moves)}")
    assert browser.do("az.match.moves") == moves
    assert browser.do("az.view.name") == "review"
    browser.wait(REVIEWED)


def test_one_game_of_several_is_chosen(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2&view=review")
    load(browser, '[White "Anna"]\n\n1. e4 e5 *\n\n[White "Bert"]\n\n1. d4 d5 2. c4 *\n')
    browser.wait(f"{READY} && az.match.moves.join() === 'e2e4,e7e5'")
    assert "Bert" in browser.do("document.getElementById('number').innerText")
    browser.do("document.getElementById('number').value = '2'")
    browser.do("document.getElementById('number').dispatchEvent(new Event('change'))")
    browser.wait(f"{READY} && az.match.moves.join() === 'd2d4,d7d5,c2c4' && az.match.names[0] === 'Bert'")
    browser.do("history.back()")
    browser.wait(f"{READY} && az.match.names[0] === 'Anna'")


def test_a_position_is_pasted(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=go&moves=&you=2")
    for text, game in (("8/8/8/8/8/4k3/4p3/4K3 w - - 0 1", "chess"), ("4k4/9/9/9/9/9/9/9/4K4 b G 1", "shogi")):
        browser.do(
            f"(() => {{ const pasted = new DataTransfer(); pasted.setData('text', {text!r});"
            "document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData: pasted, bubbles: true})); })()"
        )
        browser.wait(f"{READY} && az.match.name === {game!r} && az.match.here.text === {text!r}")
    load(browser, "this is nothing")
    browser.wait("document.getElementById('note').textContent.startsWith('this is neither a game')")
    assert browser.do("az.match.name") == "shogi", "the game stays"


COMMENT = "document.getElementById('comment')"
UNSEEN = "document.getElementById('unseen')"


def test_comments_of_a_file_are_shown_as_text(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=chess&moves=&you=2&view=review")
    load(browser, "{ First <i>words</i> } 1. e4 { King's\npawn } e5 ( 1... c5 { Sicilian } ) 2. Nf3 *")
    browser.wait(f"{READY} && az.match.moves.length === 3")
    assert browser.do(f"{COMMENT}.textContent") == "First <i>words</i>"
    assert browser.do(f"{COMMENT}.childElementCount") == 0
    signs = "[...document.querySelectorAll('#moves li')].map((li) => li.querySelectorAll('.sign').length).join()"
    assert browser.do(signs) == "1,0,0"
    browser.tap("#moves li:first-child > button")
    browser.wait(f"{READY} && {COMMENT}.textContent.replace('\\n', ' ') === \"King's pawn\"")
    browser.do("az.go(2), 0")
    browser.wait(f"{READY} && az.match.ply === 2 && {COMMENT}.hidden")
    browser.tap("#moves .other")
    browser.wait(f"{READY} && {COMMENT}.textContent === 'Sicilian'")
    for view, shown in (("analyse", True), ("play", False), ("review", True)):
        turn_to(browser, view)
        assert browser.do(f"!{COMMENT}.hidden && document.querySelectorAll('.sign').length > 0") is shown
    assert browser.do(f"{UNSEEN}.hidden")
    browser.call("Page.reload")
    browser.wait(f"{READY} && {COMMENT}.textContent === 'Sicilian'")


def test_variations_that_are_not_shown_are_named(server: RunningServer, browser: Browser) -> None:
    show(browser, server, "game=go&moves=&you=2&view=review")
    load(browser, "(;GM[1]SZ[5];B[cc](;W[dd];AB[bb];B[ab];W[ba];B[ca])(;W[dc]))")
    browser.wait(f"{READY} && az.match.moves.length === 3")
    sentence = "The file has one more variation, which is not shown; it is kept when the game is saved as SGF."
    assert browser.do(f"{UNSEEN}.textContent") == sentence
    browser.do(f"az.review.files.read('(;GM[1]SZ[5];B[cc]C[{'x' * 310_000}])'), 0")
    browser.wait(f"{READY} && az.match.moves.length === 1")
    assert browser.do(f"{UNSEEN}.textContent").endswith("and its comments, are not saved.")


# ---------------------------------------------------------------- inside the search


def test_the_states_are_drawn_as_the_engine_tells_them_and_replayed(server: RunningServer, browser: Browser) -> None:
    show(browser, server, EMPTY)
    browser.do("az.views.find((view) => view.name === 'inside').most = 1000, 0")
    turn_to(browser, "inside")
    browser.wait("az.view.milestones.length === 2 && !az.view.asked && !az.view.frame")
    assert browser.do("az.view.milestones.map((each) => each.visits)") == [100, 1000]
    for at in ("az.view.history.length - 1", "0"):
        browser.do(f"az.view.slider.value = {at}, az.view.slider.dispatchEvent(new Event('input'))")
        told = json.loads(browser.do(f"JSON.stringify(az.view.history[{at}].states)"))
        shown = browser.do(
            "[...document.querySelectorAll('.tree .state')].map((each) =>"
            "[each.querySelector('b').textContent, each.style.getPropertyValue('--ring')])"
        )
        assert shown == [[str(int(s["value"] + 0.5)), f"{1 + 7 * s['share']:.1f}px"] for s in told]
    row = browser.do(
        "[...document.querySelectorAll('.milestone')].map((each) => each.querySelectorAll('.state').length)"
    )
    assert row == [10, 10]
    path = browser.do("az.view.milestones[1].states[1].move")
    browser.tap(".milestone:last-child .state")
    browser.wait(f"{READY} && az.match.ply === 1")
    assert browser.do("az.match.moves") == [path]
