"""Checkpoints of a run against players from outside, beside the ratings of its own ladder.

Nets that rate each other can share their blind spots: then Elo grows faster than strength. So a few checkpoints, the
first and the last rated ones among them, play each outside player: the search without a net that anchors the ladder,
the package's net without a search, GNU Go and Stockfish where they are installed. What they have gained in these games
stands beside what the ladder says. The games stay in --out; a report that was broken off goes on.

Examples:
  az-engine report outside runs/go7
  az-engine report outside runs/chess --against "cmd=stockfish option.UCI_LimitStrength=true option.UCI_Elo=1500"

"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ...bench.match.command import named_apart
from ...bench.match.game import MatchGame, MatchSettings
from ...bench.match.openings import choose_openings
from ...bench.match.players import MoveLimit, parse_spec
from ...bench.match.standings import rating_text, score_between
from ...bench.match.tournament import JOURNAL
from ...bench.ratings.bayes import PairScore, Rating, rate
from ...bench.ratings.elo import MatchScore
from ...engine.errors import DataError, OptionError, counted
from ...engine.games.base import Game
from ...engine.nets.weights import dense_net
from ...engine.os.files import check_writable, write_atomically
from ..selfplay.config import RunConfig, load_run
from ..selfplay.folder import RunFolder
from ..selfplay.nets.rating import anchor, described, learning_curves, scores_of
from ..train.log import read_log
from .runpage import OUTSIDE
from .scaling import play

STOCKFISH = (1350, 1700)  # its levels, in UCI_Elo


@dataclass(frozen=True)
class Outsider:
    """What came of the games with one outside player: a score and an Elo above it for each checkpoint, by its step."""

    name: str
    scores: Mapping[int, MatchScore]
    elo: Mapping[int, Rating]

    @classmethod
    def of(cls, games: Sequence[MatchGame], number: int, name: str, steps: Sequence[int]) -> Outsider:
        """From a match whose first players are the checkpoints of ``steps``, and this one player ``number``."""
        scores = {step: score_between(games, i, number) for i, step in enumerate(steps)}
        rated = rate((PairScore(str(step), name, s.wins, s.draws, s.losses) for step, s in scores.items()), name)
        return cls(name, scores, {step: rated[str(step)] for step in steps})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="folder of a self-play run")
    add("--against", metavar="SPEC", action="append", help="outside players of your choice, see az-engine match --help")
    add("--nets", type=int, default=4, metavar="N", help="checkpoints that play (default: %(default)s)")
    add("--games", type=int, default=20, metavar="N", help="games of each against each player (default: %(default)s)")
    add("--visits", type=int, metavar="N", help="visits a move of the checkpoints (default: those of the ladder)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the random moves before each pair of games")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--out", type=Path, metavar="DIR", help="the games (default: RUN/outside/step_LAST)")


def main(args: argparse.Namespace) -> int:
    if min(args.nets, args.games, args.concurrency, 1 if args.visits is None else args.visits) < 1:
        raise OptionError("--nets, --games, --visits and --concurrency must be 1 or more")
    if args.out is not None:
        check_writable(args.out / JOURNAL)
    run, folder = load_run(args.run), RunFolder(args.run)
    game, common = run.get_game(), MoveLimit(nodes=args.visits or run.ladder.visits)
    rated, zero = ladder(folder, run)
    steps_with_nets = [step for step in folder.net_steps if step]
    steps = chosen([step for step in steps_with_nets if step in rated] or steps_with_nets, args.nets)
    if not steps:
        raise DataError(f"{args.run} has no net yet that has learned anything; train it longer")
    specs = [f"net={shlex.quote(str(folder.net(step)))} name='net {step:,}' option.threads=1" for step in steps]
    specs += args.against or outsiders(game, run.ladder.plain_visits)
    players = named_apart([parse_spec(text, game.protocol).with_limit(common, game.protocol) for text in specs])
    out = args.out or args.run / "outside" / f"step_{steps[-1]:08d}"
    check_writable(out / JOURNAL)
    count, plies = len(steps), run.ladder.opening_plies
    openings = choose_openings(f"random:{plies}" if plies else "none", run.game, (args.games + 1) // 2, args.seed, None)
    pairs = [(a, b) for b in range(count, len(players)) for a in range(count)]
    games = play(MatchSettings(run.game, players), pairs, openings, args, out, plies=plies, seed=args.seed)
    results = [Outsider.of(games, number, player.name, steps) for number, player in enumerate(players[count:], count)]
    Console().print(table(steps, rated, zero, results))
    write_atomically(args.run / OUTSIDE, (json.dumps(as_json(steps, rated, zero, results), indent=1) + "\n").encode())
    Console(stderr=True).print(f"written: {args.run / OUTSIDE}, which az-engine plot {args.run} shows", soft_wrap=True)
    return 0


def ladder(folder: RunFolder, run: RunConfig) -> tuple[dict[int, Rating], str]:
    """The ladder's ratings of nets with a search, by step, and the name of the player whose rating is 0."""
    rows = [row for row in read_log(folder.ladder) if "a" in row] if folder.ladder.exists() else []
    points = learning_curves(rows).get(f"@{run.ladder.visits}", [])
    return dict(points), anchor(scores_of(rows))


