"""One message of the page, and its fields with their bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine.errors import DataError

_MOST_WORDS = 10_000
_LONGEST = 1000  # characters of a text, where nothing else is said
_LONGEST_LINE = 20_000  # characters of a text of a list, such as a line of moves
_MOST_ID = 1 << 53


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A JSON object. Reading a field that is of another type, or out of bounds, raises DataError."""

    _fields: Mapping[str, Any]

    @classmethod
    def read(cls, line: str) -> Request:
        """Errors: DataError."""
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError("this is no JSON") from None
        if not isinstance(given, dict):
            raise DataError("send a JSON object")
        asked = cls(given)
        asked.integer("id", 0, _MOST_ID)
        return asked

    @property
    def id(self) -> int:
        """The page's number for the question, which its answers have, too."""
        return self.whole("id", 0, _MOST_ID, 0)

    def _of(self, name: str, kind: type | tuple[type, ...], words: str) -> Any:
        value = self._fields.get(name)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise DataError(f"{name} must be {words}")
        return value

    def text(self, name: str, longest: int = _LONGEST) -> str | None:
        """A text of at most so many characters."""
        found: str | None = self._of(name, str, "a text")
        if found is not None and len(found) > longest:
            raise DataError(f"{name} must be a text of at most {longest} characters, not {len(found)}")
        return found

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        found = self.text(name)
        if found not in choices:
            raise DataError(f"{name} must be one of {', '.join(choices)}")
        return found

    def flag(self, name: str) -> bool:
        return bool(self._of(name, bool, "true or false"))

    def words(self, name: str) -> list[str]:
        """A list of texts; none by default."""
        found = self._of(name, list, "a list of texts") or []
        if len(found) > _MOST_WORDS or not all(isinstance(word, str) and len(word) <= _LONGEST_LINE for word in found):
            raise DataError(
                f"{name} must be a list of at most {_MOST_WORDS} texts, each of at most {_LONGEST_LINE} characters"
            )
        return list(found)

    def table(self, name: str) -> Request | None:
        found = self._of(name, dict, "an object")
        return None if found is None else Request(found)

    def tables(self, name: str) -> list[Request | None]:
        """A list of objects, or nulls in their places."""
        found = self._of(name, list, "a list of objects") or []
        if len(found) > _MOST_WORDS or not all(each is None or isinstance(each, dict) for each in found):
            raise DataError(f"{name} must be a list of at most {_MOST_WORDS} objects")
        return [None if each is None else Request(each) for each in found]

    def number(self, name: str, low: float, high: float) -> float | None:
        found = self._of(name, (int, float), "a number")
        if found is not None and not low <= found <= high:
            raise DataError(f"{name} must be from {low:g} to {high:g}")
        return None if found is None else float(found)

    def integer(self, name: str, low: int, high: int) -> int | None:
        found: int | None = self._of(name, int, "a whole number")
        if found is not None and not low <= found <= high:
            raise DataError(f"{name} must be from {low} to {high}")
        return found

    def whole(self, name: str, low: int, high: int, default: int) -> int:
        found = self.integer(name, low, high)
        return default if found is None else found
