"""The page's conversation: JSON objects, a line each. The page asks with ``do`` and a number ``id``.

Nothing of a game is kept that the page does not send again: after a new connection it goes on as before. A question
ends the search that runs, which still gives its answer.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ... import __version__
from ...engine.errors import AzError, DataError, NetError, OptionError, counted
from ...engine.games import get_game
from ...engine.info import BestMove, ThinkingInfo
from ...engine.limits import Limits
from ...engine.nets.weights import embedded_net, other_nets
from ...engine.os.process import start_thread
from ...engine.params import EngineOptions
from ...engine.records.formats import format_named, left_out
from ...engine.records.record import Record
from ...engine.records.text import unicode_of
from ...engine.search.strength import HIGHEST, LOWEST
from ..analysis.analyst import AnalysisEngine
from ..fields import PART_BYTES, parts
from ..languages import ENGLISH, languages, translated
from ..lines import MAX_LINE, LineWriter, one_line
from ..options import BY_KEY, OptionValues
from ..session import Session
from ..steps import Event, Step
from . import report
from .filework import LONG, FileWork
from .outline import outline, read_tree
from .paper import write_paper
from .request import Request
from .review import KINDS, Judgement, annotated, review_data
from .saved import LONGEST_SOURCE, record_of
from .scoresheet import MOST_GAMES, Scoresheet, empty_board, read_any

if TYPE_CHECKING:
    from ...engine.search.tree.most_visited import Snapshot

PAPER = "page"  # the format that is a page of its own
RESIGN_PERMILLE = 30  # expected points
_TITLE = 120  # characters
_LEAST_MS = 100  # between reports
MOST_BRANCHES = 9_000  # moves of a tree
_MOST_LATER = 16  # questions that wait for the engine
_MOST_MS = 1 << 40  # of a clock


def nets_of(game: str, default: str) -> dict[str, str]:
    """``WeightsFile`` settings by the names that the page may choose from, the server's own first: never a path."""
    inside = {game: ""} if embedded_net(game) else {}
    results = {**inside, **{name: name for name in other_nets(game)}}
    if default in results.values():
        return dict(sorted(results.items(), key=lambda item: item[1] != default))
    return {"the server's": default, **results}


def _title(record: Record) -> str:
    """A game in a list of games."""
    names = " - ".join(name or "?" for name in record.names)
    more = (record.headers.get(header, "") for header in ("id", "Event", "Date"))
    text = ", ".join(filter(None, (names if any(record.names) else "", *more, counted(len(record.moves), "move"))))
    return text[:_TITLE]


def _source(game: str, record: Record) -> dict[str, str] | None:
    """The record as a text that the page keeps and sends again when it saves; None for one that is too long."""
    writable = [form for form in get_game(game).record_formats if form.write is not None]
    form = next((form for form in writable if form.name == record.source), writable[0])
    assert form.write is not None
    try:
        text = form.write(record)
    except AzError:
        return None
    return {"format": form.name, "text": text} if len(text) <= LONGEST_SOURCE else None


class PageEngine(AnalysisEngine, Protocol):
    """What the page needs of an engine; see :class:`az_engine.engine.engine.Engine` for each method."""

    def snapshot(self, most: int) -> Snapshot | None: ...


