"""The shogi planes and actions once more, slowly, in plain Python over SFEN and USI text: an oracle for tests.

Written from the papers' tables (AlphaZero 2018, Tables S1 and S2) square by square, sharing no code with the engine.
Squares are (file, rank), both 1..9, as USI names them.
"""

from __future__ import annotations

import re

import numpy as np

HISTORY = 8
STEP = 45  # planes a position of the history
MEN = ("P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R")
HELD = "PLNSBRG"
# (file, rank) steps of black; its right hand points to file 1, forward is rank a
COMPASS = ((0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1))  # N to NW
KNIGHT = ((-1, -2), (1, -2))
RANKS = "abcdefghi"


def men_of(sfen: str) -> dict[tuple[int, int], str]:
    """{square: letters} of a SFEN's board."""
    men = {}
    for rank, row in enumerate(sfen.split(maxsplit=1)[0].split("/"), 1):
        file = 9
        for word in re.findall(r"\d|\+?[a-zA-Z]", row):
            if word.isdigit():
                file -= int(word)
            else:
                men[file, rank] = word
                file -= 1
    return men


def hands_of(sfen: str) -> dict[str, int]:
    """{letter: number}, white's in lower case."""
    field = sfen.split()[2]
    return {letter: int(count or 1) for count, letter in re.findall("([0-9]*)([A-Za-z])", field)}


def turned(square: tuple[int, int]) -> tuple[int, int]:
    """The board by 180 degrees."""
    return 10 - square[0], 10 - square[1]


def planes(game: list[str], ply: int) -> np.ndarray:
    """The network's input u1[362, 9, 9]: the SFENs of the game's positions, first to current; plies played."""
    out = np.zeros((HISTORY * STEP + 2, 9, 9), np.uint8)
    white = game[-1].split()[1] == "w"
    for t, sfen in enumerate(game[::-1][:HISTORY]):
        base = t * STEP
        for square, letters in men_of(sfen).items():
            mine = letters[-1].islower() == white
            file, rank = turned(square) if white else square
            out[base + (0 if mine else 14) + MEN.index(letters.upper()), file - 1, rank - 1] = 1
        so_far = [text.rsplit(" ", 1)[0] for text in game[: len(game) - t]]
        for number in range(3):
            out[base + 28 + number] = so_far.count(so_far[-1]) - 1 > number
        for letter, number in hands_of(sfen).items():
            mine = letter.islower() == white
            out[base + (31 if mine else 38) + HELD.index(letter.upper())] = number
    out[360] = not white
    out[361] = min(ply, 255)
    return out


def square_of(text: str) -> tuple[int, int]:
    """(file, rank) of a USI square."""
    return int(text[0]), RANKS.index(text[1]) + 1


def action(usi: str, white: bool) -> int:
    """Index into the policy of a move."""
    to = square_of(usi[2:4])
    to = turned(to) if white else to
    if usi[1] == "*":
        return (132 + HELD.index(usi[0])) * 81 + 9 * (to[0] - 1) + to[1] - 1
    source = square_of(usi[:2])
    source = turned(source) if white else source
    step = to[0] - source[0], to[1] - source[1]
    if step in KNIGHT:
        plane = 64 + KNIGHT.index(step)
    else:
        distance = max(abs(step[0]), abs(step[1]))
        plane = 8 * COMPASS.index((step[0] // distance, step[1] // distance)) + distance - 1
    plane += 66 * usi.endswith("+")
    return plane * 81 + 9 * (source[0] - 1) + source[1] - 1


def move_of(index: int, white: bool) -> str | None:
    """The USI move that an action means; None when it leaves the board. It need not be legal."""
    plane, square = divmod(index, 81)
    place = square // 9 + 1, square % 9 + 1
    if plane >= 132:
        file, rank = turned(place) if white else place
        return f"{HELD[plane - 132]}*{file}{RANKS[rank - 1]}"
    promotes, plane = divmod(plane, 66)
    if plane >= 64:
        df, dr = KNIGHT[plane - 64]
    else:
        direction, steps = divmod(plane, 8)
        df, dr = ((steps + 1) * d for d in COMPASS[direction])
    to = place[0] + df, place[1] + dr
    if not (1 <= to[0] <= 9 and 1 <= to[1] <= 9):
        return None
    if white:
        place, to = turned(place), turned(to)
    return f"{place[0]}{RANKS[place[1] - 1]}{to[0]}{RANKS[to[1] - 1]}" + "+" * promotes
