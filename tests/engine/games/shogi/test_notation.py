"""SFEN and USI moves, in and out: what is read and what is refused."""

from __future__ import annotations

import itertools
import random

import pytest

from az_engine.engine.errors import IllegalMoveError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.games.shogi.records.moves import ki2
from az_engine.engine.games.shogi.records.replay import Replay

GAME = get_game("shogi")
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
KINGS = "4k4/9/9/9/9/9/9/9/4K4"


def test_round_trips() -> None:
    pytest.importorskip("cshogi", reason="cshogi, the oracle of shogi's rules, has no wheel for this machine")
    from .agreement import cshogi, random_positions

    for match in itertools.islice(random_positions(random.Random(4)), 800):
        sfen = GAME.format_position(match.line[-1])
        line, notes = GAME.parse_position(sfen)
        assert notes == []
        assert GAME.format_position(line[-1]) == sfen == match.board.sfen()
        for move in itertools.islice(match.board.legal_moves, 0, None, 20):
            text = GAME.format_move(line[-1], cshogi.move16(move))
            assert text == cshogi.move_to_usi(move)
            assert GAME.parse_move(line[-1], text) == cshogi.move16(move)


@pytest.mark.parametrize(
    ("text", "sfen"),
    [
        (START, START),
        ("  " + START.replace(" ", " \t ") + " ", START),
        (START[:-1] + "0", START),
        (START.replace(" b ", " w ")[:-1] + "12", START.replace(" b ", " w ")[:-1] + "12"),
        ("lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",) * 2,  # two pieces handicap
        (f"{KINGS} b p2P15pRr 1", f"{KINGS} b R2Pr16p 1"),
        (f"{KINGS} b 2r18P2b4g4s4n4l 1", f"{KINGS} b 18P2r2b4g4s4n4l 1"),
        (f"{KINGS} b PP 1", f"{KINGS} b 2P 1"),
    ],
)
def test_accepted(text: str, sfen: str) -> None:
    line, notes = GAME.parse_position(text)
    assert notes == []
    assert GAME.format_position(line[-1]) == sfen


