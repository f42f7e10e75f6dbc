"""A whole game judged position by position: what each move gave away, and what was better."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...engine.errors import DataError
from ...engine.info import BestMove, ThinkingInfo
from ...engine.limits import Limits
from ...engine.records.record import Record

if TYPE_CHECKING:
    from ...engine.engine import Engine
    from .request import Request
    from .scoresheet import Scoresheet

KINDS = ((0.20, "blunder"), (0.10, "mistake"), (0.05, "inaccuracy"))  # by the least loss, in expected points 0 to 1


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the search says of one position; its values are the first player's."""

    score: float  # expected points, 0 to 1
    lead: float | None = None  # points ahead, in games of territory
    visits: int = 0
    best: tuple[str, ...] = ()  # the line that it would play
    words: tuple[str, ...] = ()  # the same as people write it

    @classmethod
    def read(cls, given: Request) -> Judgement:
        """What the page has kept. Errors: DataError."""
        score, lead = given.number("score", 0.0, 1.0), given.number("lead", -1000.0, 1000.0)
        if score is None:
            raise DataError("a value has a score")
        return cls(
            score, lead, given.whole("visits", 0, 1 << 40, 0), tuple(given.words("best")), tuple(given.words("words"))
        )

    @property
    def told(self) -> dict[str, Any]:
        """As the page reads it."""
        lead = None if self.lead is None else round(self.lead, 1)
        score = round(self.score, 4)
        return {"score": score, "lead": lead, "visits": self.visits, "best": self.best, "words": self.words}


@dataclass(frozen=True, slots=True)
class Mistake:
    """A move that gave something away."""

    ply: int  # before the move
    loss: float  # expected points, 0 to 1
    kind: str
    word: str  # the move
    better: tuple[str, ...]


def judge_game(
    engine: Engine, sheet: Scoresheet, visits: int, on_ply: Callable[[int], None] = lambda _: None
) -> list[Judgement]:
    """Search every position of a game. BLOCKS. ``on_ply`` gets the number of each that is done. Errors: AzError."""
    found = []
    engine.set_position(sheet.root, ())
    for ply in range(len(sheet.moves) + 1):
        if ply:
            engine.play(sheet.moves[ply - 1])
        over = sheet.over(ply)
        if over is not None:
            score = {None: 0.5, 0: 1.0, 1: 0.0}[over["winner"]]
            found.append(Judgement(score, over.get("lead")))
        else:
            found.append(_judge(engine, sheet, ply, visits))
        on_ply(ply)
    return found


def _judge(engine: Engine, sheet: Scoresheet, ply: int, visits: int) -> Judgement:
    """Search the position that the engine holds, which is that of ``ply``."""
    done: queue.SimpleQueue[BestMove] = queue.SimpleQueue()
    last: list[ThinkingInfo] = []
    territory = sheet.size > 0
    engine.go(Limits(nodes=visits, report_ms=1000 if territory else None), last.append, done.put)
    best = done.get()
    if best.error is not None:
        raise best.error
    if not best.lines:
        raise DataError(best.messages[-1] if best.messages else f"the position after {ply} moves was not searched")
    line, first = best.lines[0], sheet.turn(ply) == 0
    score = line.wdl.win + line.wdl.draw / 2
    lead = None if line.estimate is None else line.estimate.score
    words = tuple(sheet.written(line.pv, ply))
    if lead is not None and not first:
        lead = -lead
    return Judgement(score if first else 1 - score, lead, best.nodes, line.pv, words)


def mistakes(sheet: Scoresheet, judged: Sequence[Judgement | None]) -> Iterator[Mistake]:
    """The moves that gave away as much as the least of KINDS, in the order of the game."""
    for ply, (before, after) in enumerate(pairwise(judged)):
        if before is None or after is None or sheet.moves[ply] in before.best[:1]:
            continue  # of the best move the search has only changed its mind
        loss = (before.score - after.score) * (1 if sheet.turn(ply) == 0 else -1)
        kind = next((name for least, name in KINDS if loss >= least), None)
        if kind is not None:
            yield Mistake(ply, loss, kind, sheet.word(ply + 1), before.words)


def comments(sheet: Scoresheet, judged: Sequence[Judgement | None]) -> tuple[str, ...]:
    """A comment for the start and for each move, as records have them."""
    found = {mistake.ply + 1: mistake for mistake in mistakes(sheet, judged)}
    sides, texts = sheet.game.sides, list[str]()
    for ply in range(len(sheet.moves) + 1):
        value = judged[ply] if ply < len(judged) else None
        parts = []
        if value is not None:
            parts.append(f"{sides[0]} {100 * value.score:.0f} %")
            if value.lead is not None:
                parts.append(f"{sides[0]} {value.lead:+.1f} points")
        if ply in found:
            mistake = found[ply]
            better = f"; better {' '.join(mistake.better[:8])}" if mistake.better else ""
            parts.append(f"{mistake.kind}, gives away {100 * mistake.loss:.0f} %{better}")
        texts.append(", ".join(parts))
    return tuple(texts)


def annotated(sheet: Scoresheet, judged: Sequence[Judgement | None], record: Record) -> Record:
    """The game as a record with the judgements as comments; names and result are those of ``record``."""
    return Record.of_line(
        tuple(sheet.moves),
        sheet.root,
        record.result,
        record.reason,
        record.names,
        comments=comments(sheet, judged),
        headers=record.headers,
    )


def review_data(sheet: Scoresheet, judged: Sequence[Judgement | None], record: Record, net: str) -> dict[str, Any]:
    """What a page that shows a review draws."""
    names = [name or side for name, side in zip(record.names, sheet.game.sides, strict=True)]
    return {
        "title": " - ".join(names),
        "game": sheet.game.name,
        "sides": sheet.game.sides,
        "names": names,
        "net": net,
        "kinds": KINDS,
        "moves": sheet.moves,
        "plies": sheet.shown(0, len(sheet.moves))["plies"],
        "values": [None if value is None else value.told for value in judged],
    }
