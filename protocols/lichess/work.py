"""One analysis that the site asks for, read from what the broker sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ...engine.errors import AzError, quoted
from ...engine.limits import Limits

_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_FEN = re.compile(r"[A-Za-z0-9/]{1,100}( [A-Za-z0-9-]{1,10}){1,5}")
_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?")
_MOST_MOVES = 2000
_LIMITS = {"movetime": 1 << 31, "depth": 1 << 10, "nodes": 1 << 40}  # and the greatest of each


class WorkError(AzError):
    """The work is not what the API describes. ``work`` is its identifier, where it has one."""

    def __init__(self, text: str, work: str | None = None) -> None:
        super().__init__(f"lichess sent work that cannot be done: {text}")
        self.work = work


@dataclass(frozen=True, slots=True)
class Work:
    """A position and how long to analyse it."""

    id: str
    session: str  # changes when the engine shall forget what it knows
    threads: int
    hash_mb: int
    lines: int  # principal variations
    fen: str
    moves: tuple[str, ...]
    limits: Limits

    @classmethod
    def read(cls, given: object) -> Self:
        """Errors: WorkError."""
        name = _text(given, "id", _ID)
        work = given.get("work") if isinstance(given, Mapping) else None
        try:
            if _text(work, "variant", re.compile("[A-Za-z0-9]{1,40}")) not in ("chess", "standard", "chess960"):
                raise WorkError("its variant is not chess")
            moves = work.get("moves") if isinstance(work, Mapping) else None
            if not isinstance(moves, list) or len(moves) > _MOST_MOVES:
                raise WorkError("it has no list of moves")
            for move in moves:
                if not isinstance(move, str) or not _MOVE.fullmatch(move):
                    raise WorkError(f"{quoted(str(move))} is no move")
            limits = {key: _number(work, key, most) for key, most in _LIMITS.items() if _has(work, key)}
            if len(limits) > 1:
                raise WorkError("it has more than one limit")
            return cls(
                name,
                _text(work, "sessionId", re.compile(r"[ -~]{1,200}")),
                _number(work, "threads", 1 << 16),
                _number(work, "hash", 1 << 20),
                _number(work, "multiPv", 500),
                _text(work, "initialFen", _FEN),
                tuple(moves),
                Limits(**limits) if limits else Limits(infinite=True),  # type: ignore[arg-type]
            )
        except WorkError as error:
            error.work = name
            raise


def _has(work: object, key: str) -> bool:
    return isinstance(work, Mapping) and bool(work.get(key))


def _text(given: object, key: str, form: re.Pattern[str]) -> str:
    value = given.get(key) if isinstance(given, Mapping) else None
    if not isinstance(value, str) or not form.fullmatch(value):
        raise WorkError(f"{key} is {quoted(str(value))}")
    return value


def _number(given: object, key: str, most: int) -> int:
    value = given.get(key) if isinstance(given, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise WorkError(f"{key} is {quoted(str(value))}")
    return value
