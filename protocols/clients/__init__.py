"""External engines over UCI, USI and GTP, driven as players and teachers: one client a protocol, found by its name."""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.errors import OptionError
from .base import EngineClient
from .gtp import GtpClient
from .uci import UciClient
from .usi import UsiClient

UCI_LIKE: Mapping[str, type[UciClient]] = {"uci": UciClient, "usi": UsiClient}
CLIENTS: Mapping[str, type[EngineClient]] = {**UCI_LIKE, "gtp": GtpClient}


def client_of(protocol: str) -> type[EngineClient]:
    """The class that drives engines of a protocol. Errors: OptionError for a protocol without one."""
    if protocol not in CLIENTS:
        raise OptionError(f"engines are driven over {', '.join(CLIENTS)}, not over {protocol}")
    return CLIENTS[protocol]


def uci_client_of(protocol: str) -> type[UciClient]:
    """The same for what measures in the words of UCI and USI. Errors: OptionError for another protocol."""
    if protocol not in UCI_LIKE:
        raise OptionError(f"this is measured over {' and '.join(UCI_LIKE)}, not over {protocol}")
    return UCI_LIKE[protocol]
