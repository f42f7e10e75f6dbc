"""Calls of a net on memory that stays where it is: the same answers, deadlines and faults as any other call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.nets.evaluator import Evaluator, Interrupted, Output, Planes
from az_engine.engine.nets.onnx import deadline
from az_engine.engine.nets.onnx.binding import Binding
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.positions import random_planes
from az_engine.engine.nets.weights import dense_net, embedded_net, load_evaluator
from az_engine.engine.params import SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.nodes import EDGES, NODES
from az_engine.engine.search.tree.tree import Tree

GAME = get_game("chess")
SIZE = 6


@pytest.fixture
def net() -> OnnxEvaluator:
    path = dense_net("chess")
    assert path is not None
    return OnnxEvaluator(path, GAME, batch_size=SIZE, provider="cpu")


def some_planes(net: OnnxEvaluator, seed: int = 0) -> Planes:
    return random_planes(GAME, SIZE, seed, net.history).reshape(SIZE, -1)


def same(one: Output, other: Output) -> bool:
    return all(a.shape == b.shape and (a == b).all() for a, b in zip(one, other, strict=True))


def test_the_answers_are_those_of_any_other_call(net: OnnxEvaluator) -> None:
    planes, later = some_planes(net), some_planes(net, 1)
    ask = net.bind(planes)
    for count in (1, SIZE, 3, SIZE):
        assert same(ask(count), net.evaluate(planes[:count]))
    before = ask(2)[0].copy()
    planes[:] = later
    assert same(ask(2), net.evaluate(later[:2]))
    assert (ask(2)[0] != before).any()


def test_by_what_onnxruntime_shows_to_everybody(net: OnnxEvaluator) -> None:
    """Without the function inside, which another version may not have."""

    class Shown:
        def __init__(self, session: Any) -> None:
            self.io_binding, self.run_with_iobinding = session.io_binding, session.run_with_iobinding

    planes = some_planes(net)
    session: Any = Shown(net._session(0))
    binding = Binding(session, planes.reshape(-1, *GAME.planes), {"policy": GAME.num_actions, "wdl": 3})
    assert same(binding.run(4, net._new_options()), net.evaluate(planes[:4]))


def test_a_sparse_net_answers_by_its_kernel() -> None:
    path = embedded_net("chess")
    assert path is not None
    sparse = load_evaluator(str(path), GAME)
    planes = random_planes(GAME.using(sparse.encoder), 3, 0, sparse.history).reshape(3, -1)
    assert sparse.compiled is not None
    assert same(sparse.bind(planes)(3), sparse.evaluate(planes))


def endless(begun: threading.Event) -> Callable[[Binding, int, Any], Output]:
    def run(binding: Binding, count: int, options: Any) -> Output:
        begun.set()
        while not options.terminate:
            threading.Event().wait(0.01)
        raise RuntimeError("Exiting due to terminate flag being set to true")

    return run


def test_an_interruption_is_no_fault_and_the_next_call_is_answered(
    net: OnnxEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    planes, begun = some_planes(net), threading.Event()
    ask, caught = net.bind(planes), []

    def work() -> None:
        try:
            ask(2)
        except NetError as error:
            caught.append(type(error))

    with monkeypatch.context() as patch:
        patch.setattr(Binding, "run", endless(begun))
        thread = threading.Thread(target=work)
        thread.start()
        assert begun.wait(60)
        net.interrupt()
        thread.join(60)
    assert caught == [Interrupted]
    assert net.fault is None
    assert same(ask(2), net.evaluate(planes[:2]))


def test_it_has_a_deadline(net: OnnxEvaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "TICK_S", 0.01)
    monkeypatch.setattr(Binding, "run", endless(threading.Event()))
    net._deadline = net._row_deadline = 0.1
    ask = net.bind(some_planes(net))
    for _ in range(2):
        with pytest.raises(NetError, match="given up"):
            ask(1)


def test_what_onnxruntime_says_is_told(net: OnnxEvaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(binding: Binding, count: int, options: Any) -> Output:
        raise RuntimeError("no memory\nbelow")

    monkeypatch.setattr(Binding, "run", fail)
    with pytest.raises(NetError, match=r"onnxruntime failed while running the net: no memory$"):
        net.bind(some_planes(net))(1)


def test_a_search_grows_the_same_tree(net: OnnxEvaluator) -> None:
    class Unbound(Evaluator):
        info, batch_size, history = net.info, net.batch_size, net.history
        encoder, description = net.encoder, net.description

        def evaluate(self, planes: Planes, slot: int = 0) -> Output:
            return net.evaluate(planes, slot)

    trees = []
    for evaluator in (net, Unbound()):
        tree, line = Tree(1 << 20), GAME.initial()
        search = Search(GAME, tree, evaluator, SearchParams(), GAME.window(line), visits=300)
        search.run(lambda: False)
        assert search.error is None
        trees.append((tree.nodes[: tree.counters[NODES]], tree.edges[: tree.counters[EDGES]]))
    assert all((one == other).all() for one, other in zip(*trees, strict=True))
