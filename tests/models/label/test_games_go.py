"""Labelling Go with GTP engines that analyse: records that the learner reads, and that say what the engine said."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import EngineProcessError, OptionError
from az_engine.engine.games import get_game
from az_engine.models.data.games.go import read_folder, read_shard
from az_engine.models.data.shards import Records, TargetOptions

from ...fakes.program import COMMAND, visits
from ..data.test_go import positions, sample
from .labelling import GTP, label

LZ = shlex.join([*COMMAND, "gtp", "--offers=lz-analyze"])
OURS = shlex.join([sys.executable, "-m", "az_engine", "gtp", "--weights-file", "uniform"])


def make(out: Path, *words: object, engine: str = GTP, games: int = 3, size: int = 5) -> tuple[Records, Records]:
    label(out, "--game", "go", "--size", size, "--engine", engine, "--games", games, "--nodes", 5, *words)
    parts = [read_shard(path, size * size) for path in sorted(out.glob("*.npz"))]
    return np.concatenate([d for d, _ in parts]), np.concatenate([g for _, g in parts])


def replayed(d: Records, g: Records, size: int) -> list[Any]:
    """The position of each record, rebuilt from the opening and the moves played."""
    game, positions = get_game(f"go{size}"), []
    for row in g:
        line = game.parse_position(f"{'/'.join([str(size)] * size)} b - {row['komi']:g} chinese-ogs")[0]
        for move in row["open"][: row["nopen"]]:
            line = game.play(line, int(move))
        for record in d[d["game"] == row["game"]]:
            positions.append(game.format_position(line[-1]))
            legal = game.legal_moves(line)
            assert set(record["mv"][: record["n"]].tolist()) <= set(legal.tolist())
            assert record["played"] in legal
            line = game.play(line, int(record["played"]))
    return positions


@pytest.mark.slow
@pytest.mark.parametrize("engine", [f"{GTP} --owners", GTP, LZ], ids=["owners", "no owners", "lz"])
def test_records_say_what_the_engine_said(tmp_path: Path, engine: str) -> None:
    d, g = make(tmp_path, "--multipv", "4", "--blunders", "0.3", engine=engine)
    assert sorted(g["game"]) == [0, 1, 2]
    assert set(g["komi"]) == {7.5}
    game = get_game("go5")
    owners = "--owners" in engine
    assert ("own" in (d.dtype.names or ())) == owners
    for record, position in zip(d, replayed(d, g, 5), strict=True):
        chance = visits(position, "chance") / 105
        assert record["w"] / 65535 == pytest.approx(chance, abs=1e-4)
        line = game.parse_position(position)[0]
        names = [game.format_move(line[-1], int(move)) for move in record["mv"][: record["n"]]]
        weights = np.array([visits(position, name) for name in names])
        assert record["n"] <= 4
        assert record["p"][: record["n"]] / 65535 == pytest.approx(weights / weights.sum(), abs=1e-4)
        assert record["rnd"] or record["played"] in record["mv"][: record["n"]]
        assert record["turn"] == 1 + "bw".index(position.split()[1])
        if owners:
            assert set(record["own"]) == ({20} if visits(position, "owner") > 50 else {-10})
            assert record["lead"] == 250
    assert d["rnd"].any()
    assert not ((d["rnd"] == 1) & (d["played"] == 25)).any()  # nobody passes blindly


@pytest.mark.slow
def test_results_are_those_of_the_board(tmp_path: Path) -> None:
    d, g = make(tmp_path, games=4, size=3)
    for row in g:
        own = d[d["game"] == row["game"]]
        if row["reason"] != 2:
            assert set(own["z"] * np.where(own["turn"] == 1, 1, -1)) == {np.sign(row["tt"])}
    assert set(g["reason"]) <= {1, 2, 3}


def test_dead_stones_are_those_that_katagos_count_takes_off() -> None:
    game, data = get_game("go"), positions()
    assert game.territory is not None
    found = [game.territory.counts_dead_stones(state) for state in data.states[data.drawn]]
    assert found == (sample()[0]["dead"] == 1).tolist()
    assert any(found)


@pytest.mark.slow
def test_the_learner_reads_them(tmp_path: Path) -> None:
    make(tmp_path, engine=f"{GTP} --owners", games=12)
    path = next(tmp_path.glob("*.npz"))
    d, g = read_shard(path, 25)
    held = {"d": d[d["game"] == 7], "g": g[g["game"] == 7]}
    np.savez_compressed(tmp_path / "holdout.npz", **held)
    np.savez_compressed(path, d=d[d["game"] != 7], g=g[g["game"] != 7])
    train, heldout = read_folder(get_game("go5"), sorted(tmp_path.glob("*.npz")), TargetOptions())
    assert len(train.drawn) + len(heldout.drawn) == len(d)
    assert train.ownership is not None
    assert train.score is not None


@pytest.mark.slow
def test_with_our_own_engine(tmp_path: Path) -> None:
    d, g = make(tmp_path, "--max-plies", "8", "--openings", "2", engine=OURS, games=1)
    assert len(replayed(d, g, 5)) == len(d) >= 1
    assert (d["n"] >= 1).all()


@pytest.mark.slow
def test_engines_that_do_not_analyse(tmp_path: Path) -> None:
    with pytest.raises(EngineProcessError, match="does not analyse"):
        make(tmp_path, engine=shlex.join([*COMMAND, "gtp", "pass"]), games=1)
    with pytest.raises(OptionError, match="16 moves at most"):
        make(tmp_path, "--openings", "17")
    with pytest.raises(OptionError, match="2 to 19 lines"):
        make(tmp_path, size=25)
