"""The UCI checklist, second part: searching and what is said of it; against a fake engine."""

from __future__ import annotations

import re

import pytest

from az_engine.engine.info import Line, Wdl
from az_engine.protocols.options import BY_KEY
from az_engine.protocols.uci.report import SCORES, score
from az_engine.protocols.uci.uci import UciSession

from ..talk import READY, Talk

# --------------------------------------------------------------------------------------------------------------- search


def test_u23_go_in_any_order() -> None:
    _, limits = UciSession.read_go(
        "binc 4 searchmoves e2e4 d2d4 wtime 1 foo ponder btime 2 winc 3 movestogo 5 depth 6".split()
    )
    assert limits.time == (1, 2)
    assert limits.increment == (4 - 1, 4)
    assert (limits.movestogo, limits.depth, limits.ponder, limits.infinite) == (5, 6, True, False)
    assert limits.searchmoves == ("e2e4", "d2d4", *("1", "foo")[2:])
    more, limits = UciSession.read_go("nodes 7 bar mate 8 movetime 9 infinite".split())
    assert (limits.nodes, limits.mate, limits.movetime, limits.infinite) == (7, 8, 9, True)
    assert more.complaints == ()
    assert UciSession.read_go(["perft", "3"])[0].numbers["perft"] == 3


@pytest.mark.parametrize("mate", [0, -1])
def test_no_mate_is_shorter_than_one_move(mate: int) -> None:
    Talk.play(f"""
        > go mate {mate}
        < info string go: mate {mate} is less than 1; one node is searched
        <* INFO
        < BEST
    """)


def test_u25_infinite_and_ponder_wait_even_when_mated() -> None:
    for how in ("infinite", "ponder", "ponder wtime 1 btime 1", "infinite nodes 1 movetime 1"):
        Talk.play(rf"""
            > position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1
            > go {how}
            . 0.15
            > stop
            < info depth 0 score mate 0
            < bestmove \(none\)
        """)


@pytest.mark.parametrize(
    ("fen", "said"), [("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "mate 0"), ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0")]
)
def test_u32_no_legal_move(fen: str, said: str) -> None:
    Talk.play(rf"""
        > position fen {fen}
        > go wtime 1000 btime 1000
        < info depth 0 score {said}
        < bestmove \(none\)
    """)


def test_u33_searchmoves() -> None:
    Talk.play("""
        > go nodes 10 searchmoves h2h4 e2e5 h2h3
        <* INFO
        < bestmove h2h3 ponder a7a5
        > go searchmoves e2e5 nodes 10
        < info string no legal searchmoves: all moves are searched
        <* INFO
        < BEST
    """)


# ----------------------------------------------------------------------------------------------------------------- info


def test_u39_scores_and_chances() -> None:
    wdl = Wdl(0.3333, 0.3333, 0.3334)
    assert score(Line(10**9, None, wdl, 1, 0.1, ("e2e4",))) == "score cp 32000"
    assert score(Line(-5, -2, wdl, 1, 0.1, ("e2e4",)), show_wdl=True) == "score mate -2 wdl 333 334 333"
    even = Line(54, None, Wdl(0.5, 0.25, 0.25), 1, 0.1, ("e2e4",), mean=0.1234)
    shown = {kind: int(score(even, scores=kind).split()[2]) for kind in SCORES}
    assert shown == {"WDL_mu": 54, "centipawn": 37, "win_percentage": 6250, "W-L": 2500, "Q": 1234}
    assert set(SCORES) == set(BY_KEY["score_type"].choices)
    with Talk() as talk:
        talk.run(READY)
        talk.send("setoption name ScoreType value win_percentage", "go nodes 10")
        chances = re.search(r" score cp (\d+) nodes ", talk.until("bestmove.*")[0])
        assert chances
        assert int(chances[1]) > 5000
        talk.send("setoption name ScoreType value WDL_mu")
        talk.send("setoption name UCI_ShowWDL value true", "go nodes 10")
        line = talk.until("bestmove.*")[0]
        chances = re.search(r" score cp 30 wdl (\d+) (\d+) (\d+) nodes ", line)
        assert chances
        assert sum(map(int, chances.groups())) == 1000


def test_verbose_move_stats_are_lc0s_lines() -> None:
    edge = (
        r"info string \w{4,5} +\(\d+ *\) N: +\d+ \(\+ 0\) \(P: +[\d.]+%\) \(WL: +(-?\d\.\d{5}|-\.-----)\) "
        r"\(D: +(\d\.\d{3}|-\.---)\) \(M:  -\.-\) \(Q: +-?\d\.\d{5}\) \(U: +\d\.\d{5}\) \(S: +-?\d\.\d{5}\) "
        r"\(V: +(-?\d\.\d{4}|-\.----)\)( \(T\))?"
    )
    node = edge.replace(r"\w{4,5} +", "node  ").replace(r"\(U: +\d\.\d{5}\) \(S: +-?\d\.\d{5}\) ", "")
    with Talk() as talk:
        talk.run(READY)
        talk.send("setoption name VerboseMoveStats value true", "go nodes 500")
        lines = talk.until("bestmove.*")
        stats = [line for line in lines if line.startswith("info string")]
        assert [bool(re.fullmatch(edge, line)) for line in stats] == [True] * 20 + [False]
        assert re.fullmatch(node, stats[-1]), stats[-1]
        assert lines.index(stats[0]) == len(lines) - 23
        assert stats[-2].startswith("info string a2a3 "), "the best move comes last"
        talk.send("setoption name LogLiveStats value true", "go nodes 500")
        assert sum(line.startswith("info string node") for line in talk.until("bestmove.*")) > 1


def test_perft() -> None:
    Talk.play("""
        > position fen 4k3/8/8/8/8/8/8/4K3 w - - 0 1
        > go perft 2
        <* e1\\w\\w: 5
        <
        < Nodes searched: 25
        > go perft 0
        < info string go perft needs a depth of 1 to 100
        > go perft 1000000000000
        < info string go perft needs a depth of 1 to 100
    """)


@pytest.mark.parametrize("end", ["stop", "quit"])
def test_perft_can_be_stopped(end: str) -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.send("go perft 99", "go perft 98", "go nodes 10")
        talk.silence(0.1)
        talk.send(end)
        lines = talk.until("bestmove.*") if end == "stop" else talk.rest()
        assert lines[:2] == ["info string go perft 99 was stopped", "info string go perft 98 was stopped"]
        assert lines[-1].startswith("bestmove")
