"""Figures of a run's newest games and of those who play them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..folder import Heartbeat
from ..store.replay import GameRecord


def figures_of_games(games: Sequence[GameRecord]) -> dict[str, float]:
    """Mean plies, and the shares of wins of the first player, draws, resigned and longest games."""
    results, reasons, count = [game.result for game in games], [game.reason for game in games], max(1, len(games))
    return {
        "length": float(np.mean([len(game.moves) for game in games])) if games else 0.0,
        "first_wins": results.count(1) / count,
        "draws": results.count(0) / count,
        "resigned": reasons.count("resigned") / count,
        "capped": reasons.count("max moves") / count,
    }


def figures_of_players(heartbeats: Sequence[Heartbeat]) -> dict[str, float]:
    """Simulations of one worker in a second, and how full its batches are; nothing before the first."""
    seconds = sum(each.seconds for each in heartbeats)
    if not seconds:
        return {}
    rows = max(1, sum(each.rows for each in heartbeats))
    return {
        "simulations_per_worker_s": sum(each.simulations for each in heartbeats) / seconds,
        "batch_fill": sum(each.evaluations for each in heartbeats) / rows,
    }
