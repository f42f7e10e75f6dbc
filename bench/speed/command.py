"""``az-engine bench WHAT``: the table of benches."""

from __future__ import annotations

import argparse

from ...engine.games import game_names
from . import figures, gpu, rules, selfplay
from . import match as overhead
from . import search as speed
from . import serve as sharing
from . import startup as latency

HELP = """\
Measure this engine on this machine. Each figure is shown beside the limit or peer to compare it with, measured in the
same run. --json prints one JSON object a line: what, value, unit and, where there is one, peer, peer_value and ratio.

examples:
  az-engine bench perft                        speed of the rules, beside Stockfish if it is installed
  az-engine bench perft --game shogi           the rules of shogi, beside cshogi if it is installed
  az-engine bench rules --game go --size 19    the rules of Go on a large board
  az-engine bench tree                         the search without a net
  az-engine bench search --workers 1,2         the search with the net, beside onnxruntime alone
  az-engine bench selfplay --visits 32         self-play, beside onnxruntime alone
  az-engine bench gpu --out report.json        a GPU: parity, positions a second, self-play, learner
  az-engine bench figures --out figures.md     all of them that docs/results/figures.md shows, as a table"""

_BENCHES = {
    "perft": ("count the leaves of the legal move tree", rules.add_perft_arguments, rules.perft),
    "rules": ("random legal moves a second", rules.add_rules_arguments, rules.rules),
    "tree": ("simulations a second without a net", speed.add_tree_arguments, speed.tree),
    "search": ("positions a second of the search, beside the net alone", speed.add_search_arguments, speed.search),
    "selfplay": ("simulations per CPU-second of self-play", selfplay.add_arguments, selfplay.main),
    "startup": (
        "process start to greeting and readyok, stop to bestmove",
        latency.add_startup_arguments,
        latency.startup,
    ),
    "serve": ("searches of many clients with one net, and their shares", sharing.add_arguments, sharing.main),
    "match": ("what a match takes for a move beside the players", overhead.add_arguments, overhead.main),
    "gpu": ("all that runs on a GPU, beside what it can do; every part on its own", gpu.add_arguments, gpu.main),
    "figures": ("measure the table of docs/results/figures.md", figures.add_arguments, figures.main),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    benches = parser.add_subparsers(dest="bench", required=True, metavar="WHAT")
    for name, (line, add, _) in _BENCHES.items():
        bench = benches.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name not in ("figures", "gpu"):
            bench.add_argument("--game", choices=game_names(), default="chess", help="default: %(default)s")
            bench.add_argument("--json", action="store_true", help="one JSON object a line")
        add(bench)


def main(args: argparse.Namespace) -> int:
    return _BENCHES[args.bench][2](args)
