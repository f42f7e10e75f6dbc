"""A tiny UCI engine for the tests of labelling: scores each legal move by a hash, the same for the same position.

Arguments: ``wdl`` to know UCI_ShowWDL, ``die=N`` to end without a word at the N-th search of the process.
"""

from __future__ import annotations

import sys
import zlib

import chess


def score(board: chess.Board, move: chess.Move) -> int:
    """Centipawns in -300..300."""
    return zlib.crc32(f"{board.fen()} {move.uci()}".encode()) % 601 - 300


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    knows_wdl = "wdl" in sys.argv
    dies_at = next((int(a[4:]) for a in sys.argv if a.startswith("die=")), 0)
    board, multipv, searches = chess.Board(), 1, 0
    for line in sys.stdin:
        words = line.split()
        match words[:1]:
            case ["uci"]:
                options = ("MultiPV type spin default 1 min 1 max 500", "Threads type spin default 1 min 1 max 8")
                say("id name fake\n" + "\n".join(f"option name {text}" for text in options))
                say("option name Hash type spin default 1 min 1 max 64")
                if knows_wdl:
                    say("option name UCI_ShowWDL type check default false")
                say("uciok")
            case ["isready"]:
                say("readyok")
            case ["setoption"]:
                if words[2] == "MultiPV":
                    multipv = int(words[4])
            case ["position"]:
                board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:8]))
                for move in words[words.index("moves") + 1 :] if "moves" in words else []:
                    board.push_uci(move)
            case ["go"]:
                searches += 1
                if searches == dies_at:
                    return
                moves = sorted(board.legal_moves, key=lambda m: (-score(board, m), m.uci()))
                for index, move in enumerate(moves[:multipv]):
                    after = board.copy(stack=False)
                    after.push(move)
                    value = "mate 1" if after.is_checkmate() else f"cp {score(board, move)}"
                    wdl = " wdl 600 300 100" if knows_wdl else ""
                    say(f"info depth 3 multipv {index + 1} score {value}{wdl} nodes {words[-1]} pv {move.uci()}")
                say(f"bestmove {moves[0].uci()}")
            case ["quit"]:
                return


if __name__ == "__main__":
    main()
