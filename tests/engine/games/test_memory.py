"""No kernel reads memory that was freed: what it answers does not depend on what the allocator leaves there.

numba frees an array after its last use, even while a record taken from it is in use. glibc fills freed memory with a
byte of our choice, so two runs with two bytes differ where a kernel reads it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from az_engine.engine.games import game_names

from ...games import DIRECTORY

pytestmark = pytest.mark.slow

PROGRAM = """
import hashlib, sys
import numpy as np
from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import RUNNING

plain, rng, digest = get_game(sys.argv[1]), np.random.default_rng(1), hashlib.sha256()
for encoder in ("", *plain.encoders):
    game = plain.using(encoder) if encoder else plain
    line = game.initial()
    for _ in range(60):
        moves = np.sort(game.legal_moves(line))
        code = game.outcome(line)
        planes = np.zeros((1, *game.planes), np.uint8)
        game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes)
        actions, counts = np.zeros((1, game.max_moves), np.int32), np.zeros(1, np.int32)
        game.legal_actions(line, np.array([len(line) - 1]), actions, counts)
        for part in (moves, code, planes, actions[0, : counts[0]], line["key"] if "key" in line.dtype.names else 0):
            digest.update(np.ascontiguousarray(part).tobytes())
        if code != RUNNING or not len(moves):
            break
        line = game.play(line, int(moves[rng.integers(len(moves))]))
print(digest.hexdigest())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="MALLOC_PERTURB_ is glibc's")
@pytest.mark.parametrize("game", [*(name for name in game_names() if name != "go"), "go9"])
def test_freed_memory_is_not_read(game: str) -> None:
    said = set()
    for byte in ("85", "170"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, game],
            env={**os.environ, "MALLOC_PERTURB_": byte, "AZ_ENGINE_GAMES": str(DIRECTORY)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1
