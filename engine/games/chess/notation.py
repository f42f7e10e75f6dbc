"""FEN (X-FEN and Shredder-FEN castling letters) and UCI moves, in and out.

A FEN with a clear meaning is repaired (unusable castling rights and en-passant squares are dropped, with a note); any
other is refused.
"""

from __future__ import annotations

import re

import numpy as np

from ...errors import IllegalMoveError, PositionError, quoted
from ...records.record import Record
from ..position_lines import completed
from .rules import settle_all
from .state import BLACK, KING, NO_SQUARE, PAWN, PIECES, STATE, WHITE, State, square_name

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
_LETTERS = "PNBRQKpnbrqk"
_USUAL = (8, 2, 2, 2, 1, 1)
_SIDES = ("white", "black")
_FIELDS = {
    "castling rights": "-",
    "en-passant square": "-",
    "half-move clock": "0",
    "move number": "1",
}  # may be missing


def parse_fen(text: str, *, chess960: bool = False) -> tuple[State, list[str]]:
    """State[1] of a FEN with two to six fields, and notes on what was added to it and dropped from it.

    Errors: PositionError.
    """
    fields, added = completed(text, "FEN", _FIELDS)
    line = np.zeros(1, STATE)
    state = line[0]
    pieces = _parse_board(fields[0])
    _check_material(pieces)
    for index, letter in pieces.items():
        piece = _LETTERS.index(letter)
        state[PIECES[piece % 6]] |= np.uint64(1 << index)
        state["white" if piece < 6 else "black"] |= np.uint64(1 << index)
    if fields[1] not in ("w", "b"):
        raise PositionError(f"the side to move must be w or b, not {quoted(fields[1])}")
    state["turn"] = WHITE if fields[1] == "w" else BLACK
    notes = added + _set_castling(state, pieces, fields[2], chess960)
    notes += _set_en_passant(state, pieces, fields[3])
    plies = _parse_count(fields, 4, "half-move clock", 0)
    number = _parse_count(fields, 5, "move number", 1)
    state["rule50"] = plies
    state["ply"] = min(2 * max(number - 1, 0) + int(state["turn"]), 65535)
    named = int(state["ep"])
    state["ep_claim"] = 0 if named == NO_SQUARE else 1 + (named & 7)
    enemy_check = settle_all(line)[1]
    if named != NO_SQUARE and state["ep"] == NO_SQUARE:
        notes.append(f"en-passant square {square_name(named)} dropped: no pawn can take there")
    if enemy_check:
        raise PositionError(f"{_SIDES[1 - int(state['turn'])]} is in check but {_SIDES[int(state['turn'])]} is to move")
    return line, notes


def fen_of_epd(text: str) -> str:
    """The FEN of an EPD line, which has operations in place of the two counts; a FEN stays as it is."""
    words = text.split()
    if len(words) < 4 or (len(words) == 6 and all(word.isdecimal() for word in words[4:])):
        return text
    return " ".join((*words[:4], "0", "1"))


def is_chess960(record: Record) -> bool:
    """Whether a recorded game says that it is of Chess960, or begins with rights to castle that only that has."""
    variant = re.sub("[ -]", "", record.headers.get("Variant", "").lower())
    if variant in ("chess960", "fischerandom", "fischerrandom", "960"):
        return True
    if record.tree.position is None:
        return False
    usual, free = (parse_fen(record.tree.position, chess960=chess960)[0] for chess960 in (False, True))
    return bool(usual[0]["castling"] != free[0]["castling"])


def _parse_board(text: str) -> dict[int, str]:
    """{square: letter} of a FEN's first field."""
    ranks = text.split("/")
    if len(ranks) != 8:
        raise PositionError(f"a FEN's board has 8 ranks, this one has {len(ranks)}: {quoted(text)}")
    pieces: dict[int, str] = {}
    for row, rank in enumerate(ranks):
        odd = re.search(f"[^{_LETTERS}1-8]", rank)
        if odd:
            raise PositionError(f"{quoted(odd[0])} in the FEN's board is neither a piece nor a digit 1 to 8")
        cells = re.sub("[1-8]", lambda empty: "." * int(empty[0]), rank)
        if len(cells) != 8:
            raise PositionError(f"rank {8 - row} of the FEN has {len(cells)} squares instead of 8: {quoted(rank)}")
        pieces |= {8 * (7 - row) + file: letter for file, letter in enumerate(cells) if letter != "."}
    return pieces


