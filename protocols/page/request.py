"""One message of the page, and its fields with their bounds."""

from __future__ import annotations

import json
from typing import Any

from ...engine.errors import DataError
from ..fields import Fields

_MOST_WORDS = 10_000
_LONGEST = 1000  # characters of a text, unless set otherwise
_LONGEST_LINE = 20_000  # characters of a text of a list, such as a line of moves
_MOST_ID = 1 << 53


class Request(Fields):
    """A JSON object. A field that is null is as one that is not there: the default, False, None or an empty list."""

    @classmethod
    def read(cls, line: str) -> Request:
        """Errors: DataError."""
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError("this is no JSON") from None
        if not isinstance(given, dict):
            raise DataError("send a JSON object")
        request = cls(given)
        request.whole("id", 0, _MOST_ID, 0)
        return request

    def __contains__(self, name: str) -> bool:
        return self._given.get(name) is not None

    @property
    def id(self) -> int:
        """The page's number for the question, which its answers have, too."""
        return self.whole("id", 0, _MOST_ID, 0)

    def text(self, name: str, longest: int = _LONGEST) -> str | None:
        """A text of at most so many characters."""
        if name not in self:
            return None
        text = self.string(name)
        if len(text) > longest:
            raise self.fault(name, f"a text of at most {longest} characters, not {len(text)}")
        return text

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        text = self.text(name)
        if text not in choices:
            raise self.fault(name, f"one of {', '.join(choices)}")
        return text

    def words(self, name: str) -> list[str]:
        """A list of texts; none by default."""
        texts = self.typed(name, list, "a list of texts") if name in self else []
        if len(texts) > _MOST_WORDS or not all(isinstance(text, str) and len(text) <= _LONGEST_LINE for text in texts):
            bounds = f"at most {_MOST_WORDS} texts, each of at most {_LONGEST_LINE} characters"
            raise self.fault(name, f"a list of {bounds}")
        return list(texts)

    def table(self, name: str) -> Request | None:
        return Request(self.typed(name, dict, "an object")) if name in self else None

    def tables(self, name: str) -> list[Request | None]:
        """A list of objects, or nulls in their places."""
        tables: list[Any] = self.typed(name, list, "a list of objects") if name in self else []
        if len(tables) > _MOST_WORDS or not all(table is None or isinstance(table, dict) for table in tables):
            raise self.fault(name, f"a list of at most {_MOST_WORDS} objects")
        return [None if table is None else Request(table) for table in tables]

    def some_number(self, name: str, low: float, high: float) -> float | None:
        return self.number(name, low, high) if name in self else None

    def some_integer(self, name: str, low: int, high: int) -> int | None:
        return self.integer(name, low, high) if name in self else None

    def whole(self, name: str, low: int, high: int, default: int) -> int:
        return self.integer(name, low, high) if name in self else default
