"""A query as JSON: its fields, read one after another, each with KataGo's own words for what is wrong with it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ...engine.errors import AzError
from ..fields import Fields, is_integer, parts

COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}
_DEEPEST = 60  # levels of arrays and objects
_MOST_PARTS = 100_000  # values in one object


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


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _depth(given: Any) -> int:
    """Levels of arrays and objects; counted without recursion."""
    depth, level = 0, [given]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [below for each in level for below in (each.values() if isinstance(each, dict) else each)]
    return depth


class QueryFields(Fields):
    """The fields of one object. Every method raises QueryError for a value of the wrong kind."""

    def fault(self, name: str, words: str) -> QueryError:
        return QueryError(words, name)

    def flag(self, name: str) -> bool:
        """Its value; False where the field is absent."""
        return self.boolean(name, "Must be a boolean")

    def integers(self, name: str, words: str) -> list[int]:
        value: list[int] = self.typed(name, list, words)
        if not all(map(is_integer, value)):
            raise QueryError(words, name)
        return value

    def player(self, name: str) -> str:
        """The colour "b" or "w"."""
        value = self.get(name)
        colour = COLOURS.get(value.lower()) if isinstance(value, str) else None
        if colour is None:
            raise QueryError('Must be "b" or "w"', name)
        return colour
