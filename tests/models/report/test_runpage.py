"""The page of a run: what it tells, its size, and runs that are odd."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from az_engine.cli import main
from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.report.runpage import LivePage, run_data, write_run_page

from ...games import DIRECTORY

CONFIG = {"run": {"game": "go", "preset": "small"}, "net": {"kind": "dual-res", "blocks": 1, "filters": 16}}


def make_run(folder: Path, checkpoints: int, game: str) -> Path:
    """A run's folder, with one game for each checkpoint."""
    rows: list[dict[str, Any]] = []
    for i in range(1, checkpoints + 1):
        step = 100 * i
        rows.append(
            {"step": step, "loss": 3.0, "policy": 3 - i / 100, "value": 1.0, "games": 50 * i, "minutes": 6.0 * i}
        )
        rows.append(
            {"step": step, "selfplay": {"length": 30.0, "first_wins": 0.5, "draws": 0.0, "resign_wrong": 0.02 * i}}
        )
        rows.append({"step": step, "heldout": {"policy": 3.0, "value": 0.9 + i / 100, "top1": 0.3}})
        rows.append({"step": step, "gate": {"promoted": i % 2 == 0}})
    (folder / "examples").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"torn')
    for i in range(1, checkpoints + 1):
        (folder / "examples" / f"step_{100 * i:08d}.sgf").write_text(game)
    return folder


def test_what_it_tells(tmp_path: Path) -> None:
    game = "(;GM[1]SZ[5]KM[7.5]RE[B+2.5];B[cc]C[+0.12];W[dd]C[-0.20];B[cd];W[bb]C[+1.00])"
    data = run_data(make_run(tmp_path / "run", 4, game), "heading", {})
    assert dict(data["facts"])["training steps"] == "400"
    assert dict(data["facts"])["state"] == "running"
    assert len(data["warnings"]) == 2, "held-out value loss rises; 8 % of the resignations are wrong"
    assert [row["step"] for row in data["rows"]] == [100, 200, 300, 400]
    assert data["gate"] == [[100, False], [200, True], [300, False], [400, True]]
    shown = data["games"][0]
    assert (shown["step"], shown["result"], shown["moves"]) == (400, 1, ["C3", "D2", "C2", "B4"])
    assert shown["scores"] == [0.56, 0.6, None, 0.0], "the first player's"
    text = shown["first"]
    for front, behind, between in shown["changes"]:
        text = text[:front] + between + text[len(text) - behind :]
    line = get_game("go5").initial()
    for move in shown["moves"]:
        line = get_game("go5").play(line, get_game("go5").parse_move(line, move))
    assert text == get_game("go5").format_position(line[-1])


@pytest.mark.parametrize(
    ("game", "line", "last", "square", "result"),
    [
        ("connect_four", "d d d d e f e f e f e", "...xxo.", "e4", 1),
        ("tictactoe", "a3 b2 b3 c3 a1 a2 c2 b1 c1", "xxo/oox/xox", "c1", 0),
        ("tictactoe", "a3 b2 b3 a1", "xx./.o./o..", "a1", None),
    ],
)
def test_games_of_discs(tmp_path: Path, game: str, line: str, last: str, square: str, result: int | None) -> None:
    assert (DIRECTORY / game).is_dir()
    folder = make_run(tmp_path / "run", 1, "nonsense")
    (folder / "examples" / "step_00000100.sgf").unlink()
    (folder / "examples" / f"step_00000100.{game}").write_text(f"position startpos moves {line}\n")
    (folder / "config.json").write_text(json.dumps({"run": {"game": game}}))
    (shown,) = run_data(folder, "", {})["games"]
    text = shown["first"]
    for front, behind, between in shown["changes"]:
        text = text[:front] + between + text[len(text) - behind :]
    assert (text.endswith(last), shown["moves"][-1], shown["result"]) == (True, square, result)
    assert shown["words"] == line.split()


