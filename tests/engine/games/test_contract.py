"""What every game must keep, those of ``examples/`` too, checked over random games through the seam alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from az_engine.engine.errors import IllegalMoveError, OptionError, PositionError
from az_engine.engine.games import game_names, get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.engine.info import Wdl
from az_engine.engine.params import EngineOptions

from ...games import DIRECTORY

GAMES = game_names()
SEEN = [(name, encoder) for name in GAMES for encoder in (get_game(name).encoder.name, *get_game(name).encoders)]


def random_games(game: Game, seed: int, count: int = 8, plies: int = 120) -> Iterator[State]:
    """Lines of every position of some random games."""
    rng = random.Random(seed)
    for _ in range(count):
        line = game.initial()
        yield line
        for _ in range(plies):
            moves = game.legal_moves(line)
            if len(moves) == 0 or game.outcome(line) != RUNNING:
                break
            line = game.play(line, int(rng.choice(moves.tolist())))
            yield line


@pytest.fixture(params=SEEN, ids=" ".join)
def game(request: pytest.FixtureRequest) -> Game:
    name, encoder = request.param
    return get_game(name).using(encoder)


def test_games_are_found() -> None:
    examples = {file.parent.name for file in DIRECTORY.glob("*/rules.py")}
    assert {"chess", "go", "shogi", "connect_four", *examples} <= set(GAMES)
    with pytest.raises(OptionError, match="chess"):
        get_game("ludo")


def test_encoders() -> None:
    for name, encoder in SEEN:
        plain = get_game(name)
        seen = plain.using(encoder)
        assert (seen.name, seen.encoder.name) == (name, encoder)
        assert seen.using(encoder) is seen
        assert seen.using(plain.encoder.name) is plain
        assert all(seen.using(other) is plain.using(other) for other in plain.encoders)
        with pytest.raises(OptionError, match="alphazero"):
            seen.using("nobody's")


def test_constants(game: Game) -> None:
    assert game.name in GAMES
    assert game.protocol in ("uci", "usi", "gtp")
    assert len(game.planes) == 3
    assert game.encoder.plane_scale.shape == (game.planes[0],)
    assert game.encoder.plane_scale.dtype == np.float32
    assert 1 <= game.max_moves <= game.num_actions <= 2**16
    assert game.history >= 1
    assert game.encoder.planes_version >= 1
    assert game.encoder.moves_version >= 1
    assert 0 < game.training.noise_alpha < 1
    assert 0 < game.typical_moves < game.training.longest_game
    assert 1 < game.branching <= game.max_moves


def test_scores_are_odd_and_rise_with_the_chances(game: Game) -> None:
    options = EngineOptions()
    scores = [game.centipawns(Wdl(win / 100, 0.0, 1.0 - win / 100), options) for win in range(101)]
    assert scores == [-score for score in reversed(scores)]
    assert all(worse < better for worse, better in pairwise(scores))
    points = [game.expected_points(score) for score in scores]
    assert points[50] == 0.5
    assert points == sorted(points)


def test_the_start(game: Game) -> None:
    line = game.initial()
    assert line.shape == (1,)
    assert line.dtype == game.state_dtype
    assert game.side_to_move(line[-1]) == 0
    assert game.outcome(line) == RUNNING
    text = game.format_position(line[-1])
    again, notes = game.parse_position(text)
    assert notes == []
    assert (again == line).all()


def test_positions_and_moves_as_text(game: Game) -> None:
    for line in random_games(game, 1, count=1):
        state = line[-1]
        again, notes = game.parse_position(game.format_position(state))
        assert notes == []
        assert game.format_position(again[-1]) == game.format_position(state)
        moves = game.legal_moves(state)
        assert len(set(moves.tolist())) == len(moves) <= game.max_moves
        texts = [game.format_move(state, int(move)) for move in moves]
        assert len(set(texts)) == len(texts)
        assert [game.parse_move(state, text) for text in texts] == moves.tolist()


def test_nonsense_is_refused(game: Game) -> None:
    for text in ("", "nonsense", "\x00", "9" * 1000, "é"):
        with pytest.raises(PositionError):
            game.parse_position(text)
        with pytest.raises(IllegalMoveError):
            game.parse_move(game.initial()[-1], text)


POSITION_TEXT = st.text(max_size=120) | st.text("KQRBNPGSLkqrbnpgslXO+123456789/ bw-*abcdefgh.", max_size=90)
MOVE_TEXT = st.text(max_size=8) | st.from_regex("[1-9A-Ta-i][1-9a-i*]([1-9a-i][1-9a-i])?[nbrqk+]?", fullmatch=True)


@given(position=POSITION_TEXT, move=MOVE_TEXT)
@pytest.mark.parametrize("name", [*GAMES, "chess960"])
def test_any_text_is_read_or_refused(name: str, position: str, move: str) -> None:
    game = get_game("chess").variant(name) if name == "chess960" else get_game(name)
    refusals, number = [], None
    try:
        game.parse_position(position)
    except PositionError as refusal:
        refusals.append(str(refusal))
    start = game.initial()[-1]
    legal = {game.format_move(start, each): each for each in game.legal_moves(start).tolist()}
    try:
        number = game.parse_move(start, move)
    except IllegalMoveError as refusal:
        refusals.append(str(refusal))
    assert all(refusal.isprintable() for refusal in refusals)
    assert number in legal.values() or (number is None and move not in legal)


def test_sides_alternate_and_play_leaves_the_past_alone(game: Game) -> None:
    previous: State | None = None
    for line in random_games(game, 2):
        if previous is not None and len(line) == len(previous) + 1:
            assert (line[:-1] == previous).all()
            assert game.side_to_move(line[-1]) == 1 - game.side_to_move(line[-2])
        assert game.outcome(line) in (LOSS, DRAW, WIN, RUNNING)
        previous = line


def test_play_in_place(game: Game) -> None:
    for line in random_games(game, 3, count=2, plies=40):
        moves = game.legal_moves(line)
        if len(moves) == 0:
            continue
        longer = game.play(line, int(moves[-1]))
        dirty = np.full(line.itemsize, 255, np.uint8).view(line.dtype)
        in_place = np.concatenate([line, dirty])
        game.play_at(in_place, len(line) - 1, int(moves[-1]))
        assert (in_place == longer).all()


def test_perft_counts_moves(game: Game) -> None:
    state = game.initial()[-1]
    moves = game.legal_moves(state)
    assert game.perft(state, 1) == dict.fromkeys(moves.tolist(), 1)
    two = game.perft(state, 2)
    for move in moves:
        after = game.play(game.initial(), int(move))
        assert two[int(move)] == len(game.legal_moves(after[-1]))


def test_perft_is_a_plain_count(game: Game) -> None:
    def leaves(line: State, depth: int) -> int:
        moves = game.legal_moves(line[-1:])
        return len(moves) if depth == 1 else sum(leaves(game.play(line[-1:], int(m)), depth - 1) for m in moves)

    if game.max_moves > 10:
        pytest.skip("its own suites of counts go deeper")
    assert sum(game.perft(game.initial()[-1], 5).values()) == leaves(game.initial(), 5)


def test_actions_are_distinct_and_planes_are_written_whole(game: Game) -> None:
    for line in random_games(game, 4, count=4):
        moves = game.legal_moves(line)
        if len(moves) == 0:
            continue
        here, first = np.array([len(line) - 1]), np.zeros(1, np.int64)
        actions = np.empty((1, len(moves)), np.int32)
        game.actions(line, here, moves[None], actions)
        assert len(set(actions[0].tolist())) == len(moves)
        assert 0 <= actions.min() <= actions.max() < game.num_actions
        clean, dirty = np.zeros((1, game.encoder.width), np.uint8), np.full((1, game.encoder.width), 99, np.uint8)
        game.encode(line, here, first, clean)
        game.encode(line, here, first, dirty)
        assert (clean == dirty).all()


def test_leaves_agree_with_playing_move_by_move(game: Game) -> None:
    """The search's kernel says of a batch of paths what the slow way says of each."""
    rng = random.Random(5)
    lines = list(random_games(game, 6, count=3, plies=60))[::7]
    compare_leaves(game, [(line, *random_paths(game, line, rng, 6)) for line in lines])


