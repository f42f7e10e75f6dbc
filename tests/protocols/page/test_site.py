"""The files of the page: small, whole, without what the policy forbids."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from az_engine.engine.games import get_game
from az_engine.protocols.page.paper import resolve
from az_engine.protocols.page.site import FRONT, POLICY, WEB, read_site

SITE = read_site()
SCRIPTS = sorted(name for name in SITE if name.endswith(".js"))
LANGUAGES = [name for name in SCRIPTS if "language-" in name]
UNSEEN = (
    "White",
    "Black",
    "blunder",
    "mistake",
    "inaccuracy",
    "chess",
    "shogi",
    "go",
    "pass",
    *(re.sub(r"^[A-E]\d\d ", "", name) for game in ("chess", "shogi") for name in get_game(game).openings),
)  # which the server tells
IMPORT = r'import \{([^}]*)\} from "([^"]+)"'
TEXTS = {name: (WEB / name).read_text(encoding="utf-8") for name in SITE if name not in LANGUAGES}
TEXTS = {name: re.sub(r"(?m)^ *//.*\n", "", text) for name, text in TEXTS.items()}
TEXTS |= {name: SITE[name].body.decode() for name in LANGUAGES}


def test_the_page_is_small() -> None:
    """In a wheel, and as a browser may have it: compressed."""
    page = [found.body for name, found in SITE.items() if not name.startswith("papers/")]  # parts of other pages
    assert sum(len(gzip.compress(body)) for body in page) <= 62_000
    assert sum(len(found.body) for found in SITE.values()) <= 161_000
    assert {*SITE} - {*LANGUAGES} == {path.relative_to(WEB).as_posix() for path in WEB.rglob("*") if path.is_file()}


def test_what_is_sent_lacks_spaces_alone() -> None:
    for name, found in SITE.items():
        if name != FRONT:
            assert "".join(found.body.decode().split()) == "".join(TEXTS[name].split()), name
    sent = SITE["views/mistakes.js"].body.decode()
    assert "return`${Math.round" not in sent
    assert '"{n} blunder","{n} blunders"' in sent, "texts keep theirs"


def test_a_folder_has_few_files() -> None:
    for folder in (WEB, *filter(Path.is_dir, WEB.iterdir())):
        assert len([*folder.iterdir()]) <= 12, folder


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_file_is_short(name: str) -> None:
    assert TEXTS[name].count("\n") <= 250


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_has_the_words_of_the_scripts_and_no_others(name: str) -> None:
    """Texts with places to fill in, and all that is told; others that are missing are found in the browser."""
    rest = "".join(TEXTS[each] for each in TEXTS if each not in LANGUAGES)
    words = dict(re.findall(r'"((?:[^"\\]|\\.)+)": ?"((?:[^"\\]|\\.)*)"', TEXTS[name]))
    for key, value in words.items():
        said = re.sub(r"^(chess|shogi|go) ", "", key)
        assert f'"{said}"' in rest or f">{said}<" in rest or said in UNSEEN, key
        assert set(re.findall(r"\{\w+\}", value)) <= set(re.findall(r"\{\w+\}", key)), key
    told = re.findall(r'\b(?:t|word)\((?:[^"()]*\? )?"([^"]+)"(?: : "([^"]+)")?', rest)
    assert [each for pair in told for each in pair if each and each not in words and f"shogi {each}" not in words] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_text_goes_over_a_line(name: str) -> None:
    """So that indents can be left out of what is sent."""
    assert [line for line in TEXTS[name].splitlines() if line.count("`") % 2] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_imports_what_there_is(name: str) -> None:
    for names, source in re.findall(IMPORT, TEXTS[name]):
        exporter = TEXTS[resolve(name, source)]
        for wanted in filter(None, map(str.strip, names.split(","))):
            assert re.search(rf"export (const|function|class|async function) {wanted}\b", exporter), wanted


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_uses_what_it_imports(name: str) -> None:
    for names, _ in re.findall(IMPORT, TEXTS[name]):
        for wanted in filter(None, map(str.strip, names.split(","))):
            assert len(re.findall(rf"\b{wanted}\b", TEXTS[name])) > 1, wanted


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_needs_trust(name: str) -> None:
    """The policy would refuse it: markup from text, styles and handlers in attributes."""
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", TEXTS[name])
    assert not re.search(r"[{,] style:|\bhttps?://(?!www\.w3\.org/2000/svg)", TEXTS[name])


def test_the_front_names_files_that_exist_and_nothing_else() -> None:
    front = TEXTS[FRONT]
    assert set(re.findall(r'(?:src|href)="web/([^"]+)"', front)) <= set(SITE)
    assert not re.search(r'<script(?![^>]*src=)|<style| style=| on[a-z]+="|https?://', front)
    texts = "".join(text for name, text in TEXTS.items() if name not in ("papers/paper.js", "papers/runpage.js"))
    wanted = set(re.findall(r'byId\("([^"]+)"\)', texts))
    made = set(re.findall(r'\bid: "([^"]+)"', "".join(TEXTS.values())))
    assert wanted <= set(re.findall(r'id="([^"]+)"', front)) | made


def test_the_policy_is_strict() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert not re.search(r"unsafe|\*|http|data:", POLICY)
