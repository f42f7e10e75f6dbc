"""Keeps an engine in the state that the options ask for, or falls back to the last one that worked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ..engine.errors import AzError, NetError
from ..engine.info import BestMove, ThinkingInfo
from ..engine.limits import Limits
from ..engine.params import EngineOptions
from .options import OPTIONS, OptionValues, SessionOptions

if TYPE_CHECKING:
    from ..engine.nets.opinions import Opinion

NO_NET = "uniform"  # a WeightsFile that needs no file
_NET_KEYS = ("weights_file", "provider", "int8")


def _net_of(options: EngineOptions) -> tuple[object, ...]:
    return options.weights_file, options.provider, options.int8


class EngineSeam(Protocol):
    """What a protocol needs of an engine; see :class:`az_engine.engine.engine.Engine` for each method."""

    game_name: str

    @property
    def description(self) -> str: ...
    @property
    def position(self) -> str | None: ...
    @property
    def notes(self) -> Sequence[str]: ...
    def configure(self, **changes: object) -> None: ...
    def ready(self, on_progress: Callable[[str], None] | None = None) -> None: ...
    def new_game(self) -> None: ...
    def set_position(self, root: str | None, moves: Sequence[str]) -> list[str]: ...
    def legal_moves(self) -> list[str]: ...
    def perft(self, depth: int, halt: bytearray | None = None) -> list[tuple[str, int]]: ...
    def opinion(self) -> Opinion: ...
    def go(
        self, limits: Limits, on_info: Callable[[ThinkingInfo], None], on_done: Callable[[BestMove], None]
    ) -> None: ...
    def stop(self) -> None: ...
    def ponderhit(self) -> None: ...
    def close(self) -> None: ...


AnyEngine = TypeVar("AnyEngine", bound=EngineSeam)


class Loader(Generic[AnyEngine]):
    """Makes the engine, passes changed options on to it and loads what they ask for.

    After a failure it tells the user why and restores the options that worked last, or those of the net inside the
    package; it never changes the net silently. Methods may block; not safe to call from two threads at once.
    """

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], AnyEngine],
        values: OptionValues,
        tell: Callable[[str], None],
    ) -> None:
        """Make nothing yet. ``tell`` gets sentences for the user, from the thread that loads."""
        self.engine: AnyEngine | None = None
        self._make_engine = make_engine
        self._values = values
        self._tell = tell
        self._applied = EngineOptions()  # the options that the engine has ...
        self._applied_at = -1  # ... since so many changes of the values
        self._good: EngineOptions | None = None  # the last options that it was ready with ...
        self._good_at = -1  # ... which are those after so many changes
        self._hopeless: tuple[EngineOptions, str] | None = None  # options with which no net works, and why
        self._shown: set[str] = set()  # sentences that have been shown; each is shown once

    @property
    def up_to_date(self) -> bool:
        """Whether the engine is ready with the present options. Returns at once."""
        if self._good_at != self._values.changes and self._good == self._values.engine_options():
            self._good_at = self._values.changes
        return self._good_at == self._values.changes

    def configured(self) -> AnyEngine:
        """The engine with the present options, not necessarily ready."""
        if self.engine is not None and self._applied_at == self._values.changes:
            return self.engine
        changes, requested = self._values.changes, self._values.engine_options()
        if self.engine is None:
            self.engine = self._make_engine(requested)
        else:
            names = [f.name for f in fields(EngineOptions)]
            changed = [name for name in names if getattr(requested, name) != getattr(self._applied, name)]
            if changed:
                self.engine.configure(**{name: getattr(requested, name) for name in changed})
        self._applied, self._applied_at = requested, changes
        return self.engine

    def again(self) -> None:
        """Make the next prepare() load again: more than the options has changed, such as the size of the board."""
        self._good, self._good_at, self._hopeless = None, -1, None

    def prepare(self) -> str | None:
        """Load what the present options ask for, or fall back; returns the reason when no net works. BLOCKS."""
        if self.up_to_date:
            return None
        requested = self._values.engine_options()
        if self._hopeless is not None and self._hopeless[0] == requested:
            return self._hopeless[1]
        self._hopeless = None
        try:
            self._load()
        except (AzError, MemoryError) as error:
            return self._fall_back(requested, error)
        return None

    def _load(self, words: str = "") -> None:
        """Make the engine ready; tell what it plays with, after ``words`` or when the net is another one."""
        engine, before = self.configured(), self._good
        engine.ready(self._tell_once)
        self._good, self._good_at = self._applied, self._applied_at
        now = self._good
        for note in engine.notes:
            self._tell_once(note)
        if words or before is None or _net_of(before) != _net_of(now):
            self._tell(f"{words or 'playing with'} {engine.description}")

    def _fall_back(self, requested: EngineOptions, error: Exception) -> str | None:
        """Restore first the options that are likely at fault, then all; at last do without a net."""
        reason = self._tell_why(error)
        good = self._good or OptionValues(self._values.protocol, hidden=self._values.hidden).engine_options()
        everything = [option.key for option in OPTIONS if option.owner is not SessionOptions]
        suspects = [key for key in everything if (key in _NET_KEYS) == isinstance(error, NetError)]
        without_net = replace(good, weights_file=NO_NET)
        for options, keys in ((good, suspects), (good, everything), (without_net, _NET_KEYS)):
            self._values.restore(options, keys)
            if self._values.engine_options() == requested:  # that has just failed
                continue
            requested = self._values.engine_options()
            try:
                self._load("going on with")
            except (AzError, MemoryError) as second:
                reason = self._tell_why(second)
            else:
                return None
        self._good, self._good_at = None, -1
        self._hopeless = (self._values.engine_options(), reason)
        return reason

    def _tell_once(self, text: str) -> None:
        if text not in self._shown:
            self._shown.add(text)
            self._tell(text)

    def _tell_why(self, error: Exception) -> str:
        reason = str(error) if isinstance(error, AzError) else "not enough memory: choose a smaller Hash"
        self._tell(reason)
        return reason
