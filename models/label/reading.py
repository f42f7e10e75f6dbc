"""A recorded game, each of whose positions a teacher is asked about: labels of the positions that searches get to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ..data.records import read_finished
from ..data.shards import Ended, LabelFormat, Records, Teaching
from ..selfplay.replay import STORED, ShardReader, line_of_game, title
from .teacher import Asked, Teacher
from .variations import Explorer, Variation


@dataclass(frozen=True, slots=True)
class RecordedGame:
    line: State  # State[n + 1]
    moves: NDArray[np.uint16]  # [n]
    result: int  # for the first player


def read_played(
    game: Game, form: LabelFormat, files: Sequence[Path], on_problem: Callable[[str], None]
) -> list[RecordedGame]:
    """The finished games of record files, also of a self-play run's, in their order; see :func:`read_finished`.

    They follow the rules that labels are kept by; a game ends where these forbid its next move. Errors: DataError,
    OptionError.
    """
    games: list[RecordedGame] = []
    for path in files:
        stored = path.suffix == STORED
        found = read_stored(game, path) if stored else [RecordedGame(*g) for g in read_finished(game, path, on_problem)]
        kept = [under_rules_of(form, game, played) for played in found]
        cut = sum(len(a.moves) < len(b.moves) for a, b in zip(kept, found, strict=True))
        if cut:
            on_problem(f"{path.name}: {cut} games are cut where the rules of labels forbid a move")
        games += [played for played in kept if len(played.moves)]
    return games


def read_stored(game: Game, path: Path) -> list[RecordedGame]:
    """The games of a self-play run's file on the run's own board. Errors: DataError, also for another game's."""
    expected = {name: value for name, value in title(game, "").items() if name != "run"}
    reader = ShardReader(path, expected, game)
    records = [record for record in reader.read() if not record.board]
    found = [RecordedGame(line_of_game(game, record), record.moves, record.result) for record in records]
    if reader.faults:
        raise DataError(f"{path}: {reader.faults[0]}; leave the file out")
    return found


def under_rules_of(form: LabelFormat, game: Game, played: RecordedGame) -> RecordedGame:
    """The game under the rules that labels are kept by, as far as they allow its moves."""
    before = game.format_position(played.line[0])
    root = form.root(before)
    if root == before:
        return played
    line = np.repeat(game.parse_position(root)[0][-1:], len(played.line))
    count = game.replay(line, played.moves)
    return RecordedGame(line[: count + 1], played.moves[:count], played.result)


def label_played(
    game: Game, form: LabelFormat, teacher: Teacher, number: int, played: RecordedGame, explorer: Explorer | None = None
) -> Records:
    """The records of a recorded game, one for each move; with an explorer, those of the lines it draws behind them.

    A line's records begin with the position that was searched, which the history planes of the others need. They end
    with the leaf; its move and their result are the teacher's opinion. BLOCKS. Errors: AzError.
    """
    usual = game.initial() if form.start is None else game.parse_position(form.start)[0]
    root = game.format_position(played.line[0])
    teacher.new_game(form.start if root == game.format_position(usual[0]) else root)
    count = len(played.moves)
    lines = [(Variation(0, played.line, played.moves), range(count))]  # with the positions to ask about
    if explorer is not None:
        drawn = explorer.variations(played.line, played.moves, number)
        lines += [(one, range(one.root, len(one.line))) for one in drawn if len(one.moves) > one.root]
    asked: dict[bytes, Asked] = {}  # by the moves from the start: lines share positions
    for one, positions in lines:
        words = [game.format_move(state, move) for state, move in zip(one.line, one.moves.tolist(), strict=False)]
        for i in positions:
            asked.setdefault(one.moves[:i].tobytes(), (one.line[: i + 1], words[:i]))
    said = dict(zip(asked, teacher.teach_all(list(asked.values())), strict=True))

    rows: list[Records] = []
    for one, positions in lines:
        for i in positions:
            teaching = said[one.moves[:i].tobytes()]
            row = form.record(game, one.line[: i + 1], teaching)
            row["game"] = number
            row["played"] = form.code(one.line[i], int(one.moves[i] if i < len(one.moves) else teaching.moves[0]))
            if len(rows) < count:
                row["z"] = played.result if game.side_to_move(one.line[i]) == 0 else -played.result
            else:
                row["z"] = _result_of(teaching)
            rows.append(row)
    ended: Ended = "adjudicated" if game.outcome(played.line) == RUNNING else "rules"
    records = form.finish(game, played.line, (), np.concatenate(rows[:count]), ended)
    if len(rows) == count:
        return records
    # Each record keeps the result it has.
    return form.finish(game, played.line, (), np.concatenate([records, *rows[count:]]), "adjudicated")


def _result_of(teaching: Teaching) -> int:
    """For the side to move, as the teacher sees it."""
    if teaching.wdl is not None:
        return 1 - int(np.argmax(teaching.wdl))
    return int(np.sign(teaching.scores[0]))
