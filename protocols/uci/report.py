"""The lines that report a search over UCI and USI."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...engine.info import Line, MoveStats, ThinkingInfo, centipawns

_SCORE_LIMIT = 32000  # centipawns; far beyond what a value in [-1, 1] maps to
OUR_SCORES = "WDL_mu"
SCORES: Mapping[str, Callable[[Line], int]] = {  # what stands behind "score cp", by Lc0's names
    OUR_SCORES: lambda line: line.cp,
    "centipawn": lambda line: centipawns(line.wdl.value),
    "win_percentage": lambda line: round(5000.0 * (1.0 + line.wdl.value)),
    "W-L": lambda line: round(10_000.0 * line.wdl.value),
    "Q": lambda line: round(10_000.0 * (line.wdl.value if line.mean is None else line.mean)),
}


def info_lines(
    info: ThinkingInfo, *, show_wdl: bool, mate: Callable[[int], str] = str, scores: str = OUR_SCORES
) -> list[str]:
    """One line for each principal variation, the best first.

    mate: writes a distance to mate from full moves; scores: one of ``SCORES``.
    """
    head = f"info depth {max(info.depth, 1)} seldepth {max(info.seldepth, info.depth, 1)}"
    tables = f" tbhits {info.tbhits}" if info.tbhits else ""
    full = min(max(info.hashfull, 0), 1000)
    middle = f"nodes {info.nodes} nps {info.nps} hashfull {full}{tables} time {info.time_ms}"
    return [
        " ".join(
            (head, f"multipv {rank}", score(line, show_wdl=show_wdl, mate=mate, scores=scores), middle, "pv", *line.pv)
        )
        for rank, line in enumerate(info.lines, start=1)
    ]


def score(line: Line, *, show_wdl: bool = False, mate: Callable[[int], str] = str, scores: str = OUR_SCORES) -> str:
    """``score cp x`` or ``score mate y`` from the side to move's view, with the chances if requested."""
    if line.mate is not None:
        text = f"score mate {mate(line.mate)}"
    else:
        text = f"score cp {min(max(SCORES[scores](line), -_SCORE_LIMIT), _SCORE_LIMIT)}"
    return text + " wdl {} {} {}".format(*line.wdl.permille()) if show_wdl else text


def game_over_line(lines: tuple[Line, ...], *, mate: Callable[[int], str] = str) -> str:
    return f"info depth 0 {score(lines[0], mate=mate) if lines else 'score cp 0'}"


def stats_lines(info: ThinkingInfo) -> list[str]:
    """Statistics of all root edges as Lc0 prints them with VerboseMoveStats, the best last, then those of the root.

    N visits, P prior, WL win minus loss, D draw, M moves left (which our nets do not estimate), Q value, U exploration,
    S their sum, V the net's own value; all from the view of the side to move at the root. The number in brackets after
    the move, Lc0's policy index, is the edge's rank by prior here. Nibbler and others parse these lines by column.
    """
    if not info.move_stats:
        return []
    by_prior = sorted(info.move_stats, key=lambda s: -s.prior)
    place = {stats.move: i for i, stats in enumerate(by_prior)}
    worst_first = sorted(info.move_stats, key=lambda s: (s.visits, s.value + s.exploration))
    visited = [stats for stats in info.move_stats if stats.visits]
    return [*(_edge_line(stats, place[stats.move]) for stats in worst_first), _root_line(info, visited)]


def _edge_line(stats: MoveStats, place: int) -> str:
    known = f"(WL: {_fixed(stats.value, 8, 5)}) (D: {_fixed(stats.draw, 5, 3)})"
    parts = [
        _head(stats.move, place, stats.visits, stats.prior),
        known if stats.visits else "(WL:  -.-----) (D: -.---)",
        "(M:  -.-)",
        f"(Q: {_fixed(stats.value, 8, 5)})",
        f"(U: {_fixed(stats.exploration, 6, 5)})",
        f"(S: {_fixed(stats.value + stats.exploration, 8, 5)})",
        _net_value(stats.net_value),
    ]
    return " ".join([*parts, "(T)"] if stats.terminal else parts)


def _root_line(info: ThinkingInfo, visited: list[MoveStats]) -> str:
    visits = sum(stats.visits for stats in visited)
    mean = sum(stats.visits * stats.value for stats in visited) / max(visits, 1)
    draw = sum(stats.visits * stats.draw for stats in visited) / max(visits, 1)
    known = f"(WL: {_fixed(mean, 8, 5)}) (D: {_fixed(draw, 5, 3)})"
    prior = min(sum(stats.prior for stats in visited), 1.0)
    head = _head("node", len(info.move_stats), info.visits, prior)
    return f"{head} {known} (M:  -.-) (Q: {_fixed(mean, 8, 5)}) {_net_value(None)}"


def _head(name: str, number: int, visits: int, prior: float) -> str:
    percent = _fixed(100.0 * prior, 5, 1 if prior >= 0.99995 else 2)
    return f"info string {name:<5} ({number:<4}) N: {visits:>7} (+ 0) (P: {percent}%)"


def _net_value(value: float | None) -> str:
    return "(V:  -.----)" if value is None else f"(V: {_fixed(value, 7, 4)})"


def _fixed(number: float, width: int, digits: int) -> str:
    return f"{round(number, digits) + 0.0:{width}.{digits}f}"  # + 0.0: no minus before a zero
