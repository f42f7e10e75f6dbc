"""Nets of other programs: which family a file belongs to, and its conversion to an ONNX file of ours.

A family is a module with ``recognises(content)`` and ``convert(content, source)``, both of an unpacked file. None needs
the onnx package or torch, so that players can convert, too.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Protocol

from ...engine.errors import NetError
from ...engine.nets.file.netfile import MAX_BYTES, read_net_file
from ...engine.nets.file.protobuf import Damaged
from . import dlshogi, katago, lc0, miniosl
from .source import Converted, Source

GZIP = b"\x1f\x8b"
_PIECE = 1 << 20
_NAME_ENDINGS = (".gz", ".pb", ".onnx", ".bin", ".txt")


class Family(Protocol):
    """What a family's module offers."""

    def recognises(self, content: bytes) -> bool:
        """Whether an unpacked file is of this family, by its first bytes."""

    def convert(self, content: bytes, source: Source) -> Converted:
        """The net in an unpacked file. Errors: NetError, one sentence."""


_FAMILIES: tuple[Family, ...] = (lc0, dlshogi, miniosl, katago)


def convert_file(path: Path) -> Converted:
    """The net in a file. Errors: NetError, one sentence that names the file."""
    content = read_net_file(path)
    source = Source(_name(path), hashlib.sha256(content).hexdigest())
    try:
        if content.startswith(GZIP):
            content = unpack(content)
        for family in _FAMILIES:
            if family.recognises(content):
                return family.convert(content, source)
        raise NetError("this is no net of Lc0, dlshogi, miniosl or KataGo, nor one of az-engine")
    except MemoryError:
        raise NetError(f"{str(path)!r} asks for more memory than a net of its size needs") from None
    except Damaged:
        raise NetError(f"{str(path)!r} is damaged; download it again") from None
    except NetError as error:
        raise NetError(f"{str(path)!r}: {error}") from None


def unpack(content: bytes) -> bytes:
    """What a gzip file holds. Errors: NetError when it is damaged, cut off or unpacks to more than is read."""
    unpacker, pieces, size = zlib.decompressobj(31), [], 0
    try:
        for start in range(0, len(content), _PIECE):
            tail = content[start : start + _PIECE]
            while tail and not unpacker.eof:
                pieces.append(unpacker.decompress(tail, _PIECE))
                tail = unpacker.unconsumed_tail
                size += len(pieces[-1])
                if size > MAX_BYTES:
                    raise NetError(f"this gzip file unpacks to more than the {MAX_BYTES >> 20} MB that are read")
    except zlib.error:
        raise NetError("this gzip file is damaged; download it again") from None
    if not unpacker.eof:
        raise NetError("this gzip file is cut off; download it again")
    return b"".join(pieces)


def _name(path: Path) -> str:
    name = path.name
    while name.endswith(_NAME_ENDINGS):
        name = name[: name.rindex(".")]
    return name
