"""A whole game judged position by position: what each move gave away, and what was better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...engine.blocking import search
from ...engine.errors import DataError, counted
from ...engine.info import Wdl
from ...engine.limits import Limits
from ...engine.params import EngineOptions
from ...engine.records.opinion import Kind, opine
from ...engine.records.record import Node, Record

if TYPE_CHECKING:
    from ...engine.engine import Engine
    from ...engine.games.base import Game
    from ...engine.records.formats import RecordFormat
    from .request import Request
    from .scoresheet import Scoresheet

LONGEST = 10  # moves of a variation
_MOST_CP, _MOST_MATE = 40_000, 10_000  # of what the page has kept
GOOD = 0.05  # expected points that a move found beyond what the search had seen
KINDS: tuple[tuple[float, Kind], ...] = (
    (0.20, "blunder"),
    (0.10, "mistake"),
    (0.05, "inaccuracy"),
)  # by the least loss, in expected points 0 to 1


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the search says of one position; its values are the first player's."""

    score: float  # expected points, 0 to 1
    lead: float | None = None  # points ahead, in games of territory
    visits: int = 0
    best: tuple[str, ...] = ()  # the line that it would play
    words: tuple[str, ...] = ()  # the same as people write it
    cp: int | None = None  # centipawns
    mate: int | None = None  # full moves to mate, negative when the second player mates
    depth: int = 0

    @classmethod
    def read(cls, given: Request) -> Judgement:
        """What the page has kept. Errors: DataError."""
        score, lead = given.some_number("score", 0.0, 1.0), given.some_number("lead", -1000.0, 1000.0)
        if score is None:
            raise DataError("a value has a score")
        visits, depth = given.whole("visits", 0, 1 << 40, 0), given.whole("depth", 0, 1 << 20, 0)
        cp, mate = given.some_integer("cp", -_MOST_CP, _MOST_CP), given.some_integer("mate", -_MOST_MATE, _MOST_MATE)
        return cls(score, lead, visits, tuple(given.words("best")), tuple(given.words("words")), cp, mate, depth)

    @property
    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        rounded = {"score": round(self.score, 4), "lead": None if self.lead is None else round(self.lead, 1)}
        return asdict(self) | rounded


@dataclass(frozen=True, slots=True)
class Mistake:
    """A move that gave something away."""

    ply: int  # before the move
    loss: float  # expected points, 0 to 1
    kind: Kind
    word: str  # the move
    better: tuple[str, ...]


def judge_game(
    engine: Engine, sheet: Scoresheet, visits: int, on_ply: Callable[[int], None] = lambda _: None
) -> list[Judgement]:
    """Search every position of a game, whatever the engine searched before.

    Blocks. ``on_ply`` gets the number of each that is done. Errors: AzError.
    """
    results = []
    engine.new_tree()
    engine.set_position(sheet.root, ())
    for ply in range(len(sheet.moves) + 1):
        if ply:
            engine.play(sheet.moves[ply - 1])
        over = sheet.over(ply)
        if over is not None and "lead" in over:
            over = _agreed(engine, sheet, ply) or over
        if over is not None:
            score = {None: 0.5, 0: 1.0, 1: 0.0}[over["winner"]]
            results.append(Judgement(score, over.get("lead")))
        else:
            results.append(_judge(engine, sheet, ply, visits))
        on_ply(ply)
    return results


def _agreed(engine: Engine, sheet: Scoresheet, ply: int) -> dict[str, Any] | None:
    """Who has won a game of Go that is over, without dead stones; None where they stay, or no net tells them."""
    chains = engine.dead_chains() if sheet.agreed else None
    return None if chains is None else sheet.counted(sheet.points(chains), ply=ply)


def _judge(engine: Engine, sheet: Scoresheet, ply: int, visits: int) -> Judgement:
    """Search the position that the engine holds, which is that of ``ply``."""
    territory = sheet.size > 0
    best, last = search(engine, Limits(nodes=visits, report_ms=1000 if territory else None))
    if best.error is not None:
        raise best.error
    if not best.lines:
        raise DataError(
            best.messages[-1] if best.messages else f"the position after {counted(ply, 'move')} was not searched"
        )
    line, first = best.lines[0], sheet.turn(ply) == 0
    score, sign = line.wdl.win + line.wdl.draw / 2, 1 if first else -1
    lead = None if line.estimate is None or line.estimate.score is None else sign * line.estimate.score
    words = tuple(sheet.written(line.pv, ply))
    mate = None if line.mate is None else sign * line.mate
    depth = len(line.pv) if last is None else last.depth
    return Judgement(
        score if first else 1 - score, lead, best.nodes, line.pv, words, sign * line.cp, mate, max(depth, 1)
    )


