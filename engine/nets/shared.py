"""One net for many searches: their leaves meet in its batches, and every client gets its share of it.

A search asks through its :class:`Seat`, which is an :class:`Evaluator`, and waits. Threads of the :class:`Batcher`, its
lanes, run the nets: each takes what is waiting, the client with the least service first, and never waits for more.

A compiled net is evaluated by the searches' own kernels: they take turns, as many at a time as there are lanes.

Service is measured in seconds of the net, divided by the weight of the search; a client that comes back begins where
the others are (Sheng et al. 2024, "Fairness in Serving Large Language Models", section 4).
"""

from __future__ import annotations

import contextlib
import heapq
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..clock import Stopwatch
from ..errors import NetError
from ..games.base import Game
from .evaluator import Evaluator, Extra, Floats, Interrupted, Output, Planes, Turn, endless
from .weights import load_evaluator, load_stand_in

_IN_PIPE = 3.0  # leaves in flight, as a multiple of what the lanes evaluate at once
_CREDIT = 2.0  # batches by which a client that was busy with its tree may be behind the others
_SHORT = 0.125  # of a batch, that is filled when it brings the leaves of an urgent search
_MEDIUM = 0.25  # of a batch without them, while such a search is active
_ACTIVE_S = 0.25  # a search with a request within this time counts
_COUNT_S = 0.05  # between counts of those

Outputs = Sequence[Any]  # arrays [B, ...] or None


@dataclass(eq=False, slots=True)
class _Request:
    """Planes that a search waits for."""

    seat: Seat
    kind: str  # the evaluator's method
    planes: Planes
    begun: int = 0  # rows that a lane has taken ...
    done: int = 0  # ... and brought back
    outputs: list[Any] | None = None
    error: BaseException | None = None
    withdrawn: bool = False
    over: threading.Lock = field(default_factory=threading.Lock)  # held until it is answered

    @property
    def left(self) -> int:
        return 0 if self.withdrawn else len(self.planes) - self.begun


_Piece = tuple[_Request, int, int]  # rows from .. to of a request


@dataclass(eq=False, slots=True)
class Client:
    """Whoever shares the nets fairly with others, by one search or by many."""

    name: str
    service: float = 0.0  # seconds of the nets over the weights
    rows: int = 0  # positions evaluated
    running: int = 0  # positions that lanes have taken and not brought back
    seats: list[Seat] = field(default_factory=list)
    requests: deque[_Request] = field(default_factory=deque)  # of which rows are left
    turns: int = 0  # that its searches have or wait for ...
    begun: int = 0  # ... and of these, how many they have
    level: float = 0.0  # service of the seat that had its turn last


@dataclass(eq=False, slots=True)
class _TurnRequest:
    """A turn that a search waits for, or has."""

    seat: Seat
    turn: Turn
    granted: threading.Lock = field(default_factory=threading.Lock)  # held until it comes

    @property
    def is_root(self) -> bool:
        """Whether it is for the root, without which nobody can move."""
        return self.turn.simulations == 1

    @property
    def urgency(self) -> float:
        """Whom others make room for."""
        return math.inf if self.is_root else self.seat.weight


@dataclass(eq=False, slots=True)
class _Net:
    """An evaluator in use."""

    evaluator: Evaluator
    cost: float = 1e-3  # seconds a position, a running mean
    stand_in: _Net | None = None  # what plays once it is given up
    replacing: threading.Lock = field(default_factory=threading.Lock)


class Seat(Evaluator):
    """One search's access to a shared net. ``weight`` is the search's share beside the others'."""

    def __init__(self, batcher: Batcher, net: _Net, client: Client) -> None:
        evaluator = net.evaluator
        self.info, self.encoder, self.history = evaluator.info, evaluator.encoder, evaluator.history
        self.batch_size, self.description = evaluator.batch_size, evaluator.description
        self.note: str = getattr(evaluator, "note", "")
        self.extra: tuple[str, ...] = evaluator.extra
        self.compiled = None if evaluator.compiled is None else replace(evaluator.compiled, turn=self.turn)
        self.weight = 2.0
        self.net, self.client = net, client
        self.service = 0.0  # seconds of its turns over its weight
        self.idle = Stopwatch()  # since its last request
        self.room = partial(batcher.room, self)  # its share of what keeps the net busy
        self._batcher = batcher

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        """See Evaluator. Errors: NetError; Interrupted."""
        policy, values = self._batcher.ask(self, "evaluate", planes)
        return policy, values

    def evaluate_all(self, planes: Planes, slot: int = 0) -> tuple[*Output, *Extra]:
        """See OnnxEvaluator. Errors: NetError; Interrupted."""
        policy, value, ownership, score = self._batcher.ask(self, "evaluate_all", planes)
        return policy, value, ownership, score

    def doubts(self, planes: Planes, slot: int = 0) -> tuple[Floats | None]:
        """See Evaluator. Errors: NetError; Interrupted."""
        (doubts,) = self._batcher.ask(self, "doubts", planes)
        return (doubts,)

    def turn(self, simulations: int, left: Callable[[], float] = endless) -> contextlib.AbstractContextManager[Turn]:
        """See CompiledNet."""
        return self._batcher.turn(self, simulations, left)

    @property
    def fault(self) -> NetError | None:  # type: ignore[override]
        """Why the shared net is given up."""
        return self.net.evaluator.fault

    def stand_in(self, game: Game) -> Seat:
        """A seat at what plays in place of the net, one for all that shared it. Blocks while it is loaded."""
        with self.net.replacing:
            if self.net.stand_in is None:
                self.net.stand_in = _Net(load_stand_in(self.net.evaluator, game))
        return self._batcher.seat(self.net.stand_in, self.client.name)

    def interrupt(self) -> None:
        """Take back what no lane has begun, turns too, from any thread; the rest is others'. Returns at once."""
        self._batcher.withdraw(self)

    def close(self) -> None:
        """Leave for good."""
        self._batcher.leave(self)


