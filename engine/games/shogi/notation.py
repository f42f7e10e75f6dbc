"""SFEN and USI moves, in and out.

A SFEN is refused where no game can hold its position; the move number may be left out and pieces in hand come in any
order, with counts of one or two digits before their letters.
"""

from __future__ import annotations

import re

import numpy as np

from ...errors import IllegalMoveError, PositionError, quoted
from ..position_lines import completed
from .rules import DROPS, PROMOTES, settle_all
from .state import (
    BLACK,
    HELD,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    POINTS_27,
    PROMOTED,
    SQUARES,
    STATE,
    WHITE,
    State,
    square_name,
)

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
LETTERS = "PLNSBRGK"  # piece - 1; white's in lower case
_HAND_ORDER = "RBGSNLP"  # as SFEN writes hands
_TOTALS = {"P": 18, "L": 4, "N": 4, "S": 4, "B": 2, "R": 2, "G": 4}
_NAMES = ("pawn", "lance", "knight", "silver", "bishop", "rook", "gold", "king")
_SIDES = ("black", "white")
_FIELDS = {"pieces in hand": "-", "move number": "1"}  # may be missing


def parse_sfen(text: str, *, problem: bool = False) -> tuple[State, list[str]]:
    """State[1] of a SFEN (board, side to move, hands, number of the next move), and a note on what was added to it.

    problem: the board may have two pawns on a file, and pieces that can never move, as some problems of mate have. The
    27-point rule holds in it and no limit of plies. Errors: PositionError.
    """
    fields, notes = completed(text, "SFEN", _FIELDS)
    line = np.zeros(1, STATE)
    state = line[0]
    board, hands = _parse_board(fields[0]), _parse_hands(fields[2])
    _check_pieces(board, hands, problem=problem)
    state["board"], state["hands"] = board, hands
    if fields[1] not in ("b", "w"):
        raise PositionError(f"the side to move must be b or w, not {quoted(fields[1])}")
    state["turn"] = BLACK if fields[1] == "b" else WHITE
    number = fields[3]
    if not re.fullmatch("[0-9]+", number, re.ASCII):
        raise PositionError(f"the SFEN's move number must be a number from 1 on, not {quoted(number)}")
    state["ply"] = min(max(int(number[:9]) - 1, 0), 65535)
    state["declaration"] = POINTS_27
    if settle_all(line):
        raise PositionError(f"{_SIDES[1 - int(state['turn'])]} is in check but {_SIDES[int(state['turn'])]} is to move")
    side = int(state["turn"])
    if not state["hands"][side].any() and not any(piece and piece >> 4 == side for piece in state["board"].tolist()):
        notes.append(f"{_SIDES[side]} is to move and has no pieces")
    return line, notes


def _parse_board(text: str) -> list[int]:
    """The 81 pieces of a SFEN's first field, by square."""
    ranks = text.split("/")
    if len(ranks) != 9:
        raise PositionError(f"a SFEN's board has 9 ranks, this one has {len(ranks)}: {quoted(text)}")
    board = [0] * SQUARES
    for rank, row in enumerate(ranks):
        if not re.fullmatch(r"(?:[1-9]|\+?[PLNSBRGKplnsbrgk])*", row, re.ASCII):
            raise PositionError(f"rank {'abcdefghi'[rank]} of the SFEN holds something unknown: {quoted(row)}")
        file = 9  # of the next square
        for word in re.findall(r"[1-9]|\+?[A-Za-z]", row):
            if word.isdigit():
                file -= int(word)
                continue
            piece = LETTERS.index(word[-1].upper()) + 1
            if len(word) == 2:
                if word[-1] in "GKgk":
                    raise PositionError(f"{word} in the SFEN: a {_NAMES[piece - 1]} cannot be promoted")
                piece += PROMOTED
            if file > 0:
                board[9 * (file - 1) + rank] = piece if word[-1].isupper() else piece + 16
            file -= 1
        if file != 0:
            raise PositionError(
                f"rank {'abcdefghi'[rank]} of the SFEN has {9 - file} squares instead of 9: {quoted(row)}"
            )
    return board


