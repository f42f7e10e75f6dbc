"""Planes and actions against the slow, independent ones of slow_encoding.py."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from .agreement import GAME, START, Match, random_positions
from .slow_encoding import action, move_of, planes

CHANNELS = 362


def sfens(match: Match) -> list[str]:
    return [f"{place} 1" for place in match.places]


def slow(match: Match) -> NDArray[np.uint8]:
    return planes(sfens(match), int(match.line[-1]["ply"]))


def encoded(match: Match, history: int = 0) -> NDArray[np.uint8]:
    """Our planes of the match's position, u1[362, 9, 9]; the array is dirty before."""
    out = np.full((1, *GAME.planes), 7, np.uint8)
    GAME.encode(match.line, np.array([len(match.line) - 1]), np.array([0]), out, history)
    return out.reshape(GAME.planes)


def our_actions(match: Match) -> dict[str, int]:
    """{move: action} of all legal moves."""
    moves = GAME.legal_moves(match.line[-1])
    out = np.full((1, len(moves)), -1, np.int32)
    GAME.actions(match.line, np.array([len(match.line) - 1]), moves[None], out)
    names = [GAME.format_move(match.line[-1], move) for move in moves.tolist()]
    return dict(zip(names, out[0].tolist(), strict=True))


def play(match: Match, text: str) -> None:
    match.push(match.board.move_from_usi(text))


def test_constants() -> None:
    assert GAME.planes == (CHANNELS, 9, 9)
    assert GAME.num_actions == 9 * 9 * 139
    assert GAME.encoder.plane_scale.shape == (CHANNELS,)
    assert GAME.encoder.plane_scale.dtype == np.float32
    most = np.ones(CHANNELS)  # the greatest value in each plane
    for t in range(8):
        most[45 * t + 31 : 45 * t + 45] = [18, 4, 4, 4, 2, 2, 4] * 2
    most[361] = 256
    assert (GAME.encoder.plane_scale[most == 1] == 1).all()
    assert np.allclose((GAME.encoder.plane_scale * most)[most > 1], 2)


def test_planes_of_random_games() -> None:
    hands = 0
    for match in itertools.islice(random_positions(random.Random(31), 60), 0, 2400, 4):
        ours, theirs = encoded(match), slow(match)
        wrong = sorted(set(np.nonzero(ours != theirs)[0].tolist()))
        assert wrong == [], f"planes {wrong} of {match.board.sfen()}"
        hands += int(ours[31:45].max()) > 1
    assert hands > 50


def test_repetition_planes() -> None:
    match = Match(START)
    seen = []
    for text in "2h3h 8b7b 3h2h 7b8b".split() * 4:
        play(match, text)
        assert (encoded(match) == slow(match)).all()
        seen.append(tuple(int(plane.max()) for plane in encoded(match)[28:31]))
    assert set(seen) == {(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)}


def test_plies_saturate() -> None:
    match = Match(START[:-1] + "254")
    for text in ("7g7f", "3c3d", "2g2f", "8c8d"):
        play(match, text)
        assert (encoded(match) == slow(match)).all()
    assert (encoded(match)[361] == 255).all()


@pytest.mark.parametrize("history", [1, 2, 5, 8])
def test_shorter_history(history: int) -> None:
    """A net may be shown fewer positions; the planes of the older ones are zero."""
    for match in itertools.islice(random_positions(random.Random(13), 20), 60):
        expected = slow(match)
        expected[45 * history : 360] = 0
        assert (encoded(match, history) == expected).all()


def test_actions_of_random_games() -> None:
    kinds: set[int] = set()
    for match in itertools.islice(random_positions(random.Random(32)), 0, 4000, 4):
        ours, white = our_actions(match), bool(match.board.turn)
        assert ours == {text: action(text, white) for text in ours}, match.board.sfen()
        assert len(set(ours.values())) == len(ours)
        assert all(move_of(index, white) == text for text, index in ours.items())
        kinds |= {index // 81 for index in ours.values()}
    assert len(kinds) >= 110  # of the 139 planes; the longest moves are rare


@pytest.mark.parametrize(
    ("moves", "plane", "square"),
    [
        # Table S2, by hand; the square is 9 * (file - 1) + rank as the mover sees it
        ("7g7f", 0, 9 * 6 + 6),
        ("7g7f 3c3d", 0, 9 * 6 + 6),
        ("7g7f 3c3d 8h2b+", 66 + 8 * 1 + 5, 9 * 7 + 7),
        ("7g7f 3c3d 8h2b", 8 * 1 + 5, 9 * 7 + 7),
        ("7g7f 3c3d 8h2b+ 3a2b", 8 * 7 + 0, 9 * 6 + 8),
        ("7g7f 3c3d 8h2b+ 3a2b B*5e", 136, 9 * 4 + 4),
        ("7g7f 3c3d 8h2b+ 3a2b 8i7g B*2d", 136, 9 * 7 + 5),
        ("7g7f 3c3d 8h2b+ 3a2b 8i7g", 64, 9 * 7 + 8),
        ("7g7f 3c3d 2i1g", None, None),
        ("3g3f 3c3d 2i3g", 65, 9 * 1 + 8),
        ("2h1h", 8 * 2 + 0, 9 * 1 + 7),
        ("2h3h", 8 * 6 + 0, 9 * 1 + 7),
    ],
)
def test_actions_by_hand(moves: str, plane: int | None, square: int | None) -> None:
    match = Match(START)
    *before, last = moves.split()
    for text in before:
        play(match, text)
    if plane is None or square is None:
        assert last not in our_actions(match)
    else:
        assert our_actions(match)[last] == 81 * plane + square
