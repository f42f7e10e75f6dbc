"""The USI checklist, second part: searching, what is said of it, games that end, odd input; against a fake engine."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from az_engine.engine.engine import Engine
from az_engine.engine.info import BestMove, Checkmate, Line, Wdl
from az_engine.protocols.lines import clean
from az_engine.protocols.loader import EngineSeam
from az_engine.protocols.uci.pending import PendingGo
from az_engine.protocols.uci.report import score
from az_engine.protocols.uci.usi import UsiSession

from ...fakes.clock import FakeClock
from ...fakes.engine import FakeEngine
from ...fakes.waiting import wait_for
from ..talk import READY, UsiTalk

MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
NO_MOVE = "+R+N+SGKG+S+N+R/+B+N+SG+LG+S+N+B/P+LPP+LPP+LP/1P2P2P1/9/9/9/9/4k4 b 9P 200"  # and no check

# --------------------------------------------------------------------------------------------------------------- search


def test_s5_go_in_any_order_with_blacks_clock_first() -> None:
    go, limits = UsiSession.read_go("binc 3 wtime 2 foo ponder byoyomi 5 btime 1 rtime 100 winc 4 depth 6".split())
    assert (limits.time, limits.increment, limits.byoyomi) == ((1 + 3, 2 + 4), (3, 4), 5)  # increments come first
    assert (limits.depth, limits.ponder, limits.infinite, limits.solve) == (6, True, False, False)
    assert (limits.rtime, limits.movetime) == (100, None)
    assert go.complaints == ()
    _, limits = UsiSession.read_go("nodes 7 movetime 9 infinite searchmoves P*5e 7g7f".split())
    assert (limits.nodes, limits.movetime, limits.infinite, limits.searchmoves) == (7, 9, True, ("P*5e", "7g7f"))
    assert UsiSession.read_go(["byoyomi", "0"])[1].bounded
    assert UsiSession.read_go(["byoyomi", "-5"])[1].bounded
    assert not UsiSession.read_go([])[1].bounded


@pytest.mark.parametrize(("moves", "ours"), [("", "btime"), ("moves 7g7f", "wtime")])
def test_s5_the_clock_of_the_side_to_move_counts(moves: str, ours: str) -> None:
    other = {"btime": "wtime", "wtime": "btime"}[ours]
    with UsiTalk() as talk:
        talk.run(READY)
        talk.send(f"position startpos {moves}", f"go {other} 3600000 {ours} 0 byoyomi 0")
        talk.until("bestmove .*")
        assert FakeEngine.made.spent_ms <= 5


@pytest.mark.usefixtures("clock")
def test_s5_byoyomi_and_both_delays_reach_the_engine() -> None:
    with UsiTalk() as talk:
        talk.run(READY)
        talk.send("setoption name NetworkDelay2 value 400", "go btime 0 wtime 0 byoyomi 1000")
        talk.until("bestmove .*")
        assert FakeEngine.made.spent_ms > 400
        assert FakeEngine.made.options.last_overhead_ms == 400
        go = next(call for call in FakeEngine.made.calls if call.startswith("go"))
        assert "byoyomi=1000," in go


def test_s5_waiting_beyond_the_clock_is_taken_from_the_byoyomi(clock: FakeClock) -> None:
    go = PendingGo(UsiSession.read_go("btime 100 wtime 50000 byoyomi 1000".split())[1])
    clock.advance(0.25)
    left = go.limits_left(lambda: 0)
    assert left.time == (-150, 49_750)
    assert left.byoyomi == 850
    go = PendingGo(UsiSession.read_go("btime 5000 wtime 5000 byoyomi 1000".split())[1])
    clock.advance(0.01)
    assert go.limits_left(lambda: 0).byoyomi == 1000


@pytest.mark.parametrize(
    ("clocks", "left"),
    [("btime 0 wtime 60000", [750, 1000]), ("btime 60000 wtime 0", [1000, 750]), ("wtime 100", [750, 850])],
)
def test_s5_the_clock_of_the_mover_alone_decides(clocks: str, left: list[int], clock: FakeClock) -> None:
    go = PendingGo(UsiSession.read_go(f"{clocks} byoyomi 1000".split())[1])
    clock.advance(0.25)
    assert [go.limits_left(partial(int, mover)).byoyomi for mover in (0, 1)] == left


@pytest.mark.parametrize(("moves", "byoyomi"), [("", 1000), (" moves 7g7f", 500)])
def test_s5_a_first_move_that_waits_for_the_net(moves: str, byoyomi: int, clock: FakeClock) -> None:
    gate, before = threading.Event(), getattr(FakeEngine, "made", None)
    with UsiTalk(UsiTalk.broken(gate=gate)) as talk:
        talk.send(f"position startpos{moves}", "go btime 60000 wtime 0 byoyomi 1000")
        wait_for(lambda: getattr(FakeEngine, "made", None) is not before and "ready" in FakeEngine.made.calls)
        clock.advance(0.5)
        gate.set()
        talk.until("bestmove.*")
        assert f"byoyomi={byoyomi}," in next(call for call in FakeEngine.made.calls if call.startswith("go"))


@pytest.mark.parametrize("sfen", [MATED, NO_MOVE], ids=["mated", "no move"])
def test_s6_s10_who_cannot_move_has_lost(sfen: str) -> None:
    UsiTalk.play(f"""
        > position sfen {sfen}
        > go btime 1000 wtime 1000
        < info depth 0 score mate -0
        < bestmove resign
        > go infinite
        . 0.1
        > stop
        < info depth 0 score mate -0
        < bestmove resign
    """)


def test_s6_resignation_and_declaration() -> None:
    UsiTalk.play("> go nodes 10\n<* INFO\n< bestmove resign", UsiTalk.broken(resigns=True))
    won = BestMove(None, win=True, lines=(Line(12800, 1, Wdl(1.0, 0.0, 0.0), 0, 0.0, ()),))
    UsiTalk.play("> go nodes 10\n<* INFO\n< info depth 0 score mate 1\n< bestmove win", UsiTalk.broken(verdict=won))


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (Checkmate("mate", ("P*5c", "5a4a", "G*4b")), r"checkmate P\*5c 5a4a G\*4b"),
        (Checkmate("nomate"), "checkmate nomate"),
        (Checkmate("timeout"), "checkmate timeout"),
        (Checkmate("notimplemented"), "checkmate notimplemented"),
        (None, "checkmate timeout"),
    ],
    ids=["mate", "nomate", "timeout", "notimplemented", "nothing"],
)
def test_s7_go_mate_gets_one_checkmate_line_and_no_bestmove(proof: Checkmate | None, said: str) -> None:
    complaints = {"abc": "needs a whole number, not 'abc'; left out", "-1": "-1 is less than 0; it counts as 0"}
    for how in ("100", "-1", "0", "infinite", "", "abc"):
        stop = "" if how.lstrip("-").isdigit() else "> stop"
        UsiTalk.play(
            f"""
            > go mate {how}
            {f"< info string go: mate {complaints[how]}" if how in complaints else ""}
            {stop}
            <* INFO
            < {said}
            > stop
            > isready
            < readyok
            """,
            UsiTalk.broken(proof=proof),
        )
    limits = UsiSession.read_go(["mate", "5000"])[1]
    assert (limits.solve, limits.movetime, limits.infinite) == (True, 5000, False)
    assert UsiSession.read_go(["mate", "infinite"])[1].movetime is None
    go, limits = UsiSession.read_go(["mate", "-5"])
    assert (limits.movetime, go.complaints) == (0, ("go: mate -5 is less than 0; it counts as 0",))


def test_s7_quit_during_go_mate() -> None:
    with UsiTalk(UsiTalk.broken(proof=Checkmate("timeout"))) as talk:
        talk.run(READY)
        talk.send("go mate infinite", "quit")
        assert [line for line in talk.rest() if not line.startswith("info")] == ["checkmate timeout"]


@pytest.mark.parametrize("search", ["infinite", "ponder btime 60000 wtime 60000 byoyomi 0", "btime 60000 wtime 60000"])
@pytest.mark.parametrize("end", ["gameover lose", "stop\ngameover", "gameover\nstop", "gameover win\ngameover win"])
def test_s8_gameover_ends_the_search_before_the_next_game_begins(search: str, end: str) -> None:
    """ShogiHome skips one bestmove after a game that ended in a search; Shogidokoro sends no stop."""
    with UsiTalk() as talk:
        talk.run(READY)
        talk.send("position startpos moves 7g7f", f"go {search}")
        talk.until(UsiTalk.info)
        talk.send(*end.split("\n"), "isready", "usinewgame", "position startpos", "go nodes 10")
        answers = [line for line in talk.until(UsiTalk.best) if not line.startswith("info")]
        assert answers == [UsiTalk.reply, "readyok", UsiTalk.best]


def test_s8_gameover_while_idle_or_still_loading() -> None:
    gate = threading.Event()
    with UsiTalk(UsiTalk.broken(gate=gate)) as talk:
        talk.send("gameover", "gameover draw", "go infinite", "gameover lose", "isready")
        gate.set()
        assert [line for line in talk.until("readyok") if not line.startswith("info")] == [UsiTalk.best, "readyok"]


def test_s9_clocks_after_ponderhit_count_when_there_were_none() -> None:
    """An early `go ponder`, sent before the opponent's clock is known."""
    with UsiTalk() as talk:
        talk.run(READY)
        for clock in ("btime 0 wtime 0 byoyomi 300", "movetime 1 btime 0 wtime 0"):
            talk.send("go ponder")
            talk.until(UsiTalk.info)
            talk.send(f"ponderhit {clock}")
            talk.until(UsiTalk.best)
            assert FakeEngine.made.spent_ms <= 300
        talk.send("go ponder", "ponderhit btime 99999999 wtime 0", "stop")
        talk.until(UsiTalk.best)


