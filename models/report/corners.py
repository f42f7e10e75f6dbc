"""Go: the stones of each corner, in the order of play, as one sequence for all corners, reflections and colours.

A point is (x, y), its lines from the two edges of its corner, from 1; "4-3 3-5" is a stone on the 4-3 point and the
other player's on 3-5; a "*" behind a point: the player of the stone before it plays again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...engine.games.base import Game
from ..selfplay.store.replay import GameRecord

COLUMNS = "ABCDEFGHJKLMNOPQRST"
PLIES, LONGEST = 60, 4  # moves of a game that are read; stones of the longest sequence that is counted
CONTINUED = 4  # stones behind it
KNOWN = {
    "4-4": "star point",
    "4-3": "3-4 point",
    "3-3": "3-3 point",
    "5-3": "3-5 point",
    "5-4": "4-5 point",
    "4-4 3-3": "star, 3-3 invasion",
    "4-4 6-3": "star, low approach",
    "4-4 6-3 3-6": "star, low approach, knight's answer",
    "4-3 3-5": "3-4, low approach",
    "4-3 4-5": "3-4, high approach",
}

Point = tuple[int, int]
Stone = tuple[Point, int]  # and the parity of its ply


def corner_sequences(moves: list[str], size: int) -> list[list[str]]:
    """The sequences of the four corners, each point as text; the centre's lines belong to no corner."""
    half = size // 2
    corners: dict[tuple[bool, bool], list[Stone]] = {}
    for ply, move in enumerate(moves):
        if move.upper() == "PASS":
            continue
        x, y = COLUMNS.index(move[0].upper()) + 1, int(move[1:])
        right, top = x > size - half, y > size - half
        x, y = (size + 1 - x if right else x), (size + 1 - y if top else y)
        if max(x, y) <= half:
            corners.setdefault((right, top), []).append(((x, y), ply % 2))
    return [_written(stones) for stones in corners.values()]


def _written(stones: list[Stone]) -> list[str]:
    """A corner's stones, reflected so that the first one off the diagonal has x > y."""
    turned = next((x < y for (x, y), _ in stones if x != y), False)
    texts: list[str] = []
    before: int | None = None
    for (x, y), colour in stones:
        text = f"{y}-{x}" if turned else f"{x}-{y}"
        texts.append(text + "*" * (colour == before))
        before = colour
    return texts


def name_of(sequence: list[str]) -> str:
    """A sequence as people know it, or its points."""
    text = " ".join(sequence)
    return f"{text} ({KNOWN[text]})" if text in KNOWN else text


def corner_lines(game: Game) -> Callable[[GameRecord], Iterator[tuple[str, tuple[str, ...]]]]:
    """Finds a game's corner sequences of 1 to LONGEST stones, each once a game, and how each goes on."""
    start, size = game.initial()[0], game.planes[1]

    def find(record: GameRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
        moves = game.format_moves(start, record.moves[:PLIES].tolist())
        seen: set[str] = set()
        for sequence in corner_sequences(list(moves), size):
            for length in range(1, min(len(sequence), LONGEST) + 1):
                name = name_of(sequence[:length])
                if name not in seen:
                    seen.add(name)
                    yield name, tuple(sequence[length : length + CONTINUED])

    return find
