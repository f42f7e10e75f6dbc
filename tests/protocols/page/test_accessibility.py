"""What axe-core finds wrong with the page: nothing serious, in any view, game, width, light or dark."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.records.record import Record
from az_engine.protocols.page.paper import write_paper
from az_engine.protocols.page.review import Judgement, review_data

from ..serve.lines import RunningServer
from .browser import IN_CHROMIUM, READY, Browser, Chromium, show
from .test_review import FOOLS_MATE, sheet_of

_AXE = find_spec("axe_core_python")
pytestmark = [
    *IN_CHROMIUM,
    pytest.mark.skipif(_AXE is None, reason="axe-core is not installed: pip install axe-core-python"),
]
MOVES = {"chess": "e2e4", "shogi": "7g7f", "go": "E5"}
VIEWS = {
    "play": "true",
    "analyse": "az.view.report",
    "review": "!az.view.runs && az.match.values.filter(Boolean).length === 2",
    "inside": "az.view.milestones.length && !az.view.asked",
    "edit": "az.view.set",
}
SERIOUS = """axe.run(document, {resultTypes: ['violations'],
  rules: {'label-content-name-mismatch': {enabled: true}}}).then((found) => found.violations
  .filter((each) => ['serious', 'critical'].includes(each.impact))
  .map((each) => [each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 120))]))"""


def violations(browser: Browser) -> list[Any]:
    """Serious and critical ones in light and dark: [theme, rule, parts of the page]."""
    assert _AXE is not None
    assert _AXE.origin is not None
    if not browser.do("'axe' in window"):
        browser.do(Path(_AXE.origin).with_name("axe.min.js").read_text() + "; 0")
    found = []
    for theme in ("light", "dark"):
        browser.do(f"document.documentElement.dataset.theme = {theme!r}")
        found += [[theme, *each] for each in browser.do(SERIOUS)]
    return found


@pytest.mark.parametrize("width", [1500, 390])
@pytest.mark.parametrize("game", list(MOVES))
def test_no_serious_violation(server: RunningServer, chromium: Chromium, game: str, width: int) -> None:
    with Browser(chromium, width, 850, touch=width < 800) as browser:
        show(browser, server, f"game={game}&moves={MOVES[game]}&you=2")
        for view, ready in VIEWS.items():
            if view == "inside" and game != "go":
                continue  # the engines of these tests have no tree
            browser.do(f"window.view = az.views.find((view) => view.name === {view!r}), view.most = 100, 0")
            browser.do("az.turnTo(view), view === az.review && view.start(), 0")
            browser.wait(f"{READY} && {ready}")
            if view == "analyse":
                browser.do("az.view.pause(), az.view.setHeat('policy')")
            assert violations(browser) == [], view
        assert [fault for fault in browser.faults if "Canvas2D" not in fault] == [], "but for axe's own"


@pytest.mark.parametrize("width", [1500, 390])
def test_no_serious_violation_on_a_review_from_the_disk(chromium: Chromium, tmp_path: Path, width: int) -> None:
    sheet = sheet_of("chess", FOOLS_MATE)
    values = [Judgement(s, best=("d2d4",), words=("d4",)) for s in (0.5, 0.45, 0.4, 0.1)] + [Judgement(0.0)]
    data = review_data(sheet, values, Record(), "net")
    page = tmp_path / "review.html"
    page.write_text(write_paper(data["title"], "papers/paper.js", data))
    with Browser(chromium, width, 850) as browser:
        browser.open(page.as_uri())
        browser.wait("document.querySelectorAll('.board .piece').length === 32")
        assert violations(browser) == []


def test_the_test_finds_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    faults = "<p style='color:#eee;background:#fff'>pale<button></button>"
    page.write_text(f"<!doctype html><html lang=en><title>x</title>{faults}")
    browser.open(page.as_uri())
    browser.wait("document.querySelector('button')")
    assert {"color-contrast", "button-name"} <= {rule for _, rule, _ in violations(browser)}
    browser.faults.clear()  # axe's own
