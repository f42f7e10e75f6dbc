"""Records and games as batches, against python-chess (reference.py)."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.models.data import records
from az_engine.models.data.dataset import Mixture, Sampling, batch_indices, epoch_order, games_begin
from az_engine.models.data.games import chess as labelled
from az_engine.models.data.games import go as labelled_go
from az_engine.models.data.games.chess import RECORD, read_folder, read_shard, to_positions, write_shard
from az_engine.models.data.shards import Records, TargetOptions

from .. import reference
from ..samples import CHESS, GO, GO9_SAMPLE, SAMPLE, go_positions, rows, sample_positions, sample_records


@pytest.mark.parametrize("history", [8, 1])
def test_batches_agree_with_python_chess(history: int) -> None:
    records = sample_records()
    positions = to_positions(CHESS, records, TargetOptions(), "")
    positions.sampling = Sampling(history=history)
    first = games_begin(records["game"], records["ply"])
    chosen = sorted({*range(0, len(records), 7), *np.flatnonzero(records["ep"] != 255)[:20].tolist()})
    batch = positions.batch(np.array(chosen))
    assert batch.legal is not None
    kinds: set[int] = set()
    for row, at in enumerate(chosen):
        record = records[at]
        boards = [reference.board_of(records[i]) for i in range(first[at], at + 1)]
        board, count = boards[-1], int(record["n"])
        np.testing.assert_array_equal(batch.planes[row], reference.planes_of(boards, int(record["ply"]), history))
        actions = [reference.action_of(board, reference.move_of(int(m))) for m in record["mv"][:count]]
        assert batch.actions[row, :count].tolist() == actions
        assert batch.probabilities[row, :count] == pytest.approx(reference.soft_policy(record, 0.02, 500.0), abs=1e-5)
        assert batch.probabilities[row, count:].tolist() == [0.0] * (5 - count)
        legal = sorted(reference.action_of(board, m) for m in board.legal_moves)
        assert sorted(a for a in batch.legal[row].tolist() if a >= 0) == legal
        kinds |= {board.turn, *(100 + a // 64 // 56 for a in actions)}
    assert kinds >= {True, False, 100, 101}  # both sides, queen moves and the others


def test_repetitions_reach_the_planes() -> None:
    positions = to_positions(CHESS, sample_records(), TargetOptions(), "")
    repeated = np.flatnonzero(positions.states["repetitions"] > 0)
    assert len(repeated) > 0
    batch = positions.batch(repeated)
    assert batch.planes[:, 12].all()


def test_value_targets() -> None:
    records = sample_records()
    data = to_positions(CHESS, records, TargetOptions(value="wdl", teacher=0.75), "")
    batch = data.batch(np.arange(len(records)))
    for at in range(0, len(records), 31):
        record = records[at]
        result = [float(record["z"] == r) for r in (1, 0, -1)]
        teacher = [record["w"] / 1000, 1 - (int(record["w"]) + int(record["l"])) / 1000, record["l"] / 1000]
        expected = [0.75 * t + 0.25 * r for t, r in zip(teacher, result, strict=True)]
        assert batch.wdl[at].tolist() == pytest.approx(expected, abs=1e-6)
        assert batch.z[at] == record["z"]


def test_chances_of_a_score() -> None:
    chances = labelled.chances_of_score(np.array([0, 80, 1000, -1000, 31998, -31998]))
    assert chances.sum(axis=1) == pytest.approx(np.ones(6))
    assert (chances >= -1e-12).all()
    assert chances[0, 0] == pytest.approx(chances[0, 2])
    assert chances[1, 0] == pytest.approx(0.5)
    assert chances[2].tolist() == pytest.approx(chances[3, ::-1].tolist())
    assert chances[4].tolist() == pytest.approx([1, 0, 0])


def test_played_moves_without_the_blind_ones() -> None:
    records = sample_records()
    data = to_positions(CHESS, records, TargetOptions(policy="played"), "")
    kept = np.flatnonzero(records["rnd"] == 0)
    assert 0 < len(kept) < len(records)
    assert len(data) == len(kept)
    batch = data.batch(np.arange(len(data)))
    for row in range(0, len(kept), 37):
        record = records[kept[row]]
        move = reference.move_of(int(record["played"]))
        assert batch.actions[row].tolist() == [reference.action_of(reference.board_of(record), move)]
    best = to_positions(CHESS, records, TargetOptions(policy="best"), "")
    assert len(best) == len(records)
    assert best.batch(np.arange(4)).probabilities.tolist() == [[1.0]] * 4


def test_held_out_games_are_not_trained_on(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    records = sample_records()
    assert len(train) + len(heldout) == len(records)
    assert len(heldout) == int((records["game"] % 50 == 7).sum()) > 0
    write_shard(tmp_path / "a_0000.npz", records)  # holds the hold-out's games too
    games = np.unique(records["game"])
    write_shard(tmp_path / "holdout_x.npz", records[np.isin(records["game"], games[:3])])
    train, heldout = read_folder(CHESS, list(tmp_path.iterdir()), TargetOptions())
    assert len(heldout) == int(np.isin(records["game"], games[:3]).sum())
    assert len(train) == len(records) - len(heldout)


@pytest.mark.parametrize("cuts", [[], [17, 18, 300], [0, 5, 5, 6, 7, 400, 400]])
def test_a_game_may_go_on_in_the_next_shard(tmp_path: Path, cuts: list[int]) -> None:
    """Shards are turned into positions one after another; where they end changes nothing."""
    records = sample_records()
    held = records["game"] == records["game"][-1]
    write_shard(tmp_path / "holdout.npz", records[held])
    for number, part in enumerate(np.split(records[~held], cuts)):
        write_shard(tmp_path / f"a_{number}.npz", part)
    train, heldout = read_folder(CHESS, list(tmp_path.iterdir()), TargetOptions())
    for found, wanted in ((train, records[~held]), (heldout, records[held])):
        whole = to_positions(CHESS, wanted, TargetOptions(), "")
        for name in ("states", "first", "moves", "probabilities", "wdl", "z", "lines", "line_rows", "drawn"):
            assert np.array_equal(getattr(found, name), getattr(whole, name), equal_nan=name == "lines"), name


def test_shards_come_back(tmp_path: Path) -> None:
    write_shard(tmp_path / "x.npz", sample_records())
    np.testing.assert_array_equal(read_shard(tmp_path / "x.npz"), sample_records())


def test_games_begin() -> None:
    ids = np.array([4, 4, 4, 5, 5, 5, 4])
    plies = np.array([0, 1, 2, 3, 4, 6, 7])
    assert games_begin(ids, plies).tolist() == [0, 0, 0, 3, 3, 5, 6]


def test_every_epoch_visits_everything_in_its_own_order() -> None:
    steps = [batch_indices(10, 4, seed=3, step=s) for s in range(5)]
    stream = np.concatenate(steps).tolist()
    assert sorted(stream[:10]) == sorted(stream[10:]) == list(range(10))
    assert stream[:10] != stream[10:]
    assert epoch_order(10, 3, 0).tolist() == stream[:10]
    assert batch_indices(10, 25, seed=3, step=0).tolist()[:20] == stream


class Payload:
    """Runs a command when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.target),)


