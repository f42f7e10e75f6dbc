"""Who may come in over HTTP: the Host, the Origin and the token of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from .admission import Admission, RefusedError, WrongTokenError, loopback


class AccessError(RefusedError):
    """A request that is refused, with the status of its response."""

    def __init__(self, status: int, text: str, seconds: float = 0.0) -> None:
        """``seconds``: after which the answer comes."""
        super().__init__(text)
        self.status, self.seconds = status, seconds


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """Checks requests. A browser sends the Origin of the page that asks; other programs send none."""

    admission: Admission
    origins: tuple[str, ...] = ()  # of pages elsewhere that may ask: "https://example.org"
    local: bool = True  # only this machine's programs connect: by such a name of it, lest a page's own name leads here

    def pass_through(self, headers: Mapping[str, str], hosts: Sequence[str], address: str, token: str) -> str:
        """The identity of the client. ``hosts``: all Host headers; ``token``: of the URL. Errors: AccessError."""
        if len(hosts) != 1 or not _is_host(hosts[0]):
            raise AccessError(400, "send exactly one Host header")
        host = hosts[0].lower()
        if self.local and not loopback(urlsplit(f"//{host}").hostname or ""):
            raise AccessError(421, "this server answers to localhost only: start it with --host for other names")
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins and _host_of(origin) != host:
            raise AccessError(403, "this page's origin is not allowed: the server's --origin names others")
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            token = given.strip()
        try:
            return self.admission.identify(address, token)
        except WrongTokenError as error:
            raise AccessError(401, str(error), error.seconds) from None
        except RefusedError:
            raise AccessError(401, "this server asks for a token: Authorization: Bearer TOKEN") from None


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_host(host: str) -> bool:
    try:
        parts = urlsplit(f"//{host}")
        return bool(parts.hostname) and parts.netloc == host and "@" not in host and (parts.port or 1) > 0
    except ValueError:
        return False
