"""dlshogi's planes and labels against vectors computed by cshogi 1.1.0: data/dlshogi_planes.npz.

Arrays, N positions: sfen S[N]; input1 u1[N, 628] and input2_119 u1[N, 15], packed bits of 62 * 81 squares and of 119
constant planes; moves S[N], all legal moves in USI, blank between; labels u2[K], of all moves in turn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.shogi import notation

SHOGI = get_game("shogi")
DATA = np.load(Path(__file__).parents[3] / "data" / "dlshogi_planes.npz", allow_pickle=False)


@pytest.fixture(autouse=True)
def any_number_of_men(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the positions have more pawns than a set; they fill the thermometers."""
    monkeypatch.setattr(notation, "_check_pieces", lambda *_, **__: None)


@pytest.mark.parametrize(("name", "constants"), [("dlshogi", 57), ("dlshogi-119", 119)])
def test_planes(name: str, constants: int) -> None:
    game = SHOGI.using(name)
    assert game.planes == (62 + constants, 9, 9)
    for sfen, input1, input2 in zip(DATA["sfen"], DATA["input1"], DATA["input2_119"], strict=True):
        line, _ = game.parse_position(sfen.decode())
        planes = np.full((1, *game.planes), 7, np.uint8)
        game.encode(line, np.zeros(1, np.int64), np.zeros(1, np.int64), planes)
        assert (planes[0, :62].ravel() == np.unpackbits(input1)[: 62 * 81]).all()
        assert (planes[0, 62:] == np.unpackbits(input2)[:constants, None, None]).all()


def test_labels() -> None:
    game = SHOGI.using("dlshogi")
    labels = iter(DATA["labels"].tolist())
    for sfen, moves in zip(DATA["sfen"], DATA["moves"], strict=True):
        line, _ = game.parse_position(sfen.decode())
        expected = {text: next(labels) for text in moves.decode().split()}
        legal = game.legal_moves(line)
        actions = np.empty((1, len(legal)), np.int32)
        game.actions(line, np.zeros(1, np.int64), legal[None], actions)
        texts = [game.format_move(line[-1], int(move)) for move in legal]
        assert dict(zip(texts, actions[0].tolist(), strict=True)) == expected
    assert next(labels, None) is None