class Batcher:
    """Runs nets for whoever asks, ``lanes`` batches at a time. All methods may be called from any thread."""

    def __init__(self, lanes: int) -> None:
        """Begin with the first seat."""
        self.lanes = lanes
        self.batches = self.rows = self.offered = self.dropped = 0  # so far; offered: rows that batches had room for
        self.seconds = 0.0  # spent in batches
        self.waited: dict[
            float, tuple[int, float]
        ] = {}  # by weight: requests, and seconds before their first batch or turn
        self._changed = threading.Condition()
        self._queue: list[_TurnRequest] = []  # who waits for a turn
        self._turning: list[_TurnRequest] = []  # turns under way
        self._turn_s = 1e-3  # seconds a turn takes, a running mean
        self._root_last = False  # the last turn was for a root
        self._clients: dict[str, Client] = {}
        self._waiting: set[Client] = set()  # with rows left
        self._floor = 0.0  # service of the client that was served last
        self._running = False
        self._counted = Stopwatch()
        self._weights: dict[Client, tuple[float, int]] = {}  # of active clients: weight, and seats
        self._total = 0.0  # of these weights

    def seat(self, net: _Net, client: str) -> Seat:
        """A seat at a net for a client."""
        with self._changed:
            seat = Seat(self, net, self._clients.setdefault(client, Client(client)))
            seat.client.seats.append(seat)
            if not self._running:
                self._running = True
                for slot in range(self.lanes):
                    threading.Thread(target=self._lane, args=(slot,), name=f"lane {slot}", daemon=True).start()
        return seat

    def leave(self, seat: Seat) -> None:
        """Give a seat back."""
        self.withdraw(seat)
        with self._changed:
            client = seat.client
            if seat in client.seats:
                client.seats.remove(seat)
            if not client.seats:
                self._clients.pop(client.name, None)

    def clients(self) -> list[Client]:
        """All that have a seat."""
        with self._changed:
            return list(self._clients.values())

    def ask(self, seat: Seat, kind: str, planes: Planes) -> Outputs:
        """What the net's method ``kind`` says of planes u1[B, F], B > 0. Blocks. Errors: NetError; Interrupted."""
        request = _Request(seat, kind, planes)
        request.over.acquire()
        seat.idle.restart()
        with self._changed:
            client, net = seat.client, seat.net
            if client not in self._waiting:
                credit = _CREDIT * net.cost * net.evaluator.batch_size
                client.service = max(client.service, self._floor - credit)
                self._waiting.add(client)
            client.requests.append(request)
            self._changed.notify()
        request.over.acquire()
        if request.error is not None:
            raise request.error
        if request.withdrawn or request.outputs is None:
            raise Interrupted("the leaves were withdrawn before the net saw them")
        return request.outputs

    @contextlib.contextmanager
    def turn(self, seat: Seat, simulations: int, left: Callable[[], float] = endless) -> Iterator[Turn]:
        """Wait, at most ``left()`` seconds, until a lane is free and the seat's client has the least service of all.

        Of a client's seats the one with the least service comes first. Roots come before all others, but no two in a
        row while others wait. The turn has no more simulations than the net makes in the time that is then left, none
        after :meth:`withdraw`. It is ended early for a search that is more urgent.
        """
        request, watch = _TurnRequest(seat, Turn(simulations, np.zeros(1, np.uint8))), Stopwatch()
        client, net, turn = seat.client, seat.net, request.turn
        request.granted.acquire()
        seat.idle.restart()
        with self._changed:
            if not client.turns:
                client.service = max(client.service, self._floor - _CREDIT * self._turn_s)
            seat.service = max(seat.service, client.level - _CREDIT * self._turn_s)
            client.turns += 1
            self._queue.append(request)
            patience = left()  # a stop before this is seen here, a later one withdraws the request
            self._grant()
        if not request.granted.acquire(timeout=min(max(patience, 0.0), threading.TIMEOUT_MAX)):
            with self._changed:
                if request in self._queue:
                    self._queue.remove(request)
                    client.turns -= 1
                    turn.simulations = 0
        if not turn.simulations:
            yield turn
            return
        if patience < math.inf:
            turn.simulations = min(simulations, max(int((patience - watch.seconds) / net.cost), 1))
        watch.restart()
        try:
            yield turn
        finally:
            with self._changed:
                seconds = watch.seconds
                if turn.done:
                    net.cost += 0.1 * (seconds / turn.done - net.cost)
                self._turn_s += 0.1 * (seconds - self._turn_s)
                self._turning.remove(request)
                self.rows += turn.done
                self.seconds += seconds
                client.rows += turn.done
                client.turns -= 1
                client.service += seconds / seat.weight
                seat.service += seconds / seat.weight
                client.begun -= 1
                self._grant()

    def _grant(self) -> None:
        """Begin the next turns; end one early when all lanes are taken and someone more urgent waits."""

        def owed(request: _TurnRequest) -> tuple[bool, float, float, float]:
            seat, client, weight = request.seat, request.seat.client, request.seat.weight
            service = client.service + client.begun * self._turn_s / weight
            return request.is_root == self._root_last, service, seat.service, -weight

        while self._queue and len(self._turning) < self.lanes:
            chosen = min(self._queue, key=owed)
            self._root_last = chosen.is_root
            self._queue.remove(chosen)
            client = chosen.seat.client
            self._floor = max(self._floor, client.service)
            client.level = max(client.level, chosen.seat.service)
            self._turning.append(chosen)
            client.begun += 1
            self._count_wait(chosen.seat)
            chosen.granted.release()
        if self._queue:
            first, least = min(self._queue, key=owed), min(self._turning, key=lambda each: each.urgency)
            if first.urgency > least.urgency:
                least.turn.halt[0] = 1

    def _count_wait(self, seat: Seat) -> None:
        """Count the seat's last request, whose wait is over."""
        count, seconds = self.waited.get(seat.weight, (0, 0.0))
        self.waited[seat.weight] = count + 1, seconds + seat.idle.seconds

    def withdraw(self, seat: Seat) -> None:
        """See :meth:`Seat.interrupt`."""
        with self._changed:
            client = seat.client
            for request in [each for each in client.requests if each.seat is seat]:
                client.requests.remove(request)
                self.dropped += request.left
                request.withdrawn = True
                if request.done == request.begun:
                    request.over.release()
            if not client.requests:
                self._waiting.discard(client)
            for turn in [each for each in self._queue if each.seat is seat]:
                self._queue.remove(turn)
                client.turns -= 1
                turn.turn.simulations = 0
                turn.granted.release()

    def room(self, seat: Seat) -> int:
        """Leaves that a search may have in flight, at least one."""
        if not self._weights or self._counted.seconds > _COUNT_S:
            self._count()
        _, seats = self._weights.get(seat.client, (0.0, 1))
        return max(math.ceil(self._cap(seat.client, seat.batch_size) / seats), 1)

    def _cap(self, client: Client, batch_size: int) -> float:
        """Leaves that all searches of a client together may have in flight."""
        weight, _ = self._weights.get(client, (self._total or 1.0, 1))  # a new one is counted soon
        return max(_IN_PIPE * self.lanes * batch_size * weight / max(self._total, weight), 1.0)

    def _count(self) -> None:
        """Count the active searches."""
        with self._changed:
            self._counted.restart()
            self._weights.clear()
            for client in self._clients.values():
                active = [seat for seat in client.seats if seat.idle.seconds < _ACTIVE_S]
                if active:
                    self._weights[client] = max(seat.weight for seat in active), len(active)
            self._total = sum(weight for weight, _ in self._weights.values())

    def _urgent(self, heaviest: float) -> bool:
        """Whether searches of a weight should have their leaves back soon: they are a minority."""
        like = sum(weight for weight, _ in self._weights.values() if weight >= heaviest)
        return bool(self._weights) and 2.0 * like < self._total

    # ------------------------------------------------------------------ lanes

    def _lane(self, slot: int) -> None:
        watch = Stopwatch()
        while True:
            with self._changed:
                while (batch := self._fill()) is None:
                    self._changed.wait()
            net, kind, pieces = batch
            rows = sum(end - start for _, start, end in pieces)
            watch.restart()
            outputs, error = _run(net.evaluator, kind, [r.planes[start:end] for r, start, end in pieces], slot)
            with self._changed:
                net.cost += 0.1 * (watch.seconds / rows - net.cost)
                self.batches += 1
                self.rows += rows
                self.offered += net.evaluator.batch_size
                self.seconds += watch.seconds
                _hand_out(pieces, outputs, error)
                self._changed.notify_all()  # a client may have been at its cap

    def _fill(self) -> tuple[_Net, str, list[_Piece]] | None:
        """The next batch, of one net, the clients with the least service first; None when nothing may begin."""
        heap = [
            (client.service, -client.requests[0].seat.weight, i, client)
            for i, client in enumerate(self._waiting)
            if client.running < self._cap(client, client.requests[0].seat.batch_size)
        ]
        if not heap:
            return None
        heapq.heapify(heap)
        self._floor = max(self._floor, heap[0][0])
        first = heap[0][3].requests[0]
        net, kind = first.seat.net, first.kind
        room, pieces = net.evaluator.batch_size, list[_Piece]()
        heaviest = max((weight for weight, _ in self._weights.values()), default=0.0)
        if self._urgent(heaviest):
            urgent = first.seat.weight >= heaviest
            room = max(min(room, first.left), math.ceil(_SHORT * room)) if urgent else math.ceil(_MEDIUM * room)
        while heap and room:
            _, _, i, client = heapq.heappop(heap)
            request = next((r for r in client.requests if r.seat.net is net and r.kind == kind), None)
            if request is None:
                continue
            capped = int(self._cap(client, net.evaluator.batch_size)) - client.running
            if capped <= 0 and pieces:
                continue
            rows = min(request.left, max(room // (len(heap) + 1), 1), max(capped, 1))
            if not request.begun:
                self._count_wait(request.seat)
            pieces.append((request, request.begun, request.begun + rows))
            request.begun += rows
            room -= rows
            client.rows += rows
            client.running += rows
            client.service += rows * net.cost / request.seat.weight
            client.requests.remove(request)
            if request.left:
                client.requests.append(request)  # behind the client's other searches
            if client.requests:
                heapq.heappush(heap, (client.service, -client.requests[0].seat.weight, i, client))
            else:
                self._waiting.discard(client)
        return net, kind, _joined(pieces)


def _joined(pieces: list[_Piece]) -> list[_Piece]:
    """The pieces, those of one request as one: they follow each other."""
    joined: dict[_Request, tuple[int, int]] = {}
    for request, start, end in pieces:
        joined[request] = joined.get(request, (start, end))[0], end
    return [(request, start, end) for request, (start, end) in joined.items()]


def _run(
    evaluator: Evaluator, kind: str, planes: list[Planes], slot: int
) -> tuple[Outputs | None, BaseException | None]:
    """What the net says of all planes together, or the error."""
    try:
        return getattr(evaluator, kind)(planes[0] if len(planes) == 1 else np.concatenate(planes), slot), None
    except BaseException as error:  # noqa: BLE001 - handed to the searches that wait
        return None, error


def _hand_out(pieces: list[_Piece], outputs: Outputs | None, error: BaseException | None) -> None:
    """Give the rows of a batch to those who wait for them."""
    place = 0
    for request, start, end in pieces:
        rows = slice(place, place + end - start)
        place = rows.stop
        if outputs is None:
            request.error = error
        elif end - start == len(request.planes):
            request.outputs = [None if array is None else array[rows] for array in outputs]
        else:
            if request.outputs is None:
                size = len(request.planes)
                request.outputs = [None if a is None else np.empty((size, *a.shape[1:]), a.dtype) for a in outputs]
            for mine, array in zip(request.outputs, outputs, strict=True):
                if array is not None:
                    mine[start:end] = array[rows]
        request.done += end - start
        request.seat.client.running -= end - start
        if request.done == (request.begun if request.withdrawn else len(request.planes)):
            request.over.release()


class SharedNets:
    """The nets of a process, each loaded once, however many searches play with it."""

    def __init__(self, lanes: int) -> None:
        self.batcher = Batcher(lanes)
        self._nets: dict[tuple[object, ...], _Net] = {}
        self._lock = threading.Lock()

    def load(
        self,
        client: str,
        weights: str,
        game: Game,
        *,
        provider: str = "auto",
        batch_size: int = 0,
        tell: Callable[[str], None] | None = None,
        int8: bool = False,
    ) -> Seat:
        """A client's seat at the net that a ``WeightsFile`` setting names; see :func:`weights.load_evaluator`.

        ``batch_size`` counts for the first that loads the net. Blocks while it is loaded. Errors: NetError.
        """
        key = weights, provider, int8, game.name, game.planes
        with self._lock:
            net = self._nets.get(key)
            if net is None:
                evaluator = load_evaluator(
                    weights, game, provider=provider, batch_size=batch_size, tell=tell, int8=int8
                )
                net = self._nets[key] = _Net(evaluator)
        return self.batcher.seat(net, client)
