"""A fuzzer's run: its cases, their mutations, and a report of what they took."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from az_engine.engine.errors import AzError

SECONDS = 60 * float(os.environ.get("AZ_ENGINE_FUZZ_MINUTES", "0.07"))  # of CPU
PATIENCE = 10  # of the clock, for each second of CPU
TIMEOUT = 300 + PATIENCE * SECONDS  # of a test
SEED = os.environ.get("AZ_ENGINE_FUZZ_SEED", "0")
MOST_GROWTH_MB = 1500  # resident memory after a case, beyond that before the first
NUMBERS = ("0", "-1", "1", "2", "7", "100", "1e9", "nan", "2147483648", "9223372036854775808", "99999999999999999999")

Piece = TypeVar("Piece", str, bytes)


class Campaign:
    """Runs cases until it has used its time of the CPU; at least one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._counts: dict[str, int] = {}
        self._longest = (0.0, 0.0, "")  # of a case: CPU seconds, seconds, which
        self._start, self._began = resident_mb(), cpu_seconds()
        self._largest = self._start

    def cases(self) -> Iterator[random.Random]:
        """A random source for each case; errors inside a case are raised with its name."""
        seed, _, only = SEED.partition(":")
        deadline = time.monotonic() + PATIENCE * SECONDS
        number = int(only or 0)
        while True:
            began, cpu = time.monotonic(), time.process_time()
            self.case = f"{self.name}, AZ_ENGINE_FUZZ_SEED={seed}:{number}"
            yield random.Random(f"{self.name} {seed} {number}")
            self.count("cases")
            taken = time.process_time() - cpu, time.monotonic() - began, f"{seed}:{number}"
            self._longest = max(self._longest, taken)
            memory = resident_mb()
            self._largest = max(self._largest, memory)
            assert memory < self._start + MOST_GROWTH_MB, f"{self.case}: {memory:.0f} MB resident"
            if only or cpu_seconds() - self._began > SECONDS or time.monotonic() > deadline:
                break
            number += 1
        print(self.report())

    def count(self, what: str, number: int = 1) -> None:
        """Count something for the report."""
        self._counts[what] = self._counts.get(what, 0) + number

    def refuse(self, error: AzError) -> None:
        """Count an input that was refused: in one sentence."""
        assert "\n" not in str(error), f"{self.case}: {error}"
        self.count("refused")

    def report(self) -> str:
        """What happened, in one line."""
        counts = ", ".join(f"{number} {what}" for what, number in self._counts.items())
        cpu, seconds, case = self._longest
        minutes = (cpu_seconds() - self._began) / 60
        longest = f"longest case {cpu:.2f} CPU s, {seconds:.2f} s ({case})"
        grown = f"memory grew by {self._largest - self._start:.0f} MB at most"
        return f"{self.name}: {counts} in {minutes:.1f} CPU minutes; {longest}; {grown}"


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def resident_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change a few bytes, or cut, repeat, move or overwrite stretches."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not changed:
            break
        at = rng.randrange(len(changed))
        length = min(rng.choice((1, 1, 2, 4, 8, 64, 1024)), len(changed) - at)
        piece = changed[at : at + length]
        other = rng.randrange(len(changed))
        match rng.randrange(7):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF, rng.randrange(256)))
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = piece * rng.choice((1, 2, 50))
            case 4:
                changed[other:other] = piece
            case 5:
                changed[at : at + length] = rng.randbytes(length)
            case _:
                del changed[at:]
    return bytes(changed)


def mutate_words(line: str, rng: random.Random, words: Sequence[str]) -> str:
    """Change, drop, repeat, swap or add a few words; now and then a few bytes."""
    parts = line.split(" ")
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        at = rng.randrange(len(parts)) if parts else 0
        match rng.randrange(6):
            case 0 if parts:
                del parts[at]
            case 1 if parts:
                parts[at] = rng.choice(NUMBERS) if parts[at].lstrip("-").isdigit() else rng.choice(words)
            case 2 if parts:
                parts[at:at] = [parts[at]] * rng.choice((1, 2, 30))
            case 3 if parts:
                other = rng.randrange(len(parts))
                parts[at], parts[other] = parts[other], parts[at]
            case _:
                parts.insert(at, rng.choice((*words, *NUMBERS)))
    text = " ".join(parts)
    if rng.random() < 0.1:
        text = mutate_bytes(text.encode("utf-8", "surrogateescape"), rng).decode("utf-8", "surrogateescape")
    return text.replace("\n", " ")


def mutate_list(items: Sequence[str], rng: random.Random, change: Callable[[str], str]) -> list[str]:
    """Drop, repeat, swap and change a few items."""
    changed = [*items]
    for _ in range(rng.randrange(5)):
        if changed:
            at, other = rng.randrange(len(changed)), rng.randrange(len(changed))
            match rng.randrange(3):
                case 0:
                    del changed[at]
                case 1:
                    changed.insert(other, changed[at])
                case _:
                    changed[at], changed[other] = changed[other], changed[at]
    return [change(item) if rng.random() < 0.4 else item for item in changed]
