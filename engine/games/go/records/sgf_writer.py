"""Writes SGF (FF[4], UTF-8)."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ....errors import PositionError
from ....records.opinion import Opinion, add_remark, take_remark
from ....records.record import ILLEGAL, Node, Record
from .. import notation
from ..notation import SKIP
from ..rulesets import rules_of
from ..state import BLACK, WHITE, State, stones_to_array
from . import terms
from .grammar import sgf_grammar
from .sgf import HEADERS, Properties, text_of

_NAMES = {"chinese": "Chinese", "aga": "AGA", "new-zealand": "NZ", "japanese": "Japanese"}


class _Place(NamedTuple):
    node: Node
    turn: int  # the side to move before it


def write(record: Record) -> str:
    """One game as SGF. Errors: PositionError when the moves do not fit the position they begin from."""
    root = record.tree.position
    if root is None:
        raise PositionError("a game of Go is written with the position it begins from: its size is not known otherwise")
    start = notation.parse_position(root)[0][0]
    size = notation.size_of(start)
    ours = _root(record, start)

    def properties(place: _Place) -> dict[str, list[bytes]]:
        result = ours if place.node is record.tree else _properties(place, size)
        return {name: [value.encode() for value in values] for name, values in result.items()}

    tree = sgf_grammar.make_coarse_game_tree(_Place(record.tree, int(start["turn"])), _children, properties)
    return str(sgf_grammar.serialise_game_tree(tree).decode())


def _children(place: _Place) -> list[_Place]:
    """What follows a node; turns that are skipped leave no trace."""
    turn = _turn_after(place)
    results: list[_Place] = []
    for child in place.node.children:
        if child.move == SKIP:
            results += [_Place(each, 1 - turn) for each in child.children]
        else:
            results.append(_Place(child, turn))
    return results


def _turn_after(place: _Place) -> int:
    node = place.node
    turn = place.turn
    if node.position is not None:
        turn = "bw".index(node.position.split()[1])
    elif not node.move and (player := text_of(node.more.get("PL", ())).strip().lower()[:1]):
        turn = {"b": 0, "1": 0, "w": 1, "2": 1}.get(player, turn)
    return 1 - turn if node.move else turn


def _properties(place: _Place, size: tuple[int, int]) -> Properties:
    node = place.node
    result: Properties = {}
    if node.move:
        result["BW"[place.turn]] = (_point(node.move, *size),)
    result |= {name: values for name, values in node.more.items() if name != ILLEGAL}
    if node.position is not None and not node.more.keys() & {"AB", "AW", "AE", "PL"}:
        result |= _stones(notation.parse_position(node.position)[0][0])
    return result | _comment(node)


def _comment(node: Node) -> Properties:
    text = "\n".join(filter(None, (node.before, node.comment)))
    if node.seconds is not None:
        text = f"{node.seconds:.3f} s{', ' if text else ''}{text}"
    return {"C": (_escaped(text),)} if text else {}


def _escaped(text: str) -> str:
    return str(sgf_grammar.escape_text(text.encode()).decode())


def _root(record: Record, start: State) -> Properties:
    """The root's properties: those of the file, and what the record says beyond them."""
    columns, rows = notation.size_of(start)
    read = record.source == "SGF" or "SZ" in record.tree.more or "FF" in record.tree.more
    properties: Properties = {"FF": ("4",), "CA": ("UTF-8",), "GM": ("1",)}
    properties |= {"SZ": (f"{columns}" if columns == rows else f"{columns}:{rows}",)}
    if not read:
        rules = rules_of(int(start["rules"])).name
        named = record.headers.get("Rules", "")
        rules = named if named and terms.rules_of_text(named) == rules else _NAMES.get(rules, rules)
        properties |= {"AP": ("az-engine:1",), "KM": (f"{int(start['komi']) / 2:g}",), "RU": (rules,)}
        properties |= _handicap(start) | _stones(start)
    properties |= {name: values for name, values in record.tree.more.items() if name not in ("CA", ILLEGAL)}
    texts = dict(zip(("PB", "PW"), record.names, strict=True))
    texts |= {name: record.headers.get(header, "") for name, header in HEADERS.items() if name != "RU"}
    if "DT" not in properties:  # FF[4]'s form; what a file says stays as it is
        texts["DT"] = re.sub(r"^(\d{4})[./](\d\d)[./](\d\d)$", r"\1-\2-\3", texts["DT"])
    for name, text in texts.items():
        if text and text_of(properties.get(name, ())) != text:
            properties[name] = (_escaped(text),)
    result = (record.result, record.reason, record.margin)
    if terms.result_of_text(text_of(properties.get("RE", ()))) != result and (text := terms.result_text(*result)):
        properties["RE"] = (text,)
    return properties | _comment(record.tree)


def _handicap(start: State) -> Properties:
    return {"HA": (str(int(start["handicap"])),)} if int(start["handicap"]) > 1 else {}


def _stones(state: State) -> Properties:
    """The stones of a position, and who is to move where there are any."""
    size = notation.size_of(state)
    board = stones_to_array(state)
    result: Properties = {}
    for name, colour in (("AB", BLACK), ("AW", WHITE)):
        points = tuple(_letters(int(p), size[0]) for p in np.flatnonzero(board == colour))
        result |= {name: points} if points else {}
    if result or int(state["turn"]) == WHITE:
        result["PL"] = ("BW"[int(state["turn"])],)
    return result


def _point(word: str, columns: int, rows: int) -> str:
    try:
        point = notation.point_of(word, columns, rows)
    except ValueError:
        raise PositionError("a move that is no point of the board") from None
    return "" if point == columns * rows else _letters(point, columns)


def _letters(point: int, columns: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[point % columns] + "abcdefghijklmnopqrstuvwxyz"[point // columns]


_ANNOTATIONS: dict[str, Properties] = {
    "blunder": {"BM": ("2",)},
    "mistake": {"BM": ("1",)},
    "inaccuracy": {"DO": ("",)},
    "good": {"TE": ("1",)},
}


def opine(node: Node, opinion: Opinion) -> None:
    """Add an opinion as Sabaki reads it: SBKV, Black's chance in per cent, V, Black's lead; BM, DO and TE of moves."""
    result: Properties = {"SBKV": (f"{100 * opinion.score:.2f}",)}
    if opinion.lead is not None:
        result["V"] = (f"{round(opinion.lead, 1) + 0.0:.1f}",)  # + 0.0: no minus before a zero
    if opinion.kind and not node.more.keys() & {"BM", "DO", "IT", "TE"}:
        result |= _ANNOTATIONS[opinion.kind]
    node.more = result | node.more
    add_remark(node, opinion)


def forget(node: Node) -> bool:
    """Take off SBKV, V and the remark of a review, with its mark of the move; whether there was any."""
    kind = take_remark(node)
    theirs = _ANNOTATIONS[kind] if kind else {}
    before = len(node.more)
    node.more = {
        key: value for key, value in node.more.items() if key not in ("SBKV", "V") and theirs.get(key) != value
    }
    return bool(kind) or len(node.more) < before
