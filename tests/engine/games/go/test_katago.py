"""KataGo's planes: against vectors that its own program's answers confirm, and in positions that people can read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.go.encoders.katago import ENCODER, ENCODER_SUICIDE, SPATIAL
from az_engine.engine.games.go.rulesets import rule_set
from az_engine.engine.games.outcome import RUNNING
from az_engine.models.foreign.katago import number_scale

from .katago_rows import Row, foreign, line_of, read_rows, start

SAMPLE = Path(__file__).parents[3] / "data" / "katago_planes.jsonl.gz"
KO, CAUGHT, OPENINGS, OWN_AREA, THEIR_AREA = 6, 14, 17, 18, 19


def planes_of(line: State, encoder: str = ENCODER) -> NDArray[np.uint8]:
    """u1[42, H, W] of a line's last position."""
    game = get_game(f"go{line[-1]['columns']}x{line[-1]['rows']}").using(encoder)
    out = np.full((1, *game.planes), 7, np.uint8)
    game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), out)
    return np.asarray(out[0])


def numbers_of(planes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """KataGo's 19 numbers."""
    scale, offset = number_scale()
    numbers = scale.astype(np.float64) @ planes[SPATIAL:, 0, 0] + offset
    numbers[5] /= 40
    return np.asarray(numbers[:19])


def check(row: Row) -> None:
    _, line = line_of(row)
    planes = planes_of(line)
    points = row["x"] * row.get("y", row["x"])
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(row["planes_hex"]), np.uint8))[: SPATIAL * points]
    wrong = planes[:SPATIAL].reshape(SPATIAL, points) != bits.reshape(SPATIAL, points)
    assert not wrong.any(), f"row {row['id']}: planes {np.flatnonzero(wrong.any(axis=1))}"
    assert np.abs(numbers_of(planes) - row["globals"]).max() < 1e-9, f"row {row['id']}"
    assert (planes[SPATIAL:] == planes[SPATIAL:, :1, :1]).all()


@pytest.mark.parametrize("row", read_rows(SAMPLE), ids=lambda row: str(row["id"]))
def test_sample(row: Row) -> None:
    check(row)


def test_all_vectors() -> None:
    rows = [row for row in read_rows(foreign("katago_b6c96.jsonl.gz")) if "planes_hex" in row]
    assert rows
    for row in rows:
        check(row)


def position(text: str, komi: float = 7.5, rules: str = "tromp-taylor", turn: str = "b") -> State:
    """State[1] of a board drawn with X, O and dots."""
    rows = text.split()
    board = "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)
    return get_game(f"go{len(rows)}").parse_position(f"{board} {turn} - {komi} {rules}")[0]


LADDER = "....... ....... ...XX.. ..XO... ....... ....... ......."
BREAKER = "....... ....... ...XX.. ..XO... ....... .....O. ......."


def test_ladders() -> None:
    planes = planes_of(position(LADDER))
    assert np.argwhere(planes[CAUGHT]).tolist() == [[3, 3]]
    assert np.argwhere(planes[OPENINGS]).tolist() == [[4, 3]]
    defender = planes_of(position(LADDER, turn="w"))  # the attacker begins all the same
    assert np.argwhere(defender[CAUGHT]).tolist() == [[3, 3]]
    assert defender[OPENINGS].sum() == 0
    assert planes_of(position(BREAKER))[[CAUGHT, OPENINGS]].sum() == 0


def test_a_chain_in_atari_may_run() -> None:
    for board, caught in ((LADDER, 1), (BREAKER, 0)):
        rows = board.split()
        rows[4] = "...X..."
        assert planes_of(position(" ".join(rows)))[CAUGHT].sum() == caught


def test_two_eyes_own_what_is_inside() -> None:
    planes = planes_of(position(".X.XO XXXXO OOOOO ..... ....."))
    assert planes[OWN_AREA].sum() == 8
    assert planes[THEIR_AREA].sum() == 17


