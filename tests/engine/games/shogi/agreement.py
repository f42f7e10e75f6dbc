"""Our rules against cshogi, position by position, over random games."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import PositionError
from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.engine.games.shogi import EnteringKing

cshogi = pytest.importorskip("cshogi", reason="cshogi, the oracle of shogi's rules, has no wheel for this machine")
GAME = get_game("shogi")
START = cshogi.STARTING_SFEN
HANDICAPS = (
    "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
)
# Where moves that give check or drop pawns near a king abound
SHARP = (
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "9/9/9/4k4/9/5R3/9/9/8K b - 1",
    "8k/9/9/3r5/9/4K4/9/9/9 w - 1",
    "9/9/9/3k5/9/3GB4/9/9/8K b - 1",
    "lnsg1gsnl/1r5b1/ppppppppp/4k4/9/5R3/PPPPPPPPP/1B7/LNSGKGSNL b - 1",
    "ln1g5/1r2S1k2/p2pppn2/2ps2p2/1p7/2P6/PPSPPPPLP/2G2K1pr/LN4G1b w BGSLPnp 62",
)


def where(board: Any) -> str:
    """Board, side to move and hands: what makes two positions the same."""
    return str(board.sfen()).rsplit(" ", 1)[0]


class Match:
    """One game in both libraries at once, and what was seen in it."""

    def __init__(self, sfen: str) -> None:
        self.board = cshogi.Board(sfen)
        self.root = sfen
        self.line, notes = GAME.parse_position(sfen)
        assert notes == []
        self.places = [where(self.board)]
        self.checks = [bool(self.board.is_check())]  # whether the side to move is in check
        self.moves: list[int] = []

    def push(self, move: int) -> None:
        self.line = GAME.play(self.line, cshogi.move16(move))
        self.board.push(move)
        self.moves.append(move)
        self.places.append(where(self.board))
        self.checks.append(bool(self.board.is_check()))

    @property
    def occurrences(self) -> int:
        """How often the current position has been on the board."""
        return self.places.count(self.places[-1])


def by_repetition(match: Match, occurrences: int = 4) -> int:
    """The outcome by repetition, from the rule's words: who gave check with every move since the first occurrence."""
    if match.occurrences < occurrences:
        return RUNNING
    first, now = match.places.index(match.places[-1]), len(match.places) - 1
    theirs, ours = match.checks[first + 2 : now + 1 : 2], match.checks[first + 1 : now + 1 : 2]
    if all(theirs) != all(ours):  # checks that the opponent, and that the side to move, has given
        return WIN if all(theirs) else LOSS
    return DRAW


def expected_outcome(match: Match) -> int:
    """The outcome for the side to move, declarations left out."""
    if not list(match.board.legal_moves):
        return LOSS
    return by_repetition(match)


def differences(match: Match, keys: dict[int, str]) -> list[str]:
    """What our last state says otherwise than cshogi; empty = agreement.

    keys: our key -> the position of all positions so far, to see that equal keys mean equal positions.
    """
    board, state = match.board, match.line[-1]
    ours: dict[str, object] = {
        "moves": sorted(GAME.legal_moves(state).tolist()),
        "check": bool(state["checked"]),
        "outcome": GAME.outcome(match.line),
        "sfen": GAME.format_position(state),
        "board": state["board"].tolist(),
        "hands": state["hands"].tolist(),
        "kings": state["kings"].tolist(),
        "turn": "bw"[int(state["turn"])],
        "repetitions": int(state["repetitions"]),
        "declaration": EnteringKing().possible(match.line),
    }
    hands = [list(hand) for hand in board.pieces_in_hand]  # P L N S G B R
    theirs: dict[str, object] = {
        "moves": sorted(cshogi.move16(move) for move in board.legal_moves),
        "check": bool(board.is_check()),
        "outcome": expected_outcome(match),
        "sfen": board.sfen(),
        "board": list(board.pieces),
        "hands": [[*hand[:4], *hand[5:], hand[4]] for hand in hands],
        "kings": [board.king_square(0), board.king_square(1)],
        "turn": "bw"[board.turn],
        "repetitions": match.occurrences - 1,
        "declaration": bool(board.is_nyugyoku()),
    }
    if match.occurrences == 2 and len(match.line) > 1:  # cshogi judges the second occurrence already
        verdict = board.is_draw()
        codes = {cshogi.REPETITION_DRAW: DRAW, cshogi.REPETITION_WIN: WIN, cshogi.REPETITION_LOSE: LOSS}
        if verdict in codes:
            theirs["second occurrence"], ours["second occurrence"] = codes[verdict], second_verdict(state)
            assert by_repetition(match, 2) == codes[verdict]
    found = [f"{what}: {ours[what]} instead of {theirs[what]}" for what in theirs if ours[what] != theirs[what]]
    again, _ = GAME.parse_position(board.sfen())
    same = ("sets", "key", "board", "hands", "kings", "turn", "checked", "ply")
    found += [
        f"parsed again from its SFEN: {name} {again[-1][name]} instead of {state[name]}"
        for name in same
        if not np.array_equal(again[-1][name], state[name])
    ]
    if keys.setdefault(int(state["key"]), match.places[-1]) != match.places[-1]:
        found.append(f"key {state['key']} stands for two positions")
    return found