@pytest.mark.slow
def test_a_long_run_is_a_small_page(tmp_path: Path) -> None:
    points = [(x, y) for y in range(19) for x in range(19)][::2]
    words = "".join(f";{'BW'[i % 2]}[{chr(97 + x)}{chr(97 + y)}]C[+0.10]" for i, (x, y) in enumerate(points))
    folder = make_run(tmp_path / "run", 100, f"(;GM[1]SZ[19]{words})")
    write_run_page(folder, folder / "run.html", {"learner": "waiting for new games"})
    page = (folder / "run.html").read_text()
    assert "waiting for new games" in page
    assert len(page.encode()) <= 2_000_000
    assert page.count('"first":') == 50
    assert not re.search(r'(src|href)="(?!#)', page), "it needs nothing else"


def test_runs_without_games_or_steps(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", 1, "nonsense")
    (folder / "examples" / "step_00000100.sgf").unlink()
    (folder / "config.json").write_text(json.dumps({"run": {"game": "of_another_place"}}))
    old = time.time() - 3600
    for name in ("log.jsonl", "config.json"):
        os.utime(folder / name, (old, old))
    data = run_data(folder, "", {})
    assert data["games"] == []
    assert dict(data["facts"])["state"] == "silent for 60 minutes"


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", 0, "")
    (folder / "log.jsonl").unlink()
    data = run_data(folder, "", {"learner": "waiting for the first games", "training steps": "7"})
    facts = dict(data["facts"])
    assert (facts["state"], facts["learner"], facts["training steps"]) == (
        "running",
        "waiting for the first games",
        "7",
    )
    assert data["rows"] == data["games"] == data["warnings"] == []
    with pytest.raises(DataError, match=r"config\.json cannot be read \(No such file or directory\)"):
        run_data(tmp_path, "", {})


@pytest.mark.parametrize(("share", "said"), [(0.05, "its games have to fit into 5% of the time"), (0.0, "off")])
def test_a_run_without_ratings_says_why(tmp_path: Path, share: float, said: str) -> None:
    folder = make_run(tmp_path / "run", 1, "nonsense")
    (folder / "config.json").write_text(json.dumps({"run": {"game": "go5", "ladder": {"share": share}}}))
    assert dict(run_data(folder, "", {})["facts"])["Elo"] == f"no net is rated: {said} (ladder.share)"
    row = {"step": 9, "a": "net 9 @64", "b": "search @640", "wins": 1, "draws": 0, "losses": 1, "seconds": 1}
    (folder / "ladder.jsonl").write_text(json.dumps(row) + "\n")
    assert "Elo" not in dict(run_data(folder, "", {})["facts"])


def test_a_finished_run_tells_nothing_of_now(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", 1, "nonsense")
    (folder / "finished").touch()
    facts = dict(run_data(folder, "", {"learner": "learning"})["facts"])
    assert facts["state"] == "finished"
    assert "learner" not in facts


def test_a_live_page_is_written_when_it_is_due_or_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("az_engine.models.report.runpage.time.monotonic", lambda: clock[0])
    folder, said, asked = make_run(tmp_path / "run", 1, "nonsense"), list[str](), list[float]()
    page = LivePage(folder, said.append)

    def tell(cost: float = 0.0) -> dict[str, str]:
        asked.append(clock[0])
        clock[0] += cost
        return {}

    page.write(tell)
    assert (folder / "run.html").exists()
    for second in (101.0, 109.9, 110.0):
        clock[0] = second
        page.write(tell)
    assert asked == [100.0, 110.0]
    page.write(lambda: tell(1.0), now=True)
    for second in (150.0, 160.9, 161.0):  # it took a second: the next one comes after fifty
        clock[0] = second
        page.write(tell)
    assert asked == [100.0, 110.0, 110.0, 161.0]
    (folder / "config.json").write_text("torn")
    for _ in range(3):
        page.write(tell, now=True)
    assert len(said) == 1
    assert said[0].startswith("the run's page is not written: ")


def test_a_folder_that_is_no_run_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(tmp_path / "typo")]) == 2
    assert "give the folder of a training run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
