"""``az-engine bench tree|search``: how fast the tree grows, and the search with a net, beside the net alone.

Figures that are compared are measured in turns within the same run, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError, OptionError, counted
from ...engine.games import get_game
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.games.tactics.mates import LONGEST
from ...engine.nets.evaluator import Evaluator, Extra, Output, Planes, UniformEvaluator
from ...engine.nets.onnx.evaluator import OnnxEvaluator
from ...engine.nets.onnx.session import raw_session
from ...engine.nets.positions import encode
from ...engine.nets.weights import dense_net, load_evaluator
from ...engine.params import SearchParams
from ...engine.search.leaves.cache import PositionCache
from ...engine.search.search import Scope, Search
from ...engine.search.tree.nodes import EDGE, EDGES, NODE, NODES
from ...engine.search.tree.tree import Tree
from .measure import Measurement, show

_MEMORY = 512 << 20  # bytes for the tree
_PLIES = 12  # of the random games that positions are taken from


def add_tree_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--simulations", type=int, default=100_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="median of N (default: %(default)s)")
    usual = SearchParams().mate_plies
    parser.add_argument(
        "--mate-plies", type=int, default=usual, metavar="N", help="mates at the leaves (default: %(default)s)"
    )


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    _add_net_arguments(parser)
    parser.add_argument(
        "--batch", type=int, default=0, metavar="N", help="leaves in a batch (default: what the engine uses)"
    )
    parser.add_argument("--workers", type=_sizes, default="1,2", metavar="N,N", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="median of N (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="time for each round of each side (default: %(default)s)"
    )


def _add_net_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--net", default="", metavar="FILE", help="an ONNX net (default: the net inside the package)")
    parser.add_argument("--provider", default="cpu", help="what runs it (default: %(default)s)")
    parser.add_argument("--size", type=int, default=0, metavar="N", help="lines of the board, where sizes differ")


def _game(args: argparse.Namespace) -> Game:
    """The game to measure. Errors: OptionError for a size that it has not."""
    game = get_game(args.game)
    return game.sized(args.size) if args.size else game


def _sizes(text: str) -> list[int]:
    sizes = [int(word) for word in text.split(",")]
    if min(sizes) < 1:
        raise argparse.ArgumentTypeError("numbers of 1 or more, separated by commas")
    return sizes


def tree(args: argparse.Namespace) -> int:
    _check_positive(args, "simulations", "rounds")
    if not 0 <= args.mate_plies <= LONGEST:
        raise OptionError(f"--mate-plies must be 0 to {LONGEST}")
    show(_tree(get_game(args.game), args.simulations, args.rounds, args.mate_plies), as_json=args.json)
    return 0


def _tree(game: Game, simulations: int, rounds: int, mate_plies: int) -> Iterator[Measurement]:
    line, kinds = game.initial(), [0]
    if game.encoder.finds_mates and mate_plies:
        kinds.append(mate_plies)  # in turns with a search that looks for no mates
    _grow(game, line, 100, Tree(1 << 20), kinds[-1])  # loads the kernels
    speeds: list[list[float]] = []
    for _ in range(rounds):
        speeds.append([])
        for plies in kinds:
            grown = Tree(_MEMORY)
            start = time.perf_counter()
            _grow(game, line, simulations, grown, plies)
            speeds[-1].append(simulations / (time.perf_counter() - start))
    nodes, edges = int(grown.counters[NODES]), int(grown.counters[EDGES])
    how = f"uniform evaluator, one worker, fresh tree, median of {rounds}"
    bare, *with_mates = (statistics.median(column) for column in zip(*speeds, strict=True))
    name = f"tree, {simulations:,} simulations"
    if not with_mates:
        yield Measurement(name, bare, "simulations/s", note=how)
    for speed in with_mates:
        how += f"; mates of up to {mate_plies} plies at the leaves"
        share = statistics.median(one / other for other, one in speeds)
        yield Measurement(name, speed, "simulations/s", "the same without mates", bare, how, share)
    size = (nodes * NODE.itemsize + edges * EDGE.itemsize) / nodes
    yield Measurement("tree, memory", size, "bytes/node", note=f"{counted(nodes, 'node')}, {counted(edges, 'edge')}")


def _grow(game: Game, line: State, simulations: int, grown: Tree, mate_plies: int) -> None:
    params = SearchParams(solver=True, smart_pruning=False, mate_plies=mate_plies)
    search = Search(game, grown, UniformEvaluator(game), params, game.window(line), visits=simulations)
    search.run(lambda: False)
    if search.error is not None:
        raise search.error


def search(args: argparse.Namespace) -> int:
    _check_positive(args, "rounds")
    show(_search(args), as_json=args.json)
    return 0


def _search(args: argparse.Namespace) -> Iterator[Measurement]:
    game = _game(args)
    evaluator = _load(args.net, game, args.provider, args.batch)
    assert evaluator.info is not None
    if evaluator.compiled is not None:
        yield from _compiled_search(args, game, evaluator)
        return
    size = evaluator.batch_size
    planes = random_planes(game.using(evaluator.encoder), size, evaluator.history)
    net = f"{evaluator.info.name or evaluator.path.name} ({evaluator.info.quantisation}), batch {size}"
    line = random_line(game, random.Random(0), _PLIES)
    _search_speed(game, line, evaluator, 1, 0.2)  # loads the kernels
    for workers in args.workers:
        raw = _Raw(evaluator, planes, workers, args.provider)
        rounds = []
        for _ in range(args.rounds):
            alone = raw.speed(args.seconds)
            played = _search_speed(game, line, evaluator, workers, args.seconds, cached=True)
            bare = _search_speed(game, line, evaluator, workers, args.seconds)
            estimated = 0.0
            if evaluator.extra:
                estimated = _search_speed(game, line, evaluator, workers, args.seconds, ownership=True)
            rounds.append((alone, played, bare, played / alone, bare / alone, estimated, estimated / bare))
        medians = map(statistics.median, zip(*rounds, strict=True))
        alone, played, bare, share, bare_share, estimated, estimated_share = medians
        peer = f"onnxruntime alone, {workers} session{'s' * (workers > 1)} with one thread each"
        how = f"{net}; median of {counted(args.rounds, 'round')} in turns with the peer; as played, nps in a GUI"
        yield Measurement(f"search, workers {workers}", played, "simulations/s", peer, alone, how, share)
        how = "the same without the position cache; only positions that the net evaluated count"
        yield Measurement(f"search, workers {workers}, no cache", bare, "positions/s", peer, alone, how, bare_share)
        if evaluator.extra:
            how = "the same with the score and ownership of every node kept, as an analysis with estimates does"
            name = f"search, workers {workers}, no cache, estimates"
            yield Measurement(name, estimated, "positions/s", "the same without", bare, how, estimated_share)


def _compiled_search(args: argparse.Namespace, game: Game, evaluator: OnnxEvaluator) -> Iterator[Measurement]:
    """A search that a kernel makes by itself, beside the convolution net's and one worker's."""
    path = dense_net(game.name)
    if path is None:
        raise NetError(f"there is no convolution net for {game.name} inside this package to compare with")
    other = _load(str(path), game, args.provider)
    assert evaluator.info is not None
    assert other.info is not None
    line = random_line(game, random.Random(0), _PLIES)
    counts = sorted({1, *args.workers})
    for each in (evaluator, other):
        simulations(game, line, each, 1, 0.2)  # loads the kernels
    rounds = [
        [simulations(game, line, each, n, args.seconds) for n in counts for each in (evaluator, other)]
        for _ in range(args.rounds)
    ]
    turns = f"median of {counted(args.rounds, 'round')} in turns with the peer"
    how = f"{evaluator.info.name}; as played, nps in a GUI; {turns}"
    for i, workers in enumerate(counts):
        speed, peer, one = ([speeds[k] for speeds in rounds] for k in (2 * i, 2 * i + 1, 0))
        share = statistics.median(a / b for a, b in zip(speed, peer, strict=True))
        value, beside, name = statistics.median(speed), statistics.median(peer), f"search, workers {workers}"
        yield Measurement(name, value, "simulations/s", f"{other.info.name}, as many workers", beside, how, share)
        if workers > 1:
            share = statistics.median(a / b for a, b in zip(speed, one, strict=True))
            yield Measurement(name, value, "simulations/s", "one worker", statistics.median(one), how, share)


def simulations(game: Game, line: State, evaluator: Evaluator, workers: int, seconds: float) -> float:
    """Simulations a second of a fresh search with a cache."""
    cache, grown = PositionCache(_MEMORY // 4, game.branching), Tree(_MEMORY)
    params = SearchParams(smart_pruning=False)
    running = Search(game, grown, evaluator, params, game.window(line), cache=cache, scope=Scope(workers=workers))
    start = time.perf_counter()
    running.run(lambda: time.perf_counter() - start >= seconds)
    elapsed = time.perf_counter() - start
    if running.error is not None:
        raise running.error
    return running.simulations / elapsed


def _search_speed(
    game: Game,
    line: State,
    evaluator: OnnxEvaluator,
    workers: int,
    seconds: float,
    *,
    cached: bool = False,
    ownership: bool = False,
) -> float:
    """A fresh search's positions evaluated a second, in full batches; with a cache its simulations a second."""
    counting = _Counting(evaluator)
    cache = PositionCache(_MEMORY // 16, game.branching) if cached else None
    running = Search(
        game,
        Tree(_MEMORY),
        counting,
        SearchParams(smart_pruning=False),
        game.window(line),
        cache=cache,
        scope=Scope(workers=workers, ownership=ownership),
    )
    running.ramp = 1
    start = time.perf_counter()
    running.run(lambda: time.perf_counter() - start >= seconds)
    elapsed = time.perf_counter() - start
    if running.error is not None:
        raise running.error
    return (running.simulations if cached else counting.positions) / elapsed


class _Counting(Evaluator):
    """An evaluator that counts the positions that it evaluates."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.info, self.batch_size, self.history = evaluator.info, evaluator.batch_size, evaluator.history
        self.encoder, self.description, self.extra = evaluator.encoder, evaluator.description, evaluator.extra
        self._evaluator = evaluator
        self._counts: dict[int, int] = {}  # by slot: each has one writer

    @property
    def positions(self) -> int:
        return sum(self._counts.values())

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        self._counts[slot] = self._counts.get(slot, 0) + len(planes)
        return self._evaluator.evaluate(planes, slot)

    def bind(self, planes: Planes, slot: int = 0) -> Callable[[int], Output]:
        ask = self._evaluator.bind(planes, slot)

        def counted(count: int) -> Output:
            self._counts[slot] = self._counts.get(slot, 0) + count
            return ask(count)

        return counted

    def evaluate_all(
        self, planes: NDArray[np.uint8], slot: int = 0
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], *Extra]:
        self._counts[slot] = self._counts.get(slot, 0) + len(planes)
        return self._evaluator.evaluate_all(planes, slot)


class _Raw:
    """Nothing but ``session.run`` on one batch, in as many threads as there are sessions: the limit of a search."""

    def __init__(self, evaluator: OnnxEvaluator, planes: NDArray[np.uint8], sessions: int, provider: str) -> None:
        assert evaluator.info is not None
        self._outputs = ["policy", evaluator.info.value_head]
        self._planes = planes
        self._sessions = [raw_session(str(evaluator.path), 1, provider) for _ in range(sessions)]
        for session in self._sessions:
            session.run(self._outputs, {"planes": planes})

    def speed(self, seconds: float) -> float:
        start = time.perf_counter()
        batches = [0] * len(self._sessions)
        errors: list[BaseException] = []

        def work(i: int, session: Any) -> None:
            try:
                while batches[i] == 0 or time.perf_counter() - start < seconds:
                    session.run(self._outputs, {"planes": self._planes})
                    batches[i] += 1
            except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
                errors.append(error)

        _run_all([lambda i=i, s=s: work(i, s) for i, s in enumerate(self._sessions)])  # type: ignore[misc]
        if errors:
            raise errors[0]
        return sum(batches) * len(self._planes) / (time.perf_counter() - start)


def _run_all(tasks: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks[1:]]
    for thread in threads:
        thread.start()
    tasks[0]()
    for thread in threads:
        thread.join()


def random_line(game: Game, rng: random.Random, plies: int) -> State:
    """A game of random moves that has not ended, State[plies + 1]."""
    while True:
        line = game.initial()
        while len(line) <= plies and game.outcome(line) == RUNNING:
            line = game.play(line, int(rng.choice(game.legal_moves(line).tolist())))
        if len(line) == plies + 1 and game.outcome(line) == RUNNING:
            return line


def random_planes(game: Game, count: int, history: int) -> NDArray[np.uint8]:
    """Planes of positions from random games, u1[count, C, H, W]."""
    rng = random.Random(1)
    return encode(game, [random_line(game, rng, _PLIES) for _ in range(count)], history)


def _load(net: str, game: Game, provider: str, batch_size: int = 0) -> OnnxEvaluator:
    evaluator = load_evaluator(net, game, provider=provider, batch_size=batch_size)
    if not isinstance(evaluator, OnnxEvaluator):
        raise NetError(f"{net!r} is no net file; give the path of an ONNX net")
    return evaluator


def _check_positive(args: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(args, name) < 1:
            raise OptionError(f"--{name} must be 1 or more")
