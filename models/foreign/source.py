"""What goes into a conversion beside the file's bytes, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...engine.nets.netinfo import NetInfo


@dataclass(frozen=True, slots=True)
class Source:
    """Where a net comes from."""

    name: str  # of the net: the file's name without its endings
    sha256: str  # of the file as it is

    def described(self, info: NetInfo) -> NetInfo:
        """The metadata with the net's name and origin."""
        return replace(info, name=self.name, trained_on=f"converted from the file with SHA-256 {self.sha256[:16]}")


@dataclass(frozen=True, slots=True)
class Converted:
    """A net as a family's module returns it."""

    model: bytes  # ONNX, with ``info`` as its metadata
    info: NetInfo
    facts: tuple[str, ...]  # what it is, a line each, for people
    keep_fp32: tuple[str, ...] = ()  # nodes that int8 does not suit, by name or, with a dot behind it, its beginning
    int8: tuple[str, ...] | None = None  # names of the only nodes that it does suit; None: all the others
    first: str = ""  # the first convolution, where int8 suits it, too
