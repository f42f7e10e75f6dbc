"""``az-engine match``: games between two or more engines, judged by an arbiter, with the clock kept here."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ...arguments import board_lines
from ...cluster import RAY_HELP
from ...engine.errors import AzError, OptionError, counted
from ...engine.games import game_names, get_game
from ...engine.os.files import write_atomically
from ...engine.records.formats import is_record
from ...engine.records.record import Record
from ...protocols.clients import client_of
from ..ratings.sprt import Sprt, parse_sprt
from .adjudication import Adjudication, parse_chance, parse_draw, parse_resign
from .arbiter import TERRITORY_RULES, ChessArbiter, new_arbiter
from .game import FAULTS, MatchSettings
from .openings import OPENINGS_HELP, Opening, choose_openings, hash_of, rewritten
from .players import SPEC_HELP, MoveLimit, PlayerSpec, parse_clock, parse_seconds, parse_spec
from .standings import colour_table, faults_of, ratings, score_between, sprt_state, standings_table, total_score
from .tournament import FAULTS_IN_ROW, FILE, JOURNAL, Journal, Tournament, identity_of, pairs_of, repeated, schedule

HELP = f"""\
Let engines play each other, and print the results with Elo differences and 95 % intervals. Two players, or more: all
against all, or a gauntlet of A against the others. Every opening is played with both colours. A fault loses the game:
overstepping the time, an illegal move, ending (crash), not answering (stall), writing without end (flood). The match
counts faults by kind and goes on, unless a player has lost {FAULTS_IN_ROW} games in a row by faults other than time.

An arbiter ends games: in chess (python-chess) at mate, stalemate, insufficient material, the third repetition and 50
moves without progress; in shogi (our own rules, checked against cshogi where it is installed) at mate, at the fourth
repetition, which a perpetual checker loses, at a resignation and at a declaration by the 27-point rule; in Go (our own
rules) at a resignation and after two passes, with the score that both players agree on, else counted by the rules as
the board stands, every stone alive.

With --out the match can be interrupted at any moment, even by a power cut: the same command resumes it, and more
--games make it longer. {JOURNAL} there has everything about each game; az-engine rate reads it.

A player (SPEC) is
{SPEC_HELP}

examples:
  az-engine match -A default -B uniform --games 20 --visits 200
  az-engine match -A "default visits=400" --games 100 --out runs/against-1350 \\
      -B "cmd=stockfish option.UCI_LimitStrength=true option.UCI_Elo=1350 nodes=2000"
  az-engine match -A new.onnx -B old.onnx -C raw:new.onnx --visits 100 --games 200 --out runs/three
  az-engine match -A new.onnx -B default --visits 100 --games 4000 --sprt 0,20 --concurrency 2
  az-engine match --game shogi -A default -B "cmd=fairy-stockfish" --games 20 --byoyomi 1 --out runs/shogi
  az-engine match --game go -A "default seconds=1" --games 40 \\
      -B "cmd='gnugo --mode gtp --chinese-rules --positional-superko'\""""

