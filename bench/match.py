"""``az-engine match``: games between two engines, judged by an arbiter, with the clock kept here.

Every opening is played twice, with colours swapped. What a player does wrong by itself loses the game and is counted by
kind: losing on time, an illegal move, ending (crash) and not answering (stall); the process is then started anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar, get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..engine.errors import EngineProcessError, IllegalMoveError, OptionError
from ..engine.limits import Limits
from ..protocols.client import EngineDied, EngineMisbehaved, EngineStalled, UciClient
from .arbiter import ARBITERS, Ending, Result, new_arbiter
from .elo import MatchScore
from .openings import OPENINGS_HELP, Opening, choose_openings
from .players import SPEC_HELP, MoveLimit, PlayerSpec, parse_clock, parse_spec

HELP = f"""\
Let two engines, A and B, play each other, and print A's result with its Elo difference and 95 % interval. Every opening
is played with both colours. Losses on time, illegal moves, crashes and stalls are counted apart. The arbiter (in chess
python-chess) ends games at mate, stalemate, insufficient material, the third repetition and 50 moves without progress.

A player (SPEC) is
{SPEC_HELP}

examples:
  az-engine match -A default -B uniform --games 20 --nodes 200
  az-engine match -A "default nodes=400" --games 100 --out runs/against-1350 \\
      -B "cmd=stockfish option.UCI_LimitStrength=true option.UCI_Elo=1350 nodes=2000"
  az-engine match -A default -B "net=other.onnx" --games 100 --tc 10+0.1 --concurrency 2"""

_FLAG_MS = 1.0  # overstep of a clock that is still rounding
_HOUR_MS = 3_600_000  # shown on the clock of a player without one
_READY_S = 60.0  # an engine may compile or load at the first isready
_UNTIMED_S = 300.0  # after which a move without a limit of time counts as a stall
_RESULTS: tuple[Result, Result] = ("1-0", "0-1")

FaultKind = Literal["time loss", "illegal move", "crash", "stall"]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)


_KINDS: dict[type[EngineProcessError], FaultKind] = {
    EngineDied: "crash",
    EngineStalled: "stall",
    EngineMisbehaved: "illegal move",
}
T = TypeVar("T")


class PlayerFault(Exception):
    """A player has lost its game by itself."""

    def __init__(self, kind: FaultKind, text: str) -> None:
        super().__init__(text)
        self.kind: FaultKind = kind


@dataclass(frozen=True, slots=True)
class Game:
    """One finished game. ``first`` is the player who moved first: 0 = A, 1 = B."""

    number: int
    first: int
    opening: Opening
    ending: Ending
    moves: tuple[str, ...]  # from the root on, opening included
    fault: FaultKind | None
    at_fault: int | None  # 0 = A, 1 = B
    text: str  # the record, PGN for chess

    @property
    def points(self) -> float:
        """A's points."""
        if self.ending.result == "1/2-1/2":
            return 0.5
        return float(_RESULTS.index(self.ending.result) == self.first)


