"""A tiny GTP engine for the tests of labelling: kata-analyze, or with ``lz`` lz-analyze, of moves weighed by a hash.

Its chances and owners are made up, but the same for the same position. ``owners``: it tells who owns what.
"""

from __future__ import annotations

import sys
import zlib

from az_engine.engine.games import get_game

KATA = "lz" not in sys.argv


def weight(position: str, move: str) -> int:
    """5 .. 104: what is asked for is always reached."""
    return zlib.crc32(f"{position} {move}".encode()) % 100 + 5


def report(size: int, position: str, legal: list[str], words: list[str]) -> str:
    """One line of an analysis."""
    chance = weight(position, "chance") / 105
    most = int(words[words.index("maxmoves") + 1]) if "maxmoves" in words else 9
    moves = sorted(legal, key=lambda move: (-weight(position, move), move))[:most]
    parts = []
    for order, move in enumerate(moves):
        winrate = f"{chance:.6f}" if KATA else str(round(10_000 * chance))
        lead = " scoreMean 2.5 scoreStdev 9 scoreLead 2.5" if KATA else ""
        visits = weight(position, move)
        parts.append(f"info move {move} visits {visits} winrate {winrate}{lead} prior 0.1 order {order} pv {move}")
    if "ownership" in words and "owners" in sys.argv:
        parts.append("ownership " + " ".join(["0.98" if weight(position, "owner") > 50 else "-0.5"] * (size * size)))
    return " ".join(parts)


def main() -> None:
    size, komi, rules = 9, "7", "chinese-ogs"
    game = get_game("go9")
    line = game.initial()
    for text in sys.stdin:
        number, name, *words = text.split()
        said = ""
        match name:
            case "list_commands":
                said = "name\n" + ("kata-analyze\nkata-set-rules" if KATA else "lz-analyze")
            case "name":
                said = "fake"
            case "boardsize":
                size, game = int(words[0]), get_game(f"go{words[0]}")
            case "komi":
                komi = words[0]
            case "kata-set-rules":
                rules = words[0]
            case "play":
                if "bw"[game.side_to_move(line[-1])] != words[0]:
                    print(f"?{number} wrong colour\n", flush=True)
                    continue
                line = game.play(line, game.parse_move(line, words[1]))
            case "kata-analyze" | "lz-analyze":
                legal = [game.format_move(line[-1], int(move)) for move in game.legal_moves(line)]
                print(f"={number}\n{report(size, game.format_position(line[-1]), legal, words)}", flush=True)
                number = sys.stdin.readline().split()[0]
                print(flush=True)
        if name in ("boardsize", "clear_board", "komi", "kata-set-rules"):
            line = game.parse_position(f"{'/'.join([str(size)] * size)} b - {komi} {rules} 0 0 0")[0]
        print(f"={number} {said}\n", flush=True)
        if name == "quit":
            return


if __name__ == "__main__":
    main()
