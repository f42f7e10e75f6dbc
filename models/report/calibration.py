"""What players say of their positions beside what happened: expected points and draws, by tenths.

Read from recorded games: a match's folder or its games.jsonl, or game records whose comments az-engine match wrote
(PGN, CSA, KIF, SGF). A player's score of a move counts with the game's result, both from its own view; announced mates
and games that ended by a fault are left out. Games are counted, not plies: in each tenth a game's first position tells.
(A mean over the positions of a game would not do, even of true chances: a game that comes close to being won and is
drawn leaves early, yet it would weigh as much as those that stay.) The 95 % intervals take games as independent.

--fit finds the numbers of a game's chances (Calibration in engine/info.py) from the searches' mean outcomes, and
shows what they say of games that they were not fitted to: each half of the games is judged by the fit of the other.
Games that begin with the same six plies stay in one half.

Examples:
  az-engine match -A "default name=A nodes=21600" -B "default name=B nodes=21700" --openings random:6 --out runs/mirror
  az-engine report calibration runs/mirror --fit --out calibration.svg

"""

from __future__ import annotations

import argparse
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ...bench.match.tournament import JOURNAL, SETTINGS, each_once, parse_journal, read_identity
from ...bench.ratings.elo import Z95
from ...engine.errors import DataError, OptionError, counted
from ...engine.games import game_names, get_game
from ...engine.games.base import Game, State
from ...engine.info import Calibration
from ...engine.records.formats import is_record, read_games
from ...engine.records.record import Record
from .figures import check_name, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
TENTHS = 10
_SHARED = 6  # plies that games of one half may share
_FEWEST = 20  # games on which numbers can be fitted
_ROUNDS, _STEPS = 32, np.linspace(-1.0, 1.0, 5)
_WDL = re.compile(r"\bwdl (\d+) (\d+) (\d+)")
_MEAN = re.compile(r"\bQ ([+-]\d\.\d+)")
_CHANCE = re.compile(r"(?:^|, )(\d+\.\d) %")
_SCORE = re.compile(r"(?:^|, )([+-]\d+) cp")
_MATE = re.compile(r"(?:^|, )mate ")


@dataclass(frozen=True, slots=True)
class Predictions:
    """What players reported of N positions, each from the view of the side to move."""

    game: NDArray[np.int64]  # number of its game
    half: NDArray[np.int64]  # 0 or 1, in which the game is
    points: Floats  # expected, in [0, 1]
    draw: Floats  # chance of a draw, NaN where it was not reported
    mean: Floats  # the search's mean outcome in [-1, 1], NaN where it was not reported
    pieces: Floats  # on the board
    result: Floats  # 1, 0.5 or 0

    def of(self, chosen: NDArray[np.bool_]) -> Predictions:
        """Those with True in ``chosen``, bool[N]."""
        return Predictions(*(getattr(self, name)[chosen] for name in self.__slots__))

    def recast(self, fit: Calibration) -> Predictions:
        """What the numbers say instead."""
        win, draw, _ = fit.chances(self.mean, self.pieces)
        return Predictions(self.game, self.half, win + draw / 2, draw, self.mean, self.pieces, self.result)


@dataclass(frozen=True, slots=True)
class Tenth:
    """The positions whose expected points lie in one tenth; means over the first one of each game."""

    games: int
    positions: int
    predicted: float
    happened: float
    margin: float  # half of the 95 % interval of the difference; NaN for one game
    draws_predicted: float  # NaN where draws were not reported
    draws_happened: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("games", metavar="GAMES", type=Path, nargs="+", help="a match's folder, its games.jsonl, or game records")
    add("--fit", action="store_true", help="fit chances to the results, and show them on games held out")
    add("--title", default="", metavar="TEXT", help="above the picture")
    add(
        "--out",
        type=Path,
        default=Path("calibration.svg"),
        metavar="FILE",
        help=".svg, .png or .html (default: %(default)s)",
    )
    add("--json", action="store_true", help="print one JSON object instead of a table")


def main(args: argparse.Namespace) -> int:
    check_name(args.out)
    predicted = collect(record for path in each_once(args.games) for record in records_of(path))
    series, result = {"as said": tenths(predicted)}, dict[str, Any]()
    if args.fit:
        fitted, held_out = cross_fit(predicted)
        series["fitted, held out"] = tenths(held_out)
        result["fit"] = {name: round(number, 3) for name, number in asdict(fitted).items()}
    result |= {"games": len(np.unique(predicted.game)), "positions": len(predicted.game)}
    rows = {name: [row(place, tenth) for place, tenth in parts.items()] for name, parts in series.items()}
    if args.json:
        shown = {name: [dict(zip(HEAD, cells, strict=True)) for cells in part] for name, part in rows.items()}
        print(json.dumps({**result, "tenths": shown}))
    else:
        show(result, rows)
    title = args.title or f"Said and happened, {counted(result['games'], 'game')}"
    lines = [["", *HEAD], *([name, *cells] for name, part in rows.items() for cells in part)]
    write_figure(args.out, draw(series, title), title, lines)
    Console(stderr=True).print(f"written: {args.out}")
    return 0


