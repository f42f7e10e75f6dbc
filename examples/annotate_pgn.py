"""Add the engine's opinion to the games of a PGN file: annotate_pgn.py GAMES.pgn > ANNOTATED.pgn.

What stands in the games stays; ``az-engine review GAMES.pgn --all`` does more of this, for shogi and Go as well.
"""

import argparse
from pathlib import Path

import chess
import chess.engine
import chess.pgn

import az_engine as az

LOSS, MISTAKE, BLUNDER = 0.05, 0.10, 0.20  # of expected points


def annotate(game: chess.pgn.Game, engine: az.Engine, visits: int) -> None:
    """Mark the moves that give expected points away, and show what the engine prefers."""
    before = engine.analyse(game.board(), az.Limits(visits=visits))
    for node in list(game.mainline()):
        after = engine.analyse(node.board(), az.Limits(visits=visits))
        lost = before.wdl.value / 2 + after.wdl.value / 2  # both from the view of the side to move
        if lost > LOSS and before.pv and node.move.uci() != before.pv[0]:
            if not any(1 <= nag <= 6 for nag in node.nags):
                node.nags.add(
                    chess.pgn.NAG_BLUNDER if lost > BLUNDER else chess.pgn.NAG_MISTAKE if lost > MISTAKE else 6
                )
            node.comment = f"{node.comment} loses {100 * lost:.0f} % of a point".strip()
            better = [node.parent.board().parse_uci(move) for move in before.pv[:1]]
            if not node.parent.has_variation(better[0]):
                node.parent.add_line([chess.Move.from_uci(move) for move in before.pv[:6]])
        before = after


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("games", metavar="GAMES.pgn", type=Path)
parser.add_argument("visits", metavar="VISITS", type=int, nargs="?", default=400, help="a position (%(default)s)")
args = parser.parse_args()
if not args.games.is_file():
    parser.error(f"{args.games} is no file")
with az.Engine("chess") as engine, args.games.open(encoding="utf-8-sig", errors="replace") as file:
    while game := chess.pgn.read_game(file):
        annotate(game, engine, args.visits)
        print(game, end="\n\n", flush=True)
