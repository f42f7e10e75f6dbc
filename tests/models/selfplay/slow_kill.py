"""kill -9 at random instants, by hand: ``python -m tests.models.selfplay.slow_kill --kills 50``.

First a learner with two workers of its own and one started separately, any of which is killed: after every kill each
game that was ever on disk must be there, once and unchanged, and the learner must go on from its newest checkpoint. For
the last quarter of the kills one process plays and learns in turns, and must come to the very bytes of a run nobody
killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from az_engine.models.selfplay.run import SelfPlayRun
from az_engine.models.selfplay.show.status import Observer
from az_engine.models.train.log import read_log

from .test_run import alive, begin, command, config, environment, games_of, stored, tensors, train

STEPS = 800  # of the run alone
ALONE = 0.25  # share of the kills
LEARNER_SHARE = 0.4  # of the kills among several processes


def report(text: str) -> None:
    sys.stderr.write(text + "\n")


def start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, env=environment(), stderr=subprocess.DEVNULL)


def alone(folder: Path, kills: int, rng: random.Random) -> None:
    """One process, killed ``kills`` times, against one that was not."""
    run, at_first = config(loop={"steps": STEPS}), time.time()
    train(folder / "whole", run)
    longest = 2 * (time.time() - at_first) / max(1, kills)  # so that the kills are spread over the run
    begin(folder / "killed", run)
    for kill in range(kills):
        process, begun = start(command(folder / "killed")), time.time()
        message = folder / "killed/workers/0000.json"
        while process.poll() is None and not (message.exists() and message.stat().st_mtime > begun):
            time.sleep(0.05)  # until it plays
        try:
            process.wait(rng.uniform(0.0, longest))
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            steps = sorted(int(p.stem[5:]) for p in (folder / "killed/checkpoints").glob("step-*.json"))
            report(f"alone, kill {kill + 1}: checkpoints {steps}, {len(stored(folder / 'killed'))} games")
    if process.returncode != 0 and start(command(folder / "killed")).wait() != 0:
        raise SystemExit("the killed run does not end")
    for name, of in (("weights", lambda f: tensors(f, STEPS)), ("games", games_of)):
        if of(folder / "whole") != of(folder / "killed"):
            raise SystemExit(f"{name} differ")
    report("alone: the same bytes")


def together(folder: Path, kills: int, rng: random.Random) -> None:
    """A learner with two workers and one started separately."""
    begin(folder, config(machine={"workers": 2}, loop={"steps": 1_000_000, "least_reuse": 4.0}))
    journal: dict[int, bytes] = {}
    by_hand = [sys.executable, "-m", "az_engine", "selfplay", str(folder), "--number", "9"]
    begun = time.time()
    learner, worker = start(command(folder)), start(by_hand)
    newest, learners = 0, 0
    try:
        while not stored(folder):
            time.sleep(1.0)
        longest = max(12.0, 1.5 * (time.time() - begun))  # so that there are kills while starting and while playing
        for kill in range(kills):
            time.sleep(rng.uniform(0.5, longest))
            victim = "learner" if rng.random() < LEARNER_SHARE else rng.choice(["1", "2", "9"])
            if victim == "learner":
                learner.kill()
                learner.wait()
                learners += 1
                learner = start(command(folder))
            elif victim == "9":
                worker.kill()
                worker.wait()
                worker = start(by_hand)
            else:
                message = folder / "workers" / f"{int(victim):04d}.json"
                pid = json.loads(message.read_text())["pid"] if message.exists() else 0
                if pid and alive(pid):
                    os.kill(pid, signal.SIGKILL)
            seen: dict[int, bytes] = {}
            for record in stored(folder):
                if record.id in seen:
                    raise SystemExit(f"game {record.id} is there twice")
                seen[record.id] = record.to_bytes()
            lost = [number for number, content in journal.items() if seen.get(number) != content]
            if lost:
                raise SystemExit(f"games {lost[:5]} are lost or changed")
            journal = seen
            steps = [int(p.stem[5:]) for p in (folder / "checkpoints").glob("step-*.json")]
            if max(steps, default=0) < newest:
                raise SystemExit(f"the newest checkpoint was {newest} and is {max(steps)}")
            newest = max(steps, default=0)
            report(f"together, kill {kill + 1} ({victim}): {len(seen)} games, newest checkpoint {newest}")
        learner.send_signal(signal.SIGTERM)
        learner.wait(120)
    finally:
        for process in (learner, worker):
            if process.poll() is None:
                process.kill()
                process.wait()
    rows = read_log(folder / "log.jsonl")
    again = SelfPlayRun(folder, config(machine={"workers": 2}), Observer())
    read = [record.id for part in again.replay.read() for record in part]
    if sorted(read) != sorted({*read, *journal}):
        raise SystemExit("the learner does not read every game")
    report(
        f"together: {kills} kills, {learners} of them of the learner; {len(read)} games of "
        f"{len({number >> 32 for number in read})} workers, each once; {again.replay.damaged} damaged places; "
        f"step {rows[-1]['step'] if rows else 0}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="of both trials together")
    parser.add_argument("--seed", type=int, default=0)
    args: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        single = round(ALONE * args.kills)
        together(Path(folder) / "together", args.kills - single, random.Random(args.seed + 1))
        alone(Path(folder) / "alone", single, random.Random(args.seed))


if __name__ == "__main__":
    main()
