"""Evaluation nets of shogi engines: against a slow reading of made-up files, in python-shogi."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import shogi

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.shogi.exchanges import LOSES, VALUES, exchange
from az_engine.engine.kernels.jit import kernel
from az_engine.models.data.games.shogi import FORMAT
from az_engine.models.label.teachers.nnue.judge import NnueJudge, family_of
from az_engine.models.label.teachers.nnue.yaneuraou import PAWN, VERSION, Nnue, evaluate, make_space, read_net

from ...data.test_shogi import sample

SHOGI = get_game("shogi")
KINDS = ("K+P", "HalfKP")
_GOLDS = {shogi.GOLD, shogi.PROM_PAWN, shogi.PROM_LANCE, shogi.PROM_KNIGHT, shogi.PROM_SILVER}
_ORDER = (
    {shogi.PAWN},
    {shogi.LANCE},
    {shogi.KNIGHT},
    {shogi.SILVER},
    _GOLDS,
    {shogi.BISHOP},
    {shogi.PROM_BISHOP},
    {shogi.ROOK},
    {shogi.PROM_ROOK},
)
_HELD = (
    (shogi.PAWN, 18),
    (shogi.LANCE, 4),
    (shogi.KNIGHT, 4),
    (shogi.SILVER, 4),
    (shogi.GOLD, 4),
    (shogi.BISHOP, 2),
    (shogi.ROOK, 2),
)


def write_net(path: Path, kind: str, seed: int) -> None:
    """A file of random numbers."""
    random = np.random.default_rng(seed)

    def some(number: str, low: int, high: int, count: int) -> bytes:
        return random.integers(low, high, count).astype(number).tobytes()

    inputs = {"K+P": 1548 + 162, "HalfKP": 81 * 1548}[kind]
    text = f"Features={kind}[{inputs}->256x2],Network=made up".encode()
    parts = [struct.pack("<III", VERSION, 1, len(text)), text, b"hash"]
    parts += [some("<i2", -20, 60, 256), some("<i2", -25, 25, inputs * 256), b"hash"]
    parts += [some("<i4", -4000, 4000, 32), some("i1", -60, 60, 32 * 512)]
    parts += [some("<i4", -4000, 4000, 32), some("i1", -60, 60, 32 * 32)]
    parts += [some("<i4", -18000, -14000, 1), some("i1", -60, 60, 32)]  # about as often lost as won
    path.write_bytes(b"".join(parts))


@pytest.fixture(scope="module", params=KINDS)
def made_up(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("nnue") / "nn.bin"
    write_net(path, request.param, 5)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "nn.bin"
    write_net(path, "K+P", 6)
    return path


@kernel
def values(net, states, space, out):  # type: ignore[no-untyped-def]
    for i in range(states.shape[0]):
        out[i] = evaluate(net, states[i], space)


def evaluations(net: Nnue, states: State) -> list[int]:
    out = np.zeros(len(states), np.int64)
    values(net, states, make_space(), out)
    return out.tolist()


def positions(step: int) -> State:
    records = sample()[::step]
    states = FORMAT.to_states(SHOGI, records, np.arange(len(records), dtype=np.int64))
    full_hands = SHOGI.parse_position("4k4/9/9/9/9/9/9/9/4K4 w G2r2b3g4s4n4l18p 1")[0]
    return np.concatenate([states, full_hands.reshape(1)])


def slow_inputs(board: shogi.Board, side: int, by_king: bool) -> list[int]:
    """The inputs of a side: files from its right, ranks from the enemy's camp."""

    def seen(square: int) -> int:
        file, rank = 8 - square % 9, square // 9
        return 9 * file + rank if side == shogi.BLACK else 9 * (8 - file) + 8 - rank

    def theirs(color: int) -> int:
        return int(color != side)

    king = seen(board.king_squares[side])
    found = []
    for square in shogi.SQUARES:
        piece = board.piece_at(square)
        if piece is None:
            continue
        if piece.piece_type == shogi.KING:
            if not by_king:
                found.append(1548 + 81 * theirs(piece.color) + seen(square))
            continue
        order = next(number for number, kinds in enumerate(_ORDER) if piece.piece_type in kinds)
        found.append(90 + 81 * (2 * order + theirs(piece.color)) + seen(square))
    first = 1
    for kind, most in _HELD:
        for color in (side, 1 - side):
            found += [first + number for number in range(board.pieces_in_hand[color][kind])]
            first += most + 1
    return [1548 * king + number for number in found] if by_king else found


