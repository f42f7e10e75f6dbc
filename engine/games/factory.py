"""Makes the kernels of every game and encoder from their device functions.

A :class:`Play` holds the functions that play a game; most games make it of a few with :func:`plain_play`.
:func:`make_encoder` takes those that write planes and number moves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..kernels.atomics import peek
from ..kernels.jit import borrow, device, keep, kernel
from .encoder import NO_TABLES, Encoder, LeafFunctions
from .outcome import LOSS, RUNNING, WIN
from .tactics.mates import NO_MATES, NO_MOVE, Mates

Function = Callable[..., Any]  # of numba: typed by its calls


class Advisor(NamedTuple):
    """What a game reads beside the net: device functions."""

    space: Function  # () -> working space, once a call of a kernel
    advise: Function  # (line, at, leaves, b, space) -> pieces of advice on leaf b, which is line[at], in leaves.advice


class Play(NamedTuple):
    """How a game is played: device functions over a line of states State[N] and a working space.

    ``work`` is made by ``workspace`` and borrowed; it holds what a game keeps beside its states, such as a board with
    chains. A move is an i64.
    """

    workspace: Function  # (states) -> work, once in each call of a kernel
    begin: Function  # (work, states, root): take in the game up to states[root]
    rewind: Function  # (work, states, at): go back to states[at], the root or a state after it
    make: Function  # (work, states, at, move): set states[at + 1] without its repetitions
    follow: Function  # (work, states, at, move): the same with repetitions
    look: Function  # (work, states, at, at_root, moves, row) -> (number of legal moves in moves[row], outcome code)
    count: Function  # (work, states, at, moves, row) -> number of legal moves; moves[row] may be used


@device
def _no_workspace(states):
    return None


@device
def _nothing(work, states, at):
    pass


@device
def _no_repetitions(states, at):
    pass


def plain_play(
    make: Function,
    generate: Function,
    judge: Function,
    repeat: Function = _no_repetitions,
    count: Function | None = None,
) -> Play:
    """A game that needs no working space.

    make(s, d, move): record d becomes what follows record s; generate(s, moves, row) -> number of legal moves in
    moves[row]; judge(s, legal, at_root) -> outcome code of a position with so many legal moves; repeat(states, at)
    counts the repetitions of states[at], if the game knows them; count(s) -> number of legal moves, if that is quicker.
    """

    @device
    def make_next(work, states, at, move):
        make(states[at], states[at + 1], move)

    @device
    def follow(work, states, at, move):
        make(states[at], states[at + 1], move)
        repeat(states, at + 1)

    @device
    def look(work, states, at, at_root, moves, row):
        legal = generate(states[at], moves, row)
        return legal, judge(states[at], legal, at_root)

    @device
    def list_moves(work, states, at, moves, row):
        return generate(states[at], moves, row)

    if count is None:
        return Play(_no_workspace, _nothing, _nothing, make_next, follow, look, list_moves)

    @device
    def count_moves(work, states, at, moves, row):
        return count(states[at])

    return Play(_no_workspace, _nothing, _nothing, make_next, follow, look, count_moves)


@cache
def line_kernel(play: Play) -> Function:
    """The kernel that plays a move within a line."""
    workspace, begin, rewind, follow = play.workspace, play.begin, play.rewind, play.follow

    @kernel
    def play_in_line(line, i, move):
        """line[i + 1] of State[n] becomes the position after ``move`` in line[i], its repetitions counted."""
        line = borrow(line)
        owner = workspace(line)
        work = borrow(owner)
        begin(work, line, i)
        rewind(work, line, i)
        follow(work, line, i, np.int64(move))
        keep(owner)

    return play_in_line


@cache
def replay_kernel(play: Play) -> Function:
    """The kernel that plays a recorded game by the rules."""
    workspace, begin, rewind, follow, look = play.workspace, play.begin, play.rewind, play.follow, play.look

    @kernel
    def replay_game(line, moves, counts, others, legal):
        """Play moves u2[n] from line[0] on in State[n + 1]; the plies before the first with an illegal move.

        counts: u2[n], how many of ``others`` u2[m] belong to each ply, where they must be legal, too. legal: u2[1, M],
        working space.
        """
        line, moves, others, legal = borrow(line), borrow(moves), borrow(others), borrow(legal)
        work, seen = workspace(line), 0
        begin(work, line, 0)
        rewind(work, line, 0)
        for i in range(moves.shape[0]):
            number = look(work, line, i, True, legal, 0)[0]
            for k in range(seen - 1, seen + counts[i]):
                move, result = moves[i] if k < seen else others[k], False
                for j in range(number):
                    result |= legal[0, j] == move
                if not result:
                    return i
            seen += counts[i]
            follow(work, line, i, np.int64(moves[i]))
        return moves.shape[0]

    return replay_game


@cache
def after_kernel(play: Play) -> Function:
    """The kernel that plays one move in each of many positions."""
    workspace, begin, rewind, make = play.workspace, play.begin, play.rewind, play.make

    @kernel
    def after(states, index, moves, out):
        """out State[B] = the positions after moves u2[B] in states[index[b]] of State[N], repetitions not counted."""
        states, out = borrow(states), borrow(out)
        line = np.empty(2, states.dtype)
        owner = workspace(line)
        work, pair = borrow(owner), borrow(line)
        for b in range(index.shape[0]):
            pair[0] = states[index[b]]
            begin(work, pair, 0)
            rewind(work, pair, 0)
            make(work, pair, 0, np.int64(moves[b]))
            out[b] = pair[1]
        keep(owner)
        keep(line)

    return after


@cache
def perft_kernel(play: Play) -> Function:
    """The kernel that counts the leaves of the legal move tree."""
    workspace, begin, rewind = play.workspace, play.begin, play.rewind
    make, look, count = play.make, play.look, play.count

    @kernel
    def perft(states, moves, depth, leaves, halt):
        """leaves i8[M] = the leaves ``depth`` >= 1 plies deep below each legal move of states[0]; how many moves.

        states: State[depth + 1] and moves: u2[depth, M] are working space; moves[0] out: the moves of states[0]. The
        last ply is counted, not made. halt: u4[1]; another thread ends the count when it writes anything but 0.
        """
        states, moves, leaves = borrow(states), borrow(moves), borrow(leaves)
        legal, done, level, fresh = np.zeros(depth, np.int64), np.zeros(depth, np.int64), np.int64(0), True
        leaves[:] = 1 if depth == 1 else 0
        owner = workspace(states)
        work = borrow(owner)
        begin(work, states, 0)
        while level >= 0 and peek(halt) == 0:  # not recursive: a recursive kernel crashes when loaded from the cache
            rewind(work, states, level)
            if fresh:
                legal[level], done[level], fresh = look(work, states, level, level == 0, moves, level)[0], 0, False
            if level == depth - 2:
                below = np.int64(0)
                for k in range(legal[level]):
                    make(work, states, depth - 2, np.int64(moves[depth - 2, k]))
                    n = count(work, states, depth - 1, moves, depth - 1)
                    rewind(work, states, depth - 2)
                    below += n
                    if level == 0:
                        leaves[k] = n
                if level > 0:
                    leaves[done[0] - 1] += below
            if level >= depth - 2 or done[level] == legal[level]:
                level -= 1
            else:
                make(work, states, level, np.int64(moves[level, done[level]]))
                done[level] += 1
                level, fresh = level + 1, True
        keep(owner)
        return legal[0]

    return perft


def replay(play: Play) -> Function:
    """The device function that replays the path of a leaf."""
    rewind, follow = play.rewind, play.follow

    @device
    def replay(work, line, leaves, b, played):
        """Play leaf ``b``'s path from its root in State[T] on, repetitions counted; returns where the leaf lies.

        played: of its moves, how many lead to what is in the line already.
        """
        at = np.int64(leaves.rows[b].root) + played
        rewind(work, line, at)
        for k in range(played, leaves.rows[b].length):
            follow(work, line, at, np.int64(leaves.paths[b, k]))
            at += 1
        return at

    return replay


@device
def fill_plane(out, row, plane, squares, value):
    """Set a plane of so many squares, which is zero, to one value."""
    if value:
        for square in range(squares):
            out[row, plane * squares + square] = value


def make_encoder(
    play: Play,
    encode_row: Function,
    action_of: Function,
    key: Function,
    *,
    survey: Function | None = None,
    mates: Mates = NO_MATES,
    reads_work: bool = False,
    pattern: Function | None = None,
    advise: Advisor | None = None,
    table_pieces: Function | None = None,
    **fields: Any,
) -> Encoder:
    """An encoder with its kernels; ``fields``: the others of :class:`Encoder`.

    encode_row(work, states, newest, oldest, history, out, row) writes the planes of states[newest], whose game begins
    at states[oldest], to out[row] (u1[C * H * W]). action_of(s, move) is the policy index (i64) of a legal move; with
    survey(s), which says what the moves of a position share, it is action_of(s, move, what survey returns).
    key(work, states, at, history, out, row) is a u64 of all that the planes just written to out[row] show, and of the
    legal moves if the past forbids some. mates: how ``describe`` looks for short mates. reads_work: whether encode_row
    does. pattern(work, states, at) is the number of the local pattern of states[at], 0 = none. advise: what the game
    reads beside the net; a game has that or mates.
    table_pieces(s) -> i64, pieces on the board, NO_TABLES where the game's endgame tables know nothing.
    """
    shown = play if reads_work else play._replace(workspace=_no_workspace, begin=_nothing, rewind=_nothing)
    if survey is None:
        survey, action_of = _no_survey, _without_survey(action_of)
    space, advise_on = advise or (mates.space, _no_advice)
    look = _look(play, encode_row, key, mates, pattern or _no_pattern, advise_on)
    name_moves = _name_moves(survey, action_of)
    leaf = LeafFunctions(
        play.workspace, space, play.begin, replay(play), look, name_moves, _of_line(table_pieces or _no_tables)
    )
    return Encoder(
        leaf=leaf,
        describe=_describe(leaf),
        encode=_encode(shown, encode_row),
        actions=_actions(survey, action_of),
        legal_actions=_legal_actions(play, survey, action_of),
        finds_mates=mates is not NO_MATES,
        knows_patterns=pattern is not None,
        advises=advise is not None,
        **fields,
    )


@device
def _no_tables(s):
    return np.int64(NO_TABLES)


@device
def _no_survey(s):
    return None


def _without_survey(action_of: Function) -> Function:
    @device
    def action_from_nothing(s, move, seen):
        return action_of(s, move)

    return action_from_nothing


@device
def _no_pattern(work, states, at):
    return 0


@device
def _no_advice(line, at, leaves, b, space):
    return 0


def _look(
    play: Play, encode_row: Function, key: Function, mates: Mates, pattern: Function, advise: Function
) -> Function:
    see, find_mate = play.look, mates[1]

    @device
    def look(work, space, line, at, leaves, b, history, plies):
        """Describe leaf ``b``, which is line[at], but for its actions; see ``describe``."""
        leaf = leaves.rows[b]
        legal, outcome = see(work, line, at, at == leaf.root, leaves.moves, b)
        mate, first = np.int64(0), NO_MOVE
        if outcome == RUNNING and plies > 0:
            mate, first = find_mate(line, at, leaves.moves, b, np.int64(legal), plies, space)
        leaf.begin, leaf.end = first, -1
        if mate and at != leaf.root:
            outcome, leaf.end = WIN if mate % 2 else LOSS, mate
        leaf.count, leaf.outcome, leaf.key = legal, outcome, 0
        if outcome == RUNNING:
            encode_row(work, line, at, 0, history, leaves.planes, b)
            leaf.key = key(work, line, at, history, leaves.planes, b)
            leaf.pattern = pattern(work, line, at)
            leaf.advised = advise(line, at, leaves, b, space) if plies > 0 else 0

    return look


def _name_moves(survey: Function, action_of: Function) -> Function:
    @device
    def name_moves(line, at, leaves, b):
        """Write the actions of leaf ``b``, which is line[at]."""
        s = line[at]
        seen = survey(s)
        for k in range(leaves.rows[b].count):
            leaves.actions[b, k] = action_of(s, np.int64(leaves.moves[b, k]), seen)

    return name_moves


def _of_line(function: Function) -> Function:
    @device
    def of_line(line, at):
        return function(line[at])

    return of_line


def _describe(functions: LeafFunctions) -> Function:
    workspace, make_space, begin, reach, look, name_moves, _ = functions

    @kernel
    def describe(states, leaves, count, history, plies):
        """Replay ``count`` paths and describe the leaves they end in.

        states:  State[G, T], each game up to its root, which a leaf's ``root`` numbers, and working space behind it
        leaves:  in: slot, root, length and paths. Out: outcome, end, begin, count, moves and, where the game goes on,
                 key, pattern, actions, planes, advised and advice
        history: positions shown in the planes
        plies:   look for forced mates of up to so many where the game goes on: outcome becomes WIN or LOSS, but not at
                 the root itself, end the mate's plies, begin its first move (NO_MOVE where there is none); where it is
                 not 0, the game's advice is written, too

        Each root is prepared once for all of its consecutive leaves.
        """
        states, leaves = borrow(states), borrow(leaves)
        owner, known = (workspace(states[0]), make_space()), -1
        work, space = borrow(owner)
        for b in range(count):
            leaf, line = leaves.rows[b], states[leaves.rows[b].slot]
            if leaf.slot != known:
                known = leaf.slot
                begin(work, line, np.int64(leaf.root))
            at = reach(work, line, leaves, b, np.int64(0))
            look(work, space, line, at, leaves, b, history, plies)
            if leaf.outcome == RUNNING:
                name_moves(line, at, leaves, b)
        keep(owner)

    return describe


def _encode(play: Play, encode_row: Function) -> Function:
    workspace, begin, rewind = play.workspace, play.begin, play.rewind

    @kernel
    def encode(states, index, first_index, history, out):
        """out u1[B, C * H * W] = the planes of states[index[b]].

        states: State[N], games whole and in order; index i8[B]; first_index i8[B], where the game of states[index[b]]
        begins; history: positions shown.
        """
        states, out = borrow(states), borrow(out)
        owner = workspace(states[:1])
        work = borrow(owner)
        for b in range(index.shape[0]):
            state = states[index[b] : index[b] + 1]
            begin(work, state, 0)
            rewind(work, state, 0)
            encode_row(work, states, index[b], first_index[b], history, out, b)
        keep(owner)

    return encode


def _actions(survey: Function, action_of: Function) -> Function:
    @kernel
    def actions(states, index, moves, out):
        """out i4[B, K] = the actions of moves u2[B, K] in states[index[b]]; State[N], index i8[B]."""
        states, moves = borrow(states), borrow(moves)
        for b in range(index.shape[0]):
            seen = survey(states[index[b]])
            for k in range(moves.shape[1]):
                out[b, k] = action_of(states[index[b]], np.int64(moves[b, k]), seen)

    return actions


def _legal_actions(play: Play, survey: Function, action_of: Function) -> Function:
    workspace, begin, rewind, look = play.workspace, play.begin, play.rewind, play.look

    @kernel
    def legal_actions(states, index, out, counts):
        """out i4[B, M] and counts i4[B] = the legal actions of states[index[b]]; State[N], index i8[B].

        A move that only the game's past forbids is among them.
        """
        states, moves = borrow(states), np.empty((1, out.shape[1]), np.uint16)
        owner = workspace(states[:1])
        work = borrow(owner)
        for b in range(index.shape[0]):
            state = states[index[b] : index[b] + 1]
            begin(work, state, 0)
            rewind(work, state, 0)
            counts[b] = look(work, state, 0, True, moves, 0)[0]
            seen = survey(state[0])
            for k in range(counts[b]):
                out[b, k] = action_of(state[0], np.int64(moves[0, k]), seen)
        keep(owner)

    return legal_actions