def save(path: Path, **arrays: object) -> Path:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    return path


def changed(**fields: object) -> Records:
    records = sample_records()[:20].copy()
    for name, value in fields.items():
        records[name][5] = value
    return records


def test_pickled_arrays_are_refused_and_do_not_run(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npz", d=np.array([Payload(tmp_path / "ran")], dtype=object))
    with pytest.raises(DataError, match="no shard of labelled records"):
        read_shard(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 and nothing",
        SAMPLE.read_bytes()[:5000],
        SAMPLE.read_bytes().replace(b"d.npy", b"e.npy"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(DataError, match="no shard"):
        read_shard(tmp_path / "x.npz")


def test_a_flipped_byte_is_noticed(tmp_path: Path) -> None:
    content = bytearray(SAMPLE.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"x\.npz"):
        read_shard(tmp_path / "x.npz")


def test_arrays_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not of labelled records"):
        read_shard(save(tmp_path / "x.npz", d=np.zeros(5)))
    with pytest.raises(DataError, match="not of labelled records"):
        read_shard(save(tmp_path / "x.npz", d=np.zeros((2, 2), RECORD)))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("d.npy", "w") as member:
        for _ in range(20):
            member.write(bytes(1 << 20))
    content = buffer.getvalue()
    size = (20 << 20).to_bytes(4, "little")
    assert content.count(size) >= 1
    (tmp_path / "x.npz").write_bytes(content.replace(size, (3 << 30).to_bytes(4, "little")))
    with pytest.raises(DataError, match=r"unpack to 3072 MiB"):
        read_shard(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (changed(bb=0), "one king a side"),
        (changed(turn=7), "side to move"),
        (changed(n=0), "no labelled move"),
        (changed(n=9), "no labelled move"),
        (changed(ep=100), "en-passant"),
        (changed(w=900, l=900), "exceed 1000"),
        (changed(z=5), "result"),
        (changed(bb=[255, 0, 0, 0, 0, 1 << 60 | 1 << 20, 255 | 1 << 20, 1 << 60], castle=0), "pawn stands"),
        (changed(bb=[0, 0, 0, 0, 0, 1 << 60 | 1 << 20, 1 << 20, 1 << 60], castle=1), "castling rights"),
    ],
)
def test_impossible_records_are_refused(tmp_path: Path, records: Records, text: str) -> None:
    write_shard(tmp_path / "x.npz", records)
    with pytest.raises(DataError, match=f"record 5: .*{text}"):
        read_shard(tmp_path / "x.npz")


def test_an_illegal_label_is_refused_when_it_is_drawn() -> None:
    records = changed(mv=[63 * 64, 1, 2, 3, 4])  # a1h8 and nonsense
    data = to_positions(CHESS, records, TargetOptions(), "")
    assert len(data.batch(np.arange(5))) == 5
    with pytest.raises(DataError, match="labelled move is not legal in"):
        data.batch(np.arange(4, 8))


def pgn_text(games: int) -> str:
    """Random games with results by turns; the third is unfinished."""
    rng = np.random.default_rng(5)
    texts = []
    for number in range(games):
        board = chess.Board()
        if number == 1:
            board = chess.Board("r3k2r/pppq1ppp/8/8/8/8/PPPQ1PPP/R3K2R b KQkq - 4 20")
        game = chess.pgn.Game()
        game.setup(board)
        node: chess.pgn.GameNode = game
        for _ in range(20):
            moves = sorted(board.legal_moves, key=chess.Move.uci)
            castling = [m for m in moves if board.is_castling(m)]
            move = castling[0] if castling else moves[int(rng.integers(len(moves)))]
            board.push(move)
            node = node.add_variation(move)
        game.headers["Result"] = "*" if number == 2 else ("1-0", "0-1", "1/2-1/2")[number % 3]
        texts.append(str(game))
    return "\n\n".join(texts) + "\n"


def test_pgn_games_become_positions(tmp_path: Path) -> None:
    (tmp_path / "x.pgn").write_text(pgn_text(11) + '\n[Result "1-0"]\n\n1. e4 e5 2. Ke3 1-0\n')
    problems: list[str] = []
    train, heldout = records.read_files(CHESS, [tmp_path / "x.pgn"], problems.append)
    assert len(train) == 9 * 20 + 2  # ten finished games, one held out, and two moves of the broken one
    assert len(heldout) == 20
    assert len(problems) == 1
    assert "game 12" in problems[0]
    batch = train.batch(np.arange(len(train)))
    with io.StringIO(pgn_text(11)) as file:
        games = [game for game in iter(lambda: chess.pgn.read_game(file), None) if game.headers["Result"] != "*"]
    row = 0
    castled = 0
    for game in games[:7]:
        boards = [game.board()]
        for move in game.mainline_moves():
            white = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}[game.headers["Result"]]
            ply = boards[-1].ply()
            np.testing.assert_array_equal(batch.planes[row], reference.planes_of(boards, ply, 8))
            assert batch.actions[row].tolist() == [reference.action_of(boards[-1], move)]
            assert batch.z[row] == (white if boards[-1].turn else -white)
            assert batch.wdl[row].tolist() == [float(batch.z[row] == r) for r in (1, 0, -1)]
            castled += boards[-1].is_castling(move)
            boards.append(boards[-1].copy(stack=False))
            boards[-1].push(move)
            row += 1
    assert castled >= 2


def test_too_few_games_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pgn").write_text(pgn_text(3))
    with pytest.raises(DataError, match="too few"):
        records.read_files(CHESS, [tmp_path / "x.pgn"], print)
    with pytest.raises(DataError, match="cannot be read"):
        records.read_files(CHESS, [tmp_path / "none.pgn"], print)


def test_batches_of_a_data_set_without_a_mask_have_no_legal_moves() -> None:
    train, _ = sample_positions(TargetOptions(mask=False))
    assert train.batch(rows(4, train)).legal is None


def test_batches_for_the_value_alone_have_no_policy() -> None:
    train, _ = read_folder(CHESS, [SAMPLE], TargetOptions())
    train.sampling = Sampling(policy=False)
    batch = train.batch(rows(5, train))
    assert (batch.actions.shape, batch.probabilities.shape, batch.legal) == ((5, 0), (5, 0), None)
    assert np.array_equal(batch.planes, sample_positions()[0].batch(rows(5, train)).planes)


def test_moves_are_followed_where_their_scores_are_known() -> None:
    records = sample_records()[:40].copy()
    records["depth"][::2] = 0
    records["n"][1] = 1
    positions = to_positions(CHESS, records, TargetOptions(), "")
    positions.sampling = Sampling(follow=True)
    batch = positions.batch(np.arange(40))
    assert batch.after is not None
    assert batch.after_wdl is not None
    assert batch.after.shape == (20, *CHESS.planes)
    there = CHESS.after(positions.states, np.array([1]), positions.moves[1:2, 0])
    planes = np.zeros((1, *CHESS.planes), np.uint8)
    CHESS.encode(there, np.array([0]), np.array([0]), planes, 1)
    assert np.array_equal(batch.after[0], planes[0])
    win, draw, loss = labelled.chances_of_score(records["cp"][1:2, 0])[0]
    assert np.allclose(batch.after_wdl[0], [loss, draw, win])
    none = positions.batch(np.arange(0, 40, 2))
    assert none.after is not None
    assert len(none.after) == 0


def test_boards_of_two_sizes_take_turns() -> None:
    parts = tuple(go_positions(size)[0] for size in (9, 19))
    mixture = Mixture(parts, (0.75, 0.25))
    assert len(mixture) == len(parts[0]) + len(parts[1])
    assert "9x9: " in mixture.description
    assert "25% of the steps" in mixture.description
    drawn: list[list[np.ndarray]] = [[], []]
    for step in range(120):
        batch = mixture.draw(4, 7, step)
        part = int(batch.planes.shape[2] == 19)
        expected = parts[part].draw(4, 7, len(drawn[part]))  # each part goes through its own positions in order
        assert np.array_equal(batch.planes, expected.planes)
        assert np.array_equal(batch.actions, expected.actions)
        assert abs(len(drawn[1]) - 0.25 * step) <= 1
        drawn[part].append(batch.planes)
    assert [len(d) for d in drawn] == [90, 30]


def test_owners_and_leads_reach_the_batches() -> None:
    data = go_positions(9)[0]
    indices = np.arange(0, len(data), 5)
    plain = data.batch(indices)
    assert plain.ownership is not None
    assert plain.score is not None
    d, g = labelled_go.read_shard(GO9_SAMPLE, 81)
    rows_of = {bytes(r["stones"]) + bytes([r["turn"]]): r for r in d}
    for row in range(len(indices)):
        mine, theirs = plain.planes[row, 0].ravel(), plain.planes[row, 1].ravel()
        black_to_move = bool(plain.planes[row, 16, 0, 0])
        stones = np.where(mine, 1 if black_to_move else 2, np.where(theirs, 2 if black_to_move else 1, 0))
        record = rows_of[bytes(stones.astype(np.uint8)) + bytes([1 if black_to_move else 2])]
        assert plain.ownership[row].ravel() == pytest.approx(record["own"] / 20, abs=1e-6)
        komi = float(g["komi"][g["game"] == record["game"]][0])
        assert plain.score[row] == pytest.approx(record["lead"] / 100 + (komi if black_to_move else -komi), abs=1e-3)


@pytest.mark.parametrize("field", ["komi", "tt"])
def test_scores_that_are_no_numbers_are_refused(field: str) -> None:
    d, g = labelled_go.read_shard(GO9_SAMPLE, 81)
    g = g.copy()
    bits = g[field].view(f"u{g[field].itemsize}")
    bits[0] = 0x7D00 if bits.itemsize == 2 else 0x7F900000  # a signalling NaN
    assert "game 0: its opening, komi or score" in labelled_go.first_fault(d, g, 81)


def test_owners_turn_with_the_board() -> None:
    data = labelled_go.to_positions(GO, *labelled_go.read_shard(GO9_SAMPLE, 81), TargetOptions(), "")
    plain = data.batch(np.arange(200))
    data.sampling = Sampling(symmetries=True)
    turned = data.batch(np.arange(200))
    assert plain.ownership is not None
    assert turned.ownership is not None
    assert GO.symmetries is not None
    points = np.arange(81, dtype=np.uint8).reshape(1, 1, 9, 9)
    seen = set()
    for row in range(200):
        fits = []
        for k in range(8):
            source = GO.symmetries.turn(points, np.array([k]))[0, 0].ravel()  # [image] = point
            same_board = np.array_equal(
                plain.planes[row].reshape(17, 81)[:, source], turned.planes[row].reshape(17, 81)
            )
            if same_board and np.array_equal(plain.ownership[row].ravel()[source], turned.ownership[row].ravel()):
                fits.append(k)
        assert fits
        seen.add(fits[0])
    assert len(seen) == 8
