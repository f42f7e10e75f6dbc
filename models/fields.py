"""Sections of settings from plain values, files and flags: all that is read off their fields.

A section is a dataclass of :func:`~az_engine.engine.settings.setting` fields. Its plain values are nested dicts of
JSON's types.
"""

from __future__ import annotations

import argparse
import tomllib
import typing
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from ..arguments import Formatter
from ..engine.errors import OptionError
from ..engine.settings import Setting, check, choices_of, plain_type, settings_of


class Help(Formatter, argparse.ArgumentDefaultsHelpFormatter):
    """Shows the defaults that say something, and keeps the lines of examples."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        if default in (None, [], (), "") or default is False:
            return action.help
        text = super()._get_help_string(action) or ""
        return text.replace("%(default)s", ",".join(map(str, default))) if isinstance(default, tuple) else text

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else self.wrapped(text, width, indent)


_METAVARS = {int: "N", float: "X", str: "TEXT"}
Section = TypeVar("Section")
Values = dict[str, Any]


# ---- plain values


def built(cls: type[Section], values: Mapping[str, Any], where: str = "") -> Section:
    """A section from plain values, types and ranges checked. ``where``: its name with a dot. Errors: OptionError."""
    hints = typing.get_type_hints(cls)
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f"; did you mean {where}{near[0]}?" if near else f"; there are {', '.join(names)}"
            raise OptionError(f"there is no setting {where}{name}{hint}")
    section = cls(**{name: _fitting(hints[name], value, where + name) for name, value in values.items()})
    check(section, where)
    return section


def _fitting(kind: Any, value: Any, name: str) -> Any:
    """``value`` as a field of type ``kind``. Errors: OptionError."""
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise OptionError(f"{name} is a section; set {name}.{fields(kind)[0].name} and so on")
        return built(kind, value, name + ".")
    plain = plain_type(kind)
    choices = choices_of(plain)
    if choices:
        if value not in choices:
            raise OptionError(f"{name} is {value!r}; it must be one of {', '.join(map(str, choices))}")
        return value
    if value is None and plain is not kind:
        return None
    kind = typing.get_origin(plain) or plain
    if kind in (tuple, dict):
        return kind(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise OptionError(f"{name} is {value!r}; it must be of type {kind.__name__}")
    return value


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Nested values with those of ``over`` in place of those of ``base``."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        nested = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if nested else value  # type: ignore[arg-type]
    return result


def nested(name: str, value: Any) -> Values:
    """A value by its dotted name as nested values."""
    for part in reversed(name.split(".")):
        value = {part: value}
    result: Values = value
    return result


def differences(old: Mapping[str, Any], new: Mapping[str, Any], where: str = "") -> list[str]:
    """What has changed between nested values, one sentence each, sorted."""
    results = []
    for name in {*old, *new}:
        a, b = old.get(name), new.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            results += differences(a, b, f"{where}{name}.")
        elif a != b:
            results.append(f"{where}{name} was {a}, is now {b}")
    return sorted(results)


# ---- TOML


def read_toml(path: Path) -> Values:
    """The values of a TOML file. Errors: OptionError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"the settings in {path} cannot be read ({error})") from error


def assignment(text: str) -> Values:
    """``section.name=value`` as nested values; the value is TOML, ``none`` or a word without quotes.

    Errors: OptionError.
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not all(name.split(".")):
        raise OptionError(f"{text!r} sets nothing; write section.name=value, as in selfplay.visits=100")
    if value == "none":
        return nested(name, None)
    try:
        return nested(name, tomllib.loads(f"x = {value}")["x"])
    except tomllib.TOMLDecodeError:
        return nested(name, value)


# ---- flags


def flags_of(cls: type) -> Iterator[tuple[str, str, Field[Any], Any, Setting]]:
    """(flag, attribute of the parsed arguments, field, type, setting) of a section's settings that have a flag."""
    for f, kind, known in settings_of(cls):
        if known.flag:
            flag = known.flag if isinstance(known.flag, str) else "--" + f.name.replace("_", "-")
            yield flag, flag.removeprefix("--").replace("-", "_"), f, plain_type(kind), known


def add_flags(group: Any, cls: type, *names: str, **defaults: Any) -> None:
    """Declare the flags of a section's settings, or of those of these ``names``, in a parser or a group of it."""
    for flag, _, f, kind, known in flags_of(cls):
        if names and f.name not in names:
            continue
        if kind is bool:  # --no-x clears what is set otherwise
            group.add_argument(flag, action="store_true", help=known.meaning)
        else:
            choices = choices_of(kind) or None
            default, kind = defaults.get(f.name, f.default), str if choices else kind  # noqa: PLW2901
            metavar = None if choices else _METAVARS.get(kind)
            group.add_argument(flag, type=kind, choices=choices, default=default, metavar=metavar, help=known.meaning)


def from_flags(cls: type[Section], args: argparse.Namespace) -> Section:
    """A section of what the flags say; what has no flag has its default. Errors: OptionError."""
    values = {}
    for flag, dest, f, _, _ in flags_of(cls):
        value = getattr(args, dest)
        values[f.name] = not value if flag.startswith("--no-") else value
    return cls(**values)


def remember_given(parser: argparse.ArgumentParser) -> None:
    """Let the parser note in ``args.given`` which arguments were given, so that only those override a preset."""

    def noting(action: Any) -> type[argparse.Action]:
        class Noting(action):  # type: ignore[misc]
            def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
                super().__call__(parser, namespace, values, option_string)
                namespace.given = {*(getattr(namespace, "given", None) or ()), self.dest}

        return Noting

    for name in (None, "store", "store_true", "append"):
        parser.register("action", name, noting(parser._registry_get("action", name)))  # noqa: SLF001
    parser.set_defaults(given=frozenset())
