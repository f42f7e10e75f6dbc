"""Watches clients apart from the work: one that is gone is noticed although its last lines still wait to be read."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ...engine.clock import Stopwatch

_linux: Any = select  # which has epoll there alone
_TELLS = hasattr(select, "epoll")
_PROBE_S = 1.0  # between probes of clients that will send nothing more
CLIENT: ContextVar[socket.socket] = ContextVar("client")  # of the HTTP request that a task answers


@dataclass(frozen=True, slots=True)
class _Client:
    link: socket.socket
    gone: Callable[[], object]
    probe: Callable[[], object] | None


class HangUps:
    """Watches sockets, on a thread of its own. Only Linux tells; elsewhere the next output does."""

    def __init__(self) -> None:
        self._clients: dict[int, _Client] = {}
        self._silent: dict[int, Stopwatch] = {}  # those that have closed their side, since the last probe
        self._lock = threading.Lock()
        self._closed = False
        if _TELLS:
            self._poll = _linux.epoll()
            threading.Thread(target=self._run, name="hang-ups", daemon=True).start()

    def close(self) -> None:
        """Watch nobody any more. Returns at once."""
        self._closed = True

    @contextlib.contextmanager
    def over(
        self, link: socket.socket, gone: Callable[[], object], probe: Callable[[], object] | None = None
    ) -> Iterator[None]:
        """Call ``gone``, from another thread, if the client hangs up within the ``with`` block. It must return at once.

        ``probe``: the client may close its side and still wait for answers. It is called every second from then on, and
        must send a byte, which a client that is gone refuses. None: a client that closes its side is gone.
        """
        if not _TELLS:
            yield
            return
        client = _Client(link.dup(), gone, probe)
        number = client.link.fileno()
        with self._lock:
            self._clients[number] = client
            self._poll.register(number, _linux.EPOLLRDHUP | _linux.EPOLLONESHOT)  # and faults
        try:
            yield
        finally:
            with self._lock:
                del self._clients[number]
                self._silent.pop(number, None)
                self._poll.unregister(number)
                client.link.close()

    def _run(self) -> None:
        while not self._closed:
            for number, _ in self._poll.poll(_PROBE_S):
                self._look(number)
            with self._lock:
                due = [number for number, since in self._silent.items() if since.seconds >= _PROBE_S]
                probes = [self._clients[number].probe for number in due]
                for number in due:
                    self._silent[number].restart()
            for probe in probes:
                if probe is not None:
                    probe()
        self._poll.close()

    def _look(self, number: int) -> None:
        with self._lock:
            client = self._clients.get(number)
            if client is None:
                return
            poll = _linux.poll()  # made anew: the number may have become another client's
            poll.register(number, _linux.POLLRDHUP)
            state = dict(poll.poll(0)).get(number, 0)
            gone = bool(state & (_linux.POLLHUP | _linux.POLLERR)) or (state and client.probe is None)
            if gone:
                self._silent.pop(number, None)
            else:
                if state:
                    self._silent.setdefault(number, Stopwatch())
                self._poll.modify(number, _linux.EPOLLONESHOT | (0 if state else _linux.EPOLLRDHUP))
        if gone:
            client.gone()
