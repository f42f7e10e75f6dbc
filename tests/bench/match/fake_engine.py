"""A UCI engine for tests: random legal moves, and one way to misbehave from its N-th move on.

usage: fake_engine.py [FAULT [N]]   FAULT: slow, illegal, none, crash, stall, chatter
The option Log names a file for all that it hears.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import chess


def misbehave(fault: str, answer: str) -> str:
    if fault == "crash":
        sys.exit(3)
    if fault == "stall":
        time.sleep(60)
    while fault == "chatter":
        print("info string still here", flush=True)
        time.sleep(0.01)
    if fault == "slow":
        time.sleep(0.4)
    return {"illegal": "e2e5", "none": "(none)"}.get(fault, answer)


def main() -> None:
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    at = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(0)
    board = chess.Board()
    moves = 0
    log = Path(os.devnull)
    for line in sys.stdin:
        words = line.split()
        with log.open("a") as file:
            file.write(line)
        if words[:1] == ["uci"]:
            print("id name fake\noption name Log type string default <empty>\nuciok", flush=True)
        elif words[:1] == ["isready"]:
            print("readyok", flush=True)
        elif words[:3] == ["setoption", "name", "Log"]:
            log = Path(line.split(" value ")[1].strip())
        elif words[:1] == ["position"]:
            moves_at = words.index("moves") if "moves" in words else len(words)
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves_at]))
            for text in words[moves_at + 1 :]:
                board.push_uci(text)
        elif words[:1] == ["go"] and words[1] == "perft":
            print(f"Nodes searched: {20 if words[2] == '1' else 400}", flush=True)
        elif words[:1] == ["go"]:
            moves += 1
            answer = rng.choice(list(board.legal_moves)).uci()
            if moves >= at:
                answer = misbehave(fault, answer)
            print(f"info depth 1 score cp 0 pv {answer}\nbestmove {answer}", flush=True)
        elif words[:1] == ["quit"]:
            return


main()
