"""The rules against cshogi: random games, games that hypothesis makes up, and known endings."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shogi
from hypothesis import given, settings
from hypothesis import strategies as st

from az_engine.engine.errors import PositionError
from az_engine.engine.games.base import State
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.engine.games.shogi import EnteringKing
from az_engine.engine.games.shogi.notation import parse_sfen

from ..agreement import TIMES, chance
from .agreement import GAME, HANDICAPS, SHARP, START, Match, by_repetition, differences, random_positions

ENDINGS = Path(__file__).parents[3] / "data" / "endings_shogi.jsonl"


def played(sfen: str, moves: str) -> State:
    """The line after USI moves."""
    line, _ = GAME.parse_position(sfen)
    for text in moves.split():
        line = GAME.play(line, GAME.parse_move(line[-1], text))
    return line


def test_random_games() -> None:
    keys: dict[int, str] = {}
    seen: set[object] = set()
    for match in itertools.islice(random_positions(chance(21)), 3000 * TIMES):
        assert differences(match, keys) == [], match.board.sfen()
        seen |= {by_repetition(match), ("declared", bool(match.board.is_nyugyoku())), ("check", match.checks[-1])}
    assert seen >= {RUNNING, DRAW, WIN, LOSS, ("declared", True), ("check", True)}  # else the test has lost its point


@settings(max_examples=60, deadline=None)
@given(start=st.sampled_from([str(START), *HANDICAPS, *SHARP]), choices=st.lists(st.integers(0, 599), max_size=80))
def test_any_game(start: str, choices: list[int]) -> None:
    match = Match(start)
    keys: dict[int, str] = {}
    for choice in choices:
        moves = sorted(match.board.legal_moves)
        if not moves:
            break
        match.push(moves[choice % len(moves)])
        assert differences(match, keys) == []


PROBLEMS = (  # of mate, without the attacker's king
    "7nl/7k1/6p2/6S1p/9/9/9/9/9 b GS2r2b3g2s3n3l16p 1",
    "9/9/9/9/9/9/R1b6/9/1K7 w 2g2s 1",
    "l2g1g1nl/5sk2/3+Bps1p1/p5p1p/9/9/9/9/9 b RB2g2s3n2l12pr 1",
)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_positions_without_the_attackers_king(problem: str) -> None:
    source, keys = random.Random(9), dict[int, str]()
    for _ in range(20):
        match = Match(problem)
        for _ in range(40):
            assert differences(match, keys) == [], match.board.sfen()
            moves = sorted(match.board.legal_moves)
            if not moves:
                break
            match.push(source.choice(moves))


@pytest.mark.parametrize("rows", ["4k4/9/9/9/9/9/3P5/9/3PK4", "4k4/9/9/9/9/9/P8/9/P3K4"])
def test_two_pawns_on_a_file_of_a_record(rows: str) -> None:
    line = parse_sfen(f"{rows} b P 1", problem=True)[0]
    drops = {text for move in GAME.legal_moves(line) if "*" in (text := GAME.format_move(line[-1], int(move)))}
    assert drops == {move.usi() for move in shogi.Board(f"{rows} b P 1").legal_moves if "*" in move.usi()}


def endings() -> list[Any]:
    return [json.loads(line) for line in ENDINGS.read_text().splitlines()]


@pytest.mark.parametrize("sample", endings(), ids=lambda sample: sample["id"])
def test_endings(sample: dict[str, Any]) -> None:
    if sample["id"] == "shogi-nyugyoku-black-in-check":  # its three rooks cannot be: see the next test for its point
        with pytest.raises(PositionError, match="3 rooks"):
            GAME.parse_position(sample["sfen"])
        return
    line = played(sample["sfen"], " ".join(sample["moves"]))
    expect, state = sample["expect"], line[-1]
    assert bool(state["checked"]) == expect["in_check"]
    if "declaration_win_27_point" in expect:
        assert EnteringKing().possible(line) == expect["declaration_win_27_point"]
        return
    assert "bw"[int(state["turn"])] == expect["side_to_move"][0]
    assert len(GAME.legal_moves(state)) == expect["legal_moves"]
    assert int(state["repetitions"]) == expect["occurrences_of_final_position"] - 1
    if expect["ended"] is None:
        assert GAME.outcome(line) == RUNNING
    else:
        mine = f"{expect['side_to_move']}_wins"
        result = {"draw": DRAW, mine: WIN}.get(expect["ended"]["result"], LOSS)
        assert GAME.outcome(line) == result


@pytest.mark.parametrize(("rank", "declares"), [("4K1g2", True), ("4Kg3", False), ("9", False)])
def test_no_declaration_in_check_or_outside_the_camp(rank: str, declares: bool) -> None:
    rest = "9/9/9/9/9/4k4" if rank != "9" else "4K4/9/9/9/9/4k4"
    line, _ = GAME.parse_position(f"+P+P+P+P+P4/+P+P+P+P+P4/{rank}/{rest} b 2R2B 1")
    assert EnteringKing().possible(line) == declares


@pytest.mark.parametrize(
    ("black", "white", "rule", "declares"),
    [  # the figures of YaneuraOu's own test: with two pieces given 17 or 21 points for white, with four 15 or 19
        ("RB4G4S4N4LP", "7p", "27 handicap", True),
        ("RB4G4S4N4L2P", "6p", "27 handicap", False),
        ("RB4G4S4N4LP", "7p", "27", False),
        ("RB3G2S4N4L", "g2s8p", "24 handicap", True),
        ("RB3G2S4N4LP", "g2s7p", "24 handicap", False),
        ("RB4G4S4N2L3P", "5p", "27 handicap", True),
        ("RB4G4S4N2L4P", "4p", "27 handicap", False),
        ("RB4G3S4N2L", "s8p", "24 handicap", True),
        ("2R2B4G4S4N4LP", "7p", "27 handicap", False),  # nothing is missing
    ],
)
def test_the_points_of_a_handicap_count_for_white(black: str, white: str, rule: str, declares: bool) -> None:
    line, _ = GAME.parse_position(f"4K4/9/9/9/9/9/4k4/+p+p+p+p+p4/+p+p+p+p+p4 w {black}{white} 1")
    EnteringKing().set_rules(line, rule=rule)
    assert EnteringKing().possible(line) == declares


def test_black_gains_nothing_from_a_handicap() -> None:
    line, _ = GAME.parse_position("+P+P+P+P+P4/+P+P+P+P+P4/4K4/9/9/9/9/9/4k4 b RB7P4g4s4n4lp 1")
    EnteringKing().set_rules(line, rule="27 handicap")
    assert not EnteringKing().possible(line)


def test_a_try_wins() -> None:
    for sfen, step in (("9/4K4/9/9/9/9/k8/9/9 b - 1", "5b5a"), ("9/9/9/9/9/K8/9/5k3/9 w - 1", "4h5i")):
        line, _ = GAME.parse_position(sfen)
        move = GAME.parse_move(line[-1], step)
        assert leaf_outcome(line, [move]) == RUNNING
        EnteringKing().set_rules(line, rule="try")
        assert leaf_outcome(line, [move]) == GAME.outcome(GAME.play(line, move)) == LOSS
        assert leaf_outcome(GAME.play(line, move), []) == RUNNING  # at the root a move is asked for
        assert not EnteringKing().possible(line)
    assert GAME.outcome(GAME.initial()) == RUNNING


ROOK_AND_KING = "lnsg1gsnl/1r5b1/ppppppppp/4k4/9/5R3/PPPPPPPPP/1B7/LNSGKGSNL b - 1"


@pytest.mark.parametrize(
    ("sfen", "moves", "outcome"),
    [
        # black checks with every move: it has lost at the fourth occurrence, whoever is to move then
        (ROOK_AND_KING, "4f5f 5d4d 5f4f 4d5d " * 3, LOSS),
        (ROOK_AND_KING, "4f5f " + "5d4d 5f4f 4d5d 4f5f " * 3, WIN),
        ("8k/9/9/9/9/9/9/7R1/K8 b - 1", "2h1h 1a2a 1h2h 2a1a " * 3, LOSS),
        # two pawn moves between: no position has occurred four times
        (ROOK_AND_KING, "4f5f 5d4d 5f4f 4d5d " * 2 + "9g9f 9c9d " + "4f5f 5d4d 5f4f 4d5d " * 2, RUNNING),
        # nobody gives check
        ("4k4/9/9/9/9/9/9/9/4K4 b - 1", "5i5h 5a5b 5h5i 5b5a " * 3, DRAW),
    ],
)
def test_verdicts(sfen: str, moves: str, outcome: int) -> None:
    assert GAME.outcome(played(sfen, moves)) == outcome


def test_more_plies_between_the_first_and_the_fourth_occurrence() -> None:
    """The verdict looks back to the first occurrence: a quiet move before the last three makes it a draw."""
    shuttle = "4f5f 5d4d 5f4f 4d5d "
    line = played(ROOK_AND_KING, shuttle + "4f4e 5d6d 4e4f 6d5d " + shuttle + shuttle)
    assert int(line[-1]["repetitions"]) >= 3
    assert GAME.outcome(line) == DRAW


def test_declarations_by_rule() -> None:
    """28 and 27 points under the 27-point rule, 31 under the 24-point rule, never without a rule."""
    camp = "+P+P+P+P+P4/+P+P+P+P+P4/4K4/9/9/9/9/9/4k4"
    for hands, points in (("RB7P", 27), ("RB8P", 28), ("RB8PG", 29), ("2R2B", 30), ("2R2BG", 31)):
        line, _ = GAME.parse_position(f"{camp} b {hands} 1")
        for rule, needed in (("27", 28), ("24", 31), ("none", 99)):
            EnteringKing().set_rules(line, rule=rule)
            assert EnteringKing().possible(line) == (points >= needed), (hands, rule)


def leaf_outcome(line: State, moves: list[int]) -> int:
    """What the search's kernel says of the position after some moves."""
    states, leaves = GAME.encoder.leaf_after(line, moves)
    GAME.encoder.describe(states, leaves, 1, 8, 0)
    return int(leaves.rows[0]["outcome"])


