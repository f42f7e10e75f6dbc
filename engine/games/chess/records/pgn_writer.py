"""Writes PGN in the export form: seven headers first, variations in brackets, lines of at most 80 characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import chess

from ....errors import IllegalMoveError, PositionError
from ....records.opinion import Opinion, add_remark, take_remark
from ....records.record import Node, Record
from .. import notation
from .movetext import NAME
from .pgn import RESULTS, ROSTER, TERMINATIONS

_WIDTH = 80
_OURS = ("FEN", "SetUp", "Result")  # headers that tell what the record does


def write(record: Record) -> str:
    """One game as PGN. Errors: PositionError."""
    root = record.tree.position
    try:
        board = chess.Board(root or chess.STARTING_FEN, chess960=notation.is_chess960(record))
    except ValueError as error:
        raise PositionError(f"{root!r} is no FEN: {error}") from None
    board.chess960 = board.chess960 or board.has_chess960_castling_rights()
    result = next((token for token, result in RESULTS.items() if result == record.result), "*")
    headers = ROSTER | {"White": record.names[0] or "?", "Black": record.names[1] or "?", "Result": result}
    headers |= {} if root is None else {"FEN": root, "SetUp": "1"}
    for name, tag in _tags(record).items():
        if tag:
            value = record.headers[name]
            headers[tag] = value.replace("/", ".") if name == "Date" else value
    if record.reason and "Termination" not in headers:
        headers["Termination"] = TERMINATIONS.get(record.reason, record.reason)
    tags = [f'[{name} "{_quoted(value)}"]' for name, value in headers.items()]
    return "\n".join([*tags, "", *_wrapped([*_movetext(record.tree, board), result])]) + "\n"


def lost(record: Record) -> list[str]:
    """What PGN cannot say of a record, beside what its format lists: names of headers that are none of PGN."""
    renamed = {name: tag for name, tag in _tags(record).items() if tag != name}
    return [
        f"header {name}" + (f" of this name, which is written as {tag}" if tag else "") for name, tag in renamed.items()
    ]


def _tags(record: Record) -> dict[str, str]:
    """The names that PGN allows for a record's headers; "" where it is another's."""
    tags = {name: name for name in record.headers if re.fullmatch(NAME, name)}
    for name in record.headers:
        if name not in tags:
            plain = re.sub("[^A-Za-z0-9_+#=:-]", "_", name)
            tag = plain if re.fullmatch(NAME, plain) else f"X{plain}"
            tags[name] = "" if tag in tags.values() else tag
    return {name: tags[name] for name in record.headers if name not in _OURS}


def _quoted(value: str) -> str:
    return " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')


def _wrapped(words: list[str]) -> Iterator[str]:
    """Words in lines; a comment of a whole line ends it."""
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > _WIDTH:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        if word.startswith(";"):
            yield line
            line = ""
    if line:
        yield line


def _comment(text: str) -> list[str]:
    """A comment in braces, or, where it holds a closing one, to the end of the line."""
    if not text:
        return []
    if "}" not in text:
        return [f"{{ {text} }}"]
    return [f"; {line}" for line in text.splitlines() if line.strip()]


def _movetext(tree: Node, board: chess.Board) -> Iterator[str]:
    """The words of all moves, each variation behind the move that it replaces."""
    yield from (f"${nag}" for nag in tree.nags)
    yield from _comment(tree.comment)
    if tree.children:
        yield from _line(tree.children[0], tree.children[1:], board)


def _line(node: Node, others: list[Node], board: chess.Board) -> Iterator[str]:
    """The words of a line that begins with ``node``, in place of which ``others`` may be played."""
    plies, numbered = 0, True  # whether the next move of Black has a number, too
    while True:
        yield from _comment(node.before)
        if board.turn == chess.WHITE or numbered or node.before:
            yield f"{board.fullmove_number}{'.' if board.turn == chess.WHITE else '...'}"
        move = _move(board, node)
        yield board.san(move)
        yield from (f"${nag}" for nag in node.nags)
        comment = _comment(_timed(node))
        yield from comment
        for other in others:
            yield "("
            yield from _line(other, [], board)
            yield ")"
        numbered = bool(comment or others)
        board.push(move)
        plies += 1
        if not node.children:
            break
        node, others = node.children[0], node.children[1:]
    for _ in range(plies):
        board.pop()


def _move(board: chess.Board, node: Node) -> chess.Move:
    try:
        return chess.Move.null() if node.move == "0000" else board.parse_uci(node.move)
    except ValueError:
        raise IllegalMoveError(f"{node.move!r} is not legal in {board.fen()}") from None


def _timed(node: Node) -> str:
    """The comment with the time that the move has taken."""
    if node.seconds is None or "[%emt" in node.comment:
        return node.comment
    hours, rest = divmod(node.seconds, 3600)
    time = f"[%emt {int(hours)}:{int(rest) // 60:02}:{rest % 60:06.3f}]"
    return f"{time} {node.comment}".rstrip()


_NAGS = {"good": 1, "mistake": 2, "blunder": 4, "inaccuracy": 6}


def opine(node: Node, opinion: Opinion) -> None:
    """Add an opinion as lichess writes it: a NAG, and [%eval], White's pawns or moves to mate."""
    if opinion.kind and not any(1 <= nag <= 6 for nag in node.nags):
        node.nags += (_NAGS[opinion.kind],)
    between = " | " if re.sub(r"\[%[^\]]*\]|\s", "", node.comment) else " "  # behind what people have written
    if node.move and "[%eval" not in node.comment and not opinion.over:
        value = f"{opinion.cp / 100:.2f}" if opinion.mate is None else f"#{opinion.mate}"
        node.comment = f"[%eval {value}] {node.comment}".rstrip()
    add_remark(node, opinion, between)


def forget(node: Node) -> bool:
    """Take off [%eval] and the remark of a review, with its NAG; whether there was any."""
    kind, comment = take_remark(node), node.comment
    if kind:
        node.nags = tuple(nag for nag in node.nags if nag != _NAGS[kind])
    node.comment = re.sub(r"\[%eval [^\]]*\]\s*", "", comment).strip()
    return bool(kind) or "[%eval" in comment
