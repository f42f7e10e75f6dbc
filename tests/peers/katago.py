"""Ask KataGo and our analysis engine the same queries with the same net, and compare what they answer.

    python tests/peers/katago.py --katago "katago analysis -config analysis.cfg -model NET" \\
        --ours "az-engine analysis --weights-file NET --no-int8"
    python tests/peers/katago.py --katago "katago analysis -config analysis.cfg -model STRONG" \\
        --ours "az-engine analysis" --queries 100 --sizes 9 --komis=-20,-10,0,5.5,6,6.5,7,7.5,10,20,30
    python tests/peers/katago.py --katago "katago analysis -config analysis.cfg -model STRONG" \\
        --ours "az-engine analysis" --queries 200 --games games.sgf --visits 1

Positions come from games of the package's net at temperature 1, on 7x7 to 19x19, with seven rule sets, komi from -12.5
to 30 and no handicap or two to five stones. Raw values are those of rootInfo, searched ones come from --visits visits.
With --komis each position, without handicap, is asked with each komi, and our net judged by the other one. With --games
positions are those of recorded games without handicap.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import az_engine as az

COLUMNS = "ABCDEFGHJKLMNOPQRST"
RULES = ("chinese", "japanese", "korean", "aga", "new-zealand", "tromp-taylor", "stone-scoring")
SIZES = (7, 9, 9, 11, 13, 13, 16, 19)
TOLERANCES = {"rawWinrate": 1e-4, "rawLead": 1e-2, "rawScoreSelfplay": 1e-2, "winrate": 0.02, "scoreLead": 0.5}
RISES = 0.005  # of Black's chances with a higher komi, which do not count
NETS: dict[int, az.Net] = {}  # by size
Query = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--katago", required=True, metavar="COMMAND")
    parser.add_argument("--ours", required=True, metavar="COMMAND")
    parser.add_argument("--queries", type=int, default=200, help="positions")
    parser.add_argument("--visits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=_numbers, default=SIZES, metavar="N,N...")
    parser.add_argument("--komis", type=_numbers, default=[], metavar="X,X...")
    parser.add_argument("--games", type=Path, metavar="SGF", help="positions of these games, not of the net's own")
    parser.add_argument("--out", type=Path, help="keep queries and answers here, a JSON object a line")
    args = parser.parse_args()
    queries = list(_queries(args) if args.games is None else _of_games(args))
    theirs, ours = (_answers(command, queries) for command in (args.katago, args.ours))
    if args.out:
        lines = [{"query": query, "katago": theirs[query["id"]], "ours": ours[query["id"]]} for query in queries]
        args.out.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    both = []
    for query in queries:
        name = query["id"]
        if "error" in theirs[name] or "error" in ours[name]:
            print(name, "KataGo:", theirs[name].get("error", "answers"), "ours:", ours[name].get("error", "answers"))
        else:
            both.append((query, theirs[name]["rootInfo"], ours[name]["rootInfo"]))
    print(f"{len(both)} of {len(queries)} answered by both")
    for field, tolerance in TOLERANCES.items():
        _compare(field, tolerance, both)
    if args.komis:
        steps = [(a, b) for a, b in pairwise(both) if a[0]["moves"] is b[0]["moves"]]
        for who, name in ((1, "KataGo"), (2, "ours")):
            rises = sum(b[who]["winrate"] > a[who]["winrate"] + RISES for a, b in steps)
            print(f"{name}: Black's chances rise with komi in {rises} of {len(steps)} steps")


def _numbers(text: str) -> list[float]:
    return [float(word) if "." in word else int(word) for word in text.split(",")]


def _compare(field: str, tolerance: float, both: list[tuple[Query, Query, Query]]) -> None:
    apart = [(abs(a[field] - b[field]), query) for query, a, b in both if field in a and field in b]
    if not apart:
        print(f"{field}: not given by both")
        return
    worst, where = max(apart, key=lambda pair: pair[0])
    sizes = [difference for difference, _ in apart]
    print(
        f"{field}: {len(sizes)} compared, apart by {mean(sizes):.2g} on average, median {median(sizes):.2g}, "
        f"{sum(size <= tolerance for size in sizes)} within {tolerance}, "
        f"at most {worst:.3g} in {where['id']} ({where['rules']}, komi {where['komi']})"
    )


def _queries(args: argparse.Namespace) -> Iterator[Query]:
    rng = random.Random(args.seed)
    for number in range(args.queries):
        size, rules = int(rng.choice(args.sizes)), rng.choice(RULES)
        stones = [] if args.komis else _handicap(size, rng.choice((0, 0, 0, 2, 3, 4, 5)))
        komi = rng.choice((0.5, 5.5, 6.5, 7.0, 7.5)) if rng.random() < 0.5 else rng.randint(-25, 60) / 2
        moves = _moves(rng, size, stones, rng.randint(0, size * size // 3))
        for one in args.komis or [komi]:
            yield {
                "id": f"{number} {size}x{size} komi {one}",
                "boardXSize": size,
                "boardYSize": size,
                "rules": rules,
                "komi": one,
                "initialStones": [["B", stone] for stone in stones],
                "initialPlayer": "W" if stones else "B",
                "moves": moves,
                "maxVisits": args.visits,
                "overrideSettings": {"reportAnalysisWinratesAs": "BLACK"},
            }


def _of_games(args: argparse.Namespace) -> Iterator[Query]:
    """Positions of recorded games, drawn alike from all that do not follow a pass."""
    rng, found = random.Random(args.seed), list[tuple[az.Position, int]]()
    with contextlib.suppress(az.AzError):  # there are no more games
        for number in count(1):
            game = az.Position.load(args.games, number=number)
            passes = (i for i, move in enumerate(game.moves) if move.lower() == "pass")
            found += [(game, ply) for ply in range(next(passes, len(game.moves)))]
    for place, (game, ply) in enumerate(rng.sample(found, min(args.queries, len(found)))):
        size = len((game.root or "").split()[0].split("/"))
        komi, rules = (game.root or "").split()[3:5]
        yield {
            "id": f"{place} {size}x{size} move {ply}",
            "boardXSize": size,
            "boardYSize": size,
            "rules": rules,
            "komi": float(komi),
            "moves": [["BW"[i % 2], move.upper()] for i, move in enumerate(game.moves[:ply])],
            "maxVisits": args.visits,
            "overrideSettings": {"reportAnalysisWinratesAs": "BLACK"},
        }


def _handicap(size: int, count: int) -> list[str]:
    edge = 2 if size < 12 else 3
    far, middle = size - 1 - edge, size // 2
    points = [(edge, edge), (far, far), (edge, far), (far, edge), (middle, middle)][:count]
    return [f"{COLUMNS[column]}{row + 1}" for column, row in points]


def _moves(rng: random.Random, size: int, stones: list[str], count: int) -> list[list[str]]:
    """Moves of the package's net at temperature 1, without passes."""
    net, moves = NETS.setdefault(size, az.Net("default", f"go{size}")), list[list[str]]()
    rows = ["".join("X" if f"{c}{row}" in stones else "." for c in COLUMNS[:size]) for row in range(size, 0, -1)]
    board = re.sub(r"\.+", lambda empty: str(len(empty[0])), "/".join(rows))
    position = az.Position(f"go{size}", f"{board} {'w' if stones else 'b'} - 7.5")
    for ply in range(count):
        priors = {move: p for move, p in net.evaluate([position])[0].priors.items() if move.lower() != "pass"}
        if not priors or position.outcome is not None:
            break
        (move,) = rng.choices(list(priors), list(priors.values()))
        position = position.play(move)
        moves.append(["BW"[(ply + bool(stones)) % 2], move.upper()])
    return moves


def _answers(command: str, queries: list[Query]) -> dict[str, Any]:
    """By id; the program gets all queries at once."""
    text = "".join(json.dumps(query) + "\n" for query in queries)
    process = subprocess.run(shlex.split(command), input=text, stdout=subprocess.PIPE, text=True, check=False)
    found = {}
    for line in process.stdout.splitlines():
        answer = json.loads(line) if line.startswith("{") else {}
        if "warning" in answer:
            print(command, answer["warning"], file=sys.stderr)
        elif "id" in answer:
            found[answer["id"]] = answer
    return {query["id"]: found.get(query["id"], {"error": "no answer"}) for query in queries}


if __name__ == "__main__":
    main()
