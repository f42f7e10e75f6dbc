"""Settings as dataclass fields: a default, what it means, and the values it may take.

A class whose fields are made by :func:`setting` is the one place that knows its settings: checks, command-line flags,
files and tables are read off it.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, TypeVar

from .errors import OptionError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a user needs to know of a setting: the metadata of its field, under the key "setting"."""

    meaning: str  # one sentence, with the unit
    low: float = -math.inf  # of a number: the least and the greatest ...
    high: float = math.inf
    above: float = -math.inf  # ... and what it must not come down to, or up to
    below: float = math.inf
    choices: tuple[str, ...] = ()  # of a text
    none: int | None = None  # the number that users write for None
    flag: str | bool = False  # of commands that train: False = none, True = named as the field

    def allows(self, value: float) -> bool:
        """Whether a number is within the bounds."""
        return self.low <= value <= self.high and self.above < value < self.below

    @property
    def range(self) -> str:
        """The allowed numbers in words; empty when all are."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{self.low:g} to {self.high:g}"
        words = {"at least": self.low, "greater than": self.above, "at most": self.high, "below": self.below}
        return " and ".join(f"{word} {bound:g}" for word, bound in words.items() if math.isfinite(bound))


def setting(default: T, meaning: str, low: float = -math.inf, high: float = math.inf, **more: Any) -> T:
    """A dataclass field that carries a :class:`Setting`: protocols, flags and documents are made from it.

    more: further attributes of the Setting.
    """
    result: T = field(default=default, metadata={"setting": Setting(meaning, low, high, **more)})
    return result


def settings_of(cls: Any) -> Iterator[tuple[Field[Any], Any, Setting]]:
    """(field, type, setting) of every field of a dataclass that is one."""
    hints = typing.get_type_hints(cls)
    for f in fields(cls):
        if "setting" in f.metadata:
            yield f, hints[f.name], f.metadata["setting"]


def plain_type(kind: Any) -> Any:
    """A field's type without "or None"."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return next(k for k in typing.get_args(kind) if k is not type(None))
    return kind


def choices_of(kind: Any) -> tuple[Any, ...]:
    """The values of a Literal; empty for other types."""
    return typing.get_args(kind) if typing.get_origin(kind) is Literal else ()


_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}


def check_kind(name: str, value: Any, kind: Any) -> None:
    """Refuse a value of another type; a whole number is a number, too, True is none. Errors: OptionError."""
    if value is None and plain_type(kind) is not kind:
        return
    kind = plain_type(kind)
    if kind not in _KINDS:
        return
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool) or value != value:
        raise OptionError(f"{name} is {value!r}; it must be {_KINDS[kind]}")


def check_strictly(config: Any) -> None:
    """:func:`check`, and the types, for settings that a program gives. Errors: OptionError."""
    hints = typing.get_type_hints(type(config))
    for f in fields(config):
        check_kind(f.name, getattr(config, f.name), hints[f.name])
    check(config)


def check(config: Any, where: str = "") -> None:
    """Refuse values that their settings do not allow. ``where``: the section's name with a dot. Errors: OptionError."""
    for f, kind, known in settings_of(type(config)):
        value, name = getattr(config, f.name), where + f.name
        if value is None and plain_type(kind) is not kind:
            continue
        choices = choices_of(kind) or known.choices
        if choices and value not in choices:
            raise OptionError(f"{name} is {value!r}; it must be one of {', '.join(map(str, choices))}")
        if isinstance(value, int | float) and not known.allows(value):
            raise OptionError(f"{name} is {value}; it must be {known.range}")
