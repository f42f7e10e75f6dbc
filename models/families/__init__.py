"""The families of networks that az-engine trains, one folder each; a folder on the path that offers ``FAMILY`` is one.

``FAMILY`` is an instance of :class:`base.Family` and says everything of its networks: settings, layers, losses, files.
:func:`register_path` adds directories with folders of families, as does the environment variable AZ_ENGINE_FAMILIES
(several directories separated as in PATH), which child processes inherit. Nothing here needs torch.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...engine.errors import DataError, OptionError
from ...engine.os.files import packages_with
from ...engine.settings import Setting, choices_of, settings_of
from .config import HISTORY

if TYPE_CHECKING:
    from .base import Family, NetFile, Shorthand
    from .config import NetConfig

DEFAULT_KIND = "dual-res"  # of networks


def register_path(directory: Path) -> None:
    """Find families in ``directory``, too; the package's own come first."""
    if str(directory) not in __path__:
        __path__.append(str(directory))


for _directory in os.environ.get("AZ_ENGINE_FAMILIES", "").split(os.pathsep):
    if _directory:
        register_path(Path(_directory).resolve())


def families() -> list[Family]:
    """All families, that of the default kind first."""
    results = [_family(name) for name in packages_with("FAMILY", __path__)]
    return sorted(results, key=lambda family: DEFAULT_KIND not in family.kinds)


@cache
def _family(name: str) -> Family:
    family: Family = importlib.import_module(f"{__name__}.{name}").FAMILY
    return family


def family_of(kind: str) -> Family:
    """The family of a kind of networks. Errors: OptionError."""
    for family in families():
        if kind in family.kinds:
            return family
    kinds = ", ".join(kind for family in families() for kind in family.kinds)
    raise OptionError(
        f"there is no kind of network {kind!r}; there are {kinds} (AZ_ENGINE_FAMILIES names directories with more)"
    )


def family_of_file(file: NetFile) -> Family:
    """The family of an exported net. Errors: DataError for a net that az-engine does not train."""
    for family in families():
        if family.owns(file.info):
            return family
    raise DataError(f"{file.path} is no net of az-engine train; begin with one, or with a run")


def config_of(values: Mapping[str, Any]) -> NetConfig:
    """The network that ``NetConfig.to_json`` described, also of an earlier version. Errors: OptionError."""
    try:
        config, planes, used = family_of(values["kind"]).config, tuple(values["planes"]), values.get("used")
        if used is None:  # older than the encoder's name in the file: of 8 positions, then fewer than 8 planes of none
            each = planes[0] // HISTORY
            used = (*range(each * values["history"]), *range(each * HISTORY, planes[0]))
        # earlier versions list the settings of every family
        others = {f.name for family in families() for f in fields(family.config)} - {f.name for f in fields(config)}
        ours = {name: value for name, value in values.items() if name not in others}
        return config(**{**ours, "planes": planes, "used": tuple(used) if len(used) < planes[0] else ()})
    except (KeyError, TypeError) as error:
        raise OptionError(f"the network's configuration is broken ({error}); start a new run") from error


def shorthands() -> dict[str, Shorthand]:
    """The flags of all families that stand for several settings, by their names without "--"."""
    return {name: each for family in families() for name, each in family.shorthands.items()}


def all_settings() -> type:
    """A section of the settings of all families: their flags and keys of ``--set``.

    Where several families have one of the same name, its default is the first one's, and its meaning names the others.
    """
    merged: dict[str, tuple[Any, Any, Setting]] = {}  # type, default, setting
    for family in families():
        for f, kind, known in settings_of(family.config):
            meaning = known.meaning if DEFAULT_KIND in family.kinds else f"{family.kinds[0]}: {known.meaning}"
            if f.name not in merged:
                merged[f.name] = kind, f.default, replace(known, meaning=meaning)
                continue
            first, default, earlier = merged[f.name]
            if earlier == known:  # of all networks
                continue
            if f.name == "kind":
                first = Literal[(*choices_of(first), *choices_of(kind))]
            elif f.default != default:
                meaning += f" ({f.default})"
            merged[f.name] = first, default, replace(earlier, meaning=f"{earlier.meaning}; {meaning}")
    made = [(name, kind, field(default=at, metadata={"setting": it})) for name, (kind, at, it) in merged.items()]
    return make_dataclass("NetSettings", made)
