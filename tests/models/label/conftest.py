"""Made-up evaluation nets, and labelled positions to begin at."""

from __future__ import annotations

from pathlib import Path

import pytest

from az_engine.models.data.games.chess import FORMAT

from ..samples import sample_records
from .nnue.test_stockfish import write_net
from .nnue.test_yaneuraou import write_net as write_shogi_net


@pytest.fixture(scope="session")
def nnue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "made-up.nnue"
    write_net(path, 8)
    return path


@pytest.fixture(scope="session")
def shogi_nnue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "nn.bin"
    write_shogi_net(path, "K+P", 3)
    return path


@pytest.fixture(scope="session")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two shards of few positions, each a small task."""
    folder = tmp_path_factory.mktemp("around")
    FORMAT.write(folder / "labelled_00000.npz", sample_records()[5:25])
    FORMAT.write(folder / "labelled_00001.npz", sample_records()[-12:])
    return folder
