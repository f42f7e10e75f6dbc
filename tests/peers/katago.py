"""Ask KataGo and our analysis engine the same 200 queries with the same net, and compare what they answer.

    python tests/peers/katago.py --katago "katago analysis -config analysis.cfg -model NET" \\
        --ours "az-engine analysis --weights-file NET --no-int8"

Positions are games of the package's net at temperature 1, under komi from -12.5 to 30, seven rule sets, no handicap or
two to five stones, on 7x7 to 19x19. Raw values come from rootInfo's raw fields, searched ones from --visits visits.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from statistics import mean, median
from typing import Any

import az_engine as az

COLUMNS = "ABCDEFGHJKLMNOPQRST"
RULES = ("chinese", "japanese", "korean", "aga", "new-zealand", "tromp-taylor", "stone-scoring")
SIZES = (7, 9, 9, 11, 13, 13, 16, 19)
STARS = {7: 2, 9: 2, 11: 2}  # distance from the edge; 3 on larger boards
RAW = {"rawWinrate": 1e-4, "rawLead": 1e-2, "rawScoreSelfplay": 1e-2}  # field -> tolerance
SEARCHED = ("winrate", "scoreLead")
Query = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--katago", required=True, metavar="COMMAND")
    parser.add_argument("--ours", required=True, metavar="COMMAND")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--visits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", metavar="FILE", help="keep queries and both answers, a JSON object a line")
    args = parser.parse_args()
    queries = list(_queries(args.queries, args.visits, args.seed))
    theirs, ours = (_answers(command, queries) for command in (args.katago, args.ours))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            for query in queries:
                name = query["id"]
                line = {"query": query, "katago": theirs[name], "ours": ours[name]}
                file.write(json.dumps(line) + "\n")
    both = [query for query in queries if all("rootInfo" in answers[query["id"]] for answers in (theirs, ours))]
    for query in queries:
        if query not in both:
            name = query["id"]
            print(name, "katago:", theirs[name].get("error", "answers"), "ours:", ours[name].get("error", "answers"))
    print(f"{len(both)} of {len(queries)} answered by both")
    for field in (*RAW, *SEARCHED):
        _compare(field, both, theirs, ours)


def _compare(field: str, queries: list[Query], theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    pairs = [(theirs[query["id"]]["rootInfo"], ours[query["id"]]["rootInfo"], query) for query in queries]
    apart = [(abs(a[field] - b[field]), query) for a, b, query in pairs if field in a and field in b]
    if not apart:
        print(f"{field}: not given by both")
        return
    worst, where = max(apart, key=lambda pair: pair[0])
    sizes = [difference for difference, _ in apart]
    bound = f", {sum(size <= RAW[field] for size in sizes)} within {RAW[field]}" if field in RAW else ""
    print(
        f"{field}: {len(sizes)} compared, apart by {mean(sizes):.2g} on average, median {median(sizes):.2g}{bound}, "
        f"at most {worst:.3g} in {where['id']}: {where['rules']}, komi {where['komi']}"
    )


def _queries(count: int, visits: int, seed: int) -> Iterator[Query]:
    rng = random.Random(seed)
    for number in range(count):
        size, rules = rng.choice(SIZES), rng.choice(RULES)
        handicap = rng.choice((0, 0, 0, 2, 3, 4, 5))
        stones = _handicap(size, handicap)
        yield {
            "id": f"{number}-{size}x{size}",
            "boardXSize": size,
            "boardYSize": size,
            "rules": rules,
            "komi": rng.randint(-25, 60) / 2 if rng.random() < 0.5 else rng.choice((0.5, 5.5, 6.5, 7.0, 7.5)),
            "initialStones": [["B", stone] for stone in stones],
            "initialPlayer": "W" if stones else "B",
            "moves": _moves(rng, size, stones, rng.randint(0, size * size // 3)),
            "maxVisits": visits,
        }


def _handicap(size: int, count: int) -> list[str]:
    near = STARS.get(size, 3)
    near, far, middle = near, size - 1 - near, size // 2
    points = [(near, near), (far, far), (near, far), (far, near), (middle, middle)][:count]
    return [f"{COLUMNS[column]}{row + 1}" for column, row in points]


def _moves(rng: random.Random, size: int, stones: list[str], count: int) -> list[list[str]]:
    """Moves of the net at temperature 1, without passes."""
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


NETS: dict[int, az.Net] = {}


def _answers(command: str, queries: list[Query]) -> dict[str, Any]:
    """By id; both programs get all queries at once."""
    process = subprocess.run(
        shlex.split(command),
        input="".join(json.dumps(query) + "\n" for query in queries),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    answers = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    for answer in answers:
        if "warning" in answer:
            print(command.split()[0], answer["warning"], file=sys.stderr)
    found = {answer["id"]: answer for answer in answers if "rootInfo" in answer or "error" in answer}
    return {query["id"]: found.get(query["id"], {"error": "no answer"}) for query in queries}


if __name__ == "__main__":
    main()
