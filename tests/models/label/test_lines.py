"""The lines that a search looks at, and their labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.nets.opinions import RawNet
from az_engine.engine.records.formats import format_games
from az_engine.engine.records.record import Record
from az_engine.models.data.formats import shards_of
from az_engine.models.data.games.chess import FORMAT
from az_engine.models.data.games.go import ADJUDICATED, read_shard
from az_engine.models.data.shards import TargetOptions
from az_engine.models.label.sources import lines
from az_engine.models.label.sources.lines import LEAST_DEPTH, LINES, Explorer

from .. import reference
from .labelling import GTP, UCI, label, labelled


def played(game: Game, plies: int, seed: int) -> tuple[State, np.ndarray]:
    """Random moves, without a pass as long as there are others."""
    rng = np.random.default_rng(seed)
    line, moves = game.initial(), []
    for _ in range(plies):
        legal = game.legal_moves(line)
        move = int(rng.choice(legal[:-1] if len(legal) > 1 else legal))
        if game.outcome(game.play(line, move)) != RUNNING:
            break
        moves.append(move)
        line = game.play(line, move)
    return line, np.array(moves, np.uint16)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chess", "shogi", "go9"])
def test_lines_are_legal_and_leave_the_game_at_their_root(name: str) -> None:
    game = get_game(name)
    line, moves = played(game, 14, 3)
    explorer = Explorer("default", game, 60, seed=5)
    found = list(explorer.variations(line, moves, 7))
    assert found
    roots = [one.root for one in found]
    assert roots == sorted(roots, reverse=True)
    assert max(np.bincount(roots)) <= LINES
    for one in found:
        assert one.moves[: one.root].tolist() == moves[: one.root].tolist()
        again = game.initial()
        for move in one.moves.tolist():
            assert move in game.legal_moves(again)
            again = game.play(again, move)
        assert (again == one.line).all()
        assert game.outcome(again) == RUNNING
    assert max(len(one.moves) - one.root for one in found) >= LEAST_DEPTH
    same = list(Explorer("default", game, 60, seed=5).variations(line, moves, 7))
    assert [one.moves.tolist() for one in same] == [one.moves.tolist() for one in found]
    other = list(explorer.variations(line, moves, 8))
    assert [one.moves.tolist() for one in other] != [one.moves.tolist() for one in found]


def test_a_line_ends_before_the_game_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that would play fool's mate are cut short of it, and there are some."""
    monkeypatch.setattr(lines, "SHARE", 1.0)
    monkeypatch.setattr(lines, "LINES", 1000)
    monkeypatch.setattr(lines, "LEAST_DEPTH", 1)
    game = get_game("chess")
    line, moves = game.initial(), []
    for word in ("f2f3", "e7e5", "g2g4", "b8c6"):
        moves.append(game.parse_move(line, word))
        line = game.play(line, moves[-1])
    found = list(Explorer("default", game, 80, seed=1).variations(line, np.array(moves, np.uint16), 0))
    assert all(game.outcome(one.line) == RUNNING for one in found)
    assert [one for one in found if one.root == 3 and len(one.moves) == 3]  # the mate itself, cut
    assert [one for one in found if one.root < 3 and len(one.moves) > one.root]


def written(path: Path, game: Game, count: int, plies: int) -> Path:
    """A file of games."""
    games = []
    for number in range(count):
        line, moves = played(game, plies, number)
        words = tuple(game.format_move(state, move) for state, move in zip(line, moves.tolist(), strict=False))
        games.append(Record.of_line(words, game.format_position(line[0]), 1, "resignation"))
    form = game.record_formats[0]
    path.write_bytes(form.encode(format_games(games, form), path.name))
    return path


@pytest.mark.slow
def test_chess_lines_follow_their_games(tmp_path: Path) -> None:
    game = get_game("chess")
    pgn = written(tmp_path / "games.pgn", game, 2, 12)
    words = ("--engine", UCI, "--records", pgn)
    records, plain = labelled(tmp_path / "out", *words, "--search", 40), labelled(tmp_path / "plain", *words)
    assert len(records) > len(plain)
    for number in range(2):
        mine, bare = (part[part["game"] == number] for part in (records, plain))
        assert (mine[: len(bare)] == bare).all()  # the game's own records are what they are without a search
        plies = mine["ply"].astype(np.int64)
        for row in range(len(bare), len(mine) - 1):
            board = reference.board_of(mine[row])
            move = reference.move_of(int(mine[row]["played"]))
            assert move in board.legal_moves
            if plies[row + 1] == plies[row] + 1:
                board.push(move)
                assert reference.board_of(mine[row + 1]).board_fen() == board.board_fen()
            else:  # another line, from no later a root: never taken for this one's continuation
                assert plies[row + 1] <= plies[row]
    train, held = shards_of("chess").read_folder(game, _with_holdout(tmp_path / "out"), TargetOptions())
    assert len(train) + len(held) == len(records)


def _with_holdout(folder: Path) -> list[Path]:
    """One of two games apart."""
    (path,) = folder.glob("*.npz")
    records = FORMAT.read(path)
    FORMAT.write(folder / "holdout.npz", records[records["game"] == 1])
    return [path, folder / "holdout.npz"]


@pytest.mark.slow
def test_go_lines_have_the_teachers_result(tmp_path: Path) -> None:
    game = get_game("go9")
    sgf = written(tmp_path / "games.sgf", game, 2, 10)
    words = ("--engine", f"{GTP} --owners", "--nodes", "5", "--search", "40", "--student", "default")
    label(tmp_path / "out", "--game", "go", "--records", sgf, *words)
    d, g = read_shard(next((tmp_path / "out").glob("*.npz")), 81)
    assert (g["reason"] == ADJUDICATED).all()
    for number in range(2):
        part = d[d["game"] == number]
        count = 10
        assert part["ply"][:count].tolist() == list(range(count))
        assert (part["z"][:count] == np.where(part["turn"][:count] == 1, 1, -1)).all()
        lines = part[count:]
        assert len(lines)
        favoured = np.sign(2 * lines["w"].astype(np.int64) - 65535)
        assert (lines["z"] == favoured).mean() > 0.9  # a chance close to a half may round to no result
        assert (lines["z"] != -favoured).all()


def test_a_net_says_the_same_of_positions_one_by_one_and_together() -> None:
    game = get_game("go9")
    several = [played(game, plies, plies)[0] for plies in (0, 3, 8, 11, 20)]
    together = RawNet("default", game, 4).opinions(several)
    for one, line in zip(together, several, strict=True):
        alone = RawNet("default", game).opinion(line)
        assert one.moves.tolist() == alone.moves.tolist()
        np.testing.assert_allclose(one.policy, alone.policy, atol=1e-4)
        assert one.chance == pytest.approx(alone.chance, abs=1e-4)
        assert one.lead == pytest.approx(alone.lead, abs=1e-2)
        np.testing.assert_allclose(one.ownership, alone.ownership, atol=1e-3)
