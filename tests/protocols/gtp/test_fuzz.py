"""Whatever is sent: each command gets exactly one response, with its id."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from az_engine.protocols.gtp.command import read_command
from az_engine.protocols.lines import clean

from .talk import GtpTalk

WORDS = (
    "name version boardsize clear_board komi play genmove undo showboard fixed_handicap set_free_handicap loadsgf "
    "place_free_handicap time_settings kgs-time_settings time_left final_score final_status_list reg_genmove printsgf "
    "lz-analyze kata-analyze analyze kata-genmove_analyze kata-set-rules kata-get-rules known_command cputime b w "
    "BLACK white green pass resign A1 a1 C3 D4 j9 K10 T19 Z25 I5 A0 -1 0 1 2 5 9 9.0 19 26 1e9 nan inf "
    "99999999999999999999 byoyomi absolute none interval avoid allow minmoves maxmoves ownership true false chinese "
    '{} {"ko":1} \u00e9 \u4e2d'
).split()
LINE = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    st.tuples(st.integers(0, 10**20), st.lists(st.sampled_from(WORDS), max_size=4)).map(
        lambda pair: f"{pair[0]} {' '.join(pair[1])}"
    ),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=40),
)


@pytest.fixture(scope="module")
def fuzzed() -> GtpTalk:
    """One session for all lines."""
    return GtpTalk(nodes_limit=2, move_time=0.001)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINE, max_size=10))
def test_each_command_gets_exactly_one_response_with_its_id(lines: list[str], fuzzed: GtpTalk) -> None:
    commands = [read_command(clean(line.encode("utf-8", "surrogateescape"))) for line in lines]
    lines = [line for line, c in zip(lines, commands, strict=True) if c is None or c.name != "quit"]
    fuzzed.send(*lines, "boardsize 9", "987654321 name")
    for command in commands:
        if command is not None and command.name != "quit":
            response = fuzzed.response()
            assert re.match(rf"[=?]{command.number}( |\n|$)", response), (command.number, response)
    assert fuzzed.response() == "="
    assert fuzzed.response() == "=987654321 az-engine"
