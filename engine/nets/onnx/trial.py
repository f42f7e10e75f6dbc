"""Tests an untrusted net in a child process before the engine loads it.

A file can pass every check and still crash onnxruntime, ask for all memory, never come back or answer nonsense to some
positions. So a net that is not the package's own is first run by a child with bounded memory and time, on positions of
random games and in batches of several sizes; what the child survives is remembered by content.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import NetError
from ...os.process import run_module
from ...os.system import limit_process, ran_out_of_time
from .session import raw_session

_SECONDS = 30  # of computing
_ENOUGH = 10.0  # s of computing after which no more positions are tried: a slow net has shown that it answers
_PATIENCE = 60  # s on the clock: a busy machine is no fault of the net, but the user waits
_BATCH = 8  # sizes of batches: 1 to this
_BYTES = 4 << 30  # address space of the child, beside the net itself
_REMEMBERED = "tried-nets-2"  # file in the private cache directory: one SHA-256 and shape a line


Extremes = tuple[list[int], float, float]  # of an output: its shape, least and greatest value, NaN if any is


def try_net(
    model: bytes,
    entry: str,
    outputs: Sequence[str],
    planes: Callable[[], NDArray[np.uint8]],
    check: Callable[[int, list[Extremes]], None],
    cache: Path | None,
    tell: Callable[[str], None] | None,
) -> None:
    """Run ``model`` in a child process; returns at once for one that has passed before. Blocks.

    entry: a word for the net and the board; planes: gives the positions to try it on, u1[N, C, H, W]; check: raises
    NetError, of so many positions and the extremes of ``outputs``; cache: a directory that nobody else can write to, or
    None; tell: gets a sentence, for it may take long. Errors: NetError.
    """
    remembered = cache / _REMEMBERED if cache is not None else None
    if remembered is not None and remembered.is_file() and entry in remembered.read_text("ascii").split():
        return
    if tell is not None:
        tell(f"trying this net in a process of its own, once, for {_PATIENCE} s at most")
    positions = planes()
    arguments = (str(_SECONDS), ",".join(outputs), *map(str, positions.shape))
    try:
        child = run_module(__name__, *arguments, timeout=_PATIENCE, given=positions.tobytes() + model)
    except subprocess.TimeoutExpired:
        raise NetError(f"the net did not answer within {_PATIENCE} s and is not used") from None
    if child.returncode != 0:
        raise NetError(_reason(child))
    for rows, extremes in json.loads(child.stdout):
        check(rows, extremes)
    if remembered is not None:
        try:
            with remembered.open("a", encoding="ascii") as file:
                file.write(entry + "\n")
        except OSError:
            return  # the next start tries the net again; kernels.cache_problem() tells of the directory


def _reason(child: subprocess.CompletedProcess[bytes]) -> str:
    if ran_out_of_time(child.returncode):
        return f"the net did not answer within {_SECONDS} s of computing and is not used"
    if child.returncode < 0:
        return f"the net crashed onnxruntime (signal {-child.returncode}) and is not used"
    try:
        return str(json.loads(child.stdout)["error"])
    except (ValueError, KeyError, TypeError):
        last = child.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        return f"the net could not be run: {last[0][:200]}"


def extremes_of(outputs: Sequence[NDArray[np.floating]]) -> list[Extremes]:
    """What :func:`fit.check_outputs` looks at."""
    return [(list(y.shape), float(y.min()), float(y.max())) for y in outputs]


def main(arguments: list[str]) -> int:
    """The child: read positions and a net from standard input, run them, print the extremes or a fault as JSON."""
    seconds, names, *shape = arguments
    outputs, (count, *planes) = names.split(","), map(int, shape)
    positions = np.frombuffer(sys.stdin.buffer.read(count * int(np.prod(planes))), np.uint8).reshape(count, *planes)
    model = sys.stdin.buffer.read()
    limit_process(_BYTES + 8 * len(model), int(seconds))
    results: list[tuple[int, list[Extremes]]] = []
    try:
        session = raw_session(model)
        first = 0
        while first < count and time.process_time() < _ENOUGH:
            batch = positions[first : first + 1 + len(results) % _BATCH]
            first += len(batch)
            results.append((len(batch), extremes_of(session.run(outputs, {"planes": batch}))))
    except NetError as error:
        print(json.dumps({"error": str(error)}))
        return 1
    except Exception as error:  # noqa: BLE001 - onnxruntime raises anything; the parent tells the user
        lines = str(error).strip().splitlines() or [type(error).__name__]
        print(json.dumps({"error": f"the net does not run: {lines[0][:200]}"}))
        return 1
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
