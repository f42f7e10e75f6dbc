"""What a search finds, as the page reads it. Values are of the side to move; shares are the reader's to count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...engine.info import BestMove, Line, MoveStats, ThinkingInfo
from .scoresheet import MOST_WRITTEN

if TYPE_CHECKING:
    from ...engine.search.tree.most_visited import Snapshot

_DIGITS = 4
Write = Callable[[Sequence[str]], list[str]]


def of_line(line: Line, write: Write = list) -> dict[str, Any]:
    return {
        "pv": line.pv,
        "words": write(line.pv),
        "visits": line.visits,
        "prior": round(line.prior, _DIGITS),
        "wdl": [share / 10**_DIGITS for share in line.wdl.shares(10**_DIGITS)],
        "mate": line.mate,
        "cp": line.cp,
        "lead": None if line.estimate is None or line.estimate.score is None else round(line.estimate.score, 1),
    }


def of_move(stats: MoveStats) -> list[Any]:
    """[move, P, N, Q, chance of a draw, U, V]; what is not known of a move without visits is left out."""
    row = [stats.move, round(stats.prior, _DIGITS)]
    if stats.visits:
        seen = None if stats.net_value is None else round(stats.net_value, _DIGITS)
        row += [stats.visits, round(stats.value, _DIGITS), round(stats.draw, _DIGITS)]
        row += [round(stats.exploration, _DIGITS), seen]
    return row


def of_search(info: ThinkingInfo, write: Write = list) -> dict[str, Any]:
    """A report of a running search, moves most visited first; ``write``: makes moves of a line readable."""
    estimate = info.estimate
    return {
        "visits": info.visits,
        "nodes": info.nodes,
        "nps": info.nps,
        "depth": info.depth,
        "deepest": info.seldepth,
        "ms": info.time_ms,
        "full": info.hashfull,
        "lines": [of_line(line, write) for line in info.lines],
        "moves": [of_move(stats) for stats in reversed(info.move_stats)],
        "lead": None if estimate is None or estimate.score is None else round(estimate.score, 2),
        "owners": None if estimate is None or estimate.ownership is None else [round(x, 2) for x in estimate.ownership],
    }


def of_answer(best: BestMove) -> dict[str, Any]:
    return {
        "move": best.move,
        "ponder": best.ponder,
        "resign": best.resign,
        "win": best.win,
        "nodes": best.nodes,
        "ms": best.time_ms,
        "lines": [of_line(line) for line in best.lines],
        "notes": best.messages,
    }


def of_states(snapshot: Snapshot | None, write: Write = list) -> list[dict[str, Any]] | None:
    """The states that are visited most, the root first; ``value`` is the first player's, 0 to 100."""
    if snapshot is None:
        return None
    paths: list[list[str]] = []
    for state in snapshot.states:
        paths.append([*paths[state.parent], state.move] if state.parent >= 0 else [])
    words = [(write(path) if len(path) <= MOST_WRITTEN else path)[-1:] for path in paths]
    return [
        {
            "move": state.move,
            "word": word[0] if word else "",
            "parent": state.parent,
            "visits": state.visits,
            "share": round(state.share, _DIGITS),
            "value": round(state.value, 1),
            "text": state.position,
        }
        for state, word in zip(snapshot.states, words, strict=True)
    ]
