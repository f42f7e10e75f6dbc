"""One net for many searches: shares, caps, what is withdrawn, errors."""

from __future__ import annotations

import math
import threading
from functools import partial

import numpy as np
import pytest

from az_engine.engine.clock import Stopwatch
from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.info import BestMove, ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.nets import shared
from az_engine.engine.nets.evaluator import Interrupted, Output, Planes, Turn
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.opinions import opinion_of, opinions_of
from az_engine.engine.nets.shared import Batcher, Seat
from az_engine.engine.params import EngineOptions

from ...fakes.evaluator import FunctionEvaluator
from ...fakes.waiting import wait_for
from ..driving import go
from ..failing import FailingNet

PATIENCE_S = 60.0


class Gate:
    """A net whose batches wait until they are let through; a row's value is its first plane's first byte."""

    def __init__(self, batch_size: int = 4) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.error: BaseException | None = None
        self.evaluator = FunctionEvaluator(self.evaluate, batch_size)
        self.net = shared._Net(self.evaluator)

    def evaluate(self, planes: Planes) -> Output:
        rows = planes[:, 0].astype(np.float32)
        self.batches.append([int(x) for x in rows])
        self.begun.release()
        assert self.go_on.acquire(timeout=PATIENCE_S)
        if self.error is not None:
            raise self.error
        return np.stack([rows, -rows], axis=1), rows[:, None]


def planes(first: int, count: int) -> Planes:
    return np.repeat(np.arange(first, first + count, dtype=np.uint8)[:, None], 3, axis=1)


