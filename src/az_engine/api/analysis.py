"""What a search found, as a Python user reads it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from ..engine.info import BestMove, Line, MoveStats, ThinkingInfo, Wdl
from .position import Position


@dataclass(frozen=True, slots=True)
class Analysis:
    """A search's report. Values are from the point of view of the side to move in ``position``."""

    position: Position
    lines: tuple[Line, ...]  # principal variations, best first: pv, cp, mate, wdl, visits, prior
    moves: tuple[MoveStats, ...] = ()  # every root move: visits (N), prior (P), value (Q), exploration (U) ...
    nodes: int = 0  # visits of the root
    depth: int = 0  # mean depth of the simulations in plies
    seconds: float = 0.0
    lead: float | None = None  # points ahead at the end of the game, komi counted; games of territory only
    ownership: tuple[float, ...] | None = None  # of each point from the top left: 1 surely ours, -1 surely theirs
    notes: tuple[str, ...] = ()  # sentences for the user, such as that the tree is full

    @property
    def pv(self) -> tuple[str, ...]:
        """The best line's moves; empty when the game is over."""
        return self.lines[0].pv if self.lines else ()

    @property
    def wdl(self) -> Wdl:
        """Chances of win, draw and loss after best play. Errors: IndexError without lines."""
        return self.lines[0].wdl

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("move", "visits", "prior", "win", "draw", "loss", "line")]
        for line in self.lines:
            percent = [f"{100 * x:.1f} %" for x in (line.prior, line.wdl.win, line.wdl.draw, line.wdl.loss)]
            move, rest = (line.pv[0], " ".join(line.pv[1:9])) if line.pv else ("", "")
            rows.append((move, str(line.visits), *percent, rest))
        return rows

    def __str__(self) -> str:
        """A table of the lines."""
        widths = [max(map(len, column)) for column in zip(*self._rows, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self._rows
        )

    def _repr_html_(self) -> str:
        head, *body = self._rows
        cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body)
        header = "".join(f"<th>{name}</th>" for name in head)
        return f"{self.position._repr_html_()}<table><tr>{header}</tr>{cells}</table>"


@dataclass(frozen=True, slots=True)
class PlayResult:
    """The engine's move and what it thinks of it."""

    move: str | None  # as the game's protocol writes it; None when the game is over, or won by declaration
    ponder: str | None  # the reply that it expects
    resign: bool  # it would rather resign
    win: bool  # it wins by declaring its king's entry instead of a move (shogi)
    info: Analysis


def analysis_of(position: Position, info: ThinkingInfo, notes: tuple[str, ...]) -> Analysis:
    """A running search's report."""
    estimate = info.estimate
    return Analysis(
        position,
        info.lines,
        info.move_stats,
        info.nodes,
        info.depth,
        info.time_ms / 1000,
        None if estimate is None else estimate.score,
        None if estimate is None else estimate.ownership,
        notes,
    )


def analysis_of_answer(position: Position, best: BestMove, last: ThinkingInfo | None) -> Analysis:
    """The end of a search: its last report, or what its answer alone says."""
    if last is not None:
        return analysis_of(position, last, best.messages)
    return Analysis(position, best.lines, nodes=best.nodes, seconds=best.time_ms / 1000, notes=best.messages)