def chosen(steps: Sequence[int], count: int) -> list[int]:
    """So many of rising steps, evenly spread, the last among them and, where there is more than one, the first."""
    last = len(steps) - 1
    places = {round(i * last / (count - 1)) for i in range(count)} if count > 1 else {last}
    return [steps[place] for place in sorted(places) if 0 <= place <= last]


def outsiders(game: Game, visits: int) -> list[str]:
    """What az-engine match calls the players that this machine has; ``visits``: of the search without a net."""
    results = [f"uniform visits={visits} name='search without a net, {counted(visits, 'visit')}'"]
    if dense_net(game.name) is not None:
        results.append("raw:default name='the net inside, without a search'")
    if game.name == "go" and (path := shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")):
        command = f"{path} --mode gtp --chinese-rules --positional-superko --level 1"
        results.append(f"cmd={shlex.quote(command)} name='GNU Go, level 1'")
    if game.name == "chess" and (path := shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")):
        results += [
            f"cmd={shlex.quote(path)} name='Stockfish {elo}' option.UCI_LimitStrength=true option.UCI_Elo={elo}"
            " nodes=2000"
            for elo in STOCKFISH
        ]
    return results


def table(steps: Sequence[int], rated: Mapping[int, Rating], zero: str, players: Sequence[Outsider]) -> Table:
    """A row for each checkpoint: its Elo by the ladder, and against each outside player."""
    title = f"Elo above each player; the ladder's above {described(zero)}"
    picture = Table("net", "ladder", *(outsider.name for outsider in players), title=title)
    for step in steps:
        cells = (
            f"{rating_text(o.elo[step])}\n+{o.scores[step].wins} ={o.scores[step].draws} -{o.scores[step].losses}"
            for o in players
        )
        picture.add_row(f"{step:,}", rating_text(rated.get(step)) or "not rated", *cells)
    first, last = steps[0], steps[-1]
    if first in rated and first != last:
        gains = (f"{o.elo[last].elo - o.elo[first].elo:+.0f}" for o in players)
        picture.add_section()
        picture.add_row(f"gain from {first:,}", f"{rated[last].elo - rated[first].elo:+.0f}", *gains)
    return picture


def as_json(
    steps: Sequence[int], rated: Mapping[int, Rating], zero: str, players: Sequence[Outsider]
) -> dict[str, Any]:
    """Ratings as [Elo, low, high], the ladder's of None for nets that it has not rated."""

    def numbers(rating: Rating | None) -> list[float] | None:
        return None if rating is None else [round(x, 1) for x in (rating.elo, rating.low, rating.high)]

    return {
        "steps": list(steps),
        "ladder": {"zero": described(zero), "elo": [numbers(rated.get(step)) for step in steps]},
        "outside": [
            {
                "name": outsider.name,
                "elo": [numbers(outsider.elo[step]) for step in steps],
                "scores": [[s.wins, s.draws, s.losses] for s in (outsider.scores[step] for step in steps)],
            }
            for outsider in players
        ],
    }