@pytest.mark.slow
def test_areas_as_if_suicide_were_legal() -> None:
    line = position("O.X.X .XXXX XXOOO OOO.O .O.OO", rules="chinese")  # only one eye if the corner could be left empty
    assert planes_of(line)[OWN_AREA].sum() == 12
    assert planes_of(line, ENCODER_SUICIDE)[OWN_AREA].sum() == 9


def test_an_agreed_pass_hides_the_past() -> None:
    for rules, shown in (("tromp-taylor", True), ("chinese", False)):
        game = get_game("go5")
        line = start(5, 7, rules)
        for move in (12, 7, 25):
            line = game.play(line, move)
        planes, numbers = planes_of(line), numbers_of(planes_of(line))
        assert (numbers[0], numbers[14]) == (shown, shown)
        assert planes[10].sum() == planes[11].sum() == shown
        assert line[-1]["rules"] == rule_set(rules).flags


def test_a_change_of_side_ends_what_is_remembered() -> None:
    game = get_game("go5")
    line = game.play(game.initial(), 12)
    line = game.play(line, 26)  # nobody moves, black is to move again
    planes = planes_of(game.play(line, 3))
    assert planes[9, 0, 3] == 1
    assert planes[9:14].sum() == 1


def test_a_root_alone_hides_the_moves_before_it_and_keeps_what_superko_forbids() -> None:
    """As KataGo's analysis has it (ignorePreRootHistory); moves after the root are shown again."""
    game, rng = get_game("go3").using(ENCODER), np.random.default_rng(3)
    line, hidden = start(3, 0, "tromp-taylor"), 0
    for _ in range(200):
        moves = game.legal_moves(line)
        line = game.play(line, int(rng.choice(moves)))
        if game.outcome(line) != RUNNING:
            line = start(3, 0, "tromp-taylor")
            continue
        seen, alone = planes_of(line), planes_of(game.alone(line))
        assert not alone[9:14].any()
        assert not numbers_of(alone)[:5].any()
        assert (alone[14] == alone[15]).all()
        assert (seen[:9] == alone[:9]).all()
        hidden += int(seen[6].sum())
        after = planes_of(game.play(game.alone(line), int(game.legal_moves(line)[0])))
        assert after[9:14].sum() + numbers_of(after)[:5].sum() == 1
    assert hidden > 3, "superko forbids something"
    assert get_game("go3").alone(line) is line, "our own nets are not used to it"


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese-ogs"])
def test_superko_forbids_lone_stones_too(rules: str) -> None:
    """On 3x3 captures soon bring early boards back: the plane is what the rules forbid."""
    game, rng = get_game("go3"), np.random.default_rng(5)
    lone = 0
    for _ in range(15):
        line = start(3, 0, rules)
        for _ in range(60):
            if game.outcome(line) != RUNNING:
                break
            board = planes_of(line)[KO].ravel().astype(bool)
            stones = planes_of(line)[1:3].sum(axis=0)
            empty = np.flatnonzero(stones.ravel() == 0)
            legal = set(game.legal_moves(line).tolist())
            simple = line[-1:].copy()  # the position alone: nothing to repeat
            allowed = {*game.legal_moves(simple).tolist(), int(line[-1]["ko"])}
            forbidden = {p for p in empty.tolist() if p in allowed and p not in legal and p != 9}
            assert set(np.flatnonzero(board).tolist()) == forbidden
            beside = np.pad(stones, 1)
            near = beside[:-2, 1:-1] + beside[2:, 1:-1] + beside[1:-1, :-2] + beside[1:-1, 2:]
            lone += sum(near.ravel()[p] == 0 for p in forbidden)
            moves = sorted(legal - {9}) or [9]
            line = game.play(line, moves[rng.integers(len(moves))])
    assert lone > 0


def test_komi_is_clipped() -> None:
    for turn, sign in (("b", -1), ("w", 1)):
        assert numbers_of(planes_of(position("... ... ...", komi=500, turn=turn)))[5] == sign * (9 + 20) / 20


def test_boards_that_katago_does_not_know() -> None:
    with pytest.raises(OptionError, match="alphazero"):
        get_game("go20").using(ENCODER)
