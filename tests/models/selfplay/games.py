"""Games for tests of replay and window: random moves with random targets."""

from __future__ import annotations

import numpy as np

from az_engine.engine.games.base import Game
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.models.selfplay.store.replay import GameRecord


def random_game(game: Game, number: int, *, plies: int = 60, net: int = 0, every: int = 1) -> GameRecord:
    """A game of at most ``plies`` random moves; each ``every``-th position is a target of up to 5 moves."""
    rng = np.random.default_rng([7, number])
    line = game.initial()
    moves: list[int] = []
    counts: list[int] = []
    target_moves: list[int] = []
    shares: list[float] = []
    while len(moves) < plies and game.outcome(line) == RUNNING:
        legal = game.legal_moves(line)
        kept = 0
        if len(moves) % every == 0:
            chosen = rng.choice(legal, size=min(len(legal), 5), replace=False)
            kept = len(chosen)
            target_moves += chosen.tolist()
            shares += rng.dirichlet(np.ones(kept)).tolist()
        counts.append(kept)
        moves.append(int(rng.choice(legal)))
        line = game.play(line, moves[-1])
    outcome = game.outcome(line)
    first = {WIN: 1, LOSS: -1, DRAW: 0, RUNNING: 0}[outcome] * (1 if len(moves) % 2 == 0 else -1)
    values = rng.uniform(-1, 1, (2, len(moves))).astype(np.float32)
    draws = rng.uniform(0, 1, len(moves)).astype(np.float32)
    return GameRecord(
        number,
        (net, net + 1),
        np.array(moves, np.uint16),
        values[0],
        values[1],
        draws,
        np.array(counts, np.uint16),
        np.array(target_moves, np.uint16),
        np.array(shares, np.float32),
        first,
        "rules" if outcome != RUNNING else "max moves",
        simulations=17 * number,
        played_on=bool(number % 2),
    )


def same(a: GameRecord, b: GameRecord) -> bool:
    """Whether two records are equal, up to what 16 bits keep of values and shares, and 8 of draws."""
    exact = ("id", "nets", "result", "reason", "simulations", "played_on")
    arrays = ("moves", "counts", "target_moves")
    close = ("values", "outlooks", "target_shares")
    return (
        all(getattr(a, n) == getattr(b, n) for n in exact)
        and all(np.array_equal(getattr(a, n), getattr(b, n)) for n in arrays)
        and all(np.allclose(getattr(a, n), getattr(b, n), atol=2e-5) for n in close)
        and np.allclose(a.draws, b.draws, atol=2e-3)
    )
