"""The UCI checklist, second part: searching and what is said of it; against a fake engine."""

from __future__ import annotations

import re

import pytest

from az_engine.engine.clock import Stopwatch
from az_engine.engine.info import Line, Wdl
from az_engine.protocols.go_command import score
from az_engine.protocols.uci import UciSession

from ..fakes.engine import FakeEngine, faulty
from .talk import INFO, READY, Talk, play

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


def test_u24_one_bestmove_after_an_info_with_score_and_pv() -> None:
    for make in (FakeEngine, faulty(silent=True)):
        with Talk(make) as talk:
            talk.run(READY)
            talk.send("go nodes 120")
            *infos, best = talk.until("bestmove.*")
            assert re.fullmatch(INFO, infos[-1])
            assert infos[-1].split(" pv ")[1].split()[0] == best.split()[1]


def test_u25_infinite_and_ponder_wait_even_when_mated() -> None:
    for how in ("infinite", "ponder", "ponder wtime 1 btime 1", "infinite nodes 1 movetime 1"):
        play(rf"""
            > position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1
            > go {how}
            . 0.15
            > stop
            < info depth 0 score mate 0
            < bestmove \(none\)
        """)


def test_u26_stop_when_idle_twice_and_late() -> None:
    play(f"""
        > stop
        . 0.05
        > go infinite
        > stop
        > stop
        <* {INFO}
        < bestmove a2a3 ponder a7a5
        > stop
        . 0.05
        > go nodes 10
        <* {INFO}
        < bestmove a2a3 ponder a7a5
        > stop
        . 0.05
    """)


def test_u27_ponderhit_counts_from_the_hit_and_is_else_ignored() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.run("> ponderhit\n. 0.05\n> go ponder movetime 200")
        talk.until(INFO.replace(r"nodes \d+", r"nodes \d{4,}"))  # it has pondered for 100 ms and more
        talk.send("ponderhit", "ponderhit")
        talk.until("bestmove a2a3 ponder a7a5")
        assert 100 < FakeEngine.made.spent_ms <= 200
        assert FakeEngine.made.calls.count("ponderhit") == 1


def test_u28_u29_stop_in_ponder_then_isready_then_the_next_search() -> None:
    play(f"""
        > go ponder wtime 1000 btime 1000
        > stop
        > isready
        <* ({INFO}|readyok)
        < bestmove a2a3 ponder a7a5
        > position startpos moves e2e4
        > go nodes 10
        <* ({INFO}|readyok)
        < bestmove a7a5 ponder a2a3
    """)


def test_u30_a_second_go_ends_an_endless_first_one_and_lets_a_bounded_one_finish() -> None:
    play(f"""
        > go infinite
        > position startpos moves e2e4
        > go nodes 10
        <* {INFO}
        < bestmove a2a3 ponder a7a5
        <* {INFO}
        < bestmove a7a5 ponder a2a3
        > go nodes 100
        > go nodes 200
        > go ponder
        > go infinite
        <* {INFO}
        < bestmove a7a5 ponder a2a3
        <* {INFO}
        < bestmove a7a5 ponder a2a3
        <* {INFO}
        < bestmove a7a5 ponder a2a3
        > stop
        <* {INFO}
        < bestmove a7a5 ponder a2a3
    """)


def test_u31_position_and_ucinewgame_during_a_search() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.run(f"""
            > go infinite
            > ucinewgame
            > position startpos moves e2e4
            > isready
            <* {INFO}
            < readyok
            > stop
            <* {INFO}
            < bestmove a2a3 ponder a7a5
            > go nodes 10
            <* {INFO}
            < bestmove a7a5 ponder a2a3
        """)
        assert FakeEngine.made.calls.index("new_game") > FakeEngine.made.calls.index("stop")


@pytest.mark.parametrize(
    ("fen", "said"), [("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "mate 0"), ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0")]
)
def test_u32_no_legal_move(fen: str, said: str) -> None:
    play(rf"""
        > position fen {fen}
        > go wtime 1000 btime 1000
        < info depth 0 score {said}
        < bestmove \(none\)
    """)


