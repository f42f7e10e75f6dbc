"""The search for a forced mate: df-pn over an AND/OR tree of attacks and escapes, in slices of bounded length.

Depth-first proof-number search (A. Nagai, "Df-pn algorithm for searching AND/OR trees and its applications", 2002): the
attacker moves at the root (OR nodes), in shogi with checks only, the defender tries every legal move (AND nodes). pn
and dn are the least numbers of leaves to prove for a mate, or to disprove for its absence. A node is searched until one
of them reaches its threshold; thresholds are 1 + 1/4 times the runner-up's (Pawlewicz & Lew, "Improving depth-first
pn-search: 1 + epsilon trick", 2007). Pieces dropped between checker and king count as one evasion as far as pn goes.

A position that repeats on the path is no success for the attacker, who gave check all along. A proof cannot depend on
that: in a shortest mate nothing repeats. A disproof can, and then holds only where it was found (the graph history
interaction problem; Kishimoto & Mueller, "A general solution to the graph history interaction problem", 2004): each
disproof stores the shallowest node of the path that it depends on, ``lean``. Where that is the node itself or below,
the disproof holds everywhere; else it is stored with a code of the path and holds on that path alone.

A search whose keys tell how many plies are left (``Hunt.bounded``) has no such problem: nothing repeats in its graph,
and where a mate would take too long there is none. It answers whether there is a mate within so many plies.

The caller keeps stack and table, so that a search can stop and resume at any node. The table has a fixed size; a new
entry replaces the one in its bucket that cost least work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...info import Verdict
from ...kernels.jit import borrow, device, kernel
from ..capabilities import MateSearch, State
from ..factory import Play, line_kernel

Function = Callable[..., Any]  # of numba: typed by its calls

MAX_PLIES = 600  # of a line
INFINITE = 1 << 30  # pn or dn of what is settled; sums stay below it
_ALWAYS = 32767  # lean of a disproof that holds on any path
_CUT_OFF = -1  # lean of a disproof by the greatest length: it never becomes one
_BUCKET = 4
_MIX = np.uint64(0x9E3779B97F4A7C15)
UNDECIDED, MATE, NO_MATE, GIVEN_UP = range(4)


class Hunt(NamedTuple):
    """How a king is hunted in a game: device functions over records of its states."""

    max_moves: int
    attack: Function  # (s, moves, row, room) -> number of moves to try with ``room`` plies left, written to moves[row]
    escape: Function  # (s, moves, row) -> number of legal moves, written to moves[row]
    make: Function  # (s, d, move): record d becomes what follows record s
    mated: Function  # (s) -> whether a side without a legal move is mated
    drawn: Function  # (s) -> whether the game ends there without a mate, as long as there are legal moves
    dropped: Function  # (move) -> whether it drops a piece
    key: Function  # (s, room) -> u8
    bounded: bool  # whether keys tell how many plies are left


FRAME = np.dtype(
    [
        ("key", "u8"),
        ("path", "u8"),  # code of the path to this node, never 0
        ("start", "i8"),  # nodes made before it was entered
        ("pn_limit", "i4"),
        ("dn_limit", "i4"),
        ("children", "i4"),
        ("at", "i4"),  # the child that is being searched
        ("room", "i4"),  # plies that the line may still have
    ]
)
CHILD = np.dtype(
    [
        ("key", "u8"),
        ("pn", "i4"),
        ("dn", "i4"),
        ("move", "u2"),
        ("plies", "u2"),  # to the mate, once pn is 0
        ("lean", "i2"),  # once dn is 0
        ("drop", "u2"),  # 1: a piece dropped in between
    ]
)
ENTRY = np.dtype(
    [
        ("key", "u8"),
        ("path", "u8"),  # 0, or the only path on which this disproof holds
        ("pn", "i4"),
        ("dn", "i4"),
        ("work", "u4"),  # nodes spent on it, saturating
        ("plies", "u2"),
        ("lean", "i2"),
    ]
)
CONTROL = np.dtype([("depth", "i8"), ("nodes", "i8"), ("verdict", "i8"), ("enter", "i8"), ("attacker", "i8")])


@device
def _slot(table, key):
    """Index of the first entry of a key's bucket."""
    buckets = np.uint64(table.shape[0] // _BUCKET)
    return np.int64((key >> np.uint64(16)) % buckets) * _BUCKET


@device
def _find(table, key):
    slot = _slot(table, key)
    for i in range(slot, slot + _BUCKET):
        if table[i].key == key and (table[i].pn | table[i].dn):
            return i
    return np.int64(-1)


@device
def _store(table, key, path, pn, dn, work, plies, lean):
    """Store the result of a position; it may replace one that cost less."""
    slot = _slot(table, key)
    at, least = np.int64(-1), np.int64(1) << 40
    for i in range(slot, slot + _BUCKET):
        if table[i].key == key:
            if (table[i].pn == 0 or (table[i].dn == 0 and table[i].path == 0)) and pn and dn:
                return  # settled meanwhile, on another path
            at = np.int64(i)
            work += np.int64(table[i].work)
            break
        if np.int64(table[i].work) < least:
            at, least = np.int64(i), np.int64(table[i].work)
    entry = table[at]
    entry.key = key
    entry.path = path if dn == 0 and lean != _ALWAYS else np.uint64(0)
    entry.pn = pn
    entry.dn = dn
    entry.work = min(work + 1, np.int64(0xFFFFFFFF))
    entry.plies = plies
    entry.lean = lean


@device
def _path_code(frame):
    """Code of the path to the children of a frame's node."""
    code = (frame.path ^ (frame.key >> np.uint64(7)) ^ frame.key) * _MIX
    return (code ^ (code >> np.uint64(32))) | np.uint64(1)


@device
def _sum_up(frame, children, depth, attacking):
    """Combine the children of the node on top of the stack.

    Returns the number that the side to move makes small (pn of the attacker, dn of the defender) over all children and
    over all but the best, the other number, the part of it that comes from drops, and the best child.
    """
    low, second, high = np.int64(INFINITE), np.int64(INFINITE), np.int64(0)
    dropped, best = np.int64(0), -1
    for i in range(frame.children):
        child = children[depth, i]
        mine, other = (child.pn, child.dn) if attacking else (child.dn, child.pn)
        if mine < low:
            low, second, best = np.int64(mine), low, i
        elif mine < second:
            second = np.int64(mine)
        if child.drop and not attacking:
            dropped = max(dropped, np.int64(other))
        else:
            high += other
    high += dropped
    if low == 0:
        high = np.int64(INFINITE)
    elif low == INFINITE:
        high = np.int64(0)
    return low, second, min(high, np.int64(INFINITE - 1 if low else INFINITE)), dropped, best


@device
def _conclude(frame, children, depth, attacking):
    """(plies, lean) of the node on top of the stack; the one means something once pn is 0, the other once dn is."""
    plies = np.int64(_ALWAYS if attacking else 0)
    lean = np.int64(_ALWAYS if attacking else _CUT_OFF)
    for i in range(frame.children):
        child = children[depth, i]
        if attacking:
            lean = min(lean, np.int64(child.lean))
            if child.pn == 0:
                plies = min(plies, np.int64(child.plies) + 1)
        else:
            plies = max(plies, np.int64(child.plies) + 1)
            if child.dn == 0:
                lean = max(lean, np.int64(child.lean))
    return plies, np.int64(_ALWAYS) if lean >= depth else lean


@device
def _repeats(frames, banned, depth, position, key):
    """The node of the path that a child repeats, _ALWAYS where the rules end the game by it; -1 mostly."""
    for k in range(banned.shape[0]):
        if banned[k] == position:
            return np.int64(_ALWAYS)
    j = np.int64(depth - 1)
    while j >= 0 and frames[j].key != key:
        j -= 2
    return max(j, np.int64(-1))


def _enter(hunt: Hunt) -> Function:
    """The device function that lists the children of a node."""
    attack, escape, make, mated, drawn, dropped, key, bounded = (
        hunt.attack, hunt.escape, hunt.make, hunt.mated, hunt.drawn, hunt.dropped, hunt.key, hunt.bounded,
    )  # fmt: skip
    cut_off = _ALWAYS if bounded else _CUT_OFF

    @device
    def enter(states, frames, children, moves, table, banned, depth, attacking):
        """List the children of the node on top of the stack with what is known of them; returns how many were made.

        Stops at a child that settles the node, except at the root, which wants the quickest known mate.
        """
        s, d, frame = states[depth], states[depth + 1], frames[depth]
        room = np.int64(frame.room) - 1
        n = attack(s, moves, depth, room + 1) if attacking else escape(s, moves, depth)
        path = _path_code(frame)
        frame.children = n
        for i in range(n):
            child = children[depth, i]
            move = np.int64(moves[depth, i])
            make(s, d, move)
            child.move = move
            child.key = key(d, room)
            child.plies = 0
            child.lean = _ALWAYS
            child.drop = np.int64(dropped(move))
            child.pn = 1
            child.dn = 1
            lean = _repeats(frames, banned, depth, d.key, child.key)
            if lean >= 0:
                child.pn, child.dn, child.lean = INFINITE, 0, lean
            else:
                at = _find(table, child.key)
                if at >= 0 and table[at].pn == 0 and table[at].plies > room:
                    at = np.int64(-1)  # a mate, but too long
                if at >= 0 and (table[at].path == 0 or table[at].path == path):
                    entry = table[at]
                    child.pn, child.dn, child.plies, child.lean = entry.pn, entry.dn, entry.plies, entry.lean
                elif attacking:
                    escapes = escape(d, moves, depth + 1)
                    child.pn = escapes
                    if escapes == 0 and mated(d):
                        child.dn = INFINITE
                    elif escapes == 0 or drawn(d):
                        child.pn, child.dn = INFINITE, 0
                elif drawn(d):
                    child.pn, child.dn = INFINITE, 0
            if child.pn and child.dn and room == 0:
                child.pn, child.dn, child.lean = INFINITE, 0, cut_off
            settled = child.pn == 0 if attacking else (child.dn == 0 and child.lean == _ALWAYS)
            if settled and depth:
                frame.children = i + 1
                return i + 1
        return n

    return enter


@cache
def _advance(hunt: Hunt) -> Function:
    """The kernel of a hunt's search."""
    enter, make = _enter(hunt), hunt.make

    @kernel
    def advance(states, frames, children, moves, table, banned, control, limit):
        """Search about ``limit`` more nodes of a mate that states[0] may hold; the verdict goes to control[0].

        states:   State[MAX_PLIES + 2], frames: FRAME[MAX_PLIES + 1], children: CHILD[MAX_PLIES + 1, max_moves],
        moves:    u2[MAX_PLIES + 2, max_moves]: the stack
        table:    ENTRY[T], T a multiple of 4, all zero at the start
        banned:   u8[K], keys of positions that end the game without a mate (by repetition)
        control:  CONTROL[1]; at the start depth 0, enter 1 and frames[0] with limits of INFINITE
        """
        states, frames, children, moves = borrow(states), borrow(frames), borrow(children), borrow(moves)
        table, banned = borrow(table), borrow(banned)
        state = control[0]
        depth, nodes, entering = state.depth, state.nodes, state.enter
        end = nodes + limit
        while state.verdict == UNDECIDED:
            frame = frames[depth]
            attacking = states[depth].turn == state.attacker
            if entering:
                nodes += enter(states, frames, children, moves, table, banned, depth, attacking)
                entering = 0
            low, second, high, dropped, best = _sum_up(frame, children, depth, attacking)
            pn, dn = (low, high) if attacking else (high, low)
            pn_limit, dn_limit = np.int64(frame.pn_limit), np.int64(frame.dn_limit)

            if pn == 0 or dn == 0 or pn >= pn_limit or dn >= dn_limit:
                plies, lean = _conclude(frame, children, depth, attacking)
                _store(table, frame.key, frame.path, pn, dn, nodes - frame.start, plies, lean)
                if depth == 0:
                    state.verdict = MATE if pn == 0 else NO_MATE if lean == _ALWAYS else GIVEN_UP
                    break
                depth -= 1
                child = children[depth, frames[depth].at]
                child.pn, child.dn, child.plies, child.lean = pn, dn, plies, lean
                continue
            if nodes >= end:
                break

            child, below = children[depth, best], frames[depth + 1]
            near = second + second // 4 + 1
            if attacking:
                below.pn_limit, below.dn_limit = min(pn_limit, near), min(dn_limit - high + child.dn, INFINITE)
            else:
                far = pn_limit - high + (dropped if child.drop else child.pn)
                below.pn_limit, below.dn_limit = min(far, INFINITE), min(dn_limit, near)
            below.key, below.path, below.start, below.room = child.key, _path_code(frame), nodes, frame.room - 1
            frame.at = best
            make(states[depth], states[depth + 1], np.int64(child.move))
            depth += 1
            entering = 1
        state.depth, state.nodes, state.enter = depth, nodes, entering

    return advance


class ProofSearch(MateSearch):
    """A search for a forced mate by the side to move at the end of a line."""

    hunt: ClassVar[Hunt]
    play: ClassVar[Play]
    seen: ClassVar[int]  # earlier occurrences of a position after which one more ends the game

    @staticmethod
    def king(state: State, side: int) -> bool:
        """Whether that side has a king in one State[]."""
        return True

    @staticmethod
    def over(line: State) -> bool:
        """Whether the rules end the game at the end of a line, though there are legal moves."""
        return False

    def __init__(self, line: State, memory: int, longest: int = MAX_PLIES) -> None:
        """``memory``: bytes of the table, at least one bucket; longest: plies of the mate, MAX_PLIES at most."""
        self._kernel, self._longest = _advance(self.hunt), longest
        self.moves: list[int] = []
        self.possible = self.king(line[-1], 1 - int(line[-1]["turn"]))
        self.plies = 0  # of the mate against any defence, once it is found
        self._line = line.copy()  # grows by the mate's moves
        self._root = len(line)
        self._banned = np.unique(line["key"][line["repetitions"] >= self.seen])
        self._table = np.zeros(max(memory // ENTRY.itemsize // _BUCKET, 1) * _BUCKET, ENTRY)
        self._states = np.empty(MAX_PLIES + 2, line.dtype)
        self._frames = np.empty(MAX_PLIES + 1, FRAME)
        self._children = np.empty((MAX_PLIES + 1, self.hunt.max_moves), CHILD)
        self._stack_moves = np.empty((MAX_PLIES + 2, self.hunt.max_moves), np.uint16)
        self._control = np.zeros(1, CONTROL)
        self._control["attacker"] = line[-1]["turn"]
        self._seat()

    @property
    def nodes(self) -> int:
        """Positions made so far."""
        return int(self._control[0]["nodes"])

    def advance(self, nodes: int) -> Verdict | None:
        """Search about ``nodes`` more; None while it is not done. The mate's moves are traced through the table."""
        verdict = self._search(nodes)
        if verdict == MATE and not self.moves:
            proven = self._children[0, : self._frames[0]["children"]]
            self.plies = int(proven["plies"][proven["pn"] == 0].min()) + 1
        while verdict == MATE:  # of the line's last position: on to the next, which the table knows or is shown again
            reply = self._choose()
            if reply is None:
                return "mate"
            if not self._extend(reply):
                return "timeout"
            verdict = self._search(0)
        if verdict == UNDECIDED:
            return None
        return "nomate" if verdict == NO_MATE and not self.moves else "timeout"

    def _search(self, nodes: int) -> int:
        self._kernel(
            self._states,
            self._frames,
            self._children,
            self._stack_moves,
            self._table,
            self._banned,
            self._control,
            nodes,
        )
        return int(self._control[0]["verdict"])

    def _seat(self) -> None:
        """Begin at the line's last position; the table stays."""
        root = self._line[-1]
        self._states[0] = root
        room = self._longest - len(self.moves)
        key = root["key"] if not self.hunt.bounded else 0  # of which nothing is stored before the end
        self._frames[0] = (key, 1, self.nodes, INFINITE, INFINITE, 0, 0, room)
        self._control["depth"], self._control["verdict"], self._control["enter"] = 0, UNDECIDED, 1

    def _choose(self) -> int | None:
        """The move to play in the position just proven: the quickest mate, or the longest defence; None when mated."""
        children = self._children[0, : self._frames[0]["children"]]
        proven = children[children["pn"] == 0]
        if not len(proven):
            return None
        attacking = self._states[0]["turn"] == self._control[0]["attacker"]
        return int(proven["move"][proven["plies"].argmin() if attacking else proven["plies"].argmax()])

    def _extend(self, move: int) -> bool:
        """Play a move of the mate and begin there; False when the rules end the game by it.

        Where the mate returns to a position (the table has lost its continuation), a new search avoids it.
        """
        longer = np.empty(len(self._line) + 1, self._line.dtype)
        longer[:-1] = self._line
        line_kernel(self.play)(longer, len(self._line) - 1, move)
        passed = longer["key"][self._root - 1 : -1]
        if longer[-1]["key"] in passed:
            self._table[:] = 0
            self._banned = np.union1d(self._banned, passed)
        else:
            self._line = longer
            self.moves.append(move)
        self._seat()
        return not self.over(longer)
