"""The UCI checklist, statement by statement (U1, U2, ... in the names), against a fake engine."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

import pytest

from az_engine.engine.clock import Stopwatch
from az_engine.engine.errors import NetError, OptionError
from az_engine.engine.info import Line, Wdl
from az_engine.protocols import session as session_module
from az_engine.protocols.thinking import score
from az_engine.protocols.uci import read_go, read_setoption

from .fake_engine import FakeEngine, faulty
from .talk import Talk, within

INFO = r"info depth \d+ seldepth \d+ multipv \d+ score cp -?\d+ nodes \d+ nps \d+ hashfull \d+ time \d+ pv( \w+)+"
READY = """
> isready
< info string the net is embedded.*
< readyok
"""


def play(transcript: str, make: Callable[..., FakeEngine] = FakeEngine, *, ready: bool = True, status: int = 0) -> None:
    """Play a transcript in a session of its own, after `isready` unless told otherwise."""
    with Talk(make, status=status) as talk:
        if ready:
            talk.run(READY)
        talk.run(transcript)


# ---------------------------------------------------------------------------------------------------- start, identity


def test_u1_nothing_is_said_before_the_first_line_and_no_thread_or_engine_is_made() -> None:
    with Talk() as talk:
        talk.silence(0.1)
        before = threading.active_count()
        talk.send("uci")
        talk.until("uciok")
        assert threading.active_count() == before


def test_u2_the_greeting_can_be_repeated() -> None:
    with Talk() as talk:
        talk.send("uci")
        first = talk.until("uciok")
        talk.send("uci")
        assert talk.until("uciok") == first
    kinds = [line.split()[0:2] for line in first[:2]] + [[line.split()[0]] for line in first[2:]]
    assert kinds[:2] == [["id", "name"], ["id", "author"]]
    assert {kind[0] for kind in kinds[2:-1]} == {"option"}
    assert first[0].startswith("id name az-engine")


def test_u3_quit_right_after_the_greeting() -> None:
    with Talk() as talk:
        talk.send("uci", "quit")
        within(1.0, talk.rest)


def test_u4_every_option_line_is_well_formed() -> None:
    patterns = {
        "check": r"default (true|false)",
        "spin": r"default -?\d+ min -?\d+ max -?\d+",
        "combo": r"default \S+( var \S+)+",
        "button": r"",
        "string": r"default \S.*",
    }
    with Talk() as talk:
        talk.send("uci")
        options = talk.until("uciok")[2:-1]
    for line in options:
        match = re.fullmatch(r"option name (.+?) type (check|spin|combo|button|string)(?: (.*))?", line)
        assert match, line
        assert not {"name", "value"} & set(match[1].split())
        assert re.fullmatch(patterns[match[2]], match[3] or ""), line
        if match[2] == "spin":
            default, low, high = (int(n) for n in re.findall(r"-?\d+", match[3]))
            assert low <= default <= high


def test_u5_the_names_that_tools_expect() -> None:
    names = (
        "Hash, Clear Hash, Threads, MultiPV, Ponder, Move Overhead, UCI_Chess960, UCI_AnalyseMode, UCI_ShowWDL, "
        "UCI_LimitStrength, UCI_Elo, WeightsFile, NodesLimit, BatchSize, Provider, CPuct, FpuStrategy, FpuValue, "
        "PolicyTemperature, VerboseMoveStats, LogFile"
    )
    with Talk() as talk:
        talk.send("uci")
        offered = {line.split(" type ")[0].removeprefix("option name ") for line in talk.until("uciok")}
    assert set(names.split(", ")) <= offered


# -------------------------------------------------------------------------------------------------------- synchronising


def test_u6_isready_before_uci_and_when_the_net_fails() -> None:
    play(READY, ready=False)
    play(
        """
        > setoption name WeightsFile value missing.onnx
        > isready
        < info string missing.onnx: there is no such file
        < info string the net is embedded.*
        < readyok
        """,
        ready=False,
    )


def test_u6_isready_during_a_search_is_answered_at_once_and_does_not_stop_it() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.send("go infinite")
        for _ in range(20):
            start = time.monotonic()
            talk.send("isready")
            talk.skip(INFO)
            talk.expect("readyok")
            assert time.monotonic() - start < 0.05
        assert "stop" not in FakeEngine.made.calls
        talk.run(f"> stop\n<* {INFO}\n< bestmove a2a3 ponder a7a5")


def test_u6_isready_is_answered_at_once_when_a_search_begins_that_had_to_wait() -> None:
    gate = threading.Event()
    with Talk(faulty(gate=gate)) as talk:
        talk.send("go infinite", "ucinewgame", "isready", "isready")
        talk.silence(0.1)
        gate.set()
        talk.run(f"""
            < info string the net is embedded.*
            <* {INFO}
            < readyok
            <* {INFO}
            < readyok
            > stop
            <* {INFO}
            < bestmove a2a3 ponder a7a5
        """)


def test_u7_isready_waits_for_what_is_slow() -> None:
    gate = threading.Event()
    with Talk(faulty(gate=gate)) as talk:
        talk.send("isready", "setoption name Hash value 99", "isready")
        talk.silence(0.1)
        gate.set()
        talk.run("< info string the net is embedded.*\n< readyok\n< readyok")


def test_u8_a_thousand_isready() -> None:
    with Talk() as talk:
        talk.send(*["isready"] * 1000)
        talk.expect("info string the net is.*")
        for _ in range(1000):
            talk.expect("readyok")


def test_blank_lines_keep_gui_waiting_during_a_long_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "KEEP_ALIVE_S", 0.05)
    gate = threading.Event()
    with Talk(faulty(gate=gate, progress=("compiling the rules",))) as talk:
        talk.run("> isready\n< info string compiling the rules")
        for _ in range(3):
            talk.expect("")
        gate.set()
        talk.run("<* \n< info string the net is embedded.*\n< readyok")


# -------------------------------------------------------------------------------------------------------------- options


def test_u9_u10_names_in_any_case_and_values_kept_verbatim() -> None:
    assert read_setoption("name Clear Hash") == ("Clear Hash", None)
    assert read_setoption(" name  WeightsFile  value  a  path  value x.onnx ") == (
        "WeightsFile",
        "a  path  value x.onnx",
    )
    assert read_setoption("name X value ") == ("X", "")
    assert read_setoption("name X value") == ("X", "")
    for bad in ("", "name", "name ", "Hash value 3", "name value 3"):
        assert read_setoption(bad) is None
    with Talk() as talk:
        talk.run("""
            > setoption name weightsfile value /a  b/good.onnx
            > setoption name HASH value 77
            > setoption name clear   hash
            > isready
            < info string the net is /a b/good.onnx.*
            < readyok
            > setoption name WeightsFile value <empty>
            > isready
            < info string the net is embedded.*
            < readyok
        """)
        assert FakeEngine.made.options.hash_mb == 77


def test_u11_bad_values_leave_the_option_as_it_is() -> None:
    play("""
        > setoption name Threads value abc
        < info string Threads must be a whole number from 1 to 128, not 'abc'; it stays at 2
        > setoption name Threads value 0
        < info string Threads must be a whole number from 1 to 128, not '0'; it stays at 2
        > setoption name Hash value 99999999999999999999999
        < info string Hash must be a whole number from 1 to 131072, not '9+'; it stays at 256
        > setoption name Ponder value TRUE
        < info string Ponder must be true or false, not 'TRUE'; it stays at false
        > setoption name Ponder
        < info string Ponder needs a value: setoption name <option> value <value>; it stays at false
        > setoption name Provider value abacus
        < info string Provider must be one of auto, cpu, .*, not 'abacus'; it stays at auto
        > setoption name CPuct value nan
        < info string CPuct must be a number from 0 to 100, not 'nan'; it stays at 1.25
        > setoption
        < info string setoption needs a name: .*
        > isready
        < readyok
    """)


def test_u12_unknown_option() -> None:
    play("> setoption name SyzygyPath value /tables\n< info string no such option: SyzygyPath")


def test_u13_setoption_during_a_search_counts_for_the_next() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.run(f"""
            > go infinite
            > setoption name MultiPV value 2
            > setoption name MultiPV value 0
            <* {INFO}
            < info string MultiPV must be .*; it stays at 1
            > stop
            <* {INFO}
            < bestmove a2a3 ponder a7a5
        """)
        assert FakeEngine.made.options.multipv == 1
        talk.send("go nodes 10")
        assert [line.split()[6] for line in talk.until("bestmove.*")[:-1]] == ["1", "2"]


def test_u14_a_button_ignores_its_value() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.run("> setoption name Clear Hash value yes\n> isready\n< readyok")
        assert FakeEngine.made.calls[-1] == "new_game"


def test_engine_settings_follow_the_options() -> None:
    with Talk() as talk:
        for name, value in (
            ("Move Overhead", "111"),
            ("UCI_Chess960", "true"),
            ("UCI_LimitStrength", "true"),
            ("UCI_Elo", "1234"),
            ("FpuStrategy", "ZERO"),
            ("CPuct", "2.5"),
            ("NodesLimit", "800"),
            ("MinibatchSize", "16"),
        ):
            talk.send(f"setoption name {name} value {value}")
        talk.run(READY)
        options = FakeEngine.made.options
        assert (options.move_overhead_ms, options.chess960, options.elo) == (111, True, 1234)
        assert (options.search.fpu, options.search.c_puct, options.search.smart_pruning) == ("zero", 2.5, True)
        assert (options.nodes_limit, options.batch_size) == (800, 16)
        talk.run("> setoption name UCI_AnalyseMode value true\n> isready\n< readyok")
        assert FakeEngine.made.options.elo is None
        assert not FakeEngine.made.options.search.smart_pruning


# ------------------------------------------------------------------------------------------------------------- position


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("position startpos", "start"),
        ("position\tstartpos   moves  e2e4\te7e5 ", "start e2e4 e7e5"),
        ("position startpos moves", "start"),
        ("position fen 4k3/8/8/8/8/8/8/4K2R w K -  0  1 moves e1g1", "4k3/8/8/8/8/8/8/4K2R w K - 0 1 e1g1"),
        ("position fen 4k3/8/8/8/8/8/8/4K2R w K - moves", "4k3/8/8/8/8/8/8/4K2R w K -"),
    ],
)
def test_u15_position_forms(command: str, call: str) -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.run(f"> {command}\n> isready\n< readyok")
        assert FakeEngine.made.calls[-1] == f"set_position {call}"


@pytest.mark.parametrize(
    "command",
    [
        "position fen blah",
        "position fen",
        "position blah",
        "position startpos e2e4",
        "position moves e2e4",
        "position fen 8/8/8/8/8/8/8/4K3 w - - 0 1",
        "position startpos moves e2e4 e2e4",
        "position startpos moves e2e4e7e5",
        "position startpos moves O-O",
    ],
)
def test_u18_u19_u20_a_refused_position_leaves_none_and_the_next_one_recovers(command: str) -> None:
    play(
        f"""
        > position startpos moves e2e4
        > {command}
        < info string .+
        > go infinite
        < info string no move: .+
        < info depth 0 score cp 0
        < bestmove (none)
        > go perft 2
        < info string nothing to count: .+
        > position startpos moves e2e4
        > go nodes 10
        <* {INFO}
        < bestmove a7a5 ponder a2a3
    """.replace("(none)", r"\(none\)")
    )


def test_a_bare_position_is_ignored() -> None:
    play(f"""
        > position startpos moves e2e4
        > position
        < info string position: expected startpos or fen <FEN>; ignored
        > go nodes 10
        <* {INFO}
        < bestmove a7a5 ponder a2a3
    """)


def test_u17_what_was_mended_is_told() -> None:
    play("> position fen 4k3/8/8/8/8/8/8/4K3 w K - 0 1\n< info string castling right K dropped\n> isready\n< readyok")


def test_u21_a_long_game_is_handed_over_whole() -> None:
    moves = ["g1f3", "g8f6", "f3g1", "f6g8"] * 1500
    with Talk() as talk:
        talk.run(READY)
        talk.send("position startpos moves " + " ".join(moves))
        within(10, lambda: talk.run("> isready\n< readyok"))
        assert FakeEngine.made.calls[-1].count("f3g1") == 1500


def test_u22_chess960_is_known_before_the_position_is_read() -> None:
    with Talk() as talk:
        talk.run("""
            > setoption name UCI_Chess960 value true
            > position fen 4k3/8/8/8/8/8/8/4K2R w H - 0 1 moves e1h1
            > isready
            < info string the net is.*
            < readyok
        """)


# --------------------------------------------------------------------------------------------------------------- search


def test_u23_go_in_any_order() -> None:
    limits = read_go(
        "binc 4 searchmoves e2e4 d2d4 wtime 1 foo ponder btime 2 winc 3 movestogo 5 depth 6".split()
    ).limits
    assert limits.time == (1, 2)
    assert limits.increment == (4 - 1, 4)
    assert (limits.movestogo, limits.depth, limits.ponder, limits.infinite) == (5, 6, True, False)
    assert limits.searchmoves == ("e2e4", "d2d4", *("1", "foo")[2:])
    more = read_go("nodes 7 bar mate 8 movetime 9 infinite".split())
    assert (more.limits.nodes, more.limits.mate, more.limits.movetime, more.limits.infinite) == (7, 8, 9, True)
    assert more.complaints == ()
    assert read_go(["perft", "3"]).perft == 3


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
        time.sleep(0.3)
        start = time.monotonic()
        talk.send("ponderhit", "ponderhit")
        talk.until("bestmove a2a3 ponder a7a5")
        assert 0.1 < time.monotonic() - start < 0.4
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
        within(0.5, lambda: talk.until("bestmove a2a3 ponder a7a5"))


def test_u37_numbers_beyond_64_bits_and_garbage() -> None:
    go = read_go(f"nodes {10**30} depth -{10**30} movetime abc wtime".split())
    assert (go.limits.nodes, go.limits.depth, go.limits.movetime, go.limits.time) == (2**63 - 1, 1, None, (None, None))
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


# ----------------------------------------------------------------------------------------------------------- robustness


def test_u45_leading_unknown_words() -> None:
    play("""
        > joho debug on
        > joho dodo isready
        < info string skipped unknown words before isready
        < readyok
        > joho dodo
        < info string unknown command: joho dodo
        > debug off
        > joho isready
        < readyok
        > joho
        . 0.05
    """)


def test_u46_line_ends_blanks_comments_bytes() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.raw(b"\xef\xbb\xbfisready\r\n\r\n\n   \t \n# isready\n#isready\n  isready \t\r\n")
        talk.raw(b"\xff\xfe\x80 isready\nis\x00re\x07ady\n\x1b[31m\n")
        talk.run("< readyok\n< readyok\n< readyok\n< readyok")
        talk.raw(b"setoption name WeightsFile value /\xe9/good.onnx\nisready\n")
        talk.run("< info string the net is /.+/good.onnx.*\n< readyok")
        assert FakeEngine.made.options.weights_file.encode("utf-8", "surrogateescape") == b"/\xe9/good.onnx"


def test_a_line_without_end_is_thrown_away() -> None:
    with Talk() as talk:
        talk.run(READY)
        for _ in range(40):
            talk.raw(b"isready " * 8192)
        talk.raw(b"\nisready\n")
        talk.run("< info string a line longer than 1 MiB was thrown away\n< readyok")


def test_u47_the_end_of_input_during_an_endless_search() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.send("go infinite")
        talk.until(INFO)
        start = time.monotonic()
        talk.close_input()
        assert talk.rest()[-1] == "bestmove a2a3 ponder a7a5"
        assert talk.status() == 0
        assert time.monotonic() - start < 1.0


def test_what_was_asked_before_quit_is_still_answered() -> None:
    with Talk() as talk:
        talk.send("isready", "position startpos", "go nodes 1000000", "isready", "go infinite", "quit")
        lines = talk.rest()
    assert [line for line in lines if not line.startswith("info")] == [
        "readyok",
        "bestmove a2a3 ponder a7a5",
        "readyok",
        "bestmove a2a3 ponder a7a5",
    ] or sorted(line for line in lines if not line.startswith("info")) == [
        "bestmove a2a3 ponder a7a5",
        "bestmove a2a3 ponder a7a5",
        "readyok",
        "readyok",
    ]


def test_quit_does_not_wait_for_a_long_load_but_answers_every_go() -> None:
    gate = threading.Event()
    with Talk(faulty(gate=gate)) as talk:
        talk.send("isready", "go nodes 10", "go infinite", "quit")
        start = time.monotonic()
        answers = [line for line in talk.rest() if line.startswith("bestmove")]
        assert answers == ["bestmove (none)"] * 2
        assert time.monotonic() - start < 1.0
    gate.set()


def test_u48_commands_are_lower_case() -> None:
    play("> UCI\n> IsReady\n> QUIT\n. 0.05\n> isready\n< readyok")


def test_u49_closed_stdout_ends_quietly() -> None:
    talk = Talk()
    talk.run(READY)
    talk.send("go infinite")
    talk.until(INFO)
    talk.session._writer._descriptor = None  # what a write to a closed pipe leaves
    assert talk.status() == 0
    assert "close" in FakeEngine.made.calls


def test_u50_debug_register_and_ucinewgame_any_time() -> None:
    play("> debug on\n> debug\n> debug off\n> register later\n> ucinewgame\n> ucinewgame\n. 0.05", ready=False)


# ------------------------------------------------------------------------------------------------ waiting, and faults


def test_stop_and_ponderhit_reach_a_search_that_still_waits_for_its_net() -> None:
    gate = threading.Event()
    with Talk(faulty(gate=gate)) as talk:
        talk.send("go infinite", "stop")
        gate.set()
        talk.until("bestmove a2a3 ponder a7a5")
    gate.clear()
    with Talk(faulty(gate=gate)) as talk:
        talk.send("go ponder movetime 10", "ponderhit")
        gate.set()
        talk.until("bestmove a2a3 ponder a7a5")


def test_the_time_spent_waiting_for_the_net_is_taken_off_the_clock() -> None:
    gate = threading.Event()
    with Talk(faulty(gate=gate)) as talk:
        talk.send("go wtime 60000 btime 50000 nodes 10")
        time.sleep(0.3)
        gate.set()
        talk.until("bestmove.*")
        call = next(call for call in FakeEngine.made.calls if call.startswith("go"))
        match = re.search(r"time=\((\d+), (\d+)\)", call)
        assert match
        assert 58000 < int(match[1]) <= 59700
        assert int(match[1]) - int(match[2]) == 10000


def test_a_bad_net_is_told_and_the_last_good_one_plays_on() -> None:
    play(f"""
        > setoption name WeightsFile value first/good.onnx
        > isready
        < info string the net is first/good.onnx.*
        < readyok
        > setoption name WeightsFile value bad.onnx
        > position startpos
        > go nodes 10
        < info string bad.onnx: there is no such file
        < info string the net is first/good.onnx.*
        <* {INFO}
        < bestmove a2a3 ponder a7a5
        > go nodes 10
        <* {INFO}
        < bestmove a2a3 ponder a7a5
    """)


def test_without_any_net_there_is_no_move_but_always_an_answer() -> None:
    play(
        r"""
        > isready
        < info string the net inside the package is damaged: install az-engine again
        < readyok
        > isready
        < readyok
        > go infinite
        < info string no move: the net inside the package is damaged: install az-engine again
        < info depth 0 score cp 0
        < bestmove \(none\)
        > setoption name WeightsFile value good.onnx
        > go nodes 10
        < info string the net is good.onnx.*
        <* info depth .*
        < bestmove a2a3 ponder a7a5
        """,
        faulty(embedded_is_broken=True),
        ready=False,
    )


def test_options_that_cannot_be_met_go_back_to_those_that_worked() -> None:
    for fault in (OptionError("there is no CUDA here"), MemoryError()):
        faults: dict[str, BaseException] = {}
        with Talk(faulty(faults=faults)) as talk:
            talk.run("> setoption name Hash value 64\n" + READY.strip())
            faults["ready"] = fault
            talk.run("""
                > setoption name Hash value 100000
                > isready
                < info string (there is no CUDA here|not enough memory: choose a smaller Hash)
                < info string (there is no CUDA here|not enough memory)
                < readyok
            """)
            faults.clear()
            talk.run("> setoption name Threads value 3\n> isready\n< info string the net is.*\n< readyok")
            assert (FakeEngine.made.options.hash_mb, FakeEngine.made.options.threads) == (64, 3)


@pytest.mark.parametrize("method", ["ready", "set_position", "go", "configure", "perft", "new_game"])
def test_a_bug_anywhere_is_shown_and_every_go_is_answered(method: str, capfd: pytest.CaptureFixture[str]) -> None:
    faults: dict[str, BaseException] = {}
    with Talk(faulty(faults=faults), status=1) as talk:
        talk.run(READY)
        faults[method] = ZeroDivisionError("division by zero")
        talk.send(
            "ucinewgame",
            "setoption name Threads value 3",
            "position startpos",
            "go perft 1",
            "go nodes 10",
            "go nodes 10",
        )
        lines = talk.rest()
    assert sum(line.startswith("bestmove") for line in lines) == 2
    assert "info string internal error, please report it: ZeroDivisionError: division by zero" in lines
    assert "Traceback" in capfd.readouterr().err


def test_a_bug_in_the_search_still_gives_its_move(capfd: pytest.CaptureFixture[str]) -> None:
    with Talk(faulty(faults={"think": ZeroDivisionError()}), status=1) as talk:
        talk.run(READY)
        talk.send("go infinite")
        lines = talk.rest()
    assert sum(line.startswith("bestmove") for line in lines) == 1
    assert "bestmove a2a3 ponder a7a5" in lines
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_net_that_fails_in_the_search_is_told_and_the_engine_lives() -> None:
    play(
        f"""
        > go nodes 10
        < info string the net gives NaN
        < {INFO}
        < bestmove a2a3 ponder a7a5
        > isready
        < readyok
        """,
        faulty(faults={"think": NetError("the net gives NaN")}),
    )


def test_a_bug_in_a_deaf_search_is_answered_from_its_last_report() -> None:
    faults: dict[str, BaseException] = {}
    with Talk(faulty(faults=faults, deaf=True), status=1) as talk:
        talk.run(READY)
        talk.send("go infinite")
        talk.until(INFO)
        faults["stop"] = ZeroDivisionError()
        talk.send("stop")
        assert talk.rest()[-1] == "bestmove a2a3"


def test_a_second_answer_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    play(f"> go nodes 10\n<* {INFO}\n< bestmove a2a3 ponder a7a5\n> isready\n< readyok", faulty(twice=True))
    assert "ended a search that was not running" in capfd.readouterr().err


def test_notes_from_the_start_are_told_after_the_greeting() -> None:
    with Talk(notes=("config.toml: there is no option 'hush'",)) as talk:
        talk.send("uci")
        talk.until("uciok")
        talk.run("< info string config.toml: there is no option 'hush'\n> uci")
        assert talk.until("uciok")[0].startswith("id name")
