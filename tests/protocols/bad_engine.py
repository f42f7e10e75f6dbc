"""A UCI engine that goes wrong in the way its first argument names; see test_client.py. Standard library only."""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    """Talk UCI, more or less."""
    how = sys.argv[1]

    def say(*lines: str) -> None:
        sys.stdout.write("".join(line + "\n" for line in lines))
        sys.stdout.flush()

    if how == "no start":
        sys.exit(3)
    if how == "babble":
        sys.stderr.write("e" * 200_000 + "\n")
    if how == "complain":
        sys.stderr.write("first\nno table base found\n")
        sys.stderr.flush()
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["uci"]:
            if how == "mute":
                time.sleep(60)
            say(
                "banner",
                "id name Bad  One",
                "id author nobody",
                "option name Move Overhead type spin default 1 min 0 max 9",
            )
            say("option name Ponder type check default false", "uciok")
        elif words[:1] == ["isready"]:
            if how == "never ready":
                time.sleep(60)
            say("readyok")
        elif words[:1] == ["setoption"]:
            say(f"info string got {' '.join(words[2:])}")
        elif words[:1] == ["go"]:
            say(
                "info depth 3 seldepth 5 multipv 1 score cp -12 upperbound nodes 77 nps 9 time 8 wdl 1 2 997 pv e2e4 e7e5"
            )
            say("info depth x score cp 1", "info string score cp 5", "info depth 3 multipv 2 score mate -2 pv d2d4")
            if how == "die":
                os.kill(os.getpid(), 9)
            if how == "exit":
                sys.stderr.write("cannot go on\n")
                sys.exit(7)
            if how == "hang":
                time.sleep(60)
            if how == "close stdout":
                os.close(1)
                time.sleep(60)
            if how == "spam":
                while True:
                    say("info depth 1 score cp 1 pv e2e4")
            if how == "deaf to stop" and "infinite" in words:
                sys.stdin.readline()
                time.sleep(60)
            if how == "illegal":
                say("bestmove e2e5")
            elif how == "nonsense":
                say("bestmove Nf3")
            elif how == "empty":
                say("bestmove")
            elif how == "none":
                say("bestmove (none)")
            elif "infinite" not in words and "ponder" not in words:
                time.sleep(0.05)
                say("bestmove e2e4 ponder e7e5")
                if how == "twice":
                    say("bestmove e2e4")
        elif words[:1] in (["stop"], ["ponderhit"]):
            say("bestmove e2e4")
        elif words[:1] == ["quit"]:
            if how == "will not quit":
                time.sleep(60)
            return


main()
