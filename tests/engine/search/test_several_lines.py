"""Several lines (MultiPV): the best move is that of one line, lines come in order of worth, none is made up."""

from __future__ import annotations

import pytest

from az_engine.engine.blocking import search
from az_engine.engine.engine import Engine
from az_engine.engine.info import BestMove, ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions

REPEATED = "6k1/5pp1/7p/8/q7/1r6/5PPP/3Q2K1 w - - 0 1"
SHUFFLE = "d1d8 g8h7 d8d3 h7g8 d3d8 g8h7 d8d3 h7g8".split()


def analysed(fen: str, moves: list[str], lines: int, nodes: int) -> tuple[BestMove, ThinkingInfo]:
    engine = Engine("chess", EngineOptions(threads=1, hash_mb=16, multipv=lines))
    try:
        engine.set_position(fen, moves)
        best, last = search(engine, Limits(nodes=nodes))
    finally:
        engine.close()
    assert last is not None
    return best, last


@pytest.mark.parametrize(
    ("fen", "moves", "lines", "wanted"),
    [
        ("7k/8/8/8/8/8/r7/K7 w - - 0 1", [], 2, "a1a2"),  # takes the last piece: a draw; the other move loses
        (REPEATED, SHUFFLE, 3, "d3d8"),  # the third repetition; what else there is loses
        (REPEATED, SHUFFLE, 5, "d3d8"),
    ],
)
def test_a_proven_draw_comes_before_what_loses(fen: str, moves: list[str], lines: int, wanted: str) -> None:
    single, _ = analysed(fen, moves, 1, 5000)
    best, last = analysed(fen, moves, lines, 5000)
    assert best.move == single.move == last.lines[0].pv[0] == wanted
    assert last.lines[0].cp == 0
    values = [line.wdl.value for line in last.lines]
    assert values[0] == max(values)


def test_endgame_tables_order_all_lines() -> None:
    fen = "8/8/8/1k6/8/2K3R1/8/8 w - - 0 1"
    single, _ = analysed(fen, [], 1, 500)
    best, last = analysed(fen, [], 40, 500)
    assert last.tbhits > 0
    assert best.move == last.lines[0].pv[0]
    assert single.lines[0].wdl.win == last.lines[0].wdl.win == 1.0
    values = [line.wdl.value for line in last.lines]
    assert values == sorted(values, reverse=True)
    assert set(values) <= {1.0, 0.0, -1.0}


def test_moves_without_a_visit_have_no_line() -> None:
    _, last = analysed("5r1k/6pp/7N/3Q4/8/8/8/7K w - - 0 1", [], 40, 300)
    assert all(line.visits > 0 for line in last.lines)
    assert last.lines[0].mate is not None
    assert [line for line in last.lines if line.cp > 12000 and line.mate is None] == []
