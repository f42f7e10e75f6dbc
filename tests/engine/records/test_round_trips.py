"""Any record that is written and read again is equal, up to what its format says that it leaves out."""

from __future__ import annotations

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from az_engine.engine.games import get_game
from az_engine.engine.records.formats import RecordFormat, format_named
from az_engine.engine.records.record import Node, Record

from .trees import records

SHOGI = [format_named(get_game("shogi").record_formats, name) for name in ("kif", "ki2", "csa", "jkf")]
PGN = format_named(get_game("chess").record_formats, "pgn")
SGF = format_named(get_game("go").record_formats, "sgf")
MANY = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def there_and_back(form: RecordFormat, record: Record) -> Record:
    assert form.write is not None
    text = form.write(record)
    (again,) = form.read(io.BytesIO(text.encode()))
    assert again.fault == "", text
    again.source = form.name
    return again


def without(record: Record, form: RecordFormat) -> Record:
    """The record less what a format cannot hold."""
    record = record.copy()
    for node in record.tree.descendants():
        node.comment = "\n".join(line.rstrip() for line in node.comment.splitlines())
        if "variations" not in form.holds:
            del node.children[1:]
        if "times" not in form.holds:
            node.seconds = None
    return record


def same(again: Record, expected: Record) -> None:
    """Compare node by node, so that a failure names one."""
    for a, b in zip(again.tree.descendants(), expected.tree.descendants(), strict=True):
        assert a.contents() == b.contents(), again.source
    assert again == expected


def plain(record: Record) -> Record:
    """The record without an end that says no more than the record does."""
    for node in record.tree.line():
        if node.children and node.children[0].end is not None and node.children[0].bare:
            node.children.clear()
    return record


@pytest.mark.slow
@MANY
@given(record=records("shogi", ends=True), form=st.sampled_from(SHOGI), other=st.sampled_from(SHOGI))
def test_shogi(record: Record, form: RecordFormat, other: RecordFormat) -> None:
    """One format and back, then another and back: every pair."""
    for each in (form, other):
        expected = plain(without(record, each))
        again = there_and_back(each, record)
        if not expected.reason and expected.result is None:  # the rules may know of a repetition
            expected.result, expected.reason = again.result, again.reason
        same(again, expected)
        lost = each.lost(record)
        assert ("variations" in lost) == any(len(node.children) > 1 for node in record.tree.descendants()) or (
            "variations" in each.holds
        )
        record = again


@pytest.mark.slow
@MANY
@given(record=records("chess", nags=True))
def test_chess(record: Record) -> None:
    for node in record.tree.descendants():
        if "}" in node.comment:  # goes to the end of its line
            node.comment = " ".join(node.comment.split())
    same(there_and_back(PGN, record), record)
    assert not PGN.lost(record)


@pytest.mark.slow
@MANY
@given(record=records("go9"))
def test_go(record: Record) -> None:
    again = there_and_back(SGF, record)
    for node in again.tree.descendants():
        node.more = {}
    for name in ("Komi", "Rules", "RuleSet"):
        again.headers.pop(name, None)
    same(again, record)
    twice = there_and_back(SGF, there_and_back(SGF, record))
    assert twice == there_and_back(SGF, twice), "what a file says beyond comes back as it was"


def test_a_comment_before_the_first_move_of_csa_may_begin_with_a_star() -> None:
    csa = format_named(get_game("shogi").record_formats, "csa")
    for text in ("*", "* x", " *", "** 1\n*", "plain"):
        same(
            there_and_back(csa, Record.of_line(("7g7f",), comments=(text, "* y"))),
            Record.of_line(("7g7f",), comments=(text, "* y")),
        )


def test_position_lines_say_what_they_leave_out() -> None:
    record = Record.of_line(("7g7f", "3c3d"), None, 1, "resignation", ("a", "b"), (1.0, 2.0), ("x", "y", ""))
    record.tree.add(Node("2g2f"))
    lost = format_named(get_game("shogi").record_formats, "usi").lost(record)
    assert lost == {"names": 2, "result": 1, "times": 2, "comments": 2, "variations": 1}


@pytest.mark.parametrize("name", ["kif", "ki2", "csa", "jkf"])
@pytest.mark.parametrize("word", ["反則勝ち", "反則負け"])
@pytest.mark.parametrize(("move", "plies"), [("８八角成(22)", 0), ("７五歩打", 1)])
def test_an_illegal_move_has_one_loser(move: str, plies: int, word: str, name: str) -> None:
    """Where no piece can make the move it stands as a remark; then 反則勝ち said that its side had won."""
    formats = get_game("shogi").record_formats
    text = f"   1 ７六歩(77)\n   2 ３四歩(33)\n   3 {move}\n   4 {word}\n"
    (record,) = format_named(formats, "kif").read(io.BytesIO(text.encode()))
    form = format_named(formats, name)
    assert form.write is not None
    written = form.write(record)
    (again,) = form.read(io.BytesIO(form.encode(written, f"x.{name}")))
    assert (again.result, again.reason, again.fault) == (-1, "illegal move", "")
    if name == "kif":
        assert f"まで{2 + plies}手で後手の反則勝ち\n" in written
        assert f"   {3 + plies} {word if plies else '反則負け'}\n" in written


@pytest.mark.parametrize("form", SHOGI, ids=lambda form: str(form.name))
def test_an_illegal_move_that_ended_the_game_stays(form: RecordFormat) -> None:
    text = "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ７五歩打\n   4 反則勝ち\n"
    (record,) = format_named(get_game("shogi").record_formats, "kif").read(io.BytesIO(text.encode()))
    assert (record.moves, record.result, record.reason, record.fault) == (("7g7f", "3c3d"), -1, "illegal move", "")
    again = there_and_back(form, record)
    assert [node.move for node in again.tree.line()][:4] == ["", "7g7f", "3c3d", "P*7e"]
    assert (again.result, again.reason) == (-1, "illegal move")
