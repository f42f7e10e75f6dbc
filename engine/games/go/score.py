"""Counting a position, by area or territory: with every stone alive, as Tromp-Taylor counts, or without dead stones.

Which stones are dead is for the players to agree on, or for a net to say: a chain is dead where the net expects its
points to become the opponent's, but in a seki that shows without reading. Without such an output every stone on the
board counts as alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..capabilities import Territory
from . import notation, passalive
from .chances import chances
from .rules import compensation, count_score, usual_komi
from .rulesets import BUTTON, FRIENDLY, SEKI_TAX, TERRITORY, UNENDED
from .state import BLACK, EMPTY, WHITE, State, points_of, stones_from_array, stones_to_array

_SURE = 0.5  # mean ownership of a settled chain or region, its owner's view, at least
_SHARED = 4  # liberties that two groups in seki share at most
_DEAD = -0.5  # mean ownership of a chain, its owner's view, below which it counts as dead: when in doubt it lives ...
_FAR = 1 / 8  # ... unless without all in doubt the count is nearer to the expected lead by this share of the points


def _untaxed(state: State, board: NDArray[np.uint8]) -> tuple[float, NDArray[np.uint8]]:
    """Black's lead and the owner of each point with other stones on the board, those in seki counted like others."""
    counted = state.reshape(1).copy()
    counted["stones"] = stones_from_array(board[None])
    owner = np.empty(len(board), np.uint8)
    return count_score(counted, 0, owner) / 2, owner


