"""What shogi asks of the engine: declarations, the draw by plies, resignation, and the search for a mate alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.games.shogi import EnteringKing
from az_engine.engine.info import BestMove, Checkmate, Wdl
from az_engine.engine.params import EngineOptions

from ..fakes.clock import FakeClock
from . import driving
from .driving import go

SHOGI = get_game("shogi")
CAMP = "+P+P+P+P+P4/+P+P+P+P+P4/4K4/9/9/9/9/9/4k4 b {hand} 1"
MATED_SOON = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
LOST = "k8/9/9/9/9/9/r8/1r7/4K4 b - 1"  # mate by the rook on 9g, whatever black does
SHARP = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL b RGgsn5p 1"  # mate in 7
MATE_IN_THREE = "ln6l/4rks2/pNpps2pp/1g7/8P/PK1SR1pP1/3+b5/Lp4S1+b/1N5N1 w 2Ggl8p 102"
MATES = [json.loads(text) for text in (Path(__file__).parents[1] / "data/mate_shogi.jsonl").read_text().splitlines()]
HARD = "9/9/9/9/4k4/9/9/9/K8 b RB2G2SNLPrb2g2s3n3l17p 1"  # not known after a million positions


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine("shogi", EngineOptions(weights_file="uniform", hash_mb=32, threads=1, batch_size=8))
    yield engine
    engine.close()


def think(engine: Engine, root: str | None, moves: Sequence[str] = (), **limits: Any) -> BestMove:
    return driving.think(engine, root, moves, **limits).answer


@pytest.mark.parametrize(
    ("hand", "rule", "wins"),
    [
        ("RB8P", "27", True),
        ("RB7P", "27", False),
        ("RB8P", "24", False),
        ("2R2BG", "24", True),
        ("2R2BG", "none", False),
    ],
)
def test_an_entered_king_is_declared(engine: Engine, hand: str, rule: str, wins: bool) -> None:
    engine.configure(declaration=rule)
    answer = think(engine, CAMP.format(hand=hand), nodes=20)
    assert answer.win == wins
    assert (answer.move is None) == wins
    assert not answer.resign
    if wins:
        assert answer.lines[0].mate == 1
        assert answer.lines[0].wdl.win == 1.0


def test_a_try_is_played(engine: Engine) -> None:
    engine.configure(declaration="try")
    answer = think(engine, "9/4K4/9/9/9/9/k8/9/7rr b - 1", nodes=20)
    assert (answer.move, answer.win, answer.lines[0].mate) == ("5b5a", False, 1)


def test_a_rule_set_later_holds_from_the_next_go(engine: Engine) -> None:
    engine.set_position(CAMP.format(hand="RB8P"), [])
    engine.configure(declaration="none")
    assert not go(engine, nodes=20).answer.win
    engine.configure(declaration="27")
    assert go(engine, nodes=20).answer.win


def test_a_declaration_waits_for_stop_in_an_analysis(engine: Engine) -> None:
    engine.set_position(CAMP.format(hand="RB8P"), [])
    recorder = go(engine, infinite=True)
    assert not recorder.done.wait(0.3)
    engine.stop()
    assert recorder.answer.win


def test_the_search_sees_its_own_declaration_coming(engine: Engine) -> None:
    """White to move cannot keep black's king from being declared: black's win is backed up as one."""
    answer = think(engine, CAMP.format(hand="RB8P").replace(" b ", " w "), nodes=400)
    assert answer.lines[0].wdl.loss == 1.0


def test_the_limit_of_plies_is_a_draw_in_the_tree_and_no_end_at_the_root(engine: Engine) -> None:
    rooks = "4k4/9/9/9/9/9/9/3R5/4K4 b R 1"
    free = think(engine, rooks, nodes=200)
    engine.configure(max_plies=1)
    limited = think(engine, rooks, nodes=200)
    assert limited.move is not None
    assert limited.lines[0].wdl.draw == 1.0
    assert free.lines[0].wdl.draw < 1.0
    assert think(engine, rooks, ["6h6g", "5a4a", "6g6h"], nodes=50).move is not None  # beyond the limit


@pytest.mark.parametrize(
    ("wdl", "coefficient", "score"),
    [
        (Wdl(0.255, 0.0, 0.745), 600, -643),
        (Wdl(0.155, 0.2, 0.645), 600, -643),  # a draw counts half
        (Wdl(0.745, 0.0, 0.255), 756, 811),
        (Wdl(0.0, 1.0, 0.0), 600, 0),
        (Wdl(1.0, 0.0, 0.0), 600, 30_000),
        (Wdl(0.0, 0.0, 1.0), 1, -30_000),
    ],
)
def test_scores_are_those_that_shogi_programs_read(wdl: Wdl, coefficient: int, score: int) -> None:
    assert SHOGI.centipawns(wdl, EngineOptions(eval_coef=coefficient)) == score
    if coefficient == 600:
        assert SHOGI.expected_points(score) == pytest.approx((1 + wdl.value) / 2, abs=1e-3)


def test_scores_of_a_handicap(engine: Engine) -> None:
    bishop = "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    for coefficient in (600, 285):
        engine.configure(weights_file="", eval_coef=coefficient)
        line = think(engine, bishop, nodes=800).lines[0]
        points = (1 + line.wdl.value) / 2
        assert 0.15 < points < 0.4
        assert line.cp == pytest.approx(coefficient * math.log(points / (1 - points)), abs=1)


def test_resignation(engine: Engine) -> None:
    assert not think(engine, LOST, nodes=1500).resign
    engine.configure(resign_cp=1000)
    answer = think(engine, LOST, nodes=1500)
    assert answer.lines[0].cp <= -1000
    assert answer.resign
    assert answer.move in engine.legal_moves()
    assert not think(engine, None, nodes=50).resign


def test_resignation_by_the_chance_to_win(engine: Engine) -> None:
    lost = think(engine, LOST, nodes=1500)
    points = round(500 * (1 + lost.lines[0].wdl.value))
    assert points < 300
    engine.configure(resign_permille=points // 2)
    assert not think(engine, LOST, nodes=1500).resign
    engine.configure(resign_permille=min(1000, 2 * points + 50))
    assert think(engine, LOST, nodes=1500).resign
    assert not think(engine, None, nodes=50).resign


def test_no_resignation_in_an_analysis_or_on_a_ponder_miss(engine: Engine) -> None:
    engine.configure(resign_cp=1000)
    engine.set_position(LOST, [])
    for limits in ({"infinite": True}, {"ponder": True, "nodes": 1500}):
        recorder = go(engine, **limits)
        assert not recorder.done.wait(0.3)
        engine.stop()
        assert not recorder.answer.resign
    assert not go(engine).answer.resign  # without bounds it is an analysis too
    recorder = go(engine, ponder=True, nodes=1500)
    engine.ponderhit()
    assert recorder.answer.resign


def test_the_least_time_is_spent(engine: Engine, clock: FakeClock) -> None:
    engine.ready()
    engine.configure(minimum_ms=400)
    forced = "k8/9/9/9/9/9/9/4+r4/4K4 b - 1"  # one legal move
    clock.tick = 0.001
    answer = think(engine, forced, time=(60_000, 60_000))
    assert answer.move == "5i5h"
    assert 400 <= answer.time_ms < 450


def test_a_short_mate_is_played_at_once_and_its_line_goes_to_the_end(engine: Engine) -> None:
    answer = think(engine, MATE_IN_THREE, nodes=50)
    (line,) = answer.lines
    assert line.mate == 2
    assert len(line.pv) == 3
    assert answer.nodes <= 3
    position = SHOGI.parse_position(MATE_IN_THREE)[0]
    for word in line.pv:
        position = SHOGI.play(position, SHOGI.parse_move(position, word))
    assert not len(SHOGI.legal_moves(position))
    assert position[-1]["checked"]


def test_mate(engine: Engine) -> None:
    answer = think(engine, MATED_SOON, solve=True)
    assert answer.checkmate == Checkmate("mate", ("G*5b",))
    assert answer.move is None
    assert answer.nodes > 0
    answer = think(engine, SHARP, solve=True, movetime=20_000)
    assert answer.checkmate is not None
    assert answer.checkmate.verdict == "mate"
    assert answer.checkmate.moves[0] == "G*2c"
    engine.set_position(SHARP, answer.checkmate.moves)
    assert engine.legal_moves() == []


@pytest.mark.parametrize(
    ("plies", "root"),
    [
        (3, "5k3/7gR/4S4/7L1/9/9/9/9/9 b Sr2b3g2s4n3l18p 1"),
        (3, "4kp+R2/1+B4n2/4p1Sp1/2pps1l1g/1p3PR2/2P6/1GNPP+pN2/3S5/1+lBKG4 b GNL4Psl3p 1"),
        (3, "lns+R4l/1p1p5/p1pkppB1p/6p2/1R7/6P1P/P1PPnPS2/2+b1G1g2/L3K1sNL b 2GS3Pnp 1"),
        (3, "1bk2+SR1l/2g4+R1/G1p1pp3/2nL2p1p/L1G1P4/p4P2P/1P+s+pS1Pb1/6S2/1+p2GK2L b 3P3N2p 1"),
        (5, "pn1+S4l/6R+N1/3p4p/4pp1k1/2p2s3/2PP2bl1/1K2PG1nP/1G1gS3L/+r4PS2 b BNLPg6p 1"),
        (5, "ln6l/3+BRrk2/6pg1/p2G3p1/3PppP1p/PP7/2BGP1N1P/6K2/LN6L b G4SN4P2p 1"),
        *((row["plies"], row["sfen"]) for row in MATES if row["plies"]),
    ],
)
def test_mates_are_as_short_as_can_be(engine: Engine, plies: int, root: str) -> None:
    found = think(engine, root, solve=True).checkmate
    assert found is not None
    assert (found.verdict, len(found.moves)) == ("mate", plies)
    engine.set_position(root, found.moves)
    assert engine.legal_moves() == []


def test_no_mate_of_a_king_that_is_not_there(engine: Engine) -> None:
    answer = think(engine, "4k4/9/9/9/9/9/9/9/9 w G 1", solve=True)
    assert answer.checkmate == Checkmate("nomate")
    assert answer.messages == ("no mate: black has no king",)
    assert think(engine, "4k4/9/9/9/9/9/9/9/9 b G 1", solve=True).messages == ()  # a problem's attacker needs none


def test_no_mate(engine: Engine) -> None:
    for root in (None, "4k4/9/9/9/9/9/9/9/4K4 b G 1", LOST.replace(" b ", " b P ").replace("P -", "P")):
        assert think(engine, root, solve=True).checkmate == Checkmate("nomate")
    engine.set_position("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", [])  # the side to move is mated itself
    assert go(engine, solve=True).answer.checkmate == Checkmate("nomate")


def test_mate_without_a_position(engine: Engine) -> None:
    assert go(engine, solve=True).answer.checkmate == Checkmate("timeout")


def test_a_mate_search_keeps_to_its_time_and_to_stop(engine: Engine, clock: FakeClock) -> None:
    engine.set_position(HARD, [])
    clock.tick = 0.05
    answer = go(engine, solve=True, movetime=300).answer
    assert answer.checkmate == Checkmate("timeout")
    assert answer.time_ms < 500
    recorder = go(engine, solve=True)
    assert not recorder.done.wait(0.2)
    engine.stop()
    assert recorder.answer.checkmate == Checkmate("timeout")
    assert go(engine, solve=True, nodes=10_000).answer.nodes < 30_000
    assert go(engine, solve=True, movetime=0).answer.checkmate == Checkmate("timeout")


def test_games_without_a_mate_search() -> None:
    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=16))
    engine.set_position(None, [])
    assert go(engine, solve=True).answer.checkmate == Checkmate("notimplemented")


def test_the_usual_rules_are_those_of_the_start_position() -> None:
    line = SHOGI.initial()
    before = line.copy()
    EnteringKing().set_rules(line, rule="27", max_plies=0)
    assert np.array_equal(line, before)
    assert not EnteringKing().possible(line)


def test_every_game_knows_its_length() -> None:
    for name in ("chess", "go", "shogi"):
        assert 10 < get_game(name).typical_moves < 200
