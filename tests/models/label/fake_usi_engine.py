"""A tiny USI engine for the tests of labelling: scores each legal move by a hash. ``resign``: it gives up at once."""

from __future__ import annotations

import sys
import zlib

import shogi


def score(board: shogi.Board, move: shogi.Move) -> int:
    """Centipawns in -900..900."""
    return zlib.crc32(f"{board.sfen()} {move.usi()}".encode()) % 1801 - 900


def main() -> None:
    board, multipv = shogi.Board(), 1
    for line in sys.stdin:
        words = line.split()
        match words[:1]:
            case ["usi"]:
                print("id name fake\noption name MultiPV type spin default 1 min 1 max 99")
                print("option name USI_Hash type spin default 16 min 1 max 64\nusiok", flush=True)
            case ["isready"]:
                print("readyok", flush=True)
            case ["setoption"]:
                if words[2] == "MultiPV":
                    multipv = int(words[4])
            case ["position"]:
                board = shogi.Board()
                for move in words[words.index("moves") + 1 :] if "moves" in words else []:
                    board.push_usi(move)
            case ["go"]:
                moves = sorted(board.legal_moves, key=lambda m: (-score(board, m), m.usi()))
                for index, found in enumerate(moves[:multipv]):
                    board.push(found)
                    mates = board.is_checkmate()
                    board.pop()
                    value = "mate 1" if mates else f"cp {score(board, found)}"
                    print(f"info depth 3 multipv {index + 1} score {value} nodes {words[-1]} pv {found.usi()}")
                print("bestmove resign" if "resign" in sys.argv else f"bestmove {moves[0].usi()}", flush=True)
            case ["quit"]:
                return


if __name__ == "__main__":
    main()
