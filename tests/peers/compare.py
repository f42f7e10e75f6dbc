"""Compare our readers of records with the parsers of other programs, over any folders of files, and count.

    python tests/peers/compare.py [--speed N] --node-modules DIR FOLDER...

FOLDER: files of python-chess, Sabaki, tsshogi, ShogiHome, Kifu-for-JS, python-shogi, KataGo or your own. DIR has
tsshogi, @sabaki/sgf and chessops (npm install tsshogi @sabaki/sgf chessops). python-chess is compared without them.
Each file is also written by us and read again.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess.pgn

from az_engine.engine.errors import AzError
from az_engine.engine.games import game_names, get_game
from az_engine.engine.games.go.records import sgf
from az_engine.engine.records.formats import RecordFormat, format_named, is_record, read_games
from az_engine.engine.records.record import ILLEGAL, Node, Record
from az_engine.engine.records.text import BoundedLines, decode_japanese

Tree = list[Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--speed", type=int, metavar="N", help="read N games of PGN, by us and by python-chess")
    parser.add_argument("--node-modules", type=Path)
    args = parser.parse_args()
    if args.speed:
        _race(args.speed)
    files = sorted(path for folder in args.folders for path in folder.rglob("*") if path.is_file())
    counts: dict[str, Counter[str]] = {}
    for name in game_names():
        formats = get_game(name).record_formats
        mine = [path for path in files if is_record(formats, path)]
        for path in mine:
            form = format_named(formats, path.name)
            _judge(path, form, counts.setdefault(form.name, Counter()), args.node_modules)
    for kind, count in counts.items():
        print(kind, ", ".join(f"{what}: {number}" for what, number in sorted(count.items())))


def _race(count: int) -> None:
    """The CPU time of reading games of random moves, a third of them with clocks in comments."""
    rng, games = random.Random(1), []
    for number in range(60):
        board = chess.Board()
        while len(board.move_stack) < 80 and not board.is_game_over():
            board.push(rng.choice(list(board.legal_moves)))
        game = chess.pgn.Game.from_board(board)
        for node in game.mainline():
            node.comment = "[%clk 0:10:00]" if number % 3 == 0 else ""
        games.append(str(game))
    text = "\n\n".join(games[i % 60] for i in range(count)) + "\n"
    form = format_named(get_game("chess").record_formats, "pgn")
    begun = time.process_time()
    moves = sum(len(record.moves) for record in form.read(io.BytesIO(text.encode())))
    ours, begun = time.process_time() - begun, time.process_time()
    with io.StringIO(text) as file:
        while chess.pgn.read_game(file) is not None:
            pass
    theirs = time.process_time() - begun
    print(f"{count} games, {moves} moves: {ours:.1f} s, python-chess {theirs:.1f} s; {theirs / ours:.2f} of its speed")


def _judge(path: Path, form: RecordFormat, count: Counter[str], modules: Path | None) -> None:
    count["files"] += 1
    try:
        records = list(read_games((form,), path))
    except AzError as error:
        count["refused"] += 1
        print(f"{path.name}: refused: {error}")
        return
    count["games"] += len(records)
    for number, record in enumerate(records, 1):
        count["nodes"] += sum(1 for _ in record.tree.descendants())
        if record.fault:
            count["with a fault, which is told"] += 1
            if number <= 2:
                print(f"{path.name}, game {number}: {record.fault}")
        _round_trip(path, form, record, count)
    for theirs, name in _peers(path, form, modules):
        _compare(path, form, records, theirs, name, count)


def _round_trip(path: Path, form: RecordFormat, record: Record, count: Counter[str]) -> None:
    """Write and read again: the same record, or a loss."""
    if form.write is None or record.fault:
        return
    again = next(form.read(io.BytesIO(form.write(record).encode())))
    lost = dict(form.lost(record))
    for tree in (record.tree, again.tree):
        for name in ("FF", "GM", "CA", "SZ"):  # which we write where a file leaves them out
            tree.more.pop(name, None)
    if again == record:
        count["come back equal"] += 1
    elif lost:
        count["come back less what is said"] += 1
    else:
        count["LOST SILENTLY"] += 1
        print(f"{path.name}: not the same when it is written and read again")


def _peers(path: Path, form: RecordFormat, modules: Path | None) -> Iterator[tuple[list[Any], str]]:
    """The games of a file by other parsers."""
    data = path.read_bytes()
    if form.name == "PGN":
        lines = BoundedLines(io.BytesIO(data))
        text = "".join(iter(lines.readline, ""))
        with io.StringIO(text) as file:
            yield list(iter(lambda: chess.pgn.read_game(file), None)), "python-chess"
    if modules is None or form.name not in ("KIF", "KI2", "CSA", "JKF", "SGF"):
        return
    text = decode_japanese(data).removeprefix("\ufeff")
    if form.name == "SGF":
        text = data.decode(sgf.encoding_of(data) or "latin-1", "replace")
    kind = "KI2" if re.search("^ *[▲△▽▼☗☖]", text, re.MULTILINE) and form.name == "KIF" else form.name
    asked = json.dumps([{"kind": kind, "text": text.replace("\r\n", "\n").replace("\r", "\n")}])
    script = Path(__file__).with_name("parse.mjs")
    environment = {**os.environ, "NODE_MODULES": str(modules.resolve())}
    done = subprocess.run(["node", script], input=asked, capture_output=True, text=True, check=False, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)[0] if done.returncode == 0 else {"error": done.stderr[-300:]}
    name = "@sabaki/sgf" if form.name == "SGF" else "tsshogi"
    if "error" in found:
        print(f"{path.name}: {name} refuses it: {found['error']}")
    else:
        yield found["games"], name


def _compare(
    path: Path, form: RecordFormat, records: list[Record], theirs: list[Any], name: str, count: Counter[str]
) -> None:
    games = records[: len(theirs)] if name == "tsshogi" else records  # which reads one game of a file
    if len(games) != len(theirs):
        count[f"other number of games than {name}"] += 1
        print(f"{path.name}: {len(records)} games, {name} has {len(theirs)}")
    for number, (record, other) in enumerate(zip(games, theirs, strict=False), 1):
        if record.fault:
            continue
        if name == "python-chess":
            ours, their = _chess(record.tree), _python_chess(other)
        elif name == "@sabaki/sgf":
            ours, their = _properties(next(sgf.read(io.BytesIO(path.read_bytes())))) if number == 1 else [], []
            their = _sabaki(other) if number == 1 else []
        else:
            ours, their = _shogi(record.tree), _tsshogi(other["tree"])
            if form.name == "CSA":  # of whose plain remarks they keep none
                ours, their = (_without_bare_end([[node[0], "", node[2]] for node in tree]) for tree in (ours, their))
        if ours == their:
            count[f"equal to {name}"] += 1
        else:
            count[f"DIFFERENT from {name}"] += 1
            print(f"{path.name}, game {number}: {_difference(ours, their)}")


def _difference(ours: Tree, theirs: Tree) -> str:
    a, b = ours, theirs
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return f"entry {i}: {x!r} and theirs {y!r}"
    return f"{len(a)} entries and theirs {len(b)}"


def _chess(tree: Node) -> Tree:
    """All nodes: [depth-first move, comments, NAGs, number of children]."""
    found = []
    for node in tree.descendants():
        spent = "" if node.seconds is None else "emt"
        words = sorted(re.sub(r"\[%emt [^\]]*\]", "emt", node.comment).split()) + [spent] * bool(spent)
        found.append([node.move, sorted(words), node.before.split(), sorted(node.nags), len(node.children)])
    return found


def _python_chess(game: Any) -> Tree:
    found, waiting = [], [game]
    while waiting:
        node = waiting.pop()
        move = node.move.uci() if node.move is not None else ""
        words = sorted(re.sub(r"\[%emt [^\]]*\]", "emt", node.comment).split())
        before = getattr(node, "starting_comment", "").split()
        found.append([move, words, before, sorted(node.nags), len(node.variations)])
        waiting.extend(reversed(node.variations))
    return found


def _shogi(tree: Node) -> Tree:
    """[move or end, comment, seconds] of all nodes."""
    found = []
    for node in tree.descendants():
        move = "%" if node.end is not None else node.move
        if not node.move and ILLEGAL in node.more:
            continue
        found.append([move, _comment(node.comment), node.seconds or 0.0])
    return _without_bare_end(found)


def _tsshogi(tree: Tree) -> Tree:
    found, waiting = [], [tree]
    while waiting:
        move, comment, seconds, children = waiting.pop()
        found.append(["%" if move.startswith("%") else move, _comment(comment), seconds])
        waiting.extend(reversed(children))
    return _without_bare_end(found)


def _without_bare_end(nodes: Tree) -> Tree:
    """Our trees have no end that says no more than the result of the record."""
    return [node for node in nodes if not (node[0] == "%" and not node[1] and not node[2])]


def _comment(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _properties(record: Record) -> Tree:
    """How many properties, and how many of each name, but moves that are no points."""
    count: Counter[str] = Counter()
    for node in record.tree.descendants():
        count.update({name: len(values) for name, values in node.more.items() if name != ILLEGAL})
        count["C"] += bool(node.comment)
        count["moves"] += bool(node.move) and node.move != "skip"
    return sorted(count.items())


def _sabaki(tree: Tree) -> Tree:
    count: Counter[str] = Counter()
    waiting = [tree]
    while waiting:
        data, children = waiting.pop()
        for name, values in data.items():
            kind = "moves" if name in ("B", "W") else name
            count[kind] += bool(values[0].strip()) if name == "C" else len(values)
        waiting.extend(children)
    count["C"] += 0
    count["moves"] += 0
    return sorted(count.items())


if __name__ == "__main__":
    main()
