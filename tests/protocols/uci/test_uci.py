"""The UCI checklist (U1, U2, ... in the names), first part: start, options, positions; against a fake engine."""

from __future__ import annotations

import threading

import pytest

from az_engine.protocols.options import read_setoption

from ...fakes.engine import FakeEngine
from ..talk import READY, Talk

# -------------------------------------------------------------------------------------------------------- synchronising


def test_u6_isready_is_answered_at_once_when_a_search_begins_that_had_to_wait() -> None:
    gate = threading.Event()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("go infinite", "ucinewgame", "isready", "isready")
        talk.silence(0.1)
        gate.set()
        talk.run("""
            < info string playing with the embedded net
            <* INFO
            < readyok
            <* INFO
            < readyok
            > stop
            <* INFO
            < BEST
        """)


def test_u7_isready_waits_for_what_is_slow() -> None:
    gate = threading.Event()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("isready", "setoption name Hash value 99", "isready")
        talk.silence(0.1)
        gate.set()
        talk.run("< info string playing with the embedded net\n< readyok\n< readyok")


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
            < info string playing with /a b/good.onnx
            < readyok
            > setoption name WeightsFile value <empty>
            > isready
            < info string playing with the embedded net
            < readyok
        """)
        assert FakeEngine.made.options.hash_mb == 77


def test_u11_bad_values_leave_the_option_as_it_is() -> None:
    Talk.play("""
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
    Talk.play("> setoption name NalimovPath value /tables\n< info string no such option: NalimovPath")


def test_u13_setoption_during_a_search_counts_for_the_next() -> None:
    with Talk() as talk:
        talk.run(READY)
        talk.run("""
            > go infinite
            > setoption name MultiPV value 2
            > setoption name MultiPV value 0
            <* INFO
            < info string MultiPV must be .*; it stays at 1
            > stop
            <* INFO
            < BEST
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
    Talk.play(
        f"""
        > position startpos moves e2e4
        > {command}
        < info string .+
        > go nodes 100
        < info string no move: .+
        < info depth 0 score cp 0
        < bestmove (none)
        > go perft 2
        < info string no position: .+
        > position startpos moves e2e4
        > go nodes 10
        <* INFO
        < REPLY
    """.replace("(none)", r"\(none\)")
    )


def test_a_bare_position_is_ignored() -> None:
    Talk.play("""
        > position startpos moves e2e4
        > position
        < info string position: expected startpos or fen <FEN>; ignored
        > go nodes 10
        <* INFO
        < REPLY
    """)


def test_u17_what_was_mended_is_told() -> None:
    Talk.play(
        "> position fen 4k3/8/8/8/8/8/8/4K3 w K - 0 1\n< info string castling right K dropped\n> isready\n< readyok"
    )


def test_u21_a_long_game_is_handed_over_whole() -> None:
    moves = ["g1f3", "g8f6", "f3g1", "f6g8"] * 1500
    with Talk() as talk:
        talk.run(READY)
        talk.send("position startpos moves " + " ".join(moves))
        talk.run("> isready\n< readyok")
        assert FakeEngine.made.calls[-1].count("f3g1") == 1500


def test_u22_chess960_is_known_before_the_position_is_read() -> None:
    with Talk() as talk:
        talk.run("""
            > setoption name UCI_Chess960 value true
            > position fen 4k3/8/8/8/8/8/8/4K2R w H - 0 1 moves e1h1
            > isready
            < info string playing with .*
            < readyok
        """)
