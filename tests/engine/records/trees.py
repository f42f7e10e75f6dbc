"""Random records: trees of legal moves with everything that people write around them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.records.record import Ending, Node, Record

TEXT = st.text(st.sampled_from("ab 12.,;:!?()[]{}*'\"\\-/%$#&+羽生é飛車ｱ☗\n"), max_size=12).map(str.strip)
LINE = TEXT.map(lambda text: " ".join(text.split())).map(lambda text: "" if text == "?" else text)
START = {"chess": None, "shogi": None, "go9": "9/9/9/9/9/9/9/9/9 b - 7 chinese 0 0 0"}
ENDS: list[Ending] = [
    ("resignation", -1),
    ("time", -1),
    ("declaration", 1),
    ("illegal move", 1),
    ("repetition", 0),
    ("impasse", 0),
    ("interrupted", None),
]


@st.composite
def records(draw: st.DrawFn, name: str, *, times: bool = True, ends: bool = False, nags: bool = False) -> Record:
    """A game of a few moves with variations."""
    game = get_game(name)
    root = START[name]
    start = game.initial() if root is None else game.parse_position(root)[0]
    tree = Node(position=root, comment=draw(TEXT))
    waiting: list[tuple[Node, Any, int]] = [(tree, start, 0)]
    made = 0
    while waiting and made < 14:
        node, line, depth = waiting.pop()
        if game.outcome(line) != RUNNING:
            continue
        legal = game.legal_moves(line).tolist()
        count = draw(st.sampled_from((1, 1, 1, 2, 3))) if depth else draw(st.sampled_from((1, 1, 2)))
        chosen = draw(st.lists(st.sampled_from(legal), min_size=1, max_size=count, unique=True))
        for i, move in enumerate(chosen):
            child = Node(game.format_move(line[-1], move), draw(TEXT))
            if times and draw(st.booleans()):
                child.seconds = float(draw(st.integers(0, 4000)))
            if nags and draw(st.booleans()):
                child.nags = tuple(draw(st.lists(st.integers(1, 140), max_size=2, unique=True)))
            if name == "chess" and i > 0:
                child.before = draw(LINE)
            node.add(child)
            made += 1
            waiting.insert(0, (child, game.play(line, move), depth + 1))
    record = Record(tree, names=(draw(LINE), draw(LINE)), headers=draw(_headers()))
    last = list(tree.line())[-1]
    if ends and draw(st.booleans()):
        reason, points = draw(st.sampled_from(ENDS))
        moves = sum(bool(node.move) for node in tree.line())
        first = moves % 2 == 0
        record.reason, record.result = reason, points if points is None or first else -points
        if draw(st.booleans()):
            last.add(Node(comment=draw(TEXT.filter(bool)), end=(reason, points)))
    elif name == "chess":
        record.result = draw(st.sampled_from((1, 0, -1, None)))
    elif name == "go9":
        record.result, record.margin = draw(st.sampled_from(((1, 2.5), (-1, 30.0), (0, None), (None, None))))
    return record


@st.composite
def _headers(draw: st.DrawFn) -> dict[str, str]:
    names = draw(st.lists(st.sampled_from(("Event", "Site", "TimeControl", "Opening")), unique=True, max_size=3))
    return {name: text for name in names if (text := draw(LINE.filter(lambda text: text.strip("?. ") != "")))}
