"""One measured figure beside the limit or peer that it is a ratio of, and how figures are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure. ``peer`` names what ``peer_value`` was measured on, in the same run and the same unit."""

    what: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    note: str = ""
    ratio: float | None = None  # value / peer_value unless a better one (a median of ratios) is given

    def __post_init__(self) -> None:
        if self.ratio is None and self.peer_value:
            object.__setattr__(self, "ratio", self.value / self.peer_value)

    def to_json(self) -> str:
        """One JSON object without line breaks; fields that do not apply are left out."""
        fields: dict[str, object] = {"what": self.what, "value": _number(self.value), "unit": self.unit}
        if self.peer is not None and self.peer_value is not None and self.ratio is not None:
            fields |= {"peer": self.peer, "peer_value": _number(self.peer_value), "ratio": round(self.ratio, 4)}
        if self.note:
            fields["note"] = self.note
        return json.dumps(fields)


def _number(value: float) -> float | int:
    """Whole numbers as such, others to six digits."""
    if value == int(value):
        return int(value)
    return float(f"{value:.6g}")


def readable(value: float) -> str:
    """Whole numbers with commas, others to four digits."""
    if value >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.{max(0, 3 - max(0, math.floor(math.log10(max(value, 1e-9)))))}f}"


def show(measurements: Iterable[Measurement], *, as_json: bool) -> None:
    """Print to standard output: each figure as soon as it is there in JSON, one table at the end for people."""
    if as_json:
        for m in measurements:
            print(m.to_json(), flush=True)
        return
    rows = list(measurements)
    table = Table("what", "value", "unit", "ratio")
    for column in (1, 3):
        table.columns[column].justify = "right"
    footnotes: list[str] = []
    for m in rows:
        ratio = ""
        if m.ratio is not None and m.peer_value is not None:
            ratio = f"{m.ratio:.3f} of {readable(m.peer_value)} {_mark(footnotes, f'ratio to {m.peer}')}"
        what = f"{m.what} {_mark(footnotes, m.note)}" if m.note else m.what
        table.add_row(what, readable(m.value), m.unit, ratio)
    console = Console(highlight=False)
    console.print(table)
    for number, footnote in enumerate(footnotes, 1):
        console.print(f"[{number}] {footnote}", markup=False)


def _mark(footnotes: list[str], text: str) -> str:
    """The mark of a footnote, added when it is new."""
    if text not in footnotes:
        footnotes.append(text)
    return f"\\[{footnotes.index(text) + 1}]"


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least ``percent`` % of the values do not exceed (nearest rank).

    Errors: ValueError without values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]
