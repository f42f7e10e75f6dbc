"""Walks that an engine judges: its word on every position, asked one by one or ahead, and engines that go wrong."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import EngineProcessError, OptionError
from az_engine.engine.games import get_game
from az_engine.models.data.formats import labels_of
from az_engine.models.data.games.chess import FORMAT, chances_of_score
from az_engine.models.data.shards import MATE, TargetOptions
from az_engine.models.label import command as label
from az_engine.models.label.bulk import BulkTeacher
from az_engine.models.label.teacher import Engine
from az_engine.protocols.clients.process import EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled

from ...fakes.program import COMMAND, score
from ..reference import board_of, move_of
from ..samples import CHESS, SAMPLE, sample_records
from .test_label import fen_with_clock, read

UCI = (*COMMAND, "uci")


def positions(count: int) -> np.ndarray:
    records = sample_records()[::7][:count]
    return FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))


def bulk(*words: str, lines: int = 1, ahead: int = 1, timeout: float = 60.0) -> BulkTeacher:
    return BulkTeacher(Engine((*UCI, *words), nodes=9, timeout=timeout, ahead=ahead), CHESS, labels_of("chess"), lines)


@pytest.mark.parametrize("ahead", [1, 2, 5, 256])
def test_every_position_gets_its_own_answer(ahead: int) -> None:
    states, teacher = positions(40), bulk(lines=3, ahead=ahead)
    for state, said in zip(states, teacher.judge(states), strict=True):
        fen = CHESS.format_position(state)
        moves = [CHESS.format_move(state, int(move)) for move in CHESS.legal_moves(state.reshape(1))]
        best = sorted(moves, key=lambda move: (-score(fen, move), move))[:3]
        assert [CHESS.format_move(state, int(move)) for move in said.moves] == best
        for move, points in zip(best, said.scores.tolist(), strict=True):
            assert points in (score(fen, move), MATE - 1)
        assert said.depth == 3
    assert teacher.judge(states[:0]) == []
    teacher.close()


def test_a_shogi_engine_is_told_to_declare_no_win() -> None:
    """YaneuraOu answers ``win`` in place of a move where it may."""
    rule = "EnteringKingRule type combo default CSARule27 var NoEnteringKing var CSARule27"
    words = (*COMMAND, "usi", "--fault", "setoption@3=die")  # the first are Threads and USI_Hash
    teacher = BulkTeacher(Engine(words, nodes=9), get_game("shogi"), labels_of("shogi"), 1)
    teacher.close()
    with pytest.raises(EngineProcessError, match="does not start"):
        BulkTeacher(Engine((*words, "--offers", rule), nodes=9), get_game("shogi"), labels_of("shogi"), 1)


def test_shogi_engines_speak_usi() -> None:
    game, form = get_game("shogi"), labels_of("shogi")
    teacher = BulkTeacher(Engine((*COMMAND, "usi"), nodes=9), game, form, 1)
    state = game.initial()
    said = teacher.judge(state)[0]
    legal = [game.format_move(state[-1], int(move)) for move in game.legal_moves(state)]
    sfen = f"{game.format_position(state[-1])}"
    best = min(legal, key=lambda move: (-score(sfen, move), move))
    assert game.format_move(state[-1], int(said.moves[0])) == best
    teacher.close()
    with pytest.raises(OptionError, match="an engine of go is not asked about positions without their game"):
        BulkTeacher(Engine((*COMMAND, "gtp")), get_game("go9"), labels_of("go9"), 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (("--fault", "go@3=die"), EngineDied, "ended by itself"),
        (("--fault", "go@3=exit"), EngineDied, r"ended by itself \(exit status 3\)"),
        (("--fault", "go@3=close"), EngineDied, "ended by itself"),
        (("--fault", "go@3=hang"), EngineStalled, "did not answer within 2 s"),
        (("--fault", "go@3=flood"), EngineFlooded, "writes without end"),
        (("--fault", "go@3=spam"), EngineFlooded, "writes without end"),
        (("e2e4",), EngineMisbehaved, "answered without a score"),
        (("e2e4", "--info", "info depth 1 score cp 5 pv e9e4"), EngineMisbehaved, "recommends an illegal move"),
    ],
)
def test_an_engine_that_goes_wrong_is_named_and_ended(words: tuple[str, ...], error: type, text: str) -> None:
    for ahead in (1, 8):
        teacher = bulk(*words, ahead=ahead, timeout=2.0)
        began = time.monotonic()
        with pytest.raises(error, match=text):
            teacher.judge(positions(20))
        assert time.monotonic() - began < 30
        assert teacher._process.poll() is not None
        teacher.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("no-such-engine",), "cannot be started"),
        ((*UCI, "--fault", "uci=exit"), "does not start"),
        ((*UCI, "--fault", "isready=hang"), "does not start .*did not answer within 1 s"),
    ],
)
def test_an_engine_that_does_not_start_is_told(command: tuple[str, ...], text: str) -> None:
    with pytest.raises(EngineProcessError, match=text):
        BulkTeacher(Engine(command, timeout=1.0), CHESS, labels_of("chess"), 1)
    with pytest.raises(EngineProcessError, match="has no option 'Contempt'"):
        BulkTeacher(Engine(UCI, options=(("Contempt", "0"),)), CHESS, labels_of("chess"), 1)


def arguments(out: Path, *words: str, engine: str = shlex.join(UCI)) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    label.add_arguments(parser)
    return parser.parse_args(["--engine", engine, "--out", str(out), "--seed", "3", *words])


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("around")
    FORMAT.write(folder / "labelled_0.npz", sample_records()[5:25])
    return folder


@pytest.mark.slow
def test_walks_are_recorded_with_the_engines_word(tmp_path: Path, around: Path) -> None:
    words = ("--around", str(around), "--positions", "60", "--ahead", "8")
    assert label.main(arguments(tmp_path / "a", *words)) == 0
    records = read(tmp_path / "a")
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
    assert label.main(arguments(tmp_path / "b", *words, "--student", "default", "--multipv", "2")) == 0
    others = read(tmp_path / "b")
    for name in ("bb", "turn", "played", "game", "rnd"):  # the net walks, the engine only judges
        assert (others[name] == records[name]).all()
    assert others["n"].max() == 2


@pytest.mark.slow
def test_an_engine_is_started_again_once(tmp_path: Path, around: Path) -> None:
    marker = tmp_path / "died"
    script = f"[ -e {marker} ] || fault='--fault go@9=die'; touch {marker}; exec {shlex.join(UCI)} $fault"
    words = ("--around", str(around), "--positions", "20")
    assert label.main(arguments(tmp_path / "a", *words, engine=f"sh -c {shlex.quote(script)}")) == 0
    assert len(read(tmp_path / "a")) >= 20
    with pytest.raises(EngineProcessError, match=r"failed twice in task .*ended by itself"):
        label.main(arguments(tmp_path / "b", *words, engine=shlex.join([*UCI, "--fault", "go@9=exit"])))


def test_ahead_is_for_engines_that_label_walks(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--ahead is for an engine that labels walks"):
        label.main(arguments(tmp_path, "--ahead", "8"))
    with pytest.raises(OptionError, match="give 1 or more"):
        label.main(arguments(tmp_path, "--around", str(SAMPLE), "--ahead", "0"))
    with pytest.raises(OptionError, match="--ahead is 257; give 256 at most"):
        label.main(arguments(tmp_path, "--around", str(SAMPLE), "--ahead", "257"))
