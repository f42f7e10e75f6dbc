"""A game is one folder: tic-tac-toe is found from outside the package, and self-play finds what minimax knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import PositionError
from az_engine.engine.games import game_names, get_game
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import SearchParams, paper_params
from az_engine.engine.search.selfplay.games import SelfPlay, SelfPlayConfig
from az_engine.engine.search.selfplay.matches import NetPlayer, play_pairs, random_openings

from . import DIRECTORY
from .minimax import Minimax

GAME = get_game("tictactoe")
ROOT = Path(__file__).resolve().parents[2]


def test_it_is_found_by_the_environment_variable() -> None:
    assert "tictactoe" in game_names()
    program = "from az_engine.engine.games import game_names; print('tictactoe' in game_names())"
    for places, found in (("", "False"), (f"/nowhere{os.pathsep}{DIRECTORY}", "True")):
        environment = {**os.environ, "AZ_ENGINE_GAMES": places, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == found


def test_all_of_it_is_known() -> None:
    """5,478 positions, a draw, and the known number of openings."""
    solved = Minimax(GAME)
    assert solved.value(GAME.initial()) == 0
    assert solved.positions == 5478
    assert sum(GAME.perft(GAME.initial()[0], 5).values()) == 15120
    assert len(solved.best_moves(GAME.parse_position("x........")[0])) == 1  # only the middle holds
    for text in ("xx.......", "o........", "xxx", "xyz......"):
        with pytest.raises(PositionError):
            GAME.parse_position(text)


def test_symmetries() -> None:
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 2, (8, *GAME.planes)).astype(np.uint8)
    assert GAME.symmetries is not None
    turned = GAME.symmetries.turn(planes, np.arange(8)).reshape(8, 2, 9)
    for k, image in enumerate(GAME.symmetries.actions):
        assert (turned[k][:, image] == planes[k].reshape(2, 9)).all()
    assert len({tuple(image) for image in GAME.symmetries.actions.tolist()}) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("gumbel", "visits"), [(0, 2000), (9, 6000)])  # halving decides for good by a few visits
def test_self_play_of_perfect_players_is_drawn(gumbel: int, visits: int) -> None:
    """With the solver and enough visits no net is needed: every move is right, every game is drawn."""
    config = SelfPlayConfig(
        games=16, visits=visits, search=SearchParams(fpu="zero", mate_plies=0), noise_share=0.0, temperature_moves=0,
        max_moves=9, gumbel=gumbel,
    )  # fmt: skip
    play = SelfPlay(GAME, UniformEvaluator(GAME), config, 1, range(16))
    games = []
    while not play.finished:
        games += play.step()
    assert len(games) == 16
    assert {game.result for game in games} == {0}
    solved = Minimax(GAME)
    for game in games:
        line = GAME.initial()
        for move in game.moves.tolist():
            assert move in solved.best_moves(line)
            line = GAME.play(line, move)
        assert GAME.outcome(line) == 0


def test_games_are_played_by_the_rules() -> None:
    """Noise, temperature and few visits: whatever happens, records agree with the rules."""
    config = SelfPlayConfig(games=32, visits=20, temperature_moves=9, max_moves=9, kept_moves=9)
    play = SelfPlay(GAME, UniformEvaluator(GAME), config, 1, range(300))
    games = []
    while not play.finished:
        games += play.step()
    assert sorted(game.id for game in games) == list(range(300))
    assert len({tuple(game.moves.tolist()) for game in games}) > 200
    for game in games:
        line = GAME.initial()
        for ply, move in enumerate(game.moves.tolist()):
            assert GAME.outcome(line) == RUNNING
            legal = GAME.legal_moves(line)
            assert move in legal
            used = game.target[ply] > 0
            assert set(game.target_moves[ply].tolist()) <= set(legal.tolist())
            assert len(set(game.target_moves[ply][used].tolist())) == used.sum()
            assert move in game.target_moves[ply][used]
            assert game.target[ply].sum() == pytest.approx(1, abs=1e-6)
            line = GAME.play(line, move)
        code = GAME.outcome(line)
        assert code != RUNNING
        assert game.reason == "rules"
        assert game.result == (code if len(game.moves) % 2 == 0 else -code)
    assert {game.result for game in games} == {-1, 0, 1}


def test_contests_count_for_the_right_side() -> None:
    """A thorough search against random moves: it never loses, whichever colour it has."""
    search = paper_params("az")
    strong = NetPlayer("search", UniformEvaluator(GAME), 800, SearchParams(fpu="zero"))
    weak = NetPlayer("random", UniformEvaluator(GAME), 0, search)
    openings = random_openings(GAME, 20, 1, seed=3)
    games = play_pairs(GAME, strong, weak, openings, seed=1, max_moves=9)
    points = [game.result if i % 2 == 0 else -game.result for i, game in enumerate(games)]
    assert len(games) == 40
    assert min(points[0::2] + points[1::2]) >= 0
    assert sum(points) >= 25
    swapped = play_pairs(GAME, weak, strong, openings, seed=1, max_moves=9)
    assert sum(game.result if i % 2 == 0 else -game.result for i, game in enumerate(swapped)) <= -25
    for i, game in enumerate(games):
        assert game.moves[:1].tolist() == openings[i // 2].tolist()


def test_an_opening_does_not_end_the_game() -> None:
    for moves in random_openings(GAME, 30, 9, seed=1):
        line = GAME.initial()
        for move in moves.tolist():
            line = GAME.play(line, move)
        assert GAME.outcome(line) == RUNNING