def mistakes(sheet: Scoresheet, judged: Sequence[Judgement | None]) -> Iterator[Mistake]:
    """The moves that gave away as much as the least of KINDS, in the order of the game."""
    for ply, (before, after) in enumerate(pairwise(judged)):
        if before is None or after is None or sheet.moves[ply] in (*before.best[:1], "skip"):
            continue  # of the best move the search has only changed its mind
        loss = _loss(sheet, ply, before, after)
        kind = next((name for least, name in KINDS if loss >= least), None)
        if kind is not None:
            yield Mistake(ply, loss, kind, sheet.word(ply + 1), before.words)


def _loss(sheet: Scoresheet, ply: int, before: Judgement, after: Judgement) -> float:
    """Expected points that a move has given away."""
    return (before.score - after.score) * (1 if sheet.turn(ply) == 0 else -1)


def accuracies(sheet: Scoresheet, judged: Sequence[Judgement | None]) -> tuple[float | None, float | None]:
    """How well each player has played, 0 to 100: the mean over its moves of lichess's accuracy of a move.

    That is 103.17 * exp(-4.354 * loss) - 3.17, within 0 and 100, for a loss of expected points; 0 % is lost at once.
    """
    result: tuple[list[float], list[float]] = ([], [])
    for ply, (before, after) in enumerate(pairwise(judged)):
        if before is not None and after is not None and sheet.moves[ply] != "skip":
            loss = max(_loss(sheet, ply, before, after), 0.0)
            loss = 0.0 if sheet.moves[ply] in before.best[:1] else loss
            result[sheet.turn(ply)].append(min(max(103.1668 * math.exp(-4.354415 * loss) - 3.1669, 0.0), 100.0))
    first, second = (sum(each) / len(each) if each else None for each in result)
    return first, second


def annotated(
    sheet: Scoresheet,
    judged: Sequence[Judgement | None],
    record: Record,
    form: RecordFormat | None = None,
    options: EngineOptions | None = None,
) -> Record:
    """The record with the judgements added, in the way of a format; what stands in it stays.

    Its main line has the sheet's moves. Where a move gave something away, the better line becomes a variation. options:
    how scores are shown that the judgements leave out.
    """
    adds, options = opine if form is None else form.opine, options or EngineOptions()
    nodes = [record.main_line()[0], *record.moved()]
    parents = {id(child): node for node in record.tree.line() for child in node.children}
    results = {mistake.ply: mistake for mistake in mistakes(sheet, judged)}
    for ply, (node, value) in enumerate(zip(nodes, judged, strict=False)):
        if value is not None:
            kind, remark = _remark(sheet, judged, ply - 1, results.get(ply - 1))
            adds(node, sheet.opinion(ply, value.best, _numbers(value, sheet.game, options), kind, remark))
    for ply in results:
        before = judged[ply]
        assert before is not None
        _vary(parents[id(nodes[ply + 1])], before.best[:LONGEST], sheet.moves[ply])
    return record


def _numbers(value: Judgement, game: Game, options: EngineOptions) -> dict[str, Any]:
    names = ("score", "mate", "lead", "depth")
    score = value.cp
    if score is None:
        score = game.centipawns(Wdl(value.score, 0.0, 1.0 - value.score), options)
    return {name: getattr(value, name) for name in names} | {"cp": score, "nodes": value.visits}


def _remark(
    sheet: Scoresheet, judged: Sequence[Judgement | None], ply: int, mistake: Mistake | None
) -> tuple[Kind, str]:
    """The kind of the move after ``ply`` moves, and a remark about it."""
    if mistake is not None:
        better = f"; better {' '.join(mistake.better[:8])}" if mistake.better else ""
        return mistake.kind, f"{mistake.kind.capitalize()}, gives away {100 * mistake.loss:.0f} %{better}"
    before, after = (judged[ply], judged[ply + 1]) if ply >= 0 else (None, None)
    if before is None or after is None or _loss(sheet, ply, before, after) > -GOOD:
        return "", ""
    return ("good", "") if sheet.moves[ply] not in before.best[:1] else ("", "")


def _vary(parent: Node, line: Sequence[str], played: str) -> None:
    """Add a line as a variation, unless it begins with what was played or what stands there already."""
    if not line or line[0] == played or any(child.move == line[0] for child in parent.children):
        return
    for word in line:
        parent = parent.add(Node(word))


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
        "values": [None if value is None else value.as_json for value in judged],
    }