def compare_leaves(game: Game, cases: list[tuple[State, list[list[int]], list[State]]]) -> None:
    """``cases``: lines, paths from their ends, and the lines that these lead to."""
    for line, paths, ends in cases:
        window = game.window(line)
        batch = len(paths)
        states = np.zeros((1, len(window) + 20), game.state_dtype)
        states[0, : len(window)] = window
        leaves = game.encoder.make_leaves(batch, 16)
        leaves.planes[:] = 99
        for row, path in enumerate(paths):
            leaves.paths[row, : len(path)] = path
            leaves.rows[row]["length"] = len(path)
        leaves.rows["root"] = len(window) - 1
        game.encoder.describe(states, leaves, batch, game.history, 0)
        seen: dict[int, Any] = {}
        for row, (path, end) in enumerate(zip(paths, ends, strict=True)):
            leaf = leaves.rows[row]
            expected = game.legal_moves(end)
            outcome = game.outcome(end)
            if not path and len(expected):
                outcome = RUNNING  # at the root no draw is called
            assert leaf["outcome"] == outcome
            if outcome != RUNNING:
                continue
            assert leaves.moves[row, : leaf["count"]].tolist() == expected.tolist()
            here, first = np.array([len(end) - 1]), np.zeros(1, np.int64)
            wanted = np.empty((1, len(expected)), np.int32)
            game.actions(end, here, expected[None], wanted)
            assert leaves.actions[row, : leaf["count"]].tolist() == wanted[0].tolist()
            shown = np.full((1, game.encoder.width), 99, np.uint8)
            game.encode(end, here, first, shown)
            assert (leaves.planes[row] == shown[0]).all()
            assert seen.setdefault(int(leaf["key"]), shown.tobytes()) == shown.tobytes()


