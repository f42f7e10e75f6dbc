"""Moves as people write them: SAN, in and out."""

from __future__ import annotations

import chess

from ....errors import IllegalMoveError
from . import letters


def read_san(fen: str, text: str, chess960: bool) -> str:
    """A move that a person types as SAN (Nf3, nf3, 0-0, ♘f3), in UCI. Errors: IllegalMoveError, one sentence."""
    board = chess.Board(fen, chess960=True)
    shown = repr(text[:20])
    fault = f"{shown} is no move; write it as Nf3 or g1f3"
    plain = letters.in_english(text, None)
    for spelling in (plain, plain[:1].upper() + plain[1:].lower(), plain.upper()):  # nf3 may be a knight's
        try:
            move = board.parse_san(spelling)
            if move:  # no null move, --
                return board.uci(move, chess960=chess960)
        except chess.AmbiguousMoveError:
            raise IllegalMoveError(f"several pieces can play {shown}; say which, as in Nbd2 or b1d2") from None
        except chess.IllegalMoveError:
            fault = f"{shown} is not a legal move here"
        except ValueError:
            continue
    raise IllegalMoveError(fault)


def write_san(fen: str, uci: str) -> str:
    """A legal UCI move as SAN."""
    board = chess.Board(fen, chess960=True)
    return board.san(board.parse_uci(uci))
