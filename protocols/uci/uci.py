"""UCI (the text of April 2006, and what Stockfish, Lc0 and the match tools made of it), and the command for it.

USI grew out of UCI: :mod:`usi` says what it does differently.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar

from ... import __version__
from ...engine.errors import AzError, OptionError, PositionError, UnknownOptionError
from ...engine.info import BestMove, ThinkingInfo
from ...engine.limits import Limits
from ...engine.params import EngineOptions
from .. import conversation
from ..lines import LineWriter, one_line
from ..loader import EngineSeam
from ..options import Option, OptionValues, Value, read_setoption
from ..session import Session
from ..steps import Event, Step
from .inspection import HELP as INSPECTION_HELP
from .inspection import any_move, board_lines, opinion_lines, perft_lines, side_to_move
from .pending import PendingGo, Searches
from .report import game_over_line, info_lines, stats_lines
from .steps import GoStep, PerftStep, PingStep, ThrownStep
from .words import GoWords, read_position, read_uci_go

HELP = """\
Play chess in any program that speaks UCI: enter this command, or az-engine-uci, as the engine.

By hand: type `uci`, `position startpos moves e2e4`, `go nodes 400`, `quit`. Besides UCI there is `go perft N`.

Another game that is played over UCI: --game NAME. Its positions are `position fen` and the game's own notation."""

REPORTS_PER_S = 20  # blocks of info lines
LINES_PER_S = 400  # info lines, when the blocks are long

_WORD = re.compile(r"\S+")
_CROWDED = "too much was waiting"
_DEEPEST_PERFT = 100  # plies: nobody counts beyond ten


