"""Flags of sources and teachers: each declares its own as settings, and the parser learns them from there.

A flag of several is declared once, with what it means to each. One that the chosen ones do not have is refused.
"""

from __future__ import annotations

import argparse
import importlib
import math
import pkgutil
import typing
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ...engine.errors import OptionError
from ...engine.settings import Setting
from ..fields import flags_of

_ALSO = {"--visits": ("--nodes",)}  # further spellings
_METAVARS = {int: "N", float: "X", Path: "FILE"}
Settings = TypeVar("Settings")


class Net(str):
    """A net's weights, as ``WeightsFile`` names them."""

    __slots__ = ()


def kinds_in(package: ModuleType, offered: str) -> dict[str, type[Any]]:
    """What the modules of a package offer under a name, by the modules' names."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name: getattr(importlib.import_module(f"{package.__name__}.{name}"), offered) for name in names}


def _item(kind: Any) -> Any:
    """The type of a field's items, or of the field itself."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind


def _text(names: list[str], setting: Setting, default: Any) -> str:
    shown = (
        ",".join(map(str, default))
        if isinstance(default, tuple)
        else f"{default:,}"
        if isinstance(default, int) and default
        else ""
    )
    return f"{', '.join(names)}: {setting.meaning}" + (f" ({shown})" if shown else "")


def add_flags(parser: argparse.ArgumentParser, kinds: Mapping[str, type], required: Mapping[str, str]) -> None:
    """Declare the flags of ``kinds`` by name; of those in ``required`` (a kind's name: its flag) one must be given.

    None stands for a flag that was not given.
    """
    chosen = parser.add_argument_group("teacher").add_mutually_exclusive_group(required=True)
    others = parser.add_argument_group("of sources and teachers")
    uses: dict[str, list[tuple[str, Any, Any, Setting]]] = {}
    for name, kind in kinds.items():
        for flag, _, f, type_, setting in flags_of(kind):
            uses.setdefault(flag, []).append((name, type_, f.default, setting))
    for flag, known in uses.items():
        meanings: dict[tuple[str, Any], list[str]] = {}
        for name, _, default, setting in known:
            meanings.setdefault((setting.meaning, default), []).append(name)
        settings = {setting.meaning: setting for _, _, _, setting in known}
        text = "; ".join(_text(names, settings[meaning], default) for (meaning, default), names in meanings.items())
        _declare(chosen if flag in required.values() else others, flag, known[0][1], text)


def _declare(group: Any, flag: str, kind: Any, text: str) -> None:
    item, words = _item(kind), (flag, *_ALSO.get(flag, ()))
    more: dict[str, Any] = {"type": item, "metavar": "NET" if item is Net else _METAVARS.get(item), "help": text}
    if item is not kind and item in (int, float):
        more |= {"type": _list_of(item), "metavar": f"{more['metavar']},..."}
    elif item is Path and item is not kind:
        more["nargs"] = "+"
    elif item is not kind:
        more |= {"action": "append", "metavar": "NAME=VALUE"}
    group.add_argument(*words, **more)


def _list_of(kind: type[Any]) -> Any:
    def parse(text: str) -> tuple[Any, ...]:
        return tuple(kind(part) for part in text.split(","))

    parse.__name__ = f"list of {kind.__name__}"
    return parse


def given_in(args: argparse.Namespace, kinds: Mapping[str, type]) -> dict[str, str]:
    """The flags of ``kinds`` that were given, by the names of their attributes."""
    return {
        dest: flag
        for kind in kinds.values()
        for flag, dest, _, _, _ in flags_of(kind)
        if getattr(args, dest) is not None
    }


def built(kind: type[Settings], args: argparse.Namespace) -> Settings:
    """The settings of a kind, of what was given. Errors: OptionError for a number that a flag does not take."""
    values = {}
    for flag, dest, f, _, setting in flags_of(kind):
        value = getattr(args, dest)
        if value is None:
            continue
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float) and not setting.allows(number):
                bounds = setting.range if math.isfinite(number) else "a finite number"
                raise OptionError(f"{flag} is {number}; it must be {bounds}")
        values[f.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def refuse_others(given: Mapping[str, str], kinds: Mapping[str, type], chosen: Mapping[str, type]) -> None:
    """Refuse flags of other kinds than the chosen ones. Errors: OptionError."""
    taken = {flag for kind in chosen.values() for flag, *_ in flags_of(kind)}
    for flag in given.values():
        if flag not in taken:
            owners = [name for name, kind in kinds.items() if any(flag == known for known, *_ in flags_of(kind))]
            raise OptionError(
                f"{flag} means nothing to {' and '.join(chosen)}; it is for {', '.join(owners)}: leave it out, or see "
                "az-engine label --help for how these are chosen"
            )
