"""An answer as JSON: one report of a search, with KataGo's names for what it says.

The engine speaks from the view of the side to move; an answer from that of the query's ``reportAnalysisWinratesAs``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...engine.info import BestMove, Estimate, Line, ThinkingInfo
from .query import Query

if TYPE_CHECKING:
    from ...engine.nets.opinions import Opinion
UNKNOWN = -1.0  # KataGo's number where a net does not tell


class Seen:
    """A position of a query, what the net says of it, and which colour's view is shown."""

    def __init__(self, query: Query, turn: int, position: str, legal: Sequence[str], opinion: Opinion) -> None:
        self._query, self._turn = query, turn
        self._player = query.played.turns[turn]
        self._sign = -1.0 if query.perspective and query.perspective != self._player else 1.0
        self._policy = dict(zip(legal, opinion.policy.tolist(), strict=True))
        self._opinion = opinion
        self._hashes = _hashes(position) if query.played.size is not None else (_hash(position),) * 2

    def report(self, info: ThinkingInfo, *, during: bool) -> dict[str, Any]:
        """The answer while the search goes on (``during``) or at its end."""
        visited = [line for line in info.lines if line.visits]
        moves = [self._move(order, line) for order, line in enumerate(visited)]
        value = self._value if info.value is None else info.value
        bound = visited[0].bound if visited else None
        return self._answer(during, moves, self._root(info.nodes, value, bound, info.estimate), info.estimate)

    def ended(self, best: BestMove, estimate: Estimate | None) -> dict[str, Any]:
        """The answer to a position where the game is over, or the net's alone."""
        value = best.lines[0].wdl.value if best.lines else self._value
        if estimate is None and (self._opinion.lead is not None or self._opinion.ownership):
            estimate = Estimate(self._opinion.lead, self._opinion.ownership or None)
        return self._answer(False, [], self._root(1, value, None, estimate), estimate)

    @property
    def _value(self) -> float:
        return 2.0 * self._opinion.chance - 1.0

    def _answer(
        self, during: bool, moves: list[dict[str, Any]], root: dict[str, Any], estimate: Estimate | None
    ) -> dict[str, Any]:
        query = self._query
        answer = {"id": query.id, "isDuringSearch": during, "turnNumber": self._turn, "moveInfos": moves}
        answer["rootInfo"] = root
        if query.ownership:
            answer |= self._points("ownership", estimate)
        if query.ownership_stdev:
            answer |= self._points("ownershipStdev", estimate, spread=True)
        if query.policy:
            answer["policy"] = self._probabilities()
        return answer

    def _probabilities(self) -> list[float] | dict[str, float]:
        """Of each point from the top left and of the pass, -1 where illegal; in other games by move."""
        from ..gtp.board import PASS, vertex

        size, policy = self._query.played.size, self._policy
        if size is None:
            return {move: _short(chance) for move, chance in policy.items()}
        places = [*(vertex(point, size) for point in range(size.points)), PASS]
        return [_short(policy[place]) if place in policy else -1.0 for place in places]

    def _chance(self, value: float) -> float:
        """A winrate of a value in [-1, 1] of the side to move."""
        return _short((1.0 + self._sign * value) / 2.0)

    def _points(self, name: str, estimate: Estimate | None, *, spread: bool = False) -> dict[str, list[float]]:
        """The ownership of each point, or its standard deviation; nothing where the net does not tell it."""
        values = None if estimate is None else estimate.ownership_stdev if spread else estimate.ownership
        sign = 1.0 if spread else self._sign
        return {} if values is None else {name: [_short(sign * x) for x in values]}

    def _score(self, estimate: Estimate | None) -> dict[str, float]:
        if estimate is None or estimate.score is None:
            return {}
        lead = _short(self._sign * estimate.score)
        stdev = estimate.score_stdev or 0.0
        return {"scoreLead": lead, "scoreMean": lead, "scoreSelfplay": lead, "scoreStdev": _short(stdev)}

    def _values(self, value: float, bound: float | None, estimate: Estimate | None) -> dict[str, float]:
        values = {"winrate": self._chance(value), **self._score(estimate), "utility": _short(self._sign * value)}
        if bound is not None:
            values |= {"lcb": self._chance(bound), "utilityLcb": _short(self._sign * bound)}
        if self._query.no_result:
            values["noResultValue"] = 0.0
        return values

    def _move(self, order: int, line: Line) -> dict[str, Any]:
        query, visits = self._query, line.visits
        fields: dict[str, Any] = {"move": line.pv[0], "visits": visits, "edgeVisits": visits}
        fields |= self._values(line.wdl.value, line.bound, line.estimate)
        fields |= {"prior": _short(line.prior), "weight": float(visits), "edgeWeight": float(visits)}
        fields |= {"order": order, "playSelectionValue": float(visits), "pv": [*line.pv[: query.pv_length]]}
        if query.pv_visits:
            known = [*line.pv_visits, *[0] * len(line.pv)][: len(fields["pv"])]  # 0: behind a proven mate
            fields |= {"pvVisits": known, "pvEdgeVisits": known}
        if query.moves_ownership:
            fields |= self._points("ownership", line.estimate)
        if query.moves_ownership_stdev:
            fields |= self._points("ownershipStdev", line.estimate, spread=True)
        if query.played.size is None:
            fields |= self._outcomes(line)
        return fields

    def _outcomes(self, line: Line) -> dict[str, Any]:
        """What KataGo's answers have no names for: chances of win, draw and loss, centipawns, moves to a mate."""
        wdl = [line.wdl.win, line.wdl.draw, line.wdl.loss]
        sign = round(self._sign)
        fields: dict[str, Any] = {"wdl": [_short(x) for x in (wdl if sign > 0 else wdl[::-1])], "cp": sign * line.cp}
        return fields if line.mate is None else fields | {"mate": sign * line.mate}

    def _root(self, visits: int, value: float, bound: float | None, estimate: Estimate | None) -> dict[str, Any]:
        root: dict[str, Any] = {**self._values(value, bound, estimate)}
        root.pop("utilityLcb", None)
        root |= {"visits": visits, "weight": float(visits), "currentPlayer": self._player.upper()}
        root |= dict(zip(("thisHash", "symHash"), self._hashes, strict=True))
        root |= {"rawWinrate": self._chance(self._value), "rawNoResultProb": 0.0}
        opinion = self._opinion
        doubts = opinion.doubts
        time_left, outcome_error, score_error = (UNKNOWN,) * 3 if doubts is None else doubts[2:]
        root["rawStWrError"] = _short(outcome_error / 2)  # of a chance from 0 to 1; -0.5 where it is unknown
        root |= {"rawStScoreError": _short(score_error), "rawVarTimeLeft": _short(time_left)}
        if opinion.lead is not None:
            root["rawLead"] = root["rawScoreSelfplay"] = _short(self._sign * opinion.lead)
            spread = Estimate(opinion.lead, opinion.ownership or None).score_stdev
            root["rawScoreSelfplayStdev"] = UNKNOWN if spread is None else _short(spread)
        if doubts is not None:
            root |= {
                "rawScoreSelfplay": _short(self._sign * doubts.score),
                "rawScoreSelfplayStdev": _short(doubts.stdev),
            }
        return root


def no_results(query: Query, turn: int) -> dict[str, Any]:
    """The answer to a turn that was terminated before its first visit."""
    return {"id": query.id, "isDuringSearch": False, "noResults": True, "turnNumber": turn}


def warning(query_id: str, text: str, **about: str) -> dict[str, Any]:
    """A message beside the answers to a query. By its last two fields KaTrain knows that it is no answer."""
    return {"warning": text, **about, "id": query_id, "isDuringSearch": True, "noResults": True}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32].upper()


def _hashes(position: str) -> tuple[str, str]:
    """Of a Go board, its side to move and ko; the second is that of all its symmetric images."""
    from ..gtp.board import Board, point

    text, turn, ko, *_ = position.split()
    board = Board.read(text)
    cells = [*board.stones]
    if ko != "-":
        cells[point(ko, board.size)] = "k"
    w, h = board.size
    rows = ["".join(cells[i : i + w]) for i in range(0, w * h, w)]
    images = []
    for _ in range(4):
        rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
        images += ["/".join(rows), "/".join(row[::-1] for row in rows)]
    return _hash(f"{'/'.join(rows)} {turn}"), _hash(f"{min(images)} {turn}")


def _short(number: float) -> float:
    return round(number, 6) + 0.0  # no minus before a zero
