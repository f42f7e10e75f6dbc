"""The engine that protocols, matches and tools drive: one game, one net, one tree, one search at a time.

``Engine(...)``, :meth:`Engine.configure`, :meth:`Engine.go`, :meth:`Engine.stop` and :meth:`Engine.ponderhit` return at
once; :meth:`Engine.ready` and :meth:`Engine.wait` block. Kernels and the net are loaded by ``ready`` (or by the first
call that needs them), so that a protocol can greet its GUI before anything heavy is imported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np

from . import jit, report
from .cache import PositionCache
from .clock import Budget, Stopwatch, budget
from .errors import IllegalMoveError, NetError, OptionError, PositionError
from .evaluator import Evaluator, load_evaluator
from .games import get_game
from .games.base import State
from .info import BestMove, ThinkingInfo
from .limits import Limits
from .netinfo import NetInfo
from .params import EngineOptions
from .search import Search
from .strength import limit_strength
from .tree import DEPTH_MAX, DEPTH_SUM, Tree

_INFO_SECONDS = 0.1  # between reports, doubled as the search goes on ...
_INFO_MAX_SECONDS = 1.0  # ... to this
_CACHE_SHARE = 1 / 16  # of the Hash memory that goes to the position cache
_CROWDED = 0.5  # a tree that is fuller than this drops what the game has left behind

OnInfo = Callable[[ThinkingInfo], None]
OnDone = Callable[[BestMove], None]


class Engine:
    """One engine for one game. Methods may be called from any one thread; callbacks come from the search's thread."""

    def __init__(self, game: str, options: EngineOptions | None = None) -> None:
        """Returns at once; loads nothing."""
        self.game_name = game
        self.options = options or EngineOptions()
        self.net: NetInfo | None = None
        self.notes: list[str] = []  # what the user should know of the last ready(): provider, kernel cache
        self._loaded: tuple[str, str, int] | None = None
        self._evaluator: Evaluator | None = None
        self._tree: Tree | None = None
        self._cache: PositionCache | None = None
        self._memory = 0
        self._line: State | None = None  # the game up to the position to search
        self._base: State | None = None  # the game up to the tree's base
        self._restricted = False  # the tree's root lacks moves (searchmoves)
        self._thinking: _Thinking | None = None
        self._loading = threading.Lock()

    def configure(self, **changes: object) -> None:
        """Set fields of EngineOptions; they count from the next ready() or go(). Returns at once.

        Errors: OptionError for an unknown field.
        """
        known = {f.name for f in fields(EngineOptions)}
        unknown = set(changes) - known
        if unknown:
            raise OptionError(f"there is no engine option {sorted(unknown)[0]!r}")
        self.options = replace(self.options, **changes)  # type: ignore[arg-type]

    def ready(self, on_progress: Callable[[str], None] | None = None) -> None:
        """Load kernels and net. Blocks: seconds when kernels must be compiled, else about half a second.

        ``on_progress`` gets a sentence when something takes long. Errors: NetError; the engine then keeps the net it
        had, if any.
        """
        with self._loading:
            self._load_kernels(on_progress)
            self._load_net()
            self._make_tree()

    def _load_kernels(self, on_progress: Callable[[str], None] | None) -> None:
        if self._tree is not None:
            return
        if on_progress is not None:
            jit.on_compile(lambda name: on_progress(f"compiling {name}"))
        try:
            _warm_up(self.game_name)
        finally:
            jit.on_compile(None)
        problem = jit.cache_problem()
        if problem is not None:
            self.notes.append(problem)
            if on_progress is not None:
                on_progress(problem)

    def _load_net(self) -> None:
        wanted = (self.options.weights_file, self.options.provider, self.options.batch_size)
        if self._loaded == wanted:
            return
        evaluator = load_evaluator(wanted[0], get_game(self.game_name), provider=wanted[1], batch_size=wanted[2])
        self._evaluator, self._loaded, self.net = evaluator, wanted, evaluator.info
        note = getattr(evaluator, "note", "")
        if note:
            self.notes.append(note)
        self._forget()

    def _make_tree(self) -> None:
        memory = self.options.hash_mb << 20
        if self._tree is None or self._memory != memory:
            self._tree = None  # the old one's memory is free before the new one's is asked for
            self._tree = Tree(int(memory * (1 - _CACHE_SHARE)))
            self._cache = PositionCache(int(memory * _CACHE_SHARE))
            self._memory = memory
            self._base = None

    @property
    def description(self) -> str:
        """One line: the net in use and what runs it; empty before ready()."""
        return self._evaluator.description if self._evaluator is not None else ""

    def new_game(self) -> None:
        """Forget tree and cache. Returns at once when idle; during a search, waits for nothing and acts on the next."""
        if self.searching:
            self._base = None
            return
        self._forget()

    def _forget(self) -> None:
        self._base = None
        if self._cache is not None:
            self._cache.clear()

    def set_position(self, root: str | None, moves: Sequence[str]) -> list[str]:
        """Hold the position after ``moves`` from ``root`` (None: the start position); returns notes on mended input.

        Blocks briefly. Errors: PositionError, IllegalMoveError; then no position is held.
        """
        self._line = None
        game = get_game(self.game_name)
        chess960 = self.options.chess960
        if root is None:
            line, notes = game.initial(), []
        else:
            line, notes = game.parse_position(root, chess960=chess960)
        states = np.empty(len(moves) + 1, game.state_dtype)
        states[0] = line[-1]
        for i, text in enumerate(moves):
            try:
                move = game.parse_move(states[i], text)
            except IllegalMoveError as error:
                raise IllegalMoveError(f"move {i + 1} of {len(moves)}: {error}") from None
            game.play_at(states, i, move)
        self._line = states
        return notes

    @property
    def position(self) -> str | None:
        """The position held, in the game's notation; None when there is none."""
        return None if self._line is None else get_game(self.game_name).format_position(self._line[-1])

    def legal_moves(self) -> list[str]:
        """Legal moves of the position held. Errors: PositionError when there is none."""
        if self._line is None:
            raise PositionError("no position is set; send a position first")
        game, state = get_game(self.game_name), self._line[-1]
        return [game.format_move(state, int(m), chess960=self.options.chess960) for m in game.legal_moves(state)]

    def perft(self, depth: int) -> dict[str, int]:
        """Leaves of the legal move tree below each legal move. Blocks. Errors: PositionError without a position."""
        if self._line is None:
            raise PositionError("no position is set; send a position first")
        return get_game(self.game_name).perft(self._line[-1], depth)

    @property
    def searching(self) -> bool:
        """Whether a search is under way."""
        thinking = self._thinking
        return thinking is not None and not thinking.over.is_set()

    def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
        """Start to think; returns at once. A search under way is stopped first and gives its own answer.

        ``on_done`` is called exactly once, never before stop() or ponderhit() when ``limits`` are infinite or ponder.
        """
        previous = self._thinking
        if previous is not None:
            previous.stop()
        self._thinking = _Thinking(self, limits, on_info, on_done, previous)
        self._thinking.start()

    def stop(self) -> None:
        """Ask the search to end; returns at once, harmless when idle."""
        if self._thinking is not None:
            self._thinking.stop()

    def ponderhit(self) -> None:
        """The opponent played the expected move: the clocks count from now. Returns at once, harmless when idle."""
        if self._thinking is not None:
            self._thinking.ponderhit()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the search is over; False when ``timeout`` seconds passed before."""
        return self._thinking is None or self._thinking.over.wait(timeout)

    def close(self) -> None:
        """Stop and wait for the search to end. Blocks."""
        self.stop()
        self.wait()

    # -- used by _Thinking --------------------------------------------------------------------------------------------

    def prepare_search(self, limits: Limits) -> tuple[Search, State, list[str]] | None:
        """A search of the position held, its line, and messages; None when there is nothing to search.

        Blocks while kernels or net are loaded. Errors: NetError when there is no net to search with.
        """
        messages: list[str] = []
        line = self._line
        if line is None:
            return None
        game = get_game(self.game_name)
        legal = game.legal_moves(line[-1])
        if not len(legal):
            return None
        try:
            self.ready()
        except NetError as error:
            if self._evaluator is None:
                raise
            messages.append(f"{error}; going on with {self._evaluator.description}")
        assert self._tree is not None and self._evaluator is not None
        only = self._only_moves(limits, line, messages)
        self._seat_root(line, fresh=self._restricted or only is not None)
        self._restricted = only is not None
        params, visits = self.options.search, limits.nodes
        if self.options.nodes_limit and not limits.infinite:
            visits = min(visits or self.options.nodes_limit, self.options.nodes_limit)
        if self.options.elo is not None and not limits.infinite:
            params, visits = limit_strength(params, self.options.elo, visits, len(line))
        search = Search(
            game, self._tree, self._evaluator, params, game.window(line),
            cache=self._cache if self._evaluator.info is not None else None,
            batch_size=self.options.batch_size, workers=self.options.threads,
            visits=None if visits is None or limits.infinite else max(visits, 1), only=only,
        )  # fmt: skip
        return search, line, messages

    def _only_moves(self, limits: Limits, line: State, messages: list[str]) -> np.ndarray | None:
        if not limits.searchmoves:
            return None
        game, found = get_game(self.game_name), []
        for text in limits.searchmoves:
            try:
                found.append(game.parse_move(line[-1], text))
            except IllegalMoveError as error:
                messages.append(f"searchmoves: {error}")
        if not found:
            messages.append("searchmoves holds no legal move and is ignored")
            return None
        return np.unique(np.array(found, np.uint16))

    def _seat_root(self, line: State, fresh: bool) -> None:
        """Put the tree's root on the line's last position, keeping what is below it when the game led there."""
        tree, base = self._tree, self._base
        assert tree is not None
        node = -1
        if base is not None and not fresh and len(base) <= len(line) and np.array_equal(base, line[: len(base)]):
            node = 0
            game = get_game(self.game_name)
            for i in range(len(base), len(line)):
                node = tree.child(node, game.move_between(line[i - 1], line[i]))
                if node < 0:
                    break
        if node < 0:
            tree.clear()
            self._base = line.copy()
            return
        tree.root = node
        if tree.used > _CROWDED:
            tree.keep(node)
            self._base = line.copy()


def _warm_up(name: str) -> None:
    """Call every kernel that playing needs once, on a few visits, so that all are compiled and loaded."""
    from .evaluator import UniformEvaluator
    from .params import SearchParams

    game = get_game(name)
    tree = Tree(1 << 20)
    line = game.initial()
    search = Search(
        game, tree, UniformEvaluator(game), SearchParams(), game.window(line), visits=40, cache=PositionCache(1 << 16),
        only=game.legal_moves(line[-1])[:4],
    )  # fmt: skip
    search.run(lambda: False)
    if search.error is not None:
        raise search.error
    lines = report.Report(game, tree, line)
    move = lines.choose(0.0, 0)
    assert move is not None
    lines.lines(2)
    report.contest(tree.nodes, tree.edges, 0)
    tree.root = tree.child(0, move)
    tree.keep(tree.root)
    longer = game.play(line, move)
    game.outcome(longer)
    game.move_between(line[-1], longer[-1])


class _Thinking:
    """One ``go``: its thread, clock, reports and answer."""

    def __init__(
        self, engine: Engine, limits: Limits, on_info: OnInfo, on_done: OnDone, previous: _Thinking | None
    ) -> None:
        self.over = threading.Event()
        self._engine, self._limits, self._previous = engine, limits, previous
        self._on_info, self._on_done = on_info, on_done
        self._watch = Stopwatch()  # of the whole search
        self._clock = Stopwatch()  # of our own time: restarted by ponderhit
        self._stopped = threading.Event()
        self._released = threading.Event()  # no longer bound to wait for stop or ponderhit
        if not (limits.infinite or limits.ponder):
            self._released.set()
        self._budget: Budget | None = None
        self._search: Search | None = None
        self._report: report.Report | None = None
        self._next_info = 0.0
        self._interval = _INFO_SECONDS
        self._told_full = False
        self._messages: list[str] = []

    def start(self) -> None:
        threading.Thread(target=self._run, name="search", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._released.set()

    def ponderhit(self) -> None:
        if self._limits.ponder and not self._released.is_set():
            self._clock.restart()
            self._released.set()

    def _run(self) -> None:
        if self._previous is not None:
            self._previous.over.wait()
            self._previous = None
        answer = BestMove(None)
        try:
            answer = self._think()
        except NetError as error:
            answer = self._answer_without_search(error)
        except BaseException as error:  # noqa: BLE001 - a bug: the protocol shows it and still gets its answer
            answer = self._answer_without_search(error)
        finally:
            self._released.wait()
            self.over.set()
            self._on_done(answer)

    def _think(self) -> BestMove:
        engine, limits = self._engine, self._limits
        prepared = engine.prepare_search(limits)
        if prepared is None:
            return BestMove(None, time_ms=self._watch.milliseconds)
        search, line, self._messages = prepared
        options = engine.options
        self._search = search
        self._report = report.Report(search.game, search.tree, line, chess960=options.chess960)
        self._budget = budget(
            limits, search.game.side_to_move(line[-1]), int(line[-1]["ply"]),
            overhead_ms=options.move_overhead_ms, ponder=options.ponder,
        )  # fmt: skip
        search.tree.counters[DEPTH_SUM] = search.tree.counters[DEPTH_MAX] = 0
        search.run(self._should_stop)
        if search.tree.full:
            self._tell_full()
        self._inform(final=True)
        if search.error is not None and not isinstance(search.error, NetError):
            raise search.error
        if search.error is not None:
            self._messages.append(str(search.error))
        self._wait_for_release()
        return self._best_move()

    def _wait_for_release(self) -> None:
        """An infinite or pondering search that is done keeps silent until it is asked."""
        self._released.wait()

    def _should_stop(self) -> bool:
        search = self._search
        assert search is not None
        if self._stopped.is_set():
            return True
        elapsed = self._watch.seconds
        if elapsed >= self._next_info and search.simulations:
            self._interval = min(self._interval * 1.3, _INFO_MAX_SECONDS)
            self._next_info = elapsed + self._interval
            self._inform()
        if not self._released.is_set() or self._limits.infinite:
            return False
        return self._limit_reached(search)

    def _limit_reached(self, search: Search) -> bool:
        limits, tree = self._limits, search.tree
        if limits.depth is not None and self._depth() >= limits.depth and search.simulations > 1:
            return True
        if limits.mate is not None and (limits.mate <= 0 or self._mate_found(limits.mate)):
            return True
        if self._budget is None:
            return False
        root = tree.nodes[tree.root]
        if int(root["first_edge"]) < 0:
            return False
        elapsed = self._clock.seconds
        with search.lock:
            most, second, agree = report.contest(tree.nodes, tree.edges, tree.root)
        instability = 1.0 if not agree else max(0.0, 2.0 * second / max(most, 1) - 1.0)
        allowed = self._budget.allowed(instability)
        if elapsed >= allowed:
            return True
        if not search.params.smart_pruning or limits.movetime is not None:
            return False
        if int(root["edges"]) == 1:
            return True
        rate = search.simulations / max(self._watch.seconds, 1e-3)
        return bool(search.simulations >= 32 and most - second > rate * (allowed - elapsed) * 1.05)

    def _mate_found(self, moves: int) -> bool:
        assert self._search is not None and self._report is not None
        with self._search.lock:
            lines = self._report.lines(1)
        return bool(lines and lines[0].mate is not None and 0 < lines[0].mate <= moves)

    def _depth(self) -> int:
        """Mean depth of this search's simulations in plies, at least 1."""
        assert self._search is not None
        return max(1, round(int(self._search.tree.counters[DEPTH_SUM]) / max(self._search.simulations, 1)))

    def _tell_full(self) -> None:
        if not self._told_full:
            self._told_full = True
            mb = self._engine.options.hash_mb
            self._say(f"the tree has filled Hash ({mb} MB) and stops growing; raise Hash for longer searches")

    def _say(self, message: str) -> None:
        self._on_info(ThinkingInfo(1, 1, 0, 0, self._watch.milliseconds, 0, (), (), message))

    def _inform(self, final: bool = False) -> None:
        search, options = self._search, self._engine.options
        assert search is not None and self._report is not None
        for message in self._messages:
            self._say(message)
        self._messages.clear()
        with search.lock:
            lines = self._report.lines(options.multipv)
            stats = self._report.move_stats(search.params, search.puct) if options.move_stats else ()
            deepest, used = int(search.tree.counters[DEPTH_MAX]), search.tree.used
            nodes = int(search.tree.nodes[search.tree.root]["n"])
        if not lines:
            return
        elapsed = max(self._watch.seconds, 1e-3)
        depth = self._depth()
        self._on_info(
            ThinkingInfo(
                depth, max(depth, deepest, 1), nodes, int(search.simulations / elapsed), int(1000 * elapsed),
                min(1000, int(1000 * used)), lines, stats,
            )  # fmt: skip
        )

    def _best_move(self) -> BestMove:
        search = self._search
        assert search is not None and self._report is not None
        with search.lock:
            lines = self._report.lines(1)
            move = self._report.choose(search.params.temperature, search.params.seed)
        if move is None:
            return self._answer_without_search(search.error)
        text = self._report.text([move])[0]
        ponder = lines[0].pv[1] if lines and lines[0].pv[0] == text and len(lines[0].pv) > 1 else None
        return BestMove(
            text, ponder, lines, search.simulations, self._watch.milliseconds, messages=tuple(self._messages)
        )

    def _answer_without_search(self, error: BaseException | None) -> BestMove:
        """The search gave nothing: the first legal move, with the reason. Never silently."""
        if error is None:
            reason = "the search was stopped before its first evaluation; this is the first legal move"
        else:
            reason = str(error)
        try:
            legal = self._engine.legal_moves()
        except PositionError:
            legal = []
        bug = None if error is None or isinstance(error, NetError) else error
        return BestMove(
            legal[0] if legal and (error is None or bug is not None) else None,
            time_ms=self._watch.milliseconds, messages=(*self._messages, reason), error=bug,
        )  # fmt: skip
