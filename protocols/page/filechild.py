"""The process that :mod:`filework` starts: it answers one message of a page, within bounds of time and memory."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ...engine.os.system import limit_process
from ..lines import LineWriter
from ..options import OptionValues
from .filework import SECONDS
from .session import PageSession

_BYTES = 3 << 30  # of address space, most of which is the code of libraries


def main() -> None:
    """Answer the message in the second line of standard input, for the session that the first describes."""
    limit_process(_BYTES, SECONDS)
    if hasattr(os, "nice"):
        os.nice(10)
    first, line = sys.stdin.buffer.read().decode("utf-8", "surrogatepass").split("\n", 1)
    about = json.loads(first)
    values = OptionValues(about["protocol"], about["values"], about["hidden"])
    kind = PageSession.of(about["game"], tuple(about["games"]))
    kind(_no_engine, values, LineWriter(1)).answer_file(line, native=about["native"])


def _no_engine(_: object) -> Any:
    raise RuntimeError("files need no engine")


if __name__ == "__main__":
    main()
