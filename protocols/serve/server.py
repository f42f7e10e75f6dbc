"""The server: it listens, lets clients in and ends their conversations."""

from __future__ import annotations

import gc
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...engine.clock import Stopwatch
from ...engine.os.system import give_back_memory
from ...engine.params import EngineOptions
from ..analysis.session import AnalysisSession
from ..gtp.session import GtpSession
from ..lines import LineWriter, one_line
from ..options import OptionValues, Value
from ..page.session import PageSession
from ..session import WAITING_BYTES, Session
from ..uci.uci import UciSession
from ..uci.usi import UsiSession
from .admission import Admission, NotPlayedError, RefusedError, least_needed, listen
from .connection import Admitted, Connection, Hello
from .events import EventLog
from .hangup import HangUps
from .preparation import GameLoad

SESSIONS: dict[str, type[Session[Any]]] = {"uci": UciSession, "usi": UsiSession, "gtp": GtpSession}
ANALYSIS = "katago"  # the protocol of :mod:`az_engine.protocols.analysis`
PAGE = "page"  # of :mod:`az_engine.protocols.page`
_OF_ALL_GAMES = {ANALYSIS: "in KataGo's analysis protocol", PAGE: "on the page"}
_TICK_S = 1.0  # between looks for silent clients
GREETING = 64  # clients that have sent no first line yet, beyond the sessions
_END_S = 5.0  # for all sessions to give their moves when the server ends


@dataclass(frozen=True, slots=True)
class Offer:
    """A game that the server plays."""

    game: str
    protocol: str
    make_engine: Callable[[EngineOptions, str], Any]  # with the client's identity, by which nets are shared
    start: Mapping[str, Value] = field(default_factory=dict)  # values of options by key
    hidden: frozenset[str] = frozenset()  # keys of options that mean nothing to the game
    loading: GameLoad | None = None  # which sessions of the game wait for


@dataclass(frozen=True, slots=True)
class Rules:
    """What one session may take of the server."""

    idle_s: float = 3600.0  # without a line from the client; 0 = for ever
    caps: Mapping[str, int] = field(default_factory=dict)  # the greatest value of options, by key
    waiting: int = WAITING_BYTES  # of lines, about
    analysts: int = 4  # positions that one session of KataGo's protocol has searched side by side


