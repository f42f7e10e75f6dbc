"""Draw the curves of a self-play run as one PNG, as in docs/training.md.

    python docs/pictures/curves.py RUN OUT.png

Figures: AlphaGo Zero, Figure 3 (Elo, prediction accuracy and squared error over training), AlphaZero, Figure 1 (Elo
over training steps).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from az_engine.models.report.runpage import run_title
from az_engine.models.selfplay.nets.rating import FIXED, described, learning_curves
from az_engine.models.train.log import read_config, read_log

WINDOW = 9  # log rows of the moving average of losses
BLUE, ORANGE, GREEN, GREY = "tab:blue", "tab:orange", "tab:green", "tab:grey"
MOSAIC: Any = [["elo", "elo"], ["policy", "value"], ["accuracy", "length"], ["results", "resignation"]]

Rows = list[dict[str, Any]]


def draw(rows: Rows, ladder: Rows, heading: str) -> Figure:
    """Draw seven charts over training steps."""
    steps = [r for r in rows if "loss" in r]
    played = [{**r["selfplay"], "step": r["step"]} for r in rows if "selfplay" in r]
    held = [{**r["heldout"], "step": r["step"]} for r in rows if isinstance(r.get("heldout"), dict)]
    gate = [{**r["gate"], "step": r["step"]} for r in rows if "gate" in r]
    figure = Figure(figsize=(9, 11), layout="constrained")
    figure.suptitle(f"{heading}: {steps[-1]['games']:,} games, {steps[-1]['minutes']:.0f} minutes")
    charts = figure.subplot_mosaic(MOSAIC, height_ratios=[1.5, 1, 1, 1])
    elo(charts["elo"], ladder, gate)
    for name, label in (("policy", "policy cross-entropy, nats"), ("value", "value loss")):
        line(charts[name], steps, name, BLUE, "trained on")
        line(charts[name], held, name, ORANGE, "held-out games")
        charts[name].set_ylabel(label)
    line(charts["accuracy"], held, "top1", ORANGE, "")
    charts["accuracy"].set_ylabel("search's move found")
    line(charts["length"], played, "length", BLUE, "")
    charts["length"].set_ylabel("plies a game")
    charts["length"].set_ylim(bottom=0)
    results(charts["results"], played)
    resignation(charts["resignation"], played)
    for name in ("accuracy", "results", "resignation"):
        charts[name].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    last = max(r["step"] for r in [*rows, *ladder])
    for chart in charts.values():
        chart.set_xlim(-0.02 * last, 1.02 * last)
        chart.set_xlabel("training steps")
        chart.grid(alpha=0.3)
        if chart.get_legend_handles_labels()[0]:
            chart.legend(fontsize="small")
    return figure


def elo(chart: Axes, ladder: Rows, gate: Rows) -> None:
    """Elo over steps with 95 % intervals; fixed players as horizontal lines, the gate's decisions at the bottom."""
    chart.set_ylabel("Elo with 95 % intervals")
    curves = learning_curves(ladder)
    for way, points in curves.items():
        if points[0][0] == FIXED:
            rating = points[0][1]
            chart.axhline(rating.elo, color=GREY, linestyle="--", linewidth=1)
            text = described(way) if rating.elo == 0.0 else f"{described(way)}: {rating.elo:+.0f}"
            place = (0.99, rating.elo)
            chart.annotate(text, place, xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize="small")
            continue
        x = np.array([step for step, _ in points])
        y, low, high = np.array([(r.elo, r.low, r.high) for _, r in points]).T
        colour, label = (ORANGE, "network alone") if way == "raw" else (BLUE, f"network, {way[1:]} visits")
        chart.errorbar(x, y, yerr=[y - low, high - y], color=colour, marker="o", markersize=4, capsize=3, label=label)
    for promoted, marker, colour in ((True, "^", GREEN), (False, "v", GREY)):
        x = np.array([r["step"] for r in gate if r["promoted"] == promoted])
        if len(x):
            label = f"gate: {'' if promoted else 'not '}promoted"
            low_edge = chart.get_xaxis_transform()
            chart.plot(x, np.full(len(x), 0.03), marker, color=colour, transform=low_edge, label=label)


def results(chart: Axes, played: Rows) -> None:
    """Draw the shares of recent games by result."""
    line(chart, played, "first_wins", BLUE, "first player wins")
    if any(r["draws"] for r in played):
        line(chart, played, "draws", GREEN, "draws")
    line(chart, played, "capped", GREY, "ended by the limit of moves")
    chart.set_ylim(0, 1)
    chart.set_ylabel("share of games")


def resignation(chart: Axes, played: Rows) -> None:
    """Draw the share of resigned games and of wrong resignations (games that were not lost)."""
    line(chart, played, "resigned", BLUE, "games given up")
    line(chart, played, "resign_wrong", ORANGE, "would not have been lost")
    chart.axhline(0.05, color=GREY, linestyle="--", linewidth=1, label="5 %: no more may be wrong")
    chart.set_ylim(0, 1)
    chart.set_ylabel("share of games")


def line(chart: Axes, rows: Rows, key: str, colour: str, name: str) -> None:
    """Draw a column over steps; many rows are drawn faintly with their moving average."""
    points = [(r["step"], np.nan if r.get(key) is None else r[key]) for r in rows]
    if not points:
        return
    x, y = np.array(points, float).T
    if len(y) > 4 * WINDOW and not np.isnan(y).any():
        chart.plot(x, y, color=colour, alpha=0.25, linewidth=0.8)
        x, y = (np.convolve(v, np.full(WINDOW, 1 / WINDOW), "valid") for v in (x, y))
    chart.plot(x, y, color=colour, label=name or None, marker="o" if len(y) < 30 else "", markersize=3)


def main(run: Path, out: Path) -> None:
    """Draw the curves of the run in folder ``run`` to ``out``."""
    title = run_title(read_config(run / "config.json"))
    draw(read_log(run / "log.jsonl"), read_log(run / "ladder.jsonl"), title).savefig(out, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
