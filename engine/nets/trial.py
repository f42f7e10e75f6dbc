"""Tests an untrusted net in a child process before the engine loads it.

A file can pass every check and still crash onnxruntime, ask for all memory or never come back. So a net that is not the
package's own is run once by a child with bounded memory and time; what the child survives is remembered by content.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from ..errors import NetError
from ..process import run_module
from ..system import limit_process, ran_out_of_time
from .session import raw_session

_SECONDS = 30  # of computing
_PATIENCE = 180  # s on the clock: a busy machine is no fault of the net
_BYTES = 4 << 30  # address space of the child, beside the net itself
_REMEMBERED = "tried-nets"  # file in the private cache directory: one SHA-256 and shape a line


def try_net(model: bytes, sha256: str, planes: tuple[int, int, int], cache: Path | None) -> None:
    """Run ``model`` once in a child process; returns at once for a net that has passed before. Blocks.

    planes: C, H, W; cache: a directory that nobody else can write to, or None. Errors: NetError.
    """
    remembered = cache / _REMEMBERED if cache is not None else None
    entry = "-".join((sha256, *map(str, planes)))
    if remembered is not None and remembered.is_file() and entry in remembered.read_text("ascii").split():
        return
    try:
        child = run_module(__name__, *map(str, (_SECONDS, *planes)), timeout=_PATIENCE, given=model)
    except subprocess.TimeoutExpired:
        raise NetError(f"the net did not answer within {_PATIENCE} s and is not used") from None
    if child.returncode != 0:
        raise NetError(_reason(child))
    if remembered is not None:
        try:
            with remembered.open("a", encoding="ascii") as file:
                file.write(entry + "\n")
        except OSError:
            return  # the next start tries the net again; jit.cache_problem() tells of the directory


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


def main(arguments: list[str]) -> int:
    """The child: read a net from standard input, run two empty boards, report a fault as JSON; the exit code."""
    seconds, *planes = map(int, arguments)
    model = sys.stdin.buffer.read()
    limit_process(_BYTES + 8 * len(model), seconds)
    try:
        session = raw_session(model)
        boards = np.zeros((2, *planes), np.uint8)
        session.run(None, {"planes": boards})
    except NetError as error:
        print(json.dumps({"error": str(error)}))
        return 1
    except Exception as error:  # noqa: BLE001 - onnxruntime raises anything; the parent tells the user
        lines = str(error).strip().splitlines() or [type(error).__name__]
        print(json.dumps({"error": f"the net does not run: {lines[0][:200]}"}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
