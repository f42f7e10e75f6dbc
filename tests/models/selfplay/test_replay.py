"""Self-play games on disk: written once, read once, whatever happens in between."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.selfplay.store.frames import FrameReader, FrameWriter
from az_engine.models.selfplay.store.replay import GameRecord, ReplayFolder, ShardReader, ShardWriter, shard_path, title
from az_engine.models.storage import NewerFormat

from .games import random_game, same

CHESS = get_game("chess")
TITLE = title(CHESS, "1")


def test_a_game_comes_back_as_it_was() -> None:
    for number in range(6):
        record = random_game(CHESS, number, every=1 + number % 3)
        assert same(GameRecord.from_bytes(record.to_bytes()), record)


@pytest.mark.parametrize(("version", "board", "extra"), [(1, 0, False), (2, 0, True), (3, 4, False), (3, 4, True)])
def test_games_of_earlier_versions_are_read(version: int, board: int, extra: bool) -> None:
    """They know no draws; some have two bytes a move that are skipped."""
    record = replace(random_game(get_game("go4") if board else CHESS, 1, plies=10), board=board)
    count = len(record.moves)
    then = bytearray(record.to_bytes()[: -1 - count])
    then[1], then[3] = version, then[3] | 2 * (extra and version == 3)  # the format and the flags
    then += np.arange(count * extra, dtype="<u2").tobytes() + bytes([board][: version == 3])
    read = GameRecord.from_bytes(bytes(then))
    assert not read.draws.any()
    assert same(replace(read, draws=record.draws), record)
    with pytest.raises(DataError, match="cannot be read"):
        GameRecord.from_bytes(bytes(then[:-1]))


def test_a_position_takes_8_bytes_and_4_for_each_move_of_its_target() -> None:
    record = random_game(CHESS, 1)
    assert len(record.to_bytes()) == 30 + 8 * len(record.moves) + 4 * len(record.target_moves)


@given(st.binary(max_size=200))
def test_no_payload_is_more_than_a_data_error(payload: bytes) -> None:
    with pytest.raises(DataError):
        GameRecord.from_bytes(payload)


def test_a_record_cut_or_lengthened_is_refused() -> None:
    payload = random_game(CHESS, 2, plies=4).to_bytes()
    for wrong in (*(payload[:n] for n in range(0, len(payload), 5)), payload + b"x"):
        with pytest.raises(DataError, match="cannot be read"):
            GameRecord.from_bytes(wrong)


def test_what_cannot_be_stored_is_said() -> None:
    record = random_game(CHESS, 3, plies=2)
    with pytest.raises(DataError, match="ended by 'boredom'"):
        replace(record, reason="boredom").to_bytes()
    with pytest.raises(DataError, match="more than 255 moves"):
        replace(record, counts=np.array([256, 0], np.uint16)).to_bytes()


def test_a_game_is_stored_once_by_its_id(tmp_path: Path) -> None:
    record = random_game(CHESS, 5)
    writer = ShardWriter(tmp_path, 0, TITLE)
    assert writer.write(record)
    assert not writer.write(record)
    writer.close()
    again = ShardWriter(tmp_path, 0, TITLE)
    assert (again.ids, again.next_id) == ({5}, 6)
    assert not again.write(record)
    again.close()
    ((read,),) = ReplayFolder(tmp_path, CHESS, "1").read()
    assert same(read, record)


def test_workers_have_ids_and_shards_of_their_own(tmp_path: Path) -> None:
    for worker in (1, 2):
        writer = ShardWriter(tmp_path, worker, TITLE)
        assert writer.next_id == worker << 32
        writer.write(random_game(CHESS, writer.next_id, plies=3))
        writer.close()
    replay = ReplayFolder(tmp_path, CHESS, "1")
    assert [r.id for part in replay.read() for r in part] == [1 << 32, 2 << 32]
    assert list(replay.read()) == []
    with ShardWriter(tmp_path, 1, TITLE)._file, pytest.raises(DataError, match="another process"):
        ShardWriter(tmp_path, 1, TITLE)


def test_shards_are_ended_when_they_are_big(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, 0, TITLE, shard_bytes=2000)
    for number in range(20):
        writer.write(random_game(CHESS, number, plies=20, every=2))
    writer.close()
    shards = sorted(p.name for p in tmp_path.iterdir())
    assert shards[:2] == ["0000-00000.games", "0000-00001.games"]
    assert all((tmp_path / name).stat().st_size < 3000 for name in shards)
    parts = list(ReplayFolder(tmp_path, CHESS, "1").read())
    assert len(parts) == len(shards)
    assert [r.id for part in parts for r in part] == list(range(20))
    again = ShardWriter(tmp_path, 0, TITLE, shard_bytes=2000)
    assert again.next_id == 20
    again.close()


def test_a_damaged_game_in_the_middle_is_skipped_and_counted(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, 0, TITLE)
    for number in range(5):
        writer.write(random_game(CHESS, number, plies=10))
    writer.close()
    path = shard_path(tmp_path, 0, 0)
    data = bytearray(path.read_bytes())
    lengths = [12 + len(p) for p in FrameReader(path).read()]
    data[sum(lengths[:3]) + 40] ^= 1  # in the third game
    path.write_bytes(data)
    replay = ReplayFolder(tmp_path, CHESS, "1")
    assert [r.id for part in replay.read() for r in part] == [0, 1, 3, 4]
    assert replay.damaged == 1


def test_a_copied_shard_does_not_give_its_games_twice(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, 0, TITLE)
    for number in range(3):
        writer.write(random_game(CHESS, number, plies=4))
    writer.close()
    (tmp_path / "0007-00000.games").write_bytes(shard_path(tmp_path, 0, 0).read_bytes())
    replay = ReplayFolder(tmp_path, CHESS, "1")
    assert [r.id for part in replay.read() for r in part] == [0, 1, 2]
    assert (len(replay), replay.repeated) == (3, 3)


def test_a_shard_of_another_run_is_refused(tmp_path: Path) -> None:
    ShardWriter(tmp_path, 0, TITLE).close()
    reader = ShardReader(shard_path(tmp_path, 0, 0), title(CHESS, "2"))
    with pytest.raises(DataError, match=r"another run \(1, here 2\)"):
        reader.read()


def test_games_that_break_the_rules_are_left_out(tmp_path: Path) -> None:
    """Whatever the checksum says: their moves would go to kernels that trust them."""
    good = [random_game(CHESS, number, plies=8) for number in range(5)]
    illegal, unknown, never = (good[n].moves.copy() for n in range(1, 4))
    illegal[3], unknown[0], never[-1] = illegal[2], 0xFFFF, 12 | 28 << 6 | 4 << 12
    targets = good[4].target_moves.copy()
    targets[-1] = 0xFFFF
    bad = [replace(good[n], moves=m) for n, m in ((1, illegal), (2, unknown), (3, never))]
    bad.append(replace(good[4], target_moves=targets))
    writer = ShardWriter(tmp_path, 0, TITLE)
    for record in (good[0], *bad, random_game(CHESS, 9, plies=3)):
        writer.write(record)
    writer.close()
    said: list[str] = []
    replay = ReplayFolder(tmp_path, CHESS, "1", said.append)
    assert [r.id for part in replay.read() for r in part] == [0, 9]
    assert replay.damaged == 4
    path = tmp_path / "0000-00000.games"
    assert said == [f"{path}: 4 games left out, the first because game 1 breaks the rules at move 4"]


@pytest.mark.parametrize(
    ("change", "text"),
    [({"result": 3}, "its result is 3"), ({"target_shares": np.zeros(30, np.float32)}, "a policy target is empty")],
)
def test_a_record_of_impossible_values_is_refused(change: dict[str, object], text: str) -> None:
    record = random_game(CHESS, 2, plies=6)
    assert len(record.target_shares) == 30
    with pytest.raises(DataError, match=text):
        GameRecord.from_bytes(replace(record, **change).to_bytes())  # type: ignore[arg-type]
    assert GameRecord.from_bytes(replace(record, counts=np.zeros(6, np.uint16), target_moves=record.moves[:0],
                                         target_shares=record.values[:0]).to_bytes()).targets == 0  # fmt: skip


def test_a_newer_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    payload = bytearray(random_game(CHESS, 2, plies=6).to_bytes())
    payload[1] = 5
    with FrameWriter(shard_path(tmp_path, 0, 0)) as writer:
        writer.append(bytes(payload))
    with pytest.raises(NewerFormat, match=r"game 2 has format 5, newer than 4, .* update az-engine"):
        list(ReplayFolder(tmp_path, CHESS, "1").read())


def test_a_broken_title_is_refused(tmp_path: Path) -> None:
    for title_ in (b"\x00{", b"\x00[1]", b"\x00\xff"):
        path = tmp_path / f"{len(title_)}-{title_[1]}.games"
        with FrameWriter(path) as writer:
            writer.append(title_)
        with pytest.raises(DataError, match="has a broken title"):
            ShardReader(path, TITLE).read()


def test_a_torn_end_is_cut_and_said(tmp_path: Path) -> None:
    said: list[str] = []
    for cut in (0, 5):
        writer = ShardWriter(tmp_path, 0, TITLE, say=said.append)
        writer.write(random_game(CHESS, writer.next_id, plies=6))
        writer.close()
        path = shard_path(tmp_path, 0, 0)
        path.write_bytes(path.read_bytes()[: -cut or None])
    ShardWriter(tmp_path, 0, TITLE, say=said.append).close()
    assert len(said) == 1
    assert said[0].startswith(f"{path}: its last ")


def test_the_folder_of_a_new_shard_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(str(Path(f"/proc/self/fd/{file}").readlink())))
    FrameWriter(tmp_path / "a.games").close()
    assert synced == [str(tmp_path)]
    FrameWriter(tmp_path / "a.games").close()
    assert synced == [str(tmp_path)]
