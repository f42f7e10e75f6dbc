"""An engine that goes wrong in the way its first argument names, over UCI or the protocol that its second names.

See test_client.py. Standard library only.
"""

from __future__ import annotations

import os
import sys
import time

HOW = sys.argv[1]
PROTOCOL = sys.argv[2] if len(sys.argv) > 2 else "uci"
MOVE, REPLY = {"uci": ("e2e4", "e7e5"), "usi": ("7g7f", "3c3d")}[PROTOCOL]
ANSWERS = {
    "illegal": "bestmove e2e5",
    "nonsense": "bestmove Nf3",
    "empty": "bestmove",
    "none": "bestmove (none)",
    "resign": "bestmove resign",
    "win": "bestmove win",
    "twice": f"bestmove {MOVE}\nbestmove {MOVE}",
}
COMPLAINTS = {"babble": "e" * 200_000 + "\n", "complain": "first\nno table base found\n", "exit": "cannot go on\n"}


def say(*lines: str) -> None:
    """Write lines."""
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


def hang_if(how: str) -> None:
    """Never come back, if that is the way."""
    if how == HOW:
        time.sleep(60)


def greet() -> None:
    """Answer `uci` or `usi`."""
    hang_if("mute")
    say("banner", "id name Bad  One", "id author nobody", "option name Move Overhead type spin default 1 min 0 max 9")
    say("option name Ponder type check default false", f"{PROTOCOL}ok")


def think(words: list[str]) -> None:
    """Answer `go`."""
    say("info depth 3 seldepth 5 multipv 1 score cp -12 upperbound nodes 77 nps 9 time 8 wdl 1 2 997 pv e2e4 e7e5")
    say("info depth x score cp 1", "info string score cp 5", "info depth 3 multipv 2 score mate -2 pv d2d4")
    if HOW == "die":
        os.kill(os.getpid(), 9)
    if HOW == "exit":
        sys.exit(7)
    if HOW == "close stdout":
        os.close(1)
        time.sleep(60)
    hang_if("hang")
    while HOW == "spam":
        say("info depth 1 score cp 1 pv e2e4")
    if HOW == "pour":
        time.sleep(0.2)
        while True:
            say(*["no line of any protocol"] * 1000)
    if HOW == "deaf to stop":
        sys.stdin.readline()
        time.sleep(60)
    if not {"infinite", "ponder"} & set(words):
        time.sleep(0.05)
        say(ANSWERS.get(HOW, f"bestmove {MOVE} ponder {REPLY}"))


def main() -> None:
    """Talk, more or less."""
    sys.stderr.write(COMPLAINTS.get(HOW, ""))
    sys.stderr.flush()
    if HOW == "no start":
        sys.exit(3)
    for line in sys.stdin:
        words = line.split()
        if words[:1] == [PROTOCOL]:
            greet()
        elif words[:1] == ["isready"]:
            hang_if("never ready")
            say("readyok")
        elif words[:1] == ["setoption"]:
            say(f"info string got {' '.join(words[2:])}")
        elif words[:1] == ["go"]:
            think(words)
        elif words[:1] in (["stop"], ["ponderhit"]):
            say(f"bestmove {MOVE}")
        elif words[:1] == ["quit"]:
            hang_if("will not quit")
            return


main()