class Frozen(Stopwatch):
    """Its time stands still."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)


class Asking:
    """A thread that asks."""

    def __init__(self, seat: Seat, first: int, count: int) -> None:
        self.values: list[int] = []
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._ask, args=(seat, planes(first, count)), daemon=True)
        self._thread.start()

    def _ask(self, seat: Seat, rows: Planes) -> None:
        try:
            logits, values = seat.evaluate(rows)
            assert (logits[:, 1] == -values[:, 0]).all()
            self.values = [int(x) for x in values[:, 0]]
        except (NetError, ValueError) as error:
            self.error = error

    @property
    def waiting(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def queued(batcher: Batcher) -> int:
    with batcher._changed:
        return sum(request.left for client in batcher._waiting for request in client.requests)


def held_up(batcher: Batcher, gate: Gate) -> Asking:
    """Keeps the lane busy while others queue up."""
    first = Asking(batcher.seat(gate.net, "first"), 200, 1)
    assert gate.begun.acquire(timeout=PATIENCE_S)
    return first


def let_all_through(gate: Gate) -> None:
    for _ in range(100):
        gate.go_on.release()


def test_leaves_of_many_searches_meet_and_find_home() -> None:
    batcher, gate = Batcher(1), Gate(8)
    first = held_up(batcher, gate)
    asking = [Asking(batcher.seat(gate.net, f"{i}"), 10 * i, 3) for i in range(5)]
    wait_for(lambda: queued(batcher) == 15)
    let_all_through(gate)
    for each in (first, *asking):
        each.join()
    assert [each.values for each in asking] == [[10 * i, 10 * i + 1, 10 * i + 2] for i in range(5)]
    assert [len(batch) for batch in gate.batches] == [1, 8, 7]
    assert batcher.rows == 16


def test_the_least_served_come_first() -> None:
    batcher, gate = Batcher(1), Gate(4)
    first = held_up(batcher, gate)
    greedy = Asking(batcher.seat(gate.net, "greedy"), 0, 100)
    wait_for(lambda: queued(batcher) == 100)
    modest = [Asking(batcher.seat(gate.net, f"modest {i}"), 100 + 10 * i, 4) for i in range(3)]
    wait_for(lambda: queued(batcher) == 112)
    let_all_through(gate)
    for each in (first, greedy, *modest):
        each.join()
    before = [x for batch in gate.batches[1:5] for x in batch]
    assert sum(x < 100 for x in before) == 4  # four batches, four clients: four rows each
    assert greedy.values == [*range(100)]


def test_a_client_with_many_searches_is_one_client() -> None:
    batcher, gate = Batcher(1), Gate(8)
    first = held_up(batcher, gate)
    many = [Asking(batcher.seat(gate.net, "many"), 10 * i, 8) for i in range(10)]
    one = Asking(batcher.seat(gate.net, "one"), 150, 40)
    wait_for(lambda: queued(batcher) == 120)
    let_all_through(gate)
    for each in (first, one, *many):
        each.join()
    half = [x for batch in gate.batches[1:11] for x in batch]
    assert sum(x < 150 for x in half) == 40
    assert {x // 10 for x in half if x < 100} == set(range(10))  # its searches take turns


def test_a_crowd_of_one_client_has_no_more_in_flight_than_its_share() -> None:
    batcher, gate = Batcher(1), Gate(8)
    crowd = [batcher.seat(gate.net, "crowd") for _ in range(30)]
    others = [batcher.seat(gate.net, f"{i}") for i in range(5)]
    batcher._count()  # all are new, so all are active: a sixth of 3 * 8 for each client
    first = held_up(batcher, gate)
    asking = [Asking(seat, i, 1) for i, seat in enumerate(crowd)]
    wait_for(lambda: queued(batcher) == 30)
    gate.go_on.release()
    assert gate.begun.acquire(timeout=PATIENCE_S)
    assert len(gate.batches[1]) == 4  # though nobody else waits
    let_all_through(gate)
    for each in (first, *asking):
        each.join()
    assert len(others) == 5


def test_weights() -> None:
    batcher, gate = Batcher(1), Gate(6)
    first = held_up(batcher, gate)
    heavy, light = batcher.seat(gate.net, "heavy"), batcher.seat(gate.net, "light")
    heavy.weight, light.weight = 4.0, 2.0
    asking = [Asking(heavy, 0, 60), Asking(light, 100, 60)]
    wait_for(lambda: queued(batcher) == 120)
    let_all_through(gate)
    for each in (first, *asking):
        each.join()
    half = [x for batch in gate.batches[1:11] for x in batch]
    assert 38 <= sum(x < 100 for x in half) <= 42


def test_batches_are_short_while_a_minority_is_in_a_hurry() -> None:
    batcher, gate = Batcher(1), Gate(16)
    first = held_up(batcher, gate)
    light = [batcher.seat(gate.net, str(i)) for i in range(8)]
    heavy = batcher.seat(gate.net, "heavy")
    heavy.weight = 4.0
    asking = [Asking(seat, 100, 16) for seat in light] + [Asking(heavy, 0, 1)]
    wait_for(lambda: queued(batcher) == 129)
    batcher._count()
    batcher._counted = Frozen()  # they stay active
    let_all_through(gate)
    for each in (first, *asking):
        each.join()
    batches = gate.batches[1:]
    assert [len(batch) for batch in batches if 0 in batch] == [2]
    assert {len(batch) for batch in batches[:-1] if 0 not in batch} == {4}


def test_batches_are_full_where_everybody_is_in_a_hurry() -> None:
    batcher, gate = Batcher(1), Gate(16)
    first = held_up(batcher, gate)
    seats = [batcher.seat(gate.net, str(i)) for i in range(4)]
    for seat in seats[:3]:
        seat.weight = 4.0
    asking = [Asking(seat, 100, 16) for seat in seats]
    wait_for(lambda: queued(batcher) == 64)
    batcher._count()
    batcher._counted = Frozen()
    let_all_through(gate)
    for each in (first, *asking):
        each.join()
    assert [len(batch) for batch in gate.batches[1:4]] == [16] * 3


def test_a_client_that_comes_back_has_no_claim_to_the_past() -> None:
    batcher, gate = Batcher(1), Gate(4)
    let_all_through(gate)
    worker, idler = batcher.seat(gate.net, "worker"), batcher.seat(gate.net, "idler")
    for _ in range(50):
        worker.evaluate(planes(0, 4))
    idler.evaluate(planes(0, 1))
    behind = worker.client.service - idler.client.service
    assert 0 <= behind < worker.client.service / 5


class Turning:
    """A thread that takes one turn and notes its name."""

    def __init__(self, seat: Seat, order: list[str], simulations: int = 256) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.simulations, self.turn = simulations, Turn(0, np.zeros(1, np.uint8))
        self.seat = seat
        self._thread = threading.Thread(target=self._take, args=(seat, order), daemon=True)
        self._thread.start()

    def _take(self, seat: Seat, order: list[str]) -> None:
        with seat.turn(self.simulations) as self.turn:
            order.append(seat.client.name)
            self.begun.set()
            assert self.go_on.wait(PATIENCE_S)
            self.turn.done = self.turn.simulations

    def end(self) -> None:
        self.go_on.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def test_turns_go_to_the_client_with_the_least_service() -> None:
    batcher, gate = Batcher(1), Gate()
    seats = {name: batcher.seat(gate.net, name) for name in ("first", "much", "little", "some")}
    for name, service in (("much", 3.0), ("little", 1.0), ("some", 2.0)):
        seats[name].client.service = service
    order: list[str] = []
    first = Turning(seats["first"], order)
    assert first.begun.wait(PATIENCE_S)
    waiting = {name: Turning(seats[name], order) for name in ("much", "some", "little")}
    wait_for(lambda: len(batcher._queue) == 3)
    assert not any(each.begun.is_set() for each in waiting.values())  # one lane, one turn
    first.end()
    for name in ("little", "some", "much"):
        assert waiting[name].begun.wait(PATIENCE_S)
        assert order[-1] == name
        waiting[name].end()
    assert batcher.rows == 4 * 256
    assert [seat.client.turns for seat in seats.values()] == [0] * 4


def test_a_turn_has_no_more_simulations_than_the_time_left_has_room_for() -> None:
    batcher, gate = Batcher(1), Gate()
    seat = batcher.seat(gate.net, "one")
    gate.net.cost = 1e-3
    with seat.turn(256, lambda: 1e6) as turn:
        assert turn.simulations == 256
    with seat.turn(256, lambda: 0.1) as turn:
        assert 1 <= turn.simulations <= 100
    with seat.turn(256, lambda: -1.0) as turn:
        assert turn.simulations == 1  # a lane is free
    gate.net.cost = 1.0
    with seat.turn(256) as turn:
        turn.done = 100
    assert gate.net.cost < 1.0  # what it has just taken counts


def test_who_waits_for_a_turn_longer_than_there_is_time_goes_without() -> None:
    batcher, gate = Batcher(1), Gate()
    order: list[str] = []
    first = Turning(batcher.seat(gate.net, "first"), order)
    assert first.begun.wait(PATIENCE_S)
    late = batcher.seat(gate.net, "late")
    with late.turn(256, lambda: 0.01) as turn:
        assert turn.simulations == 0
    assert late.client.turns == late.client.begun == 0
    assert not batcher._queue
    first.end()
    with late.turn(256, lambda: 0.01) as turn:
        assert turn.simulations


def test_a_turn_ends_early_for_a_more_urgent_search() -> None:
    batcher, gate = Batcher(1), Gate()
    order: list[str] = []
    analyst = Turning(batcher.seat(gate.net, "analyst"), order)
    assert analyst.begun.wait(PATIENCE_S)
    equal = Turning(batcher.seat(gate.net, "equal"), order)
    wait_for(lambda: len(batcher._queue) == 1)
    assert not analyst.turn.halt[0]
    query = batcher.seat(gate.net, "query")
    query.weight = 4.0
    urgent = Turning(query, order)
    wait_for(lambda: len(batcher._queue) == 2)
    equal.seat.client.service = 1.0  # the query is owed more
    opening = Turning(batcher.seat(gate.net, "opening"), order, simulations=1)  # no move before the root has its own
    wait_for(lambda: len(batcher._queue) == 3)
    assert analyst.turn.halt[0]
    for each, name in ((analyst, "opening"), (opening, "query"), (urgent, "equal")):
        each.end()
        wait_for(lambda n=name: order[-1] == n)  # type: ignore[misc]
    equal.end()
    assert not any(each.turn.halt[0] for each in (opening, urgent, equal))


def test_a_stopped_search_waits_for_no_turn() -> None:
    batcher, gate = Batcher(1), Gate()
    order: list[str] = []
    first = Turning(batcher.seat(gate.net, "first"), order)
    assert first.begun.wait(PATIENCE_S)
    seat = batcher.seat(gate.net, "stopped")
    stopped = Turning(seat, order)
    wait_for(lambda: len(batcher._queue) == 1)
    seat.interrupt()
    assert stopped.begun.wait(PATIENCE_S)
    assert stopped.turn.simulations == 0
    stopped.end()
    assert not batcher._queue
    assert seat.client.turns == seat.client.begun == 0
    first.end()


def test_roots_and_other_turns_alternate_while_both_wait() -> None:
    batcher, gate = Batcher(1), Gate()
    order: list[str] = []
    running = Turning(batcher.seat(gate.net, "running"), order)
    assert running.begun.wait(PATIENCE_S)
    names = ("later", "root 1", "root 2", "last")
    waiting: list[Turning] = []
    for name in names:
        waiting.append(Turning(batcher.seat(gate.net, name), order, simulations=1 if "root" in name else 256))
        wait_for(lambda: len(batcher._queue) == len(waiting))
    for each in (running, waiting[1], waiting[0], waiting[2], waiting[3]):
        assert each.begun.wait(PATIENCE_S)
        each.end()
    assert order[0] == "running"
    assert [name.startswith("root") for name in order[1:]] == [True, False, True, False]


def test_no_search_of_a_client_starves_beside_its_heavier_ones() -> None:
    batcher, gate = Batcher(1), Gate()
    order: list[str] = []
    light, heavy, other = (batcher.seat(gate.net, "one client") for _ in range(3))
    light.weight, heavy.weight, other.weight = 1.0, 2.0, 2.0
    running = Turning(other, order)
    assert running.begun.wait(PATIENCE_S)
    first, second = Turning(light, order), Turning(heavy, order)
    wait_for(lambda: len(batcher._queue) == 2)
    light.service, heavy.service = 0.0, 1.0  # it has had less, for its weight
    running.end()
    assert first.begun.wait(PATIENCE_S)
    assert not second.begun.is_set()
    first.end()
    assert second.begun.wait(PATIENCE_S)
    second.end()
    assert light.service > 0.0
    assert light.client.level == 1.0


def test_an_error_in_a_turn_frees_the_lane() -> None:
    batcher, gate = Batcher(1), Gate()
    seat = batcher.seat(gate.net, "one")
    with pytest.raises(ValueError, match="broken"), seat.turn(1):
        raise ValueError("broken")
    with seat.turn(1):
        pass


def test_leaves_of_a_stopped_search_are_dropped() -> None:
    batcher, gate = Batcher(1), Gate(4)
    first = held_up(batcher, gate)
    stopped, other = batcher.seat(gate.net, "stopped"), batcher.seat(gate.net, "other")
    asking = Asking(stopped, 0, 20)
    wait_for(lambda: queued(batcher) == 20)
    stopped.interrupt()
    asking.join()
    assert isinstance(asking.error, Interrupted)
    going_on = Asking(other, 100, 2)
    let_all_through(gate)
    going_on.join()
    first.join()
    assert gate.batches == [[200], [100, 101]]
    stopped.interrupt()  # nothing is waiting: nothing happens


def test_what_the_net_has_begun_is_waited_for() -> None:
    batcher, gate = Batcher(1), Gate(4)
    asking = Asking(batcher.seat(gate.net, "a"), 0, 6)
    assert gate.begun.acquire(timeout=PATIENCE_S)
    seat = batcher.clients()[0].seats[0]
    seat.interrupt()
    assert asking.waiting  # its planes are being read
    let_all_through(gate)
    asking.join()
    assert isinstance(asking.error, Interrupted)
    assert gate.batches == [[0, 1, 2, 3]]


@pytest.mark.parametrize("error", [NetError("broken"), ValueError("a bug")])
def test_an_error_ends_the_searches_that_asked_and_no_others(error: BaseException) -> None:
    batcher, gate = Batcher(1), Gate(4)
    gate.error = error
    seat = batcher.seat(gate.net, "a")
    asking = Asking(seat, 0, 6)
    let_all_through(gate)
    asking.join()
    assert asking.error is error
    gate.error = None
    _, values = seat.evaluate(planes(7, 2))
    assert values[:, 0].tolist() == [7, 8]


def test_room_is_shared_among_those_who_search() -> None:
    batcher, gate = Batcher(2), Gate(16)
    let_all_through(gate)
    seats = [batcher.seat(gate.net, name) for name in ("a", "b", "b", "c")]
    for seat in seats:
        seat.idle._start -= 3600.0  # long ago
    seats[0].evaluate(planes(0, 1))
    batcher._count()
    assert batcher.room(seats[0]) == 96  # alone: more than a search asks for
    for seat in seats:
        seat.evaluate(planes(0, 1))
    batcher._count()
    assert [batcher.room(seat) for seat in seats] == [32, 16, 16, 32]
    for seat in seats:
        seat.close()
    assert batcher.clients() == []


def test_an_opinion_shares_batches_with_searches() -> None:
    """Rows of one shape: others may be in the same batch."""
    game = get_game("go5")
    shapes = []

    def evaluate(rows: Planes) -> Output:
        shapes.append(rows.shape)
        return np.zeros((len(rows), game.num_actions), np.float32), np.zeros((len(rows), 1), np.float32)

    for symmetry in (0, 1):
        opinions_of(game, FunctionEvaluator(evaluate), [game.initial()], symmetry)
    assert shapes == [(1, math.prod(game.planes))] * 2


def test_a_shared_net_says_how_the_game_ends() -> None:
    nets = shared.SharedNets(2)
    engine = Engine("go9", EngineOptions(hash_mb=8, threads=1), partial(nets.load, "a"))
    infos: list[ThinkingInfo] = []
    engine.set_position(None, ["D4"])
    engine.go(Limits(nodes=20, report_ms=50), infos.append, lambda _: None)
    assert engine.wait(240)
    assert engine._seat is not None
    opinion = opinion_of(engine._game, engine._seat, engine._game.initial())
    assert len(opinion.ownership) == 81
    engine.close()
    told = [info.estimate for info in infos if info.estimate is not None]
    assert told
    assert told[-1].score is not None
    assert len(told[-1].ownership or ()) == 81
    assert nets.batcher.clients() == []


@pytest.mark.parametrize("end", ["stop", "ponderhit"])
def test_a_search_that_waits_for_its_turn_hears_its_end(end: str) -> None:
    nets, order = shared.SharedNets(1), list[str]()
    engine = Engine("chess", EngineOptions(hash_mb=16, threads=1), partial(nets.load, "a"))
    engine.set_position(None, [])
    pondering = go(engine, ponder=True, movetime=50.0)
    wait_for(lambda: bool(pondering.infos and pondering.infos[-1].lines))
    other = Turning(nets.batcher.seat(Gate().net, "other"), order)
    assert other.begun.wait(PATIENCE_S)
    wait_for(lambda: len(nets.batcher._queue) == 1)
    assert not pondering.done.wait(0.2)
    engine.stop() if end == "stop" else engine.ponderhit()
    assert pondering.answer.move in engine.legal_moves()  # the other has its turn still
    assert not nets.batcher._queue
    other.end()
    engine.close()


def test_those_who_shared_a_net_share_what_plays_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[FailingNet] = []

    def load(weights: str, game: Game, **settings: object) -> FailingNet:
        loaded.append(FailingNet(game, "nan", 0))
        return loaded[-1]

    monkeypatch.setattr(shared, "load_evaluator", load)
    nets = shared.SharedNets(1)
    engines = [Engine("chess", EngineOptions(hash_mb=8, threads=1), partial(nets.load, name)) for name in "ab"]
    for engine in engines:
        answers: list[BestMove] = []
        engine.set_position(None, [])
        engine.go(Limits(nodes=20), lambda _: None, answers.append)
        assert engine.wait(240)
        assert answers[0].move in engine.legal_moves()
        assert isinstance(answers[0].error, NetError)
    assert len(loaded) == 1
    first, second = (engine._seat for engine in engines)
    assert first is not None
    assert second is not None
    assert first.net is second.net
    assert isinstance(first.net.evaluator, OnnxEvaluator)
    for engine in engines:
        engine.close()
    assert nets.batcher.clients() == []