def test_leaves_declare_and_end_by_repetition() -> None:
    line, _ = GAME.parse_position("+P+P+P+P+P4/+P+P+P+P+P4/4K4/9/9/9/9/9/4k4 w RB8P 1")
    step = GAME.parse_move(line[-1], "5i5h")
    assert leaf_outcome(line, [step]) == WIN
    assert GAME.outcome(GAME.play(line, step)) == RUNNING  # a choice, not the rules
    EnteringKing().set_rules(line, rule="none")
    assert leaf_outcome(line, [step]) == RUNNING
    line = played(ROOK_AND_KING, "4f5f 5d4d 5f4f 4d5d " * 2 + "4f5f 5d4d 5f4f")
    last = GAME.parse_move(line[-1], "4d5d")
    assert leaf_outcome(line, [last]) == LOSS
    assert leaf_outcome(GAME.play(line, last), []) == RUNNING  # at the root a move is asked for


def test_limit_of_plies() -> None:
    line = GAME.initial()
    EnteringKing().set_rules(line, max_plies=2)
    line = GAME.play(line, GAME.parse_move(line[-1], "7g7f"))
    assert GAME.outcome(line) == RUNNING
    reply = GAME.parse_move(line[-1], "3c3d")
    assert leaf_outcome(line, [reply]) == DRAW
    assert GAME.outcome(GAME.play(line, reply)) == DRAW


