"""One client of the line port: what it says first, then a session of the protocol that it speaks.

A conversation is UCI, USI or GTP as on stdin. Before it, a client may send ``token TOKEN`` and ``game NAME``, a line
each; the first line of the conversation itself tells the protocol: ``uci``, ``usi``, else a command of GTP.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ...engine.clock import Stopwatch
from ..lines import LineReader, LineWriter, clean, one_line
from ..session import Session
from .admission import Admission, RefusedError, WrongTokenError, plain
from .events import EventLog
from .hangup import HangUps

HELLO_S = 10.0  # for all lines before the conversation
_HELLO_BYTES = 4096  # of these lines
_WRITE_S = 30  # a client that reads nothing for so long is gone
_LINGER_S = 0.5  # for a client to close, once our last line is sent
_LINGER_CHUNKS = 64  # of 64 KiB, that are read meanwhile
_CLOSE_S = 3.0  # for the thread that reads, once the socket is shut down
_GTP = re.compile(r"\d*[ \t]*[a-z][a-z0-9_-]*([ \t].*)?")
_HTTP = re.compile(r"\sHTTP/\d(\.\d)?$", re.IGNORECASE)
_NOT_GTP = {"isready", "setoption", "position", "go", "ucinewgame", "usinewgame", "ponderhit", "stop", "debug"}


@dataclass(frozen=True, slots=True)
class Hello:
    """How a conversation begins."""

    protocol: str = ""  # "" as long as it is unknown
    token: str = ""
    game: str = ""  # "" = the protocol's usual one
    begun: bytes = b""  # of the conversation, already read
    waits: bool = False  # at the end of the input an analysis finishes its queries


@dataclass(frozen=True, slots=True)
class Admitted:
    """A client that came in by another door: it counts among the sessions already."""

    client: str
    address: str
    hello: Hello


class SocketReader(LineReader):
    """Reads a conversation from a socket, of which the beginning has been read; knows how long the client is silent."""

    skips = False

    def __init__(self, descriptor: int, begun: bytes) -> None:
        super().__init__(descriptor)
        self.silence = Stopwatch()
        self._begun = begun
        self._thread: threading.Thread | None = None

    def start(
        self, on_line: Callable[[str], None], on_overlong: Callable[[], None], on_end: Callable[[], None]
    ) -> threading.Thread:
        """Keep the thread: the socket must not be closed before it has ended."""
        self._thread = super().start(on_line, on_overlong, on_end)
        return self._thread

    def join(self, seconds: float) -> bool:
        """Wait for the thread; False when it still reads."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def _read(self) -> bytes:
        chunk, self._begun = self._begun or super()._read(), b""
        self.silence.restart()
        return chunk


class MakeSession(Protocol):
    """Makes the session that a hello asks for, without loading anything. Errors: RefusedError."""

    def __call__(self, hello: Hello, client: str, writer: LineWriter) -> Session[Any]:
        """``client``: its identity."""


