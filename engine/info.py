"""Reports and result of a search. Moves are text in the game's own notation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

_CERTAIN = 1.0 - 1e-6  # beyond it a mean outcome says no more
_MOST = 600.0  # of an exponent


@dataclass(frozen=True, slots=True)
class Wdl:
    """Chances of win, draw and loss for the side to move; they add up to 1."""

    win: float
    draw: float
    loss: float

    @property
    def value(self) -> float:
        """Expected outcome in [-1, 1] for the side to move."""
        return self.win - self.loss

    def permille(self) -> tuple[int, int, int]:
        """The three chances in 1/1000, adding up to exactly 1000."""
        return self.shares(1000)

    def shares(self, whole: int) -> tuple[int, int, int]:
        """The three chances in parts of ``whole``, to which they add up exactly."""
        win, loss = round(whole * self.win), round(whole * self.loss)
        win, loss = min(max(win, 0), whole), min(max(loss, 0), whole)
        loss = min(loss, whole - win)
        return win, whole - win - loss, loss


@dataclass(frozen=True, slots=True)
class Calibration:
    """Chances that held in games, of a search's mean outcome; by Stockfish's model of win, draw and loss.

    With x = ln((1 + q) / (1 - q)) of a mean outcome q, a side wins with chance 1 / (1 + exp((h - x) / spread)) and
    loses with that of -x. h = half * exp(pieces * (1 - m / 16)) with m pieces on the board: an ending takes more to be
    won. ``az-engine report calibration --fit`` finds the three numbers.
    """

    half: float  # x at which a side wins every second game, with 16 pieces on the board
    spread: float
    pieces: float = 0.0

    def chances(self, mean: Any, pieces: Any) -> tuple[Any, Any, Any]:
        """Win, draw and loss of mean outcomes in [-1, 1], numbers or arrays, the same side's view."""
        import numpy as np  # a greeting does not wait for it

        mean, half = np.clip(mean, -_CERTAIN, _CERTAIN), self.half * np.exp(self.pieces * (1.0 - pieces / 16.0))
        x = np.log((1.0 + mean) / (1.0 - mean))
        win, loss = (1.0 / (1.0 + np.exp(np.clip((half - side) / self.spread, -_MOST, _MOST))) for side in (x, -x))
        draw = win * loss * np.expm1(np.minimum(2.0 * half / self.spread, _MOST))  # 1 - win - loss, not rounded to 0
        return win, draw, loss


def centipawns(value: float) -> int:
    """Centipawns of an expected outcome in [-1, 1], the same side's view; 0.5 is about 90 and +-1 about 12,800.

    The tangent is the customary conversion of engines without a material score (Lc0's ``centipawn``).
    """
    clipped = min(max(value, -1.0), 1.0)
    return round(90.0 * math.tan(1.5637541897 * clipped))


@dataclass(frozen=True, slots=True)
class Estimate:
    """How a game of territory is expected to end, from the view of the side to move: the average over the tree."""

    score: float | None = None  # points ahead, komi included; None when the net has no such output
    ownership: tuple[float, ...] | None = None  # H * W from the top left: 1 surely ours, -1 surely theirs; or None
    ownership_stdev: tuple[float, ...] | None = None  # H * W: its standard deviation over the tree

    @property
    def score_stdev(self) -> float | None:
        """Standard deviation of the final score in points, if no point's owner depended on another's; None without.

        A point that is ours with chance p, else theirs, has ownership o = 2 p - 1 and variance 1 - o * o.
        """
        if self.ownership is None:
            return None
        return math.sqrt(sum(max(1.0 - o * o, 0.0) for o in self.ownership))


@dataclass(frozen=True, slots=True)
class Line:
    """A principal variation, with what the search found of its first move; chances are the root's side to move's."""

    cp: int  # centipawns, side to move's view
    mate: (
        int | None
    )  # in full moves: positive when the side to move mates, negative when it will be mated, 0 when it is
    wdl: Wdl
    visits: int  # N of the line's first move
    prior: float  # P of the line's first move
    pv: tuple[str, ...]  # legal moves from the root on
    estimate: Estimate | None = None  # after the line's first move, the root's point of view; when the net says so
    pv_visits: tuple[int, ...] = ()  # N after each move of the line, as far as positions were visited
    mean: float | None = None  # Q of the line's first move in [-1, 1], before it becomes chances; None: never visited
    bound: float | None = None  # lower confidence bound of the expected outcome; with Limits.report_ms


@dataclass(frozen=True, slots=True)
class MoveStats:
    """Statistics of one root edge; ``value`` (Q) and ``wdl`` are from the view of the side to move at the root."""

    move: str
    visits: int  # N
    prior: float  # P
    value: float  # Q; the first-play-urgency value when unvisited
    draw: float  # chance of a draw
    exploration: float  # U
    net_value: float | None  # V, the net's own value of the position after the move; None when not evaluated
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class ThinkingInfo:
    """One report of a running search; ``lines`` are best first (MultiPV), at least one unless ``message`` is set."""

    depth: int  # mean depth of the tree's simulations in plies, at least 1; never less than in an earlier report
    seldepth: int  # greatest depth
    nodes: int  # simulations of this search, as Limits.nodes counts them
    visits: int  # of the root, those kept from earlier searches included
    time_ms: int
    hashfull: int  # permille of the tree's memory in use
    lines: tuple[Line, ...]
    move_stats: tuple[MoveStats, ...] = ()  # root edges, when requested
    message: str | None = None  # a sentence for the user, e.g. that the tree's memory is full
    estimate: Estimate | None = None  # of the root, when the net says so
    tbhits: int = 0  # positions found in endgame tables

    @property
    def nps(self) -> int:
        """Nodes a second."""
        return 1000 * self.nodes // max(self.time_ms, 1)

    @property
    def value(self) -> float | None:
        """Of the root for its side to move, in [-1, 1]: the mean of the lines by visits, or 1 where one is sure to win.

        None without a visit.
        """
        visited = [line for line in self.lines if line.visits]
        if not visited:
            return None
        if any(line.wdl.win == 1.0 for line in visited):
            return 1.0
        return sum(line.visits * line.wdl.value for line in visited) / sum(line.visits for line in visited)


Verdict = Literal["mate", "nomate", "timeout", "notimplemented"]


@dataclass(frozen=True, slots=True)
class Checkmate:
    """The end of a search for a forced mate (``Limits.solve``) of the king that is not to move.

    mate: ``moves`` is a forced mate. nomate: there is none. timeout: unknown; time or memory ran out, or stop() came.
    notimplemented: the game has no such search.
    """

    verdict: Verdict
    moves: tuple[str, ...] = ()  # of both sides, the mating one last


@dataclass(frozen=True, slots=True)
class BestMove:
    """The result of a search. ``move`` is ``None`` when there is no legal move or no position is held."""

    move: str | None
    ponder: str | None = None
    resign: bool = False  # the engine resigns; ``move`` is what it would have played
    win: bool = False  # the side to move wins by declaring (entering king) instead of moving; ``move`` is None
    checkmate: Checkmate | None = None  # the answer to ``Limits.solve``; ``move`` is None
    lines: tuple[Line, ...] = ()  # the last report's lines
    nodes: int = 0
    time_ms: int = 0
    messages: tuple[str, ...] = field(default=())
    error: BaseException | None = None  # a bug, or an AzError, reported among the messages, such as a net that failed
