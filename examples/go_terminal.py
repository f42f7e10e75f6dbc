"""Play Go against the engine, with Black; moves are D4, pass, undo, quit."""

import argparse
import sys

import az_engine as az


def ask(position: az.Position) -> str:
    """A legal move, "undo" or "quit"."""
    print("Black: ", end="", flush=True)
    for line in map(str.strip, sys.stdin):
        if line in ("undo", "quit"):
            return line
        try:
            return position.read(line)
        except az.AzError as error:
            print(error, "Black: ", sep="\n", end="", flush=True)
    return "quit"


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("size", metavar="SIZE", type=int, nargs="?", default=9, help="of the board (%(default)s)")
parser.add_argument("seconds", metavar="SECONDS", type=float, nargs="?", default=2.0, help="a move (%(default)s)")
args = parser.parse_args()
name, limits = f"go{args.size}", az.Limits(seconds=args.seconds)
games = [az.Position(name)]  # after each of White's moves
with az.Engine(name) as engine:
    while games[-1].outcome is None:
        print(games[-1])
        if (move := ask(games[-1])) == "quit":
            sys.exit()
        if move == "undo":
            games = games[: max(len(games) - 1, 1)]
            continue
        games.append(games[-1].play(move))
        if games[-1].outcome is None:
            answer = engine.play(games[-1], limits)
            print(f"White: {answer.move}; Black wins with {50 - 50 * answer.info.wdl.value:.0f} %")
            games[-1] = games[-1].play(answer.move or "pass")
lead = games[-1].outcome.lead or 0
print(games[-1], f"{'Black' if lead > 0 else 'White'} is ahead by {abs(lead):g} points", sep="\n")
