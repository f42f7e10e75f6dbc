"""Let KataGo's net judge our passes by Japanese rules, in games against ourselves or GNU Go.

AZ_ENGINE_FOREIGN=FOLDER python -m tests.protocols.gtp.passes --games 100 --size 9 --visits 50 [--gnugo]

The folder's nets/ holds g170-b6c96-s175395328-d26788732.bin.gz, with which our own search looks at the position before
a pass and after it, with 400 visits each. A pass loses what the mover's lead is less after it.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from az_engine.engine.blocking import search
from az_engine.engine.engine import Engine
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions
from tests.engine.games.go.katago_rows import foreign

NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
KOMI, JUDGED, OPENING, LONGEST = 6.5, 400, 3, 3  # points, visits, random moves, moves for each point
Moves = list[tuple[str, str]]  # colours and vertices


@dataclass
class Pass:
    """One pass of ours."""

    moves: Moves  # before it
    colour: str
    lost: float  # points


class Program:
    """One program that speaks GTP."""

    def __init__(self, command: list[str], size: int, rules: str) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._start = [f"boardsize {size}", f"komi {KOMI}", *([rules] if rules else []), "clear_board"]
        self.begin()

    def begin(self) -> None:
        for command in self._start:
            self.ask(command)

    def ask(self, command: str) -> str:
        """The response without its mark; ValueError for a failure."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        lines = []
        while (line := self._process.stdout.readline()).strip():
            lines.append(line.strip())
        if not lines or lines[0][0] != "=":
            raise ValueError(f"{command}: {lines}")
        return " ".join(lines)[1:].strip()

    def close(self) -> None:
        self.ask("quit")
        self._process.wait()


class Judge:
    """KataGo's net in our search."""

    def __init__(self, size: int, net: Path) -> None:
        self._engine = Engine(f"go{size}", EngineOptions(weights_file=str(net), threads=1, hash_mb=64))
        self._root = f"{'/'.join([str(size)] * size)} b - {KOMI} japanese"

    def lead(self, moves: Moves) -> float:
        """Of the side to move, with its best move."""
        self._engine.set_position(self._root, [vertex for _, vertex in moves])
        _, last = search(self._engine, Limits(nodes=JUDGED, report_ms=10**9))
        assert last is not None
        estimate = last.lines[0].estimate
        assert estimate is not None
        assert estimate.score is not None
        return estimate.score

    def lost(self, moves: Moves, colour: str) -> float:
        """By a pass of a colour."""
        return self.lead(moves) + self.lead([*moves, (colour, "pass")])


def play(players: dict[str, Program], size: int, rng: random.Random) -> Moves:
    """A game from a random opening until two passes or for a long time."""
    moves: Moves = []
    programs = list(dict.fromkeys(players.values()))
    for program in programs:
        program.begin()
    while len(moves) < LONGEST * size * size and [vertex for _, vertex in moves[-2:]] != ["pass"] * 2:
        colour = "bw"[len(moves) % 2]
        if len(moves) < OPENING:
            vertex = f"{rng.choice('CDEFG')}{rng.randrange(3, size - 1)}"
            if vertex in {each for _, each in moves}:
                continue
            programs[0].ask(f"play {colour} {vertex}")
            told = programs[0]
        else:
            told = players[colour]
            vertex = told.ask(f"genmove {colour}")
            if vertex.lower() == "resign":
                break
        vertex = vertex.upper() if vertex.lower() != "pass" else "pass"
        for program in programs:
            if program is not told:
                program.ask(f"play {colour} {vertex}")
        moves.append((colour, vertex))
    return moves


def judged(
    games: int, size: int, visits: int, *, gnugo: bool, seed: int = 1, net: Path | None = None, weights: str = ""
) -> list[Pass]:
    """The passes of so many games, each written as it is judged."""
    options = ["--visits", str(visits), "--threads", "1", "--resign", "0", "--weights-file", weights]
    ours = Program([sys.executable, "-m", "az_engine", "gtp", *options], size, "kata-set-rules japanese")
    level = ["--mode", "gtp", "--japanese-rules", "--level", "8"]
    theirs = Program(["/usr/games/gnugo", *level, "--seed", str(seed)], size, "") if gnugo else None
    judge, rng, found = Judge(size, net or foreign(NET)), random.Random(seed), list[Pass]()
    for number in range(games):
        mine = "bw"[number % 2] if theirs is not None else "bw"
        moves = play({colour: ours if colour in mine or theirs is None else theirs for colour in "bw"}, size, rng)
        for at, (colour, vertex) in enumerate(moves):
            if vertex == "pass" and colour in mine and at >= OPENING:
                found.append(Pass(moves[:at], colour, judge.lost(moves[:at], colour)))
                if found[-1].lost > 1:
                    print(f"{colour} loses {found[-1].lost:.1f}: {' '.join(' '.join(move) for move in moves[:at])}")
        mean, worst = sum(each.lost for each in found) / max(len(found), 1), max((p.lost for p in found), default=0.0)
        lost = f"lost {mean:.2f} points on average, {worst:.2f} at most"
        print(f"game {number + 1}: {len(moves)} moves; {len(found)} passes so far, {lost}", flush=True)
    ours.close()
    if theirs is not None:
        theirs.close()
    return found


def parser_of_games(description: str | None) -> argparse.ArgumentParser:
    """For a command that has our net play games."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--visits", type=int, default=50)
    parser.add_argument("--gnugo", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights-file", default="")
    return parser


def main() -> None:
    args = parser_of_games(__doc__).parse_args()
    judged(args.games, args.size, args.visits, gnugo=args.gnugo, seed=args.seed, weights=args.weights_file)


if __name__ == "__main__":
    main()