def _parse_hands(text: str) -> list[list[int]]:
    """Numbers in hand [side][kind]."""
    hands = [[0] * HELD, [0] * HELD]
    if text == "-":
        return hands
    if not re.fullmatch("(?:(?:[1-9][0-9]?)?[PLNSBRGplnsbrg])+", text, re.ASCII):
        raise PositionError(
            f"pieces in hand must be - or letters out of RBGSNLP with counts before them, such as R2b18p, "
            f"not {quoted(text)}"
        )
    for count, letter in re.findall("([0-9]*)([A-Za-z])", text):
        hands[letter.islower()][LETTERS.index(letter.upper())] += int(count or 1)
    return hands


def _check_pieces(board: list[int], hands: list[list[int]], *, problem: bool) -> None:
    """Refuse too many pieces, a missing king, two pawns on a file, pieces that never move. Errors: PositionError."""
    for letter, total in _TOTALS.items():
        kind = LETTERS.index(letter)
        number = (
            sum((piece & 15) in (kind + 1, kind + 1 + PROMOTED) for piece in board) + hands[0][kind] + hands[1][kind]
        )
        if number > total:
            raise PositionError(f"there are {number} {_NAMES[kind]}s; a shogi set has {total}")
    for side, name in enumerate(_SIDES):
        kings = board.count(KING + 16 * side)
        if kings > 1 or (kings == 0 and KING + 16 * (1 - side) not in board):  # problems of mate lack the attacker's
            raise PositionError(f"{name} has {kings} kings instead of one")
        for file in range(9):
            if not problem and board[9 * file : 9 * file + 9].count(PAWN + 16 * side) > 1:
                raise PositionError(f"{name} has two unpromoted pawns on file {file + 1}")
        for square, piece in enumerate(() if problem else board):
            left = square % 9 if side == BLACK else 8 - square % 9  # ranks before it
            if (piece in (PAWN + 16 * side, LANCE + 16 * side) and left < 1) or (
                piece == KNIGHT + 16 * side and left < 2
            ):
                raise PositionError(
                    f"there is a {_NAMES[(piece & 15) - 1]} of {name} on {square_name(square)}, "
                    "where it could never move"
                )


def format_sfen(state: State) -> str:
    """The SFEN of one State[], with the number of the next move."""
    rows = []
    for rank in range(9):
        pieces = [int(state["board"][9 * file + rank]) for file in range(8, -1, -1)]
        row = "".join(_letter(piece) if piece else "." for piece in pieces)
        rows.append(re.sub(r"\.+", lambda empty: str(len(empty[0])), row))
    return f"{'/'.join(rows)} {'bw'[int(state['turn'])]} {_format_hands(state)} {int(state['ply']) + 1}"


def _letter(piece: int) -> str:
    kind = piece & 15
    text = LETTERS[kind - 1] if kind <= KING else "+" + LETTERS[kind - PROMOTED - 1]
    return text if piece < 16 else text.lower()


def _format_hands(state: State) -> str:
    text = ""
    for side in range(2):
        for letter in _HAND_ORDER:
            number = int(state["hands"][side][LETTERS.index(letter)])
            if number:
                text += (str(number) if number > 1 else "") + (letter.lower() if side else letter)
    return text or "-"


def format_usi(move: int) -> str:
    """A move in USI notation: 7g7f, 7g7f+ or P*5e."""
    to, source = move & 127, move >> 7 & 127
    if source >= DROPS:
        return f"{LETTERS[source - DROPS]}*{square_name(to)}"
    return square_name(source) + square_name(to) + ("+" if move & PROMOTES else "")


def parse_usi(state: State, text: str, legal: list[int]) -> int:
    """The one of the legal moves that USI notation names. Errors: IllegalMoveError."""
    if not re.fullmatch("[1-9][a-i][1-9][a-i][+]?|[PLNSBRG][*][1-9][a-i]", text, re.ASCII):
        raise IllegalMoveError(f"{quoted(text)} is not a move in USI notation such as 7g7f, 7g7f+ or P*5e")
    source = DROPS + LETTERS.index(text[0]) if text[1] == "*" else _square(text[:2])
    move = _square(text[2:4]) + (source << 7) + PROMOTES * text.endswith("+")
    if move not in legal:
        hint = "; the piece must promote there" if move + PROMOTES in legal else ""
        raise IllegalMoveError(f"{text} is not legal in {format_sfen(state)}{hint}")
    return move


def _square(text: str) -> int:
    return 9 * (int(text[0]) - 1) + "abcdefghi".index(text[1])