def _check_material(pieces: dict[int, str]) -> None:
    for side, letters in ((0, _LETTERS[:6]), (1, _LETTERS[6:])):
        counts = [sum(letter == x for x in pieces.values()) for letter in letters]
        if counts[KING] != 1:
            raise PositionError(f"{_SIDES[side]} has {counts[KING]} kings instead of one")
        if counts[PAWN] > 8:
            raise PositionError(f"{_SIDES[side]} has {counts[PAWN]} pawns, more than eight")
        promoted = sum(max(0, n - usual) for n, usual in zip(counts[1:], _USUAL[1:], strict=True))
        if promoted > 8 - counts[PAWN]:
            raise PositionError(f"{_SIDES[side]} has more pieces than eight pawns can have become")
    for square, letter in pieces.items():
        if letter in "Pp" and not 8 <= square < 56:
            raise PositionError(f"there is a pawn on {square_name(square)}, where no pawn can stand")


def _set_castling(state: State, pieces: dict[int, str], text: str, chess960: bool) -> list[str]:
    if text == "-":
        return []
    if not re.fullmatch("[KQkqA-Ha-h]{1,8}", text):
        raise PositionError(f"castling rights must be - or letters out of KQkq or a rook's file, not {quoted(text)}")
    notes = []
    for letter in text:
        rank, king, rook = (0, "K", "R") if letter.isupper() else (56, "k", "r")
        files = {s - rank: m for s, m in pieces.items() if s & 56 == rank}
        king_file = next((f for f, m in files.items() if m == king), None)
        rook_files = sorted(f for f, m in files.items() if m == rook)
        requested = None
        if king_file is not None and letter in "Kk":
            requested = max((f for f in rook_files if f > king_file), default=None)
        elif king_file is not None and letter in "Qq":
            requested = min((f for f in rook_files if f < king_file), default=None)
        elif king_file is not None and "abcdefgh".index(letter.lower()) in rook_files:
            requested = "abcdefgh".index(letter.lower())
        if requested is None or king_file is None:
            notes.append(f"castling right {letter} dropped: king and rook are not in place")
        elif _taken(int(state["castling"]) >> rank & 0xFF, king_file, requested):
            notes.append(f"castling right {letter} dropped: another rook on that side has it")
        elif not chess960 and (king_file != 4 or requested not in (0, 7)):
            notes.append(f"castling right {letter} dropped: it needs UCI_Chess960")
        else:
            state["castling"] |= np.uint64(1 << (rank + requested))
    return notes


def _taken(rights: int, king_file: int, rook_file: int) -> bool:
    """Whether another rook on the same side of the king already has the right to castle."""
    same_side = [f for f in range(8) if (f > king_file) == (rook_file > king_file) and f != rook_file]
    return any(rights >> f & 1 for f in same_side)


def _set_en_passant(state: State, pieces: dict[int, str], text: str) -> list[str]:
    state["ep"] = NO_SQUARE
    if text == "-":
        return []
    if not re.fullmatch("[a-h][1-8]", text):
        raise PositionError(f"the en-passant field must be - or a square, not {quoted(text)}")
    square = "abcdefgh".index(text[0]) + 8 * (int(text[1]) - 1)
    up, rank, pawn = (8, 5, "p") if state["turn"] == WHITE else (-8, 2, "P")
    behind_is_free = square not in pieces and square + up not in pieces if square >> 3 == rank else False
    if not behind_is_free or pieces.get(square - up) != pawn:
        return [f"en-passant square {text} dropped: no pawn has just passed it"]
    state["ep"] = square
    return []