def records_of(path: Path) -> Iterator[tuple[Game, Record]]:
    """The games of a match's folder, its journal or a file of records. Errors: DataError, OptionError."""
    path = path / JOURNAL if path.is_dir() else path
    if path.suffix == ".jsonl":
        game = get_game(str(read_identity(path.with_name(SETTINGS))["game"]))
        text = path.read_text(encoding="utf-8", errors="replace")
        for played in parse_journal(text[: text.rfind("\n") + 1], str(path)):  # the last line may still be written
            if played.fault is None:
                yield game, played.record
        return
    for name in game_names():
        game = get_game(name)
        if is_record(game.record_formats, path):
            yield from ((game, record) for record in read_games(game.record_formats, path) if whole(record))
            return
    raise OptionError(f"{path} holds no games: give the --out of a match, its {JOURNAL}, or records such as .pgn")


def whole(record: Record) -> bool:
    """Whether the game was read to its end and ended by no player's fault."""
    return record.result is not None and not record.fault and record.headers.get("Termination", "normal") == "normal"


def collect(games: Iterable[tuple[Game, Record]]) -> Predictions:
    """What was reported in games with a result. Errors: DataError where no game has a report."""
    results: list[tuple[float, ...]] = []
    for number, (game, record) in enumerate(games):
        if record.result is None or not record.comments:
            continue
        half = zlib.crc32(repr((record.root, record.moves[:_SHARED])).encode()) % 2
        for state, comment in zip(positions(game, record), record.comments[1:], strict=True):
            if (values := read_comment(game, comment)) is not None:
                mine = record.result * (1 if game.side_to_move(state) == 0 else -1)
                results.append((number, half, *values, game.count_pieces(state), (1 + mine) / 2))
    if not results:
        raise DataError("no game has a result and comments with the players' scores, as az-engine match writes them")
    columns = np.array(results).T
    return Predictions(*columns[:2].astype(np.int64), *columns[2:])


def positions(game: Game, record: Record) -> Iterator[State]:
    """State[] before each move."""
    line = game.initial() if record.root is None else game.parse_position(record.root)[0]
    states = np.empty(len(line) + len(record.moves), line.dtype)
    states[: len(line)] = line
    for at, text in enumerate(record.moves, len(line) - 1):
        yield states[at]
        game.play_at(states, at, game.parse_move(states[: at + 1], text))


def read_comment(game: Game, text: str) -> tuple[float, float, float] | None:
    """(expected points, draw, mean outcome), NaN for what is not reported; None where no chance is."""
    if _MATE.search(text):
        return None
    mean = float(match[1]) if (match := _MEAN.search(text)) else float("nan")
    if match := _WDL.search(text):
        win, even, loss = (int(number) / 1000 for number in match.groups())
        return win + even / 2, even, win - loss if mean != mean else mean
    if match := _CHANCE.search(text):
        return float(match[1]) / 100, float("nan"), float(match[1]) / 50 - 1 if mean != mean else mean
    if match := _SCORE.search(text):
        return game.expected_points(float(match[1])), float("nan"), mean
    return None


def tenths(predicted: Predictions) -> dict[int, Tenth]:
    """The tenths of the expected points that hold positions, by number."""
    place = np.minimum((predicted.points * TENTHS).astype(np.int64), TENTHS - 1)
    return {int(k): _tenth(predicted.of(place == k)) for k in np.unique(place)}


def _tenth(predicted: Predictions) -> Tenth:
    games, positions = len(np.unique(predicted.game)), len(predicted.game)
    predicted = predicted.of(_visit(predicted.game) == 0)
    error = float((predicted.result - predicted.points).std(ddof=1)) / games**0.5 if games > 1 else float("nan")
    points, result, draw = (float(values.mean()) for values in (predicted.points, predicted.result, predicted.draw))
    return Tenth(games, positions, points, result, Z95 * error, draw, float((predicted.result == 0.5).mean()))


