"""The searches that a conversation of UCI or USI has asked for and that have no answer yet."""

from __future__ import annotations

from collections import deque

from ..engine.limits import Limits
from .go_command import PendingGo


class Searches:
    """Every ``go`` that has to be answered, in order."""

    def __init__(self) -> None:
        self._unanswered: dict[PendingGo, None] = {}  # of these ...
        self._unstopped: deque[PendingGo] = deque()  # ... those that nobody has stopped
        self._present: deque[PendingGo] = deque()  # ... those of the present game
        self._endless: PendingGo | None = None  # ... the one that only another command would end
        self.over = 0  # ... how many belong to a game that is over

    def __len__(self) -> int:
        return len(self._unanswered)

    def add(self, limits: Limits) -> PendingGo:
        go = PendingGo(limits, queued=bool(self._unanswered))
        self._unanswered[go] = None
        self._unstopped.append(go)
        self._present.append(go)
        if go.endless:
            self._endless = go
        return go

    def remove(self, go: PendingGo) -> None:
        """It gets its answer."""
        del self._unanswered[go]
        self.over -= go.game_over
        for waiting in (self._unstopped, self._present):
            if waiting and waiting[0] is go:
                waiting.popleft()

    def take_unstopped(self) -> list[PendingGo]:
        """Those to stop now, and no more afterwards."""
        unstopped, self._unstopped = list(self._unstopped), deque()
        return unstopped

    def take_endless(self) -> PendingGo | None:
        """The one that only another command would end, to stop it now."""
        go, self._endless = self._endless, None
        return go if go is not None and go.endless else None

    def end_game(self) -> None:
        for go in self._present:
            go.game_over = True
        self.over += len(self._present)
        self._present.clear()

    @property
    def pondering(self) -> PendingGo | None:
        """The one that waits for a ponder hit."""
        go = self._endless
        return go if go in self._unanswered and go.limits.ponder and not go.ponder_hit else None
