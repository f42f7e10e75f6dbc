"""Stockfish's evaluation net: against a slow reading of a made-up file, and Stockfish itself where it is there."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import chess
import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.kernels.jit import kernel
from az_engine.models.data.games.chess import FORMAT
from az_engine.models.data.shards import MATE
from az_engine.models.label.teachers.nnue.judge import NnueJudge
from az_engine.models.label.teachers.nnue.stockfish import VERSION, Nnue, make_space, parts_of, read_net

from ...samples import CHESS, sample_records

STOCKFISH = shutil.which("stockfish", path="/usr/games:/usr/bin:/usr/local/bin") or shutil.which("stockfish")


def write_net(path: Path, seed: int) -> None:
    """A file of random numbers."""
    random = np.random.default_rng(seed)

    def some(kind: str, low: int, high: int, count: int) -> bytes:
        return random.integers(low, high, count).astype(kind).tobytes()

    text = b"made up"
    parts = [struct.pack("<III", VERSION, 1, len(text)), text, b"hash"]
    parts += [some("<i2", -20, 60, 1024), some("<i2", -25, 25, 22528 * 1024), some("<i4", -9000, 9000, 22528 * 8)]
    for _ in range(8):
        parts += [b"hash", some("<i4", -4000, 4000, 16), some("i1", -60, 60, 16 * 1024)]
        parts += [some("<i4", -4000, 4000, 32), some("i1", -60, 60, 32 * 32)]
        parts += [some("<i4", -4000, 4000, 1), some("i1", -60, 60, 32)]
    path.write_bytes(b"".join(parts))


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "made-up.nnue"
    write_net(path, 5)
    return path


@kernel
def judge(net, states, space, out):  # type: ignore[no-untyped-def]
    for i in range(states.shape[0]):
        out[i, 0], out[i, 1], _ = parts_of(net, states[i], space)


def parts(net: Nnue, states: np.ndarray) -> np.ndarray:
    out = np.zeros((len(states), 2), np.int64)
    judge(net, states, make_space(), out)
    return out


def slow_inputs(board: chess.Board, side: bool) -> list[int]:
    """The inputs of a side, by names of squares: its own camp below, its king on the files e to h."""
    king = board.king(side)
    assert king is not None
    mirrored = chess.square_file(king) < 4

    def seen(square: int) -> int:
        file, rank = chess.square_file(square), chess.square_rank(square)
        return (7 - file if mirrored else file) + 8 * (rank if side else 7 - rank)

    place = 4 * (7 - seen(king) // 8) + (7 - seen(king) % 8)
    inputs = []
    for square, piece in board.piece_map().items():
        kind = piece.piece_type - 1
        block = 10 if kind == 5 else 2 * kind + (piece.color != side)
        inputs.append(704 * place + 64 * block + seen(square))
    return inputs


def slow_parts(net: Nnue, board: chess.Board) -> tuple[int, int]:
    stack = (len(board.piece_map()) - 1) // 4
    products, straight = [], []
    for side in (board.turn, not board.turn):
        inputs = slow_inputs(board, side)
        sums = net.bias.astype(int) + net.rows[inputs].astype(int).sum(axis=0)
        clipped = np.clip(sums, 0, 127)
        products.append(clipped[:512] * clipped[512:] // 128)
        straight.append(int(net.straight[inputs, stack].astype(int).sum()))
    first = net.bias0[stack].astype(int) + net.rows0[stack].astype(int) @ np.concatenate(products)
    squares, plain = np.minimum(first[:15] ** 2 // 2**19, 127), np.clip(first[:15] // 64, 0, 127)
    hidden = np.concatenate([squares, plain, [0, 0]])
    second = np.clip((net.bias1[stack].astype(int) + net.rows1[stack].astype(int) @ hidden) // 64, 0, 127)
    said = int(net.bias2[stack, 0]) + int(net.rows2[stack, 0].astype(int) @ second)
    return int((straight[0] - straight[1]) / 2), said + int(int(first[15]) * 9600 / 8128)


def test_made_up_numbers_give_what_a_slow_reading_gives(made_up: Path) -> None:
    net, records = read_net(made_up), sample_records()[::9]
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    states = np.concatenate([states, CHESS.parse_position("8/8/4k3/8/8/3K4/4P3/8 b - - 3 60")[0]])
    boards = [chess.Board(CHESS.format_position(state)) for state in states]
    assert len({(len(board.piece_map()) - 1) // 4 for board in boards}) == 8
    assert parts(net, states).tolist() == [list(slow_parts(net, board)) for board in boards]


def ask(commands: str) -> str:
    """What Stockfish answers."""
    assert STOCKFISH is not None
    words = f"{commands}\nquit\n"
    return subprocess.run([STOCKFISH], check=True, input=words, capture_output=True, text=True, timeout=120).stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if STOCKFISH is None:
        pytest.skip("Stockfish is not installed")
    path = tmp_path_factory.mktemp("nnue") / "exported.nnue"
    said = ask(f"export_net {path}")
    if "Stockfish 15" not in said or not path.exists():
        pytest.skip("this Stockfish is not 15, or has no net")
    return path


def test_stockfish_says_the_same(exported: Path) -> None:
    assert STOCKFISH is not None
    records = sample_records()[::5]
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    boards = [chess.Board(CHESS.format_position(state)) for state in states]
    asked = "".join(f"position fen {board.fen()}\neval\n" for board in boards if not board.is_check())
    pawns = [float(word) for word in re.findall(r"^NNUE evaluation\s+(\S+)", ask(asked), re.MULTILINE)]
    here = parts(read_net(exported), states).sum(axis=1) / 16 / 361
    both = zip(here, boards, strict=True)
    wanted = [value if board.turn else -value for value, board in both if not board.is_check()]
    assert len(pawns) > 100
    assert np.abs(np.array(wanted) - pawns).max() < 0.011


def test_captures_are_resolved_and_mates_seen(made_up: Path) -> None:
    judge = NnueJudge(made_up, CHESS)
    mate = CHESS.parse_position("6k1/5ppp/8/8/8/8/5PPP/3r2K1 w - - 0 1")[0]
    hanging = CHESS.parse_position("6k1/5ppp/8/8/8/8/3rQPPP/6K1 w - - 0 1")[0]
    taken = CHESS.parse_position("6k1/5ppp/8/8/8/8/3Q1PPP/6K1 b - - 0 1")[0]
    said = judge.judge(np.concatenate([mate, hanging, taken]))
    assert said[0] == -MATE
    assert said[1] >= -said[2]


@pytest.mark.parametrize("damage", ["empty", "text", "version", "cut", "longer"])
def test_other_files_are_refused(made_up: Path, tmp_path: Path, damage: str) -> None:
    content = made_up.read_bytes()
    changed = {
        "empty": b"",
        "text": b"not a net",
        "version": b"\0\0\0\0" + content[4:],
        "cut": content[:-1],
        "longer": content + b"0",
    }
    path = tmp_path / "net.nnue"
    path.write_bytes(changed[damage])
    with pytest.raises(DataError, match="export_net of Stockfish 15"):
        read_net(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_net(tmp_path / "missing.nnue")
