"""A net that fails in mid-game: one sentence, another net in its place, and a legal move for every go."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove
from az_engine.engine.limits import Limits
from az_engine.engine.nets import weights
from az_engine.engine.nets.evaluator import Interrupted, Output, Planes, UniformEvaluator
from az_engine.engine.nets.onnx import deadline
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.weights import dense_net
from az_engine.engine.params import EngineOptions

from ..fakes.evaluator import FunctionEvaluator
from .driving import Recorder
from .failing import FAULTS, let_fail

PLANES = get_game("chess").start_planes()


def think(engine: Engine, **limits: Any) -> Recorder:
    recorder = Recorder()
    engine.go(Limits(**limits), recorder.infos.append, recorder.on_done)
    return recorder


def sentences(recorder: Recorder) -> str:
    (answer,) = recorder.answers
    return " ".join([*(info.message for info in recorder.infos if info.message), *answer.messages])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_net_inside_plays_on(monkeypatch: pytest.MonkeyPatch, fault: str, threads: int) -> None:
    let_fail(monkeypatch)
    engine = Engine("chess", EngineOptions(weights_file=f"{fault}-3", hash_mb=16, threads=threads, batch_size=4))
    engine.set_position(None, ["e2e4"])
    recorder = think(engine, nodes=60)
    assert recorder.done.wait(60)
    (answer,) = recorder.answers
    assert answer.move in engine.legal_moves()
    assert answer.nodes == 60  # of the net inside
    assert isinstance(answer.error, NetError)
    assert "going on with az-chess" in sentences(recorder)
    assert "chess" in engine.description
    again = think(engine, nodes=60)
    assert again.done.wait(60)
    assert again.answer.move in engine.legal_moves()
    assert sentences(again) == ""
    engine.close()


def test_without_any_net_every_move_is_as_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    let_fail(monkeypatch)
    monkeypatch.setattr(weights, "dense_net", lambda game: None)
    engine = Engine("chess", EngineOptions(weights_file="nan-1", hash_mb=16, threads=1))
    engine.set_position(None, [])
    recorder = think(engine, nodes=60)
    assert recorder.done.wait(60)
    assert recorder.answers[0].move in engine.legal_moves()
    assert "going on with no net: every move is as likely" in sentences(recorder)
    engine.close()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["late", "deaf"])
def test_stop_is_answered_while_the_net_computes_without_end(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    let_fail(monkeypatch)
    engine = Engine("chess", EngineOptions(weights_file=f"{fault}-20", hash_mb=16, threads=2, batch_size=4))
    engine.set_position(None, [])
    recorder = think(engine, infinite=True)
    assert not recorder.done.wait(0.2)
    engine.stop()
    assert recorder.done.wait(60)  # the deaf one would take 120 s
    assert recorder.answers[0].move in engine.legal_moves()
    recorder = think(engine, nodes=30)
    assert recorder.done.wait(60)
    assert recorder.answers[0].move in engine.legal_moves()


class EndlessSession:
    """onnxruntime's session of a net that computes without end: it looks at ``terminate`` between operators."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def run(self, outputs: object, feed: object, options: Any) -> None:
        self.begun.set()
        while not options.terminate:
            threading.Event().wait(0.01)
        raise RuntimeError("Exiting due to terminate flag being set to true")


@pytest.fixture
def endless() -> OnnxEvaluator:
    path = dense_net("chess")
    assert path is not None
    evaluator = OnnxEvaluator(path, get_game("chess"), batch_size=4, provider="cpu")
    evaluator._sessions[0] = EndlessSession()
    return evaluator


def test_every_evaluation_has_a_deadline(endless: OnnxEvaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "TICK_S", 0.01)
    endless._deadline = endless._row_deadline = 0.1
    with pytest.raises(NetError, match="no answer within 0 s and is given up"):
        endless.evaluate(PLANES)
    with pytest.raises(NetError, match="given up"):  # at once, by any other session
        endless.evaluate(PLANES, 1)


