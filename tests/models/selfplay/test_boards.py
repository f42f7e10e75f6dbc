"""Self-play on several sizes of board: who plays where, what is learned, and the same run however often broken off."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.nets.weights import load_evaluator
from az_engine.models.fields import Values, merged
from az_engine.models.selfplay import command as reinforce
from az_engine.models.selfplay.boards import boards_of
from az_engine.models.selfplay.command import described
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.presets import preset
from az_engine.models.selfplay.run import SelfPlayRun
from az_engine.models.selfplay.show.examples import write_examples
from az_engine.models.selfplay.show.status import Observer, Status
from az_engine.models.selfplay.store.replay import GameRecord, ReplayFolder, ShardWriter, line_of_game, title
from az_engine.models.selfplay.store.window import Window, WindowConfig, Windows
from az_engine.models.train import checkpoint, flags

from ...fakes.arguments import parsed
from .games import random_game, same
from .test_run import stored

GO = get_game("go5")
BOARDS = boards_of(GO, {"4": 0.25, "3": 0.25})
SMALL: Values = {
    "game": "go5",
    "boards": {"4": 0.3, "3": 0.2},
    "net": {"policy_head": "pooled", "blocks": 1, "filters": 8, "value_hidden": 8, "ownership": True, "score": True},
    "learner": {"batch": 32, "rate": 0.005, "warmup": 4},
    "selfplay": {"visits": 4, "games": 6, "noise_alpha": 1.0, "max_moves": 30},
    "loop": {"steps": 24, "checkpoint_steps": 8, "first_checkpoint": 0, "first_positions": 300, "reuse": 1.0},
    "ladder": {"share": 0.0},
    "resign": {"least": 20},
    "window": {"held_out_every": 10},
    "machine": {"workers": 0},
}


def config(**over: Any) -> RunConfig:
    return RunConfig.from_values(merged(merged(preset("az,small", GO), SMALL), over))


def begin(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(described(config(), GO, "az-engine train")))
    return folder


def weights(folder: Path) -> str:
    """A hash of what the newest checkpoint keeps."""
    newest = checkpoint.load_newest(folder / "checkpoints", print)
    assert newest is not None
    return hashlib.sha256(safetensors.torch.save(newest.tensors)).hexdigest()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = begin(tmp_path_factory.mktemp("whole") / "run")
    assert SelfPlayRun(folder, config(), Observer()).train()
    return folder


def on_board(number: int, lines: int) -> GameRecord:
    return replace(random_game(GO.sized(lines) if lines else GO, number, plies=12), board=lines)


@pytest.mark.slow
def test_a_run_plays_and_learns_on_all_of_its_boards(whole: Path) -> None:
    records = stored(whole)
    positions = {lines: sum(r.targets for r in records if r.board == lines) for lines in (0, 3, 4)}
    shares = {lines: count / sum(positions.values()) for lines, count in positions.items()}
    assert shares == pytest.approx({0: 0.5, 3: 0.2, 4: 0.3}, abs=0.12)  # games in progress do not count
    for record in records:
        assert len(line_of_game(GO, record)) == len(record.moves) + 1
        assert len({r.id for r in records}) == len(records)
    for lines in (3, 4, 5):
        net = load_evaluator(str(next((whole / "nets").glob("*24.onnx"))), GO.sized(lines), provider="cpu")
        assert net.info is not None
        assert net.info.boards == (3, 4, 5)


@pytest.mark.slow
def test_games_of_its_own_board_are_held_out(tmp_path: Path) -> None:
    """With two boards, whose games have even and odd numbers."""
    folder = tmp_path / "run"
    folder.mkdir()
    run = RunConfig.from_values(merged(preset("az,small", GO), {**SMALL, "boards": {"4": 0.5}}))
    assert len(run.get_boards()) == 2
    (folder / "config.json").write_text(json.dumps(described(run, GO, "az-engine train")))
    trained = SelfPlayRun(folder, run, Observer())
    assert trained.train()
    own = sum(not record.board for record in stored(folder))
    assert trained.held_out.games == pytest.approx(own / 10, abs=1)
    assert sum(part.games for part in trained.window.parts) == len(stored(folder)) - trained.held_out.games


@pytest.mark.slow
def test_killed_it_goes_on_as_if_it_had_not_been(whole: Path, tmp_path: Path) -> None:
    """What a kill leaves on the disk is what is there at some instant."""
    folder, left, games = begin(tmp_path / "run"), list[Path](), len(stored(whole))

    def keep(status: Status) -> None:
        if len(left) < 3 and status.games >= games * (0.3, 0.6, 0.9)[len(left)]:
            left.append(shutil.copytree(folder, tmp_path / str(len(left))))

    assert SelfPlayRun(folder, config(), Observer(on_status=keep)).train()
    assert len(left) == 3
    assert len({len(stored(place)) for place in left}) == 3
    for place in (folder, *left):
        assert SelfPlayRun(place, config(), Observer()).train()
        assert weights(place) == weights(whole)
        assert {r.to_bytes() for r in stored(place)} == {r.to_bytes() for r in stored(whole)}


def test_a_record_keeps_its_board() -> None:
    for lines in (0, 4):
        record = on_board(7, lines)
        again = GameRecord.from_bytes(record.to_bytes())
        assert same(again, record)
        assert again.board == lines


def test_windows_keep_a_part_for_each_board_and_draw_from_all() -> None:
    windows = Windows(BOARDS, WindowConfig(games=8), lambda board: Window(board.game, 1))
    records = [on_board(number, (0, 3, 0, 4)[number % 4]) for number in range(40)]
    for at in range(0, 40, 4):
        windows.add(records[at : at + 4], records[at : at + 3])  # the games on 4x4 come, but are not for training
    assert [part.games for part in windows.parts] == [4, 2, 0]
    assert [part.board for part in windows.parts] == ["5x5", "3x3", "4x4"]
    drawn = [windows.draw(4, 1, step) for step in range(400)]
    again = [windows.draw(4, 1, step) for step in range(400)]
    assert all(a.planes.tobytes() == b.planes.tobytes() for a, b in zip(drawn, again, strict=True))
    windows.add(records[:4], records[3:4])
    assert [part.games for part in windows.parts] == [4, 2, 1]
    drawn = [windows.draw(4, 1, step) for step in range(400)]
    for board in BOARDS:
        here = sum(batch.planes.shape[-1] == board.game.planes[-1] for batch in drawn) / 400
        assert here == pytest.approx(board.share, abs=0.08)


def test_games_on_other_boards_are_left_out(tmp_path: Path) -> None:
    said: list[str] = []
    writer = ShardWriter(tmp_path, 0, title(GO, "1"))
    for number, lines in enumerate((0, 3, 4)):
        writer.write(on_board(number, lines))
    writer.close()
    (read,) = ReplayFolder(tmp_path, GO, "1", said.append, boards=(0, 4)).read()
    assert [record.board for record in read] == [0, 4]
    assert "game 1 is on a board of 3 lines, which the run has not" in said[0]


def test_one_board_alone_is_drawn_as_ever() -> None:
    windows, window = (
        Windows(boards_of(GO, {}), WindowConfig(games=9), lambda board: Window(board.game, 1)),
        Window(GO, 9),
    )
    records = [on_board(number, 0) for number in range(12)]
    windows.add(records, records)
    window.add(records)
    for step in range(5):
        assert windows.draw(8, 3, step).planes.tobytes() == window.draw(8, 3, step).planes.tobytes()
    assert (windows.games, len(windows), windows.description) == (9, len(window), window.description)


def test_examples_are_on_their_own_boards(tmp_path: Path) -> None:
    path = write_examples(GO, [on_board(1, 0), on_board(2, 3)], tmp_path, 5)
    assert path is not None
    assert path.read_text().count("SZ[3]") == 1
    assert path.read_text().count("SZ[5]") == 1


@pytest.mark.parametrize(
    ("game", "boards", "said"),
    [
        ("go5", {"4": 0}, "boards.4 is 0; it must be a share between 0 and 1"),
        ("go5", {"4": True}, "boards.4 is True; it must be a share"),
        ("go5", {"5": 0.5}, "boards.5 is the run's own board"),
        ("go5", {"4": 0.5, "3": 0.5}, "add up to 1; leave some for the run's own"),
        ("go5", {"four": 0.5}, "board"),
        ("go5", {"99": 0.5}, "board"),
        ("chess", {"4": 0.5}, "chess has one size of board"),
    ],
)
def test_what_no_run_can_play_is_refused(game: str, boards: Values, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        boards_of(get_game(game), boards)


def test_what_does_not_go_with_several_boards_is_refused() -> None:
    for over, said in (
        ({"net": {"policy_head": "flat"}}, "only net.policy_head=pooled"),
        ({"machine": {"workers": 1, "evaluators": 1, "int8": False}}, "run nets for one size of board"),
    ):
        with pytest.raises(OptionError, match=said):
            config(**over).net_config(GO)


def test_flags(tmp_path: Path) -> None:
    def boards(*words: str) -> Values:
        return reinforce.settings(parsed(flags, "--game", "go", *words), tmp_path / "run")[0].boards

    assert boards("--size", "9") == {}
    assert boards("--size", "9,7") == {"7": 0.5}
    assert boards("--size", "9,7,5", "--shares", "2,1,1") == {"7": 0.25, "5": 0.25}
    for words, said in (
        (("9,7", "1"), "--shares needs 2 numbers"),
        (("9,9", "1,1"), "each size of board once"),
        (("9", "1"), "--shares is for several sizes of board"),
    ):
        with pytest.raises(OptionError, match=said):
            boards("--size", words[0], "--shares", words[1])


@pytest.mark.slow
def test_a_run_keeps_its_boards(whole: Path) -> None:
    words = ("--game", "go", "--size", "5,4,3", "--out", str(whole))
    with pytest.raises(OptionError, match=r"boards\.3.*cannot change while a run goes on"):
        reinforce.settings(parsed(flags, *words, "--shares", "4,3,3"), whole)
    assert reinforce.settings(parsed(flags, *words, "--shares", "5,3,2"), whole)[1] == []