def test_stochastic_ponder_searches_all_replies() -> None:
    """It ponders on the position before the expected reply, and goes on with that tree when the reply is known."""
    with UsiTalk() as talk:
        talk.run(READY)
        talk.send("setoption name Stochastic_Ponder value true")
        for end, limits in (("ponderhit", "ponder=False"), ("stop", "ponder=True")):
            FakeEngine.made.calls.clear()
            talk.send("position startpos moves 7g7f 8c8d", "go ponder movetime 20", "isready")
            assert talk.until("readyok") == ["readyok"]  # nothing is reported of another position
            talk.send(end)
            assert talk.until(UsiTalk.best)[-1].startswith("bestmove 1g1f")  # black's
            calls = [call for call in FakeEngine.made.calls if call.startswith(("set_position", "go"))]
            assert [call for call in calls if call.startswith("set")] == [
                "set_position start 7g7f 8c8d",
                "set_position start 7g7f",
                "set_position start 7g7f 8c8d",
            ]
            early, last = (call for call in calls if call.startswith("go"))
            assert "infinite=True" in early
            assert limits in last
        talk.send("go ponder movetime 20", "stop", "ponderhit")
        talk.until(UsiTalk.best)
        talk.send("position startpos", "go ponder movetime 20", "ponderhit")  # no reply to leave out
        talk.until(UsiTalk.best)
        assert not any("infinite=True" in call for call in FakeEngine.made.calls[-2:])
        talk.run("> isready\n< readyok")


