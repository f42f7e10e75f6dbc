"""The charts of a self-play run: Elo as in the papers' learning curves, losses, accuracy, games, resignation.

Figures: AlphaGo Zero, Figure 3 (Elo, prediction accuracy and squared error over training), AlphaZero, Figure 1 (Elo
over training steps).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..bench.rating import Rating, rate
from ..engine.errors import DataError
from .ladder import RANDOM, scores_of

WINDOW = 9  # log rows of the moving average of losses
BLUE, ORANGE, GREEN, GREY = "tab:blue", "tab:orange", "tab:green", "tab:grey"

Rows = list[dict[str, Any]]


def draw(rows: Rows, ladder: Rows, heading: str) -> Figure:
    """Six charts over training steps. Errors: DataError when nothing was logged yet."""
    steps = [r for r in rows if "loss" in r]
    if not steps:
        raise DataError("the run has logged nothing yet; wait for its first training steps")
    played = [{**r["selfplay"], "step": r["step"], "minutes": r["minutes"]} for r in rows if "selfplay" in r]
    held = [{**r["heldout"], "step": r["step"]} for r in rows if isinstance(r.get("heldout"), dict)]
    figure = Figure(figsize=(13, 8), layout="constrained")
    figure.suptitle(f"{heading}, {steps[-1]['games']:,} games, {steps[-1]['minutes']:.0f} minutes")
    charts = figure.subplots(2, 3)
    elo(charts[0, 0], ladder)
    losses(charts[0, 1], steps, held)
    line(charts[0, 2], held, "top1", GREEN, "best move is the search's")
    charts[0, 2].set_ylabel("accuracy on games never trained on")
    line(charts[1, 0], steps, "value", BLUE, "trained on")
    line(charts[1, 0], held, "value", ORANGE, "held out")
    charts[1, 0].set_ylabel("value loss")
    games(charts[1, 1], played)
    resignation(charts[1, 2], played)
    for chart in charts.flat:
        chart.set_xlabel("training steps")
        chart.grid(alpha=0.3)
        if chart.get_legend_handles_labels()[0]:
            chart.legend(fontsize="small")
    return figure


def learning_curves(ladder: Rows) -> dict[str, list[tuple[int, Rating]]]:
    """Ratings of the nets by the way they play: name of the way -> (step, rating), oldest first; and the fixed players.

    "raw" and "@64" are ways; a fixed player has one entry of step -1 under its own name.
    """
    try:
        ratings = rate(scores_of([r for r in ladder if "a" in r]), RANDOM)
    except DataError:
        return {}
    found: dict[str, list[tuple[int, Rating]]] = {}
    for name, rating in ratings.items():
        match = re.fullmatch(r"net (\d+) (raw|@\d+)", name)
        way, step = (match[2], int(match[1])) if match else (name, -1)
        found.setdefault(way, []).append((step, rating))
    return {way: sorted(points, key=lambda p: p[0]) for way, points in found.items()}


def elo(chart: Axes, ladder: Rows) -> None:
    """Elo over steps with 95 % intervals; fixed players as horizontal lines."""
    chart.set_ylabel("Elo above random moves, 95 % intervals")
    colours = {"raw": ORANGE}
    for way, points in learning_curves(ladder).items():
        if points[0][0] < 0:
            rating = points[0][1]
            chart.axhline(rating.elo, color=GREY, linestyle="--", linewidth=1, label=f"{way} ({rating.elo:+.0f})")
            continue
        x = np.array([step for step, _ in points])
        y, low, high = np.array([(r.elo, r.low, r.high) for _, r in points]).T
        colour = colours.get(way, BLUE)
        label = "raw network" if way == "raw" else f"with {way[1:]} visits"
        chart.errorbar(x, y, yerr=[y - low, high - y], color=colour, marker="o", markersize=3, capsize=2, label=label)


def losses(chart: Axes, steps: Rows, held: Rows) -> None:
    """Policy cross-entropy of what was trained on and of what never was."""
    line(chart, steps, "policy", BLUE, "trained on")
    line(chart, held, "policy", ORANGE, "held out")
    chart.set_ylabel("policy cross-entropy, nats")


def games(chart: Axes, played: Rows) -> None:
    """Length and results of recent games."""
    line(chart, played, "length", BLUE, "plies a game")
    chart.set_ylabel("plies a game")
    other = chart.twinx()
    line(other, played, "first_wins", GREEN, "first player wins")
    line(other, played, "draws", GREY, "draws")
    other.set_ylim(0, 1)
    other.set_ylabel("share of games")
    other.legend(fontsize="small", loc="lower right")


def resignation(chart: Axes, played: Rows) -> None:
    """Games given up, and how many of those that would have been were not lost."""
    line(chart, played, "resigned", BLUE, "games given up")
    line(chart, played, "resign_wrong", ORANGE, "of them wrongly (played on)")
    chart.axhline(0.05, color=GREY, linestyle="--", linewidth=1, label="5 %")
    chart.set_ylim(0, 1)
    chart.set_ylabel("share of games")


def line(chart: Axes, rows: Rows, key: str, colour: str, name: str) -> None:
    """One figure over steps; many rows are shown faintly with their moving average."""
    points = [(r["step"], r[key]) for r in rows if r.get(key) is not None]
    if not points:
        return
    x, y = np.array(points, float).T
    if len(y) > 4 * WINDOW:
        chart.plot(x, y, color=colour, alpha=0.25, linewidth=0.8)
        x, y = (np.convolve(v, np.full(WINDOW, 1 / WINDOW), "valid") for v in (x, y))
    chart.plot(x, y, color=colour, label=name, marker="o" if len(y) < 30 else "", markersize=3)