class Connection:
    """A socket from its first byte to its end, with a thread of its own."""

    def __init__(
        self,
        number: int,
        link: socket.socket,
        admission: Admission,
        make_session: MakeSession,
        log: EventLog,
        on_end: Callable[[Connection], None],
        hangups: HangUps,
        admitted: Admitted | None = None,
    ) -> None:
        """Begin at once; the socket is the connection's from now on. ``on_end`` comes last, from its thread.

        admitted: who has been let in already, and need not say hello.
        """
        self.number = number
        self._link, self._admission, self._make_session, self._log = link, admission, make_session, log
        self._hangups, self._admitted = hangups, admitted
        self.address = admitted.address if admitted else plain(str(link.getpeername()[0]))
        self.protocol = ""  # of its session, once it has begun
        self.greeting: Stopwatch | None = None if admitted else Stopwatch()  # until its first line
        self._session: Session[Any] | None = None
        self._reader: SocketReader | None = None
        self._ended = False
        self._on_end = on_end
        self.thread = threading.Thread(target=self._run, name=f"client {number}", daemon=True)
        self.thread.start()

    def end(self, reason: str) -> None:
        """End the conversation soon; a search still gives its move. From any thread; returns at once."""
        self._ended = True
        session = self._session
        if session is None:
            self.cut()
            return
        session.post(partial(session.tell, reason))
        session.interrupt()

    def hang_up(self) -> None:
        """The client is gone: end all work. From any thread; returns at once."""
        self._ended = True
        session = self._session
        if session is None:
            self.cut()
        else:
            session.hang_up()

    def cut(self) -> None:
        """Shut the socket down, so that whoever waits for it wakes up. From any thread."""
        try:
            self._link.shutdown(socket.SHUT_RDWR)
        except OSError:  # the client has gone
            return

    def end_if_silent(self, seconds: float) -> None:
        """End a conversation whose client has sent nothing for so long."""
        reader = self._reader
        if reader is not None and not self._ended and reader.silence.seconds > seconds:
            self._log.write("idle", session=self.number)
            self.end(f"nothing came for {seconds:.0f} s: the server closes this session")

    def _run(self) -> None:
        client, hello = "", Hello()
        try:
            if self._admitted is not None:
                client, hello = self._admitted.client, self._admitted.hello
            self._prepare()
            if self._admitted is None:
                hello = self._greet()
                self.greeting = None
                name = self._admission.identify(self.address, hello.token)
                self._admission.enter(name)
                client = name
            self._converse(hello, client)
        except RefusedError as refusal:
            port = 0 if self._admitted else self._link.getsockname()[1]
            about = {"client": client or self.address, "reason": str(refusal), "port": port}
            self._log.write("refuse", session=self.number, **about)
            if isinstance(refusal, WrongTokenError):
                self._wait(refusal.seconds)
            self._refuse(hello.protocol, str(refusal))
        except OSError as error:
            self._log.write("lost", session=self.number, client=client or self.address, reason=str(error))
        finally:
            self._close()
            if client:
                self._admission.leave(client)
            self._on_end(self)

    def _prepare(self) -> None:
        if self._admitted is None:
            self._link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _WRITE_S, 0))

    def _greet(self) -> Hello:
        """Read up to the line that tells the protocol. Errors: RefusedError, OSError."""
        watch, received = Stopwatch(), b""
        while True:
            *lines, _ = received.split(b"\n")
            result = read_hello(lines, received)
            if result is not None:
                return result
            if len(received) > _HELLO_BYTES:
                raise RefusedError("the first lines are too long: say uci, usi or a command of GTP")
            left = HELLO_S - watch.seconds
            if left <= 0:
                raise RefusedError(f"nothing to answer came within {HELLO_S:.0f} s")
            self._link.settimeout(left)
            try:
                chunk = self._link.recv(_HELLO_BYTES)
            except TimeoutError:
                continue
            if not chunk:
                raise OSError(0, "closed before its first line")
            received += chunk

    def _converse(self, hello: Hello, client: str) -> None:
        """Hold the conversation to its end. Errors: RefusedError before it begins."""
        self._link.settimeout(None)
        writer, watch = LineWriter(self._link.fileno()), Stopwatch()
        session = self._make_session(hello, client, writer)
        self._reader = SocketReader(self._link.fileno(), hello.begun)
        self._session, self.protocol = session, hello.protocol
        if self._ended:  # between the greeting and now
            session.interrupt()
        self._log.write("open", session=self.number, client=client, protocol=hello.protocol, game=hello.game)
        try:
            with self._watched(session, writer):
                status = session.run(self._reader)
        finally:
            self._session = None
            self._linger()
            self.cut()
            writer.close()
        self._log.write("close", session=self.number, status=status, seconds=round(watch.seconds, 1))

    def _watched(self, session: Session[Any], writer: LineWriter) -> AbstractContextManager[None]:
        if self._admitted is not None:  # the other door watches its client
            return nullcontext()
        return self._hangups.over(self._link, session.hang_up, writer.probe)

    def _refuse(self, protocol: str, reason: str) -> None:
        """Say why, in the protocol's own words."""
        text = one_line(reason)
        lines = {"gtp": f"? {text}\n", "": f"error: {text}", "katago": json.dumps({"error": text})}
        line = lines.get(protocol, f"info string {text}")
        try:
            self._link.settimeout(_LINGER_S)
            self._link.sendall((line + "\n").encode("utf-8", "backslashreplace"))
            self._linger()
        except OSError:  # it has not waited for the reason
            return

    def _wait(self, seconds: float) -> None:
        """Do nothing for so long, unless the client goes or is cut off."""
        watch = Stopwatch()
        try:
            while (left := seconds - watch.seconds) > 0:
                self._link.settimeout(left)
                if not self._link.recv(_HELLO_BYTES):
                    return
        except OSError:
            return

    def _linger(self) -> None:
        """Let the client read to the end: closing a socket with unread input would take our last lines away from it."""
        watch = Stopwatch()
        try:
            self._link.shutdown(socket.SHUT_WR)
            if self._reader is not None and not self._reader.join(_LINGER_S):
                return
            self._link.settimeout(_LINGER_S)
            for _ in range(_LINGER_CHUNKS):
                if watch.seconds > _LINGER_S or not self._link.recv(1 << 16):
                    return
        except OSError:
            return

    def _close(self) -> None:
        self.cut()
        if self._reader is not None and not self._reader.join(_CLOSE_S):
            self._log.write("leak", session=self.number)
            return  # its number must not become another's while a thread reads from it
        self._link.close()


def read_hello(lines: list[bytes], received: bytes) -> Hello | None:
    """What the whole ``lines`` at the head of ``received`` open; None when the protocol is not known yet.

    Errors: RefusedError for a line that opens nothing.
    """
    token, game, place = "", "", 0
    for raw in lines:
        line = clean(raw).strip()
        if _HTTP.search(line):
            raise RefusedError("this port takes lines of UCI, USI and GTP; HTTP has a port of its own, --http-port")
        first, _, rest = line.partition(" ")
        if first == "token":
            token = rest.strip()
        elif first == "game":
            game = rest.strip()
        elif raw.strip() and not line.startswith("#"):
            if first in ("uci", "usi"):
                return Hello(first, token, game, received[place:])
            if _GTP.fullmatch(line) and first not in _NOT_GTP:
                return Hello("gtp", token, game, received[place:])
            raise RefusedError(f"{one_line(line, 40)!r} opens no conversation: say uci, usi or a command of GTP")
        place += len(raw) + 1
    return None
