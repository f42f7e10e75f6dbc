"""The HTTP of lichess' external engines: registration at the site, work and answers at its broker.

What may pass by itself (a lost connection, 429, 5xx) is reported once and tried again; every other refusal is a
:class:`LichessError`, whose text never holds the token or the secret.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from typing import Self
from urllib.parse import quote, urlsplit

from ...engine.errors import AzError, OptionError
from ..lines import one_line
from ..serve.admission import loopback

CALL_S = 30.0  # for an answer of the site
POLL_S = 90.0  # for work: the broker keeps the question open, and says 204 long before
SEND_S = 10.0  # for the broker to take a line of the analysis
LIMITED_S = 60.0  # after 429, which is what lichess asks for
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0  # between trials, doubled each time
LEAST_POLL_S = 0.5  # a broker that answers "no work" sooner gets fewer requests
_LARGEST = 1 << 20  # bytes of an answer
_ENGINES = "/api/external-engine"
_WORK = f"{_ENGINES}/work"
_PASSING = (408, 425, 429)


class LichessError(AzError):
    """Lichess refuses the request, and will go on refusing it."""


class _PassingError(Exception):
    """It may work later."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class LichessApi:
    """One provider at one site."""

    def __init__(self, site: str, broker: str, token: str, secret: str, tell: Callable[[str], None]) -> None:
        """``secret``: of this provider, 16 characters or more. ``tell``: hears of each outage and its end, a sentence.

        Errors: OptionError for addresses that cannot be used.
        """
        self._site, self._broker = _Place(site), _Place(broker)
        self._token, self._secret, self._tell = token, secret, tell
        self.sleep: Callable[[float], None] = time.sleep

    def register(self, name: str, threads: int, hash_mb: int) -> None:
        """Enter the engine, or update the one that has its name. BLOCKS. Errors: LichessError."""
        entry = {
            "name": name,
            "maxThreads": threads,
            "maxHash": hash_mb,
            "variants": ["chess"],
            "providerSecret": self._secret,
        }
        known = self._known(name)
        if known is None:
            self._site_call("POST", _ENGINES, entry)
        else:
            self._site_call("PUT", f"{_ENGINES}/{known}", entry)

    def remove(self, name: str) -> bool:
        """Remove the engine of this name; False when there is none. BLOCKS. Errors: LichessError."""
        known = self._known(name)
        if known is not None:
            self._site_call("DELETE", f"{_ENGINES}/{known}")
        return known is not None

    def work(self) -> object | None:
        """What the site asks for next, as it came; None when it asks for nothing. BLOCKS, up to POLL_S.

        Errors: LichessError.
        """
        began = time.monotonic()
        body = {"providerSecret": self._secret}
        status, data = self._insist(self._broker, "POST", _WORK, body, POLL_S)
        if status != 204:
            return _decode(data) or {}
        if time.monotonic() - began < LEAST_POLL_S:
            self.pause()
        return None

    def pause(self) -> None:
        """Wait a moment before the next question. BLOCKS."""
        self.sleep(LEAST_POLL_S)

    def answer(self, work: str) -> AnswerStream:
        """The stream that takes the analysis of a piece of work. BLOCKS. Errors: OSError."""
        return AnswerStream(self._broker, f"{_WORK}/{work}")

    def _known(self, name: str) -> str | None:
        """The site's identifier of an engine."""
        engines = self._site_call("GET", _ENGINES)
        if not isinstance(engines, list):
            raise LichessError(f"{self._site} does not answer as lichess does: no list of engines came")
        for engine in engines:
            if isinstance(engine, dict) and engine.get("name") == name and isinstance(engine.get("id"), str):
                return quote(engine["id"], safe="")
        return None

    def _site_call(self, method: str, path: str, body: object = None) -> object:
        return _decode(self._insist(self._site, method, path, body, CALL_S, self._token)[1])

    def _insist(
        self, place: _Place, method: str, path: str, body: object, seconds: float, token: str = ""
    ) -> tuple[int, bytes]:
        """The answer; wait as long as what is wrong may pass. BLOCKS. Errors: LichessError."""
        wait, reported = FIRST_WAIT_S, False
        while True:
            try:
                answer = self._call(place, method, path, body, seconds, token)
            except _PassingError as error:
                if not reported:
                    self._tell(f"{place} cannot be used now ({error}); trying again until it can")
                reported = True
                self.sleep(max(wait, error.wait_s or 0.0))
                wait = min(2 * wait, LONGEST_WAIT_S)
                continue
            if reported:
                self._tell(f"{place} answers again")
            return answer

    def _call(
        self, place: _Place, method: str, path: str, body: object, seconds: float, token: str
    ) -> tuple[int, bytes]:
        """One request. Errors: LichessError; _PassingError."""
        headers = {"Accept": "application/json", "User-Agent": "az-engine"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        link = place.connect(seconds)
        try:
            with contextlib.closing(link):
                link.request(method, place.path + path, data, headers)
                response = link.getresponse()
                content = response.read(_LARGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(_reason(error)) from error
        if len(content) > _LARGEST:
            raise _PassingError("its answer has no end")
        status = response.status
        if status in _PASSING or status >= 500:
            after = response.getheader("Retry-After", "")
            least = LIMITED_S if status == 429 else 0.0
            raise _PassingError(f"status {status}", float(after) if after.isdecimal() and len(after) < 5 else least)
        if status in (401, 403):
            raise LichessError(
                f"{place} refuses the token (status {status}): make one that may read and write engines"
                if token
                else f"{place} refuses this provider (status {status}): start it anew"
            )
        if not 200 <= status < 300:
            raise LichessError(f"{place} refuses {method} {path} (status {status}): {self._error_text(content)}")
        return status, content

    def _error_text(self, content: bytes) -> str:
        """What a refusal says, for people, without what nobody may see."""
        text = content.decode("utf-8", "replace")
        for hidden in (self._token, self._secret):
            text = text.replace(hidden, "...") if hidden else text
        return one_line(text, 200) or "without a reason"


class AnswerStream:
    """The body of one POST, sent line by line; the broker ends it when nobody listens any more. Context manager."""

    def __init__(self, place: _Place, path: str) -> None:
        """Connect. BLOCKS. Errors: OSError."""
        self._link = place.connect(SEND_S)
        try:
            self._link.connect()
            self._link.putrequest("POST", place.path + path)
            for name, value in (("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")):
                self._link.putheader(name, value)
            self._link.endheaders()
        except OSError:
            self._link.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()

    @property
    def closed(self) -> bool:
        """Whether the broker has closed the connection or sent something before the end. Returns at once."""
        sock = self._link.sock
        if sock is None:
            return True
        sock.settimeout(0.0)
        try:
            sock.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True
        finally:
            sock.settimeout(SEND_S)
        return True

    def send(self, line: str) -> None:
        """Send a line. BLOCKS, up to SEND_S. Errors: OSError."""
        data = line.encode("utf-8", "replace") + b"\n"
        self._link.send(b"%x\r\n%b\r\n" % (len(data), data))

    def finish(self) -> None:
        """End the body and wait for the answer. BLOCKS. Errors: OSError, http.client.HTTPException."""
        self._link.send(b"0\r\n\r\n")
        self._link.getresponse().read(_LARGEST)


class _Place:
    """The address of a server: ``https://HOST[:PORT][/PATH]``."""

    def __init__(self, url: str) -> None:
        """Errors: OptionError."""
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            self._host, self._port = "", None
            parts = urlsplit("")
        self.path = parts.path.rstrip("/")
        self._secure = parts.scheme == "https"
        if not self._host or parts.scheme not in ("http", "https") or parts.query or parts.username is not None:
            raise OptionError(
                f"{one_line(url, 80)!r} is no address of a server: write https://HOST or https://HOST:PORT"
            )
        if not self._secure and not loopback(self._host):
            raise OptionError(f"{one_line(url, 80)} would send the token readable by all: write https://")

    def __str__(self) -> str:
        return self._host

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        """A connection that is not open yet, with a time limit for each of its steps."""
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=seconds)
        return http.client.HTTPConnection(self._host, self._port, timeout=seconds)


def _decode(data: bytes) -> object:
    """JSON, or None where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _reason(error: Exception) -> str:
    """Why no answer came."""
    if isinstance(error, socket.gaierror):
        return "its name is not known here"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.HTTPException):
        return "the connection broke" if isinstance(error, http.client.RemoteDisconnected) else "it speaks no HTTP"
    return getattr(error, "strerror", None) or one_line(str(error), 80)