def test_u33_searchmoves() -> None:
    play(f"""
        > go nodes 10 searchmoves h2h4 e2e5 h2h3
        <* {INFO}
        < bestmove h2h3 ponder a7a5
        > go searchmoves e2e5 nodes 10
        < info string no legal searchmoves: all moves are searched
        <* {INFO}
        < bestmove a2a3 ponder a7a5
    """)


@pytest.mark.parametrize(
    "clock",
    [
        "movetime 0",
        "movetime -5",
        "movetime 1",
        "wtime 0 btime 0",
        "wtime -100 btime 1000",
        "wtime 0 btime 0 winc 0 binc 0 movestogo 1",
        "btime 60000",
        "winc 1000 binc 1000",
        "nodes 0",
        "nodes -1",
        "depth 0",
        "depth -3",
        "mate 0",
        "mate -1",
        "nodes 1",
        "movetime 0 nodes 1000000",
    ],
)
def test_u34_u36_the_smallest_limits_give_a_move_at_once(clock: str) -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.send("go " + clock)
        talk.until("bestmove a2a3 ponder a7a5")
        assert FakeEngine.made.spent_ms <= 5


def test_u37_numbers_beyond_64_bits_and_garbage() -> None:
    go, limits = UciSession.read_go(f"nodes {10**30} depth -{10**30} movetime abc wtime".split())
    assert (limits.nodes, limits.depth, limits.movetime, limits.time) == (2**63 - 1, 1, None, (None, None))
    assert len(go.complaints) == 2
    play(f"""
        > go depth x
        < info string go: depth needs a whole number, not 'x'; left out
        > isready
        <* {INFO}
        < readyok
        > stop
        <* {INFO}
        < bestmove a2a3 ponder a7a5
        > go nodes depth 10 movetime 1e3
        < info string go: nodes needs a whole number, not ''; left out
        < info string go: movetime needs a whole number, not '1e3'; left out
        <* {INFO}
        < bestmove a2a3 ponder a7a5
    """)


def test_u38_no_info_after_bestmove() -> None:
    with Talk() as talk:
        talk.run(READY)
        for _ in range(20):
            talk.send("go nodes 60")
            talk.until("bestmove.*")
            talk.run("> isready\n< readyok")


# ----------------------------------------------------------------------------------------------------------------- info


def test_u39_scores_and_chances() -> None:
    wdl = Wdl(0.3333, 0.3333, 0.3334)
    assert score(Line(10**9, None, wdl, 1, 0.1, ("e2e4",))) == "score cp 32000"
    assert score(Line(-5, -2, wdl, 1, 0.1, ("e2e4",)), show_wdl=True) == "score mate -2 wdl 333 334 333"
    with Talk() as talk:
        talk.run(READY)
        talk.send("setoption name UCI_ShowWDL value true", "go nodes 10")
        line = talk.until("bestmove.*")[0]
        chances = re.search(r" score cp 30 wdl (\d+) (\d+) (\d+) nodes ", line)
        assert chances
        assert sum(map(int, chances.groups())) == 1000


def test_u40_u41_multipv_blocks_stay_together_and_pv_is_last() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.send("setoption name MultiPV value 500", "go nodes 2000", "isready", "isready")
        lines = [line for line in talk.until("bestmove.*")[:-1] if line != "readyok"]
        ranks = [int(line.split()[6]) for line in lines]
        assert len(ranks) % 20 == 0
        assert ranks == [*range(1, 21)] * (len(ranks) // 20)
        assert all(re.fullmatch(INFO, line) for line in lines)


def test_u44_reports_are_at_most_twenty_a_second() -> None:
    with Talk() as talk:
        talk.run(READY)
        watch = Stopwatch()
        talk.send("go nodes 10000")
        lines = talk.until("bestmove.*")
        assert len(lines) - 1 <= 20 * watch.seconds + 2


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
    play("""
        > position fen 4k3/8/8/8/8/8/8/4K3 w - - 0 1
        > go perft 2
        <* e1\\w\\w: 5
        <
        < Nodes searched: 25
        > go perft 0
        < info string go perft needs a depth of at least 1
    """)
