"""KataGo's input planes, its "inputs V7": 22 planes and 19 numbers, as bytes u1[42, H, W].

Points and actions are numbered as in :mod:`planes`. Planes 0 to 21, each 0 or 1, "own" being the side to move:

| plane  | content |
|--------|---------|
| 0      | the board |
| 1, 2   | own stones, the opponent's |
| 3, 4, 5 | stones of chains with 1, 2, 3 liberties |
| 6      | points that ko or superko forbids |
| 7, 8   | none (used after the passes of territory rules) |
| 9 to 13 | the move 1 to 5 plies ago, as far back as colours alternate |
| 14     | stones of chains that a ladder catches; 15, 16: the same one and two plies ago |
| 17     | points where a ladder against an opponent's chain with two liberties begins |
| 18, 19 | own area, the opponent's |
| 20, 21 | none |

20 constant planes of whole numbers follow:

| plane    | content |
|----------|---------|
| 22 to 26 | the move 1 to 5 plies ago was a pass |
| 27, 28   | own komi in half points and 1024, high and low byte; clipped to the board's area and 20 points |
| 29, 30   | superko; its kind: 0 situational, 1 none, 2 positional |
| 31, 32   | suicide; territory instead of area |
| 33, 34   | a tax in seki; a tax on all groups |
| 35, 36   | none |
| 37       | a pass would end the game |
| 38, 39   | none |
| 40       | the button is still free |
| 41       | how near komi is to a draw, KataGo's "parity wave": 0, 1 or 2 for -0.5, 0, 0.5 |

Where a pass would end the game and the rules let players pass in agreement, the planes show neither moves nor passes of
the past.

Our own nets that see komi take the same planes as ``RULES``, with komi in one byte: plane 27 is what own komi comes to,
in half points and 128, at most 63 points, and plane 28 is none. Where area counts, komis between two that make draws
possible come to the same, the middle one, unless a seki leaves an odd number of points to nobody: so chances never fall
as komi rises from 5.5 to 6.5. It is so while the button is free, too, as KataGo's plane 41 is. Plane 41 shows it again,
five times as steep: at most 10 points, in half points and 20. Planes 15 and 16 are as plane 14: ladders of older
positions would take time and tell equal positions apart. Of the past they show as many moves as a net asks for, one in
ours. They look at 32 of the 42, neither at empty ones nor at plane 26: onnxruntime is slow at a first convolution of
planes that are no multiple of 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...encoder import Encoder
from ...factory import fill_plane, make_encoder
from .. import ladders
from ..advice import LADDERS
from ..board import after, untouched
from ..passalive import AREA, mark_area, tax_seki
from ..patterns import pattern
from ..rules import PLAY, compensation, situation
from ..rulesets import ALL_TAX, BUTTON, FRIENDLY, KO_MASK, POSITIONAL, SEKI_TAX, SIMPLE, SUICIDE, TERRITORY
from ..state import BLACK, EMPTY, MAX_POINTS, STONE_KEYS
from .planes import action_of

ENCODER, ENCODER_SUICIDE = "katago-v7", "katago-v7-suicide"  # the second sees areas as if suicide were legal
RULES = "rules"
HISTORY = 5  # moves shown
SPATIAL, NUM_PLANES = 22, 42
_workspace_go, _begin_go = PLAY.workspace, PLAY.begin
MAX_LINES = 19  # the nets know no greater board
_OURS, _LIBERTIES, _KO, _MOVES, _CAUGHT, _OPENINGS, _AREA = 1, 3, 6, 9, 14, 17, 18
_PASSES, _KOMI, _RULES = SPATIAL, SPATIAL + 5, SPATIAL + 7  # planes of bytes: numbers 0-4, 5 (two bytes), 6-18
_WAVE = NUM_PLANES - 1
_UNUSED = (7, 8, 20, 21, 26, 28, 35, 36, 38, 39)  # of RULES
_KOMI_OFFSET = 1024
RULES_KOMI, KOMI_UNIT = 128, 40.0  # of RULES: added to komi in half points, and what 1 to a net stands for
NEAR_KOMI, NEAR_KOMI_UNIT = 20, 8.0  # the same of its last plane
_CLIP = 20
_OLDER = 2  # positions of the past whose ladders ENCODER shows


@device
def _komi_of_mover(s, points):
    """Points that the rules give the side to move, in half points."""
    white = np.int64(_compensation(s.komi, s.handicap, s.rules, s.played))
    most = 2 * (points + _CLIP)
    return min(max(-white if s.turn == BLACK else white, -most), most)


_compensation = device(compensation)


@device
def _parity_wave(komi, points):
    """KataGo's parity wave 0, 0.5 or -0.5 as 1, 2 or 0; komi in half points."""
    above = (komi - 2 * (points % 2)) % 4  # half points above the last komi that makes draws possible
    return 2 if above == 1 else 0 if above == 3 else 1


