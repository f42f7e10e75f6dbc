"""A training run as one page that opens from the disk: curves, its state, and games to click through."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ...engine.errors import AzError, counted
from ...engine.games import game_names, get_game
from ...engine.games.diagram import board_rows
from ...engine.os.files import check_writable, write_atomically
from ...engine.records.formats import format_named, is_record, read_games
from ...protocols.page.paper import write_paper
from ...protocols.page.scoresheet import Scoresheet
from ...protocols.serve.runpage import RUN_PAGE
from ..fields import Help
from ..selfplay.folder import Heartbeat
from ..selfplay.nets.rating import FIXED, described, learning_curves
from ..selfplay.show.table import span
from ..train.log import read_config, read_log

if TYPE_CHECKING:
    from ...engine.games.base import Game
    from ...engine.records.record import Record

MOST_POINTS, MOST_GAMES = 400, 50
OUTSIDE = "outside.json"  # of az-engine report outside, in the run's folder
SILENT_S = 300.0  # a log or a worker that has written nothing for so long is silent
WRONG_RESIGNATIONS = 0.05
_OF_GAMES = ("step", "length", "first_wins", "draws", "capped", "resigned", "resign_wrong")
_VALUE = re.compile(r"[+-]\d+\.\d+")

EVERY_S, SHARE = 10.0, 0.02  # seconds between two pages of a run that goes on; what they may cost of its time

STOPPED = {"state": "stopped; the same command goes on"}  # what the trainer tells at its end

HELP = "write the page of a training run: its curves, settings and games"

Rows = list[dict[str, Any]]
Facts = Mapping[str, str]  # facts by name, as the trainer knows them now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write run.html, the page of a run of az-engine train, into the run's folder, also while it runs: loss, move "
        "accuracy, value error, learning rate, settings; of a self-play run also Elo with 95 % intervals, length and "
        "results of games, resignations, and games to click through."
    )
    parser.formatter_class = Help
    parser.epilog = """\