def slow_evaluation(net: Nnue, board: shogi.Board) -> int:
    given = []
    for side in (board.turn, 1 - board.turn):
        inputs = slow_inputs(board, side, len(net.rows) == 81 * 1548)
        given.append(np.clip(net.bias.astype(int) + net.rows[inputs].astype(int).sum(axis=0), 0, 127))
    first = np.clip((net.bias0 + net.rows0.astype(int) @ np.concatenate(given)) >> 6, 0, 127)
    second = np.clip((net.bias1 + net.rows1.astype(int) @ first) >> 6, 0, 127)
    return int(int(net.bias2[0] + net.rows2[0].astype(int) @ second) / 16)


def test_made_up_numbers_give_what_a_slow_reading_gives(made_up: Path) -> None:
    net, states = read_net(made_up), positions(5)
    boards = [shogi.Board(SHOGI.format_position(state)) for state in states]
    assert {board.turn for board in boards} == {shogi.BLACK, shogi.WHITE}
    assert evaluations(net, states) == [slow_evaluation(net, board) for board in boards]


@kernel
def losing(states, moves, out):  # type: ignore[no-untyped-def]
    for i in range(moves.shape[0]):
        out[i] = exchange(states[0], np.int64(moves[i])) == LOSES


def slow_quiet(line: State, value: Callable[[np.void], int], depth: int, ply: int = 0) -> int:
    """Quiescence without bounds: every line of captures and promotions that lose nothing."""
    state, legal = line[-1], SHOGI.legal_moves(line)
    checked = bool(shogi.Board(SHOGI.format_position(state)).is_check())
    if not len(legal):
        return -100_000 + ply
    best = value(state) if not checked or ply == depth else -1_000_000
    if ply == depth:
        return best
    out = np.zeros(len(legal), bool)
    losing(line[-1:], legal, out)
    for move, loses in zip(legal.tolist(), out.tolist(), strict=True):
        source, target = move >> 7 & 127, move & 127
        if not checked:
            if loses or source >= 81:
                continue
            man = int(state["board"][source]) & 15
            gained = int(VALUES[int(state["board"][target]) & 15])
            gained += int(VALUES[man + 8] - VALUES[man]) if move >> 14 else 0
            if gained <= 0:
                continue
        best = max(best, -slow_quiet(SHOGI.play(line, move)[-1:], value, depth, ply + 1))
    return best


@pytest.mark.slow
def test_captures_are_resolved(small: Path) -> None:
    """Against a search without bounds, where this does not look at too many positions."""
    judge, net, quiescence = NnueJudge(small, SHOGI), read_net(small), SHOGI.quiescence
    assert quiescence is not None
    states = positions(9)
    compared = changed = 0
    for state in states:
        looked = 0

        def value(state: np.void) -> int:
            nonlocal looked
            looked += 1
            if looked > 100:
                raise OverflowError
            return evaluations(net, np.array([state]))[0]

        line = np.array([state])
        try:
            slow = slow_quiet(line, value, quiescence.depth)
        except OverflowError:
            continue
        wanted = np.sign(slow) * (abs(slow) * 100 // PAWN)
        assert judge.judge(line).tolist() == [wanted]
        compared += 1
        changed += slow != value(state)
    assert compared > 12
    assert changed > 2


def test_a_mate_is_seen(small: Path) -> None:
    mated = SHOGI.parse_position("4k4/4G4/4P4/9/9/9/9/9/4K4 w 2R2B3G4S4N4L17P 1")[0].reshape(1)
    assert NnueJudge(small, SHOGI).judge(mated).tolist() == [-32000]


@pytest.mark.parametrize("damage", ["empty", "text", "version", "kind", "cut", "longer"])
def test_other_files_are_refused(small: Path, tmp_path: Path, damage: str) -> None:
    content = small.read_bytes()
    changed = {
        "empty": b"",
        "text": b"not a net",
        "version": b"\0\0\0\0" + content[4:],
        "kind": content.replace(b"=K+P", b"=Q+P"),
        "cut": content[:-1],
        "longer": content + b"0",
    }
    path = tmp_path / "nn.bin"
    path.write_bytes(changed[damage])
    with pytest.raises(DataError, match=r"give the nn.bin of an engine of the type K\+P or HalfKP"):
        read_net(path)


def test_go_has_no_such_nets() -> None:
    with pytest.raises(OptionError, match="judges chess and shogi; leave it out for go9"):
        family_of("go9")