_LETTERS = "ABCDEFGH"
_LINE_SECONDS = 60.0  # between lines of progress where there is no terminal
_FISCHERANDOM = ("fischerandom", "fischerrandom", "960")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--game", choices=game_names(), default="chess", help="default: %(default)s")
    add("-A", metavar="SPEC", default="default", help="the first player (default: %(default)s)")
    add("-B", metavar="SPEC", required=True, help="the second player")
    for letter in _LETTERS[2:]:
        add(
            f"-{letter}", metavar="SPEC", help="one more player; so do -D to -H" if letter == "C" else argparse.SUPPRESS
        )
    add("--gauntlet", action="store_true", help="let A play each of the others; without it all play all")
    add(
        "--games",
        type=int,
        default=100,
        metavar="N",
        help="play so many games for each pair of players (default: %(default)s)",
    )
    limits = parser.add_argument_group("limits of a move, for each player that has none in its SPEC")
    limits.add_argument(
        "--visits",
        type=int,
        metavar="N",
        help="visits of the root in this search; those kept from the move before do not count (in Lc0 they do); "
        "another engine's nodes are whatever it counts",
    )
    limits.add_argument("--seconds", metavar="S", help="seconds a move")
    limits.add_argument("--depth", type=int, metavar="N", help="depth in plies")
    limits.add_argument("--tc", metavar="BASE+INC", help="a clock, in seconds: --tc 60+0.6")
    limits.add_argument("--byoyomi", metavar="S", help="seconds a move once the clock has run out")
    limits.add_argument(
        "--margin", type=float, default=0.0, metavar="S", help="let a player overstep its clock by so many seconds"
    )
    openings = parser.add_argument_group("openings")
    openings.add_argument("--openings", default="book", metavar="WHICH", help=f"{OPENINGS_HELP} (default: %(default)s)")
    openings.add_argument(
        "--variant", metavar="NAME", help="chess960 or fischerandom: its 960 start positions, or openings of it"
    )
    openings.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the choice and order of openings")
    early = parser.add_argument_group("ending games early; all off unless given")
    early.add_argument(
        "--resign",
        metavar="CP[,MOVES]",
        help="a player loses when its score is so low for so many moves, 10 if left out: 900,10",
    )
    early.add_argument(
        "--resign-rate",
        metavar="PERCENT[,MOVES]",
        help="a player loses when its chance to win is lower for so many moves, 1 if left out: 5,3",
    )
    early.add_argument(
        "--draw", metavar="CP,MOVES,PLY", help="a game is drawn when both scores are so level from that ply on"
    )
    early.add_argument(
        "--tablebase", default="", metavar="DIR", help="end a game that the Syzygy files of this folder decide (chess)"
    )
    usual = f"chess {ChessArbiter.max_plies}, other games 512; Go is counted then, 4 * size * size"
    early.add_argument("--max-plies", type=int, metavar="N", help=f"a game so long is drawn (default: {usual})")
    early.add_argument("--sprt", metavar="ELO0,ELO1[,ALPHA,BETA]", help="end the match when A against B is decided")
    go = parser.add_argument_group("Go")
    go.add_argument("--size", type=board_lines, metavar="N", help="lines of the square board (default: 9)")
    go.add_argument("--komi", type=float, metavar="K", help="white's points (default: 7 on 9x9, else 7.5)")
    go.add_argument(
        "--rules",
        metavar="NAME",
        help=f"rule set, such as tromp-taylor or japanese (default: {TERRITORY_RULES}); by rules that count territory "
        "this engine reads before it passes, which takes up to 30 seconds with --visits",
    )
    add("--concurrency", type=int, metavar="N", help="games at a time (default: 1; with --ray one for each CPU)")
    add("--ray", metavar="ADDRESS", help=f"play on a Ray cluster: {RAY_HELP}")
    add("--out", type=Path, metavar="DIR", help="keep the games (PGN, CSA, SGF), the journal and result.json there")
    add("--json", action="store_true", help="print the result as one JSON object")


