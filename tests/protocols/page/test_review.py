"""A game judged: mistakes, comments, and the page that opens from the disk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from az_engine.cli import main
from az_engine.engine.engine import Engine
from az_engine.engine.errors import DataError
from az_engine.engine.params import EngineOptions
from az_engine.engine.records.record import Record
from az_engine.protocols.page.paper import bundle, write_paper
from az_engine.protocols.page.request import Request
from az_engine.protocols.page.review import Judgement, annotated, judge_game, mistakes, review_data
from az_engine.protocols.page.scoresheet import Scoresheet

FOOLS_MATE = ["f2f3", "e7e5", "g2g4", "d8h4"]


def sheet_of(game: str, moves: list[str]) -> Scoresheet:
    sheet = Scoresheet(game)
    sheet.hold(None, moves)
    return sheet


def test_mistakes_are_of_the_side_that_moved() -> None:
    sheet = sheet_of("chess", FOOLS_MATE)
    values = [
        Judgement(s, best=(best,))
        for s, best in ((0.5, "e2e4"), (0.44, "e7e5"), (0.38, "d2d4"), (0.1, "d8h4"), (0.0, ""))
    ]
    found = [(m.ply, m.kind, m.word) for m in mistakes(sheet, values)]
    assert found == [(0, "inaccuracy", "f3"), (2, "blunder", "g4")]
    assert [round(m.loss, 2) for m in mistakes(sheet, values)] == [0.06, 0.28]
    swapped = [Judgement(1 - value.score, best=value.best) for value in values]
    assert not list(mistakes(sheet, swapped)), "what is good for the mover is no mistake"
    assert not list(mistakes(sheet, [values[0], None, values[2]]))


def test_every_position_is_judged_and_a_finished_game_by_the_rules() -> None:
    sheet = sheet_of("chess", FOOLS_MATE)
    engine = Engine("chess", EngineOptions(weights_file="uniform", threads=1, hash_mb=16))
    done: list[int] = []
    try:
        judged = judge_game(engine, sheet, 60, done.append)
    finally:
        engine.close()
    assert done == [0, 1, 2, 3, 4]
    assert [value.visits for value in judged] == [60, 60, 60, judged[3].visits, 0]
    assert judged[3].score == 0.0, "Black mates: the search has proven it"
    assert judged[3].words == ("Qh4#",)
    assert judged[4].score == 0.0
    record = annotated(sheet, judged, Record.of_line(FOOLS_MATE, names=("A", "B"), result=-1))
    assert record.moves == tuple(FOOLS_MATE)
    assert record.comments[3].startswith("az-engine: Blunder, gives away ")
    parent = record.moved()[1]
    assert [child.move for child in parent.children] == ["g2g4", judged[2].best[0]], "the better line is a variation"


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "score"), [("chinese", 0.0), ("japanese", 0.0), ("tromp-taylor", 1.0)])
def test_passes_that_end_a_game_are_judged_without_dead_stones(rules: str, score: float) -> None:
    """Where the players take them off; white leads."""
    sheet = Scoresheet("go9")
    sheet.hold(f"{'3X1O3/' * 2}3X1O1X1/{'3X1O3/' * 6}".rstrip("/") + f" w - 6.5 {rules}", ["pass", "pass"])
    engine = Engine("go9", EngineOptions(threads=1, hash_mb=16))
    try:
        judged = judge_game(engine, sheet, 60)
    finally:
        engine.close()
    assert judged[2].score == score
    assert bool([*mistakes(sheet, judged)]) == (score == 1.0)
    if score == 0.0:
        assert max(value.score for value in judged) < 0.1
        assert all(value.lead is not None and -9 < value.lead < -4 for value in judged)


def test_passes_behind_which_a_record_goes_on_are_judged_on_their_own_board() -> None:
    sheet = Scoresheet("go9")
    sheet.hold("9/9/9/9/9/9/9/9/9 b - 7 chinese", ["pass", "pass", "E5"])
    engine = Engine("go9", EngineOptions(threads=1, hash_mb=16))
    try:
        judged = judge_game(engine, sheet, 2)
    finally:
        engine.close()
    assert (judged[2].score, judged[2].lead) == (0.0, -7.0)


def test_a_review_does_not_depend_on_the_one_before() -> None:
    engine = Engine("chess", EngineOptions(threads=1, hash_mb=16))
    try:
        first, again = (judge_game(engine, sheet_of("chess", FOOLS_MATE[:3]), 60) for _ in range(2))
    finally:
        engine.close()
    assert first == again


def test_the_page_holds_data_that_cannot_end_its_script() -> None:
    sheet = sheet_of("chess", ["e2e4"])
    judged = [Judgement(0.5), Judgement(0.6)]
    evil = "</script><script>alert(1)</script>"
    data = review_data(sheet, judged, Record.of_line(names=(evil, "B")), "net")
    page = write_paper(data["title"], "papers/paper.js", data)
    assert page.count("</script>") == 2
    assert "<script>alert" not in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["names"] == [evil, "B"]


def test_the_bundle_has_no_module_left_and_each_once() -> None:
    script = bundle("papers/paper.js")
    assert not re.search(r"^\s*(import|export) ", script, re.MULTILINE)
    assert "in_views_mistakes" in script
    for name in ("base_dom", "board_games", "board_board", "board_pieces", "plots_plots"):
        assert script.count(f"const in_{name} = ") == 1


@pytest.mark.parametrize(("name", "text"), [
    ("a.pgn", "1. e4 e5 *\n"),
    ("a.kifu", "手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n"),
    ("a.sgf", "(;GM[1]SZ[5]KM[7];B[cc];W[bb])"),
])  # fmt: skip
def test_the_command(tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    game = tmp_path / name
    game.write_text(text)
    out = tmp_path / f"out{game.suffix}"
    page = tmp_path / "out.html"
    options = ["--net", "uniform", "--visits", "10", "--threads", "1"]
    assert main(["review", str(game), *options, "--out", str(out), "--out", str(page)]) == 0
    marks = {".pgn": "[%eval ", ".kifu": "**解析 0 候補1 深さ ", ".sgf": "SBKV["}
    assert marks[game.suffix] in out.read_text(encoding="utf-8")
    assert '"values":[{' in page.read_text()
    assert main(["review", str(tmp_path / "none.pgn")]) == 2
    assert main(["review", str(game), "--number", "2"]) == 2
    assert "no game 2" in capsys.readouterr().err


def test_values_of_the_page_are_checked() -> None:
    wrong: list[dict[str, Any]] = [{}, {"score": 2}, {"score": "x"}, {"score": 0.5, "lead": 1e9}]
    for given in (*wrong, {"score": 0.5, "words": [1]}):
        with pytest.raises(DataError):
            Judgement.read(Request(given))
