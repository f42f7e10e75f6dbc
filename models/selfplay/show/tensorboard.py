"""The log of a run for TensorBoard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ....engine.errors import OptionError


def scalars_of(row: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """(tag, value) of every number in a row of the log, nested names joined by "/"."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from scalars_of(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and name != "step":
            yield prefix + name, float(value)


def tensorboard(folder: Path) -> Callable[[dict[str, Any]], None]:
    """A function that writes a row of the log to event files in ``folder``.

    Errors: OptionError when the package tensorboard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise OptionError(f"--tensorboard needs the package tensorboard ({error}); pip install tensorboard") from error
    writer = SummaryWriter(str(folder))

    def write(row: dict[str, Any]) -> None:
        for tag, value in scalars_of(row):
            writer.add_scalar(tag, value, int(row["step"]))
        writer.flush()

    return write
