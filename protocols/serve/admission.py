"""Who may come in: tokens, and how many conversations the server and each client have at once."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

from ...engine.clock import Stopwatch
from ...engine.errors import AzError, OptionError
from ..configuration import default_config

_LEAST_TOKEN = 16  # characters
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 8.0  # after an address's first wrong token, which doubles, and at most
_DOUBLED = 10  # times, at most
_FORGIVEN_S = 600.0  # after the last one
_MOST_ADDRESSES = 1000  # that are remembered
_Waiting = TypeVar("_Waiting")


class RefusedError(AzError):
    """The client is not let in; the text says why and what to do."""


class WrongTokenError(RefusedError):
    """A token that is wrong, for which the client has to wait."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(text)
        self.seconds = seconds


class NotPlayedError(RefusedError):
    """The server does not play the requested game."""


def loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on an address or a name of this machine; ``::`` takes IPv4, too. Errors: OptionError."""
    try:
        result = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = min(
            result, key=lambda each: each[0] is not socket.AF_INET
        )  # of localhost: 127.0.0.1
        both = host == "::" and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, backlog=128, dualstack_ipv6=both)
    except OSError as error:
        raise OptionError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from error


def plain(address: str) -> str:
    """An address of IPv4 that came in over IPv6 as such; others as they are."""
    return address.removeprefix("::ffff:") if "." in address else address


def default_token_file() -> Path:
    """The file of tokens that is read, and made, without ``--token-file``."""
    return default_config().with_name("serve-tokens")


def read_tokens(path: Path) -> tuple[str, ...]:
    """The tokens in a file, one a line; a file that does not exist is made, with one new token, for its owner alone.

    Errors: OptionError.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(secrets.token_urlsafe(24) + "\n")
        if sys.platform != "win32" and path.stat().st_mode & 0o077:  # Windows' modes do not tell who may read
            raise OptionError(f"others can read the tokens in {path}: chmod 600 it, and change them")
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not ASCII text"
        raise OptionError(f"the file of tokens {path} cannot be used ({reason})") from error
    tokens = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not tokens or min(map(len, tokens)) < _LEAST_TOKEN:
        raise OptionError(f"{path} needs a token of at least {_LEAST_TOKEN} characters on each line")
    return tokens


def least_needed(waiting: Iterable[tuple[str, float, _Waiting]]) -> _Waiting:
    """Whom to let go of (address, seconds, who) that have sent no first line yet.

    Of the address that has the most, the one that has waited longest.
    """
    known = [*waiting]
    many = Counter(address for address, _, _ in known)
    return max(known, key=lambda each: (many[each[0]], each[1]))[2]


class Admission:
    """Counts the sessions of each client. A client is its token when there are several, else its address."""

    def __init__(self, most: int, per_client: int, tokens: tuple[str, ...] = ()) -> None:
        """``tokens``: one of them opens the door; none are needed when there are none."""
        self.most, self.per_client = most, per_client
        self._tokens = tokens
        self._sessions: Counter[str] = Counter()
        self._mistakes: dict[str, tuple[Stopwatch, int]] = {}  # by address: since the last wrong token, and how many
        self._lock = threading.Lock()

    @property
    def sessions(self) -> int:
        """Sessions that were let in and have not left."""
        with self._lock:
            return self._sessions.total()

    def identify(self, address: str, token: str) -> str:
        """The client's identity.

        Errors: RefusedError for a token that is missing, WrongTokenError with the seconds until the answer.
        """
        if not self._tokens:
            return address
        given = token.encode("utf-8", "surrogateescape")
        known = [i for i, each in enumerate(self._tokens) if hmac.compare_digest(each.encode(), given)]
        if not token:
            raise RefusedError("this server asks for a token: send `token TOKEN` first")
        if not known:
            raise WrongTokenError("this token is wrong", self._wrong(address))
        return address if len(self._tokens) == 1 else f"token {known[0] + 1}"

    def _wrong(self, address: str) -> float:
        """Count a wrong token of an address; the seconds that it waits for the answer: ever longer."""
        with self._lock:
            since, count = self._mistakes.pop(address, (Stopwatch(), 0))
            count = 0 if since.seconds > _FORGIVEN_S else count
            self._mistakes[address] = Stopwatch(), count + 1
            while len(self._mistakes) > _MOST_ADDRESSES:
                del self._mistakes[next(iter(self._mistakes))]
        return float(min(_FIRST_WAIT_S * 2.0 ** min(count, _DOUBLED), _LONGEST_WAIT_S))

    def enter(self, client: str) -> None:
        """Let a session of a client in. Errors: RefusedError when there is no room; then it must not leave()."""
        with self._lock:
            if self._sessions.total() >= self.most:
                raise RefusedError(f"server full: all {self.most} sessions are taken, try again later")
            if self._sessions[client] >= self.per_client:
                raise RefusedError(f"server full for you: you have {self.per_client} sessions already, close one first")
            self._sessions[client] += 1

    def leave(self, client: str) -> None:
        """A session that was let in is over."""
        with self._lock:
            self._sessions[client] -= 1
            if not self._sessions[client]:
                del self._sessions[client]
