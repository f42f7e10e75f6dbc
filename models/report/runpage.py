"""A training run as one page that opens from the disk: curves, its state, and games to click through."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine.errors import AzError, DataError
from ...engine.files import write_atomically
from ...engine.games import game_names, get_game
from ...engine.games.record import format_named, is_record, read_games
from ...protocols.page.paper import write_paper
from ...protocols.page.scoresheet import Scoresheet
from ..selfplay.charts import FIXED, learning_curves
from ..selfplay.ladder import described
from ..selfplay.rundir import Beat
from ..train.log import read_config, read_log

if TYPE_CHECKING:
    from ...engine.games.record import Record

MOST_POINTS, MOST_GAMES = 400, 50
SILENT_S = 300.0  # a log or a worker that has written nothing for so long is silent
WRONG_RESIGNATIONS = 0.05
_VALUE = re.compile(r"[+-]\d+\.\d+")

Rows = list[dict[str, Any]]


def write_run_page(folder: Path, out: Path, learner: str = "") -> None:
    """Write the page of a run to ``out``; ``learner``: what the learner does now, "" where nobody knows.

    Errors: DataError when nothing was logged yet, or for a full disk.
    """
    heading = run_title(read_config(folder / "config.json"))
    page = write_paper(heading, "runpage.js", run_data(folder, heading, learner))
    write_atomically(out, page.encode())


def run_title(config: dict[str, Any]) -> str:
    """One line that names the run."""
    net, run = config.get("net", {}), config.get("run", {})
    preset = f", preset {run['preset']}" if run.get("preset") else ""
    game = run.get("game") or config.get("game", "")
    return f"{game}, {net.get('kind', '')} {net.get('blocks', '')}x{net.get('filters', '')}{preset}"


def run_data(folder: Path, heading: str, learner: str = "") -> dict[str, Any]:
    """What the page draws; of long runs every so many rows. Errors: DataError."""
    rows, config = read_log(folder / "log.jsonl"), read_config(folder / "config.json")
    steps = [row for row in rows if "loss" in row]
    if not steps:
        raise DataError("the run has logged nothing yet; wait for its first training steps")
    ladder = folder / "ladder.jsonl"
    curves = learning_curves(read_log(ladder)) if ladder.exists() else {}
    played = [{**row["selfplay"], "step": row["step"]} for row in rows if "selfplay" in row]
    held = [{**row["heldout"], "step": row["step"]} for row in rows if isinstance(row.get("heldout"), dict)]
    game = config.get("run", {}).get("game") or config.get("game", "")
    return {
        "title": heading,
        "game": game,
        "facts": _facts(folder, steps, played, learner),
        "warnings": _warnings(folder, held, played),
        "rows": _thinned([_kept(row, ("step", "minutes", "games", "policy", "value", "reuse")) for row in steps]),
        "held": _thinned([_kept(row, ("step", "policy", "value", "top1", "result_error")) for row in held]),
        "played": _thinned(
            [_kept(row, ("step", "length", "first_wins", "draws", "resigned", "resign_wrong")) for row in played]
        ),
        "gate": [[row["step"], bool(row["gate"]["promoted"])] for row in rows if "gate" in row],
        "elo": {
            "network alone" if way == "raw" else f"network, {way[1:]} visits": [
                [step, *(round(x, 1) for x in (rating.elo, rating.low, rating.high))] for step, rating in points
            ]
            for way, points in curves.items()
            if points[0][0] != FIXED
        },
        "fixed": [
            [described(way), round(points[0][1].elo, 1)] for way, points in curves.items() if points[0][0] == FIXED
        ],
        "games": list(islice(_games(folder / "examples", str(game)), MOST_GAMES)),
    }


def _kept(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names if isinstance(row.get(name), int | float)}


def _thinned(rows: Rows) -> Rows:
    every = max(-(-len(rows) // MOST_POINTS), 1)
    return rows[::every] if not rows or (len(rows) - 1) % every == 0 else [*rows[::every], rows[-1]]


def _facts(folder: Path, steps: Rows, played: Rows, learner: str) -> list[list[str]]:
    """What the head of the page tells: names and values."""
    last = steps[-1]
    facts = [["training steps", f"{last['step']:,}"]]
    if "minutes" in last:
        facts.append(["time", f"{last['minutes'] / 60:.1f} hours"])
    named = {"games": "games", "positions": "positions trained on"}
    facts += [[name, f"{last[key]:,}"] for key, name in named.items() if key in last]
    if last.get("minutes") and last.get("games"):
        facts.append(["games an hour", f"{60 * last['games'] / last['minutes']:,.0f}"])
    if played and "length" in played[-1]:
        facts.append(["plies a game", f"{played[-1]['length']:.0f}"])
    age = time.time() - (folder / "log.jsonl").stat().st_mtime
    over = (folder / "finished").exists()
    facts.append(
        ["state", "finished" if over else "running" if age < SILENT_S else f"silent for {age / 60:.0f} minutes"]
    )
    if learner and not over:
        facts.append(["learner", learner])
    beats = [beat for path in sorted((folder / "workers").glob("????.json")) if (beat := Beat.read(path)) is not None]
    for beat in beats:
        fill = f", batches {100 * beat.evaluations / beat.rows:.0f} % full" if beat.rows else ""
        rate = f", {beat.evaluations / beat.seconds:,.0f} evaluations a second" if beat.seconds else ""
        facts.append([f"worker {beat.worker}", f"{beat.state}, {beat.games:,} games{rate}{fill}"])
    return facts


def _warnings(folder: Path, held: Rows, played: Rows) -> list[str]:
    found = []
    values = [row["value"] for row in held if "value" in row][-4:]
    if len(values) == 4 and values == sorted(values) and values[0] < values[-1]:
        found.append("The value loss on held-out games has risen at the last three checkpoints.")
    wrong = [row["resign_wrong"] for row in played if row.get("resign_wrong") is not None][-1:]
    if wrong and wrong[0] > WRONG_RESIGNATIONS:
        found.append(f"{100 * wrong[0]:.0f} % of the games that were given up would not have been lost.")
    if (folder / "finished").exists():
        return found
    for path in sorted((folder / "workers").glob("????.json")):
        age = time.time() - path.stat().st_mtime
        if age > SILENT_S:
            found.append(f"Worker {path.stem.lstrip('0')} has been silent for {age / 60:.0f} minutes.")
    return found


def _games(folder: Path, game: str) -> Iterator[dict[str, Any]]:
    """Games of the newest checkpoints first: the last one of each, then earlier ones. Only of boards that we draw."""
    family = game.rstrip("0123456789")
    if family not in game_names() or get_game(family).pieces == "discs":
        return
    files = sorted(folder.glob("step_*"), reverse=True) if folder.is_dir() else []
    for turn in range(8):
        for path in files:
            sheet = Scoresheet(family)
            formats = sheet.game.record_formats
            if not is_record(formats, path):
                continue
            records = list(read_games([format_named(formats, path.name)], path))
            if turn < len(records):
                step = int(re.sub(r"\D", "", path.stem) or 0)
                told = _told(sheet, records[-1 - turn], step)
                if told is not None:
                    yield {"id": f"{step}-{turn}", **told}


def _told(sheet: Scoresheet, record: Record, step: int) -> dict[str, Any] | None:
    """A game with its positions, each as what differs from the one before; None for a damaged one."""
    try:
        sheet.hold(record.root, record.moves)
    except AzError:
        return None
    plies = sheet.shown(0, len(sheet.moves))["plies"]
    scores: list[float | None] = []
    for ply, comment in enumerate(record.comments[1:]):  # the mover's view, before its move
        found = _VALUE.search(comment)
        value = None if found is None else float(found[0]) * (1 if plies[ply]["turn"] == 0 else -1)
        scores.append(None if value is None else round((1 + value) / 2, 3))
    texts = [ply["text"] for ply in plies]
    return {
        "step": step,
        "result": record.result,
        "reason": record.reason,
        "first": texts[0],
        "turn": plies[0]["turn"],
        "changes": [_change(before, after) for before, after in pairwise(texts)],
        "moves": sheet.moves,
        "words": [ply["word"] for ply in plies[1:]],
        "scores": scores,
    }


def _change(before: str, after: str) -> list[Any]:
    """[characters kept in front, characters kept behind, what stands between]."""
    most = min(len(before), len(after))
    front = next((i for i in range(most) if before[i] != after[i]), most)
    most -= front
    behind = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
    return [front, behind, after[front : len(after) - behind]]
