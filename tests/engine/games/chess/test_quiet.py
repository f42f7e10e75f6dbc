"""Quiescence: against a search without cuts, with material for an evaluation."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.chess.exchanges import LOSES, exchange
from az_engine.engine.games.chess.quiet import QUIESCENCE
from az_engine.engine.games.tactics.quiescence import DEPTH, MATED
from az_engine.engine.kernels.jit import device, kernel

CHESS = get_game("chess")
VALUES = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0}


@device
def _count(bits):  # type: ignore[no-untyped-def]
    n = 0
    while bits:
        bits &= bits - np.uint64(1)
        n += 1
    return n


@device
def _material(net, s, space):  # type: ignore[no-untyped-def]
    own, enemy = (s.white, s.black) if s.turn == 0 else (s.black, s.white)
    total = 0
    for value, men in ((1, s.pawns), (3, s.knights), (3, s.bishops), (5, s.rooks), (9, s.queens)):
        total += value * (_count(men & own) - _count(men & enemy))
    return 10 * total + _count(own & s.pawns & np.uint64(0x0000001818000000))


_quiet: Any = QUIESCENCE.make(_material)


@kernel
def quiet_of(states, line, frames, moves, out):  # type: ignore[no-untyped-def]
    for i in range(states.shape[0]):
        line[0] = states[i]
        out[i] = _quiet(None, line, frames, moves, None)


@kernel
def exchange_of(states, move):  # type: ignore[no-untyped-def]
    return exchange(states[0], move)


def quiet(states: np.ndarray) -> list[int]:
    out = np.zeros(len(states), np.int64)
    line, moves = np.zeros(DEPTH + 1, CHESS.state_dtype), np.zeros((1, CHESS.max_moves), np.uint16)
    quiet_of(states, line, np.zeros(DEPTH + 1, QUIESCENCE.frame), moves, out)
    result: list[int] = out.tolist()
    return result


def material(board: chess.Board) -> int:
    total = sum(VALUES[p.piece_type] * (1 if p.color == board.turn else -1) for p in board.piece_map().values())
    centre = [chess.D4, chess.E4, chess.D5, chess.E5]
    return 10 * total + sum(board.piece_at(sq) == chess.Piece(chess.PAWN, board.turn) for sq in centre)


def slow(board: chess.Board, ply: int = 0) -> int:
    """Every line of captures to its end, without a bound."""
    if not any(board.legal_moves):
        return MATED + ply if board.is_check() else 0
    if ply == DEPTH:
        return material(board)
    best = 2 * MATED if board.is_check() else material(board)
    line = CHESS.parse_position(board.fen(en_passant="fen"))[0]
    for move in board.legal_moves:
        if not board.is_check():
            if not (board.is_capture(move) or move.promotion == chess.QUEEN):
                continue
            if exchange_of(line, CHESS.parse_move(line, move.uci())) == LOSES:
                continue
        board.push(move)
        best = max(best, -slow(board, ply + 1))
        board.pop()
    return best


@pytest.mark.parametrize("seed", range(2))
def test_as_a_search_without_cuts(seed: int) -> None:
    chance, boards = random.Random(seed), list[chess.Board]()
    while len(boards) < 25:
        board = chess.Board()
        for _ in range(chance.randrange(8, 90)):
            if board.is_game_over():
                break
            captures = [move for move in board.legal_moves if board.is_capture(move)]
            quiet_moves = list(board.legal_moves)
            board.push(chance.choice(captures if captures and chance.random() < 0.4 else quiet_moves))
        if sum(board.is_capture(move) for move in board.legal_moves) < 7:
            boards.append(board)
    boards.append(chess.Board("6k1/P4ppp/8/8/8/8/5PPP/6K1 w - - 0 1"))  # promotes
    boards.append(chess.Board("4k3/8/8/8/3pP3/8/8/4K2R b K e3 0 1"))  # takes in passing
    boards.append(chess.Board("6k1/5ppp/8/8/8/8/5PPP/3r2K1 w - - 0 1"))  # mated
    boards.append(chess.Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"))  # stalemate
    states = np.concatenate([CHESS.parse_position(board.fen(en_passant="fen"))[0] for board in boards])
    assert quiet(states) == [slow(board) for board in boards]