def second_verdict(state: np.void) -> int:
    """What our counters of checks say of a repetition, however often it occurred."""
    us = int(state["turn"])
    ours, theirs = (2 * int(state["checks"][side]) >= int(state["loop"]) for side in (us, 1 - us))
    return DRAW if ours == theirs else LOSS if ours else WIN


def random_start(rng: random.Random) -> str:
    """The start position, a handicap, a sharp middlegame, or pieces thrown on the board and into the hands."""
    kind = rng.random()
    if kind < 0.25:
        return str(START)
    if kind < 0.3:
        return rng.choice(HANDICAPS)
    if kind < 0.55:
        return rng.choice(SHARP)
    while True:
        sfen = thrown(rng)
        try:
            GAME.parse_position(sfen)
        except PositionError:
            continue
        if cshogi.Board(sfen).is_ok():
            return sfen


def thrown(rng: random.Random) -> str:
    """A SFEN of random pieces, sometimes with a king in the enemy's camp among its pieces; it may be impossible."""
    men = [
        x
        for x, number in (("P", 18), ("L", 4), ("N", 4), ("S", 4), ("G", 4), ("B", 2), ("R", 2))
        for _ in range(number)
    ]
    rng.shuffle(men)
    placed: dict[int, str] = {}
    if rng.random() < 0.4:
        camp = rng.sample(range(27), rng.randint(9, 14))
        placed = {camp[0]: "K", rng.randrange(27, 81): "k"}
        placed |= {square: "+" * (x != "G") + x for square, x in zip(camp[1:], men, strict=False)}
        men = men[len(camp) - 1 :]
        own = 0.8
    else:
        squares = rng.sample(range(81), rng.choice((3, 5, 8, 12, 18, 26)))
        placed = {squares[0]: "K", squares[1]: "k"}
        for square, x in zip(squares[2:], men, strict=False):
            promoted = "+" if x != "G" and rng.random() < 0.3 else ""
            placed[square] = promoted + (x if rng.random() < 0.5 else x.lower())
        men = men[len(squares) - 2 :]
        own = 0.5
    men = [x if rng.random() < own else x.lower() for x in men][: rng.choice((0, 2, 5, 12, 40))]
    turn = "b"
    if rng.random() < 0.5:  # the same for white
        turn = "w"
        placed = {80 - square: x.swapcase() for square, x in placed.items()}
        men = [x.swapcase() for x in men]
    rows = []
    for rank in range(9):
        row = "".join(placed.get(9 * rank + column, ".") for column in range(9))
        for blanks in range(9, 0, -1):
            row = row.replace("." * blanks, str(blanks))
        rows.append(row)
    hands = "".join(f"{men.count(x) if men.count(x) > 1 else ''}{x}" for x in "RBGSNLPrbgsnlp" if x in men)
    return f"{'/'.join(rows)} {turn} {hands or '-'} 1"


def choose(match: Match, rng: random.Random, back: float) -> int:
    """A random legal move: with chance ``back`` the one that takes the last one back, and checks more often."""
    board = match.board
    moves = list(board.legal_moves)
    if rng.random() < back and len(match.moves) >= 2:
        last = cshogi.move16(match.moves[-2])
        returning = [m for m in moves if cshogi.move16(m) == (last >> 7 & 127) + ((last & 127) << 7)]
        if returning:
            return int(returning[0])
    eager = 0.8 if back > 0.5 and not match.moves else 0.3
    checks = list(cshogi.CheckMoveList(board)) if rng.random() < eager else []
    return int(rng.choice(checks or moves))


def random_positions(rng: random.Random, plies: int = 120) -> Iterator[Match]:
    """Positions of one random game after another, for ever; the games go on after repetitions."""
    while True:
        match = Match(random_start(rng))
        back = rng.choice((0.0, 0.0, 0.3, 0.97))
        yield match
        for _ in range(plies):
            if not list(match.board.legal_moves):
                break
            match.push(choose(match, rng, back))
            yield match
