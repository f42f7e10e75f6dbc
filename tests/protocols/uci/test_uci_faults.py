"""The UCI checklist, third part: odd input; and waiting, faults and the end; against a fake engine."""

from __future__ import annotations

import threading
import time

import pytest

from az_engine.engine.errors import OptionError
from az_engine.protocols.uci.uci import UciSession

from ...fakes.clock import FakeClock
from ...fakes.engine import FakeEngine
from ..talk import INFO, READY, Talk

# ----------------------------------------------------------------------------------------------------------- robustness


def test_u45_leading_unknown_words() -> None:
    Talk.play("""
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


def test_a_line_without_end_is_thrown_away() -> None:
    with Talk() as talk:
        talk.run(READY)
        for _ in range(40):
            talk.raw(b"isready " * 8192)
        talk.raw(b"\nisready\n")
        talk.run("< info string a line longer than 1 MiB was thrown away\n< readyok")


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


@pytest.mark.slow
def test_quit_waits_a_little_for_the_engine_to_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UciSession, "loading_patience_s", 60.0)
    gate = threading.Event()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("go nodes 10", "go infinite", "quit")
        time.sleep(1.5)  # longer than UciSession.quit_patience_s
        gate.set()
        answers = [line for line in talk.rest() if line.startswith("bestmove")]
        assert answers == ["bestmove a2a3 ponder a7a5"] * 2


def test_quit_does_not_wait_for_a_long_load_but_answers_every_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UciSession, "loading_patience_s", 0.1)
    gate = threading.Event()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("isready", "go nodes 10", "go infinite", "quit")
        answers = [line for line in talk.rest() if line.startswith("bestmove")]
        assert answers == ["bestmove (none)"] * 2
    gate.set()


def test_u49_closed_stdout_ends_quietly() -> None:
    talk = Talk()
    talk.run(READY)
    talk.send("go infinite")
    talk.until(INFO)
    talk.writer.close()  # as a write to a closed pipe does
    assert talk.status() == 0
    assert "close" in FakeEngine.made.calls


def test_u50_debug_register_and_ucinewgame_any_time() -> None:
    Talk.play("> debug on\n> debug\n> debug off\n> register later\n> ucinewgame\n> ucinewgame\n. 0.05", ready=False)


# ------------------------------------------------------------------------------------------------ waiting, and faults


def test_stop_and_ponderhit_reach_a_search_that_still_waits_for_its_net() -> None:
    gate = threading.Event()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("go infinite", "stop")
        gate.set()
        talk.until("bestmove a2a3 ponder a7a5")
    gate.clear()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("go ponder movetime 10", "ponderhit")
        gate.set()
        talk.until("bestmove a2a3 ponder a7a5")


def test_the_time_spent_waiting_for_the_net_is_taken_off_the_clock(clock: FakeClock) -> None:
    reached = threading.Event()

    class Gate(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            reached.set()
            return super().wait(timeout)

    gate = Gate()
    with Talk(Talk.broken(gate=gate)) as talk:
        talk.send("go wtime 60000 btime 50000 nodes 10")
        assert reached.wait(60)
        clock.advance(0.5)
        gate.set()
        talk.until("bestmove.*")
        call = next(call for call in FakeEngine.made.calls if call.startswith("go"))
        assert "time=(59500, 49500)" in call


def test_a_bad_net_is_told_and_the_last_good_one_plays_on() -> None:
    Talk.play("""
        > setoption name WeightsFile value first/good.onnx
        > isready
        < info string playing with first/good.onnx
        < readyok
        > setoption name WeightsFile value bad.onnx
        > position startpos
        > go nodes 10
        < info string bad.onnx: there is no such file
        < info string going on with first/good.onnx
        <* INFO
        < BEST
        > go nodes 10
        <* INFO
        < BEST
    """)


@pytest.mark.parametrize("fault", [OptionError("Hash 100000 is too much"), MemoryError()])
def test_options_that_cannot_be_met_go_back_to_those_that_worked(fault: Exception) -> None:
    said = str(fault) or "not enough memory: choose a smaller Hash"
    with Talk(Talk.broken(too_large=fault)) as talk:
        talk.run(f"""
            > setoption name Hash value 64
            > setoption name WeightsFile value good.onnx
            > isready
            < info string playing with good.onnx
            < readyok
            > setoption name Hash value 100000
            > isready
            < info string {said}
            < info string going on with good.onnx
            < readyok
            > setoption name Threads value 3
            > isready
            < readyok
        """)
        assert (FakeEngine.made.options.hash_mb, FakeEngine.made.options.threads) == (64, 3)
    with Talk(Talk.broken(too_large=fault), {"hash": 100000, "weights_file": "bad.onnx"}) as talk:
        talk.run(f"""
            > isready
            < info string bad.onnx: there is no such file
            < info string {said}
            < info string going on with the embedded net
            < readyok
        """)


@pytest.mark.parametrize("method", ["ready", "set_position", "go", "configure", "perft", "new_game"])
def test_a_bug_anywhere_is_shown_and_every_go_is_answered(method: str, capfd: pytest.CaptureFixture[str]) -> None:
    faults: dict[str, BaseException] = {}
    with Talk(Talk.broken(faults=faults), status=1) as talk:
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
    with Talk(Talk.broken(faults={"think": ZeroDivisionError()}), status=1) as talk:
        talk.run(READY)
        talk.send("go infinite")
        lines = talk.rest()
    assert sum(line.startswith("bestmove") for line in lines) == 1
    assert "bestmove a2a3 ponder a7a5" in lines
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_bug_in_a_deaf_search_is_answered_from_its_last_report() -> None:
    faults: dict[str, BaseException] = {}
    with Talk(Talk.broken(faults=faults, deaf=True), status=1) as talk:
        talk.run(READY)
        talk.send("go infinite")
        talk.until(INFO)
        faults["stop"] = ZeroDivisionError()
        talk.send("stop")
        assert talk.rest()[-1] == "bestmove a2a3"
    for thread in threading.enumerate():
        if "_think" in thread.name:
            thread.join(60)
            assert not thread.is_alive()  # else it would slow every later test


def test_a_second_answer_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    Talk.play("> go nodes 10\n<* INFO\n< BEST\n> isready\n< readyok", Talk.broken(twice=True))
    assert "ended a search that was not running" in capfd.readouterr().err


def test_notes_from_the_start_are_told_after_the_greeting() -> None:
    with Talk(notes=("config.toml: there is no option 'hush'",)) as talk:
        talk.send("uci")
        talk.until("uciok")
        talk.run("< info string config.toml: there is no option 'hush'\n> uci")
        assert talk.until("uciok")[0].startswith("id name")
