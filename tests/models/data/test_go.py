"""Labelled Go records as batches: positions rebuilt move by move, strict counting, symmetries, damaged files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.data.dataset import Positions, Sampling
from az_engine.models.data.games.go import policy, read_folder, read_shard, results, to_positions
from az_engine.models.data.shards import Records, TargetOptions

SAMPLE = Path(__file__).parents[2] / "data" / "go9_train_sample.npz"  # 8 games, one held out by its number
GO = get_game("go")


@cache
def sample() -> tuple[Records, Records]:
    return read_shard(SAMPLE, 81)


@cache
def positions() -> Positions:
    return to_positions(GO, *sample(), TargetOptions(), "")


def test_states_are_those_of_the_game_played_move_by_move() -> None:
    d, g = sample()
    data = positions()
    assert len(data) == len(d)
    row = 0
    for game in g:
        records = d[d["game"] == game["game"]]
        line = GO.parse_position(f"9/9/9/9/9/9/9/9/9 b - {game['komi']} chinese-ogs")[0]
        for move in game["open"][: game["nopen"]].tolist():
            line = GO.play(line, move)
        for record in records:
            state = data.states[data.drawn[row]]
            assert data.first[data.drawn[row]] == data.drawn[row] - (len(line) - 1)
            for field in ("stones", "key", "turn", "ply", "komi", "passes", "rules", "columns", "rows", "ko", "last"):
                assert (state[field] == line[-1][field]).all(), field
            line = GO.play(line, int(record["played"]))
            row += 1
    assert row == len(d)


def test_batches_hold_legal_labelled_moves() -> None:
    d, _ = sample()
    batch = positions().batch(np.arange(len(d)))
    assert batch.legal is not None
    np.testing.assert_allclose(batch.probabilities.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(batch.wdl.sum(axis=1), 1, rtol=1e-5)
    assert (batch.actions[:, 0] == d["mv"][:, 0]).all()
    assert (batch.planes[:, 16].reshape(len(d), -1) == (d["turn"] == 1)[:, None]).all()
    own = d["stones"] == d["turn"][:, None]
    assert (batch.planes[:, 0].reshape(len(d), -1) == own).all()


def test_counting_is_strict() -> None:
    d, g = sample()
    games = g[[int(np.flatnonzero(g["game"] == number)[0]) for number in d["game"]]]
    z = results(d, games)
    differs = z != d["z"]
    assert differs.any()
    assert (games["reason"][differs] != 2).all()
    assert (z == np.where(games["reason"] == 2, d["z"], np.sign(games["tt"]) * (3 - 2 * d["turn"].astype(int)))).all()
    dead = d["dead"] == 1
    assert dead.any()
    passing = (policy(d, 81) * (d["mv"] == 81)).sum(axis=1)
    only_pass = (d["p"] * (d["mv"] != 81)).sum(axis=1) == 0
    assert (passing[dead & ~only_pass] == 0).all()
    assert passing[~dead].max() > 0.5
    batch = positions().batch(np.flatnonzero(dead))
    assert (batch.wdl.argmax(axis=1) == 1 - z[dead]).all()
    assert (batch.wdl.max(axis=1) == 1).all()


def test_symmetries_turn_planes_and_moves_together() -> None:
    d, g = sample()
    turned = to_positions(GO, d, g, TargetOptions(), "")
    turned.sampling = Sampling(symmetries=True)
    assert GO.symmetries is not None
    indices = np.arange(0, len(d), 3)
    plain, batch = positions().batch(indices), turned.batch(indices)
    assert (turned.batch(indices).planes == batch.planes).all()
    assert plain.legal is not None
    assert batch.legal is not None
    seen = set()
    for row in range(len(indices)):
        fits = [
            k
            for k, image in enumerate(GO.symmetries.actions)
            if (GO.symmetries.turn(plain.planes[row : row + 1], np.array([k]))[0] == batch.planes[row]).all()
            and (image[plain.actions[row]] == batch.actions[row]).all()
            and sorted(image[plain.legal[row][plain.legal[row] >= 0]])
            == sorted(batch.legal[row][batch.legal[row] >= 0])
        ]
        assert fits
        seen.add(fits[0])
    assert len(seen) == 8
    assert (plain.probabilities == batch.probabilities).all()


def test_folders_and_modes() -> None:
    train, heldout = read_folder(GO, [SAMPLE], TargetOptions(policy="played"))
    assert len(train) > 200
    assert 0 < len(heldout) < 110
    d, _ = sample()
    assert len(train) + len(heldout) == int((d["rnd"] == 0).sum())
    assert (train.batch(np.arange(5)).probabilities == 1).all()
    with pytest.raises(DataError, match="two files"):
        read_folder(GO, [SAMPLE, SAMPLE], TargetOptions())
    with pytest.raises(DataError, match="--size"):
        read_shard(SAMPLE, 361)


def test_files_of_two_makers_are_one_data_set(tmp_path: Path) -> None:
    """One has fields of its own and shorter rows, the other no owners, which then none has."""
    d, g = sample()
    first = np.isin(d["game"], g["game"][:4])
    np.savez_compressed(tmp_path / "a.npz", d=d[first], g=g[:4])
    names = [name for name in d.dtype.names or () if name not in ("own", "lead", "mv", "p")]
    longer = [(name, d.dtype[name]) for name in names] + [("mv", "<u2", (20,)), ("p", "<u2", (20,))]
    other = np.zeros(int((~first).sum()), np.dtype(longer))
    for name in (*names, "mv", "p"):
        row = other[name][:, :16] if name in ("mv", "p") else other[name]
        row[...] = d[name][~first]
    needed = ("game", "nopen", "open", "komi", "reason", "tt")
    plain = np.zeros(len(g) - 4, np.dtype([(name, g.dtype[name]) for name in needed]))
    for name in needed:
        plain[name] = g[name][4:]
    assert len(g.dtype.names or ()) > len(needed)
    np.savez_compressed(tmp_path / "b.npz", d=other, g=plain)
    both = read_folder(GO, [tmp_path / "a.npz", tmp_path / "b.npz"], TargetOptions())
    alone = read_folder(GO, [SAMPLE], TargetOptions())
    for joined, whole in zip(both, alone, strict=True):
        assert joined.ownership is None
        assert joined.score is None
        got, expected = (data.batch(np.arange(len(data))) for data in (joined, whole))
        assert (got.planes == expected.planes).all()
        assert (got.wdl == expected.wdl).all()
        assert (got.probabilities[:, :16] == expected.probabilities).all()
        assert not got.probabilities[:, 16:].any()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("stones", 3, "neither black nor white"),
        ("turn", 0, "side to move"),
        ("ko", 81, "ko point"),
        ("n", 17, "no labelled move"),
        ("mv", 82, "off the board"),
        ("p", 0, "no probability"),
        ("z", 2, "result"),
        ("game", 7, "not in g"),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, field: str, value: int, message: str) -> None:
    d, g = (array.copy() for array in sample())
    d[field][4] = value
    np.savez_compressed(tmp_path / "x.npz", d=d, g=g)
    with pytest.raises(DataError, match=f"record 4: .*{message}"):
        read_shard(tmp_path / "x.npz", 81)


@pytest.mark.parametrize(
    ("field", "value"), [("komi", np.nan), ("komi", 6.3), ("nopen", 9), ("tt", np.inf), ("open", 99)]
)
def test_damaged_games_are_refused(tmp_path: Path, field: str, value: Any) -> None:
    d, g = (array.copy() for array in sample())
    g[field][1] = value
    np.savez_compressed(tmp_path / "x.npz", d=d, g=g)
    with pytest.raises(DataError, match="game 1"):
        read_shard(tmp_path / "x.npz", 81)


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    d, g = sample()
    np.savez_compressed(tmp_path / "x.npz", d=np.zeros(3), g=g)
    with pytest.raises(DataError, match="missing"):
        read_shard(tmp_path / "x.npz", 81)
    np.savez_compressed(tmp_path / "x.npz", d=d)
    with pytest.raises(DataError, match="no shard"):
        read_shard(tmp_path / "x.npz", 81)
    moved = g.copy()
    moved["open"][moved["nopen"] > 0, 0] += 1
    with pytest.raises(DataError, match="opening"):
        to_positions(GO, d, moved, TargetOptions(), "")
