"""Self-play: randomness by game, targets, resignation and its control, caps, and going on from a kept state."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.go.score import GoTerritory
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.nets.opinions import opinions_of
from az_engine.engine.params import SearchParams, paper_params
from az_engine.engine.search.selfplay.games import PlayedGame, SelfPlay, SelfPlayConfig

from ....fakes.evaluator import FunctionEvaluator
from ..pure_net import pure_net

GO, CHESS = get_game("go5"), get_game("chess")
SMALL = SelfPlayConfig(games=6, visits=12, temperature_moves=8, max_moves=30, cache_mb=0)


def play_all(play: SelfPlay, most: int = 100_000) -> list[PlayedGame]:
    """All games, by id."""
    games: list[PlayedGame] = []
    for _ in range(most):
        if play.finished:
            return sorted(games, key=lambda game: game.id)
        games += play.step()
    raise AssertionError("the games do not end")


def net(game: Any = GO, seed: int = 0) -> FunctionEvaluator:
    return FunctionEvaluator(pure_net(game.num_actions, wdl=True, seed=seed), history=game.history)


def as_lists(game: PlayedGame) -> list[Any]:
    parts = (game.moves, game.target_moves, game.target, game.values, game.outlooks, game.draws)
    return [game.id, game.result, game.reason, game.played_on, *(part.tolist() for part in parts)]


VARIANTS = {
    "az": SMALL,
    "agz": replace(SMALL, search=paper_params("agz"), cache_mb=1),
    "gumbel": replace(SMALL, gumbel=6),
    "openings": replace(SMALL, opening_moves=3.0),
    "playing": replace(SMALL, search=SearchParams(mate_plies=0), resign=-0.5),
}


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_game_is_the_same_whoever_plays_it(config: SelfPlayConfig) -> None:
    together = play_all(SelfPlay(GO, net(), config, 7, range(12)))
    assert [game.id for game in together] == list(range(12))
    assert len({tuple(game.moves.tolist()) for game in together}) == 12
    even = play_all(SelfPlay(GO, net(), replace(config, games=2), 7, range(0, 12, 2)))
    assert [as_lists(game) for game in even] == [as_lists(game) for game in together[::2]]
    other = play_all(SelfPlay(GO, net(), config, 8, range(3)))
    assert [as_lists(game) for game in other] != [as_lists(game) for game in together[:3]]


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
def test_going_on_from_a_kept_state(config: SelfPlayConfig) -> None:
    def begun() -> SelfPlay:
        return SelfPlay(GO, net(), config, 7, range(12), net=5)

    play = begun()
    early = [game for _ in range(400) for game in play.step()]  # all six of the first games
    file = io.BytesIO()
    state = play.state()
    for name in [name for name in state if name.endswith(".said")]:  # as an earlier version kept it
        state[name] = np.pad(state[name], ((0, 0), (0, 1)), constant_values=0.5)
        state[name.replace("said", "known_moves")] = np.zeros(26, np.uint16)
    np.savez(file, allow_pickle=False, **state)
    file.seek(0)
    again = begun()
    with np.load(file, allow_pickle=False) as kept:
        again.restore({name: kept[name] for name in kept.files})
    assert early
    for _ in range(2000):
        ours, theirs = play.step(), again.step()
        assert [as_lists(game) for game in ours] == [as_lists(game) for game in theirs]
        assert (play.simulations, play.evaluations, play.positions) == (
            again.simulations, again.evaluations, again.positions,
        )  # fmt: skip
    assert play.finished
    assert again.finished


@pytest.mark.slow
def test_openings_are_drawn_from_the_net_and_are_no_targets() -> None:
    config = replace(SMALL, opening_moves=3.0, temperature_moves=0, noise_share=0.0, games=32, max_moves=40, visits=4)
    games = play_all(SelfPlay(GO, net(), config, 1, range(400)))
    games = [game for game in games if game.target.any()]  # the others ended in their opening
    assert len(games) > 380
    lengths = [int((game.target.sum(axis=1) > 0).argmax()) for game in games]
    assert np.mean(lengths) == pytest.approx(1 / (np.exp(1 / 3) - 1), abs=0.5)  # of the exponential's whole part
    assert lengths.count(0) == pytest.approx(400 * (1 - np.exp(-1 / 3)), abs=30)
    for game, length in zip(games, lengths, strict=True):
        assert (game.target[:length] == 0).all()
        assert (game.target[length:].sum(axis=1) > 0.99).all()
    first = [int(game.moves[0]) for game, length in zip(games, lengths, strict=True) if length]
    said = opinions_of(GO, net(), [GO.initial()])[0]
    drawn = np.array([first.count(int(move)) for move in said.moves]) / len(first)
    assert np.abs(drawn - said.policy).max() < 0.07
    assert max(drawn) < 0.9  # not always the best


def test_temperature_then_the_most_visited_move() -> None:
    config = replace(SMALL, noise_share=0.0, temperature_moves=4, kept_moves=26, games=32)
    games = play_all(SelfPlay(GO, net(), config, 1, range(64)))
    games = [game for game in games if len(game.moves) > 6]
    assert len(games) > 40
    best, drawn, expected = [], [], []
    for game in games:
        for ply, move in enumerate(game.moves):
            share = game.target[ply][game.target_moves[ply] == move].max()
            best.append((ply, share == game.target[ply].max()))
            if ply < 4:
                drawn.append(share)
                expected.append((game.target[ply] ** 2).sum())
    assert all(at_most for ply, at_most in best if ply >= 4)
    assert not all(at_most for ply, at_most in best if ply < 4)
    assert np.mean(drawn) == pytest.approx(np.mean(expected), abs=0.06)


def decided(planes: Any) -> Any:
    """A net that sees black lose everywhere, whatever happens."""
    black = planes.reshape(len(planes), *GO.planes)[:, 16, 0, 0] == 1
    values = np.where(black, -0.95, 0.95).astype(np.float32)
    return np.zeros((len(planes), GO.num_actions), np.float32), values[:, None]


def test_resignation_and_the_games_played_on() -> None:
    config = replace(SMALL, resign=-0.8, play_on_share=0.25, games=32, visits=8)
    games = play_all(SelfPlay(GO, FunctionEvaluator(decided), config, 3, range(200)))
    resigned = [game for game in games if game.reason == "resigned"]
    played_on = [game for game in games if game.played_on]
    assert len(played_on) == pytest.approx(50, abs=20)
    assert len(resigned) > 100
    assert not any(game.played_on for game in resigned)
    for game in resigned:
        assert game.result == -1  # black gave up, at its first turn but the very first that does not win at once
        assert len(game.moves) % 2 == 0
        assert (game.outlooks[2::2] >= -0.8).all()
    for game in games:
        if not game.played_on and game.reason != "resigned":
            assert 25 in game.moves[1::2]  # white passed, so that black could win at once
    for game in played_on:
        assert (game.outlooks[::2] < -0.8).any()  # the control can tell where black would have given up
        assert (game.outlooks >= game.values - 1e-6).all()
    never = play_all(SelfPlay(GO, FunctionEvaluator(decided), replace(config, resign=None), 3, range(20)))
    assert {game.reason for game in never} <= {"rules", "max moves"}


def test_what_is_proven_is_not_given_up() -> None:
    """Black moves, then white has a mate in one, which a net that sees white lose does not know."""
    start = CHESS.parse_position("7k/p6p/4P3/8/8/8/1B6/3R2K1 b - - 0 1")[0]
    actions = np.zeros((1, 1), np.int32)
    CHESS.actions(start, np.zeros(1, np.int64), np.array([[CHESS.parse_move(start, "h8g8")]], np.uint16), actions)

    def lost(planes: Any) -> Any:
        white = planes.reshape(len(planes), *CHESS.planes)[:, 112, 0, 0] == 1
        logits = np.zeros((len(planes), CHESS.num_actions), np.float32)
        logits[~white, actions[0, 0]] = 9.0
        return logits, np.where(white, -0.99, 0.99).astype(np.float32)[:, None]

    search = replace(paper_params("az"), solver=True)
    config = replace(SMALL, games=1, visits=60, search=search, temperature=0.0, noise_share=0.0, resign=-0.9)
    (game,) = play_all(SelfPlay(CHESS, FunctionEvaluator(lost, history=8), config, 0, range(1), start=start))
    assert (game.reason, game.result, len(game.moves)) == ("rules", 1, 2)
    assert (game.values[1], game.outlooks[1], game.draws[1]) == (1.0, 1.0, 0.0)


def test_the_cap_scores_go_and_draws_chess() -> None:
    config = replace(SMALL, max_moves=7)
    for game in play_all(SelfPlay(GO, net(), config, 1, range(8))):
        line = GO.initial()
        for move in game.moves.tolist():
            line = GO.play(line, move)
        if game.reason == "max moves":
            assert len(game.moves) == 7
            black, _ = GoTerritory().score(line[-1])
            assert game.result == np.sign(black)
    drawn = play_all(SelfPlay(CHESS, net(CHESS), replace(config, games=2), 1, range(2)))
    assert [(game.result, game.reason, len(game.moves)) for game in drawn] == [(0, "max moves", 7)] * 2


def test_a_start_of_ones_own() -> None:
    start = GO.parse_position(GO.format_position(GO.initial()[0]))[0]
    start["komi"] = 1
    play = SelfPlay(GO, net(), SMALL, 1, range(2), start=start)
    assert (play._lockstep.states[:2, 0]["komi"] == 1).all()
    last = CHESS.parse_position("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1")[0]  # one legal move, and then bare kings
    config = replace(SMALL, games=1)
    drawn = play_all(SelfPlay(CHESS, net(CHESS), config, 1, range(1), start=last))
    assert [(len(game.moves), game.result, game.reason) for game in drawn] == [(1, 0, "rules")]
    black = CHESS.parse_position("6k1/5ppp/8/8/8/8/8/4K2R b - - 0 1")[0]
    assert CHESS.side_to_move(black[0]) == 1
    assert SelfPlay(CHESS, net(CHESS), config, 1, range(1), start=black)._first_moves(1)


def test_another_net_on_the_way() -> None:
    play = SelfPlay(GO, net(), replace(SMALL, cache_mb=1), 1, range(12), net=1)
    games = [game for _ in range(100) for game in play.step()]
    play.use(net(seed=9), 2)
    games += play_all(play)
    assert {game.nets for game in games} >= {(1, 2), (2, 2)}
    assert play.evaluations < play.simulations


def test_bad_settings_are_refused() -> None:
    for wrong in (
        {"visits": 0}, {"noise_share": 1.5}, {"noise_alpha": 0.0}, {"resign": 2.0}, {"games": 0},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(wrong))[:4]):
            SelfPlayConfig(**wrong)


def test_no_mates_are_looked_for_beside_the_search() -> None:
    with pytest.raises(OptionError, match="mate_plies"):
        replace(SMALL, search=SearchParams(solver=True))
    replace(SMALL, search=SearchParams(solver=False))


@pytest.mark.slow
def test_memory_and_speed_do_not_depend_on_how_long_it_runs() -> None:
    """Nothing grows: the same arrays after many games, and lists only of games in progress."""
    play = SelfPlay(GO, UniformEvaluator(GO), replace(SMALL, games=16, visits=8), 1)
    for _ in range(300):
        play.step()
    before = {name: part.nbytes for name, part in vars(play._lockstep).items() if isinstance(part, np.ndarray)}
    deepest = play._lockstep.counters.max(axis=0)
    for _ in range(3000):
        play.step()
    assert before == {name: part.nbytes for name, part in vars(play._lockstep).items() if isinstance(part, np.ndarray)}
    assert play._lockstep.counters[:, :2].max() <= 4 * max(deepest[:2])
    assert all(seat is not None and len(seat.moves) < 30 for seat in play._seats)