class PageSession(Session[PageEngine]):
    """Answers one page about one game."""

    quit_patience_s = 0.0
    end_patience_s = 0.0
    game: ClassVar[str] = "chess"
    games: ClassVar[tuple[str, ...]] = ("chess",)  # that the server plays

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], PageEngine],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(make_engine, values, writer, notes)
        self._sheet: Scoresheet | None = None
        self._size = 0  # of the engine's board, where there are several
        self._nets = nets_of(self.game, str(values["weights_file"]))
        self._files = FileWork()
        self._language = ENGLISH  # of the reader
        self._request: Request | None = None  # the search that runs ...
        self._most_states = 0  # ... and how many states its reports show
        self._loading = False  # the server compiles and loads the game
        self._later: list[tuple[Step, int]] = []  # what needs the engine, and waits for that; bytes of each
        self._stops = 0  # that were requested
        self._latest: tuple[ThinkingInfo, Snapshot | None] | None = None  # report that waits to be sent
        self._reporting = threading.Lock()  # held to change it
        self.enqueue(Step(work=self._greet))
        self.post(self.advance)

    @classmethod
    @cache
    def of(cls, game: str, games: tuple[str, ...]) -> type[PageSession]:
        """Sessions for a game."""
        return type("PageSession", (cls,), {"game": game, "games": games})

    def wait_for(self, loaded: Callable[[Callable[[str], None]], None]) -> None:
        """The board is there at once; what needs the engine waits until ``loaded`` returns, which gets ``tell``."""

        def wait() -> None:
            try:
                loaded(self.tell_from_worker)
            except BaseException:  # noqa: BLE001  the server's own fault, with which it ends
                return
            self.post(self._go_on)

        self._loading = True
        start_thread(threading.Thread(target=wait, name="loading", daemon=True))

    def _go_on(self) -> None:
        later, self._loading, self._later = self._later, False, []
        for step, size in later:
            self.enqueue(step, size)
        self._say("loaded", 0)
        self.advance()

    # ------------------------------------------------------------------ what comes in

    def command(self, line: str) -> None:
        if not line.strip():
            return
        number = 0
        try:
            request = Request.read(line)
            number = request.id
            language = request.text("language")
            self._language = language if language in languages() else ENGLISH
            work = self._work_of(request, line)
        except DataError as error:
            self._say("error", number, text=one_line(str(error)))
            return
        self.stop()
        if self.crowded:
            self._say("error", request.id, text="too much waits already: wait for answers")
        elif work is not None:
            step, size = Step(work=partial(self._work, request, work, self._stops)), PART_BYTES * parts(line)
            if self._loading and work in (self._prepare, self._count):
                self._later = [*self._later[-_MOST_LATER:], (step, size)]
            else:
                self.enqueue(step, size)

    def overlong(self) -> None:
        self._say("error", 0, text="a message has at most 1 MiB")

    def _work_of(self, request: Request, line: str) -> Callable[[Request, int], Event] | None:
        """What the worker does for a message; None: nothing. Errors: DataError."""
        does = {"game": self._show, "search": self._prepare, "count": self._count, "stop": None}
        files = {"read": self._read, "load": self._read, "write": self._write_record}
        do = request.choice("do", (*does, *files))
        if do in files:
            return files[do] if len(line) < LONG else partial(self._hand_on, line)
        return does[do]

    def _hand_on(self, line: str, _: Request, __: int) -> Event:
        """Have a process of its own answer a message about a long file."""
        values = {key: value for key, value in self.values.items() if key != "log_file"}
        about: dict[str, Any] = {"game": self.game, "games": self.games, "protocol": self.values.protocol}
        about |= {"values": values, "hidden": [*self.values.hidden]}
        about["native"] = self._sheet is not None and self._sheet.native
        return partial(self.send, self._files.answer(about, line))

    def answer_file(self, line: str, *, native: bool) -> None:
        """Answer a message about a file, in that process. BLOCKS."""
        self._sheet = Scoresheet(self.game)
        self._sheet.write_native(native)
        request = Request.read(line)
        language = request.text("language")
        self._language = language if language in languages() else ENGLISH
        work = self._write_record if request.choice("do", ("read", "load", "write")) == "write" else self._read
        self._work(request, work, 0)()

    def _work(self, request: Request, work: Callable[[Request, int], Event], stops: int) -> Event:
        """Do what is requested, on the worker. An error that the user can mend is the answer."""
        try:
            return work(request, stops)
        except AzError as error:
            return partial(self._say, "error", request.id, text=one_line(str(error)))

    def _greet(self) -> Event:
        """Send what can be requested, once the game is loaded."""
        sheet = self._sheet = Scoresheet(self.game)
        sizes = self._loader.configured().sizes() if sheet.size else ()
        self._size = sheet.size
        shown = [n for n in sizes or range(2, 20) if n < 26] if sheet.size else []
        hello = {
            "version": __version__,
            "game": self.game,
            "games": self.games,
            "sides": sheet.game.sides,
            "sizes": shown,
            "komi": [float(empty_board(self.game, n, None, "tromp-taylor", 0).split()[3]) for n in shown],
            "elo": [LOWEST, HIGHEST],
            "nets": list(self._nets),
            "kinds": KINDS,
            "formats": [form.name for form in sheet.game.record_formats if form.write is not None],
        }
        return partial(self._say, "hello", 0, **hello)

    def _show(self, request: Request, _: int) -> Event:
        """The game, from the ply on that the page does not know."""
        assert self._sheet is not None
        start = request.table("start")
        root = request.text("root")
        if start is not None:
            size, handicap = start.whole("size", 2, 25, 9), start.whole("handicap", 0, 9, 0)
            komi = start.some_number("komi", -8000.0, 8000.0)
            root = empty_board(self.game, size, komi, start.text("rules") or "tromp-taylor", handicap)
        self._sheet.write_native(request.boolean("kanji"))
        self._sheet.hold(root, request.words("moves"))
        known, at = request.whole("known", 0, 1 << 20, 0), request.whole("at", 0, 1 << 20, 1 << 20)
        lines = request.words("lines")[: len(self._sheet.moves) + 1]
        written = [self._sheet.written(line.split(), ply) for ply, line in enumerate(lines)]
        tree = self._sheet.words_of(read_tree(request.words("tree")))
        return partial(self._say, "game", request.id, **self._sheet.shown(known, at), lines=written, tree=tree)

    def _count(self, request: Request, _: int) -> Event:
        """The score of a game of Go that has ended, without the dead stones that the page names, or the net proposes.

        Errors: AzError.
        """
        sheet = self._held(request)
        dead = self._dead() if request.boolean("propose") else request.words("dead")
        return partial(self._say, "count", request.id, **sheet.counted(dead, request.text("toggle")))

    def _dead(self) -> list[str]:
        """The stones that the net thinks dead; none when it has no such output."""
        assert self._sheet is not None
        sheet, engine = self._sheet, self._ready()
        engine.set_position(sheet.root, sheet.moves[: sheet.before_passes])
        try:
            return sheet.points(engine.dead_chains() or ())
        except NetError:
            return []

    def _read(self, request: Request, _: int) -> Event:
        """A game of a text, or of a file in base64; of several the one that is requested, and what there is."""
        text, data = request.text("text", MAX_LINE) or "", request.text("data", MAX_LINE)
        try:
            content = text.encode("utf-8", "replace") if data is None else base64.b64decode(data, validate=True)
        except ValueError:
            raise DataError("data must be a file in base64") from None
        if not content.strip():
            raise DataError("there is nothing to read: the file or the text is empty")
        if b"\0" in content and unicode_of(content) is None:
            raise DataError("this file holds no text, it may be a picture or an archive: give the file of a game")
        game, records = read_any(self.game, self.games, content, request.text("name") or "")
        records, more = records[:MOST_GAMES], len(records) > MOST_GAMES
        number = request.whole("number", 1, 1 << 20, 1)
        if number > len(records):
            raise DataError(
                f"there {'is' if len(records) == 1 else 'are'} {counted(len(records), 'game')}, no number {number}"
            )
        record = records[number - 1]
        if record.fault and not record.moves and record.root is None:
            raise DataError(record.fault)
        shown = outline(game, record, MOST_BRANCHES)
        fields: dict[str, Any] = {
            "game": game,
            "moves": record.moves,
            "tree": shown.branches,
            "comments": shown.comments,
            "hidden": shown.hidden,
            "root": record.root,
            "names": record.names,
            "fault": "; ".join(filter(None, (record.note, record.fault))),
        }
        games = [_title(each) for each in records] if len(records) > 1 else []
        fields |= {"number": number, "games": games, "more": more, "source": _source(game, record)}
        return partial(self._say, "record", request.id, **fields, result=record.result, reason=record.reason)

    def _write_record(self, request: Request, _: int) -> Event:
        """The game as a file: what was loaded, with what was found added to it."""
        sheet = self._held(request)
        plain = record_of(sheet, request)
        judged = [None if value is None else Judgement.read(value) for value in request.tables("values")]
        if len(judged) > len(sheet.moves) + 1:
            raise DataError(f"values must be one for each position, {len(sheet.moves) + 1}, not {len(judged)}")
        requested = request.text("format") or ""
        if requested == PAPER:
            data = review_data(sheet, judged, plain, "")
            return partial(
                self._say,
                "file",
                request.id,
                text=write_paper(data["title"], "papers/paper.js", data, request.text("language") or "en"),
                suffix=".html",
            )
        form = format_named(sheet.game.record_formats, requested, to_write=True)
        if form.write is None:
            raise OptionError(f"{form.name} is only read here")
        note = left_out(form, form.lost(plain))  # before the review's own lines are there
        record = annotated(sheet, judged, plain, form, self.values.engine_options())
        return partial(self._say, "file", request.id, text=form.write(record), suffix=form.suffixes[0], note=note)

    # ------------------------------------------------------------------ searches

    def _held(self, request: Request) -> Scoresheet:
        """The game of the request. Errors: AzError."""
        assert self._sheet is not None
        self._sheet.hold(request.text("root"), request.words("moves"))
        return self._sheet

    def _ready(self) -> PageEngine:
        """The engine, loaded, with a board of the game's size. BLOCKS. Errors: OptionError."""
        assert self._sheet is not None
        engine = self._loader.configured()
        if self._sheet.size != self._size:
            engine.resize(self._sheet.size)
            self._size = self._sheet.size
            self._loader.again()
        reason = self._loader.prepare()
        if reason is not None:
            raise OptionError(reason)
        return engine

    def _prepare(self, request: Request, stops: int) -> Event:
        """Make the engine ready for a search, on the worker."""
        sheet = self._held(request)
        playing = request.boolean("play")
        elo = request.some_integer("elo", LOWEST, HIGHEST) if playing else None
        limits, states = self._limits(request, limited=elo is not None), request.whole("states", 0, 20, 0)
        if request.text("net") is not None:
            self.values.set(BY_KEY["weights_file"], self._nets[request.choice("net", tuple(self._nets))])
        engine = self._ready()
        engine.configure(
            chess960=sheet.game.form == "chess960",
            multipv=1 if playing else request.whole("lines", 1, 50, 8),
            move_stats=True,
            elo=elo,
            resign_cp=None,
            resign_permille=RESIGN_PERMILLE if playing and len(sheet.moves) > 20 else 0,
        )
        if request.boolean("fresh"):
            engine.new_tree()
        engine.set_position(sheet.root, sheet.moves)
        return partial(self._begin, request, limits, states, stops)

    def _limits(self, request: Request, *, limited: bool) -> Limits:
        """When the search ends; ``limited``: by its strength, whatever else is requested. Errors: DataError."""
        visits, seconds = request.some_integer("visits", 1, 10**9), request.some_number("seconds", 0.01, 3600.0)
        clock = request.table("clock")
        left = [None if clock is None else clock.whole(side, 0, _MOST_MS, 0) for side in ("first", "second")]
        add, byoyomi = (0 if clock is None else clock.whole(name, 0, _MOST_MS, 0) for name in ("add", "byoyomi"))
        return Limits(
            nodes=visits,
            movetime=None if seconds is None else round(1000 * seconds),
            time=(left[0], left[1]),
            increment=(add, add),
            byoyomi=byoyomi,
            infinite=visits is None and seconds is None and clock is None and not limited,
            report_ms=request.whole("every", _LEAST_MS, 10_000, 200),
            estimates=self._sheet is not None and self._sheet.size > 0,
            searchmoves=tuple(request.words("only")),
        )

    def _begin(self, request: Request, limits: Limits, states: int, stops: int) -> None:
        if stops != self._stops:  # it was stopped before it began
            self._say("answer", request.id, **report.of_answer(BestMove(None)))
            return
        engine = self._loader.configured()
        self._request, self._most_states = request, states
        self._say("begun", request.id, net=engine.description)
        engine.go(limits, partial(self._hear_report, request), partial(self._from_search, self._end, request))

    def _hear_report(self, request: Request, info: ThinkingInfo) -> None:
        """On the search's thread: keep the newest report, so that a slow page gets few."""
        if info.message is not None:
            self._from_search(self._note, request, info.message)
            return
        latest = info, self._states()
        with self._reporting:
            waiting, self._latest = self._latest is not None, latest
        if not waiting:
            self._from_search(self._send_report, request)

    def _states(self) -> Snapshot | None:
        """The positions that are visited most, when they are requested."""
        return self._loader.configured().snapshot(self._most_states) if self._most_states else None

    def _from_search(self, event: Callable[..., None], *about: object) -> None:
        self.post(partial(event, *about))

    def _send_report(self, request: Request) -> None:
        with self._reporting:
            waiting, self._latest = self._latest, None
        if waiting is not None and request is self._request:
            info, states = waiting
            fields = report.of_search(info, self._write)
            self._say("report", request.id, **fields, states=report.of_states(states, self._write))

    def _write(self, moves: Sequence[str]) -> list[str]:
        assert self._sheet is not None
        return self._sheet.written(moves)

    def _note(self, request: Request, text: str) -> None:
        self._say("note", request.id, text=one_line(text))

    def _end(self, request: Request, best: BestMove) -> None:
        self._send_report(request)
        self._request = None
        self._say("answer", request.id, **report.of_answer(best), states=report.of_states(self._states(), self._write))
        if best.error is not None and not isinstance(best.error, AzError):
            raise best.error
        self.advance()

    # ------------------------------------------------------------------ what goes out

    def _say(self, kind: str, number: int, /, **more: Any) -> None:
        if kind in ("error", "note"):
            more["text"] = translated(more["text"], self._language, self.game)
        self.send(json.dumps({"is": kind, "id": number, **more}, separators=(",", ":")))

    def tell(self, text: str) -> None:
        self._say("loading" if self._loading or self._sheet is None else "note", 0, text=one_line(text))

    # ------------------------------------------------------------------ the end

    @property
    def searching(self) -> bool:
        return self._request is not None

    def stop(self) -> None:
        self._stops += 1
        if self._request is not None:
            self._loader.configured().stop()

    def stop_endless(self) -> None:
        self.stop()

    def answer_outstanding(self) -> None:
        self._files.end()