@device
def _took(states, since, newest, points):
    """Whether stones left the board after states[since]; else no board can repeat."""
    for i in range(since + 1, newest + 1):
        if states[i].last == 0 and states[i].key != states[i - 1].key:
            return True  # the move is not known
        move = np.int64(states[i].last) - 1
        if 0 <= move < points:
            mover = 1 - np.int64(states[i].turn)
            if states[i].key != states[i - 1].key ^ STONE_KEYS[mover * MAX_POINTS + move]:
                return True
    return False


@device
def _mark_forbidden(states, newest, since, b, out, row, start):
    """The points where a stone could be played but for ko; superko looks back to states[since]."""
    s = states[newest]
    ko, turn = s.rules & KO_MASK, np.int64(s.turn)
    took = ko != SIMPLE and _took(states, since, newest, b.points)
    for p in range(b.points):
        if b.colour[p] != EMPTY:
            continue
        if p == s.ko:
            out[row, start + p] = 1
        elif ko != SIMPLE and (took or not untouched(b, p)):
            allowed, key = after(b, p, turn, s.rules & SUICIDE != 0)
            if not allowed:
                continue
            requested = situation(key, 1 - turn, s.rules)
            for i in range(since, newest + 1):
                if situation(states[i].key, states[i].turn, states[i].rules) == requested:
                    out[row, start + p] = 1
                    break


@device
def _write_moves(states, newest, oldest, history, points, out, row):
    """The moves and passes that led here, as far back as colours alternate; how many."""
    shown = 0
    while shown < min(history, HISTORY) and newest - shown > oldest and states[newest - shown].last > 0:
        move = np.int64(states[newest - shown].last) - 1
        if move < points:
            out[row, (_MOVES + shown) * points + move] = 1
        else:
            fill_plane(out, row, _PASSES + shown, points, 1)
        shown += 1
    return shown


@device
def _write_ladders(states, newest, older, points, ladder, out, row):
    """The planes of liberties and ladders; of so many older positions, the others as the one after."""
    victim = 1 - np.int64(states[newest].turn)
    for t in range(3):
        base = (_CAUGHT + t) * points
        if t <= older:
            liberties, openings = (_LIBERTIES * points, _OPENINGS * points) if t == 0 else (-1, -1)
            ladders.set_up(ladder, states[newest - t])
            ladders.survey(ladder, out, row, base, liberties, openings, victim)
        else:
            for i in range(base, base + points):
                out[row, i] = out[row, i - points]


@device
def _write_area(b, rules, turn, suicidal, area, out, row):
    mark_area(b, area, suicidal or rules & SUICIDE != 0)
    if rules & (SEKI_TAX | ALL_TAX):
        tax_seki(b, area)
    for p in range(b.points):
        if area.owner[p] != EMPTY:
            out[row, (_AREA if area.owner[p] == turn else _AREA + 1) * b.points + p] = 1


@device
def _write_rules(rules, komi, ends, button_left, points, out, row):
    """Numbers 5 to 18; komi: own, in half points."""
    fill_plane(out, row, _KOMI, points, (komi + _KOMI_OFFSET) >> 8)
    fill_plane(out, row, _KOMI + 1, points, (komi + _KOMI_OFFSET) & 255)
    ko = rules & KO_MASK
    fill_plane(out, row, _RULES, points, ko != SIMPLE)
    fill_plane(out, row, _RULES + 1, points, 1 if ko == SIMPLE else 2 if ko == POSITIONAL else 0)
    fill_plane(out, row, _RULES + 2, points, rules & SUICIDE != 0)
    fill_plane(out, row, _RULES + 3, points, rules & TERRITORY != 0)
    fill_plane(out, row, _RULES + 4, points, rules & (SEKI_TAX | ALL_TAX) != 0)
    fill_plane(out, row, _RULES + 5, points, rules & ALL_TAX != 0)
    fill_plane(out, row, _RULES + 8, points, ends)
    fill_plane(out, row, _RULES + 11, points, button_left)
    fill_plane(out, row, _RULES + 12, points, 1 if rules & TERRITORY else _parity_wave(komi, points))


@device
def _write_small_komi(komi, points, out, row):
    """Komi as RULES shows it, where it stands in two bytes and the parity wave."""
    most, near = np.int64(RULES_KOMI - 2), np.int64(NEAR_KOMI)
    komi = min(max(komi + out[row, _WAVE * points] - 1, -most), most)
    close = min(max(komi, -near), near) + near
    for i in range(points):
        out[row, _KOMI * points + i] = komi + RULES_KOMI
        out[row, (_KOMI + 1) * points + i] = 0
        out[row, _WAVE * points + i] = close


