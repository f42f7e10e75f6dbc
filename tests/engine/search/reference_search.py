"""The search once more, in plain Python: the oracle of test_search.py.

It reads like the papers (AlphaGo Zero and AlphaZero, Methods, 'Search algorithm') with the engine's stated batching:

- A batch of leaves is chosen before any of them is evaluated. A simulation on its way counts as a visit of each edge
  it took. ``virtual_loss`` says how much of that visit was lost; the rest of it had the edge's Q. The batch grows with
  the tree: at most 1 + simulations / ``ramp`` leaves, which is full after 1,024 simulations, if that is not fewer
  than 8 simulations for a leaf.
- A simulation that comes to a leaf that is already in the batch is taken back. The first time, if the batch is not half
  full, simulations on their way are lost visits from then on; else the batch is closed.
- A simulation that comes to a position whose outcome is known is backed up at once and needs no evaluation.
- Bounds of priors that the game reads beside the net hold, if ``ladders``; what it reads is taken from its kernel.
- At a leaf where the game goes on, mates of up to ``mate_plies`` plies are looked for: the side to move gives check
  until it mates, or it is in check and runs into a mate after each evasion. At the root the mating move comes first.
- Where the game numbers local patterns, the net's value of a position is corrected by ``subtree_bias`` times the mean
  error of the net at all positions of its pattern. The error at a position is the mean of the simulations that went on
  from there less the net's value; it counts with their number to the power of 0.85. Both are renewed whenever a
  simulation that was evaluated is backed up through the position.
- Where the net tells leads, selection adds to a value V ``score_utility`` times (tanh(lead / (1.6 * lines)) - V), lines
  of the board; nothing to the value of a game that is over. What is told of a move is the mean of V alone.
- The priors of the root's edges, as stored, are raised to the power of 1 / ``root_policy_temperature`` once it has
  them, and made to add up to 1 again.
- An unvisited edge is only looked at when all edges with greater priors have been visited; but with the solver the
  root's moves that end the game are visited first.

- A node or edges for which there is no room are not made; the batch is closed, and a leaf without edges keeps the value
  that was backed up. Then the tree recycles itself: of the expanded nodes only the most visited, as many as take at
  most 60 % of the memory, keep their edges and what lies below them. A node counts as often visited as any below it.
  The root and the nodes of the best lines, as far as their edges take half of that, keep theirs in any case. The other
  nodes keep no unvisited edge but one. A simulation that wants to follow that one gives the node all of its edges
  first, in new memory, as one that comes to a leaf with a value gives it its edges; neither is counted. Nodes that are
  expanded later have memory for six edges at first.
- The children of a node that has lost its children share out no visits but their own.

All numbers are Python's; only a prior is rounded as the tree stores it, in 16 bits. No code is shared with the engine
beyond the Game seam.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from az_engine.engine.games.base import Game, State
from az_engine.engine.params import SearchParams

LOSS, DRAW, WIN = -1, 0, 1
Output = tuple[NDArray[np.float32], ...]  # logits, values and, of a net that tells them, leads on the board
Mates = Callable[[State, int], tuple[int, int] | None]


def round_prior(p: np.float32) -> float:
    """A probability with 12 significant bits, half rounded up."""
    if p < 2.0**-31:
        return 2.0**-31
    mantissa, exponent = math.frexp(float(p))
    return math.floor(mantissa * 4096 + 0.5) / 4096 * 2.0**exponent


@dataclass(eq=False)
class Node:
    """A position; values are from the view of its side to move."""

    parent: Node | None
    line: State  # the game up to here
    n: int = 0  # N
    w: float = 0.0  # W
    d: float = 0.0  # draw chances backed up
    s: float = 0.0  # score utilities backed up
    in_flight: int = 0
    expanded: bool = False
    terminal: bool = False
    proven: int | None = None  # LOSS, DRAW or WIN once known
    edges: list[Edge] = field(default_factory=list)
    pattern: int = 0  # 0 = none
    value: float = 0.0  # the net's
    utility: float = 0.0  # of the net's lead
    bias: float = 0.0  # what its value is corrected by
    known: tuple[float, float] = (0.0, 0.0)  # weighted error and weight, as its pattern's table has them
    held: int = 0  # edges that have memory, the first ones
    anew: bool = False  # it lost its children


@dataclass(eq=False)
class Edge:
    """A move; ``child`` is None until it is first followed."""

    move: int
    prior: float
    child: Node | None = None
    before: float = 0.0  # prior of the edges that had been followed when this one was


class ReferenceSearch:
    """A tree grown from the last position of a line."""

    def __init__(
        self,
        game: Game,
        line: State,
        evaluate: Callable[[NDArray[np.uint8]], Output],
        params: SearchParams,
        batch_size: int,
        mates: Mates | None = None,
        *,
        several: bool = False,
        memory: tuple[int, int] | None = None,
        lines: int = 1,
    ) -> None:
        """``several``: once a win is known, root moves without a known outcome get the visits; memory: nodes and edges,
        None: without bounds; lines: that stay when the tree recycles itself. ``mates``: (plies, first move) of the
        shortest mate at the end of a line, of at most so many plies, or None; even plies where it is the side to
        move that is mated. None in a game without mates."""
        self.game, self.evaluate, self.params, self.batch_size = game, evaluate, params, batch_size
        self.several, self.skipping = several, False
        self.mates = mates if params.solver and params.mate_plies else None
        self.root = Node(None, line)
        self.errors: dict[int, tuple[float, float]] = {}  # sums of weighted errors and of weights, by pattern
        self.ramp = max(1024 // batch_size, 8)
        self.simulations = 0
        self.loss = params.virtual_loss  # of this batch
        self.softened = False  # the root has its own temperature
        self.offered = not params.solver  # the root's moves that end the game have had their turn
        self.memory, self.lines, self.full = memory, lines, False
        self.nodes = [self.root]  # in the order in which they were made
        self.recycled = self.used = 0  # how often; edges in memory

    def run(self, visits: int) -> None:
        """Simulate until the root has that many visits or its outcome is known (with ``several``, of all its moves)."""
        while self.simulations < visits and not self.is_over():
            self.skipping = self.several and self.root.proven is not None
            if self.full:
                self.recycle()
            if self.root.expanded:
                self.prepare_root()
            batch = self.select(min(8 * self.batch_size, visits - self.simulations))
            evaluations = [self.evaluation(leaf) for leaf in batch]
            for leaf, evaluation in zip(batch, evaluations, strict=True):
                self.simulations += self.expand(leaf, evaluation)

    def prepare_root(self) -> None:
        """Once: its priors get its temperature, and moves that end the game come before all others, in their order."""
        if self.params.root_policy_temperature != 1 and not self.softened:
            powers = [edge.prior ** (1 / self.params.root_policy_temperature) for edge in self.root.edges]
            for edge, power in zip(self.root.edges, powers, strict=True):
                edge.prior = round_prior(np.float32(power / sum(powers)))
        self.softened = True
        for edge in [] if self.offered else self.root.edges:
            line = self.game.play(self.root.line, edge.move)
            if edge.child is None and self.game.outcome(line) in (LOSS, DRAW, WIN):
                self.follow(self.root, edge, line)
        self.offered = True

    def is_over(self) -> bool:
        if not self.params.solver or self.root.proven is None:
            return False
        return not self.several or all(edge.child and edge.child.proven is not None for edge in self.root.edges)

    def visits(self) -> dict[int, int]:
        """{move: N} of the root's edges, unvisited ones included."""
        return {edge.move: edge.child.n if edge.child else 0 for edge in self.root.edges}

    # --- selection

    def select(self, budget: int) -> list[Node]:
        """The leaves of the next batch."""
        wanted = min(self.batch_size, 1 + self.simulations // self.ramp)
        batch: list[Node] = []
        finished, self.loss = 0, self.params.virtual_loss
        while len(batch) < wanted and len(batch) + finished < budget:
            node, waits = self.root, False
            node.in_flight += 1
            while node.expanded and not self.is_known(node):
                edge = max(node.edges, key=lambda e: self.score(node, e))  # the first of equals has the greatest prior
                if self.lacks(node, edge):
                    waits = node in batch
                    break
                if edge.child is None and not self.follow(node, edge, self.game.play(node.line, edge.move)):
                    self.take_back(node)
                    return batch
                assert edge.child is not None
                node = edge.child
                node.in_flight += 1
            if self.is_known(node):
                assert node.proven is not None
                self.backup(node, float(node.proven), float(node.proven == DRAW), 0.0)
                finished += 1
                self.simulations += 1
            elif waits or (node.in_flight > 1 and not node.expanded):
                self.take_back(node)
                if self.loss == 1 or len(batch) >= wanted / 2:
                    break
                self.loss = 1
            else:
                batch.append(node)
        return batch

    def follow(self, node: Node, edge: Edge, line: State) -> bool:
        """Make the child that an edge leads to; False where there is no room."""
        self.full = self.full or (self.memory is not None and len(self.nodes) >= self.memory[0])
        if self.full:
            return False
        edge.before, edge.child = self.followed(node), Node(node, line)
        self.nodes.append(edge.child)
        return True

    @staticmethod
    def lacks(node: Node, edge: Edge) -> bool:
        """Whether an edge stands for those of its node that have no memory."""
        return edge.child is None and node.held < len(node.edges) and edge is node.edges[node.held - 1]

    def is_known(self, node: Node) -> bool:
        return node.proven is not None and (node.terminal or (self.params.solver and node is not self.root))

    def score(self, node: Node, edge: Edge) -> float:
        """Q + U."""
        params = self.params
        flying = node.in_flight - 1  # this simulation itself is not counted
        rate = params.c_puct
        if params.puct == "az":
            rate += params.c_factor * math.log((1 + node.n + flying + params.c_base) / params.c_base)
        sum_of_visits = max(node.n - 1, 0) + flying  # the node's own evaluation went down no edge
        if node.anew:
            sum_of_visits = sum(e.child.n for e in node.edges if e.child) + flying
        u = rate * math.sqrt(sum_of_visits) * edge.prior
        child = edge.child
        if child is None:
            first = edge is next(e for e in node.edges if e.child is None)
            return self.first_play_urgency(node, edge) + u if first else -math.inf
        visits = child.n + child.in_flight
        if visits == 0:  # offered, and not visited yet
            return math.inf
        if params.solver and child.proven is not None:
            left_out = child.proven == WIN or (self.skipping and node is self.root)
            q = -1e9 if left_out else float(-child.proven)
        else:
            mean = -(child.w + child.s) / child.n if child.n else self.first_play_urgency(node, edge)
            q = -(child.w + child.s + self.loss * child.in_flight) / visits
            q += (1 - self.loss) * child.in_flight * mean / visits
        return q + u / (1 + visits)

    def first_play_urgency(self, node: Node, edge: Edge) -> float:
        """Q of an edge without a value: what was expected of it when it was first followed."""
        if self.params.fpu == "zero":
            return 0.0
        if self.params.fpu == "loss":
            return -1.0
        visited = edge.before if edge.child is not None else self.followed(node)
        reduction = self.params.fpu_root_value if node is self.root else self.params.fpu_value
        return (node.w + node.s) / max(node.n, 1) - reduction * math.sqrt(visited)

    @staticmethod
    def followed(node: Node) -> float:
        """The prior of the edges that have a child."""
        return sum(edge.prior for edge in node.edges if edge.child is not None)

    # --- evaluation, expansion, backup

    def evaluation(self, node: Node) -> tuple[int | None, list[tuple[int, np.float32]], float, float]:
        """(outcome by the rules, [(move, prior)] by falling prior, value, draw chance) of a leaf."""
        game, line = self.game, node.line
        moves = game.legal_moves(line)
        outcome = game.outcome(line)
        if outcome in (LOSS, DRAW, WIN) and not (node is self.root and len(moves)):  # at the root no draw is called
            return outcome, [], float(outcome), float(outcome == DRAW)
        mate = None if self.mates is None else self.mates(line, self.params.mate_plies)
        if mate is not None and node is not self.root:
            return (WIN, [], 1.0, 0.0) if mate[0] % 2 else (LOSS, [], -1.0, 0.0)
        index = np.array([len(line) - 1])
        planes = np.empty((1, *game.planes), np.uint8)
        game.encode(line, index, np.zeros(1, np.int64), planes)
        actions = np.empty((1, len(moves)), np.int32)
        game.actions(line, index, moves[None], actions)
        logits, values, *leads = self.evaluate(planes.reshape(1, -1))
        wanted = logits[0, actions[0]].astype(np.float32)
        scaled = (wanted - wanted.max()) / np.float32(self.params.policy_temperature)
        weights = np.exp(scaled.astype(np.float64)).astype(np.float32)
        total = np.float32(0)
        for weight in weights:
            total += weight
        priors = [(int(move), weight / total) for move, weight in zip(moves, weights, strict=True)]
        if self.params.ladders and game.encoder.advises:
            priors = self.advised(line, priors)
        priors.sort(key=lambda pair: -pair[1])
        if mate is not None and mate[0] % 2:
            priors = self.put_first(mate[1], priors)
        if leads:
            state = line[-1]
            lead = float(leads[0][0]) + (-1, 1)[int(state["turn"])] * int(state["komi"]) / 2
            share = math.tanh(lead / (1.6 * game.planes[1]))
            node.utility = self.params.score_utility * (share - float(values[0, 0]))
        if values.shape[1] == 1:
            return None, priors, float(values[0, 0]), 0.0
        chances = np.exp(values[0].astype(np.float64) - float(values[0].max()))
        chances /= chances.sum()
        return None, priors, float(chances[0] - chances[2]), float(chances[1])

    def advised(self, line: State, priors: list[tuple[int, np.float32]]) -> list[tuple[int, np.float32]]:
        """The priors within the bounds that the game reads in the last position, their sum again 1."""
        states, leaves = self.game.encoder.leaf_after(self.game.window(line))
        self.game.encoder.describe(states, leaves, 1, 1, 1)
        within, total = dict(priors), np.float32(0)
        for move, least, most in leaves.advice[0, : leaves.rows[0]["advised"]]:
            if move in within:
                within[move] = min(max(within[move], least), most)
        for prior in within.values():
            total += prior
        return [(move, prior / total) for move, prior in within.items()]

    @staticmethod
    def put_first(move: int, priors: list[tuple[int, np.float32]]) -> list[tuple[int, np.float32]]:
        """The priors with ``move`` in front, at least as great as the greatest, and their sum again 1."""
        own = next(prior for other, prior in priors if other == move)
        raised = max(own, priors[0][1])
        total = np.float32(1) + raised - own
        rest = [(other, prior / total) for other, prior in priors if other != move]
        return [(move, raised / total), *rest]

    def expand(self, node: Node, evaluation: tuple[int | None, list[tuple[int, np.float32]], float, float]) -> bool:
        """Returns whether the simulation counts."""
        outcome, priors, value, draw = evaluation
        if outcome is not None:
            node.terminal, node.proven = True, outcome
        else:
            self.add_edges(node, priors)
            node.value = value
            if node.n:
                self.take_back(node)
                return False
            node.pattern = self.pattern_of(node.line)
        self.backup(node, value, draw, node.utility, corrects=True)
        if outcome is not None and self.params.solver:
            self.prove(node)
        return True

    def add_edges(self, node: Node, priors: list[tuple[int, np.float32]]) -> None:
        """Expand a node, or have memory for all of its edges, where there is room."""
        count = len(priors)
        if self.recycled and not (self.full or node.expanded or node is self.root):
            count = min(count, 6)
        if self.memory is not None and self.used + count > self.memory[1]:
            self.full = True
            return
        self.used, node.held = self.used + count, count
        if not node.expanded:
            node.expanded = True
            node.edges = [Edge(move, round_prior(prior)) for move, prior in priors]

    def pattern_of(self, line: State) -> int:
        game = self.game
        states, leaves = game.encoder.leaf_after(game.window(line))
        game.encoder.describe(states, leaves, 1, 1, 0)
        return int(leaves.rows["pattern"][0])

    def corrected(self, node: Node) -> float:
        """Renew the node's error and its own value; how much the latter changes."""
        if not node.pattern or node.proven is not None:
            return 0.0
        error, weight = self.errors.get(node.pattern, (0.0, 0.0))
        if node.n > 1:
            mean = (node.w - node.value - node.bias) / (node.n - 1)
            own = (node.n - 1) ** 0.85
            error += own * (mean - node.value) - node.known[0]
            weight += own - node.known[1]
            node.known = own * (mean - node.value), own
            self.errors[node.pattern] = error, weight
        before = node.bias
        node.bias = self.params.subtree_bias * error / weight if weight > 0.5 else before
        return node.bias - before

    def backup(self, node: Node, value: float, draw: float, utility: float, *, corrects: bool = False) -> None:
        at: Node | None = node
        while at is not None:
            at.n += 1
            at.w += value
            at.d += draw
            at.s += utility
            if corrects:
                change = self.corrected(at)
                at.w += change
                value += change
            at.in_flight -= 1
            value, utility = -value, -utility
            at = at.parent

    def take_back(self, node: Node) -> None:
        at: Node | None = node
        while at is not None:
            at.in_flight -= 1
            at = at.parent

    def prove(self, node: Node) -> None:
        """Prove all that follows from the node's outcome."""
        parent = node.parent
        while parent is not None and parent.proven is None:
            outcomes = [edge.child.proven if edge.child else None for edge in parent.edges]
            if LOSS in outcomes:
                parent.proven = WIN
            elif None not in outcomes:
                parent.proven = DRAW if DRAW in outcomes else LOSS
            else:
                return
            parent = parent.parent

    # --- recycling

    def recycle(self) -> None:
        assert self.memory is not None
        self.full, self.recycled = False, self.recycled + 1
        most_nodes, most_edges = (int(0.6 * most) for most in self.memory)
        weights = {node: float(node.n) for node in self.nodes}
        weights[self.root] = math.inf
        self.hold_lines(weights, most_edges // 2)
        for node in reversed(self.nodes):
            if node.parent is not None:
                weights[node.parent] = max(weights[node.parent], weights[node])
        alike: dict[float, list[Node]] = {}  # weights of more than four bits are rounded down
        for node in self.nodes:
            if node.expanded:
                exponent = 0.0 if math.isinf(weights[node]) else 2.0 ** max(int(weights[node]).bit_length() - 4, 0)
                alike.setdefault(weights[node] // exponent * exponent if exponent else math.inf, []).append(node)
        stay, nodes, edges = set[Node](), 1, 0
        for weight in sorted(alike, reverse=True):
            nodes += sum(self.children(node) for node in alike[weight])
            edges += sum(self.kept_edges(node) for node in alike[weight])
            if not math.isinf(weight) and (nodes > most_nodes or edges > most_edges):
                break
            stay.update(alike[weight])
        kept = {self.root}
        for node in self.nodes:
            if node.parent in kept and node.parent in stay:
                kept.add(node)
        for node in kept & stay:
            node.held = self.kept_edges(node)
        for node in kept - stay:
            node.anew = node.anew or self.children(node) > 0
            node.expanded, node.edges, node.held = False, [], 0
        self.nodes = [node for node in self.nodes if node in kept]
        self.used = sum(node.held for node in self.nodes)

    @staticmethod
    def children(node: Node) -> int:
        return sum(edge.child is not None for edge in node.edges)

    def kept_edges(self, node: Node) -> int:
        return node.held if node is self.root else min(node.held, self.children(node) + 1)

    def hold_lines(self, weights: dict[Node, float], room: int) -> None:
        """Give the nodes of the best lines an infinite weight."""
        for edge in sorted(self.preferred(self.root), key=self.worth, reverse=True)[: self.lines]:
            at: Edge | None = edge
            for _ in range(64):
                if at is None or at.child is None:
                    break
                node = self.searched(at.child)
                if node is not at.child:
                    weights[at.child] = math.inf
                room -= self.children(node) + 1
                if room < 0:
                    return
                weights[node] = math.inf
                at = max(self.preferred(node), key=self.worth, default=None)

    def searched(self, node: Node) -> Node:
        """The node that is searched in a node's place."""
        return node

    @staticmethod
    def preferred(node: Node) -> list[Edge]:
        return [edge for edge in node.edges if edge.child is not None and edge.child.n]

    @staticmethod
    def worth(edge: Edge) -> tuple[float, float, float]:
        """What makes a move better than others: that it wins, or does not lose; its visits, its value."""
        assert edge.child is not None
        child = edge.child
        return {LOSS: 1.0, WIN: -1.0}.get(child.proven or 0, 0.0), child.n, -child.w
