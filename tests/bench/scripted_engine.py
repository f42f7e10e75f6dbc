"""An engine for tests that knows no rules: it answers by the number of moves played, from the arguments.

usage: scripted_engine.py PROTOCOL ANSWER...   the answer to ply n is ANSWER[n modulo their number]; "slow=MOVE" comes
after 0.4 s. The option Log names a file for all that it hears.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def main() -> None:
    protocol, *answers = sys.argv[1:]
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
            answer = answers[ply % len(answers)]
            if answer.startswith("slow="):
                time.sleep(0.4)
            print(f"bestmove {answer.removeprefix('slow=')}", flush=True)
        elif words[:1] == ["quit"]:
            return


main()
