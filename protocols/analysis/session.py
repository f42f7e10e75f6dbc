"""A conversation in KataGo's analysis protocol: queries and answers as JSON objects, a line each, in any order.

The session's thread reads queries and obeys actions; analysts, made as they are needed, search several turns side by
side. Every turn gets exactly one answer with ``isDuringSearch`` false, or with an error.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, ClassVar

from ... import __version__
from ...engine.clock import Stopwatch
from ...engine.errors import AzError, ThreadError
from ...engine.params import EngineOptions
from ..fields import is_integer
from ..gtp.questions import model
from ..lines import LineReader, LineWriter, one_line
from ..options import OptionValues
from ..session import CLOSE_PATIENCE_S, STEP_BYTES, Session
from .analyst import AnalysisEngine, Analyst, Replay, Turn, Turns
from .answer import no_results, warning
from .fields import QueryError, read_object
from .positions import GoNotation, Notation, PlainNotation
from .query import read_query

MOST_OPEN = 20_000  # turns of one session
MOST_VISITS = 500  # of a query without maxVisits
_ACTIONS = ("query_version", "query_models", "clear_cache", "terminate", "terminate_all")
_NUMBERS = "If provided, must be an array of integers indicating turns to terminate"


class AnalysisSession(Session[AnalysisEngine]):
    quit_patience_s = 10.0
    end_patience_s = 0.0
    game: ClassVar[str] = "go"
    analysts: ClassVar[int] = 4  # turns that are searched side by side
    waits: ClassVar[bool] = True  # at the end of the input, for its queries

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], AnalysisEngine],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(make_engine, values, writer, notes)
        self._make = make_engine
        self._shown: set[str] = set()
        self._open: dict[Turn, None] = {}  # without a final answer, in order
        self._kept = 0  # their bytes
        self._turns = Turns()
        self._analysts: list[Analyst] = []
        self._notation: Notation | None = None
        self.tell_notes()

    @classmethod
    @cache
    def of(cls, game: str, analysts: int, *, waits: bool) -> type[AnalysisSession]:
        """Sessions for a game."""
        return type("AnalysisSession", (cls,), {"game": game, "analysts": analysts, "waits": waits})

    # ------------------------------------------------------------------ what comes in

    def command(self, line: str) -> None:
        if not line.strip():
            return
        try:
            given = read_object(line)
        except QueryError as error:
            self._write({"error": str(error)})
            return
        if not isinstance(given.get("id"), str):
            self._write({"error": 'Request must have a string "id" field'})
            return
        try:
            if isinstance(given.get("action"), str):
                self._act(given)
            else:
                self._ask(given)
        except QueryError as error:
            self._write(error.answer(given["id"]))
        except AzError as error:
            self._write({"error": str(error), "id": given["id"]})

    def overlong(self) -> None:
        self._write({"error": "a line longer than 1 MiB - could not parse input line as json request"})

    def _ask(self, given: dict[str, Any]) -> None:
        """Let the turns of a query wait for an analyst."""
        if self._notation is None:
            self._notation = self._read_notation()
        query = read_query(given, self._notation, self.values, MOST_VISITS, partial(self._warn, given["id"]))
        if len(self._open) + len(query.turns) > MOST_OPEN:
            raise QueryError(f"Must leave at most {MOST_OPEN} turns unanswered: wait for answers", "analyzeTurns")
        if self._kept + self._line > self.most_bytes:
            text = f"Must leave at most {self.most_bytes} bytes of queries unanswered: wait for answers"
            raise QueryError(text, "id")
        replay, size = Replay(query), STEP_BYTES + self._line // len(query.turns)
        for turn in [Turn(query, number, replay, size) for number in query.turns]:
            self._open[turn] = None
            self._kept += size
            if not self._turns.put(turn) and len(self._analysts) < self.analysts:
                make = partial(self._make, self.values.engine_options())
                over = partial(self._from_analyst, self._over)
                try:
                    self._analysts.append(Analyst(make, self._turns, self._writer.write, over, self.tell_from_worker))
                except ThreadError:
                    if not self._analysts:  # nobody would answer
                        turn.terminate()
                        self._close(turn)
                        raise

    def _read_notation(self) -> Notation:
        from ...engine.games import get_game

        if get_game(self.game).protocol != "gtp":
            return PlainNotation(self.game)
        return GoNotation(cache(self._make(self.values.engine_options()).sizes))  # it reads the net's file

    def _act(self, given: dict[str, Any]) -> None:
        match given["action"]:
            case "query_version":
                given |= {"version": __version__, "git_hash": ""}
            case "query_models":
                given["models"] = [self._model()]
            case "clear_cache":
                for analyst in self._analysts:
                    analyst.clear_cache()
            case "terminate":
                if not isinstance(given.get("terminateId"), str):
                    text = 'Requests for a terminate action must have a string "terminateId" field'
                    raise QueryError(text, "terminateId")
                self._terminate(given, given["terminateId"])
            case "terminate_all":
                self._terminate(given, None)
            case _:
                raise QueryError(f"'action' field must be {' or '.join(map(repr, _ACTIONS))}", "action")
        self._write(given)

    def _terminate(self, given: dict[str, Any], name: str | None) -> None:
        """End the open turns of queries called ``name`` (None: of all), or those of ``turnNumbers`` alone."""
        numbers = given.get("turnNumbers", [])
        if not isinstance(numbers, list) or not all(map(is_integer, numbers)):
            raise QueryError(_NUMBERS, "turnNumbers")
        chosen = set(numbers)
        for turn in [*self._open]:
            if name in (None, turn.query.id) and ("turnNumbers" not in given or turn.number in chosen):
                self._end(turn)

    def _end(self, turn: Turn) -> None:
        """Terminate a turn; answer it when nobody has begun it."""
        if turn.terminate():
            self._turns.count_ended()
            self._close(turn)
            self._write_nothing(turn)

    def _close(self, turn: Turn) -> None:
        if turn in self._open:
            del self._open[turn]
            self._kept -= turn.size

    def _write_nothing(self, turn: Turn) -> None:
        if turn.answer():
            self._write(no_results(turn.query, turn.number))

    def _model(self) -> dict[str, Any]:
        """The net. Blocks while it is loaded. Errors: AzError."""
        engine = self._make(self.values.engine_options())
        engine.ready()
        try:
            return model(engine, self.values)
        finally:
            engine.close()

    # ------------------------------------------------------------------ what goes out

    def _write(self, answer: dict[str, Any]) -> None:
        self.send(json.dumps(answer))

    def _warn(self, name: str, field: str, text: str) -> None:
        self._write(warning(name, text, field=field))

    def _from_analyst(self, event: Callable[..., None], *about: object) -> None:
        self.post(partial(event, *about))

    def _over(self, turn: Turn, bug: BaseException | None) -> None:
        """An analyst has answered a turn."""
        self._close(turn)
        if bug is not None:
            self.write_stderr("".join(traceback.format_exception(bug)).rstrip())
            text = f"internal error, please report it: {type(bug).__name__}: {bug}"
            self._write({"error": one_line(text), "id": turn.query.id})
        self.check_output()
        self.advance()

    def tell(self, text: str) -> None:
        """Tell the user a sentence, once: on stderr, or over the network as a warning."""
        if text in self._shown:
            return
        self._shown.add(text)
        if self.values.remote:
            self._write({"warning": one_line(text)})
        else:
            self.write_stderr(one_line(text))

    def tell_from_worker(self, text: str) -> None:
        """Tell the user of this machine what loading takes and finds."""
        if not self.values.remote:
            self.post(partial(self.tell, text))

    # ------------------------------------------------------------------ the end

    @property
    def searching(self) -> bool:
        return bool(self._open)

    def stop(self) -> None:
        for turn in [*self._open]:
            self._end(turn)

    def stop_endless(self) -> None:
        if not self.waits:
            self.stop()

    def answer_outstanding(self) -> None:
        for turn in [*self._open]:
            self._write_nothing(turn)

    def run(self, reader: LineReader) -> int:
        status = super().run(reader)
        for turn in self._open:
            turn.terminate()
        self._turns.close()
        watch = Stopwatch()
        for analyst in self._analysts:
            analyst.join(max(CLOSE_PATIENCE_S - watch.seconds, 0.0))
        return status
