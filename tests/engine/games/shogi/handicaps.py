"""Handicap games of shogi: what the engine shows of the giver's chances before the first move, and how its games end.

``python -m tests.engine.games.shogi.handicaps --games 200`` prints a table, a row once its games are over.
"""

from __future__ import annotations

import argparse
import random

import az_engine as az

HANDICAPS = {
    "lance": "lnsgkgsn1/1r5b1",
    "bishop": "lnsgkgsnl/1r7",
    "rook": "lnsgkgsnl/7b1",
    "rook and lance": "lnsgkgsn1/7b1",
    "two pieces": "lnsgkgsnl/9",
    "four pieces": "1nsgkgsn1/9",
    "six pieces": "2sgkgs2/9",
    "eight pieces": "3gkg3/9",
}
VARIED = 8  # plies of a game that are drawn from the policy
MOST = 320  # plies of a game; what lasts longer is a draw


def start(camp: str) -> az.Position:
    """The start of a handicap game: the giver, White, begins."""
    return az.Position("shogi", f"{camp}/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1")


def opening(camp: str, net: az.Net, chance: random.Random) -> az.Position:
    """The position after some likely moves."""
    position = start(camp)
    for _ in range(VARIED):
        priors = net.evaluate([position])[0].priors
        position = position.play(*chance.choices([*priors], [*priors.values()]))
    return position


def points(position: az.Position, engine: az.Engine, limits: az.Limits) -> tuple[float, str]:
    """The giver's points in a game of the engine against itself, and its moves."""
    moves = list[str]()
    engine.new_game()
    while (outcome := position.outcome) is None and len(moves) < MOST:
        move = engine.play(position, limits).move
        if move is None:  # it resigns
            return float(position.turn == 0), " ".join(moves)
        position = position.play(move)
        moves.append(move)
    winner = None if outcome is None else outcome.winner
    return 0.5 if winner is None else float(winner == 1), " ".join(moves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--visits", type=int, default=400)
    parser.add_argument("--handicaps", nargs="*", default=[*HANDICAPS], choices=HANDICAPS)
    options = parser.parse_args()
    limits, net = az.Limits(nodes=options.visits), az.Net("default", "shogi")
    engine = az.Engine("shogi", threads=1, hash_mb=16)
    print("| handicap | giver's chance, net alone | searched | the giver's points | games | different ones |")
    print("|---|---|---|---|---|---|")
    for number, name in enumerate(options.handicaps):
        camp, chance = HANDICAPS[name], random.Random(number)
        alone = net.evaluate([start(camp)])[0].chance
        searched = (1 + engine.analyse(start(camp), limits).lines[0].wdl.value) / 2
        games = [points(opening(camp, net, chance), engine, limits) for _ in range(options.games)]
        mean, different = sum(game[0] for game in games) / len(games), len({game[1] for game in games})
        chances = f"{100 * alone:.1f} % | {100 * searched:.1f} % | {100 * mean:.1f} %"
        print(f"| {name} | {chances} | {len(games)} | {different} |", flush=True)
    engine.close()


if __name__ == "__main__":
    main()