@dataclass(slots=True)
class Match:
    """What to play, and what has been played."""

    game: str
    players: tuple[PlayerSpec, PlayerSpec]
    openings: Sequence[Opening]  # one for each pair of games
    games: int
    max_plies: int = 600
    margin_ms: float = 0.0
    directory: Path | None = None
    finished: list[Game] = field(default_factory=list)
    worst_overstep_ms: float = 0.0  # by which a player with a clock has exceeded it

    def score(self) -> MatchScore:
        """A's score so far."""
        points = Counter(game.points for game in self.finished)
        return MatchScore(points[1.0], points[0.5], points[0.0])

    def faults(self, player: int) -> Counter[FaultKind]:
        """How often player 0 (A) or 1 (B) lost by itself, by kind."""
        return Counter(game.fault for game in self.finished if game.fault is not None and game.at_fault == player)

    def run(self, concurrency: int = 1, on_game: Callable[[Game], None] = lambda game: None) -> None:
        """Play all games, ``concurrency`` at a time. Blocks.

        Errors: EngineProcessError when a player does not start; a KeyboardInterrupt leaves the finished games.
        """
        numbers: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(self.games):
            numbers.put(number)
        lock, stop = threading.Lock(), threading.Event()
        errors: list[BaseException] = []

        def work() -> None:
            seats: list[UciClient | None] = [None, None]
            try:
                while not stop.is_set():
                    game = self._play(numbers.get_nowait(), seats)
                    with lock:
                        self.finished.append(game)
                        self._write(game)
                        on_game(game)
            except queue.Empty:
                pass
            except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
                errors.append(error)
                stop.set()
            finally:
                for player in seats:
                    if player is not None:
                        player.close()

        threads = [threading.Thread(target=work, name=f"match {i}") for i in range(min(concurrency, self.games))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        except KeyboardInterrupt:
            stop.set()
            for thread in threads:
                thread.join()
            raise
        if errors:
            raise errors[0]

    def _play(self, number: int, seats: list[UciClient | None]) -> Game:
        """One game; a player that fails leaves its seat, and a new process takes it for the next game."""
        opening, first = self.openings[number // 2], number % 2
        arbiter = new_arbiter(self.game, opening.root)
        for move in opening.moves:
            arbiter.push(move)
        moves = list(opening.moves)
        thoughts = [""] * len(moves)
        limits = [player.limit for player in self.players]
        left = [float(limit.base_ms or 0) for limit in limits]
        fault: PlayerFault | None = None
        ending = arbiter.ending()
        mover = first
        try:
            for mover in (0, 1):
                self._ask(mover, seats, UciClient.new_game)
            while ending is None:
                mover = arbiter.turn ^ first
                wanted = self._limits(limits, left, first, mover)
                answer = self._ask(mover, seats, lambda player: player.play(opening.root, moves, wanted))  # noqa: B023
                self._charge(mover, left, 1000 * answer.seconds)
                try:
                    arbiter.push(answer.move or "(none)")
                except IllegalMoveError as error:
                    raise PlayerFault("illegal move", str(error)) from None
                moves.append(answer.move or "")
                thoughts.append(f"{answer.seconds:.3f} s")
                ending = arbiter.ending()
                if ending is None and len(moves) >= self.max_plies:
                    ending = Ending("1/2-1/2", f"stopped after {self.max_plies} plies")
        except PlayerFault as failure:
            fault = failure
            ending = Ending(_RESULTS[mover ^ first ^ 1], f"{self.players[mover].name}: {failure.kind}, {failure}")
        assert ending is not None
        headers = {"Event": "az-engine match", "Date": datetime.now(UTC).strftime("%Y.%m.%d"), "Round": str(number + 1)}
        for side, index in zip(arbiter.sides, (first, 1 - first), strict=True):
            headers |= {side: self.players[index].name, f"{side}Limit": str(limits[index])}
        headers |= {"Opening": opening.name, "Termination": "normal" if fault is None else fault.kind}
        text = arbiter.record(headers, ending, thoughts)
        kind, at_fault = (None, None) if fault is None else (fault.kind, mover)
        return Game(number, first, opening, ending, tuple(moves), kind, at_fault, text)

    def _ask(self, index: int, seats: list[UciClient | None], question: Callable[[UciClient], T]) -> T:
        """Have a seated player do something; one whose process is gone loses its seat.

        Errors: PlayerFault; EngineProcessError when a new process does not start.
        """
        player = seats[index]
        if player is None:
            spec = self.players[index]
            try:
                player = UciClient(spec.command, spec.options, ready_s=_READY_S, endless_s=_UNTIMED_S)
            except EngineProcessError as error:
                raise EngineProcessError(f"player {spec.name} does not start: {error}") from error
            seats[index] = player
        try:
            return question(player)
        except (EngineDied, EngineStalled, EngineMisbehaved) as error:
            seats[index] = None
            raise PlayerFault(_KINDS[type(error)], str(error)) from error

    def _limits(self, limits: Sequence[MoveLimit], left: Sequence[float], first: int, mover: int) -> Limits:
        """What the player to move is told: its own limit, and both clocks when one of the players has one."""
        own = limits[mover]
        if all(limit.base_ms is None for limit in limits):
            return Limits(nodes=own.nodes, depth=own.depth, movetime=own.movetime_ms)
        shown = [round(ms) if limit.base_ms is not None else _HOUR_MS for ms, limit in zip(left, limits, strict=True)]
        increments = [limit.increment_ms for limit in limits]
        return Limits(
            nodes=own.nodes,
            depth=own.depth,
            movetime=own.movetime_ms,
            time=(shown[first], shown[1 - first]),
            increment=(increments[first], increments[1 - first]),
        )

    def _charge(self, mover: int, left: list[float], spent_ms: float) -> None:
        """Take the time of a move off the player's clock, if it has one. Errors: PlayerFault when none is left."""
        limit = self.players[mover].limit
        if limit.base_ms is None:
            return
        left[mover] -= spent_ms
        self.worst_overstep_ms = max(self.worst_overstep_ms, -left[mover])
        if left[mover] < -max(self.margin_ms, _FLAG_MS):
            raise PlayerFault("time loss", f"{-left[mover]:.0f} ms over its time")
        left[mover] = max(left[mover], 0.0) + limit.increment_ms

    def _write(self, game: Game) -> None:
        if self.directory is not None:
            with (self.directory / "games.pgn").open("a", encoding="utf-8") as file:
                file.write(game.text + "\n\n")

    def summary(self) -> dict[str, object]:
        """The result as JSON-ready values."""
        score = self.score()
        elo: list[float | None] = [x if abs(x) < 1e9 else None for x in (score.elo, *score.elo_interval())]
        return {
            "what": f"match of {self.players[0].name} against {self.players[1].name}",
            "value": round(score.score, 4),
            "unit": "points a game",
            "wins": score.wins,
            "draws": score.draws,
            "losses": score.losses,
            "interval95": [round(x, 4) for x in score.score_interval()],
            "elo": None if elo[0] is None else round(elo[0], 1),
            "elo95": [None if x is None else round(x, 1) for x in elo[1:]],
            "A": {"name": self.players[0].name, "limit": str(self.players[0].limit), "faults": dict(self.faults(0))},
            "B": {"name": self.players[1].name, "limit": str(self.players[1].limit), "faults": dict(self.faults(1))},
            "endings": dict(Counter(_kind_of_ending(game) for game in self.finished)),
            "worst_overstep_ms": round(self.worst_overstep_ms, 1),
        }


def _kind_of_ending(game: Game) -> str:
    return game.fault or game.ending.reason


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Players, limits, openings and output."""
    add = parser.add_argument
    add("--game", choices=sorted(ARBITERS), default="chess")
    add("-A", dest="a", metavar="SPEC", default="default", help="the first player (default: %(default)s)")
    add("-B", dest="b", metavar="SPEC", required=True, help="the second player")
    add("--games", type=int, default=100, metavar="N", help="games in all (default: %(default)s)")
    limits = parser.add_argument_group("limits of a move, for each player that has none in its SPEC")
    limits.add_argument("--nodes", "--visits", type=int, metavar="N", help="visits of the root; another engine's nodes")
    limits.add_argument("--movetime", type=int, metavar="MS", help="milliseconds")
    limits.add_argument("--tc", metavar="BASE+INC", help="a clock, in seconds: --tc 60+0.6")
    add("--openings", default="book", metavar="WHICH", help=f"{OPENINGS_HELP} (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the choice and order of openings (default: %(default)s)")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--margin", type=float, default=0.0, metavar="MS", help="by which a clock may be overstepped")
    add("--max-plies", type=int, default=600, metavar="N", help="then a game is a draw (default: %(default)s)")
    add("--out", type=Path, metavar="DIR", help="write games.pgn and result.json there")
    add("--json", action="store_true", help="print the result as one JSON object")


def main(args: argparse.Namespace) -> int:
    """Play the match; 0, or 130 when it was interrupted."""
    for name in ("games", "concurrency", "max_plies"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name.replace('_', '-')} must be 1 or more")
    common = MoveLimit(nodes=args.nodes, movetime_ms=args.movetime)
    if args.tc:
        base, increment = parse_clock(args.tc)
        common = MoveLimit(args.nodes, None, args.movetime, base, increment)
    players = (_with_limit(parse_spec(args.a), common, "A"), _with_limit(parse_spec(args.b), common, "B"))
    if players[0].name == players[1].name:
        players = tuple(  # type: ignore[assignment]
            PlayerSpec(f"{p.name} ({letter})", p.command, p.options, p.limit)
            for p, letter in zip(players, "AB", strict=True)
        )
    openings = choose_openings(args.openings, args.game, (args.games + 1) // 2, args.seed)
    if args.out is not None:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"cannot write to {args.out}: {error.strerror}; choose another --out") from None
        if (args.out / "games.pgn").exists():
            raise OptionError(f"{args.out} holds a match already; choose another --out")
    match = Match(args.game, players, openings, args.games, args.max_plies, args.margin, args.out)
    started = time.monotonic()
    interrupted = False
    with _progress() as bar:
        task = bar.add_task("", total=args.games, score="")
        with contextlib.suppress(KeyboardInterrupt):
            interrupted = True
            match.run(args.concurrency, lambda game: bar.update(task, advance=1, score=str(match.score())))
            interrupted = False
    summary = {**match.summary(), "seconds": round(time.monotonic() - started, 1)}
    if args.out is not None:
        _write_whole(args.out / "result.json", json.dumps(summary, indent=2) + "\n")
    if args.json:
        print(json.dumps(summary))
    else:
        _show(match)
    return 130 if interrupted else 0


def _progress() -> Progress:
    score = TextColumn("{task.fields[score]}")
    columns = (TextColumn("game"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), score)
    return Progress(*columns, console=Console(stderr=True))


def _with_limit(player: PlayerSpec, common: MoveLimit, letter: str) -> PlayerSpec:
    if player.limit.given:
        return player
    if not common.given:
        raise OptionError(f"player {letter} has no limit; give --nodes, --movetime or --tc, or nodes=N in its SPEC")
    return PlayerSpec(player.name, player.command, player.options, common)


def _show(match: Match) -> None:
    print(" against ".join(f"{player.name} ({player.limit})" for player in match.players))
    for letter, index in (("A", 0), ("B", 1)):
        faults = match.faults(index)
        print(f"{letter}: " + ", ".join(f"{kind} {faults[kind]}" for kind in FAULTS))
    for first, turn in ((0, "first"), (1, "second")):
        points = Counter(game.points for game in match.finished if game.first == first)
        print(f"A moving {turn}: +{points[1.0]} ={points[0.5]} -{points[0.0]}")
    endings = Counter(_kind_of_ending(game) for game in match.finished)
    print("endings: " + ", ".join(f"{reason} {count}" for reason, count in endings.most_common()))
    if any(player.limit.base_ms is not None for player in match.players):
        print(f"worst overstep of a clock: {match.worst_overstep_ms:.0f} ms")
    print(f"result of A: {match.score()}")


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