def test_u25_ponder_waits_even_when_mated() -> None:
    UsiTalk.play(f"""
        > position sfen {MATED}
        > go ponder btime 1 wtime 1
        . 0.15
        > ponderhit
        < info depth 0 score mate -0
        < bestmove resign
    """)


def test_perft() -> None:
    UsiTalk.play("""
        > go perft 1
        <* \\w\\w\\w\\w: 1
        <
        < Nodes searched: 30
    """)


# ----------------------------------------------------------------------------------------------------------------- info


def test_s6_mates_are_counted_in_plies() -> None:
    wdl = Wdl(1.0, 0.0, 0.0)
    said = {moves: score(Line(0, moves, wdl, 1, 0.1, ()), mate=UsiSession.mate) for moves in (1, 2, 3, -1, -2, 0)}
    assert said == {
        1: "score mate 1",
        2: "score mate 3",
        3: "score mate 5",
        -1: "score mate -2",
        -2: "score mate -4",
        0: "score mate -0",
    }


def test_chances_only_when_asked_for() -> None:
    with UsiTalk() as talk:
        talk.run(READY)
        talk.send("go nodes 10")
        assert not any("wdl" in line for line in talk.until("bestmove.*"))
        talk.send("setoption name ShowWDL value true", "go nodes 10")
        assert " wdl " in talk.until("bestmove.*")[0]


# ----------------------------------------------------------------------------------------------------------- robustness


_WORDS = st.sampled_from(
    "usi isready setoption position go stop ponderhit usinewgame gameover debug name value USI_Hash startpos sfen "
    "moves ponder btime wtime byoyomi nodes depth mate movetime infinite searchmoves 0 1 -1 50 1000 7g7f P*5e 3c3d "
    "lose quit 4k4/9/9/9/9/9/9/9/4K4 b w - 18P #".split()
)
_LINES = st.one_of(
    st.lists(_WORDS, max_size=8).map(" ".join),
    st.lists(_WORDS, max_size=5).map(lambda words: " ".join(["go", *words])),
    st.text(max_size=20).filter(lambda text: "perft" not in text),
)


@settings(max_examples=50)
@given(st.lists(_LINES, max_size=12))
def test_whatever_comes_there_is_one_answer_to_each_go(lines: list[str]) -> None:
    wanted: list[str] = []
    with UsiTalk() as talk:
        talk.raw("".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))
        talk.close_input()
        said = talk.rest()
        commands = talk.session.commands
    for line in "\n".join(lines).split("\n"):
        words = clean(line.encode("utf-8", "surrogatepass")).split()
        first = next((i for i, word in enumerate(words) if word in commands), None)
        if first is None or words[0].startswith("#"):
            continue
        if words[first] == "quit":
            break
        if words[first] == "go":
            wanted.append("checkmate" if UsiSession.read_go(words[first + 1 :])[1].solve else "bestmove")
    assert [line.split()[0] for line in said if line.startswith(("bestmove ", "checkmate "))] == wanted


def test_the_real_engine_fits_the_seam() -> None:
    seam: EngineSeam = Engine("shogi")
    seam.close()
