"""Ladders that a search reads beside the net, against a plain reader and with the net inside the package."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

import az_engine as az
from az_engine.engine.blocking import search
from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions, SearchParams

Point = tuple[int, int]
Stones = dict[Point, str]
DEEPEST = 60  # moves of a ladder over the whole board
SIZE, LETTERS = 19, "ABCDEFGHJKLMNOPQRST"
SHAPES = {  # white's chain is in atari, and runs where a ladder goes on to the far corner
    "bent": ("b D5 b E4 b F4 w E5 b E6 w F5 b G5 w F6 b F7", "F6"),
    "straight": ("b C4 b D3 b E3 b F3 b G4 b D5 b E5 w D4 w E4 w F4", "F4"),
}


def point(vertex: str) -> Point:
    return LETTERS.index(vertex[0]), int(vertex[1:]) - 1


def vertex(p: Point) -> str:
    return f"{LETTERS[p[0]]}{p[1] + 1}"


def beside(p: Point) -> Iterator[Point]:
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        if 0 <= p[0] + dx < SIZE and 0 <= p[1] + dy < SIZE:
            yield p[0] + dx, p[1] + dy


def chain(stones: Stones, p: Point) -> tuple[set[Point], set[Point]]:
    """(the stones of a chain, its liberties)."""
    found, liberties, waiting = {p}, set[Point](), [p]
    while waiting:
        for q in beside(waiting.pop()):
            if q not in stones:
                liberties.add(q)
            elif stones[q] == stones[p] and q not in found:
                found.add(q)
                waiting.append(q)
    return found, liberties


def after(stones: Stones, p: Point, colour: str) -> Stones | None:
    """The stones after a move; None where it is suicide."""
    stones = {**stones, p: colour}
    for q in beside(p):
        if stones.get(q, colour) != colour:
            taken, liberties = chain(stones, q)
            if not liberties:
                for stone in taken:
                    del stones[stone]
    return stones if chain(stones, p)[1] else None


class TooLongError(Exception):
    """A ladder runs in a circle, by a ko, or branches without end."""


def caught(stones: Stones, p: Point, depth: int = 0) -> bool:
    """Whether the chain on a point, its owner to move, cannot escape a ladder; the plainest search."""
    if p not in stones:
        return True
    if depth > DEEPEST:
        raise TooLongError
    found, liberties = chain(stones, p)
    if len(liberties) > 1:
        return False
    enemies = {q for stone in found for q in beside(stone) if stones.get(q, stones[p]) != stones[p]}
    moves = liberties.union(*(own for own in (chain(stones, q)[1] for q in enemies) if len(own) == 1))
    followed = (after(stones, move, stones[p]) for move in moves)
    return all(following is None or catching(following, p, depth + 1) for following in followed)


def catching(stones: Stones, p: Point, depth: int = 0) -> set[Point]:
    """The attacker's moves that catch a chain."""
    liberties = chain(stones, p)[1]
    if len(liberties) == 1:
        return liberties
    attacker = "b" if stones[p] == "w" else "w"
    followed = {move: after(stones, move, attacker) for move in liberties} if len(liberties) == 2 else {}
    return {move for move, following in followed.items() if following is not None and caught(following, p, depth)}


def ladders(count: int, seed: int, shapes: Sequence[str]) -> Iterator[tuple[Stones, Point]]:
    """Stones of a ladder about to run, turned and mirrored, others far from it; its chain, every other one caught."""
    rng, wanted = random.Random(seed), True
    while count:
        text, chased = SHAPES[rng.choice(shapes)]
        words, flips = text.split(), [rng.random() < 0.5 for _ in range(3)]
        base = {point(v): colour for colour, v in zip(words[::2], words[1::2], strict=True)}

        def turned(p: Point, flips: list[bool] = flips) -> Point:
            x, y = (SIZE - 1 - a if flip else a for a, flip in zip(p, flips, strict=False))
            return (y, x) if flips[2] else (x, y)

        stones, own = {turned(p): colour for p, colour in base.items()}, turned(point(chased))
        for colour in "bw" * rng.randint(2, 5):
            p = rng.randint(2, 16), rng.randint(2, 16)
            if p not in stones and max(abs(p[0] - own[0]), abs(p[1] - own[1])) > 6:
                stones[p] = colour
        with suppress(TooLongError):
            if caught(stones, own) == wanted:
                wanted, count = not wanted, count - 1
                yield stones, own


