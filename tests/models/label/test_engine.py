"""Walks that an engine judges: its word on every position, asked one by one or ahead, and engines that go wrong."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import EngineProcessError
from az_engine.engine.games import get_game
from az_engine.models.data.games.chess import FORMAT, chances_of_score
from az_engine.models.data.shards import MATE, TargetOptions
from az_engine.models.label.job import Job, Question
from az_engine.models.label.sources.games import PlayedGames
from az_engine.models.label.teachers.engine import EngineKind, EngineTeacher
from az_engine.protocols.clients import process
from az_engine.protocols.clients.process import EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled

from ...fakes.program import COMMAND, score
from ..reference import board_of, move_of
from ..samples import CHESS, sample_records
from .labelling import UCI, labelled
from .test_games import fen_with_clock

WORDS = (*COMMAND, "uci")


def positions(count: int) -> list[Question]:
    records = sample_records()[::7][:count]
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    return [Question(states[i : i + 1]) for i in range(len(states))]


def teacher(*words: str, lines: int = 1, ahead: int = 1, timeout: float = 60.0, game: str = "chess") -> EngineTeacher:
    kind = EngineKind(engine=shlex.join(words or WORDS), visits=9, ahead=ahead)
    return EngineTeacher(kind, Job(PlayedGames(), kind, game, lines), timeout)


@pytest.mark.parametrize("ahead", [1, 2, 5, 256])
def test_every_position_gets_its_own_answer(ahead: int) -> None:
    asked, engine = positions(40), teacher(lines=3, ahead=ahead)
    for one, taught in zip(asked, engine.teach(asked), strict=True):
        state = one.line[-1]
        fen = CHESS.format_position(state)
        moves = [CHESS.format_move(state, int(move)) for move in CHESS.legal_moves(one.line)]
        best = sorted(moves, key=lambda move: (-score(fen, move), move))[:3]
        assert [CHESS.format_move(state, int(move)) for move in taught.moves] == best
        for move, points in zip(best, taught.scores.tolist(), strict=True):
            assert points in (score(fen, move), MATE - 1)
        assert taught.depth == 3
    assert engine.teach([]) == []
    engine.close()


def test_a_shogi_engine_is_set_to_declare_no_win() -> None:
    """YaneuraOu answers ``win`` in place of a move where it may."""
    rule = "EnteringKingRule type combo default CSARule27 var NoEnteringKing var CSARule27"
    words = (*COMMAND, "usi", "--fault", "setoption@3=die")  # the first are Threads and USI_Hash
    teacher(*words, game="shogi").close()
    with pytest.raises(EngineProcessError, match="does not start"):
        teacher(*words, "--offers", rule, game="shogi")


def test_shogi_engines_speak_usi() -> None:
    game, engine = get_game("shogi"), teacher(*COMMAND, "usi", game="shogi")
    line = game.initial()
    (taught,) = engine.teach([Question(line)])
    legal = [game.format_move(line[-1], int(move)) for move in game.legal_moves(line)]
    best = min(legal, key=lambda move: (-score(game.format_position(line[-1]), move), move))
    assert game.format_move(line[-1], int(taught.moves[0])) == best
    engine.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (("--fault", "go@3=die"), EngineDied, "ended by itself"),
        (("--fault", "go@3=exit"), EngineDied, r"ended by itself \(exit status 3\)"),
        (("--fault", "go@3=close"), EngineDied, "ended by itself"),
        (("--fault", "go@3=hang"), EngineStalled, "did not answer in time"),
        (("--fault", "go@3=flood"), EngineFlooded, "writes without end"),
        (("--fault", "go@3=spam"), EngineFlooded, "writes without end"),
        (("e2e4",), EngineMisbehaved, "answered without a score"),
        (("e2e4", "--info", "info depth 1 score cp 5 pv e9e4"), EngineMisbehaved, "recommends an illegal move"),
    ],
)
def test_an_engine_that_goes_wrong_is_named_and_ended(
    words: tuple[str, ...], error: type, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FLOOD", 500)
    for ahead in (1, 8):
        engine = teacher(*WORDS, *words, ahead=ahead)
        engine.client._endless_s = 2.0 if error in {EngineStalled, EngineFlooded} else 60.0  # noqa: SLF001  it has started by now
        with pytest.raises(error, match=text):
            engine.teach(positions(20))
        assert not engine.client.alive
        engine.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("no-such-engine",), "cannot be started"),
        ((*WORDS, "--fault", "uci=exit"), "does not start"),
        ((*WORDS, "--fault", "isready=hang"), "does not start .*did not answer in time"),
    ],
)
def test_an_engine_that_does_not_start_is_told(command: tuple[str, ...], text: str) -> None:
    with pytest.raises(EngineProcessError, match=text):
        teacher(*command, timeout=1.0)


@pytest.mark.slow
def test_walks_are_recorded_with_the_engines_word(tmp_path: Path, around: Path) -> None:
    words = ("--engine", UCI, "--seed", 3, "--around", around, "--positions", "60", "--ahead", "8")
    records = labelled(tmp_path / "a", *words)
    assert len(records) >= 60
    for record in records:
        board = board_of(record)
        fen = fen_with_clock(board, record)
        best = min(board.legal_moves, key=lambda move: (-score(fen, move.uci()), move.uci()))
        assert (int(record["n"]), move_of(int(record["mv"][0]))) == (1, best)
        assert int(record["cp"][0]) in (score(fen, best.uci()), MATE - 1)
        assert record["depth"] == 3
        chances = np.rint(1000 * chances_of_score(record["cp"][:1]))[0]
        assert [record["w"], record["l"]] == [chances[0], chances[2]]
    assert len(FORMAT.to_positions(CHESS, records, TargetOptions(), "").batch(np.arange(50)).planes) == 50
    others = labelled(tmp_path / "b", *words, "--student", "default", "--multipv", "2")
    for name in ("bb", "turn", "played", "game", "rnd"):  # the net walks, the engine only judges
        assert (others[name] == records[name]).all()
    assert others["n"].max() == 2
