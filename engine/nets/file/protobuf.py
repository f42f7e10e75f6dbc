"""Reads protobuf messages with bounds and writes them, without a library."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types


class Damaged(Exception):
    """The bytes are not valid protobuf."""


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def read_wire(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """(field number, wire type, value) of a message: an int for varints, bytes for the rest. Errors: Damaged."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Damaged
        if wire == VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        if wire == BYTES:
            size, at = _varint(data, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            raise Damaged
        if at + size > end:
            raise Damaged
        yield number, wire, data[at : at + size]
        at += size


def read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(field number, value) of a message, see :func:`read_wire`. Errors: Damaged."""
    return ((number, value) for number, _, value in read_wire(data))


def read_messages(data: memoryview, number: int) -> Iterator[memoryview]:
    """The values of a field that holds bytes, one after the other. Errors: Damaged."""
    for n, value in read_fields(data):
        if n == number:
            if isinstance(value, int):
                raise Damaged
            yield value


def read_text(data: memoryview, number: int) -> bytes:
    """The first value of a field of bytes, cut off at 1,000; empty when there is none. Errors: Damaged."""
    return next((bytes(m[:1000]) for m in read_messages(data, number)), b"")


def read_number(data: memoryview, number: int) -> int:
    """The first value of a varint field; 0 when there is none. Errors: Damaged."""
    return next((v for n, v in read_fields(data) if n == number and isinstance(v, int)), 0)


def write_varint(value: int) -> bytes:
    """A number, negative ones as 64-bit two's complement."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_field(number: int, value: float | str | bytes) -> bytes:
    """One field: an int as varint, a float as float32, the rest as bytes."""
    if isinstance(value, int):
        return write_varint(number << 3 | VARINT) + write_varint(value)
    if isinstance(value, float):
        return write_varint(number << 3 | FIXED32) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return write_varint(number << 3 | BYTES) + write_varint(len(content)) + content
