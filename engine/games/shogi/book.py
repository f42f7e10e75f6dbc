"""Opening books of shogi: YaneuraOu's text (.db) and Apery's binary (.bin, dlshogi's too).

A YaneuraOu book has a line "sfen ..." for each position and below it one for each move: the move, the reply, the
evaluation in centipawns, the depth and how often it was played. An Apery book has 16 bytes a move, sorted by the
position's key.
"""

from __future__ import annotations

import mmap
import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ..book import Book, BookMove
from .notation import format_sfen, format_usi
from .rules import DROPS
from .state import HELD, SQUARES

State = NDArray[np.void]

_DB = b"#YANEURAOU-DB2016"
_BEST_WITHIN = 30  # centipawns that a move may be worse than the position's best, as YaneuraOu's BookEvalDiff
_MOST_BYTES, _MOST_MOVES = 1 << 16, 600  # of one position
ENTRY = np.dtype([("key", "<u8"), ("move", "<u2"), ("count", "<u2"), ("score", "<i4")])
_HAND_ORDER = (0, 1, 2, 3, 6, 4, 5)  # Apery's: pawn, lance, knight, silver, gold, bishop, rook


def open_book(path: Path) -> Book:
    """The book in a file. Errors: OSError; OptionError when it is none of the two kinds."""
    with path.open("rb") as file:
        head = file.read(len(_DB) + 3).removeprefix(b"\xef\xbb\xbf")
    if head.startswith(_DB):
        return YaneuraOuBook(path)
    size = path.stat().st_size
    if size == 0 or size % ENTRY.itemsize:
        raise OptionError(f"this is neither a YaneuraOu book ({_DB.decode()} in its first line) nor an Apery book")
    return AperyBook(path)


class YaneuraOuBook(Book):
    """A text book, searched where it lies; positions may also be stored as the other side sees them."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def find(self, state: State) -> list[BookMove]:
        board, side, hands, _ = format_sfen(state).split()
        results = self._moves(f"{board} {side} {hands}")
        if not results:
            reversed_board = re.sub(r"([A-Za-z])\+", r"+\1", board[::-1].swapcase())
            turned = f"{reversed_board} {'w' if side == 'b' else 'b'} {_turned_hands(hands)}"
            results = [(_turned_move(move), score, count) for move, score, count in self._moves(turned)]
        if not results:
            return []
        best = max(score for _, score, _ in results)
        return [BookMove(move, max(count, 1)) for move, score, count in results if score >= best - _BEST_WITHIN]

    def _moves(self, position: str) -> list[tuple[str, int, int]]:
        """(move, score, count) of a position without its ply."""
        key = f"\nsfen {position} ".encode()
        start = self._text.find(key)
        if start < 0:
            return []
        moves = []
        for line in self._text[start + 1 : start + _MOST_BYTES].decode("ascii", "replace").splitlines()[1:]:
            words = line.split()
            if not words or words[0] == "sfen":
                break
            if words[0].startswith(("#", "//")):
                continue
            numbers = [_number(word) for word in words[2:5]] + [0, 0, 0]
            moves.append((words[0], numbers[0], numbers[2]))
        return moves


class AperyBook(Book):
    """A binary book."""

    def __init__(self, path: Path) -> None:
        self._entries = np.memmap(path, ENTRY, "r")

    def find(self, state: State) -> list[BookMove]:
        key = apery_key(state)
        first, last = (int(np.searchsorted(self._entries["key"], np.uint64(key), side)) for side in ("left", "right"))
        moves = []
        for entry in self._entries[first : min(last, first + _MOST_MOVES)]:
            code = int(entry["move"])
            to, source = code & 127, code >> 7 & 127
            if to < SQUARES and source < DROPS + HELD:  # its moves are numbered as ours
                moves.append(BookMove(format_usi(code), int(entry["count"])))
        return moves


def apery_key(state: State) -> int:
    """The key of one State[] in Apery's books: its board, the mover's hand and the side to move."""
    pieces, hands, turn = _apery_keys()
    key, side = 0, int(state["turn"])
    for square, piece in enumerate(state["board"].tolist()):
        if piece:
            key ^= pieces[piece * SQUARES + square]
    for place, kind in enumerate(_HAND_ORDER):
        key ^= hands[place * 19 + int(state["hands"][side][kind])]
    return key ^ turn if side else key


@cache
def _apery_keys() -> tuple[list[int], list[int], int]:
    """Keys [31 pieces * 81 squares], [7 kinds * 19 numbers] and of white to move: the first numbers of mt19937_64."""
    numbers = _mt19937_64(31 * SQUARES + 7 * 19 + 1)
    return numbers[: 31 * SQUARES], numbers[31 * SQUARES : -1], numbers[-1]


def _mt19937_64(count: int, seed: int = 5489) -> list[int]:
    """The first numbers of C++'s std::mt19937_64."""
    all_bits = (1 << 64) - 1
    state = [seed]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & all_bits)
    for i in range(count):
        bits = state[i] & 0xFFFFFFFF80000000 | state[i + 1] & 0x7FFFFFFF
        state.append(state[i + 156] ^ bits >> 1 ^ (0xB5026F5AA96619E9 if bits & 1 else 0))
    return [_tempered(x) for x in state[312 : 312 + count]]


def _tempered(x: int) -> int:
    x ^= x >> 29 & 0x5555555555555555
    x ^= x << 17 & 0x71D67FFFEDA60000
    x ^= x << 37 & 0xFFF7EEE000000000
    return x ^ x >> 43


def _number(word: str) -> int:
    return int(word) if re.fullmatch("-?[0-9]{1,11}", word) else 0


def _turned_hands(hands: str) -> str:
    """Hands of the two sides exchanged; SFEN writes black's first."""
    split = next((i for i, c in enumerate(hands) if c.islower()), len(hands))
    while split < len(hands) and split and hands[split - 1].isdigit():
        split -= 1
    return (hands[split:] + hands[:split]).swapcase()


def _turned_move(move: str) -> str:
    """A USI move as the other side sees it."""
    exchange = str.maketrans("123456789abcdefghi", "987654321ihgfedcba")
    return move[:2] + move[2:].translate(exchange) if "*" in move else move.translate(exchange)
