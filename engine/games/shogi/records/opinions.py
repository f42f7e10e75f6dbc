"""What a search says of a position, as ShogiGUI writes it into KIF and the Floodgate server into CSA.

Both count from Black's view; a mate is 30,000, as other programs have it.
"""

from __future__ import annotations

from ....records.opinion import Opinion, add_comment, add_remark, take_lines, take_remark
from ....records.record import Node
from .. import notation
from . import moves
from .csa_writer import move_text
from .replay import Replay

_MATE = 30_000


def _value(opinion: Opinion) -> int:
    return opinion.cp if opinion.mate is None else _MATE if opinion.mate > 0 else -_MATE


def in_kif(node: Node, opinion: Opinion) -> None:
    """A line that begins with ``*解析``, with depth, nodes, value and the line that would be played."""
    if not opinion.over:
        replay, words = Replay.of(opinion.position), []
        for word in opinion.line:
            code = notation.parse_usi(replay.state, word, replay.legal_moves())
            words.append(f"{'▲△'[replay.turn]}{moves.kif(replay, code)}")
            replay.play(code)
        parts = f"深さ {opinion.depth} ノード数 {opinion.nodes} 評価値 {_value(opinion)}"
        parts += f" 読み筋 {' '.join(words)}" if words else ""
        add_comment(node, f"*解析 0 候補1 {parts}")
    add_remark(node, opinion)


def in_csa(node: Node, opinion: Opinion) -> None:
    """A remark ``** value moves`` behind the move; none before the first."""
    if not opinion.over and node.move:
        replay = Replay.of(opinion.position)
        line = " ".join(move_text(replay, Node(word)) for word in opinion.line)
        add_comment(node, f"* {_value(opinion)} {line}".rstrip())
    add_remark(node, opinion)


def forget(node: Node) -> bool:
    """Take off lines of analysis, as KIF and CSA have them, and the remark of a review; whether there was any."""
    kind = take_remark(node)
    return take_lines(node, r"\*解析 |\* -?[0-9]+( |$)") or bool(kind)