def _make_row(suicidal: bool, ours: bool) -> Any:
    """suicidal: areas are judged as if suicide were legal; ours: of RULES."""
    older = 0 if ours else _OLDER

    @device
    def encode_row(work, states, newest, oldest, history, out, row):
        """Write the planes of states[newest] to out[row] (u1[C * H * W]).

        Its game begins at states[oldest]. work: see :func:`_workspace`; its last part is written.
        """
        w, s = work[0][0], states[newest]
        b, ladder, area = w.board, work[2][0], work[3][0]
        points, turn, rules = b.points, np.int64(s.turn), np.int64(s.rules)
        for i in range(NUM_PLANES * points):
            out[row, i] = 0
        fill_plane(out, row, 0, points, 1)
        for p in range(points):
            if b.colour[p] != EMPTY:
                out[row, (_OURS if b.colour[p] == turn else _OURS + 1) * points + p] = 1

        button_left = rules & BUTTON != 0
        ends = s.passes > 0 and not button_left
        shown = 0
        if not (ends and rules & FRIENDLY):
            shown = _write_moves(states, newest, oldest, history, points, out, row)
        _write_ladders(states, newest, min(shown, older), points, ladder, out, row)
        if w.forbidden != 0:  # or not known
            _mark_forbidden(states, newest, oldest, b, out, row, _KO * points)
        if not rules & TERRITORY:
            _write_area(b, rules, turn, suicidal, area, out, row)
        komi = _komi_of_mover(s, points)
        _write_rules(rules, komi, ends and not rules & FRIENDLY, button_left, points, out, row)
        work[4][0] = shown
        if ours:
            _write_small_komi(komi, points, out, row)

    return encode_row


@device
def _workspace(states):
    """Go's own, ladders, areas, and how many moves of the past the planes show."""
    space, past = _workspace_go(states)
    return space, past, np.empty(1, ladders.LADDER), np.empty(1, AREA), np.empty(1, np.int64)


@device
def _begin(work, states, root):
    _begin_go(work, states, root)
    ladders.prepare(work[2][0], states[root])


def _make_key(older: int) -> Any:
    """older: positions of the past whose ladders are shown, at most."""

    @device
    def key(work, states, newest, history, out, row):
        w, points, shown = work[0][0], work[0][0].board.points, work[4][0]
        result = w.forbidden + np.uint64(states[newest].turn)
        for t in range(min(shown, older) + 1):
            result = chain(result, states[newest - t].key ^ np.uint64(states[newest - t].ko + 1))
        for t in range(shown):
            result = chain(result, np.uint64(states[newest - t].last))
        for plane in range(_KOMI, NUM_PLANES):
            result = chain(result, np.uint64(out[row, plane * points]))
        return chain(result, np.uint64(0))

    return key


def planes_of_rules(planes: Any, history: int) -> Any:
    """Planes u1[B, 42, H, W] of ENCODER as those of RULES, which show so many moves; of numpy or torch."""
    result = planes + 0
    for first in (_MOVES, _PASSES):
        result[:, first + history : first + HISTORY] = 0
    result[:, _CAUGHT + 1 : _CAUGHT + 3] = planes[:, _CAUGHT : _CAUGHT + 1]
    high, low = planes[:, _KOMI], planes[:, _KOMI + 1]  # high: 4 from 0 on, 3 from -256 on
    above, below = (high > 4) | ((high == 4) & (low > 126)), (high < 3) | ((high == 3) & (low < 130))
    near = (high == 4) * (low.clip(max=126) + 128) + (high == 3) * (low.clip(min=130) - 128)
    komi = (near + planes[:, _WAVE] - 1).clip(2, 254) * ~(above | below) + above * 254 + below * 2
    result[:, _KOMI], result[:, _KOMI + 1] = komi, 0
    result[:, _WAVE] = komi.clip(RULES_KOMI - NEAR_KOMI, RULES_KOMI + NEAR_KOMI) - (RULES_KOMI - NEAR_KOMI)
    return result


def _make_encoder(name: str, suicidal: bool) -> Encoder:
    """For boards of the greatest size; suicidal: areas are judged as if suicide were legal."""
    ours = name == RULES
    scale = np.ones(NUM_PLANES, np.float32)
    if ours:
        scale[_KOMI], scale[_WAVE] = 1 / KOMI_UNIT, 1 / NEAR_KOMI_UNIT
    else:
        scale[_KOMI + 1] = 1 / 255
    return make_encoder(
        PLAY._replace(workspace=_workspace, begin=_begin),
        _make_row(suicidal, ours),
        action_of,
        _make_key(0 if ours else _OLDER),
        reads_work=True,
        pattern=pattern,
        name=name,
        planes=(NUM_PLANES, MAX_LINES, MAX_LINES),
        num_actions=MAX_LINES * MAX_LINES + 1,
        max_moves=MAX_LINES * MAX_LINES + 1,
        history=HISTORY,
        plane_scale=scale,
        unused=_UNUSED if ours else (),
        constants=NUM_PLANES - SPATIAL,
        planes_version=2 if ours else 1,
        planes_from=planes_of_rules if ours else None,
        knows_rules=True,
        advise=LADDERS if ours else None,
    )


_ENCODERS = (_make_encoder(ENCODER, False), _make_encoder(ENCODER_SUICIDE, True), _make_encoder(RULES, False))


@cache
def encoders(columns: int, rows: int) -> Mapping[str, Encoder]:
    """The views that show komi and rules of a board of that size, by name."""
    if max(columns, rows) > MAX_LINES:
        return {}
    planes, moves = (NUM_PLANES, rows, columns), columns * rows + 1
    return {each.name: replace(each, planes=planes, num_actions=moves, max_moves=moves) for each in _ENCODERS}
