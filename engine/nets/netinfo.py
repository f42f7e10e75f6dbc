"""A net's metadata, kept inside its ONNX file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from ..errors import NetError, OptionError
from ..params import SearchParams
from ..settings import check

FORMAT = "1"  # of this metadata; readers refuse a greater one
PREFIX = "az_engine."
ENCODER = PREFIX + "encoder"  # the key of the family of planes
_SEARCH = {  # settings that a net may bring, and their kinds
    "c_puct": float,
    "c_base": float,
    "c_factor": float,
    "fpu_value": float,
    "fpu_root_value": float,
    "policy_temperature": float,
    "root_policy_temperature": float,
    "subtree_bias": float,
    "score_utility": float,
    "mate_plies": int,
}
_LEAST_SIZE = 7  # of a board that a net is let play without having learned it


def boards_in_words(sizes: Sequence[int]) -> str:
    """The boards that a net plays, by :attr:`NetInfo.playable`: "9x9", "7x7 to 19x19"."""
    if len(sizes) > 2:
        return f"{min(sizes)}x{min(sizes)} to {max(sizes)}x{max(sizes)}"
    return ", ".join(f"{n}x{n}" for n in sizes)


@dataclass(frozen=True, slots=True)
class NetInfo:
    """Metadata of one net. The ONNX file keeps each field as the string property ``az_engine.<field>``."""

    game: str  # "chess"
    planes: tuple[int, int, int]  # C, H, W of the input "planes"; of one size among several, see ``boards``
    actions: int  # A, size of the policy
    planes_version: int  # meaning of the planes, Game.planes_version
    moves_version: int  # meaning of the actions, Game.moves_version
    value_head: str  # "wdl" ([B, 3] logits) or "value" ([B, 1], tanh)
    name: str = ""
    architecture: str = ""  # e.g. "dual-res 6x64 se"
    history: int = 8  # positions of history that the planes hold; older ones are zero
    step: int = 0  # training step
    trained_on: str = ""  # its training data, one sentence
    quantisation: str = "fp32"  # or "int8"
    license: str = ""
    encoder: str = "alphazero"  # name of its encoder, see Game.using
    boards: tuple[int, ...] = ()  # sizes N of board that it plays, H and W of its input being free; empty: only H x W
    search: tuple[tuple[str, float], ...] = ()  # numbers of SearchParams that it plays best with, beside the defaults

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes N of board that it has learned, at least one."""
        return self.boards or self.planes[1:2]

    @property
    def playable(self) -> tuple[int, ...]:
        """Sizes of board that it plays, learned or not: where H and W are free, from 7 or less to the greatest."""
        if not self.boards:
            return self.sizes
        return tuple(range(min(_LEAST_SIZE, *self.boards), max(self.boards) + 1))

    def has_learned(self, columns: int, rows: int) -> bool:
        """Whether it was trained on such boards. KataGo's nets were on boards that are not square, too."""
        return {columns, rows} <= {*self.sizes} and (columns == rows or self.encoder.startswith("katago"))

    def settings(self, chosen: SearchParams) -> SearchParams:
        """``chosen`` with the net's own settings where it has the defaults."""
        default = SearchParams()
        ours = {name: value for name, value in self.search if getattr(chosen, name) == getattr(default, name)}
        return replace(chosen, **ours)  # type: ignore[arg-type]

    def to_metadata(self) -> dict[str, str]:
        """The ONNX metadata properties."""
        props = {PREFIX + "format": FORMAT}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "search":
                value = " ".join(f"{name}={number:g}" for name, number in self.search)
            props[PREFIX + f.name] = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
        return props

    @classmethod
    def from_metadata(cls, props: Mapping[str, str]) -> NetInfo:
        """Read the properties of an ONNX file.

        Errors: NetError when one is missing, of a newer format or of the wrong type.
        """
        if PREFIX + "format" not in props:
            raise NetError("this ONNX file has no az-engine metadata; give a net of az-engine train or import")
        if props[PREFIX + "format"] != FORMAT:
            raise NetError(
                f"this net has metadata format {props[PREFIX + 'format'][:20]!r}; update az-engine to use it"
            )
        values: dict[str, object] = {}
        for f in fields(cls):
            text = props.get(PREFIX + f.name)
            if text is None:
                continue
            try:
                if f.type == "int":
                    values[f.name] = int(text)
                elif f.type == "tuple[int, int, int]":
                    c, h, w = (int(x) for x in text.split("x"))
                    values[f.name] = (c, h, w)
                elif f.name == "search":
                    values[f.name] = read_search(text)
                elif f.type == "tuple[int, ...]":
                    values[f.name] = tuple(int(x) for x in text.split("x") if text)
                else:
                    values[f.name] = text
            except ValueError as error:
                raise NetError(
                    f"the net's metadata {f.name!r} is broken ({text[:40]!r}); export the net again"
                ) from error
        try:
            return cls(**values)  # type: ignore[arg-type]
        except TypeError as error:
            raise NetError("the net's metadata lacks its game or shapes; export the net again") from error

    def summary(self) -> str:
        """One line for the user."""
        name = self.name or self.architecture or "net"
        parts = [
            name,
            "" if self.game in re.findall(r"[a-z]+", name) else self.game,
            "" if self.architecture in name else self.architecture,
            self.quantisation,
            self.trained_on,
        ]
        return ", ".join(p for p in parts if p)


def read_search(text: str) -> tuple[tuple[str, float], ...]:
    """The settings in "c_puct=1.7 mate_plies=3". Errors: ValueError for an unknown or impossible one."""
    pairs = [entry.split("=") for entry in text.split()]
    if not {name for name, _ in pairs} <= set(_SEARCH):
        raise ValueError(f"a net brings {', '.join(_SEARCH)}")
    result = tuple((name, _SEARCH[name](number)) for name, number in pairs)
    try:
        check(SearchParams(**dict(result)))
    except OptionError as error:
        raise ValueError(str(error)) from error
    return result
