"""Shogi records as batches, against cshogi and the slow encoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.data.dataset import games_begin
from az_engine.models.data.games.shogi import FORMAT
from az_engine.models.data.shards import Records, TargetOptions

from ...engine.games.shogi import slow_encoding

SHOGI = get_game("shogi")
SAMPLE = (
    Path(__file__).parents[2] / "data" / "shogi_train_sample.npz"
)  # seven games, one of them held out by its number


def sample() -> Records:
    return FORMAT.read(SAMPLE)


def sfen_of(record: np.void) -> str:
    """A record's position as text, in plain Python."""
    names = [".", *"PLNSBRGK", *(f"+{x}" for x in "PLNSBR")]
    rows = []
    for rank in range(9):
        row = ""
        for file in range(8, -1, -1):
            man = int(record["board"][9 * file + rank])
            name = names[man & 15]
            row += name.lower() if man > 16 else name
        for blanks in range(9, 0, -1):
            row = row.replace("." * blanks, str(blanks))
        rows.append(row)
    held = dict(zip("PLNSGBRplnsgbr", record["hand"].tolist(), strict=True))
    hands = "".join(f"{held[x] if held[x] > 1 else ''}{x}" for x in "RBGSNLPrbgsnlp" if held[x])
    return f"{'/'.join(rows)} {'bw'[record['turn']]} {hands or '-'} {record['ply'] + 1}"


def usi_of(move: int) -> str:
    """A record's move as text, in plain Python."""

    def name(square: int) -> str:
        return f"{square // 9 + 1}{'abcdefghi'[square % 9]}"

    to, source = move & 127, move >> 7 & 127
    return f"{'PLNSBRG'[source - 81]}*{name(to)}" if source > 80 else name(source) + name(to) + "+" * (move >> 14)


def test_batches_agree_with_cshogi() -> None:
    cshogi = pytest.importorskip("cshogi", reason="cshogi, the oracle of shogi's rules, has no wheel for this machine")
    records = sample()
    positions = FORMAT.to_positions(SHOGI, records, TargetOptions(), "")
    assert positions.states["checked"].tolist() == records["check"].tolist()
    first = games_begin(records["game"], records["ply"])
    chosen = sorted({*range(0, len(records), 9), *np.flatnonzero(records["rep"] >= 2).tolist()})
    batch = positions.batch(np.array(chosen))
    assert batch.legal is not None
    for row, at in enumerate(chosen):
        record, sfens = records[at], [sfen_of(records[i]) for i in range(first[at], at + 1)]
        white, count = bool(record["turn"]), int(record["n"])
        np.testing.assert_array_equal(batch.planes[row], slow_encoding.planes(sfens, int(record["ply"])))
        actions = [slow_encoding.action(usi_of(int(move)), white) for move in record["mv"][:count]]
        assert batch.actions[row, :count].tolist() == actions
        shares = record["p"][:count].astype(float)
        assert batch.probabilities[row, :count] == pytest.approx(shares / shares.sum(), abs=1e-6)
        assert batch.probabilities[row, count:].tolist() == [0.0] * (8 - count)
        moves = [cshogi.move_to_usi(move) for move in cshogi.Board(sfens[-1]).legal_moves]
        legal = sorted(slow_encoding.action(text, white) for text in moves)
        assert sorted(a for a in batch.legal[row].tolist() if a >= 0) == legal
    assert {bool(record["turn"]) for record in records[chosen]} == {True, False}


def test_repetitions_are_those_of_the_records() -> None:
    """The games' unrecorded openings repeat nothing here."""
    records = sample()
    positions = FORMAT.to_positions(SHOGI, records, TargetOptions(), "")
    assert positions.states["repetitions"].tolist() == records["rep"].tolist()
    assert records["rep"].max() >= 2


def test_value_targets() -> None:
    records = sample()
    batch = FORMAT.to_positions(SHOGI, records, TargetOptions(teacher=0.75), "").batch(np.arange(len(records)))
    for at in range(0, len(records), 31):
        q, z = records["q"][at] / 32767, float(records["z"][at])
        result = [float(z == r) for r in (1, 0, -1)]
        expected = [0.75 * t + 0.25 * r for t, r in zip([(1 + q) / 2, 0, (1 - q) / 2], result, strict=True)]
        assert batch.wdl[at].tolist() == pytest.approx(expected, abs=1e-6)
        assert batch.z[at] == z


def test_played_moves_without_the_blind_ones() -> None:
    records = sample()
    data = FORMAT.to_positions(SHOGI, records, TargetOptions(policy="played"), "")
    kept = np.flatnonzero(records["rnd"] == 0)
    assert 0 < len(data) == len(kept) < len(records)
    batch = data.batch(np.arange(len(data)))
    for row in range(0, len(kept), 37):
        record = records[kept[row]]
        assert batch.actions[row].tolist() == [
            slow_encoding.action(usi_of(int(record["played"])), bool(record["turn"]))
        ]


def test_every_fiftieth_game_is_held_out() -> None:
    records = sample()
    train, heldout = FORMAT.read_folder(SHOGI, [SAMPLE], TargetOptions())
    assert len(heldout) == int((records["game"] % 50 == 7).sum()) > 0
    assert len(train) + len(heldout) == len(records)


def changed(**fields: object) -> Records:
    records = sample()[:20].copy()
    for name, value in fields.items():
        records[name][5] = value
    return records


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (changed(board=0), "one king a side"),
        (changed(board=[8, 24, 15, *[0] * 78]), "unknown piece"),
        (changed(board=[8, 24, 16, *[0] * 78]), "unknown piece"),
        (changed(board=[8, 24, 31, *[0] * 78]), "unknown piece"),
        (changed(board=[8, 24, 6, 22, 14, *[0] * 76]), "more pieces"),
        (changed(hand=[19, *[0] * 13]), "more pieces"),
        (changed(hand=255), "more pieces"),
        (changed(turn=2), "side to move"),
        (changed(n=0), "no labelled move"),
        (changed(n=9), "no labelled move"),
        (changed(mv=81), "off the board"),
        (changed(mv=88 << 7), "off the board"),
        (changed(played=1 << 15), "off the board"),
        (changed(p=0), "no probability"),
        (changed(z=2), "result"),
    ],
)
def test_impossible_records_are_refused(tmp_path: Path, records: Records, text: str) -> None:
    FORMAT.write(tmp_path / "x.npz", records)
    with pytest.raises(DataError, match=f"record 5: .*{text}"):
        FORMAT.read(tmp_path / "x.npz")


def test_an_illegal_label_is_refused_when_it_is_drawn() -> None:
    records = changed(mv=40 + (41 << 7))
    data = FORMAT.to_positions(SHOGI, records, TargetOptions(), "")
    assert len(data.batch(np.arange(5))) == 5
    with pytest.raises(DataError, match="labelled move is not legal in"):
        data.batch(np.arange(4, 8))