class Server:
    """Sessions over TCP, each line as on stdin and stdout."""

    def __init__(
        self, address: tuple[str, int], offers: list[Offer], admission: Admission, rules: Rules, log: EventLog
    ) -> None:
        """Listen; port 0 takes a free one. The first offer of a protocol is its usual game. Errors: OptionError."""
        self._offers, self._admission, self._rules, self._log = offers, admission, rules, log
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._numbers = 0
        self._ending = threading.Event()
        self.most = admission.most  # sessions
        self.status_requests = False  # whether the log is to get a line about the sessions
        self._ended = False  # a connection, since the last look
        self.hangups = HangUps()
        self._listener = listen(*address)
        self.port = int(self._listener.getsockname()[1])

    @property
    def games(self) -> tuple[str, ...]:
        """The names of the games that are played."""
        return tuple(each.game for each in self._offers)

    def run(self) -> None:
        """Let clients in until :meth:`stop`, then let every session give its move and close. BLOCKS."""
        self._listener.settimeout(_TICK_S)
        watch = Stopwatch()
        while not self._ending.is_set():
            try:
                link, _ = self._listener.accept()
            except TimeoutError:
                link = None
            except OSError as error:
                if self._ending.is_set():
                    break
                self._log.write("accept failed", reason=str(error))  # no descriptors left: others must close first
                self._ending.wait(_TICK_S)
                continue
            if link is not None:
                self._accept(link)
            if watch.seconds >= _TICK_S:
                watch.restart()
                self._end_silent()
                if self.status_requests:
                    self.status_requests = False
                    self._log.write("status", sessions=dict(self.sessions()), refusals=self.refusals)
                if self._ended:
                    self._ended = False
                    gc.collect()  # sessions refer to themselves; their arrays are large and their objects few
                    give_back_memory()
        self._listener.close()
        self._end_all()
        self.hangups.close()

    @property
    def ending(self) -> bool:
        """Whether nobody is let in any more."""
        return self._ending.is_set()

    @property
    def loading(self) -> bool:
        """Whether a game is still being loaded: its sessions wait."""
        return any(offer.loading is not None and not offer.loading.done for offer in self._offers)

    @property
    def refusals(self) -> int:
        """Clients and requests that were refused."""
        return self._log.counts["refuse"]

    def sessions(self) -> Counter[str]:
        """Sessions by protocol."""
        return Counter(connection.protocol for connection in self._all() if connection.protocol)

    @property
    def admitted(self) -> int:
        """Sessions that count against the most there may be."""
        return self._admission.sessions

    def log_refusal(self, client: str, reason: str, port: int) -> None:
        self._log.write("refuse", client=client, reason=reason, port=port)

    def converse(self, client: str, address: str, hello: Hello) -> tuple[Connection, socket.socket]:
        """A session for a client that the web has identified, and the other end of its line.

        Errors: RefusedError when there is no room; NotPlayedError.
        """
        if self.ending:
            raise RefusedError("the server ends")
        self._offer(hello)
        self._admission.enter(client)
        ours, theirs = socket.socketpair()
        admitted = Admitted(client, address, hello)
        with self._lock:
            self._numbers += 1
            try:
                connection = Connection(
                    self._numbers, ours, self._admission, self._make, self._log, self._over, self.hangups, admitted
                )
            except RuntimeError as error:  # no thread can be started
                ours.close()
                theirs.close()
                self._admission.leave(client)
                raise RefusedError("server full: it has no more threads, try again later") from error
            self._connections.add(connection)
        return connection, theirs

    def stop(self) -> None:
        """End :meth:`run` soon, as a signal handler may ask."""
        self._ending.set()
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        except OSError:  # it is closed
            return

    def _accept(self, link: socket.socket) -> None:
        with self._lock:
            self._numbers += 1
            greeting = [(each.address, each.greeting.seconds, each) for each in self._connections if each.greeting]
            try:
                self._connections.add(
                    Connection(self._numbers, link, self._admission, self._make, self._log, self._over, self.hangups)
                )
            except (OSError, RuntimeError) as error:  # gone already; no thread can be started
                self._log.write("lost", session=self._numbers, reason=str(error))
                link.close()
        if len(greeting) >= GREETING:
            slow = least_needed(greeting)
            self._log.write("refuse", session=slow.number, client=slow.address, reason="silent in a crowd")
            slow.cut()

    def _over(self, connection: Connection) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._ended = True

    def _all(self) -> list[Connection]:
        with self._lock:
            return list(self._connections)

    def _end_silent(self) -> None:
        if self._rules.idle_s:
            for connection in self._all():
                connection.end_if_silent(self._rules.idle_s)

    def _end_all(self) -> None:
        watch = Stopwatch()
        connections = self._all()
        for connection in connections:
            connection.end("the server ends")
        for connection in connections:
            connection.thread.join(max(_END_S - watch.seconds, 0.0))
        for connection in self._all():
            connection.cut()

    def _make(self, hello: Hello, client: str, writer: LineWriter) -> Session[Any]:
        """The session that a client asks for. Errors: RefusedError for a game that is not played here."""
        offer, caps, analysts = self._offer(hello), dict(self._rules.caps), self._rules.analysts
        protocol, make = offer.protocol, SESSIONS[offer.protocol]
        if hello.protocol == ANALYSIS:
            protocol, make = "gtp", AnalysisSession.of(offer.game, analysts, waits=hello.waits)
            caps |= {key: max(caps[key] // analysts, 1) for key in ("hash",) if key in caps}
        if hello.protocol == PAGE:
            make = PageSession.of(offer.game, self.games)
        values = OptionValues(protocol, offer.start, offer.hidden, caps)

        def make_engine(options: EngineOptions) -> Any:
            if offer.loading is not None and not isinstance(session, PageSession):
                offer.loading.wait(session.tell_from_worker)
            return offer.make_engine(options, client)

        session = make(make_engine, values, writer)
        if isinstance(session, PageSession) and offer.loading is not None:
            session.wait_for(offer.loading.wait)
        session.most_bytes = min(self._rules.waiting, WAITING_BYTES)
        return session

    def _offer(self, hello: Hello) -> Offer:
        """The game that a client asks for; an analysis is of Go unless set otherwise. Errors: NotPlayedError."""
        offers = [offer for offer in self._offers if hello.protocol in (offer.protocol, *_OF_ALL_GAMES)]
        offers.sort(key=lambda offer: hello.protocol == ANALYSIS and offer.protocol != "gtp")
        for offer in offers:
            if hello.game in ("", offer.game):
                return offer
        requested = one_line(hello.game, 40) or "game"
        if hello.protocol in _OF_ALL_GAMES:
            over, games = _OF_ALL_GAMES[hello.protocol], ", ".join(each.game for each in self._offers)
        else:
            over = f"over {hello.protocol.upper()}"
            games = ", ".join(f"{each.game} ({each.protocol.upper()})" for each in self._offers)
        raise NotPlayedError(f"no {requested} is played here {over}; there is {games}")