def _parse_count(fields: list[str], index: int, what: str, default: int) -> int:
    if fields[index] == "-":
        return default
    if not re.fullmatch("[0-9]+", fields[index], re.ASCII):
        raise PositionError(f"the FEN's {what} must be a number from 0 on, not {quoted(fields[index])}")
    return min(int(fields[index][:9]), 65535)


def format_fen(state: State) -> str:
    """The FEN of one State[]; the en-passant square only where taking is legal, X-FEN castling letters."""
    pieces, rows = _letters(state), []
    for rank in range(7, -1, -1):
        row = "".join(pieces[8 * rank : 8 * rank + 8])
        rows.append(re.sub(r"\.+", lambda empty: str(len(empty[0])), row))
    turn = int(state["turn"])
    ep = "-" if state["ep"] == NO_SQUARE else square_name(int(state["ep"]))
    number = int(state["ply"]) // 2 + 1
    return f"{'/'.join(rows)} {'wb'[turn]} {_format_castling(state)} {ep} {int(state['rule50'])} {number}"


def _letters(state: State) -> list[str]:
    """The letter of the piece on each square, "." where there is none."""
    letters, white = ["."] * 64, int(state["white"])
    for piece, name in enumerate(PIECES):
        left = int(state[name])
        while left:
            square = (left & -left).bit_length() - 1
            letters[square] = _LETTERS[piece if white >> square & 1 else piece + 6]
            left &= left - 1
    return letters


def _format_castling(state: State) -> str:
    text = ""
    for side, rank in (("white", 0), ("black", 56)):
        pieces = int(state[side])
        king = (int(state["kings"]) & pieces).bit_length() - 1
        rooks = [s for s in range(rank, rank + 8) if (int(state["rooks"]) & pieces) >> s & 1]
        rights = [s for s in rooks if int(state["castling"]) >> s & 1]
        for square in sorted(rights, reverse=True):
            outermost = square == (max(rooks) if square > king else min(rooks))
            letter = ("K" if square > king else "Q") if outermost else "ABCDEFGH"[square & 7]
            text += letter if rank == 0 else letter.lower()
    return text or "-"


_SQUARES = tuple(square_name(square) for square in range(64))
_PROMOTIONS = "", "n", "b", "r", "q"


def is_castling(state: State, move: int) -> bool:
    """Whether a legal move is castling (the king taking its own rook)."""
    ours = int(state["white" if state["turn"] == WHITE else "black"])
    return bool(ours >> (move >> 6 & 63) & 1)


def format_plain(move: int) -> str:
    """A move that is no castling in UCI notation."""
    return _SQUARES[move & 63] + _SQUARES[move >> 6 & 63] + _PROMOTIONS[move >> 12]


def format_uci(state: State, move: int, *, chess960: bool = False) -> str:
    """A legal move in UCI notation; castling as e1g1, or as e1h1 in Chess960."""
    if chess960 or not is_castling(state, move):
        return format_plain(move)
    source, target = move & 63, move >> 6 & 63
    return _SQUARES[source] + _SQUARES[(source & 56) + (6 if target > source else 2)]


def parse_uci(state: State, text: str, moves: list[int]) -> int:
    """The one of the legal moves that UCI notation names, castling in either form, a promotion in either case.

    Errors: IllegalMoveError.
    """
    if re.fullmatch("[a-h][1-8][a-h][1-8][NBRQ]", text):
        text = text.lower()
    for castling_form in (True, False):  # king takes rook first: in Chess960 it has no other meaning
        for move in moves:
            if format_uci(state, move, chess960=castling_form) == text and (
                castling_form or not is_castling(state, move) or abs((move & 7) - "abcdefgh".index(text[2])) == 2
            ):
                return move
    if not re.fullmatch("[a-h][1-8][a-h][1-8][nbrq]?", text):
        raise IllegalMoveError(f"{quoted(text)} is not a move in UCI notation such as e2e4 or e7e8q")
    promotes = any(m >> 12 and format_uci(state, m)[:4] == text for m in moves)
    hint = "; a promotion needs its piece, e.g. q" if promotes else ""
    raise IllegalMoveError(f"{text} is not legal in {format_fen(state)}{hint}")
