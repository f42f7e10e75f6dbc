"""Loading of the games that a server plays, while it lets clients in already."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

Tell = Callable[[str], None]


class GameLoad:
    """The loading of one game: kernels, which the first start on a machine compiles, and the net."""

    def __init__(self, game: str, load: Callable[[Tell], None]) -> None:
        """``load`` blocks and gets a function that it calls at each step. Errors of ``load``: AzError."""
        self.game, self.load = game, load
        self.done = False
        self._preparation: Preparation | None = None

    def wait(self, tell: Tell) -> None:
        """Block until the game is loaded, which then comes next; ``tell`` what is done meanwhile.

        Returns at once when nobody loads it. Errors: those of the loading.
        """
        if self._preparation is not None and not self.done:
            self._preparation.wait(self, tell)

    def belong_to(self, preparation: Preparation) -> None:
        self._preparation = preparation


class Preparation:
    """Loads games one after another on a thread of its own; those that somebody waits for come first."""

    def __init__(self, loads: Iterable[GameLoad], on_end: Callable[[], None]) -> None:
        """Load nothing yet. ``on_end`` comes from the thread, after the last game or the first fault."""
        self.fault: BaseException | None = None
        self._left = list(loads)
        self._on_end = on_end
        self._now: GameLoad | None = None
        self._step = ""
        self._changed = threading.Condition()
        for load in self._left:
            load.belong_to(self)

    def start(self) -> None:
        threading.Thread(target=self._run, name="preparation", daemon=True).start()

    def _run(self) -> None:
        try:
            while (load := self._next()) is not None:
                load.load(self._hear)
                with self._changed:
                    load.done = True
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001  whoever started the server raises it
            with self._changed:
                self.fault = error
                self._changed.notify_all()
        self._on_end()

    def _next(self) -> GameLoad | None:
        with self._changed:
            self._now, self._step = self._left.pop(0) if self._left else None, ""
            return self._now

    def _hear(self, step: str) -> None:
        with self._changed:
            self._step = step
            self._changed.notify_all()

    def wait(self, load: GameLoad, tell: Tell) -> None:
        """See :meth:`GameLoad.wait`."""
        last = ""
        with self._changed:
            if load in self._left:
                self._left.remove(load)
                self._left.insert(0, load)
            while not load.done:
                if self.fault is not None:
                    raise self.fault
                now = self._now
                first = " first" if now is not load else ""
                text = "" if now is None or not self._step else f"loading {now.game}{first}: {self._step}"
                if text and text != last:
                    last = text
                    tell(text)
                self._changed.wait()