@pytest.mark.parametrize(("given", "added"), [(2, "pieces in hand -, move number 1"), (3, "move number 1")])
def test_completed_with_a_note(given: int, added: str) -> None:
    line, notes = GAME.parse_position(" ".join(START.split()[:given]))
    assert notes == [f"the SFEN is completed: {added}"]
    assert GAME.format_position(line[-1]) == START


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "fields"),
        ("hello", "fields"),
        (KINGS, "fields"),
        (f"{KINGS} b - 1 extra", "fields"),
        ("9/9/9/9/9/9/9/9/9 b - 1", "black has 0 kings"),
        ("4k4/9/9/9/9/9/9/9/3KK4 b - 1", "black has 2 kings"),
        (f"{KINGS} b K 1", "pieces in hand"),
        (f"{KINGS} b 0P 1", "pieces in hand"),
        (f"{KINGS} b 00P 1", "pieces in hand"),
        (f"{KINGS} b +P 1", "pieces in hand"),
        (f"{KINGS} b P2 1", "pieces in hand"),
        (f"{KINGS} b  1", "pieces in hand"),
        (f"{KINGS} b 19P 1", "19 pawns"),
        (f"{KINGS} b 10P9p 1", "19 pawns"),
        (f"{KINGS} b 99P99P99P 1", "297 pawns"),
        (f"{KINGS} w {'99p' * 700} 1", "69300 pawns"),
        (f"{KINGS} b 5L 1", "5 lances"),
        (f"{KINGS} b 5N 1", "5 knights"),
        (f"{KINGS} b 3S2s 1", "5 silvers"),
        (f"{KINGS} b 5G 1", "5 golds"),
        ("3+Bk4/9/9/9/9/9/9/9/4K4 b Bb 1", "3 bishops"),
        (f"{KINGS} b 2 1", "pieces in hand"),
        (f"{KINGS} b 3r 1", "3 rooks"),
        ("+P+P+Pkp4/9/9/9/9/9/P8/9/4K4 b 14P 1", "19 pawns"),
        ("4k4/9/9/9/P8/9/P8/9/4K4 b - 1", "two unpromoted pawns on file 9"),
        ("4k4/8p/9/9/8p/9/9/9/4K4 b - 1", "two unpromoted pawns on file 1"),
        ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "pawn of black on 9a"),
        ("4k4/9/9/9/9/9/9/9/p3K4 b - 1", "pawn of white on 9i"),
        ("L3k4/9/9/9/9/9/9/9/4K4 b - 1", "lance of black on 9a"),
        ("4k4/N8/9/9/9/9/9/9/4K4 b - 1", "knight of black on 9b"),
        ("4k4/9/9/9/9/9/9/8n/4K4 b - 1", "knight of white on 1h"),
        ("4k4/4P4/9/9/9/9/9/9/4K4 b - 1", "white is in check but black is to move"),
        ("4k4/9/9/9/9/9/9/4l4/4K4 w - 1", "black is in check but white is to move"),
        ("9/9/9/4k4/4K4/9/9/9/9 b - 1", "in check"),
        ("4+k4/9/9/9/9/9/9/9/4K4 b - 1", "king cannot be promoted"),
        ("4k4/4+G4/9/9/9/9/9/9/4K4 b - 1", "gold cannot be promoted"),
        ("4k4/9/9/9/9/9/9/9/4K3 b - 1", "8 squares"),
        ("4k4/9/9/9/9/9/9/9/4K5 b - 1", "10 squares"),
        ("4k4/9/9/9/9/9/9/99999999999999999999/4K4 b - 1", "squares instead of 9"),
        ("4k4/9/9/9/9/9/9/4K4 b - 1", "8"),
        ("4k4/9/9/9/9/9/9/9/9/4K4 b - 1", "10"),
        ("4k4/9/9/0/9/9/9/9/4K4 b - 1", "unknown"),
        ("4k4/9/9/8+/9/9/9/9/4K4 b - 1", "unknown"),
        ("4k4/9/9/8Q/9/9/9/9/4K4 b - 1", "unknown"),
        (f"{KINGS} x - 1", "side to move"),
        (f"{KINGS} B - 1", "side to move"),
        (f"{KINGS} b - -1", "move number"),
        (f"{KINGS} b - x", "move number"),
        (f"{KINGS} b - ٣", "move number"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(PositionError) as refusal:
        GAME.parse_position(text)
    assert reason in str(refusal.value)
    assert len(str(refusal.value)) > 15
    assert "\n" not in str(refusal.value)


def test_huge_move_numbers_saturate() -> None:
    line, _ = GAME.parse_position(f"{KINGS} b - 99999999999999999999")
    assert len(GAME.legal_moves(line[-1])) > 0
    GAME.parse_position(GAME.format_position(line[-1]))


@pytest.mark.parametrize(
    ("sfen", "text", "hint"),
    [
        (START, "7g7e", "not legal"),
        (START, "7g7f+", "not legal"),
        (START, "P*5e", "not legal"),
        (START, "p*5e", "not a move"),
        (START, "7G7F", "not a move"),
        (START, "0000", "not a move"),
        (START, "", "not a move"),
        (START, "resign", "not a move"),
        ("4k4/9/9/9/9/9/4P4/9/4K4 b P 1", "P*5e", "not legal"),  # a second pawn on the file
        (f"{KINGS} b P 1", "P*5a", "not legal"),
        (f"{KINGS} b P 1", "P*4a", "not legal"),  # no move from there
        (f"{KINGS} b N 1", "N*4b", "not legal"),
        ("7nk/9/7S1/9/9/9/9/9/K8 b P 1", "P*1b", "not legal"),  # mate by a pawn drop
        ("7lk/7g1/8G/9/9/9/9/1B7/4K4 b P 1", "P*1b", "not legal"),  # likewise: its only capturer is pinned
        (f"{KINGS} b G 1", "G*5a", "not legal"),
        ("4k4/4r4/9/9/9/9/9/4G4/4K4 b - 1", "5h4h", "not legal"),  # a pinned piece
        ("4k4/4r4/9/9/9/9/9/9/4K4 b G 1", "G*9e", "not legal"),  # a check left standing
        ("4k4/9/9/G8/9/9/9/9/4K4 b - 1", "9d9c+", "not"),
        ("4k4/P8/9/9/9/9/9/9/4K4 b - 1", "9b9a", "must promote"),
    ],
)
def test_illegal_moves_are_refused(sfen: str, text: str, hint: str) -> None:
    line, _ = GAME.parse_position(sfen)
    with pytest.raises(IllegalMoveError, match=hint) as refusal:
        GAME.parse_move(line[-1], text)
    assert "\n" not in str(refusal.value)


def test_moves_in_kanji_are_those_of_ki2_and_are_read_again() -> None:
    rng, same = random.Random(8), 0
    for _ in range(2):
        line, replay = GAME.initial(), Replay.of(None)
        for _ in range(100):
            legal = GAME.legal_moves(line).tolist()
            if not legal:
                break
            for move in legal[:: 1 + len(legal) // 8]:
                text = GAME.write_native(line, move)
                assert text == "▲△"[replay.turn] + ki2(replay, move)
                assert GAME.read_move(line, text[1:]) == move, text
                same += text[1] == "同"
            move = rng.choice(legal)
            line = GAME.play(line, move)
            replay.play(move)
    assert same > 5


@pytest.mark.parametrize("text", ["P-7f", "P-7F", "p-7F", "K-5H", "P-76"])
def test_moves_in_western_letters_of_any_case(text: str) -> None:
    line = GAME.initial()
    move = GAME.parse_move(line, "5i5h" if text.startswith("K") else "7g7f")
    assert GAME.read_move(line, text) == move


@pytest.mark.parametrize("text", ["N*5B", "K-5J", "P-7\u0131"])
def test_moves_in_western_letters_that_are_none(text: str) -> None:
    with pytest.raises(IllegalMoveError):
        GAME.read_move(GAME.initial(), text)
