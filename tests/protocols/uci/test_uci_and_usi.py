"""What UCI and USI have in common; fake engines. U1, U2, ... in the names are UCI's checklist, S1, ... USI's."""

from __future__ import annotations

import re
import threading

import pytest

from az_engine.engine.clock import Stopwatch
from az_engine.engine.errors import NetError

from ...fakes.engine import FakeEngine
from ..talk import READY, Talk, UsiTalk

pytestmark = pytest.mark.parametrize("kind", [Talk, UsiTalk], ids=["uci", "usi"])

# ---------------------------------------------------------------------------------------------------- start, identity


def test_u1_u2_s1_nothing_is_written_or_loaded_before_the_greeting_which_can_be_repeated(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.silence(0.1)
        before = threading.active_count()
        talk.send(kind.protocol)
        first = talk.until(f"{kind.protocol}ok")
        assert threading.active_count() == before
        talk.send(kind.protocol)
        assert talk.until(f"{kind.protocol}ok") == first
    assert first[0].startswith("id name az-engine")
    assert first[1].startswith("id author ")
    assert {line.split()[0] for line in first[2:-1]} == {"option"}


def test_u3_quit_right_after_the_greeting(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.send(kind.protocol, "quit")
        talk.rest()


def test_u4_s1_every_option_line_is_well_formed(kind: type[Talk]) -> None:
    patterns = {
        "check": r"default (true|false)",
        "spin": r"default -?\d+ min -?\d+ max -?\d+",
        "combo": r"default \S+( var \S+)+",
        "button": r"",
        "string": r"default \S.*",
    }
    name = ".+?"
    if kind is UsiTalk:
        patterns["filename"], name = patterns["string"], r"\S+"
    with kind() as talk:
        talk.send(kind.protocol)
        options = talk.until(f"{kind.protocol}ok")[2:-1]
    for line in options:
        match = re.fullmatch(rf"option name ({name}) type ({'|'.join(patterns)})(?: (.*))?", line)
        assert match, line
        assert not {"name", "value"} & set(match[1].split())
        assert re.fullmatch(patterns[match[2]], match[3] or ""), line
        if match[2] == "spin":
            default, low, high = (int(n) for n in re.findall(r"-?\d+", match[3]))
            assert low <= default <= high


NAMES = {  # that GUIs and tools expect
    "uci": "Hash, Clear Hash, Threads, MultiPV, Ponder, Move Overhead, UCI_Chess960, UCI_AnalyseMode, UCI_ShowWDL, "
    "UCI_LimitStrength, UCI_Elo, WeightsFile, NodesLimit, BatchSize, Provider, CPuct, FpuStrategy, FpuValue, "
    "PolicyTemperature, MatePlies, VerboseMoveStats, LogFile",
    "usi": "USI_Hash, USI_Ponder, MultiPV, Threads, NetworkDelay, NetworkDelay2, MinimumThinkingTime, MaxMovesToDraw, "
    "EnteringKingRule, Eval_Coef, ResignValue, Resign_Threshold, NodesLimit, DNN_Model, DNN_Batch_Size, "
    "GenerateAllLegalMoves, Provider, CPuct, FpuStrategy, FpuValue, PolicyTemperature, MatePlies, Temperature, "
    "ConsiderationMode, VerboseMoveStats, LogFile",
}


def test_u5_s1_s11_the_names_that_programs_expect(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.send(kind.protocol)
        offered = {line.split(" type ")[0].removeprefix("option name ") for line in talk.until(f"{kind.protocol}ok")}
    assert set(NAMES[kind.protocol].split(", ")) <= offered


# -------------------------------------------------------------------------------------------------------- synchronising


def test_u6_isready_before_the_greeting_and_when_the_net_fails(kind: type[Talk]) -> None:
    kind.play(READY, ready=False)
    kind.play(
        f"""
        > setoption name {kind.weights_option} value missing.onnx
        > isready
        < info string missing.onnx: there is no such file
        < info string going on with the embedded net
        < readyok
        """,
        ready=False,
    )


def test_u6_isready_during_a_search_is_answered_at_once_and_does_not_stop_it(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.run(READY)
        talk.send("go infinite")
        for _ in range(20):
            talk.run("> isready\n<* INFO\n< readyok")
        assert "stop" not in FakeEngine.made.calls
        talk.run("> stop\n<* INFO\n< BEST")


def test_u8_a_thousand_isready(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.send(*["isready"] * 1000)
        talk.expect("info string playing with .*")
        for _ in range(1000):
            talk.expect("readyok")


def test_sentences_keep_a_gui_waiting_during_a_long_load(kind: type[Talk], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind.kind, "keep_alive_s", 0.05)
    gate = threading.Event()
    with kind(kind.broken(gate=gate, progress=("compiling the rules",))) as talk:
        talk.run("> isready\n< info string compiling the rules")
        for _ in range(3):
            talk.expect("info string still busy")
        gate.set()
        talk.run("<* info string still busy\n< info string playing with the embedded net\n< readyok")


# --------------------------------------------------------------------------------------------------------------- search


@pytest.mark.parametrize("silent", [False, True])
def test_u24_one_bestmove_after_an_info_with_score_and_pv(kind: type[Talk], silent: bool) -> None:
    with kind(kind.broken(silent=silent)) as talk:
        talk.run(READY)
        talk.send("go nodes 120")
        *infos, best = talk.until("bestmove.*")
        assert re.fullmatch(kind.info, infos[-1])
        assert infos[-1].split(" pv ")[1].split()[0] == best.split()[1]


def test_u26_stop_when_idle_twice_and_late(kind: type[Talk]) -> None:
    kind.play("""
        > stop
        . 0.05
        > go infinite
        > stop
        > stop
        <* INFO
        < BEST
        > stop
        . 0.05
        > go nodes 10
        <* INFO
        < BEST
        > stop
        . 0.05
    """)


def test_u27_s9_ponderhit_counts_from_the_hit_and_is_else_ignored(kind: type[Talk]) -> None:
    clocks = "btime 99999999 wtime 99999999 byoyomi 99999 foo" if kind is UsiTalk else ""
    with kind() as talk:
        talk.run(READY)
        talk.run("> ponderhit btime 100 wtime 100\n. 0.05\n> go ponder movetime 200")
        talk.until(kind.info.replace(r"nodes \d+", r"nodes \d{4,}"))  # it has pondered for 100 ms and more
        talk.send(f"ponderhit {clocks}", "ponderhit")
        talk.until(kind.best)
        assert 50 < FakeEngine.made.spent_ms <= 200
        assert FakeEngine.made.calls.count("ponderhit") == 1


def test_u28_u29_stop_in_ponder_then_isready_then_the_next_search(kind: type[Talk]) -> None:
    kind.play(f"""
        > go ponder wtime 1000 btime 1000
        > stop
        > isready
        <* ({kind.info}|readyok)
        < BEST
        > position startpos moves {kind.first_move}
        > go nodes 10
        <* ({kind.info}|readyok)
        < REPLY
    """)


def test_u30_a_second_go_ends_an_endless_first_one_and_lets_a_bounded_one_finish(kind: type[Talk]) -> None:
    kind.play(f"""
        > go infinite
        > position startpos moves {kind.first_move}
        > go nodes 10
        <* INFO
        < BEST
        <* INFO
        < REPLY
        > go nodes 100
        > go nodes 200
        > go ponder
        > go infinite
        <* INFO
        < REPLY
        <* INFO
        < REPLY
        <* INFO
        < REPLY
        > stop
        <* INFO
        < REPLY
    """)


def test_u31_position_and_a_new_game_during_a_search(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.run(READY)
        talk.run(f"""
            > go infinite
            > {kind.protocol}newgame
            > position startpos moves {kind.first_move}
            > setoption name MultiPV value 1
            > isready
            <* INFO
            < readyok
            > stop
            <* INFO
            < BEST
            > go nodes 10
            <* INFO
            < REPLY
        """)
        assert FakeEngine.made.calls.index("new_game") > FakeEngine.made.calls.index("stop")


@pytest.mark.parametrize(
    "clock",
    [
        "movetime 0",
        "movetime -5",
        "movetime 1",
        "OURS 0 THEIRS 0",
        "OURS -100 THEIRS 1000",
        "OURS 0 THEIRS 0 winc 0 binc 0",
        "THEIRS 60000",
        "winc 5 binc 5",
        "nodes 0",
        "nodes -1",
        "depth 0",
        "depth -3",
        "nodes 1",
        "movetime 0 nodes 1000000",
    ],
)
def test_u34_u36_the_smallest_limits_give_a_move_at_once(kind: type[Talk], clock: str) -> None:
    ours, theirs = ("wtime", "btime") if kind is Talk else ("btime", "wtime")
    with kind() as talk:
        talk.run(READY)
        talk.send("go " + clock.replace("OURS", ours).replace("THEIRS", theirs))
        talk.until(kind.best)
        assert FakeEngine.made.spent_ms <= 5


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("nodes -5", "nodes -5 is less than 1; it counts as 1"),
        ("nodes 0", "nodes 0 is less than 1; it counts as 1"),
        ("depth -1", "depth -1 is less than 1; it counts as 1"),
        ("movetime -100", "movetime -100 is less than 0; it counts as 0"),
        ("wtime 60000 btime 60000 winc -5", "winc -5 is less than 0; it counts as 0"),
    ],
)
def test_u36_what_is_less_than_the_least_is_told(kind: type[Talk], words: str, complaint: str) -> None:
    kind.play(f"""
        > go {words}
        < info string go: {complaint}
        <* INFO
        < BEST
    """)


def test_u36_clocks_that_have_run_out_are_no_fault(kind: type[Talk]) -> None:
    go, limits = kind.kind.read_go("wtime -5 btime -7 winc 0 binc 0 movetime 0 movestogo 0 byoyomi 0".split())
    assert go.complaints == ()
    assert {*limits.time} == {-7, -5}


def test_u37_numbers_beyond_64_bits_and_garbage(kind: type[Talk]) -> None:
    go, limits = kind.kind.read_go(f"nodes {10**30} depth -{10**30} movetime abc btime".split())
    assert (limits.nodes, limits.depth, limits.movetime, limits.time) == (2**63 - 1, 1, None, (None, None))
    assert len(go.complaints) == 3
    kind.play("""
        > go depth x
        < info string go: depth needs a whole number, not 'x'; left out
        > isready
        <* INFO
        < readyok
        > stop
        <* INFO
        < BEST
        > go nodes depth 10 movetime 1e3
        < info string go: nodes needs a whole number, not ''; left out
        < info string go: movetime needs a whole number, not '1e3'; left out
        <* INFO
        < BEST
    """)


def test_u38_no_info_after_bestmove(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.run(READY)
        for _ in range(20):
            talk.send("go nodes 60")
            talk.until("bestmove.*")
            talk.run("> isready\n< readyok")


def test_u40_u41_multipv_blocks_stay_together_and_pv_is_last(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.run(READY)
        talk.send("setoption name MultiPV value 500", "go nodes 2000", "isready", "isready")
        lines = [line for line in talk.until("bestmove.*")[:-1] if line != "readyok"]
        ranks, moves = [int(line.split()[6]) for line in lines], len(FakeEngine.made.legal_moves())
        assert moves == {"uci": 20, "usi": 30}[kind.protocol]
        assert len(ranks) % moves == 0
        assert ranks == [*range(1, moves + 1)] * (len(ranks) // moves)
        assert all(re.fullmatch(kind.info, line) for line in lines)


def test_u44_reports_are_at_most_twenty_a_second(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.run(READY)
        watch = Stopwatch()
        talk.send("go nodes 10000")
        lines = talk.until("bestmove.*")
        assert len(lines) - 1 <= 20 * watch.seconds + 2


@pytest.mark.parametrize(
    ("go", "end"),
    [
        ("infinite", "stop"),
        ("ponder", "stop"),
        ("ponder wtime 1000 btime 1000", "ponderhit"),
        ("ponder infinite", "ponderhit\n> stop"),
        ("infinite", "go nodes 10"),
    ],
)
def test_u25_an_endless_search_waits_even_without_a_position(kind: type[Talk], go: str, end: str) -> None:
    none = "< info depth 0 score cp 0\n< bestmove (\\(none\\)|resign)"
    with kind() as talk:
        talk.run(f"""
            > position startpos moves e9e9
            < info string .+
            > isready
            < info string playing with the embedded net
            < readyok
            > go {go}
            < info string no move: .+
            > isready
            < readyok
            > position startpos moves {kind.first_move}
            . 0.1
        """)
        talk.run(f"> {end}\n{none}")
        if end.startswith("go"):
            talk.until(kind.reply)
        talk.run("> go nodes 10\n<* INFO\n< REPLY")


@pytest.mark.parametrize("end", ["quit", "EOF"])
def test_u25_the_end_answers_an_endless_search_without_a_position(kind: type[Talk], end: str) -> None:
    with kind() as talk:
        talk.run(READY)
        talk.run("> position startpos moves e9e9\n< info string .+\n> go infinite\n< info string no move: .+")
        if end == "quit":
            talk.send(end)
        else:
            talk.close_input()
        assert sum(line.startswith("bestmove") for line in talk.rest()) == 1


# ----------------------------------------------------------------------------------------------------- input and faults


def test_u45_u46_unknown_words_line_ends_blanks_comments_bytes(kind: type[Talk]) -> None:
    with kind() as talk:
        talk.run(READY)
        talk.raw(b"\xef\xbb\xbfisready\r\n\r\n\n   \t \n# isready\n#isready\n  isready \t\r\n")
        talk.raw(b"\xff\xfe\x80 isready\nis\x00re\x07ady\n\x1b[31m\nISREADY\nfoo bar\n")
        talk.run("< readyok\n< readyok\n< readyok\n< readyok\n. 0.05")


@pytest.mark.parametrize("end", ["quit", "EOF"])
def test_u47_s15_the_end_of_input_and_quit_during_an_endless_search(kind: type[Talk], end: str) -> None:
    with kind() as talk:
        talk.run(READY)
        talk.send("go infinite")
        talk.until(kind.info)
        if end == "quit":
            talk.send(end)
        else:
            talk.close_input()
        assert talk.rest()[-1] == kind.best
        assert talk.status() == 0


def test_without_any_net_the_search_does_without(kind: type[Talk]) -> None:
    kind.play(
        """
        > isready
        < info string the net inside the package is damaged: install az-engine again
        < info string going on with uniform
        < readyok
        > isready
        < readyok
        > go nodes 10
        <* INFO
        < BEST
        > setoption name WeightsFile value good.onnx
        > go nodes 10
        < info string playing with good.onnx
        <* INFO
        < BEST
        """,
        kind.broken(embedded_is_broken=True),
        ready=False,
    )


def test_a_net_that_fails_in_the_search_is_reported_and_the_engine_lives(kind: type[Talk]) -> None:
    kind.play(
        """
        > go nodes 10
        < info string the net gives NaN
        < INFO
        < BEST
        > isready
        < readyok
        """,
        kind.broken(faults={"think": NetError("the net gives NaN")}),
    )
