"""A student in a teacher's games: its policy is the net's own, and the random moves are drawn from it."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove
from az_engine.engine.limits import Limits
from az_engine.engine.nets.opinions import RawNet
from az_engine.engine.nets.weights import dense_net
from az_engine.engine.params import EngineOptions

from .. import reference
from ..samples import CHESS, SAMPLE
from .labelling import SHORT, UCI, by_game, label, labelled

ENGINE = ("--engine", UCI, *SHORT)
POSITIONS = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
    "8/P6k/8/8/8/8/6K1/8 w - - 0 1",
]


@pytest.mark.parametrize("fen", POSITIONS)
def test_the_policy_is_over_the_legal_moves_and_its_greatest_is_the_engines_first(fen: str) -> None:
    line, _ = CHESS.parse_position(fen)
    said = RawNet("default", CHESS).opinion(line)
    moves, chances = said.moves, said.policy
    texts = [CHESS.format_move(line[-1], int(move)) for move in moves]
    assert set(texts) == {move.uci() for move in chess.Board(fen).legal_moves}
    assert chances.sum() == pytest.approx(1)
    engine = Engine("chess", EngineOptions(threads=1))
    engine.set_position(fen, [])
    answers: list[BestMove] = []
    engine.go(Limits(nodes=1), lambda info: None, answers.append)
    engine.wait()
    engine.close()
    assert answers[0].move == texts[int(chances.argmax())]


@pytest.mark.slow
def test_the_random_moves_of_a_game_are_the_students(tmp_path: Path) -> None:
    words = (*ENGINE, "--blunders", "1", "--openings", "6", "--games", "4")
    student = RawNet("default", CHESS)
    surprise = {}
    for name, more in (("student", ("--student", "default")), ("blind", ())):
        records = labelled(tmp_path / name, *words, *more)
        assert records["rnd"].all()
        nats = []
        for record in records:
            board = reference.board_of(record)
            line, _ = CHESS.parse_position(board.fen())
            said = student.opinion(line)
            moves, chances = said.moves, said.policy
            texts = [CHESS.format_move(line[-1], int(move)) for move in moves]
            played = reference.move_of(int(record["played"])).uci()
            nats.append(-np.log(chances[texts.index(played)]))
        surprise[name] = float(np.mean(nats))
    # a move drawn from the policy surprises it by its entropy, one drawn blindly by much more
    assert surprise["student"] + 1 < surprise["blind"]


@pytest.mark.slow
def test_a_seed_repeats_a_students_games(tmp_path: Path) -> None:
    words = (*ENGINE, "--student", "default", "--blunders", "0.5", "--seed")
    a, b, c = (by_game(labelled(tmp_path / name, *words, seed)) for name, seed in (("a", 0), ("b", 0), ("c", 5)))
    assert a == b
    assert a != c


def test_a_student_of_another_game_or_none_at_all_is_refused_before_games_begin(tmp_path: Path, nnue: Path) -> None:
    for net in (tmp_path / "nothing.onnx", dense_net("go")):
        for words in (ENGINE, ("--nnue", nnue), ("--engine", UCI, "--around", SAMPLE)):
            with pytest.raises(NetError):
                label(tmp_path, *words, "--student", net)
    assert not list(tmp_path.glob("*.npz"))


def test_a_student_knows_every_game() -> None:
    for name in ("chess", "shogi", "go"):
        game = get_game(name)
        said = RawNet("default", game).opinion(game.initial())
        assert len(said.moves) == len(said.policy) == len(game.legal_moves(game.initial()))


@pytest.mark.slow
def test_games_end_once_they_are_decided(tmp_path: Path) -> None:
    words = (*ENGINE, "--games", 12, "--decided")
    soon, late = (np.bincount(labelled(tmp_path / decided, *words, decided)["game"]) for decided in ("1", "0"))
    assert (soon == 5).sum() >= 4  # most games are ended so
    assert not (late == 5).any()
