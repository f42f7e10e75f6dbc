"""Said and happened: made-up games whose right answer is known, whatever the view, the format and the lengths."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from az_engine.bench.match.game import MatchSettings, thought
from az_engine.bench.match.tournament import Journal
from az_engine.cli import main
from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.info import Calibration
from az_engine.engine.records.formats import format_games
from az_engine.engine.records.record import Record
from az_engine.models.report import calibration
from az_engine.protocols.clients.base import Answer, PvInfo

CHESS = get_game("chess")
SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")
ENDING = ("e8e7", "a1a2", "e7e8", "a2a1")


def game(result: int, comments: list[str], root: str | None = None, **headers: str) -> tuple[Game, Record]:
    """A game of as many plies; what is said after each, "" = nothing."""
    shuffle = SHUFFLE if root is None else ENDING
    moves = [shuffle[ply % 4] for ply in range(len(comments))]
    return CHESS, Record.of_line(moves, root, result, comments=["", *comments], headers=headers)


def test_the_first_position_of_each_game_tells() -> None:
    """White says 75 %; it won the game in which it says so once, and lost the one in which it goes on saying more."""
    once, more = "wdl 700 100 200, Q +0.4000", "wdl 780 0 220, Q +0.4200"
    found = calibration.tenths(calibration.collect([game(1, [once]), game(-1, [once, "", *[more, ""] * 9])]))
    assert list(found) == [7]
    tenth = found[7]
    assert (tenth.games, tenth.positions) == (2, 11)
    assert [tenth.predicted, tenth.happened] == pytest.approx([0.75, 0.5])
    assert [tenth.draws_predicted, tenth.draws_happened] == pytest.approx([0.1, 0.0])
    assert tenth.margin == pytest.approx(1.96 * math.sqrt(0.5) / math.sqrt(2), abs=1e-3)


@pytest.mark.slow
def test_true_chances_are_found_true() -> None:
    """A walk to 0 or 1 whose place is the chance to win: in no tenth is it other than told, however long it stays."""
    source, games = random.Random(4), []
    for _ in range(300):
        place, comments = 6, list[str]()
        while 0 < place < 12:
            win = round(1000 * place / 12)
            comments += [f"wdl {win} 0 {1000 - win}", ""]
            place += source.choice((-1, 1))
        games.append(game(1 if place else -1, comments))
    for tenth in calibration.tenths(calibration.collect(games)).values():
        assert abs(tenth.happened - tenth.predicted) < 1.5 * tenth.margin


@pytest.mark.parametrize(
    ("result", "comments", "root", "happened"),
    [
        (1, ["", "wdl 200 100 700"], None, {2: 0.0}),  # black said it, and white won
        (-1, ["wdl 200 100 700"], "4k3/8/8/8/8/8/8/R3K3 b - - 0 1", {2: 1.0}),  # black began
        (0, ["80.0 %, +2.1 points, 90 visits", "20.4 %"], None, {8: 0.5, 2: 0.5}),  # GTP
        (1, ["+0 cp, depth 9", "mate -3", "mate 2, wdl 1000 0 0"], None, {5: 1.0}),  # a score alone; no mates
        (1, ["wdl 0 0 1000", "wdl 1000 0 0"], None, {0: 1.0, 9: 0.0}),
    ],
)
def test_views_and_forms(result: int, comments: list[str], root: str | None, happened: dict[int, float]) -> None:
    found = calibration.tenths(calibration.collect([game(result, comments, root)]))
    assert {place: tenth.happened for place, tenth in found.items()} == happened


def test_what_a_match_writes_is_read() -> None:
    line = PvInfo(cp=31, wdl=(412, 161, 427), mean=-0.0151, nodes=200, chance=0.49)
    assert calibration.read_comment(CHESS, thought(Answer("e2e4", None, (line,), 0.1))) == (0.4925, 0.161, -0.0151)


TRUTH = Calibration(half=0.5, spread=0.25, pieces=0.8)
ROOTS = ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", "4k2r/pp6/8/8/8/8/PP6/R3K1N1 w - -")


def made_up(games: int, seed: int, truth: Calibration = TRUTH) -> Iterator[tuple[Game, Record]]:
    """Games in which white's search tells a mean outcome: the result follows ``truth``, the chances told do not."""
    source = random.Random(seed)
    for number in range(games):
        root = f"{ROOTS[number % 2]} 0 {number + 1}"
        pieces = CHESS.count_pieces(CHESS.parse_position(root)[0][-1])
        mean = round(math.tanh(source.gauss(0, 0.5)), 4)
        win, _, loss = truth.chances(mean, pieces)
        result = source.choices((1, 0, -1), (win, 1 - win - loss, loss))[0]
        comment = f"wdl {500 + round(500 * mean)} 0 {500 - round(500 * mean)}, Q {mean:+.4f}"
        yield CHESS, Record.of_line(SHUFFLE[:1], root, result, comments=["", comment])