def test_a_mate_at_the_limit_is_a_mate() -> None:
    line, _ = GAME.parse_position("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    EnteringKing().set_rules(line, max_plies=1)
    assert GAME.outcome(GAME.play(line, GAME.parse_move(line[-1], "G*5b"))) == LOSS


def test_counts_of_games_end_to_end() -> None:
    """The kernel for training: several games in one array, each counted for itself."""
    games = ["2h3h 8b7b 3h2h 7b8b " * 3, "7g7f", "2h3h 8b7b 3h2h 7b8b"]
    lines = [played(START, moves) for moves in games] + [played(ROOK_AND_KING, "4f5f 5d4d 5f4f 4d5d " * 3)]
    together = np.concatenate(lines)
    begin = np.cumsum([0, *(len(line) for line in lines[:-1])])
    first = np.repeat(begin, [len(line) for line in lines]).astype(np.int64)
    expected = together.copy()
    for name in ("repetitions", "loop", "checks"):
        together[name] = 77
    GAME.count_repetitions(together, first)
    assert (together == expected).all()
    assert int(together["repetitions"].max()) == 3


def test_normalise_finishes_states_set_by_hand() -> None:
    for match in itertools.islice(random_positions(random.Random(3)), 400):
        state = match.line[-1:].copy()
        for name in ("sets", "key", "kings", "checked"):
            state[name] = 7
        GAME.normalise(state)
        assert state[0] == match.line[-1]
