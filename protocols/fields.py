"""The fields of a JSON object that a client sends, each read with its type and bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..engine.errors import AzError, DataError

PART_BYTES = 64  # about what Python keeps for a value of JSON


def parts(line: str) -> int:
    """The values in JSON, at most: what Python makes of them takes many times their bytes."""
    return line.count(",") + line.count("[") + line.count("{")


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Fields:
    """The fields of one object. Every method raises :meth:`fault` for a value of another type, or out of bounds.

    ``words`` say what the value must be. A protocol overrides ``fault`` to report it in its own form.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._known = {"id"}

    def fault(self, name: str, words: str) -> AzError:
        return DataError(f"{name} must be {words}")

    def __contains__(self, name: str) -> bool:
        self._known.add(name)
        return name in self._given

    def get(self, name: str) -> Any:
        """Its value; None without it."""
        return self._given[name] if name in self else None

    def unknown(self, most: int) -> list[str]:
        """Fields that nobody has read, the first ones."""
        return [name for name in self._given if name not in self._known][:most]

    def boolean(self, name: str, words: str = "true or false") -> bool:
        """Its value; False where the field is absent."""
        return name in self and self.typed(name, bool, words)

    def integer(self, name: str, low: int, high: int, words: str = "") -> int:
        value: int = self.typed(name, int, words or "a whole number")
        if not low <= value <= high:
            raise self.fault(name, words or f"from {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float, words: str = "") -> float:
        value = self.typed(name, (int, float), words or "a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.nan
        if not low <= number <= high:
            raise self.fault(name, words or f"from {low:g} to {high:g}")
        return number

    def string(self, name: str, words: str = "a text") -> str:
        return str(self.typed(name, str, words))

    def typed(self, name: str, kind: type | tuple[type, ...], words: str) -> Any:
        value = self.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fault(name, words)
        return value