@pytest.mark.slow
def test_the_fit_finds_the_truth_and_holds_for_games_held_out() -> None:
    said = calibration.collect(made_up(3000, 1))
    fitted, held_out = calibration.cross_fit(said)
    assert fitted.half == pytest.approx(TRUTH.half, rel=0.15)
    assert fitted.spread == pytest.approx(TRUTH.spread, rel=0.15)
    assert fitted.pieces == pytest.approx(TRUTH.pieces, abs=0.2)
    assert set(said.half) == {0, 1}
    assert 0.4 < said.half.mean() < 0.6
    errors = [abs(t.happened - t.predicted) for t in calibration.tenths(said).values()]
    better = [t for t in calibration.tenths(held_out).values() if t.games > 100]
    assert max(errors) > 0.1, "what is told before the fit is wrong"
    assert all(abs(t.happened - t.predicted) < max(0.03, 1.5 * t.margin) for t in better)
    assert all(abs(t.draws_happened - t.draws_predicted) < 0.08 for t in better)


@pytest.mark.slow
def test_without_a_draw_the_spread_is_all() -> None:
    fitted = calibration.fit(calibration.collect(game for game in made_up(1500, 4, Calibration(0.0, 0.6))))
    assert (fitted.half, fitted.pieces) == (0.0, 0.0)
    assert fitted.spread == pytest.approx(0.6, rel=0.15)


@pytest.mark.slow
def test_the_command_reads_records_and_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = [record for _, record in made_up(60, 2)]
    lost = Record.of_line(SHUFFLE[:1], None, 1, comments=["", "wdl 0 0 1000"], headers={"Termination": "time loss"})
    pgn = tmp_path / "games.pgn"
    pgn.write_text(format_games([*games, lost], CHESS.record_formats[0]))
    out = tmp_path / "said.html"
    assert main(["report", "calibration", str(pgn), "--fit", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["games"], told["positions"]) == (60, 60)
    assert sum(int(tenth["games"]) for tenth in told["tenths"]["as said"]) == 60
    assert "<svg" in out.read_text()
    assert main(["report", "calibration", str(pgn), str(pgn), "--out", str(tmp_path / "said.svg")]) == 0
    said = capsys.readouterr()
    assert "60 games" in said.out
    assert said.err.startswith(f"{pgn}: its games are given twice and are counted once\n")
    folder = tmp_path / "match"
    Journal(folder, MatchSettings("chess", ()), {"game": "chess"}).close()
    for source, fault in ((folder, "no game has a result and comments"), (out, "holds no games")):
        assert main(["report", "calibration", str(source), "--out", str(tmp_path / "x.svg")]) != 0
        assert fault in capsys.readouterr().err
    with pytest.raises(DataError, match="20 games or more"):
        calibration.fit(calibration.collect(made_up(5, 3)))
