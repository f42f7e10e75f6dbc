"""Sets of 128 bits and copies of records inside kernels, against Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from az_engine.engine.kernels.bits import byte_swap, low_word, lowest_bit, popcount, u128
from az_engine.engine.kernels.jit import assign, kernel

ALL = (1 << 128) - 1
RECORD = np.dtype([("sets", "u8", (3, 2)), ("board", "u1", (9,)), ("turn", "u1")], align=True)


@kernel
def reckon(low, high, other_low, other_high, shift, out):  # type: ignore[no-untyped-def]
    x, y = u128(low, high), u128(other_low, other_high)
    z = x & y
    z |= x ^ y
    z -= y
    results = (x & y, x | y, x ^ y, x - y, ~x, x << shift, x >> shift, byte_swap(x), z)
    for i in range(len(results)):
        out[i, 0], out[i, 1] = low_word(results[i]), low_word(results[i] >> 64)
    members = 0
    rest = x
    while rest:
        members += lowest_bit(rest)
        rest &= rest - u128(np.uint64(1), np.uint64(0))
    return members, popcount(x), lowest_bit(x), x == y, x != y, bool(x)


numbers = st.integers(0, ALL) | st.integers(0, 127).map(lambda i: 1 << i) | st.just(0) | st.just(ALL)


@settings(deadline=None, max_examples=300)
@given(numbers, numbers, st.integers(0, 127))
def test_operators(x: int, y: int, shift: int) -> None:
    out = np.zeros((9, 2), np.uint64)
    x_low, x_high, y_low, y_high = (np.uint64(word) for word in (x & 2**64 - 1, x >> 64, y & 2**64 - 1, y >> 64))
    found = reckon(x_low, x_high, y_low, y_high, shift, out)
    lowest = (x & -x).bit_length() - 1 if x else 128
    members = sum(i for i in range(128) if x >> i & 1)
    assert found == (members, x.bit_count(), lowest, x == y, x != y, x != 0)
    swapped = int.from_bytes(x.to_bytes(16, "little"), "big")
    expected = [x & y, x | y, x ^ y, x - y, ~x, x << shift, x >> shift, swapped, (x | y) - y]
    assert [int(low) | int(high) << 64 for low, high in out] == [number & ALL for number in expected]


@kernel
def copy_first(records):  # type: ignore[no-untyped-def]
    assign(records[1], records[0])
    records[1].sets[2, 1] ^= np.uint64(5)


def test_assign_copies_a_whole_record_and_no_more() -> None:
    records = np.frombuffer(np.arange(3 * RECORD.itemsize, dtype=np.uint8).tobytes(), RECORD).copy()
    expected = records.copy()
    expected[1] = expected[0]
    expected[1]["sets"][2, 1] ^= np.uint64(5)
    copy_first(records)
    assert (records == expected).all()