def _visit(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each key came before."""
    _, index, count = np.unique(keys, return_inverse=True, return_counts=True)
    visit = np.empty(len(keys), np.int64)
    visit[index.argsort(kind="stable")] = np.arange(len(keys)) - np.repeat(count.cumsum() - count, count)
    return visit


def weights(predicted: Predictions) -> Floats:
    """1 / k of a game's k-th position in a tenth of the mean outcome: it depends on nothing that came later."""
    place = np.clip(((1 + predicted.mean) / 2 * TENTHS).astype(np.int64), 0, TENTHS - 1)
    return np.asarray(1.0 / (1.0 + _visit(predicted.game * TENTHS + place)), np.float64)


def fit(predicted: Predictions) -> Calibration:
    """The numbers under which the results are most likely. Errors: DataError for too few games."""
    predicted = predicted.of(np.abs(predicted.mean) < 1)  # what is proven needs no fit
    if len(np.unique(predicted.game)) < _FEWEST:
        raise DataError(f"a fit needs {_FEWEST} games or more whose comments have chances (wdl) or mean outcomes (Q)")
    weight, place = weights(predicted), np.rint(2 * predicted.result).astype(np.int64)  # 2 won, 1 drawn, 0 lost
    drawn = (place == 1).any()
    best, width = np.array([math.log(0.5) if drawn else -math.inf, math.log(0.5), 0.0]), 1.0
    changed = _STEPS if drawn and np.ptp(predicted.pieces) else [0.0]  # pieces tell draws from wins
    for _ in range(_ROUNDS):
        tried = [best + width * np.array(steps) for steps in product(_STEPS, _STEPS, changed)]
        losses = []
        for numbers in tried:
            win, draw, loss = _calibration(numbers).chances(predicted.mean, predicted.pieces)
            chance = np.choose(place, [loss, draw, win])
            losses.append(-float((weight * np.log(np.maximum(chance, 1e-12))).sum()))
        best, width = tried[int(np.argmin(losses))], width * 0.7
    return _calibration(best)


def _calibration(numbers: Floats) -> Calibration:
    """Of the logarithms of half and spread, and pieces."""
    half, spread, pieces = numbers.tolist()
    return Calibration(math.exp(half), math.exp(spread), pieces)


def cross_fit(predicted: Predictions) -> tuple[Calibration, Predictions]:
    """The numbers fitted to all games, and what the fit of one half of the games gives the other."""
    predicted = predicted.of(np.isfinite(predicted.mean))
    parts = [predicted.of(predicted.half == k) for k in (0, 1)]
    judged = [part.recast(fit(other)) for part, other in zip(parts, reversed(parts), strict=True)]
    both = (np.concatenate([getattr(part, name) for part in judged]) for name in Predictions.__slots__)
    return fit(predicted), Predictions(*both)


HEAD = ("tenth", "games", "positions", "said", "happened", "difference", "95 %", "draws said", "draws happened")


def row(place: int, tenth: Tenth) -> list[str]:
    """A tenth as cells under ``HEAD``, in per cent."""
    shares = [tenth.predicted, tenth.happened, tenth.happened - tenth.predicted, tenth.margin]
    forms = ["{:.1f}", "{:.1f}", "{:+.1f}", "± {:.1f}", "{:.1f}", "{:.1f}"]
    cells = zip(forms, [*shares, tenth.draws_predicted, tenth.draws_happened], strict=True)
    texts = [form.format(100 * share) if share == share else "" for form, share in cells]
    return [f"{10 * place}-{10 * place + 10}", str(tenth.games), str(tenth.positions), *texts]


def show(result: dict[str, Any], rows: dict[str, list[list[str]]]) -> None:
    console = Console()
    for name, part in rows.items():
        table = Table(
            *HEAD, title=f"{name}: expected points in per cent, of the first position of each game in a tenth"
        )
        for column in table.columns:
            column.justify = "right"
        for cells in part:
            table.add_row(*cells)
        console.print(table)
    print(f"{counted(result['games'], 'game')}, {counted(result['positions'], 'position')}")
    if "fit" in result:
        print("fitted to all games: " + ", ".join(f"{name} {number}" for name, number in result["fit"].items()))


def draw(series: dict[str, dict[int, Tenth]], title: str) -> Figure:
    """What happened over what was predicted, with 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 5.0), layout="constrained")
    chart = figure.subplots()
    chart.plot([0, 100], [0, 100], color="0.6", linewidth=0.8, zorder=0)
    for number, (name, parts) in enumerate(series.items()):
        shown = list(parts.values())
        places = [100 * part.predicted + 0.6 * number for part in shown]
        happened, bars = [100 * part.happened for part in shown], [100 * np.nan_to_num(part.margin) for part in shown]
        chart.errorbar(places, happened, yerr=bars, marker="o", markersize=4, capsize=2, linewidth=1.2, label=name)
    chart.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    chart.set_xlabel("expected points predicted, per cent")
    chart.set_ylabel("points that happened; bars: 95 % intervals")
    chart.set_title(title, fontsize=11)
    chart.grid(alpha=0.25)
    chart.spines[["top", "right"]].set_visible(False)
    if len(series) > 1:
        chart.legend(loc="upper left", fontsize=9, frameon=False)
    return figure
