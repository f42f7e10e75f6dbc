"""The papers' figures: what is drawn, and that broken-off reports go on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from az_engine.bench.match.players import MoveLimit, PlayerSpec
from az_engine.bench.match.tournament import JOURNAL, SETTINGS
from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.engine.search.tree.most_visited import SeenState, Snapshot
from az_engine.models.report.architectures import KINDS, Compared, as_json
from az_engine.models.report.curves import FILE, Curve, Point, draw
from az_engine.models.report.diagrams import draw_board
from az_engine.models.report.outside import chosen
from az_engine.models.report.runpage import run_data
from az_engine.models.report.scaling import Doublings
from az_engine.models.report.search import places

from ...games import DIRECTORY

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "data" / "chess_train_sample.npz"


def test_the_tree_is_laid_out_without_overlap() -> None:
    #        root
    #      a      b
    #    a1  a2   b1
    parents = (-1, 0, 0, 1, 1, 2)
    depths = (0, 1, 1, 2, 2, 2)
    states = tuple(SeenState("m", p, d, 1, 0.1, 50, "") for p, d in zip(parents, depths, strict=True))
    assert places(Snapshot(6, states)) == [(1.25, 0.0), (0.5, -1.0), (2.0, -1.0), (0.0, -2.0), (1.0, -2.0), (2.0, -2.0)]


@pytest.mark.parametrize(
    ("game", "position", "shapes", "letters"),
    [
        ("chess", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 64, 32),
        ("shogi", "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", 81 + 40, 40),
        ("shogi", "9/9/9/9/4+P4/9/9/9/4K3k b 2Pr 7", 81 + 3, 3 + 2),
        ("go9", "9/9/2X6/9/4O4/9/6X2/9/9 w - 7 chinese-ogs 0 0 0", 1 + 3, 0),
    ],
)
def test_boards(game: str, position: str, shapes: int, letters: int) -> None:
    from matplotlib.figure import Figure

    chart = Figure().subplots()
    bottom = draw_board(chart, get_game(game), position, 1, -1, 2)
    assert len(chart.patches) == shapes
    assert len(chart.texts) == letters
    assert (bottom == -3) == (" 2Pr " not in position)
    held = [text.get_text() for text in chart.texts if "holds" in text.get_text()]
    assert held == (["Black holds 2P", "White holds R"] if " 2Pr " in position else [])


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_search(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / f"search.{suffix}"
    command = ["report", "search", "--net", "uniform", "--visits", "1000", "--states", "4", "--json", "--out", str(out)]
    assert main([*command, "--moves", "e2e4 e7e5"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["simulations"] for row in rows] == [100, 1000]
    assert rows[0]["states"][0]["path"] == "root"
    content = out.read_bytes()
    if suffix == "png":
        assert content.startswith(b"\x89PNG")
    else:
        assert content.count(b"<svg") == 1
    if suffix == "html":
        assert content.count(b"<tr>") == 1 + 2 * 5
    assert main(["report", "search", "--out", "x.gif"]) == 2
    assert main(["report", "search", "--visits", "99"]) == 2
    assert main(["report", "search", "--fen", "nonsense"]) == 2


def test_steps_of_scaling() -> None:
    doublings = Doublings(PlayerSpec("x", net="uniform"), 10, 3, timed=False)
    assert [player.limit for player in doublings.players] == [MoveLimit(nodes=n) for n in (10, 20, 40, 80)]
    assert doublings.pairs == [(0, 1), (1, 2), (2, 3)]
    based = Doublings(PlayerSpec("x"), 10, 1, timed=True, baseline=PlayerSpec("y", limit=MoveLimit(nodes=1)))
    assert [player.name for player in based.players] == ["y", "x, 10 ms", "x, 20 ms"]
    assert based.pairs == [(0, 1), (0, 2), (1, 2)]


def test_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = tuple(Point(n, 100.0 * n, 100.0 * n - 50, 100.0 * n + 50) for n in (1, 2, 4))
    curve = Curve("chess", "x", "ms", "zero", 4, points)
    chart = draw([curve], "title").axes[0]
    assert np.array_equal(chart.lines[0].get_xydata(), [(1, 100), (2, 200), (4, 400)])
    for name, unit in (("a", "ms"), ("b", "ms"), ("c", "visits")):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_text(json.dumps({**curve.to_json(), "unit": unit}))
    a, b, c = (str(tmp_path / name) for name in "abc")
    out = tmp_path / "curves.html"
    assert main(["report", "curves", a, b, "--out", str(out)]) == 0
    assert out.read_text().count("<tr>") == 1 + 2 * 3
    assert main(["report", "curves", a, c, "--out", str(out)]) == 2
    assert "one kind" in capsys.readouterr().err
    (tmp_path / "c" / FILE).write_text("[]")
    assert main(["report", "curves", c, "--out", str(out)]) != 0
    assert "no result of az-engine report scaling" in capsys.readouterr().err
    assert main(["report", "curves", str(tmp_path), "--out", str(out)]) != 0


def test_scaling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", "scaling", "--player", "uniform", "--visits", "1", "--doublings", "2", "--out", str(tmp_path)]
    command += ["--openings", "random:60"]  # short games
    assert main([*command, "--games", "1"]) == 0
    assert main([*command, "--games", "2"]) == 0
    result = json.loads((tmp_path / "scaling.json").read_text())
    assert [point["amount"] for point in result["points"]] == [1, 2, 4]
    assert result["points"][0]["elo"] == 0
    assert (tmp_path / JOURNAL).read_text().count("\n") == 4
    assert (tmp_path / "scaling.html").read_text().count("<tr>") == 4
    assert "uniform, 4 visits" in capsys.readouterr().out
    assert main(["report", "scaling", "--visits", "0", "--out", str(tmp_path)]) == 2
    assert main([*command, "--games", "2", "--seed", "1"]) == 2
    assert main([*command[:-1], "random:50", "--games", "2"]) == 2
    said = capsys.readouterr().err
    assert "another match already (seed differ)" in said
    assert "another match already (openings differ)" in said
    assert (tmp_path / JOURNAL).read_text().count("\n") == 4


def test_scaling_goes_on_where_an_earlier_version_has_begun(tmp_path: Path) -> None:
    command = ["report", "scaling", "--player", "uniform", "--visits", "1", "--doublings", "1", "--out", str(tmp_path)]
    command += ["--openings", "random:60", "--games"]
    assert main([*command, "1"]) == 0
    known = json.loads((tmp_path / SETTINGS).read_text())
    (tmp_path / SETTINGS).write_text(json.dumps({name: known[name] for name in ("game", "players")}))
    assert main([*command, "2"]) == 0
    assert (tmp_path / JOURNAL).read_text().count("\n") == 2


def test_architectures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", "architectures", "--supervised", str(DATA), "--steps", "4", "--blocks", "1", "--filters", "8"]
    command += ["--batch", "16", "--visits", "2", "--games", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    rows = json.loads((tmp_path / "architectures.json").read_text())
    assert [row["network"] for row in rows] == list(KINDS)
    assert all(0 <= row["accuracy"] <= 1 and row["value_error"] > 0 and row["parameters"] > 1000 for row in rows)
    assert rows[0]["elo"] == 0
    assert (tmp_path / "games" / JOURNAL).read_text().count("\n") == 6
    assert (tmp_path / "architectures.svg").read_text().count("<svg") == 1
    said = capsys.readouterr().out
    assert all(kind in said for kind in KINDS)
    assert main(command) == 0  # everything is there already
    assert main([*command, "--steps", "5"]) == 2
    said = capsys.readouterr().err
    assert "was trained with" in said
    assert "--steps 4, not" in " ".join(said.split())
    (tmp_path / "training.json").unlink()  # as earlier versions left it
    assert main(command) == 0


def test_shapes_play_by_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Int8 files, one thread, the options of training that were given."""
    command = ["report", "architectures", "--supervised", str(DATA), "--steps", "20", "--shapes", "1x8,2x8"]
    command += [
        "--batch",
        "16",
        "--seconds",
        "0.005",
        "--games",
        "1",
        "--with=--squeeze 4 --history 1 --precision fp32",
    ]
    assert main([*command, "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "architectures.json").read_text())
    assert [row["network"] for row in rows] == ["1x8", "2x8"]
    assert rows[0]["parameters"] < rows[1]["parameters"]
    (game,) = [json.loads(line) for line in (tmp_path / "games" / JOURNAL).read_text().splitlines()]
    assert game["headers"]["WhiteLimit"] == "5 ms a move"
    config = json.loads((tmp_path / "2x8" / "config.json").read_text())["net"]
    assert (config["blocks"], config["squeeze"], config["history"]) == (2, 4, 1)
    assert "chess: 20 steps of training each" in (tmp_path / "architectures.svg").read_text()
    assert "2x8" in capsys.readouterr().out


@pytest.mark.parametrize("shapes", ["6x64", "6x64,6x64", "0x64,6x64"])
def test_shapes_that_cannot_be_compared(shapes: str, tmp_path: Path) -> None:
    command = ["report", "architectures", "--supervised", str(DATA), "--steps", "4", "--out", str(tmp_path)]
    assert main([*command, "--shapes", shapes]) == 2


@pytest.mark.parametrize("shapes", ["six,seven", "6x64,"])
def test_what_is_no_list_of_shapes(shapes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "architectures", "--supervised", str(DATA), "--steps", "4", "--out", "x", "--shapes", shapes])
    assert "is no list of BLOCKSxFILTERS such as 4x64,6x64" in capsys.readouterr().err


def test_figures_without_games() -> None:
    assert as_json([Compared("dual-res", 0.5, 0.1, 7)]) == [
        {"network": "dual-res", "accuracy": 0.5, "value_error": 0.1, "parameters": 7}
    ]


@pytest.mark.parametrize("plies", [0, 2])
def test_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str], plies: int) -> None:
    assert (DIRECTORY / "tictactoe").is_dir()
    run, few = tmp_path / "run", ["selfplay.games=16", "selfplay.visits=4", "loop.first_positions=30", "ladder.share=0"]
    few += ["loop.first_checkpoint=0", "loop.checkpoint_steps=2", "learner.batch=16", f"ladder.opening_plies={plies}"]
    train = ["train", "--game", "tictactoe", "--workers", "0", "--out", str(run)]
    command = ["report", "outside", str(run), "--games", "4", "--visits", "2"]
    assert main([*train, "--steps", "2", *(word for text in few for word in ("--set", text))]) == 0
    assert main(command) == 0
    assert "not rated" in capsys.readouterr().out
    assert main([*train, "--steps", "6"]) == 0
    rows = [("net 2 @64", "search @640", 3, 1), ("net 6 @64", "net 2 @64", 3, 1)]
    ladder = [{"step": 6, "a": a, "b": b, "wins": w, "draws": 0, "losses": n, "seconds": 1} for a, b, w, n in rows]
    (run / "ladder.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ladder))
    assert main([*command, "--against", "uniform visits=20", "--against", "uniform visits=1 name=weak"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(text in said for text in ("weak", "gain from 2", "the ladder's above search without a net, 640 visits"))
    found = json.loads((run / "outside.json").read_text())
    assert found["steps"] == [2, 6], "the rated ones"
    assert [elo[0] > 0 for elo in found["ladder"]["elo"]] == [True, True]
    assert [outsider["name"] for outsider in found["outside"]] == ["az-engine uniform", "weak"]
    assert all(sum(score) == 4 for outsider in found["outside"] for score in outsider["scores"])
    assert (run / "outside" / "step_00000006" / JOURNAL).read_text().count("\n") == 16
    assert run_data(run, "", {})["outside"] == found
    assert main([*command, "--against", "uniform visits=20", "--against", "uniform visits=1 name=weak"]) == 0
    assert main([*command, "--nets", "0"]) == 2
    assert main(["report", "outside", str(tmp_path)]) != 0


@pytest.mark.parametrize(("count", "steps"), [(1, [9]), (2, [1, 9]), (3, [1, 5, 9]), (7, [1, 3, 5, 7, 9])])
def test_checkpoints_that_play_are_spread(count: int, steps: list[int]) -> None:
    assert chosen([1, 3, 5, 7, 9], count) == steps
    assert chosen([4], count) == [4]
    assert chosen([], count) == []
