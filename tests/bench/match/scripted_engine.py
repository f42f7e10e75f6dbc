"""An engine for tests that knows no rules: it answers by the number of moves played, from the arguments.

usage: scripted_engine.py PROTOCOL ANSWER...   the answer to ply n is ANSWER[n modulo their number]; "slow=MOVE" comes
after 0.4 s; instead of one, "die", "hang" and "flood" end it, say nothing and write without end. The option Log names a
file for all that it hears. Over GTP "score=TEXT" is what it counts at the end.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def thought(answer: str) -> str:
    """The move, after what is to go wrong."""
    if answer == "die":
        sys.exit(3)
    if answer == "hang":
        time.sleep(60)
    while answer == "flood":
        sys.stdout.write("still here\n" * 1000)
    if answer.startswith("slow="):
        time.sleep(0.4)
    return answer.removeprefix("slow=")


def gtp(answers: list[str]) -> None:
    score = next((a.removeprefix("score=") for a in answers if a.startswith("score=")), "")
    answers = [a for a in answers if not a.startswith("score=")]
    ply, log = 0, Path(os.devnull)
    for line in sys.stdin:
        number, name, *words = line.split()
        if name == "Log":
            log = Path(words[0])
        with log.open("a") as file:
            file.write(f"{name} {' '.join(words)}".strip() + "\n")
        head, said = "=", ""
        if name == "list_commands":
            said = "Log\nname\nplay\ngenmove"
        elif name == "name":
            said = "scripted"
        elif name == "boardsize":
            ply = 0
        elif name in ("play", "genmove"):
            ply += 1
            if name == "genmove":
                said = thought(answers[(ply - 1) % len(answers)])
        elif name == "final_score":
            head, said = ("=", score) if score else ("?", "unknown command")
        print(f"{head}{number} {said}\n", flush=True)
        if name == "quit":
            return


def main() -> None:
    protocol, *answers = sys.argv[1:]
    if protocol == "gtp":
        gtp(answers)
        return
    ply = 0
    log = Path(os.devnull)
    for line in sys.stdin:
        words = line.split()
        with log.open("a") as file:
            file.write(line)
        if words[:1] == [protocol]:
            print(f"id name scripted\noption name Log type string default <empty>\n{protocol}ok", flush=True)
        elif words[:1] == ["isready"]:
            print("readyok", flush=True)
        elif words[:3] == ["setoption", "name", "Log"]:
            log = Path(line.split(" value ")[1].strip())
        elif words[:1] == ["position"]:
            ply = len(words) - words.index("moves") - 1 if "moves" in words else 0
        elif words[:1] == ["go"]:
            print(f"bestmove {thought(answers[ply % len(answers)])}", flush=True)
        elif words[:1] == ["quit"]:
            return


main()
