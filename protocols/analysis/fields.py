"""A query as JSON: its fields, read one after another, each with KataGo's own words for what is wrong with it."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from ...engine.errors import AzError

COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}
_DEEPEST = 60  # levels of arrays and objects
PART_BYTES = 64  # about what Python keeps for a value of JSON
_MOST_PARTS = 100_000  # values in one object
_MOST_UNKNOWN = 20  # of which each gets its warning


class QueryError(AzError):
    """A query, or a field of it, that cannot be obeyed."""

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field

    def answer(self, query_id: str) -> dict[str, str]:
        """What is answered to the query."""
        return {"error": str(self), **({"field": self.field} if self.field else {}), "id": query_id}


def read_object(line: str) -> dict[str, Any]:
    """The JSON object in a line. Errors: QueryError, of no field."""
    try:
        if parts(line) > _MOST_PARTS:
            raise ValueError(f"more than {_MOST_PARTS} parts")
        given = json.loads(line, parse_constant=_refuse)
        if _depth(given) > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels")
    except (ValueError, RecursionError) as error:
        shown = line if len(line) <= 400 else line[:400] + "..."
        reason = error if isinstance(error, ValueError) else "too many levels"
        raise QueryError(f"{reason} - could not parse input line as json request: {shown}") from None
    if not isinstance(given, dict):
        raise QueryError(f"Request line was valid json but was not an object, ignoring: {line[:400]}")
    return given


def parts(line: str) -> int:
    """The values in JSON, at most: what Python makes of them takes many times their bytes."""
    return line.count(",") + line.count("[") + line.count("{")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _depth(given: Any) -> int:
    """Levels of arrays and objects; counted without recursion."""
    depth, level = 0, [given]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [below for each in level for below in (each.values() if isinstance(each, dict) else each)]
    return depth


class Fields:
    """The fields of one object. Every method raises QueryError for a value of the wrong kind."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._known = {"id"}

    def __contains__(self, name: str) -> bool:
        self._known.add(name)
        return name in self._given

    def get(self, name: str) -> Any:
        """Its value; None without it."""
        return self._given[name] if name in self else None

    def unknown(self) -> list[str]:
        """Fields that nobody has asked for, the first ones."""
        return [name for name in self._given if name not in self._known][:_MOST_UNKNOWN]

    def boolean(self, name: str) -> bool:
        """False without it."""
        if name not in self:
            return False
        value = self._given[name]
        if not isinstance(value, bool):
            raise QueryError("Must be a boolean", name)
        return value

    def integer(self, name: str, low: int, high: int, words: str) -> int:
        value = self.get(name)
        if not is_integer(value) or not low <= value <= high:
            raise QueryError(words, name)
        return int(value)

    def number(self, name: str, low: float, high: float, words: str) -> float:
        value = self.get(name)
        try:
            number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
        except OverflowError:
            number = math.nan
        if not low <= number <= high:
            raise QueryError(words, name)
        return number

    def integers(self, name: str, words: str) -> list[int]:
        value = self.get(name)
        if not isinstance(value, list) or not all(map(is_integer, value)):
            raise QueryError(words, name)
        return value

    def string(self, name: str, words: str) -> str:
        value = self.get(name)
        if not isinstance(value, str):
            raise QueryError(words, name)
        return value

    def player(self, name: str) -> str:
        """The colour "b" or "w"."""
        value = self.get(name)
        colour = COLOURS.get(value.lower()) if isinstance(value, str) else None
        if colour is None:
            raise QueryError('Must be "b" or "w"', name)
        return colour


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