class UciSession(Session[EngineSeam]):
    """One UCI conversation: every ``go`` gets exactly one answer."""

    quit_patience_s = 0.7
    end_patience_s = 1.2
    keep_alive_s = 5.0  # GUIs give up on silent engines

    notation: ClassVar[str] = "fen"  # the word before a position
    no_move: ClassVar[str] = "(none)"  # what `bestmove` says when there is none

    debug = False
    _running: PendingGo | None = None  # its search runs
    _position_set = False
    _refusal: str | None = None  # why no position is held
    _position: tuple[str | None, str] = (None, "")  # root and moves of the last ``position`` that was read

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], EngineSeam],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        """See :class:`Session`."""
        super().__init__(make_engine, values, writer, notes)
        self._searches = Searches()
        self._pings: deque[PingStep] = deque()  # not answered

    # ------------------------------------------------------------------ input lines

    @cached_property
    def commands(self) -> dict[str, Callable[[str], None]]:
        """What to do for each command's first word; gets the rest of the line."""
        return {
            self.values.protocol: lambda _: self._greet(),
            "debug": self._debug,
            "isready": lambda _: self._ping(),
            "setoption": self._setoption,
            "register": lambda _: None,  # there is nothing to register
            f"{self.values.protocol}newgame": lambda _: self.enqueue(Step(then=self._forget)),
            "position": self.position,
            "go": self._go,
            "d": lambda _: self._inspect(lambda engine: board_lines(engine, self.notation)),
            "eval": lambda _: self._inspect(opinion_lines),
            "help": lambda _: self.send(*self._help()),
            "stop": lambda _: self.stop(),
            "ponderhit": lambda _: self.ponderhit(),
            "quit": lambda _: self.quit(),
        }

    def command(self, line: str) -> None:
        """Obey one line; leading unknown words are skipped, as the protocol's text wants."""
        line = line.strip()
        if not line or line.startswith("#"):
            return
        # not as a list: as words a line takes many times its memory
        result = next((word for word in _WORD.finditer(line) if word[0] in self.commands), None)
        if result is None:
            self.tell_in_debug(f"unknown command: {one_line(line, 80)}")
            return
        if result.start():
            self.tell_in_debug(f"skipped unknown words before {result[0]}")
        rest = line[result.end() :].lstrip()
        known, obey, protocol = result[0], self.commands[result[0]], self.values.protocol
        if self.crowded and known in ("position", "go", "setoption", "isready", "d", "eval", f"{protocol}newgame"):
            self._throw_away(known, rest)
        else:
            obey(rest)

    def _throw_away(self, name: str, rest: str) -> None:
        """Obey nothing, but answer: at once, or when the backlog is done."""
        last = self._backlog[-1] if self._backlog else None
        if not isinstance(last, ThrownStep):
            last = ThrownStep()
            last.then = partial(self._answer_thrown, last)
            self.enqueue(last)
        last.lines += 1
        last.positions += name == "position"
        if name == "isready":
            self._pong()
        elif name == "go":
            go, limits = self.read_go(rest.split())
            last.searches[limits.solve] += "perft" not in go.numbers

    def _answer_thrown(self, thrown: ThrownStep) -> None:
        self.tell(f"{_CROWDED}: {thrown.lines} lines were thrown away")
        if thrown.positions:
            self._hold(f"a position was thrown away: {_CROWDED}", [])
        best = BestMove(None if thrown.positions else any_move(self._loader.engine))
        for solve, count in thrown.searches.items():
            for _ in range(count):
                self.send(*self.answer(best, Limits(solve=solve)))

    def overlong(self) -> None:
        self.tell("a line longer than 1 MiB was thrown away")

    def _greet(self) -> None:
        self.send(
            f"id name az-engine {__version__}",
            "id author the az-engine authors",
            *self.values.declarations(),
            f"{self.values.protocol}ok",
        )
        self.tell_notes()

    def _debug(self, rest: str) -> None:
        self.debug = {"on": True, "off": False}.get(rest.strip(), self.debug)

    def position(self, rest: str) -> None:
        position = read_position(rest, self.notation)
        form = f"startpos or {self.notation} <{self.notation.upper()}>"
        if position is not None:
            self._set_position(*position)
        elif rest.strip():
            reason = f"position: expected {form}, then moves <moves> or nothing"
            self.enqueue(Step(then=partial(self._hold, reason, [reason])))
        else:
            self.tell(f"position: expected {form}; ignored")

    def _go(self, rest: str) -> None:
        go, limits = self.read_go(rest.split())
        for complaint in go.complaints:
            self.tell(complaint)
        perft = go.numbers.get("perft")
        if perft is None:
            self._search(limits)
        elif self.values.remote:
            self.tell("go perft is not answered over the network")
        elif not 1 <= perft <= _DEEPEST_PERFT:
            self.tell(f"go perft needs a depth of 1 to {_DEEPEST_PERFT}")
        else:
            step = PerftStep()
            step.work = partial(self._look, lambda engine: perft_lines(engine, perft, step.halt), False)
            self.enqueue(step)

    @staticmethod
    def read_go(words: Sequence[str]) -> tuple[GoWords, Limits]:
        return read_uci_go(words)

    # ------------------------------------------------------------------ output lines

    def tell(self, text: str) -> None:
        self.send(self.message(one_line(text)))

    def tell_in_debug(self, text: str) -> None:
        if self.debug:
            self.tell(text)

    def unknown_option(self, reason: str) -> None:
        self.tell(reason)

    def message(self, text: str) -> str:
        return f"info string {text}"

    @staticmethod
    def mate(moves: int) -> str:
        """The distance to mate as ``score mate`` wants it, from full moves; 0 = the side to move has lost."""
        return str(moves)

    def report(self, info: ThinkingInfo, *, final: bool) -> list[str]:
        """Statistics of the root moves if wanted, then the principal variations: these are always last."""
        stats = self.values["verbose_move_stats"] and (final or self.values["log_live_stats"])
        chances, scores = bool(self.values["show_wdl"]), str(self.values["score_type"])
        lines = info_lines(info, show_wdl=chances, mate=self.mate, scores=scores)
        return (stats_lines(info) if stats else []) + lines

    def answer(self, best: BestMove, limits: Limits) -> list[str]:
        """The lines that answer a ``go``; without a legal move also the score of the game's end."""
        if best.move is None:
            return [game_over_line(best.lines, mate=self.mate), f"bestmove {self.no_move}"]
        return [f"bestmove {best.move}" + (f" ponder {best.ponder}" if best.ponder else "")]

    # ------------------------------------------------------------------ commands between searches

    def _ping(self) -> None:
        """Answer when all earlier requests are done and the engine is loaded; at once during a search."""
        playing = self.searching and not self._searches.over
        idle = not self.searching and self._busy is None and not self._backlog
        if playing or (idle and self._loader.up_to_date):
            self._pong()
            return
        step = PingStep()
        step.work, step.failed = partial(self._load, step), partial(self._answer_ping, step)
        self._pings.append(step)
        self.enqueue(step)

    def _load(self, step: PingStep) -> Event:
        """On the worker."""
        self._loader.prepare()
        return partial(self._answer_ping, step)

    def _answer_ping(self, step: PingStep) -> None:
        if not step.answered:
            self._pings.popleft()
            self._pong()

    def _pong(self) -> None:
        self.tell_notes()
        self.send("readyok")

    def _setoption(self, rest: str) -> None:
        """Check a value at once, and let it hold from the next step on."""
        result = read_setoption(rest)
        if result is None:
            self.tell("setoption needs a name: setoption name <option> [value <value>]")
            return
        try:
            option, value = self.values.read(*result)
        except OptionError as error:
            report = self.unknown_option if isinstance(error, UnknownOptionError) else self.tell
            report(str(error))
            return
        self.enqueue(Step(then=partial(self._set_option, option, value)))

    def _set_option(self, option: Option, value: Value) -> None:
        if option.key == "clear_hash":
            self._forget()
            return
        note = self.values.set(option, value)
        if note:
            self.tell(note)
        if option.key == "log_file":
            self._open_log()
            self.tell_notes()

    def _forget(self) -> None:
        if self._loader.engine is not None:
            self._loader.engine.new_game()

    def _set_position(self, root: str | None, moves: str) -> None:
        """Set up a position; if it is refused no position is held, and ``go`` says so.

        The moves stay one text until it is their turn: as words they take many times its memory.
        """
        self._position = root, moves
        self.enqueue(Step(partial(self._read_position, root, moves)))

    def _read_position(self, root: str | None, moves: str) -> Event:
        """On the worker."""
        try:
            notes = self._loader.configured().set_position(root, moves.split())
        except PositionError as error:
            return partial(self._hold, str(error), [str(error)])
        return partial(self._hold, None, notes)

    def _hold(self, refusal: str | None, notes: Sequence[str]) -> None:
        self._position_set, self._refusal = True, refusal
        for note in notes:
            self.tell(note)

    def _engine_with_position(self) -> EngineSeam:
        engine = self._loader.configured()
        if not self._position_set:
            engine.set_position(None, ())
            self._position_set = True
        return engine

    def _inspect(self, look: Callable[[EngineSeam], list[str]], *, needs_net: bool = True) -> None:
        """Send what the worker sees when its turn comes."""
        self.enqueue(Step(partial(self._look, look, needs_net)))

    def _look(self, look: Callable[[EngineSeam], list[str]], needs_net: bool) -> Event:
        """On the worker."""
        if self._refusal is not None:
            return partial(self.tell, f"no position: {self._refusal}")
        if needs_net:
            self._loader.prepare()
        return partial(self.send, *look(self._engine_with_position()))

    def _help(self) -> list[str]:
        names = {"notation": self.notation, "text": self.notation.upper(), "protocol": self.values.protocol}
        return [line.format(**names) for line in INSPECTION_HELP]

    # ------------------------------------------------------------------ searching

    @property
    def searching(self) -> bool:
        return self._running is not None

    def _search(self, limits: Limits) -> None:
        """Search. An earlier search that nothing else would end is stopped; it gets its own answer first."""
        self.stop_endless()
        go = self._searches.add(limits)
        go.position = self._position if limits.ponder else (None, "")
        self.enqueue(GoStep(partial(self._prepare, go), failed=partial(self._refuse, go), go=go))

    def _prepare(self, go: PendingGo) -> Event:
        """On the worker."""
        if go.queued:
            go.waited.restart()
        self._loader.prepare()  # whatever it cannot load, the engine answers with a legal move
        if self._refusal is None:
            engine = self._engine_with_position()
            root, moves = go.position
            if moves.strip() and self.values["stochastic_ponder"]:
                engine.set_position(root, moves.split()[:-1])
                go.early = True
        return partial(self._start, go, self._refusal)

    def _refuse(self, go: PendingGo) -> None:
        """Answer that there is no move: at once, or after the command for which the ``go`` has to wait."""
        go.refused, self._running = True, go if go.held_back else None
        if self._running is None:
            self._answer_none(go)
        else:
            self._answer_pings()

    def _answer_none(self, go: PendingGo) -> None:
        self._answer(go, BestMove(None))

    def _answer(self, go: PendingGo, best: BestMove) -> None:
        self._searches.remove(go)
        self.send(*self.answer(best, go.limits))

    def _start(self, go: PendingGo, reason: str | None) -> None:
        """Let the engine begin, or answer at once when there is a ``reason`` for no move."""
        engine = self._loader.engine
        if reason is not None or engine is None:
            self.tell(f"no {'mate' if go.limits.solve else 'move'}: {reason}")
            self._refuse(go)
            return
        if go.early and (go.ponder_hit or go.stopped):
            self._catch_up(go)
            return
        self._running = go
        limits = Limits(infinite=True) if go.early else go.limits_left(partial(side_to_move, engine))
        try:
            engine.go(limits, partial(self._on_info, go), partial(self._on_done, go))
        except BaseException:
            self._running = None
            self._answer_none(go)
            raise
        if go.stopped:
            engine.stop()
        self._answer_pings()

    def _answer_pings(self) -> None:
        """A search begins: of those that wait, all are answered, but not before a search of the last game."""
        while self._pings and not self._searches.over:
            self._pings.popleft().answered = True
            self._pong()

    def _catch_up(self, go: PendingGo) -> None:
        """Go on with the tree of an early search, from the position that the ``go`` is about."""
        self._backlog.appendleft(GoStep(partial(self._return, go), failed=partial(self._refuse, go), go=go))

    def _return(self, go: PendingGo) -> Event:
        """On the worker."""
        root, moves = go.position
        self._loader.configured().set_position(root, moves.split())
        go.early = False
        return partial(self._start, go, None)

    def stop(self) -> None:
        for step in self.unfinished():
            if isinstance(step, PerftStep):
                step.halt[0] = 1
        for go in self._searches.take_unstopped():
            self._stop(go)

    def stop_endless(self) -> None:
        go = self._searches.take_endless()
        if go is not None:
            self._stop(go)

    def game_over(self) -> None:
        """End all searches as :meth:`stop` does; their answers come before those to later requests."""
        self.stop()
        self._searches.end_game()

    def _stop(self, go: PendingGo) -> None:
        go.stopped = True
        if go is self._running and go.refused:
            self._refuse(go)
        elif go is self._running and self._loader.engine is not None:
            go.restart = go.restart or go.early
            self._loader.engine.stop()

    def ponderhit(self, clocks: Limits | None = None) -> None:
        """The clocks of the ``go ponder`` count from now on; ignored when nobody ponders.

        ``clocks`` replace those of a ``go ponder`` that had no limit at all: its search begins anew.
        """
        go = self._searches.pondering
        if go is None:
            return
        engine = self._loader.engine if go is self._running else None
        go.ponder_hit = True
        go.waited.restart()
        go.next_report = 0.0
        if go.refused:
            self._refuse(go)
            return
        anew = go.early
        if clocks is not None and not go.limits.bounded:
            go.limits, anew = replace(clocks, searchmoves=go.limits.searchmoves), True
        if engine is not None and anew:
            go.restart = True
            engine.stop()
        elif engine is not None:
            engine.ponderhit()

    def _on_info(self, go: PendingGo, info: ThinkingInfo) -> None:
        """Called by the search."""
        if info.message is not None:
            self.post(partial(self._tell_of, go, info.message))
        if info.lines and not go.early:
            go.latest = info
            if not go.report_posted and go.waited.seconds >= go.next_report:
                go.report_posted = True
                self.post(partial(self._report, go))

    def _on_done(self, go: PendingGo, best: BestMove) -> None:
        """Called by the search."""
        self.post(partial(self._done, go, best))

    def _tell_of(self, go: PendingGo, text: str) -> None:
        if go is self._running:
            self.tell(text)

    def _report(self, go: PendingGo) -> None:
        go.report_posted = False
        if go is self._running and go.latest is not None and go.latest is not go.printed:
            go.printed = go.latest
            lines = self.report(go.latest, final=False)
            self.send(*lines)
            go.next_report = go.waited.seconds + max(1.0 / REPORTS_PER_S, len(lines) / LINES_PER_S)

    def _done(self, go: PendingGo, best: BestMove) -> None:
        if go is not self._running:
            self.write_stderr("the engine ended a search that was not running; ignored")
            return
        self._running = None
        if go.restart and (best.error is None or isinstance(best.error, AzError)):
            go.restart = False
            self._start(go, None)
            self.advance()
            return
        for text in best.messages:
            self.tell(text)
        if best.move is not None:
            info = go.final_report(best, best.move)
            if info is not go.printed or self.values["verbose_move_stats"]:
                self.send(*self.report(info, final=True))
        self._answer(go, best)
        if best.error is not None and not isinstance(best.error, AzError):
            raise best.error
        self.advance()

    # ------------------------------------------------------------------ the end

    def quit(self, patience: float | None = None) -> None:
        if patience is None and (self._searches or self._pings) and not self._loader.up_to_date:
            patience = self.loading_patience_s
        super().quit(patience)

    def drop_backlog(self) -> None:
        """Of the backlog only the searches are left, which end with an answer at once."""
        waiting = [step.go for step in self._backlog if isinstance(step, GoStep)]
        self._backlog = deque(GoStep(then=partial(self._start, go, "internal error"), go=go) for go in waiting)

    def answer_outstanding(self) -> None:
        held = any_move(self._loader.engine)  # as good for the searches that come before another position
        for step in [*([GoStep(go=self._running)] if self._running else []), *self.unfinished()]:
            if isinstance(step, GoStep):
                latest = step.go.latest
                self._answer(step.go, BestMove(held if latest is None else latest.lines[0].pv[0]))
            elif step.work is not None and not isinstance(step, PingStep):
                held = None
        self._running = None


add_arguments = partial(conversation.add_arguments, "uci")
main = partial(conversation.converse, "uci", UciSession)
