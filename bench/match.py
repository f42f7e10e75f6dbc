"""``az-engine match``: games between two engines, judged by an arbiter, with the clock kept here.

Every opening is played twice, with colours swapped. What a player does wrong by itself loses the game and is counted by
kind: losing on time, an illegal move, ending (crash) and not answering (stall); the process is then started anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
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
from ..engine.files import write_atomically
from ..engine.games import get_game
from ..engine.limits import Limits
from ..engine.record import Reason, Record, format_games
from ..protocols.client import Answer, UciClient, client_of
from ..protocols.pipes import EngineDied, EngineMisbehaved, EngineStalled
from .arbiter import ARBITERS, Arbiter, Ending, new_arbiter
from .elo import MatchScore
from .openings import OPENINGS_HELP, Opening, choose_openings
from .players import SPEC_HELP, MoveLimit, PlayerSpec, parse_clock, parse_spec

HELP = f"""\
Let two engines, A and B, play each other, and print A's result with its Elo difference and 95 % interval. Every opening
is played with both colours. Losses on time, illegal moves, crashes and stalls are counted apart. An arbiter ends games:
in chess (python-chess) at mate, stalemate, insufficient material, the third repetition and 50 moves without progress;
in shogi (our own rules, checked against cshogi where it is installed) at mate, at the fourth repetition, which a
perpetual checker loses, at a resignation and at a declaration by the 27-point rule.

A player (SPEC) is
{SPEC_HELP}

examples:
  az-engine match -A default -B uniform --games 20 --nodes 200
  az-engine match -A "default nodes=400" --games 100 --out runs/against-1350 \\
      -B "cmd=stockfish option.UCI_LimitStrength=true option.UCI_Elo=1350 nodes=2000"
  az-engine match -A default -B "net=other.onnx" --games 100 --tc 10+0.1 --concurrency 2
  az-engine match --game shogi -A default -B "cmd=fairy-stockfish" --games 20 --byoyomi 1000 --out runs/shogi"""

_FLAG_MS = 1.0  # overstep of a clock that is still rounding
_HOUR_MS = 3_600_000  # shown on the clock of a player without one
_READY_S = 60.0  # an engine may compile or load at the first isready
_UNTIMED_S = 300.0  # after which a move without a limit of time counts as a stall

FaultKind = Literal["time loss", "illegal move", "crash", "stall"]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)


_KINDS: dict[type[EngineProcessError], FaultKind] = {
    EngineDied: "crash",
    EngineStalled: "stall",
    EngineMisbehaved: "illegal move",
}
_REASONS: dict[FaultKind, Reason] = {"time loss": "time", "illegal move": "illegal move"}  # in records; else "forfeit"
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
    record: Record

    @property
    def points(self) -> float:
        """A's points."""
        return 0.5 + 0.5 * self.ending.result * (-1 if self.first else 1)


