"""The rules against python-chess: random games, games that hypothesis makes up, and known endings."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.chess.rules import settle_all
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING

from ..agreement import TIMES, chance
from .agreement import GAME, Match, differences, internal, random_positions

ENDINGS = Path(__file__).parents[3] / "data" / "endings_chess.jsonl"


def test_random_games() -> None:
    keys: dict[int, object] = {}
    for match in itertools.islice(random_positions(chance(20)), 2000 * TIMES):
        assert differences(match, keys) == [], match.board.fen()


@settings(max_examples=60, deadline=None)
@given(start=st.none() | st.integers(0, 959), choices=st.lists(st.integers(0, 255), max_size=80))
def test_any_game(start: int | None, choices: list[int]) -> None:
    match = Match(chess.Board() if start is None else chess.Board.from_chess960_pos(start))
    keys: dict[int, object] = {}
    for choice in choices:
        moves = sorted(match.board.legal_moves, key=str)
        if not moves:
            break
        match.push(moves[choice % len(moves)])
        assert differences(match, keys) == []


@settings(max_examples=150, deadline=None)
@given(
    squares=st.lists(st.sampled_from(chess.SQUARES), min_size=2, max_size=14, unique=True),
    pieces=st.permutations("QRRBBNNPPPPPPPPqrrbbnnpppppppp"),
    turn=st.booleans(),
    clock=st.sampled_from([0, 7, 99, 100, 149]),
)
def test_any_men_on_the_board(squares: list[int], pieces: list[str], turn: bool, clock: int) -> None:
    board = chess.Board(None)
    for square, letter in zip(squares, ["K", "k", *pieces], strict=False):
        board.set_piece_at(square, chess.Piece.from_symbol(letter))
    board.turn, board.halfmove_clock = turn, clock
    if not board.is_valid():
        return
    assert differences(Match(board), {}) == []


@pytest.mark.slow
def test_all_chess960_starts() -> None:
    rng = random.Random(5)
    castled = 0
    keys: dict[int, object] = {}
    for number in range(960):
        match = Match(chess.Board.from_chess960_pos(number))
        assert match.notes == []
        assert differences(match, keys) == []
        for _ in range(12):
            moves = list(match.board.legal_moves)
            castling = [move for move in moves if match.board.is_castling(move)]
            if not moves:
                break
            castled += bool(castling)
            match.push(rng.choice(castling or moves))
        assert differences(match, keys) == [], match.board.fen()
    assert castled > 100  # else the test has lost its point


@pytest.mark.parametrize(
    ("root", "moves"),
    [
        # the same board with and without the right to castle, with and without a legal capture en passant
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1e2 e8e7 e2e1 e7e8"),
        ("4k3/8/8/8/4p3/8/3P4/4K3 w - - 0 1", "d2d4 e8d8 e1d1 d8e8 d1e1"),
        ("8/8/8/8/k2p3R/8/4P3/4K3 w - - 0 1", "e2e4 a4a3 e1f1 a3a4 f1e1"),
    ],
)
def test_keys_of_lookalikes(root: str, moves: str) -> None:
    match = Match(chess.Board(root))
    keys: dict[int, object] = {}
    positions = []
    for move in moves.split():
        match.push(chess.Move.from_uci(move))
        assert differences(match, keys) == []
        positions.append((int(match.line[-1]["key"]), match.board._transposition_key()))
    for (key, position), (other_key, other_position) in itertools.combinations(positions, 2):
        assert (key == other_key) == (position == other_position)


def endings() -> list[Any]:
    return [json.loads(line) for line in ENDINGS.read_text().splitlines()]


@pytest.mark.parametrize("sample", endings(), ids=lambda sample: sample["id"])
def test_endings(sample: dict[str, Any]) -> None:
    game = get_game("chess")
    fen = chess.STARTING_FEN if sample["fen"] == "startpos" else sample["fen"]
    line, notes = game.parse_position(fen)
    assert notes == []
    for text in sample["moves"]:
        line = game.play(line, game.parse_move(line[-1], text))
    expect = sample["expect"]
    state = line[-1]
    assert int(state["repetitions"]) == expect["repetition_count"] - 1
    assert int(state["rule50"]) == expect["halfmove_clock"]
    assert len(game.legal_moves(state)) == expect["legal_moves"]
    assert settle_all(state.reshape(1).copy())[0] == expect["in_check"]
    if expect["automatic"] and expect["automatic"]["termination"] == "checkmate":
        assert game.outcome(line) == LOSS
    elif expect["automatic"] or any(expect["claimable_now"].values()):
        assert game.outcome(line) == DRAW
    else:
        assert game.outcome(line) == RUNNING


def test_repetitions_of_games_end_to_end() -> None:
    """The kernel for training: several games in one array, each counted for itself."""
    there_and_back = "g1f3 g8f6 f3g1 f6g8".split()
    states: list[State] = []
    first: list[int] = []
    for moves in (there_and_back * 2, ["e2e4"], there_and_back):
        line = GAME.initial()
        for move in moves:
            line = GAME.play(line, GAME.parse_move(line[-1], move))
        first += [sum(len(line) for line in states)] * len(line)
        states.append(line)
    together = np.concatenate(states)
    expected = together["repetitions"].copy()
    together["repetitions"] = 77
    GAME.count_repetitions(together, np.array(first, np.int64))
    assert together["repetitions"].tolist() == expected.tolist()
    assert max(expected) == 2


def test_normalise_finishes_states_set_by_hand() -> None:
    for match in itertools.islice(random_positions(random.Random(3)), 400):
        state = match.line[-1:].copy()
        state["key"] = 0
        state["repetitions"] = 0
        if match.board.ep_square is not None:  # also where nobody can take
            state["ep"] = match.board.ep_square
        GAME.normalise(state)
        assert state["key"] == match.line[-1]["key"]
        assert state["ep"] == match.line[-1]["ep"]


def test_window_keeps_what_matters() -> None:
    """Outcome and planes of any continuation are the same from the window as from the whole game."""
    rng = random.Random(8)
    for match in itertools.islice(random_positions(rng), 0, 1500, 7):
        window = GAME.window(match.line)
        moves = list(match.board.legal_moves)
        if not moves:
            continue
        move = internal(match.board, rng.choice(moves))
        whole, part = GAME.play(match.line, move), GAME.play(window, move)
        assert whole[-1] == part[-1]
        planes = np.zeros((2, *GAME.planes), np.uint8)
        for out, line in zip(planes, (whole, part), strict=True):
            GAME.encode(line, np.array([len(line) - 1]), np.array([0]), out[None])
        assert (planes[0] == planes[1]).all()
