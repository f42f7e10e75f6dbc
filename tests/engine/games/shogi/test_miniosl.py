"""miniosl's planes and labels against vectors computed by miniosl 0.1.6: data/miniosl_planes.npz.

Arrays, N positions: position S[N], as "startpos moves ..." or "sfen ... moves ..."; planes u1[N, 176, 9, 9], 36 times
what miniosl's export_features gives; moves S[N], all legal moves in USI, blank between; labels u2[K], of all moves in
turn. Where the package itself is installed, games of random moves are compared, too.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State

SHOGI = get_game("shogi").using("miniosl")
DATA = np.load(Path(__file__).parents[3] / "data" / "miniosl_planes.npz", allow_pickle=False)


def line_of(text: str) -> State:
    """The game that a text tells."""
    start, _, moves = text.partition(" moves ")
    line = SHOGI.initial() if start == "startpos" else SHOGI.parse_position(start.removeprefix("sfen "))[0]
    for word in moves.split():
        line = SHOGI.play(line, SHOGI.parse_move(line, word))
    return line


def planes_of(line: State) -> NDArray[np.uint8]:
    planes = np.full((1, *SHOGI.planes), 7, np.uint8)
    SHOGI.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes)
    return np.asarray(planes[0])


def labels_of(line: State) -> dict[str, int]:
    legal = SHOGI.legal_moves(line)
    labels = np.empty((1, len(legal)), np.int32)
    SHOGI.actions(line, np.array([len(line) - 1]), legal[None], labels)
    return {SHOGI.format_move(line[-1], int(move)): int(label) for move, label in zip(legal, labels[0], strict=True)}


@pytest.mark.slow
def test_planes() -> None:
    assert SHOGI.planes == (176, 9, 9)
    assert DATA["planes"].any(axis=(0, 2, 3)).all(), "every plane is seen in use"
    for text, expected in zip(DATA["position"], DATA["planes"], strict=True):
        np.testing.assert_array_equal(planes_of(line_of(text.decode())), expected, text.decode())


def test_labels() -> None:
    labels = iter(DATA["labels"].tolist())
    for text, moves in zip(DATA["position"], DATA["moves"], strict=True):
        assert labels_of(line_of(text.decode())) == {move: next(labels) for move in moves.decode().split()}
    assert next(labels, None) is None


def test_leaves_say_the_same() -> None:
    """The search's kernel and the one for training; its key depends on the moves before."""
    line = line_of(max(DATA["position"].tolist(), key=len).decode())
    states, leaves = SHOGI.encoder.leaf_after(line)
    SHOGI.encoder.describe(states, leaves, 1, 8, 0)
    np.testing.assert_array_equal(leaves.planes.reshape(SHOGI.planes), planes_of(line))
    leaf = leaves.rows[0].copy()
    found = zip(leaves.moves[0, : leaf["count"]], leaves.actions[0], strict=False)
    assert {SHOGI.format_move(line[-1], int(move)): int(action) for move, action in found} == labels_of(line)
    states, leaves = SHOGI.encoder.leaf_after(line[-2:])
    SHOGI.encoder.describe(states, leaves, 1, 8, 0)
    assert leaves.rows[0]["key"] != leaf["key"], "the moves before are part of what is seen"


@pytest.mark.skipif(importlib.util.find_spec("minioslcc") is None, reason="miniosl is not installed")
def test_random_games_against_the_package() -> None:
    package, rng = importlib.import_module("minioslcc"), random.Random(11)
    for _ in range(8):
        line, words = SHOGI.initial(), ["startpos", "moves"]
        while len(words) < 120 and len(moves := SHOGI.legal_moves(line)):
            move = int(rng.choice(moves.tolist()))
            words.append(SHOGI.format_move(line[-1], move))
            line = SHOGI.play(line, move)
            if len(words) % 9 == 0:
                record = package.usi_record(" ".join(words))
                expected = np.rint(36 * record.initial_state.export_features(record.moves)).reshape(SHOGI.planes)
                np.testing.assert_array_equal(planes_of(line), expected, " ".join(words))
