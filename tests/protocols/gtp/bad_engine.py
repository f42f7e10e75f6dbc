"""A GTP engine that goes wrong in one way, given as the first argument."""

from __future__ import annotations

import os
import sys
import time

HOW = sys.argv[-1]
COMMANDS = "protocol_version name list_commands boardsize clear_board komi play genmove time_settings time_left quit"
MORE = {
    "kata": "kata-analyze kata-genmove_analyze kata-set-rules kata-time_settings kata-set-param clear_cache "
    "final_score",
    "lz": "lz-analyze lz-genmove_analyze lz-setoption",
}

KATA = (
    "info move E5 visits 70 edgeVisits 70 utility 0.1 winrate 0.625 scoreMean 1.5 scoreStdev 9 scoreLead 1.5 "
    "scoreSelfplay 2 prior 0.3 lcb 0.6 utilityLcb 0.05 weight 71.5 order 0 pv E5 C3 G7 pvVisits 70 20 5 "
    "info move C4 visits 30 edgeVisits 30 utility 0 winrate 0.5 scoreMean 0.1 scoreStdev 9 scoreLead 0.1 "
    "scoreSelfplay 0 prior 0.2 lcb 0.4 utilityLcb 0 weight 30 order 1 pv C4 E5"
)
OWNERS = " ownership " + " ".join("0.5" if i < 40 else "-0.25" for i in range(81))
LZ = (
    "info move E5 visits 60 winrate 6250 prior 3000 lcb 6100 order 0 pv E5 C3 "
    "info move C4 visits 40 winrate 5000 prior 2000 lcb 4900 order 1 pv C4"
)


def say(text: str) -> None:
    """Write at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    """Talk, more or less."""
    if HOW == "no start":
        sys.exit(3)
    known = f"{COMMANDS} {MORE.get(HOW, '')}".split()
    for line in sys.stdin:
        number, name, *words = line.split()
        if HOW == "wrong id":
            number = "999"
        if HOW == "mute" or (HOW == "never ready" and name == "protocol_version"):
            time.sleep(60)
        if name == "quit":
            say(f"={number}\n\n")
            return
        if name == "genmove" and HOW in FAULTS:
            FAULTS[HOW]()
        if name not in known or (HOW == "refuses" and name == "play"):
            say(f"?{number} unknown command\n\n")
        elif name == "list_commands":
            say(f"={number} " + "\n".join(known) + "\n\n")
        elif name.endswith("genmove_analyze"):
            say(f"={number}\n{KATA if HOW == 'kata' else LZ}\nplay E5\n\n")
        elif name.endswith("analyze"):
            owners = OWNERS if "ownership" in words else ""
            say(f"={number}\ninfo move E5 visits 1 winrate 0.5 order 0 pv E5\n")
            say(f"{KATA if HOW == 'kata' else LZ}{owners}\n")
            number = sys.stdin.readline().split()[0]
            say(f"\n={number} 2\n\n")
        else:
            said = {"name": "Bad  One", "genmove": ANSWERS.get(HOW, "E5"), "final_score": "W+3.5"}.get(name, "2")
            say(f"={number} {said}\n\n")


def spam() -> None:
    """Lines that look like an analysis, without end."""
    while True:
        say("info move E5 visits 1 winrate 0.5 order 0 pv E5\n" * 100)


def pour() -> None:
    """Lines of nothing, without end."""
    while True:
        say("no line of any protocol\n" * 1000)


ANSWERS = {"illegal": "Z99", "nonsense": "Nf3", "empty": "", "resign": "RESIGN", "pass": "PASS", "lower": "e5"}
FAULTS = {
    "hang": lambda: time.sleep(60),
    "die": lambda: os.kill(os.getpid(), 9),
    "exit": lambda: sys.exit(7),
    "spam": spam,
    "pour": pour,
}

if __name__ == "__main__":
    main()
