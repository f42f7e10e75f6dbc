"""Let KataGo's net, or KataGo, count finished games beside our net, by Chinese and by Japanese rules.

python -m tests.protocols.gtp.counts NET --games 100 --size 9 --visits 50 [--gnugo]
python -m tests.protocols.gtp.counts "katago gtp -config CONFIG -model NET" --games 100

Our net plays itself, or GNU Go, until two passes; half of the games are by Japanese rules. Then both say which stones
are dead in the games that ended so, and the board is counted without them. KataGo's own final_score is no count where
stones are dead, but the lead that it expects, rounded: it differs from all counts by some points when one side has all.
"""

from __future__ import annotations

import random
import shlex
import sys

from az_engine.engine.games import get_game
from az_engine.protocols.gtp.board import Size, point, result, territory

from .passes import KOMI, Moves, Program, parser_of_games, play

RULES = ("chinese", "japanese")


def main() -> None:
    parser = parser_of_games(__doc__)
    parser.add_argument("net", metavar="NET", help="a net, or a program that speaks GTP: a command with arguments")
    args = parser.parse_args()
    rng, level = random.Random(args.seed), ["/usr/games/gnugo", "--mode", "gtp", "--level", "8"]
    counted = dict.fromkeys(RULES, 0)
    alike = dict.fromkeys(RULES, 0)
    for rules in RULES:
        players = [_engine(net, args.visits, args.size, rules) for net in (args.weights_file, args.net)]
        ours, judge = players
        theirs = Program([*level, f"--{rules}-rules", "--seed", str(args.seed)], args.size, "") if args.gnugo else ours
        for number in range(args.games // len(RULES)):
            colours = ("b", "w") if number % 2 else ("w", "b")
            moves = play(dict(zip(colours, (ours, theirs), strict=True)), args.size, rng)
            if [vertex for _, vertex in moves[-2:]] != ["pass"] * 2:
                continue
            judge.begin()
            for colour, vertex in moves:
                judge.ask(f"play {colour} {vertex}")
            scores = [count(player, moves, args.size, rules) for player in (ours, judge)]
            counted[rules] += 1
            alike[rules] += scores[0] == scores[1]
            if scores[0] != scores[1]:
                print(f"{rules}: {scores[0]}, NET {scores[1]}: {' '.join(' '.join(move) for move in moves)}")
        print(f"{rules}: {alike[rules]} of {counted[rules]} alike", flush=True)
        for program in {ours, judge, theirs}:
            program.close()


def count(player: Program, moves: Moves, size: int, rules: str) -> str:
    """The result of a finished game without the stones that a player calls dead."""
    game, board = get_game(f"go{size}"), Size(size, size)
    line, _ = game.parse_position(f"{'/'.join([str(size)] * size)} b - {KOMI} {rules}")
    for _, move in moves:
        line = game.play(line, game.parse_move(line, move))
    dead = {point(stone, board) for stone in player.ask("final_status_list dead").split()}
    chains = [chain for chain in territory().chains(line[-1]) if chain <= dead]
    return result(territory().score(line[-1], chains)[0])


def _engine(net: str, visits: int, size: int, rules: str) -> Program:
    if len(command := shlex.split(net)) > 1:
        return Program(command, size, f"kata-set-rules {rules}")
    options = ["--visits", str(visits), "--threads", "1", "--resign", "0", "--weights-file", net]
    return Program([sys.executable, "-m", "az_engine", "gtp", *options], size, f"kata-set-rules {rules}")


if __name__ == "__main__":
    main()