def random_paths(game: Game, line: State, rng: random.Random, count: int) -> tuple[list[list[int]], list[State]]:
    """Random moves from the end of a line, and the lines they lead to; the first path is empty."""
    paths: list[list[int]] = []
    ends = []
    for length in range(count):
        path: list[int] = []
        end = line
        while len(path) < length:
            moves = game.legal_moves(end)
            if len(moves) == 0 or (path and game.outcome(end) != RUNNING):
                break
            path.append(int(rng.choice(moves.tolist())))
            end = game.play(end, path[-1])
        paths.append(path)
        ends.append(end)
    return paths, ends


def test_no_states_at_all(game: Game) -> None:
    """The kernels of training are given what a shard holds, and a shard may be empty."""
    states, none = np.zeros(0, game.state_dtype), np.zeros(0, np.int64)
    game.normalise(states)
    game.count_repetitions(states, none)
    game.encode(states, none, none, np.zeros((0, game.encoder.width), np.uint8))
    game.legal_actions(states, none, np.zeros((0, game.max_moves), np.int32), np.zeros(0, np.int32))


def test_whole_games_in_one_array(game: Game) -> None:
    """The kernels of training on games laid end to end: repetitions, planes and legal actions."""
    lines = [list(random_games(game, seed, count=1, plies=50))[-1] for seed in range(3)]
    states = np.concatenate(lines)
    starts = np.cumsum([0, *[len(line) for line in lines[:-1]]])
    first = np.repeat(starts, [len(line) for line in lines]).astype(np.int64)
    again = states.copy()
    game.normalise(again)
    game.count_repetitions(again, first)
    assert (again == states).all()
    index = np.random.default_rng(0).permutation(len(states))[::5]
    planes = np.zeros((len(index), game.encoder.width), np.uint8)
    game.encode(states, index, first[index], planes)
    actions = np.zeros((len(index), game.max_moves), np.int32)
    counts = np.zeros(len(index), np.int32)
    game.legal_actions(states, index, actions, counts)
    for row, i in enumerate(index):
        line = states[first[i] : i + 1]
        one = np.zeros((1, game.encoder.width), np.uint8)
        game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), one)
        assert (planes[row] == one[0]).all()
        moves = game.legal_moves(line[-1])
        alone = np.zeros((1, len(moves)), np.int32)
        game.actions(line, np.array([len(line) - 1]), moves[None], alone)
        assert actions[row, : counts[row]].tolist() == alone[0].tolist()


_PASS_LONG_AGO = (26,)  # of the encoder "rules": the only plane left out that is not empty


def test_every_plane_that_is_written_reaches_the_net(game: Game) -> None:
    """At every history that a net may ask for; with all of it, a net sees all planes that our nets do not leave out."""
    left_out = game.encoder.unused
    assert sorted((*game.encoder.used_planes(game.history), *left_out)) == list(range(game.planes[0]))
    line = list(random_games(game, 11, count=1, plies=12))[-1]
    first, here = np.zeros(1, np.int64), np.array([len(line) - 1])
    for history in range(1, game.history + 1):
        planes = np.full((1, *game.planes), 99, np.uint8)
        game.encode(line, here, first, planes, history)
        unused = np.setdiff1d(np.arange(game.planes[0]), game.encoder.used_planes(history))
        assert not planes[0, np.setdiff1d(unused, _PASS_LONG_AGO if left_out else ())].any()
