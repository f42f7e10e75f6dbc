"""``az-engine plot``: the curves of a training run as a PNG and as one HTML page that needs nothing else."""

from __future__ import annotations

import argparse
import base64
import html
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ...engine.errors import DataError
from ...engine.os.files import check_writable, write_atomically
from ..fields import Help
from ..selfplay import charts
from ..train.log import read_config, read_log
from .runpage import run_title, write_run_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HELP = "draw the curves of a training run"
WINDOW = 25  # log rows of the moving average
TRAINED, HELD_OUT = "tab:blue", "tab:orange"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Draw loss, move accuracy, value error and learning rate of a run of az-engine train, also while it runs; of a "
        "self-play run Elo with 95 % intervals, game length and resignations, too. "
        "Writes curves.png, curves.html and run.html, with games to click through, into the run's folder."
    )
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine plot runs/first
  az-engine plot runs/first --out pictures"""
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of the run (its --out)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=None, help="folder to write to instead of RUN")


def main(args: argparse.Namespace) -> int:
    folder = args.out or args.run
    check_writable(folder / "curves.png")
    rows = read_log(args.run / "log.jsonl")
    config = read_config(args.run / "config.json")
    played = args.run / "ladder.jsonl"
    if "run" in config:  # of self-play
        figure = charts.draw(rows, read_log(played) if played.exists() else [], run_title(config))
    else:
        figure = draw(rows, run_title(config))
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    write_atomically(folder / "curves.png", picture.getvalue())
    write_atomically(folder / "curves.html", page(rows, config, picture.getvalue()).encode())
    write_run_page(args.run, folder / "run.html")
    Console(stderr=True).print(f"written: {folder}/curves.png, {folder}/curves.html, {folder}/run.html")
    return 0


def draw(rows: list[dict[str, Any]], heading: str) -> Figure:
    """Four charts over the positions seen. Errors: DataError when nothing was logged yet."""
    from matplotlib.figure import Figure

    steps = [row for row in rows if "loss" in row]
    measured = [{**row["heldout"], **row} for row in rows if isinstance(row.get("heldout"), dict)]
    if not steps:
        raise DataError("the run has logged nothing yet; wait for its first steps")
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    figure.suptitle(heading)
    charts = figure.subplots(2, 2)
    curve(charts[0, 0], steps, "policy", "policy cross-entropy, nats", TRAINED, "trained on")
    curve(charts[0, 0], measured, "policy", "policy cross-entropy, nats", HELD_OUT, "held out")
    curve(charts[0, 1], measured, "top1", "held out: best move is the target's", HELD_OUT, "top-1")
    curve(charts[1, 0], measured, "result_error", "held out: squared error / 4", HELD_OUT, "of the game's result")
    curve(charts[1, 0], measured, "teacher_error", "held out: squared error / 4", TRAINED, "of the value target")
    curve(charts[1, 1], steps, "rate", "learning rate", TRAINED, "learning rate")
    for chart in charts.flat:
        chart.set_xlabel("positions seen, millions")
        chart.grid(alpha=0.3)
        if chart.get_legend_handles_labels()[0]:
            chart.legend()
    return figure


def curve(chart: Axes, rows: list[dict[str, Any]], key: str, label: str, colour: str, name: str) -> None:
    """One line of a chart; many rows are shown faintly with their moving average."""
    points = [(row["positions"] / 1e6, row[key]) for row in rows if key in row and "positions" in row]
    chart.set_ylabel(label)
    if not points:
        return
    x, y = np.array(points, float).T
    if len(y) > 2 * WINDOW and key != "rate":
        chart.plot(x, y, color=colour, alpha=0.2, linewidth=0.8)
        x, y = (np.convolve(values, np.full(WINDOW, 1 / WINDOW), "valid") for values in (x, y))
    chart.plot(x, y, color=colour, label=name, marker="o" if len(y) < 40 else "", markersize=3)


def page(rows: list[dict[str, Any]], config: dict[str, Any], picture: bytes) -> str:
    """The whole HTML page: the newest figures, the charts, the settings."""
    latest: dict[str, Any] = {}
    for row in rows:
        latest |= {k: v for k, v in row.items() if k != "heldout"}
        latest |= {f"held out: {k}": v for k, v in row.get("heldout", {}).items()}
        latest |= {f"self-play: {k}": v for k, v in latest.pop("selfplay", {}).items()}
        latest |= {f"{k}, Elo [95 %]": "{} [{}, {}]".format(*v) for k, v in latest.pop("ratings", {}).items()}
    cells = "".join(f"<tr><td>{html.escape(str(k))}</td><td>{_number(v)}</td></tr>" for k, v in latest.items())
    image = base64.b64encode(picture).decode()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(run_title(config))}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}}
img{{width:100%}}td{{padding:.1rem 1.5rem .1rem 0}}pre{{background:#8881;padding:1rem;overflow:auto}}</style></head>
<body><h1>{html.escape(run_title(config))}</h1>
<p>{html.escape(str(config.get("data", "")))}</p>
<img alt="Curves of the training run" src="data:image/png;base64,{image}">
<h2>Newest figures</h2><table>{cells}</table>
<h2>Settings</h2><pre>{html.escape(json.dumps(config, indent=1))}</pre></body></html>
"""


def _number(value: Any) -> str:
    return (
        f"{value:,.4g}"
        if isinstance(value, float)
        else html.escape(f"{value:,}" if isinstance(value, int) else str(value))
    )
