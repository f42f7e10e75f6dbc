"""Reading a tree: the best moves at the root, their principal variations and statistics, the move to play."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...games.base import Game, State
from ...games.outcome import BY_TABLES, DRAW, LOSS, RUNNING, WIN
from ...games.tactics.mates import LONGEST
from ...info import Line, MoveStats, Wdl
from ...kernels.jit import borrow, device, kernel
from ...params import EngineOptions, SearchParams
from ..mate import short_mate
from .nodes import tree_of, twin_of, unpack_prior, unpack_priors
from .ownership import Averages
from .puct import exploration
from .tree import Tree

MAX_PV = 64  # moves of a principal variation
_DEFAULTS = EngineOptions()
_MOST_TEXTS = 10_000  # lines of moves whose texts are kept


@device
def _prefer(a, b):
    """Whether visited child ``a`` is a better move for its parent than ``b``.

    The quickest win first, then by visits what is not lost, then the slowest loss.
    """
    rank_a = 2 if a.bound == LOSS else (0 if a.bound == WIN else 1)
    rank_b = 2 if b.bound == LOSS else (0 if b.bound == WIN else 1)
    if rank_a != rank_b:
        return rank_a > rank_b
    if rank_a == 2 and a.plies != b.plies:
        return a.plies < b.plies
    if rank_a == 0 and a.plies != b.plies:
        return a.plies > b.plies
    if a.n != b.n:
        return a.n > b.n
    return a.n > 0 and a.w + a.s < b.w + b.s  # the opponent's view


@device
def best_of(nodes, edges, node, out):
    """Write the visited edges of a node from best to worst to out i4[K]; returns their number."""
    nd = nodes[node]
    count = 0
    if nd.first_edge < 0:
        return count
    for k in range(nd.first_edge, nd.first_edge + nd.children):
        if nodes[edges[k].child].n == 0:
            continue
        at = min(count, out.shape[0] - 1)
        if count == out.shape[0] and not _prefer(nodes[edges[k].child], nodes[edges[out[at]].child]):
            continue
        while at > 0 and _prefer(nodes[edges[k].child], nodes[edges[out[at - 1]].child]):
            out[at] = out[at - 1]
            at -= 1
        out[at] = k
        count = min(count + 1, out.shape[0])
    return count


@kernel
def best_children(trees, node, out):
    """:func:`best_of` a node of tree 0."""
    nodes, edges, _ = tree_of(borrow(trees), 0)
    return best_of(nodes, edges, node, borrow(out))


@kernel
def best_line(trees, edge, moves, visits, passed):
    """The best moves from an edge of tree 0 on; returns (moves, of these visited, the last child or -1, the prior).

    moves u2[K]: the edge's first; visits i8[K]: behind each move whose position was visited; passed i4[K]: the nodes
    that they lead to. It ends where nothing is visited, and before a node is searched a second time.
    """
    nodes, edges, _ = tree_of(borrow(trees), 0)
    best = np.empty(1, np.int32)
    count, seen, child, prior = 0, 0, np.int64(-1), unpack_prior(edges[edge].prior)
    searched = np.empty(moves.shape[0], np.int64)
    while count < moves.shape[0]:
        moves[count] = edges[edge].move
        count += 1
        child = np.int64(edges[edge].child)
        if child < 0:
            break
        visits[seen], passed[seen] = nodes[child].n, child
        at = np.int64(child)
        twin = twin_of(nodes[child])
        if twin >= 0:
            at = twin
        repeated = False
        for k in range(seen):
            repeated |= searched[k] == at
        searched[seen] = at
        seen += 1
        if repeated or best_of(nodes, edges, at, best) == 0:
            break
        edge = np.int64(best[0])
    return count, seen, child, prior


def visit_lead(tree: Tree) -> tuple[int, int, bool]:
    """By how much the root's most visited move leads.

    Returns the visits of the most and of the second most visited edge, and whether the first also has the best value
    among those with a tenth of its visits.
    """
    children = tree.children_of(tree.root)[1]
    if not len(children):
        return 0, 0, True
    visits = children["n"]
    leader = int(visits.argmax())
    second = int(np.partition(visits, -2)[-2]) if len(visits) > 1 else 0
    serious = 10 * visits > visits[leader]
    value = (children["w"] + children["s"]) / np.maximum(visits, 1)  # the opponent's view
    return int(visits[leader]), second, bool((value[serious] >= value[leader]).all())


def _certain(outcome: int) -> Wdl:
    return Wdl(float(outcome == WIN), float(outcome == DRAW), float(outcome == LOSS))


def _mean(node: Any) -> float:
    """Expected outcome for the side that moved into a visited node."""
    if node["bound"] != RUNNING:
        return -float(node["bound"])
    return min(max(-float(node["w"]) / int(node["n"]), -1.0), 1.0)  # a correction may reach beyond


def _worth(node: Any) -> tuple[int, float]:
    """Sort key of a visited node by what the side that moved into it expects; of mates it wants the quickest."""
    if node["bound"] == LOSS:
        return 1, -float(node["plies"])
    return (-1, float(node["plies"])) if node["bound"] == WIN else (0, _mean(node))


def _wdl(node: Any) -> Wdl:
    """Chances of the side that moved into a visited node."""
    if node["bound"] != RUNNING:
        return _certain(-int(node["bound"]))
    value, draw = _mean(node), float(node["d"]) / int(node["n"])
    draw = min(max(draw, 0.0), 1.0 - abs(value)) if abs(value) < 1.0 else 0.0
    return Wdl((1.0 + value - draw) / 2.0, draw, (1.0 - value - draw) / 2.0)


def _wdl_to_move(node: Any) -> Wdl:
    """Chances of the side to move at a visited node."""
    seen = _wdl(node)
    return Wdl(seen.loss, seen.draw, seen.win)


def _mate(node: Any) -> int | None:
    """Full moves to mate for the side that moved into the node, negative when it is mated; None when not proven."""
    plies = int(node["plies"]) + 1
    if plies > BY_TABLES:
        return None
    if node["bound"] == LOSS:
        return (plies + 1) // 2
    return -(plies // 2) if node["bound"] == WIN else None


def final_line(game: Game, outcome: int, options: EngineOptions) -> Line:
    """The line of a game that is over; ``outcome`` for the side to move, which wins by a declaration only."""
    wdl = {LOSS: Wdl(0.0, 0.0, 1.0), WIN: Wdl(1.0, 0.0, 0.0)}.get(outcome, Wdl(0.0, 1.0, 0.0))
    mate = {LOSS: 0, WIN: 1}.get(outcome)
    return Line(game.centipawns(wdl, options), mate, wdl, 0, 0.0, ())


class RootView:
    """Reads a tree's root. ``line`` is the game up to the root; call under the search's lock."""

    def __init__(
        self, game: Game, tree: Tree, line: State, options: EngineOptions = _DEFAULTS, *, several: bool = False
    ) -> None:
        """``several``: whether the search visits other moves once the outcome of one is known (MultiPV)."""
        self._options, self._several = options, several
        self._game, self._tree, self._line = game, tree, line
        self._pieces = 0 if game.calibration is None else game.count_pieces(line[-1])
        self._texts: dict[tuple[int, ...], tuple[str, ...]] = {}  # reports repeat most of their lines

    def text(self, moves: list[int]) -> tuple[str, ...]:
        """Moves from the root on as text."""
        key = tuple(moves)
        if key not in self._texts:
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            self._texts[key] = self._game.format_moves(self._line[-1], moves)
        return self._texts[key]

    def lines(self, multipv: int, averages: Averages | None = None) -> tuple[Line, ...]:
        """The best ``multipv`` root moves that were visited, best first; the first move where none was.

        Empty while the root is not expanded. averages: of the tree, for estimates and bounds.
        """
        first = int(self._tree.nodes[self._tree.root]["first_edge"])
        if first < 0:
            return ()
        return tuple(self._line_of(edge, averages) for edge in self._ranked(multipv) or [first])

    def _ranked(self, most: int) -> list[int]:
        """The edges of the best ``most`` visited root moves, best first.

        Visits tell which, but of several lines those that endgame tables know come in their order, a proven draw comes
        before what is worse than a draw, and of wins that are as quick that which was known first. The first line is
        the one of a search for one line; the others follow by what they are worth.
        """
        tree, several = self._tree, self._several
        best = np.empty(int(tree.nodes[tree.root]["edges"]) if several else most, np.int32)
        order: list[int] = best[: best_children(tree.arrays, tree.root, best)].tolist()
        if not several:
            return order
        known = tree.known
        if known is not None:
            order.sort(key=lambda edge: -known.get(int(tree.edges[edge]["move"]), (0, -1))[1])
            return order[:most]
        nodes = {edge: tree.nodes[tree.edges[edge]["child"]] for edge in order}
        first, others = order[:1], order[1:]
        for edge in others:
            if tree.edges[edge]["move"] == tree.decided and nodes[edge]["plies"] == nodes[first[0]]["plies"]:
                first, others = [edge], [other for other in order if other != edge]
        draws = [edge for edge in others if nodes[edge]["bound"] == DRAW]
        rest = [edge for edge in others if nodes[edge]["bound"] != DRAW]
        worse = (k for k, edge in enumerate(rest) if nodes[edge]["bound"] == WIN or nodes[edge]["w"] > 0)
        place = next((k for k in worse if nodes[rest[k]]["bound"] != LOSS), len(rest))
        shown = [*first, *rest[:place], *draws, *rest[place:]][:most]
        return [*first, *sorted(shown[1:], key=lambda edge: _worth(nodes[edge]), reverse=True)]

    def answer(self, temperature: float, seed: int, averages: Averages | None = None) -> Line | None:
        """The principal variation that begins with the move to play, see :meth:`choose`; None without edges."""
        edge = self.choose(temperature, seed)
        return None if edge is None else self._line_of(edge, averages)

    def mating_line(self, moves: list[int], mate: int) -> Line:
        """The line of a mate in so many full moves that is known beside the tree."""
        wdl = _certain(WIN)
        return Line(self._game.centipawns(wdl, self._options), mate, wdl, 0, 0.0, self.text(moves))

    def _line_of(self, edge: int, averages: Averages | None) -> Line:
        tree = self._tree
        record = tree.edges[edge]
        moves, visits, prior = self._variation(edge)
        pv = self.text(moves)
        child = tree.nodes[record["child"]] if record["child"] >= 0 else None
        table = None if tree.known is None else tree.known.get(moves[0])
        known = None if table is None else _certain(table[0])
        if child is None or int(child["n"]) == 0:
            root = tree.nodes[tree.root]
            wdl = known or self._chances(root, -_mean(root), to_move=True)
            return Line(self._game.centipawns(wdl, self._options), None, wdl, 0, prior, pv)
        mean = _mean(child) if known is None else known.value
        wdl = known or self._chances(child, mean)
        score = self._game.centipawns(wdl, self._options)
        line = Line(score, _mate(child), wdl, visits[0], prior, pv, pv_visits=visits, mean=mean)
        if averages is None:
            return line
        number = edge - int(tree.nodes[tree.root]["first_edge"])
        return replace(line, estimate=averages.after(number), bound=averages.bound(number, mean))

    def _chances(self, node: Any, mean: float, *, to_move: bool = False) -> Wdl:
        """What to show of a visited node: its mean outcome as the game's calibration reads it, unless it is proven.

        Of the side that moved into it, or of its side ``to_move``.
        """
        calibration = self._game.calibration
        if calibration is None or node["bound"] != RUNNING:
            return _wdl_to_move(node) if to_move else _wdl(node)
        return Wdl(*map(float, calibration.chances(mean, self._pieces)))

    def _variation(self, edge: int) -> tuple[list[int], tuple[int, ...], float]:
        """Moves of the principal variation that begins with a root edge, the visits behind each, the first's prior."""
        tree = self._tree
        room = np.empty(MAX_PV, np.uint16), np.empty(MAX_PV, np.int64), np.empty(MAX_PV, np.int32)
        count, seen, child, prior = best_line(tree.arrays, edge, *room)
        moves, visits = room[0][:count].tolist(), tuple(room[1][:seen].tolist())
        if tree.proofs:
            for k, node in enumerate(room[2][:seen].tolist()):
                if len(proof := tree.proofs.get(node, ())) == int(tree.nodes[node]["plies"]) > 0:
                    return [*moves[: k + 1], *proof], visits[: k + 1], prior
        last = tree.nodes[child] if child >= 0 else None
        if last is None or last["bound"] == RUNNING or last["terminal"]:
            return moves, visits, prior
        if last["first_edge"] < 0 and last["plies"] <= LONGEST:
            moves += short_mate(self._game, self._line, moves, int(last["plies"]))
        return moves, visits, prior

    def move_stats(self, params: SearchParams) -> tuple[MoveStats, ...]:
        """Every root edge, most visited last (as Lc0 prints them)."""
        tree = self._tree
        edges, children = tree.children_of(tree.root)
        if not len(edges):
            return ()
        root = tree.nodes[tree.root]
        visits = np.zeros(len(edges))
        visits[: len(children)] = children["n"]
        priors = unpack_priors(edges["prior"])
        rate = exploration(params.puct == "az", params, int(root["n"]))
        bonus = rate * priors * np.sqrt(visits.sum()) / (1.0 + visits)
        seen = float(priors[: len(children)].sum())
        mean = float(root["w"] + root["s"]) / max(int(root["n"]), 1)
        unvisited = {"zero": 0.0, "loss": -1.0, "reduction": mean - params.fpu_root_value * seen**0.5}[params.fpu]
        stats = []
        for i, edge in enumerate(edges):
            move = self.text([int(edge["move"])])[0]
            prior, u = float(priors[i]), float(bonus[i])
            if i < len(children) and children[i]["n"] > 0:
                child = children[i]
                wdl, terminal = _wdl(child), bool(child["terminal"])
                stats.append(
                    MoveStats(
                        move, int(child["n"]), prior, wdl.value, wdl.draw, u, -float(child["net_value"]), terminal
                    )
                )
            else:
                stats.append(MoveStats(move, 0, prior, unvisited, _wdl_to_move(root).draw, u, None))
        return tuple(sorted(stats, key=lambda s: (s.visits, s.prior)))

    def choose(self, temperature: float, seed: int) -> int | None:
        """The edge of the move to play: of the best, or drawn with probability ~ N^(1/temperature); None without edges.

        seed: 0 = another draw each time; else the same at the same ply.
        """
        tree = self._tree
        first = int(tree.nodes[tree.root]["first_edge"])
        edges, children = tree.children_of(tree.root)
        if not len(edges):
            return None
        best = self._ranked(1)
        if not best:
            return first
        choice = best[0]
        proven = children["bound"] == LOSS
        if temperature <= 0.0 or proven.any():
            return choice
        weights = np.where(children["bound"] == WIN, 0, children["n"]).astype(np.float64)
        if weights.sum() == 0:
            return choice
        weights = (weights / weights.max()) ** (1.0 / temperature)
        random = np.random.default_rng((seed, int(self._line[-1]["ply"])) if seed else None)
        picked = random.choice(len(weights), p=weights / weights.sum())
        return first + int(picked)
