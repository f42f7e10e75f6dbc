"""The engine that protocols, matches and tools drive: one game, one net, one tree, one search at a time.

``Engine(...)``, :meth:`Engine.configure`, :meth:`Engine.go`, :meth:`Engine.stop` and :meth:`Engine.ponderhit` return at
once; :meth:`Engine.ready` and :meth:`Engine.wait` block. Kernels and the net are loaded by ``ready`` (or by the first
call that needs them), so that a protocol can greet its GUI before anything heavy is imported.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace

import numpy as np

from .clock import Delays, Stopwatch
from .errors import AzError, IllegalMoveError, NetError, OptionError, ThreadError
from .game_line import GameLine
from .games import get_game
from .games.base import Game, State
from .games.databases import NO_BOOK, Databases
from .games.outcome import WIN
from .info import BestMove, Estimate
from .kernels.cache import cache_problem
from .limits import Limits
from .nets.evaluator import Evaluator
from .nets.families import find_family
from .nets.file.fit import read_info
from .nets.file.netfile import read_outline
from .nets.netinfo import NetInfo
from .nets.opinions import Opinion, opinion_of
from .nets.shared import Seat
from .nets.weights import encoder_of, load_evaluator, load_stand_in, net_path
from .params import EngineOptions, SearchParams
from .precompile import Progress, compile_all, helped
from .search.mate import MateSolver
from .search.memory import SearchMemory
from .search.search import Scope, Search, expected_end
from .search.strength import limit_strength
from .search.tree.most_visited import Snapshot, look
from .search.tree.results import final_line
from .thinking import Job, OnDone, OnInfo, Thinking

_OF_PRIORS = ("policy_temperature", "ladders")  # settings on which the priors that tree and cache hold depend
_OF_TREES = ("root_policy_temperature", "subtree_bias", "score_utility")  # on which what trees hold depends
_MATE_SHARE = 1 / 4  # of Hash, beside it, for the table of a mate search while it runs
_ESTIMATE_VISITS = 100
_SMALL = 200  # visits of a search that shares a net as if its clock ran


class Engine:
    """One engine for one game. Methods may be called from any one thread; callbacks come from the search's thread."""

    def __init__(
        self, game: str, options: EngineOptions | None = None, load: Callable[..., Evaluator] = load_evaluator
    ) -> None:
        """Returns at once; loads nothing. ``load`` is called as ``weights.load_evaluator`` is."""
        self.game_name = game
        self._load = load
        self.options = options or EngineOptions()
        self.net: NetInfo | None = None
        self.notes: list[str] = []  # for the user, of the last ready(): provider, kernel cache
        self._loaded: tuple[object, ...] | None = None
        self._prepared: EngineOptions | None = None  # for which everything is ready
        self._params = SearchParams()  # of these options, with what the net brings along
        self._evaluator: Evaluator | None = None
        self._memory = SearchMemory()
        self._line = GameLine()
        self._databases = Databases()
        self._thinking: Thinking | None = None
        self._search: Search | None = None  # the last one
        self._delays = Delays()
        self._loading = threading.Lock()
        self._seating = threading.Lock()  # of the tree, while it gets a root or room
        self._warm: set[tuple[str, str]] = set()  # (game, encoder) whose kernels have been called

    @property
    def _game(self) -> Game:
        game = get_game(self.game_name)  # not in __init__: it imports the game's folder
        return game.variant("chess960") if self.options.chess960 else game

    def configure(self, **changes: object) -> None:
        """Set fields of EngineOptions, used from the next ready() or go() on. Returns at once.

        Errors: OptionError for an unknown field.
        """
        known = {f.name for f in fields(EngineOptions)}
        unknown = set(changes) - known
        if unknown:
            raise OptionError(f"there is no engine option {min(unknown)!r}")
        self.options = replace(self.options, **changes)  # type: ignore[arg-type]

    def ready(self, on_progress: Callable[[str], None] | None = None) -> None:
        """Load kernels and net. Blocks: half a minute when kernels must be compiled, else about half a second.

        ``on_progress`` gets a sentence when something takes long. During a search it returns at once; not to be called
        then with other options. Errors: NetError; the engine then keeps its net.
        """
        options, search = self.options, self._search
        running = search is not None and search.running
        hanging = running and not (self._thinking and self._thinking.searches(search))  # in its net, with the tree
        if self._prepared is options and not hanging:
            return
        with self._loading:
            progress = nullcontext() if on_progress is None else Progress(self._game.name, on_progress)
            with progress, self._helped() as join:
                try:
                    self._load_kernels(self._load_net(on_progress), on_progress, join)
                except NetError:
                    if not self._warm:  # for the net that plays instead
                        self._load_kernels(load_stand_in(None, self._game), on_progress, join)
                    raise
            most, rule50, before = options.syzygy_probe_limit, options.syzygy_50_move_rule, self._databases.tables
            self._databases.open_tables(self._game, options.syzygy_path, most_pieces=most, rule50=rule50)
            if self._databases.tables is not before:
                self._memory.new_tree()  # their values are in it
            self._make_tree()
            self._prepared = options

    def _helped(self) -> AbstractContextManager[Callable[[], object]]:
        if self._warm:
            return nullcontext(lambda: None)
        game, options = self._game, self.options
        encoder = encoder_of(options.weights_file, game, options.provider)
        return helped(game.using(encoder) if find_family(encoder) is not None else game)

    def _load_kernels(
        self,
        evaluator: Evaluator,
        on_progress: Callable[[str], None] | None = None,
        join: Callable[[], object] = lambda: None,
    ) -> None:
        """Load the kernels that play with a net; report a problem of the cache once. join: see ``compile_all``."""
        game = self._game.using(evaluator.encoder)
        if (game.name, game.encoder.name) in self._warm:
            return
        compile_all(game, evaluator, join)
        ours, line = self._game, self._game.initial()  # its own kernels, too, whatever the net sees
        ours.legal_moves(line)
        if ours.declaration is not None:
            ours.declaration.possible(line)
        problem = cache_problem() if not self._warm else None
        self._warm.add((game.name, game.encoder.name))
        if problem is not None:
            self.notes.append(problem)
            if on_progress is not None:
                on_progress(problem)

    def _load_net(self, tell: Callable[[str], None] | None) -> Evaluator:
        game = self._game
        options, requested = self.options, self._net_request
        if self._loaded == requested and self._evaluator is not None:
            return self._evaluator
        settings = {"provider": options.provider, "batch_size": options.batch_size, "int8": options.int8}
        evaluator = self._load(options.weights_file, game, tell=tell, **settings)
        self._use_net(evaluator)
        self._loaded = requested
        note = getattr(evaluator, "note", "")
        if note:
            self.notes.append(note)
        chosen = self.options.net_search and self.options.weights_file  # the package's own net needs no comment
        if chosen and evaluator.info is not None and evaluator.info.search:
            ours = ", ".join(f"{name} {value:g}" for name, value in evaluator.info.search)
            self.notes.append(f"the net brings search settings: {ours}; NetSearch false leaves them out")
        return evaluator

    @property
    def _net_request(self) -> tuple[object, ...]:
        """What decides which evaluator is loaded."""
        options = self.options
        return options.weights_file, options.provider, options.batch_size, options.int8, self._game.planes

    def _use_net(self, evaluator: Evaluator) -> None:
        if self._seat is not None:
            self._seat.close()
        self._evaluator, self.net, self._prepared = evaluator, evaluator.info, None
        self._memory.forget()

    def _replace_net(self, failed: NetError) -> str:
        """Go on without a net that has failed, until another one is requested; returns the sentence that reports it."""
        game = self._game
        with self._loading:
            seat = self._seat
            evaluator = load_stand_in(self._evaluator, game) if seat is None else seat.stand_in(game)
            self._load_kernels(evaluator)
            self._use_net(evaluator)
            self._loaded = self._net_request
        return f"{failed}; going on with {evaluator.description}"

    def _make_tree(self) -> None:
        """Have a tree and a cache of the right size, and the search's settings with what the net brings along."""
        before, self._params = self._params, self.options.search
        if self.options.net_search and self.net is not None:
            self._params = self.net.settings(self._params)
        if any(getattr(before, name) != getattr(self._params, name) for name in _OF_PRIORS):
            self._memory.forget()
        if any(getattr(before, name) != getattr(self._params, name) for name in _OF_TREES):
            self._memory.new_tree()
        if self._search is not None and self._search.running:  # a worker hangs in its net: the tree stays with it
            self._memory.tree = self._search = None
        batched = self._evaluator is not None and self._evaluator.compiled is None
        self._memory.fit(self._game, self.options.hash_mb, cached=batched and self.net is not None)

    @property
    def _seat(self) -> Seat | None:
        """At the net, when it is shared."""
        return self._evaluator if isinstance(self._evaluator, Seat) else None

    @property
    def knows_rules(self) -> bool:
        """Whether the net sees the rules and komi of a position; False before ready()."""
        return self.net is not None and self._game.using(self.net.encoder).encoder.knows_rules

    @property
    def description(self) -> str:
        """One line: the net and what runs it; empty before ready()."""
        return self._evaluator.description if self._evaluator is not None else ""

    def new_game(self) -> None:
        """Forget tree, cache and clock, during a search from the next one on. Returns at once."""
        self._delays = Delays()
        if self.searching:
            self.new_tree()
        else:
            self._memory.forget()

    def new_tree(self) -> None:
        """Begin the next search from nothing but the position cache. Returns at once."""
        self._memory.new_tree()

    def sizes(self) -> tuple[int, ...]:
        """Board sizes that the net of the present options plays; empty: any. Reads the file, but loads no net.

        Errors: NetError.
        """
        game = self._game
        options = self.options
        path = net_path(options.weights_file, game, provider=options.provider, int8=options.int8)
        return () if path is None else read_info(read_outline(path)[0], game).playable

    def resize(self, columns: int, rows: int | None = None) -> None:
        """Change the board size, square without ``rows``; forgets position, tree and cache.

        Not during a search. Errors: OptionError for a size that the game does not have; then nothing changes.
        """
        name = f"{self._game.name}{columns}" + (f"x{rows}" if rows not in (None, columns) else "")
        if get_game(name) is not get_game(self.game_name):
            self.game_name, self._line.states, self._prepared = name, None, None
            if self._seat is not None:
                self._seat.close()
            self._evaluator = self._loaded = self.net = None  # a net's input has the size of a board
            self._memory.forget()

    def set_position(self, root: str | None, moves: Sequence[str]) -> list[str]:
        """Hold the position after ``moves`` from ``root`` (None: the start position); returns notes on repaired input.

        Blocks briefly. Not during a search. Errors: PositionError, IllegalMoveError; then no position is held.
        """
        return self._line.set(self._game, root, moves, self._apply_rules)

    def _apply_rules(self, line: State) -> None:
        options = self.options
        if self._game.declaration is not None:
            self._game.declaration.set_rules(line, rule=options.declaration, max_plies=options.max_plies)

    def play(self, move: str) -> None:
        """Play one move from the position held. Not during a search.

        Errors: PositionError without a position, IllegalMoveError; then nothing changes.
        """
        self._line.play(self._game, move)

    def undo(self) -> None:
        """Take the last move back. Not during a search. Errors: PositionError when there is none."""
        self._line.undo()

    @property
    def position(self) -> str | None:
        """The position held, in the game's notation; None when there is none."""
        states = self._line.states
        return None if states is None else self._game.format_position(states[-1])

    def legal_moves(self) -> list[str]:
        """Legal moves of the position held. Errors: PositionError when there is none."""
        game, line = self._game, self._line.held()
        return [game.format_move(line[-1], int(m)) for m in game.legal_moves(line)]

    def snapshot(self, most: int) -> Snapshot | None:
        """The last search's root and the ``most`` states visited most below it, as they are now; None without a tree.

        Blocks for some milliseconds; from any thread.
        """
        search, line = self._search, self._line.states
        if search is None or line is None:
            return None
        with search.lock:
            visits = int(search.tree.nodes[search.tree.root]["n"])
            return look(self._game, search.tree, line, visits, most) if visits else None

    def perft(self, depth: int, halt: bytearray | None = None) -> list[tuple[str, int]]:
        """(move, leaves of the legal move tree below it) by move. Blocks. Errors: PositionError without a position.

        halt: as in ``Game.perft``.
        """
        game, state = self._game, self._line.held()[-1]
        return [(game.format_move(state, move), leaves) for move, leaves in game.perft(state, depth, halt).items()]

    def estimate(self, seconds: float = math.inf) -> Estimate | None:
        """How the game is expected to end from the position held: the average over a small search of its own.

        None when the net says nothing. Blocks for a hundred evaluations or so many seconds at most, but for one batch,
        and until the net is loaded. Not during a search. Errors: PositionError, NetError.
        """
        line = self._line.held()
        self.ready()
        assert self._evaluator is not None
        watch = Stopwatch()
        return expected_end(self._game, self._evaluator, line, _ESTIMATE_VISITS, lambda: watch.seconds > seconds)

    def dead_chains(self, seconds: float = math.inf) -> list[frozenset[int]] | None:
        """The dead chains of stones by :meth:`estimate`; None when the net has no ownership output."""
        estimate, territory = self.estimate(seconds), self._game.territory
        if estimate is None or estimate.ownership is None or territory is None:
            return None
        return territory.dead_chains(self._line.held()[-1], estimate.ownership, estimate.score)

    def opinion(self, symmetry: int = 0, *, alone: bool = False) -> Opinion:
        """What the net says of the position held, without a search, under one of the board's symmetries.

        alone: as in Limits.

        Blocks for one evaluation, and until the net is loaded. Not during a search. Errors: PositionError, NetError.
        """
        line = self._line.held()
        self.ready()
        assert self._evaluator is not None
        line = self._game.using(self._evaluator.encoder).alone(line) if alone else line
        return opinion_of(self._game, self._evaluator, line, symmetry)

    @property
    def searching(self) -> bool:
        """Whether a search is under way."""
        thinking = self._thinking
        return thinking is not None and not thinking.over.is_set()

    def go(self, limits: Limits, on_info: OnInfo, on_done: OnDone) -> None:
        """Start a search; returns at once. A search under way is stopped first and gives its own answer.

        ``on_done`` is called exactly once; with infinite or ponder limits only after stop() or ponderhit().
        """
        previous = self._thinking
        if previous is not None:
            previous.stop()
        thinking = self._thinking = Thinking(limits, on_info, on_done, previous)
        thinking.start(self._think, self._make_room)

    def stop(self) -> None:
        """Ask the search to end; returns at once, harmless when idle."""
        if self._thinking is not None:
            self._thinking.stop()
            search = self._search
            if self._seat is not None and search is not None and search.tree.nodes[search.tree.root]["n"] > 0:
                self._seat.interrupt()  # it has a move: it need not wait for its turn at the net

    def ponderhit(self) -> None:
        """The opponent played the expected move: the clocks count from now. Returns at once, harmless when idle."""
        if self._thinking is not None:
            self._thinking.ponderhit()
            if self._seat is not None and self._seat.compiled is not None:
                self._seat.interrupt()  # it waits for its turn anew, for as long as the clock allows

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the search is over and ``on_done`` has returned; False after ``timeout`` seconds.

        Within a callback of the search it returns at once, for it would wait for itself.
        """
        return self._thinking is None or self._thinking.wait(timeout)

    def close(self) -> None:
        """Stop the search and :meth:`wait` for its answer. Blocks."""
        self.stop()
        self.wait()
        if self._seat is not None:
            self._seat.close()
        self._thinking = self._search = None  # they hold the engine: the tree would wait for a garbage collection

    def _think(self, thinking: Thinking, limits: Limits, fault: ThreadError | None) -> BestMove:
        """Have the search run, with another net where one fails. Blocks; in the search's thread."""
        job = self._job(limits)
        if fault is not None:
            thinking.accept(job)
            raise fault
        while isinstance(answer := thinking.run(job), NetError):
            job = self._job(limits, answer)
        return answer

    def _job(self, limits: Limits, failed: NetError | None = None) -> Job:
        """What ``go`` searches; ``failed``: what is wrong with the net so far. Blocks while kernels or net are loaded.

        Errors: OptionError, MemoryError when there is no room for a tree.
        """
        line, game, options = self._line.states, self._game, self.options
        if line is None:
            return Job(None, None, options, (), None)
        self._apply_rules(line)  # they may have changed since the position was set
        memory = int(_MATE_SHARE * options.hash_mb * (1 << 20))
        if limits.solve:
            patient = limits.movetime is not None or limits.nodes is not None
            return Job(None, line, options, (), None, mate=MateSolver(game, line, memory, patient=patient))
        legal = game.legal_moves(line)
        if not len(legal):
            return Job(None, None, options, (), None, verdict=(final_line(game, game.outcome(line), options),))
        if game.declaration is not None and game.declaration.possible(line):
            return Job(None, None, options, (), None, verdict=(final_line(game, WIN, options),), win=True)
        messages: list[str] = []
        if options.own_book and options.book_file not in NO_BOOK and limits.to_play and options.multipv == 1:
            best, seed = options.best_book_move, options.search.seed
            booked = self._databases.book_move(game, line, options.book_file, best=best, seed=seed, messages=messages)
            if booked is not None:
                return Job(None, line, options, tuple(messages), None, booked=booked)
        only = self._only_moves(limits, line, messages)
        moves = legal if only is None else only
        fallback = game.format_move(line[-1], int(moves[0]))
        try:
            failed = self._prepare(failed, messages)
            search = self._new_search(limits, line, moves, messages, restricted=only is not None)
        except (AzError, MemoryError) as error:
            return Job(None, line, options, (), fallback, error=error)
        mate = None
        if limits.mate is not None and game.mate_within is not None and not limits.searchmoves:
            mate = MateSolver(game, line, memory, limits.mate)
        return Job(search, line, options, tuple(messages), fallback, error=failed, delays=self._delays, mate=mate)

    def _prepare(self, failed: NetError | None, messages: list[str]) -> NetError | None:
        """Have net, tree and settings for a search, in place of a net that has failed; why it is not the usual net."""
        try:
            if failed is None:
                self.ready()
        except NetError as error:
            if self._evaluator is None:
                failed = error
            else:
                messages.append(f"{error}; going on with {self._evaluator.description}")
        if failed is not None:
            messages.append(self._replace_net(failed))
            self._make_tree()
        return failed

    def _new_search(
        self, limits: Limits, line: State, moves: np.ndarray, messages: list[str], *, restricted: bool
    ) -> Search:
        """A search of ``moves`` u2[K] at the end of a line; restricted: whether there are others."""
        game, options, tree, evaluator = self._game, self.options, self._memory.tree, self._evaluator
        assert tree is not None
        assert evaluator is not None
        tables, known = None, None
        if limits.leaves_time(game.side_to_move(line[-1])):
            tables, known = self._databases.at_root(game, line, moves)
        messages.extend(self._databases.problems)
        self._databases.problems.clear()
        if known is not None and options.multipv == 1:
            best = max(rank for _, rank in known.values())
            kept = np.array([known[move][1] == best for move in moves.tolist()])
            moves, restricted = moves[kept], restricted or not kept.all()
        window = whole = game.window(line)
        if limits.alone:
            window = game.using(evaluator.encoder).alone(whole)
        alone, territory, unended = window is not whole, game.territory, False
        if territory is not None and "ownership" in evaluator.extra and territory.passed(line[-1]):
            # the net tells what is dead, on which the players agree after the next pass
            shown, window = window, territory.unended(window)
            unended = window is not shown
        if self._search is not None and self._search.failed:
            self._memory.new_tree()  # its leaves may still wait for their values
        with self._seating:
            self._memory.seat_root(line, self._line.moves, restricted=restricted, kind=(alone, unended))
        tree.known = known
        params, visits = self._params, limits.nodes
        if options.nodes_limit:
            visits = min(visits or options.nodes_limit, options.nodes_limit)
        if options.elo is not None:
            params, visits = limit_strength(params, options.elo, visits)
        if self._seat is not None:
            small = visits is not None and visits <= _SMALL
            self._seat.weight = 4.0 if limits.clocked or small else 2.0
        self._search = Search(
            game,
            tree,
            evaluator,
            params,
            window,
            visits=None if visits is None or limits.infinite else max(visits, 1),
            cache=self._memory.cache,
            tables=tables,
            scope=Scope(
                moves if restricted else None,
                lines=1 if limits.clocked else options.multipv,
                ownership=limits.with_estimates,
                workers=options.threads,
                batch_size=options.batch_size,
            ),
        )
        return self._search

    def _make_room(self) -> None:
        """Have room in the tree for the next search, while the opponent thinks."""
        with self._seating:
            search = self._search
            if search is not None and not (self.searching or search.running):
                search.make_room_ahead()

    def _only_moves(self, limits: Limits, line: State, messages: list[str]) -> np.ndarray | None:
        if not limits.searchmoves:
            return None
        game, result = self._game, []
        for text in limits.searchmoves:
            try:
                result.append(game.parse_move(line, text))
            except IllegalMoveError as error:
                messages.append(f"searchmoves: {error}")
        if not result:
            messages.append("searchmoves holds no legal move and is ignored")
            return None
        return np.unique(np.array(result, np.uint16))