def text_of(stones: Stones, mover: str) -> str:
    """A position in the engine's own notation."""
    rows = ("".join({"b": "X", "w": "O"}.get(stones.get((x, y), ""), ".") for x in range(SIZE)) for y in range(SIZE))
    board = "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in reversed([*rows]))
    return f"{board} {mover} - 7.5 chinese 0 0 {2 * len(stones) + (mover == 'w')}"


def advice(stones: Stones, mover: str) -> dict[str, tuple[float, float]]:
    """The bounds that the game gives, by vertex."""
    encoder = get_game("go19").encoder
    states, leaves = encoder.leaf_after(get_game("go19").parse_position(text_of(stones, mover))[0])
    encoder.describe(states, leaves, 1, 1, 1)
    rows = leaves.advice[0, : leaves.rows[0]["advised"]].tolist()
    return {vertex((move % SIZE, SIZE - 1 - move // SIZE)): (least, most) for move, least, most in rows}


@pytest.mark.parametrize("seed", range(2))
def test_a_plain_reader_agrees(seed: int) -> None:
    for stones, own in ladders(12, seed, [*SHAPES]):
        [run] = chain(stones, own)[1]
        least, most = advice(stones, "w").get(vertex(run), (0.0, 1.0))
        if caught(stones, own):
            assert (least, most < 0.01) == (0.0, True)
        else:
            assert (least > 0, most) == (True, 1.0)
        running = after(stones, run, "w")
        assert running is not None
        begun = {name for name, (least, _) in advice(running, "b").items() if least > 0}
        assert begun.intersection(map(vertex, chain(running, own)[1])) == {*map(vertex, catching(running, own))}


def test_one_stone_is_the_net_s() -> None:
    stones = {point("D5"): "w"} | dict.fromkeys(map(point, ("C5", "D4", "D6", "E4")), "b")
    assert (caught(stones, point("D5")), advice(stones, "w")) == (True, {})
    del stones[point("E4")]
    assert (caught(stones, point("D5")), advice(stones, "w")) == (False, {})


@pytest.mark.slow
def test_the_net_reads_ladders() -> None:
    """100 visits: a ladder that works is not run out of, but chased; one that is broken is."""
    right, each = dict.fromkeys(("works", "broken", "chased"), 0), 10
    with az.Engine("go19", threads=1) as engine:

        def best(stones: Stones, mover: str) -> str:
            return engine.analyse(az.Position("go19", text_of(stones, mover)), az.Limits(nodes=100)).pv[0]

        for stones, own in ladders(2 * each, 7, ["bent"]):
            [run] = chain(stones, own)[1]
            played = best(stones, "w") == vertex(run)
            if caught(stones, own):
                running = after(stones, run, "w")
                assert running is not None
                right["works"] += not played
                right["chased"] += best(running, "b") in map(vertex, catching(running, own))
            else:
                right["broken"] += played
    assert min(right.values()) == each, right


@pytest.mark.slow
def test_changing_the_setting_forgets_priors() -> None:
    """Running out gets more where it escapes, or less where it is caught; what the net thinks of it comes back."""
    engine, changed = Engine("go19", EngineOptions(weights_file="go-stones", threads=1)), 0
    for stones, own in ladders(6, 7, ["bent"]):
        [run] = chain(stones, own)[1]
        position, priors = az.Position("go19", text_of(stones, "w")), list[float]()
        for reads in (True, False, True):
            engine.configure(search=SearchParams(ladders=reads), multipv=20)
            engine.set_position(position.text, [])
            lines = search(engine, Limits(nodes=40)).best.lines
            priors.append(max((line.prior for line in lines if line.pv[0] == vertex(run)), default=0.0))
        assert priors[0] == priors[2]
        assert priors[0] <= priors[1] if caught(stones, own) else priors[0] >= priors[1]
        changed += priors[0] != priors[1]
    engine.close()
    assert changed > 0
