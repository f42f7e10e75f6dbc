"""Analysis over GTP: the arguments of ``lz-analyze`` and its relatives, and the lines that they print.

Three families print the same statistics: ``analyze`` (Sabaki) and ``lz-analyze`` (Leela Zero) in 1/10000,
``kata-analyze`` (KataGo) as fractions, and with scores and ownership where the net has them. All from the view of the
side to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...engine.info import Estimate, Line, ThinkingInfo
from .board import COLOURS, GtpError, Size, read_colour, read_vertex
from .clock import whole

_LEAST_CS = 5  # least centiseconds between lines
_DEFAULT_CS = 50
_MOST_CS = 100_000
_MOVES = 40  # moves shown unless requested otherwise
_FLAGS = {  # KataGo's; None: accepted, but no net of ours has such an output
    "ownership": "ownership",
    "ownershipStdev": "ownership_stdev",
    "movesOwnership": "moves_ownership",
    "movesOwnershipStdev": "moves_ownership_stdev",
    "pvVisits": "pv_visits",
    "pvEdgeVisits": "pv_edge_visits",
    "rootInfo": "root",
    "noResultValue": None,
    "includeNoResultValue": None,
}


@dataclass(frozen=True, slots=True)
class Analysis:
    colour: str | None = None  # None: the side to move
    interval_ms: int = 10 * _DEFAULT_CS
    least: int = 0  # moves to show, if as many were visited
    most: int = _MOVES
    allow: tuple[tuple[str, str], ...] = ()  # colours and vertices: of these colours only these moves
    avoid: tuple[tuple[str, str], ...] = ()
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    pv_visits: bool = False
    pv_edge_visits: bool = False
    root: bool = False
    kata: bool = False  # KataGo's form of numbers


def read_analysis(words: Sequence[str], size: Size, *, kata: bool) -> Analysis:
    """The arguments ``[colour] [interval] [key value]...``. Errors: GtpError."""
    request, rest = Analysis(kata=kata), [*words]
    if rest and rest[0].lower() in COLOURS:
        request = replace(request, colour=read_colour(rest.pop(0)))
    if rest and rest[0].isdigit():
        request = replace(request, interval_ms=_interval(rest.pop(0)))
    while rest:
        key, values = rest[0], rest[1:]
        if key in ("avoid", "allow"):
            request, used = _restrict(request, key, values, size), 4
        elif not values:
            raise GtpError("syntax error")
        elif key == "interval":
            request, used = replace(request, interval_ms=_interval(values[0])), 2
        elif key == "minmoves":
            request, used = replace(request, least=whole(values[0])), 2
        elif key == "maxmoves":
            request, used = replace(request, most=whole(values[0])), 2
        elif key in _FLAGS and values[0].lower() in ("true", "false"):
            field, used = _FLAGS[key], 2
            if field is not None:
                request = replace(request, **{field: values[0].lower() == "true"})  # type: ignore[arg-type]
        else:
            raise GtpError("syntax error")
        rest = rest[used:]
    return replace(request, most=max(request.most, request.least, 1))


def _interval(word: str) -> int:
    return 10 * min(max(whole(word), _LEAST_CS), _MOST_CS)


def _restrict(request: Analysis, key: str, values: Sequence[str], size: Size) -> Analysis:
    """``avoid|allow COLOUR VERTEX,VERTEX,... UNTILDEPTH``; applied to the first move, whatever the depth.

    The last ``allow`` of a colour counts.
    """
    if len(values) < 3:
        raise GtpError("syntax error")
    colour = read_colour(values[0])
    moves = tuple((colour, read_vertex(word, size)) for word in values[1].split(","))
    whole(values[2])
    if key == "avoid":
        return replace(request, avoid=request.avoid + moves)
    return replace(request, allow=(*(pair for pair in request.allow if pair[0] != colour), *moves))


def searched(request: Analysis, colour: str, legal: Sequence[str]) -> tuple[str, ...]:
    """The moves of a colour to search, empty for all. Errors: GtpError when nothing is left."""
    allowed, avoided = ({move for of, move in pairs if of == colour} for pairs in (request.allow, request.avoid))
    if not allowed and not avoided:
        return ()
    moves = tuple(move for move in legal if move not in avoided and (not allowed or move in allowed))
    if not moves:
        raise GtpError("no legal move is left to analyze")
    return moves


def analysis_line(info: ThinkingInfo, request: Analysis) -> str:
    """All visited moves of one report as one line; nothing while there is none."""
    shown = [line for line in info.lines[: request.most] if line.visits]
    if not shown:
        return ""
    parts = [_move(line, order, request) for order, line in enumerate(shown)]
    if request.root:
        parts.append(_root(info, request))
    if request.ownership:
        parts.append(_points("ownership", info.estimate))
    if request.ownership_stdev:
        parts.append(_points("ownershipStdev", info.estimate, spread=True))
    return " ".join(filter(None, parts))


def _move(line: Line, order: int, request: Analysis) -> str:
    prior = _number(line.prior, request)
    chance = _number((1.0 + line.wdl.value) / 2.0, request)
    bound = "" if line.bound is None else f" lcb {_number((1.0 + line.bound) / 2.0, request, clip=False)}"
    head = f"info move {line.pv[0]} visits {line.visits} winrate {chance}{_score(line.estimate)}"
    parts = [f"{head} prior {prior}{bound} order {order} pv {' '.join(line.pv)}"]
    for name, requested in (("pvVisits", request.pv_visits), ("pvEdgeVisits", request.pv_edge_visits)):
        if requested:
            visits = [*line.pv_visits, *[0] * (len(line.pv) - len(line.pv_visits))]  # 0: behind a proven mate
            parts.append(f"{name} {' '.join(map(str, visits))}")
    if request.moves_ownership:
        parts.append(_points("movesOwnership", line.estimate))
    if request.moves_ownership_stdev:
        parts.append(_points("movesOwnershipStdev", line.estimate, spread=True))
    return " ".join(filter(None, parts))


def _points(name: str, estimate: Estimate | None, *, spread: bool = False) -> str:
    """The ownership of each point, or its standard deviation; nothing where the net does not tell it."""
    values = None if estimate is None else estimate.ownership_stdev if spread else estimate.ownership
    return "" if values is None else f"{name} {' '.join(f'{x:.3f}' for x in values)}"


def _score(estimate: Estimate | None) -> str:
    """KataGo's fields. q5Go shows a score only if it finds both the mean and the standard deviation."""
    if estimate is None or estimate.score is None:
        return ""
    stdev = "" if estimate.score_stdev is None else f" scoreStdev {estimate.score_stdev:.2f}"
    return f" scoreMean {estimate.score:.2f}{stdev} scoreLead {estimate.score:.2f}"


def _root(info: ThinkingInfo, request: Analysis) -> str:
    """The position as a whole."""
    chance = _number((1.0 + (info.value or 0.0)) / 2.0, request)
    return f"rootInfo visits {info.visits} winrate {chance}{_score(info.estimate)}"


def _number(chance: float, request: Analysis, *, clip: bool = True) -> str:
    chance = min(max(chance, 0.0), 1.0) if clip else chance
    return f"{chance:.6f}" if request.kata else str(round(10000 * chance))