def main(args: argparse.Namespace) -> int:
    for name in ("games", "concurrency", "max_plies"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise OptionError(f"--{name.replace('_', '-')} must be 1 or more")
    if not 0 <= args.margin <= 60:
        raise OptionError(f"--margin must be 0 to 60 seconds, not {args.margin:g}")
    _check_out(args.out)
    game, start = variant(args)
    settings = _settings(args, game)
    for player in settings.players:
        if "UCI_Elo" in player.options and player.options.get("UCI_LimitStrength", "").lower() != "true":
            print(f"{player.name}: UCI_Elo does nothing without option.UCI_LimitStrength=true", file=sys.stderr)
    test = parse_sprt(args.sprt) if args.sprt else None
    form = form_of(args.variant, game)
    openings = choose_openings(args.openings, game, (args.games + 1) // 2, args.seed, start, shuffled=bool(form))
    settings, openings = in_form(settings, form, openings)
    plan = schedule(pairs_of(len(settings.players), gauntlet=args.gauntlet), openings, args.games)
    identity = _identity(args, settings, start)
    journal = None if args.out is None else Journal(args.out, settings, identity)
    tournament = Tournament(settings, plan, journal)
    started, interrupted = time.monotonic(), False
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends as by Ctrl-C, with the table
    with _live(tournament, test) as show, contextlib.suppress(KeyboardInterrupt):
        interrupted = True
        if not _decided(tournament, test):
            try:
                _play(args, tournament, show, lambda: _decided(tournament, test))
            except AzError:  # such as a player that does not start
                if journal is not None and not tournament.finished:
                    journal.drop_empty()
                raise
        interrupted = False
    summary = {**summarise(tournament, test), "seconds": round(time.monotonic() - started, 1)}
    if args.out is not None:
        write_atomically(args.out / "result.json", (json.dumps(summary, indent=2) + "\n").encode())
    if summary["duplicates"]:
        repeats = (
            "1 game repeats another" if summary["duplicates"] == 1 else f"{summary['duplicates']} games repeat others"
        )
        print(f"{repeats} move for move; take more openings", file=sys.stderr)
    if interrupted and args.out is not None:
        print("stopped; give the same command to go on", file=sys.stderr)
    if args.json:
        print(json.dumps(summary))
    else:
        _show(tournament, test)
    if journal is not None:
        journal.close()
    return 130 if interrupted else 0


def _check_out(out: Path | None) -> None:
    """Errors: OptionError for a name that is meant to be a file's."""
    if out is None or out.is_dir():
        return
    forms = [form for name in game_names() for form in get_game(name).record_formats]
    if out.suffix.lower() == ".json" or is_record(forms, out):
        raise OptionError(f"--out is a folder, for the games, the journal and the result, not a file: --out {out.stem}")


def _play(args: argparse.Namespace, tournament: Tournament, show: Any, decided: Callable[[], bool]) -> None:
    """Play what is missing, here or on a cluster. BLOCKS. Errors: AzError."""
    if args.ray is None:
        tournament.run(args.concurrency or 1, lambda game: show(), decided)
        return
    from .cluster import play_on

    play_on(args.ray, tournament, args.concurrency or 0, show, decided, lambda text: print(text, file=sys.stderr))


def variant(args: argparse.Namespace) -> tuple[str, str | None]:
    """(the game's name for get_game, the position games begin from or None). Errors: OptionError, PositionError."""
    game = get_game(args.game)
    if game.territory is not None:
        size = game.planes[-1] if args.size is None else args.size
        return f"{args.game}{size}", game.territory.start(size, size, args.komi, args.rules or TERRITORY_RULES)
    for name in ("size", "komi", "rules"):
        if getattr(args, name) is not None:
            raise OptionError(f"--{name} is for Go; leave it out")
    return args.game, None


def form_of(variant: str | None, game: str) -> str:
    """The form of a game that ``--variant`` names, "" for the usual one. Errors: OptionError."""
    if variant is None:
        return ""
    name = re.sub("[ _-]", "", variant.lower())
    return get_game(game).variant("chess960" if name in _FISCHERANDOM else name).form


def in_form(settings: MatchSettings, form: str, openings: list[Opening]) -> tuple[MatchSettings, list[Opening]]:
    """The same; in Chess960, which an opening may be of as well, everybody writes castling in its way."""
    game = get_game(settings.game)
    form = max(form, *(game.of_record(Record.of_line(root=opening.root)).form for opening in openings))
    if not form:
        return settings, openings
    players = [replace(player, options={**player.options, "UCI_Chess960": "true"}) for player in settings.players]
    return replace(settings, players=tuple(players)), [rewritten(game.variant(form), opening) for opening in openings]


def _settings(args: argparse.Namespace, game: str) -> MatchSettings:
    protocol = get_game(game).protocol
    base, increment = parse_clock(args.tc) if args.tc else (None, 0)
    seconds = None if args.seconds is None else parse_seconds(args.seconds)
    byoyomi = 0 if args.byoyomi is None else parse_seconds(args.byoyomi)
    common = MoveLimit(args.visits, args.depth, seconds, base, increment, byoyomi)
    specs = [text for letter in _LETTERS if (text := getattr(args, letter)) is not None]
    players = named_apart([parse_spec(text, protocol).with_limit(common, protocol) for text in specs])
    if any(player.limit.byoyomi_ms for player in players) and not client_of(protocol).has_byoyomi:
        raise OptionError(f"{args.game} has no byoyomi; give increments, for example --tc 60+0.6")
    resign = parse_resign(args.resign) if args.resign else (0, 0)
    chance = parse_chance(args.resign_rate) if args.resign_rate else (0.0, 0)
    draw = parse_draw(args.draw) if args.draw else (0, 0, 0)
    adjudication = Adjudication(*resign, *chance, *draw, tablebase=args.tablebase)
    if args.tablebase:
        new_arbiter(game).known_result(args.tablebase)  # says now what is wrong with the folder
    return MatchSettings(game, players, args.max_plies, 1000 * args.margin, adjudication)


def named_apart(players: Sequence[PlayerSpec]) -> tuple[PlayerSpec, ...]:
    """The players; those that share a name get their letters behind it."""
    count = Counter(player.name for player in players)
    return tuple(
        replace(player, name=f"{player.name} ({_LETTERS[i]})") if count[player.name] > 1 else player
        for i, player in enumerate(players)
    )


def _identity(args: argparse.Namespace, settings: MatchSettings, start: str | None) -> dict[str, Any]:
    """The values that a resumed tournament must share; the number of games may differ."""
    return {
        **identity_of(settings),
        "start": start,
        "gauntlet": args.gauntlet,
        "openings": args.openings,
        FILE: hash_of(args.openings),
        "seed": args.seed,
        **({"variant": args.variant} if args.variant else {}),
        "max_plies": settings.max_plies,
        "margin": settings.margin_ms,
        "adjudication": repr(settings.adjudication),
    }


def _decided(tournament: Tournament, test: Sprt | None) -> bool:
    return test is not None and sprt_state(test, tournament.finished).verdict is not None


@contextlib.contextmanager
def _live(tournament: Tournament, test: Sprt | None) -> Iterator[Any]:
    """Show a table on stderr and redraw it after each game; without a terminal, a line after a game now and then."""
    console, due, players = Console(stderr=True), time.monotonic() + _LINE_SECONDS, tournament.settings.players

    def state() -> str:
        text = f"{len(tournament.finished)} of {counted(len(tournament.plan), 'game')}"
        return text if test is None else f"{text}; {sprt_state(test, tournament.finished)}"

    def picture() -> Group:
        return Group(standings_table(tournament.settings, tournament.finished), Text(state()))

    def line() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _LINE_SECONDS
            scores = [total_score(tournament.finished, number) for number in range(len(players))]
            texts = (f"{p.name} +{s.wins} ={s.draws} -{s.losses}" for p, s in zip(players, scores, strict=True))
            print(f"{state()}: {', '.join(texts)}", file=sys.stderr, flush=True)

    if not console.is_terminal:
        yield line
        return
    with Live(picture(), console=console, auto_refresh=False, transient=True) as live:
        yield lambda: live.update(picture(), refresh=True)


def summarise(tournament: Tournament, test: Sprt | None = None) -> dict[str, Any]:
    """The result as JSON-ready values; the figures at the top are A's, and its Elo where it has one opponent."""
    games, settings = tournament.finished, tournament.settings
    names = [player.name for player in settings.players]
    score = total_score(games, 0)
    results: dict[str, Any] = {
        "what": f"match of {names[0]} against {', '.join(names[1:])}",
        "value": round(score.score, 4),
        "unit": "points a game",
        "wins": score.wins,
        "draws": score.draws,
        "losses": score.losses,
        "interval95": [round(x, 4) for x in score.score_interval()],
    }
    if len(names) == 2:
        results["elo"], results["elo95"] = _finite(score.elo), [_finite(x) for x in score.elo_interval()]
        results["los"] = round(score.los, 4)
    for number, player in enumerate(settings.players):
        faults = dict(faults_of(games, number))
        results[_LETTERS[number]] = {"name": player.name, "limit": str(player.limit), "faults": faults}
    if len(names) > 2 and any(0 in (game.pairing.first, game.pairing.second) for game in games):
        rated = ratings(games, names, names[0])
        results["ratings"] = {n: [round(x, 1) for x in (r.elo, r.low, r.high)] for n, r in rated.items()}
    if test is not None:
        state = sprt_state(test, games)
        results["sprt"] = {
            "test": str(test),
            "llr": round(state.llr, 3),
            "verdict": state.verdict,
            "pairs": state.pairs,
        }
    results["by_colour"] = [
        [names[a], names[b], "first" if first else "second", s.wins, s.draws, s.losses]
        for a, b in pairs_of(len(names))
        for first in (True, False)
        if (s := score_between(games, a, b, first=first)).games
    ]
    results["endings"] = dict(Counter(game.kind_of_ending for game in games))
    results["duplicates"] = repeated(games)
    results["judge"] = new_arbiter(settings.game).judge
    results["worst_overstep_ms"] = round(max((game.overstep_ms for game in games), default=0.0), 1)
    return results


def _finite(x: float) -> float | None:
    return round(x, 1) if abs(x) < 1e9 else None


def _show(tournament: Tournament, test: Sprt | None) -> None:
    console, settings, games = Console(), tournament.settings, tournament.finished
    console.print(standings_table(settings, games))
    console.print(colour_table(settings, games, get_game(settings.game).sides))
    for number, player in enumerate(settings.players):
        lost = faults_of(games, number)
        if lost:
            kinds = ", ".join(f"{kind} {lost[kind]}" for kind in FAULTS if lost[kind])
            print(f"{player.name} lost by itself: {kinds}")
    print(f"judged by {new_arbiter(settings.game).judge}")
    endings = Counter(game.kind_of_ending for game in games)
    print("endings: " + ", ".join(f"{reason} {count}" for reason, count in endings.most_common()))
    if any(player.limit.base_ms is not None for player in settings.players):
        print(f"worst overstep of a clock: {max((game.overstep_ms for game in games), default=0.0):.0f} ms")
    if test is not None:
        print(f"{test}: {sprt_state(test, games)}")
    if len(settings.players) == 2:
        score = total_score(games, 0)
        print(f"result of {settings.players[0].name}: {score}, likelihood of superiority {100 * score.los:.1f} %")