@dataclass(slots=True)
class Match:
    """What to play, and what has been played."""

    game: str
    players: tuple[PlayerSpec, PlayerSpec]
    openings: Sequence[Opening]  # one for each pair of games
    games: int
    max_plies: int | None = None  # then a game is a draw; None: what is usual in the game
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
        times: list[float | None] = [None] * len(moves)
        comments = [""] * (len(moves) + 1)
        left = [float(limit.base_ms or 0) for limit in self._limits]
        if self._client.increment_first:
            left = [ms + limit.increment_ms for ms, limit in zip(left, self._limits, strict=True)]
        longest = self.max_plies or arbiter.max_plies
        fault: PlayerFault | None = None
        ending = arbiter.ending()
        mover = first
        try:
            for mover in (0, 1):
                self._ask(mover, seats, lambda player: player.new_game())
            while ending is None:
                mover = arbiter.turn ^ first
                wanted = self._wanted(left, first, mover)
                answer = self._ask(mover, seats, lambda player: player.play(opening.root, moves, wanted))  # noqa: B023
                self._charge(mover, left, 1000 * answer.seconds)
                ending = _obey(arbiter, answer)
                if answer.move is not None:
                    moves.append(answer.move)
                    times.append(answer.seconds)
                    comments.append(_thought(answer))
                if ending is None and len(moves) >= longest:
                    ending = Ending(0, f"stopped after {longest} plies", "maximum moves")
        except PlayerFault as failure:
            fault = failure
            words = f"{self.players[mover].name}: {failure.kind}, {failure}"
            ending = arbiter.won_by(mover ^ first ^ 1, words, _REASONS.get(failure.kind, "forfeit"))
        assert ending is not None
        self._tell_result(seats, ending.result * (-1 if first else 1))
        headers = {"Event": "az-engine match", "Date": datetime.now(UTC).strftime("%Y.%m.%d"), "Round": str(number + 1)}
        for side, index in zip(arbiter.sides, (first, 1 - first), strict=True):
            headers[f"{side}Limit"] = str(self._limits[index])
        headers |= {"Opening": opening.name, "Termination": "normal" if fault is None else fault.kind}
        comments[-1] = ", ".join(filter(None, (comments[-1], ending.words)))
        record = Record(
            tuple(moves),
            opening.root,
            ending.result,
            ending.reason,
            (self.players[first].name, self.players[1 - first].name),
            tuple(times),
            tuple(comments),
            headers,
        )
        kind, at_fault = (None, None) if fault is None else (fault.kind, mover)
        return Game(number, first, opening, ending, tuple(moves), kind, at_fault, record)

    @property
    def _client(self) -> type[UciClient]:
        return client_of(get_game(self.game).protocol)

    @property
    def _limits(self) -> list[MoveLimit]:
        return [player.limit for player in self.players]

    def _tell_result(self, seats: list[UciClient | None], result: int) -> None:
        """Tell both players; ``result`` is A's. One that fails at this leaves its seat and loses nothing."""
        for index, own in enumerate((result, -result)):
            player = seats[index]
            try:
                if player is not None:
                    player.game_over({1: "win", 0: "draw", -1: "lose"}[own])
            except EngineProcessError:
                seats[index] = None

    def _ask(self, index: int, seats: list[UciClient | None], question: Callable[[UciClient], T]) -> T:
        """Have a seated player do something; one whose process is gone loses its seat.

        Errors: PlayerFault; EngineProcessError when a new process does not start.
        """
        player = seats[index]
        if player is None:
            spec = self.players[index]
            try:
                player = self._client(spec.command, spec.options, ready_s=_READY_S, endless_s=_UNTIMED_S)
            except EngineProcessError as error:
                raise EngineProcessError(f"player {spec.name} does not start: {error}") from error
            seats[index] = player
        try:
            return question(player)
        except (EngineDied, EngineStalled, EngineMisbehaved) as error:
            seats[index] = None
            raise PlayerFault(_KINDS[type(error)], str(error)) from error

    def _wanted(self, left: Sequence[float], first: int, mover: int) -> Limits:
        """What the player to move is told: its own limit, and both clocks when one of the players has one."""
        limits, own = self._limits, self._limits[mover]
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
            byoyomi=own.byoyomi_ms,
        )

    def _charge(self, mover: int, left: list[float], spent_ms: float) -> None:
        """Take the time of a move off the player's clock, if it has one. Errors: PlayerFault when none is left."""
        limit = self.players[mover].limit
        if limit.base_ms is None:
            return
        left[mover] -= spent_ms
        over = -left[mover] - limit.byoyomi_ms
        self.worst_overstep_ms = max(self.worst_overstep_ms, over)
        if over > max(self.margin_ms, _FLAG_MS):
            raise PlayerFault("time loss", f"{over:.0f} ms over its time")
        left[mover] = max(left[mover], 0.0) + limit.increment_ms

    def _write(self, game: Game) -> None:
        """Add the game to the file of all games, in the game's usual format."""
        if self.directory is None:
            return
        form = get_game(self.game).record_formats[0]
        path = self.directory / f"games{form.suffixes[0]}"
        text = format_games([game.record], form)
        with path.open("a", encoding="utf-8") as file:
            file.write((form.between or "") * (file.tell() > 0) + text)

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
            "judge": new_arbiter(self.game).judge,
            "worst_overstep_ms": round(self.worst_overstep_ms, 1),
        }