def test_an_interrupted_evaluation_is_no_fault_of_the_net(endless: OnnxEvaluator) -> None:
    caught: list[BaseException] = []

    def evaluate() -> None:
        try:
            endless.evaluate(PLANES)
        except NetError as error:
            caught.append(error)

    thread = threading.Thread(target=evaluate)
    thread.start()
    assert endless._sessions[0].begun.wait(60)
    endless.interrupt()
    thread.join(60)
    assert [type(error) for error in caught] == [Interrupted]
    assert endless.fault is None
    policy, _ = endless.evaluate(PLANES, 1)
    assert np.isfinite(policy).all()


def test_the_deadline_grows_with_the_measured_time(endless: OnnxEvaluator) -> None:
    """A net that needs a second for a position is given minutes, not 20 s."""
    seen = []

    class Slow:
        def run(self, outputs: list[str], feed: dict[str, Any], options: Any) -> list[Any]:
            (running,) = deadline.WATCHDOG._running
            seen.append(running.seconds)
            return [None, None]

    endless._sessions[0] = Slow()
    endless._row_deadline = 200 * 1.0
    endless.evaluate(np.repeat(PLANES, 4, axis=0))
    assert seen == [800.0]


def test_too_little_memory_for_a_tree_still_gives_a_legal_move(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class NoRoom:
        def __init__(self, *_: object) -> None:
            raise MemoryError

    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=16))
    engine.ready()
    monkeypatch.setattr("az_engine.engine.search.memory.Tree", NoRoom)
    engine.configure(hash_mb=64)
    engine.set_position(None, [])
    recorder = think(engine, nodes=10)
    assert recorder.done.wait(60)
    assert recorder.answers[0].move in engine.legal_moves()
    assert "not enough memory" in sentences(recorder)


def test_fewer_threads_than_wanted_search_on(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def start_few(thread: threading.Thread) -> None:
        if thread.name in ("worker 2", "worker 3"):
            raise RuntimeError("can't start new thread")
        start(thread)

    engine = Engine("chess", EngineOptions(weights_file="uniform", hash_mb=16, threads=4))
    engine.set_position(None, [])
    monkeypatch.setattr(threading.Thread, "start", start_few)
    recorder = think(engine, nodes=50)
    assert recorder.done.wait(60)
    assert recorder.answer.nodes == 50
    assert "only 2 of 4 Threads" in sentences(recorder)
    engine.close()


def test_a_move_of_those_allowed_without_an_answer_of_the_net() -> None:
    def stopped(_: Planes) -> Output:
        raise Interrupted("stopped")

    engine = Engine("go5", EngineOptions(hash_mb=8, threads=1), lambda *_, **__: FunctionEvaluator(stopped))
    engine.set_position(None, [])
    answers: list[BestMove] = []
    engine.go(Limits(nodes=10, searchmoves=("D4", "C3")), lambda _: None, answers.append)
    engine.wait()
    engine.close()
    assert answers[0].move in ("D4", "C3")
    assert "stopped" in answers[0].messages[0]


@pytest.mark.parametrize("limits", [{"nodes": 60}, {"movetime": 300}])
def test_the_next_search_waits_for_no_leaf_of_one_that_has_failed(limits: dict[str, int]) -> None:
    """Where memory is short for a moment, say."""
    failures = [MemoryError()]

    class Short(UniformEvaluator):
        def evaluate(self, planes: Planes, slot: int = 0) -> Output:
            if failures:
                raise failures.pop()
            return super().evaluate(planes, slot)

    engine = Engine("chess", EngineOptions(hash_mb=16, threads=1), lambda weights, game, **settings: Short(game))
    engine.set_position(None, ["e2e4"])
    first = think(engine, nodes=60)
    assert first.done.wait(60)
    assert "not enough memory" in sentences(first)
    again = think(engine, **limits)
    ended = again.done.wait(20)
    engine.close()
    assert ended
    assert again.answer.nodes >= 2
