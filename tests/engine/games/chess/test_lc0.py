"""Lc0's planes and move indices against vectors computed by Lc0's own library (0.32): data/lc0_vectors.npz.

Arrays, N positions: fen S[N], empty for the normal start; moves and legal S[N], in UCI, castling as the king's way to
its rook; mask u8[N, 112] and val u1[N, 112]: a plane is val on the squares of mask; index u2[K], of all legal moves in
turn. The rest is what nets said of them, see tests/models/test_lc0_net.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State

LC0 = get_game("chess").using("lc0")
DATA = np.load(Path(__file__).parents[3] / "data" / "lc0_vectors.npz", allow_pickle=False)


def lines() -> list[State]:
    """The games up to the positions of the vectors."""
    found = []
    for fen, moves in zip(DATA["fen"], DATA["moves"], strict=True):
        line = LC0.parse_position(fen.decode())[0] if fen else LC0.initial()
        for move in moves.decode().split():
            line = LC0.play(line, LC0.parse_move(line, move))
        found.append(line)
    return found


def test_planes() -> None:
    for line, mask, val in zip(lines(), DATA["mask"], DATA["val"], strict=True):
        planes = np.full((1, *LC0.planes), 7, np.uint8)
        LC0.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes)
        squares = (mask[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        assert (planes.reshape(112, 64) == squares * val[:, None]).all()


def test_a_search_sees_repetitions_that_its_window_does_not_reach() -> None:
    line = LC0.initial()
    for move in "g1f3 g8f6 b1c3 b8c6 f3g1 f6g8 c3b1 c6b8 g1f3 e7e5 d2d3 d7d6".split():
        line = LC0.play(line, LC0.parse_move(line, move))
    window = LC0.window(line)
    assert len(window) == 8
    whole, seen = (np.empty((1, *LC0.planes), np.uint8) for _ in range(2))
    for states, planes in ((line, whole), (window, seen)):
        LC0.encode(states, np.array([len(states) - 1]), np.zeros(1, np.int64), planes)
    assert (whole == seen).all()
    assert [int(whole[0, 13 * i + 12].max()) for i in range(8)] == [0, 0, 0, 1, 1, 0, 0, 0]


def test_indices() -> None:
    index = iter(DATA["index"].tolist())
    for line, words in zip(lines(), DATA["legal"], strict=True):
        expected = {text: next(index) for text in words.decode().split()}
        legal = LC0.legal_moves(line)
        actions = np.empty((1, len(legal)), np.int32)
        LC0.actions(line, np.array([len(line) - 1]), legal[None], actions)
        found = dict(zip(legal.tolist(), actions[0].tolist(), strict=True))
        assert {LC0.parse_move(line, text): action for text, action in expected.items()} == found
    assert next(index, None) is None