def _obey(arbiter: Arbiter, answer: Answer) -> Ending | None:
    """Play what a player answered; the game's ending, if it ends. Errors: PlayerFault when the rules forbid it."""
    if answer.resign:
        return arbiter.won_by(1 - arbiter.turn, "resignation", "resignation")
    if answer.win:
        if not arbiter.can_declare():
            raise PlayerFault("illegal move", "it declared a win without the right to")
        return arbiter.won_by(arbiter.turn, "declaration", "declaration")
    try:
        arbiter.push(answer.move or "(none)")
    except IllegalMoveError as error:
        raise PlayerFault("illegal move", str(error)) from None
    return arbiter.ending()


def _thought(answer: Answer) -> str:
    """What a player said of its move, for the record; from its own view."""
    if not answer.lines:
        return ""
    best = answer.lines[0]
    score = f"{best.cp:+d} cp" if best.cp is not None else f"mate {best.mate}"
    return score if best.depth is None else f"{score}, depth {best.depth}"


def _kind_of_ending(game: Game) -> str:
    return game.fault or game.ending.words


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
    limits.add_argument("--byoyomi", type=int, default=0, metavar="MS", help="for a move once the clock has run out")
    add("--openings", default="book", metavar="WHICH", help=f"{OPENINGS_HELP} (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the choice and order of openings (default: %(default)s)")
    add("--concurrency", type=int, default=1, metavar="N", help="games at a time (default: %(default)s)")
    add("--margin", type=float, default=0.0, metavar="MS", help="by which a clock may be overstepped")
    usual = ", ".join(f"{game} {arbiter.max_plies}" for game, arbiter in ARBITERS.items())
    add("--max-plies", type=int, metavar="N", help=f"then a game is a draw (default: {usual})")
    add("--out", type=Path, metavar="DIR", help="write the games (PGN, CSA) and result.json there")
    add("--json", action="store_true", help="print the result as one JSON object")


def main(args: argparse.Namespace) -> int:
    """Play the match; 0, or 130 when it was interrupted."""
    for name in ("games", "concurrency", "max_plies"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise OptionError(f"--{name.replace('_', '-')} must be 1 or more")
    base, increment = parse_clock(args.tc) if args.tc else (None, 0)
    common = MoveLimit(args.nodes, None, args.movetime, base, increment, args.byoyomi)
    protocol = get_game(args.game).protocol
    players = (
        _with_limit(parse_spec(args.a, protocol), common, "A"),
        _with_limit(parse_spec(args.b, protocol), common, "B"),
    )
    if any(player.limit.byoyomi_ms for player in players) and not client_of(protocol).has_byoyomi:
        raise OptionError(f"{args.game} has no byoyomi; give increments, for example --tc 60+0.6")
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
        if any(args.out.glob("games.*")):
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
        write_atomically(args.out / "result.json", (json.dumps(summary, indent=2) + "\n").encode())
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
        raise OptionError(
            f"player {letter} has no limit; give --nodes, --movetime, --tc or --byoyomi, or nodes=N in its SPEC"
        )
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
    print(f"judged by {new_arbiter(match.game).judge}")
    print("endings: " + ", ".join(f"{reason} {count}" for reason, count in endings.most_common()))
    if any(player.limit.base_ms is not None for player in match.players):
        print(f"worst overstep of a clock: {match.worst_overstep_ms:.0f} ms")
    print(f"result of A: {match.score()}")