examples:
  az-engine plot runs/first
  az-engine plot runs/first --out pictures"""
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of the run (its --out)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=None, help="folder to write to instead of RUN")


def main(args: argparse.Namespace) -> int:
    path = (args.out or args.run) / RUN_PAGE
    if args.out is None:
        read_config(args.run / "config.json")  # before the folder is made
    check_writable(path)
    write_run_page(args.run, path)
    Console(stderr=True).print(f"written: {path}", soft_wrap=True)
    return 0


def write_run_page(folder: Path, out: Path, trainer: Facts | None = None) -> None:
    """Write the page of a run to ``out``; ``trainer``: what the trainer adds to what the folder says, or knows better.

    Errors: DataError when the folder is none of a run; OSError for a full disk.
    """
    heading = run_title(read_config(folder / "config.json"))
    page = write_paper(heading, "papers/runpage.js", run_data(folder, heading, trainer or {}))
    write_atomically(out, page.encode())


class LivePage:
    """Keeps the page of a run up while the trainer runs: at once on request, else as often as its cost allows."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """``say`` gets the sentence when the page cannot be written, each once; the run goes on."""
        self._folder, self._say, self._last_fault = folder, say, ""
        self._due = 0.0  # by the monotonic clock

    def write(self, tell: Callable[[], Facts], *, now: bool = False) -> None:
        """Write the page when it is due, or ``now``, with what ``tell`` says. Blocks for a fraction of a second."""
        begun = time.monotonic()
        if not now and begun < self._due:
            return
        try:
            write_run_page(self._folder, self._folder / RUN_PAGE, tell())
        except (AzError, OSError) as error:
            if str(error) != self._last_fault:
                self._last_fault = str(error)
                self._say(f"the run's page is not written: {error}")
        end = time.monotonic()
        self._due = end + max(EVERY_S, (end - begun) / SHARE)


def run_title(config: dict[str, Any]) -> str:
    """One line that names the run."""
    net, run = config.get("net", {}), config.get("run", {})
    preset = f", preset {run['preset']}" if run.get("preset") else ""
    game = run.get("game") or config.get("game", "")
    return f"{game}, {net.get('kind', '')} {net.get('blocks', '')}x{net.get('filters', '')}{preset}"


def run_data(folder: Path, heading: str, trainer: Facts) -> dict[str, Any]:
    """What the page draws; of long runs every so many rows. Errors: DataError."""
    log, config = folder / "log.jsonl", read_config(folder / "config.json")
    rows = read_log(log) if log.exists() else []
    steps = [row for row in rows if "loss" in row]
    ladder = folder / "ladder.jsonl"
    curves = learning_curves(read_log(ladder)) if ladder.exists() else {}
    played = [{**row["selfplay"], "step": row["step"]} for row in rows if "selfplay" in row]
    held = [{**row["heldout"], "step": row["step"]} for row in rows if isinstance(row.get("heldout"), dict)]
    game = config.get("run", {}).get("game") or config.get("game", "")
    return {
        "title": heading,
        "game": game,
        "facts": [*_facts(folder, steps, played, trainer), *_unrated(config, curves)],
        "warnings": _warnings(folder, held, played),
        "rows": _thinned([_kept(row, ("step", "minutes", "games", "policy", "value", "rate")) for row in steps]),
        "held": _thinned(
            [_kept(row, ("step", "policy", "value", "top1", "result_error", "teacher_error")) for row in held]
        ),
        "played": _thinned([_kept(row, _OF_GAMES) for row in played]),
        "settings": config,
        "gate": [[row["step"], bool(row["gate"]["promoted"])] for row in rows if "gate" in row],
        "elo": {
            "network alone" if way == "raw" else f"network, {counted(int(way[1:]), 'visit')}": [
                [step, *(round(x, 1) for x in (rating.elo, rating.low, rating.high))] for step, rating in points
            ]
            for way, points in curves.items()
            if points[0][0] != FIXED
        },
        "fixed": [
            [described(way), round(points[0][1].elo, 1)] for way, points in curves.items() if points[0][0] == FIXED
        ],
        "outside": _outside(folder / OUTSIDE),
        "games": list(islice(_games(folder / "examples", str(game)), MOST_GAMES)),
    }


def _outside(path: Path) -> dict[str, Any] | None:
    """What az-engine report outside has found; None where it has not run, or the file is damaged."""
    try:
        result = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def _kept(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names if isinstance(row.get(name), int | float)}


def _thinned(rows: Rows) -> Rows:
    every = max(-(-len(rows) // MOST_POINTS), 1)
    return rows[::every] if not rows or (len(rows) - 1) % every == 0 else [*rows[::every], rows[-1]]


def _facts(folder: Path, steps: Rows, played: Rows, trainer: Facts) -> list[list[str]]:
    """What the head of the page tells: names and values."""
    last = steps[-1] if steps else {"step": 0}
    age = time.time() - max(path.stat().st_mtime for path in (folder / "config.json", *folder.glob("log.jsonl")))
    over = (folder / "finished").exists()
    running = "running" if trainer or age < SILENT_S else f"silent for {age / 60:.0f} minutes"
    facts = {"state": "finished" if over else running, "training steps": f"{last['step']:,}"}
    if "minutes" in last:
        facts["time"] = span(60 * last["minutes"])
    named = {"games": "games", "positions": "positions trained on"}
    facts |= {name: f"{last[key]:,}" for key, name in named.items() if key in last}
    if last.get("minutes") and last.get("games"):
        facts["games an hour"] = f"{60 * last['games'] / last['minutes']:,.0f}"
    if played and "length" in played[-1]:
        facts["plies a game"] = f"{played[-1]['length']:.0f}"
    facts |= {} if over else trainer
    return [*map(list, facts.items()), *([] if over else _workers(folder))]


def _unrated(config: dict[str, Any], curves: Mapping[str, Any]) -> list[list[str]]:
    """Why the panel of ratings is missing."""
    share = config.get("run", {}).get("ladder", {}).get("share")
    if share is None or any(points[0][0] != FIXED for points in curves.values()):
        return []
    reason = f"its games have to fit into {share:.0%} of the time" if share else "off"
    return [["Elo", f"no net is rated: {reason} (ladder.share)"]]


def _workers(folder: Path) -> list[list[str]]:
    """What each worker does."""
    facts = []
    result = (Heartbeat.read(path) for path in sorted((folder / "workers").glob("????.json")))
    for heartbeat in filter(None, result):
        fill = f", batches {100 * heartbeat.evaluations / heartbeat.rows:.0f} % full" if heartbeat.rows else ""
        rate = f", {heartbeat.evaluations / heartbeat.seconds:,.0f} evaluations a second" if heartbeat.seconds else ""
        facts.append(
            [f"worker {heartbeat.worker}", f"{heartbeat.state}, {counted(heartbeat.games, 'game')}{rate}{fill}"]
        )
    return facts


def _warnings(folder: Path, held: Rows, played: Rows) -> list[str]:
    results = []
    values = [row["value"] for row in held if "value" in row][-4:]
    if len(values) == 4 and values == sorted(values) and values[0] < values[-1]:
        results.append("The value loss on held-out games has risen at the last three checkpoints.")
    wrong = [row["resign_wrong"] for row in played if row.get("resign_wrong") is not None][-1:]
    if wrong and wrong[0] > WRONG_RESIGNATIONS:
        results.append(f"{100 * wrong[0]:.0f} % of the games that were given up would not have been lost.")
    if (folder / "finished").exists():
        return results
    for path in sorted((folder / "workers").glob("????.json")):
        age = time.time() - path.stat().st_mtime
        if age > SILENT_S:
            results.append(f"Worker {path.stem.lstrip('0')} has been silent for {age / 60:.0f} minutes.")
    return results


def _games(folder: Path, game: str) -> Iterator[dict[str, Any]]:
    """Games of the newest checkpoints first: the last one of each, then earlier ones."""
    family = game.rstrip("0123456789")
    if family not in game_names():
        return
    files = sorted(folder.glob("step_*"), reverse=True) if folder.is_dir() else []
    for turn in range(8):
        for path in files:
            shown = _game(family, path, path.stat().st_mtime_ns, turn)
            if shown is not None:
                yield shown


@lru_cache(maxsize=200)  # a page is written again and again, and old games stay
def _game(family: str, path: Path, _: int, turn: int) -> dict[str, Any] | None:
    """The last game but ``turn`` of a file; None when there is none, or it is damaged. ``_``: when it was written."""
    formats = get_game(family).record_formats
    if not is_record(formats, path):
        return None
    try:
        records = list(read_games([format_named(formats, path.name)], path))
    except AzError:
        return None
    step = int(re.sub(r"\D", "", path.stem) or 0)
    shown = _positions(Scoresheet(family), records[-1 - turn], step) if turn < len(records) else None
    return None if shown is None else {"id": f"{step}-{turn}", **shown}


def _positions(sheet: Scoresheet, record: Record, step: int) -> dict[str, Any] | None:
    """A game with its positions, each as what differs from the one before; None for a damaged one."""
    try:
        sheet.hold(record.root, record.moves)
    except AzError:
        return None
    shown = sheet.shown(0, len(sheet.moves))
    plies, end, result = shown["plies"], shown["end"], record.result
    if result is None and end is not None:  # of a format without results
        result = {0: 1, 1: -1, None: 0}[end["winner"]]
    scores: list[float | None] = []
    for ply, comment in enumerate(record.comments[1:]):  # the mover's view, before its move
        match = _VALUE.search(comment)
        value = None if match is None else float(match[0]) * (1 if plies[ply]["turn"] == 0 else -1)
        scores.append(None if value is None else round((1 + value) / 2, 3))
    texts, moves = [ply["text"] for ply in plies], sheet.moves
    if sheet.game.pieces == "discs":  # of any game: drawn by what stands on its squares
        texts = [_squares(sheet.game, text) for text in texts]
        moves = [_filled(before, after) for before, after in pairwise(texts)]
    return {
        "step": step,
        "result": result,
        "reason": record.reason,
        "first": texts[0],
        "turn": plies[0]["turn"],
        "changes": [_change(before, after) for before, after in pairwise(texts)],
        "moves": moves,
        "words": [ply["word"] for ply in plies[1:]],
        "scores": scores,
    }


def _squares(game: Game, text: str) -> str:
    """A position as rows from the top, a letter or '.' for each square and '/' between rows."""
    return "/".join("".join(square or "." for square in row) for row in board_rows(game, text))


def _filled(before: str, after: str) -> str:
    """The square that a move has filled, as in a1 from the bottom left; empty when there is not one."""
    rows = after.split("/")
    results = [
        f"{chr(ord('a') + x)}{len(rows) - y}"
        for y, (old, new) in enumerate(zip(before.split("/"), rows, strict=False))
        for x, (was, now) in enumerate(zip(old, new, strict=False))
        if was == "." != now
    ]
    return results[0] if len(results) == 1 else ""


def _change(before: str, after: str) -> list[Any]:
    """[characters kept in front, characters kept behind, what stands between]."""
    most = min(len(before), len(after))
    front = next((i for i in range(most) if before[i] != after[i]), most)
    most -= front
    behind = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
    return [front, behind, after[front : len(after) - behind]]