class GoTerritory(Territory):
    """The count of a Go board of any size."""

    def score(self, state: State, dead: Iterable[Collection[int]] = ()) -> tuple[float, NDArray[np.uint8]]:
        board = stones_to_array(state)
        for chain in dead:
            board[list(chain)] = EMPTY
        points, owner = _untaxed(state, board)
        if state["rules"] & SEKI_TAX:
            for group in _seki(board, owner, int(state["columns"])):
                for p in group:
                    if board[p] == EMPTY:
                        points -= 1 if owner[p] == BLACK else -1
                        owner[p] = EMPTY
        return points, owner

    def seki(self, state: State, dead: Iterable[Collection[int]] = ()) -> list[frozenset[int]]:
        board = stones_to_array(state)
        for chain in dead:
            board[list(chain)] = EMPTY
        owner = _untaxed(state, board)[1]
        points = frozenset(p for group in _seki(board, owner, int(state["columns"])) for p in group)
        return [chain for chain in self.chains(state) if chain <= points]

    def settled(self, state: State, ownership: Sequence[float]) -> bool:
        board, columns = stones_to_array(state), int(state["columns"])
        black = np.asarray(ownership) * (1 if state["turn"] == BLACK else -1)
        for chain in self.dead_chains(state, ownership):
            board[list(chain)] = EMPTY
        for region in _regions(board, columns):
            colours = {int(board[q]) for p in region for q in _near(p, columns, len(board))} - {
                EMPTY,
                *{int(board[p]) for p in region},
            }
            mean = float(black[list(region)].mean())
            if board[min(region)] != EMPTY:  # a chain
                if (mean if board[min(region)] == BLACK else -mean) < _SURE:
                    return False
            elif len(colours) == 1:
                if (mean if colours == {BLACK} else -mean) < _SURE:
                    return False
            elif any(len({int(board[q]) for q in _near(p, columns, len(board))} - {EMPTY}) < 2 for p in region):
                return False  # not even closed
        return True

    def chains(self, state: State) -> list[frozenset[int]]:
        board = stones_to_array(state)
        return [region for region in _regions(board, int(state["columns"])) if board[min(region)] != EMPTY]

    def dead_chains(self, state: State, ownership: Sequence[float], lead: float | None = None) -> list[frozenset[int]]:
        board, expected = stones_to_array(state), np.asarray(ownership)

        def owned(chain: frozenset[int]) -> float:
            mean = float(expected[list(chain)].mean())
            return mean if board[min(chain)] == state["turn"] else -mean

        doubtful = [chain for chain in self.chains(state) if owned(chain) < 0]
        if doubtful:
            sekis = _plain_sekis(board, int(state["columns"]))
            safe = [chain for chain, others in sekis if others.isdisjoint(doubtful)]
            doubtful = [chain for chain in doubtful if chain not in safe]
        sure = [chain for chain in doubtful if owned(chain) < _DEAD]
        if lead is None or len(sure) == len(doubtful):
            return sure
        black = lead if state["turn"] == BLACK else -lead
        off, all_off = (abs(self.score(state, dead)[0] - black) for dead in (sure, doubtful))
        return doubtful if off - all_off > _FAR * len(board) else sure

    def unended(self, line: State) -> State:
        if not line[-1]["rules"] & FRIENDLY:  # territory is agreed on in any case
            return line
        line = line.copy()
        line["rules"] |= UNENDED
        return line

    def passed(self, state: State) -> bool:
        return bool(state["passes"])

    def agreed(self, state: State) -> bool:
        return bool(state["rules"] & (FRIENDLY | TERRITORY))

    def counts_dead_stones(self, state: State) -> bool:
        owners = [self.score(state)[1], passalive.area_of(state)]
        as_it_stands, without = (int((who == BLACK).sum()) - int((who == WHITE).sum()) for who in owners)
        return as_it_stands != without

    def lead(self, state: State, points: float) -> float:
        white = int(compensation(*(state[name] for name in ("komi", "handicap", "rules", "played")))) / 2
        return points - white if state["turn"] == BLACK else points + white

    def is_usual(self, state: State) -> bool:
        white = compensation(*(state[name] for name in ("komi", "handicap", "rules", "played")))
        return not state["rules"] & TERRITORY and white == 2 * usual_komi(*notation.size_of(state))

    def chances(
        self,
        root: State,
        lengths: NDArray[np.integer],
        given: NDArray[np.float64],
        values: NDArray[np.float64],
        scores: NDArray[np.float64] | None = None,
        owners: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        black = (lengths % 2 == 0) == (root["turn"] == BLACK)
        learned = np.where(black, 1.0, -1.0) * usual_komi(*notation.size_of(root))
        return chances(-given, learned, points_of(root), values, scores, owners)

    def leads(
        self, root: State, paths: NDArray[np.uint16], lengths: NDArray[np.integer], points: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        depth = np.arange(paths.shape[1])
        sign = 1.0 if root["turn"] == BLACK else -1.0
        white = np.full(len(paths), self.lead(root, 0.0) * -sign)
        if root["rules"] & TERRITORY:
            stones = (depth < lengths[:, None]) & (paths < points_of(root))
            white += sign * np.where(stones, 1 - 2 * (depth % 2), 0).sum(axis=1)
        if root["rules"] & BUTTON:  # half a point for the first pass
            passed = (depth < lengths[:, None]) & (paths == points_of(root))
            by_root = passed.argmax(axis=1) % 2 == 0
            white += np.where(passed.any(axis=1), sign * np.where(by_root, -0.5, 0.5), 0.0)
        black_to_move = (lengths % 2 == 0) == (root["turn"] == BLACK)
        return np.asarray(points + np.where(black_to_move, -white, white))

    def stones(self, state: State) -> NDArray[np.uint8]:
        return stones_to_array(state)

    def most_handicap(self, size: int) -> int:
        return notation.most_handicap(size)

    def handicap(self, size: int, stones: int) -> list[int]:
        return notation.handicap_points(size, stones)

    def rules_named(self, text: str) -> str:
        from .records.terms import rules_of_text  # wanted by few

        return rules_of_text(text)

    def start(self, columns: int, rows: int, komi: float | None, rules: str) -> str:
        komi = usual_komi(columns, rows) if komi is None else komi
        return notation.format_position(notation.empty_board(columns, rows, komi, rules)[0])


def _near(p: int, columns: int, points: int) -> tuple[int, ...]:
    """The neighbours of a point."""
    sides = (p - 1,) * (p % columns > 0) + (p + 1,) * (p % columns < columns - 1)
    return tuple(q for q in (p - columns, p + columns, *sides) if 0 <= q < points)


def _regions(values: NDArray[np.uint8], columns: int) -> list[frozenset[int]]:
    """The connected regions of equal values on a board u1[H * W]."""
    results: list[frozenset[int]] = []
    seen = set[int]()
    for start in range(len(values)):
        if start in seen:
            continue
        region, waiting = {start}, [start]
        while waiting:
            for q in _near(waiting.pop(), columns, len(values)):
                if values[q] == values[start] and q not in region:
                    region.add(q)
                    waiting.append(q)
        seen |= region
        results.append(frozenset(region))
    return results


def _plain_sekis(board: NDArray[np.uint8], columns: int) -> Iterator[tuple[frozenset[int], set[frozenset[int]]]]:
    """The chains in sekis that show without reading, each with those that it and its enemy touch, which must be alive.

    Two chains have an eye of one point each and share the rest of their liberties: whoever fills the last shared one is
    taken, and leaves the other a second eye. Nobody else may touch what they share: it could connect. Chains without
    eyes have to be read, for a few stones may be sacrificed.
    """
    chains = [region for region in _regions(board, columns) if board[min(region)] != EMPTY]
    of = {p: chain for chain in chains for p in chain}
    beside = [frozenset(_near(p, columns, len(board))) for p in range(len(board))]
    touching = [{of[q] for q in beside[p] if q in of} for p in range(len(board))]
    liberties = {chain: frozenset().union(*(beside[p] for p in chain)).difference(of) for chain in chains}

    def eyes(chain: frozenset[int]) -> set[int]:
        return {p for p in liberties[chain] if touching[p] == {chain} and beside[p] <= chain}

    for one in chains:
        shared = liberties[one] - eyes(one)
        others = {chain for p in shared for chain in touching[p]} - {one}
        if len(others) != 1 or len(liberties[one]) != len(shared) + 1:
            continue
        (other,) = others
        closed = all(beside[p] <= one | other | shared for p in shared)
        alike = len(liberties[other]) == len(liberties[one]) and liberties[other] - eyes(other) == shared
        if closed and alike and board[min(one)] != board[min(other)]:
            yield one, {chain for p in one | other for q in beside[p] if (chain := of.get(q, one)) not in (one, other)}


def _seki(board: NDArray[np.uint8], owner: NDArray[np.uint8], columns: int) -> list[frozenset[int]]:
    """The groups in seki, each with its territory; ``owner`` of each point of a board without dead stones.

    Such a group has fewer than two eyes and few liberties beside its eye, all of which it shares with a group of the
    other colour of which the same is true.
    """
    empty = [region for region in _regions(board, columns) if board[min(region)] == EMPTY]
    shared = [region for region in empty if owner[min(region)] == EMPTY and len(region) <= _SHARED]
    weak = list[frozenset[int]]()
    for group in _regions(owner, columns):
        eyes = [region for region in empty if region <= group]
        liberties = {q for p in group for q in _near(p, columns, len(board))} - group
        free = {q for q in liberties if board[q] == EMPTY}
        blind = owner[min(group)] != EMPTY and len(eyes) < 2 and sum(map(len, eyes)) <= 2
        if blind and free and free <= frozenset().union(*shared):
            weak.append(group)
    around = {id(region): {q for p in region for q in _near(p, columns, len(board))} for region in shared}

    def faces(group: frozenset[int]) -> bool:
        return any(
            other & around[id(region)] and owner[min(other)] != owner[min(group)]
            for region in shared
            if group & around[id(region)]
            for other in weak
        )

    return [group for group in weak if faces(group)]
