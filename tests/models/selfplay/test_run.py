"""Whole runs of self-play at tic-tac-toe: they learn, go on after any interruption, and lose and double nothing."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from rich.console import Console

import az_engine
from az_engine.engine.errors import DataError, NetError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import paper_params
from az_engine.engine.records.formats import read_games
from az_engine.engine.search.selfplay.matches import NetPlayer
from az_engine.models import storage
from az_engine.models.fields import Values, merged
from az_engine.models.net import providers
from az_engine.models.report.runpage import run_data
from az_engine.models.selfplay import command as reinforce
from az_engine.models.selfplay.command import described
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.folder import Current, Heartbeat, RunFolder
from az_engine.models.selfplay.nets import promotion
from az_engine.models.selfplay.nets.promotion import COURSE, course
from az_engine.models.selfplay.nets.rating import Ladder
from az_engine.models.selfplay.presets import preset
from az_engine.models.selfplay.run import SelfPlayRun
from az_engine.models.selfplay.show.examples import write_examples
from az_engine.models.selfplay.show.status import Observer, Status
from az_engine.models.selfplay.show.table import LiveView
from az_engine.models.selfplay.show.tensorboard import tensorboard
from az_engine.models.selfplay.store.frames import FrameReader
from az_engine.models.selfplay.store.replay import GameRecord
from az_engine.models.storage import RunLock
from az_engine.models.train import checkpoint, flags
from az_engine.models.train.log import read_log

from ...fakes.arguments import parsed
from ...fakes.waiting import wait_for
from ...games import DIRECTORY
from .games import random_game
from .perfect import Perfect, never_loses

pytestmark = pytest.mark.slow

GAME = get_game("tictactoe")
SMALL: Values = {
    "game": "tictactoe",
    "net": {"blocks": 1, "filters": 16, "value_hidden": 16},
    "learner": {"batch": 64, "rate": 0.005, "warmup": 10},
    "selfplay": {"visits": 8, "games": 8, "noise_alpha": 1.0},
    "loop": {"steps": 60, "checkpoint_steps": 20, "first_positions": 200, "reuse": 8.0, "symmetries": True},
    "ladder": {"share": 0.0, "opening_plies": 1, "pairs": 4, "visits": 8, "plain_visits": 16},
    "resign": {"least": 20},
    "window": {"held_out_every": 10},
    "machine": {"workers": 0},
}


def config(**over: Any) -> RunConfig:
    return RunConfig.from_values(merged(merged(preset("az,small", GAME), SMALL), over))


def begin(folder: Path, run: RunConfig) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(described(run, GAME, "az-engine train")))
    return folder


def train(folder: Path, run: RunConfig, observer: Observer | None = None) -> SelfPlayRun:
    begin(folder, run)
    trained = SelfPlayRun(folder, run, observer or Observer())
    assert trained.train()
    return trained


def stored(folder: Path) -> list[GameRecord]:
    """Every game record in the run's shards, as often as it is there."""
    payloads = [p for path in sorted((folder / "games").glob("*.games")) for p in FrameReader(path).read()]
    return [GameRecord.from_bytes(p) for p in payloads if p[:1] == b"\x01"]


def environment() -> dict[str, str]:
    source = str(Path(az_engine.__file__).parents[1])
    return {**os.environ, "AZ_ENGINE_GAMES": str(DIRECTORY), "PYTHONPATH": source}


def command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "az_engine", "train", "--game", "tictactoe", "--out", str(folder), *words]


def tensors(folder: Path, step: int) -> dict[str, str]:
    """What a checkpoint holds, as hashes by name, so that a test that fails says what differs."""
    parts = safetensors.torch.load_file(folder / "checkpoints" / f"step-{step:08d}.safetensors")
    with np.load(io.BytesIO(parts.pop("selfplay.state").numpy().tobytes())) as games:
        held = {**{name: part.numpy() for name, part in parts.items()}, **games}
    return {name: hashlib.sha256(part.tobytes()).hexdigest() for name, part in held.items()}


def games_of(folder: Path) -> bytes:
    return (folder / "games" / "0000-00000.games").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 60 steps that nothing interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    with folder.with_name("shown.txt").open("w") as file, LiveView(Console(file=file, width=200), "") as view:
        train(folder, config(ladder={"share": 1.0}), Observer(on_status=view.show))
    return folder


def test_torch_plays_judges_and_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("onnxruntime was asked to play")

    monkeypatch.setattr(providers, "OnnxEvaluator", refuse)
    over = {"machine": {"provider": "torch", "int8": False}, "gate": {"games": 4, "visits": 4, "opening_plies": 1}}
    trained = train(tmp_path / "run", config(**over, loop={"steps": 20}, ladder={"share": 1.0}))
    assert trained.ladder.rated == [0, 20]
    assert any("gate" in row for row in read_log(trained.folder.log))
    assert len(stored(tmp_path / "run")) > 20


def test_the_recipe_s_parts_go_together(tmp_path: Path) -> None:
    values: Values = {
        "game": "go5",
        "net": {"blocks": 1, "filters": 8, "value_hidden": 8, "ownership": True, "score": True},
        "learner": {"batch": 32, "cooldown": 0.5},
        "selfplay": {"visits": 6, "games": 8, "opening_moves": 1.5},
        "window": {"root_value": 0.3},
        "loop": {"steps": 20, "checkpoint_steps": 10, "first_positions": 100, "reuse": 8.0},
    }
    game = get_game("go5")
    run = RunConfig.from_values(merged(merged(preset("az,small", game), SMALL), values))
    (tmp_path / "run").mkdir()
    trained = SelfPlayRun(tmp_path / "run", run, Observer())
    assert trained.train()
    rows = [row for row in read_log(trained.folder.log) if "ownership" in row]
    assert rows
    assert all(0 < row["ownership"] < 2 and row["score"] > 0 for row in rows)
    assert OnnxEvaluator(trained.folder.net(20), game, batch_size=1).extra == ("ownership", "score")
    with pytest.raises(OptionError, match="tictactoe has no territory to own"):
        config(net={"ownership": True}).net_config(GAME)


def test_processes_share_an_evaluator_and_a_killed_one_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    folder, events, killed = RunFolder(tmp_path / "run"), list[str](), list[int]()

    def kill(status: Status) -> None:
        heartbeat = Heartbeat.read(folder.workers / "evaluator-0.json")
        workers = [Heartbeat.read(folder.workers / f"{number:04d}.json") for number in (1, 2)]
        if not all(worker is not None and worker.games for worker in workers):
            return  # on a busy machine one plays long before the other
        if not killed and heartbeat is not None and heartbeat.evaluations and status.games > 20:
            killed.append(heartbeat.pid)
            os.kill(heartbeat.pid, signal.SIGKILL)

    machine = {"workers": 2, "evaluators": 1, "provider": "torch", "int8": False}
    run = config(machine=machine, loop={"steps": 1_000_000, "minutes": 0.0, "first_positions": 200})
    over = Observer(on_status=kill, on_event=events.append, stop=lambda: bool(killed) and played_on())

    def played_on() -> bool:
        """Whether the second evaluator has worked."""
        heartbeat = Heartbeat.read(folder.workers / "evaluator-0.json")
        return heartbeat is not None and heartbeat.pid != killed[0] and heartbeat.evaluations > 0

    begin(folder.folder, run)
    assert not SelfPlayRun(folder.folder, run, over).train()  # stopped, and saved
    assert "evaluator 0 ended (signal 9): started again" in events
    assert any("the process that runs the nets has ended" in text for text in events)
    ids = [record.id for record in stored(folder.folder)]
    assert len(set(ids)) == len(ids) > 20
    assert {number >> 32 for number in ids} == {1, 2}
    assert folder.address(0) is None


def test_a_run_leaves_what_it_says(whole: Path) -> None:
    folder = RunFolder(whole)
    assert folder.finished
    assert folder.current == Current("net_00000060.onnx", 60, 60, folder.current.resign if folder.current else None)
    assert folder.net_steps == [0, 20, 40, 60]
    records = stored(whole)
    ids = [r.id for r in records]
    assert len(set(ids)) == len(ids) > 60
    assert all(r.targets == len(r.moves) for r in records)
    for record in records[:50]:
        line = GAME.initial()
        for move in record.moves.tolist():
            assert move in GAME.legal_moves(line)
            line = GAME.play(line, move)
        if record.reason == "rules":
            assert GAME.outcome(line) * (1 if len(record.moves) % 2 == 0 else -1) == record.result
    rows = read_log(folder.log)
    assert [r["step"] for r in rows if "loss" in r] == [20, 40, 60]
    assert [r["step"] for r in rows if "heldout" in r] == [20, 40, 60]
    played = [r["selfplay"] for r in rows if "selfplay" in r]
    assert 5 <= played[-1]["length"] <= 9
    assert played[-1]["damaged_records"] == played[-1]["repeated_games"] == 0


def test_the_last_line_says_where_the_run_ended(whole: Path) -> None:
    lines = whole.with_name("shown.txt").read_text().splitlines()
    assert "step 0 (0.0%" in lines[0]
    assert "step 60 (100.0%" in lines[-1]


def test_the_folder_of_a_run_is_a_net(whole: Path, tmp_path: Path) -> None:
    evaluator = load_evaluator(str(whole), GAME)
    assert evaluator.info is not None
    assert evaluator.info.step == 60
    with pytest.raises(NetError, match="no folder of a self-play run"):
        load_evaluator(str(tmp_path), GAME)


@pytest.mark.parametrize("name", ["go5", "chess", "shogi"])
def test_games_to_look_at(name: str, tmp_path: Path) -> None:
    game = get_game(name)
    played = [random_game(game, number, plies=40) for number in range(10)]
    path = write_examples(game, played, tmp_path, 7)
    assert path is not None
    read = list(read_games(game.record_formats, path))
    assert [record.moves for record in read] == [
        game.format_moves(game.initial()[0], record.moves.tolist()) for record in played[-8:]
    ]
    assert not any(record.fault for record in read)
    assert write_examples(game, [], tmp_path, 7) is None


def test_reuse_is_kept(whole: Path) -> None:
    """Never more than 8 positions trained on for each new one; at the end no more games than that needs."""
    rows = [r for r in read_log(whole / "log.jsonl") if "selfplay" in r]
    for row in rows:
        assert row["positions"] <= 8.0 * row["selfplay"]["positions"]
    assert rows[-1]["positions"] > 0.9 * 8.0 * (rows[-1]["selfplay"]["positions"] - 8 * 9)


def test_the_ladder_rates_first_and_last_net(whole: Path, tmp_path: Path) -> None:
    rows = read_log(whole / "ladder.jsonl")
    assert {r["step"] for r in rows} >= {0, 60}
    games: Counter[tuple[str, str]] = Counter()
    for row in rows:
        games[row["a"], row["b"]] += row["wins"] + row["draws"] + row["losses"]
    assert set(games.values()) == {8}  # the first pair of a kind of match alone, to know how long one takes
    text = json.dumps(rows)
    assert all(name in text for name in ('"random"', '"search @16"', '"net 60 raw"', '"net 60 @8"'))
    data = run_data(whole, "", {})
    assert [point[0] for point in data["elo"]["network, 8 visits"]][-1] == 60
    assert "capped" in data["played"][-1]


def test_the_curves_of_the_documents_are_drawn(whole: Path, tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "docs" / "pictures" / "curves.py"
    subprocess.run([sys.executable, script, whole, tmp_path / "curves.png"], check=True, timeout=120)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_is_over_rates_the_nets_that_were_left_out(whole: Path, tmp_path: Path) -> None:
    """Given again with a greater share: the farthest from the rated ones first, and nobody plays for it."""
    folder = tmp_path / "whole"
    shutil.copytree(whole, folder)
    rows = read_log(folder / "ladder.jsonl")
    kept = [r for r in rows if r["step"] in (0, 60)]
    (folder / "ladder.jsonl").write_text("".join(json.dumps(r) + "\n" for r in kept))
    games = games_of(folder)
    train(folder, config(ladder={"share": 100.0}))
    added = read_log(folder / "ladder.jsonl")[len(kept) :]
    assert list(dict.fromkeys(r["step"] for r in added)) == [20, 40]
    assert (added[0]["a"], added[0]["b"]) in {("net 20 @8", "net 0 @8"), ("net 20 @8", "net 60 @8")}
    assert games_of(folder) == games


def test_a_net_gives_way_to_the_next_one_when_it_has_played_enough(whole: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "whole")
    shutil.copytree(whole, folder.folder)
    folder.ladder.unlink()
    ladder = Ladder(folder, config(ladder={"share": 1.0}), GAME, lambda action, what: action())  # type: ignore[arg-type]
    assert ladder.enqueue(0)
    assert not ladder.enqueue(20)
    for match in ladder.waiting[:2]:
        ladder.play(match, match.pairs)
    assert ladder.enqueue(20)
    assert {match.step for match in ladder.waiting} == {20}
    ratings = ladder.ratings()
    assert ratings["search @16"].elo == 0.0
    assert ladder.zero() == f"search without a net, 16 visits, {-ratings['random'].elo:+.0f} above random moves"


def test_the_nets_that_stay_mark_the_whole_course_of_a_run() -> None:
    kept: set[int] = set()
    for step in range(0, 200 * 500, 200):
        kept = course(sorted({*kept, step}), 200)
        gaps = np.diff(sorted(kept))
        assert len(kept) <= COURSE
        assert len(set(gaps.tolist())) <= 1
    assert kept == set(range(0, 200 * 500, 6400))


class Killed(Exception):
    """What stands for a kill in one process."""


def killing(after: int) -> Callable[[Any], None]:
    """A hook that ends the run at its ``after``-th call."""
    calls = 0

    def hook(_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls >= after:
            raise Killed

    return hook


def test_after_any_interruption_the_run_goes_on_bit_by_bit_as_if_nothing_had_been(whole: Path, tmp_path: Path) -> None:
    """The rating is no part of it: the interrupted run has none."""
    folder = begin(tmp_path / "run", config())
    interruptions = 0
    for after in (1, 2, 40, 3, 90, 7, 150, 33, 400):
        try:
            if SelfPlayRun(folder, config(), Observer(on_status=killing(after))).train():
                break
        except Killed:
            interruptions += 1
    else:
        assert SelfPlayRun(folder, config(), Observer()).train()
    assert interruptions >= 6
    assert tensors(folder, 60) == tensors(whole, 60)
    assert games_of(folder) == games_of(whole)
    for step in (20, 40, 60):
        net = f"nets/net_{step:08d}.onnx"
        assert (folder / net).read_bytes() == (whole / net).read_bytes()


@pytest.mark.parametrize("step", [40, 60])
def test_killed_anywhere_between_a_checkpoint_and_its_net_it_comes_to_the_same_bytes(
    step: int, whole: Path, tmp_path: Path
) -> None:
    """What is on disk at each message about ``step``, as a kill at that instant leaves it, is gone on from."""
    folder = begin(tmp_path / "run", config())
    left: list[Path] = []

    def keep(status: Any) -> None:
        if status.step == step:
            left.append(shutil.copytree(folder, tmp_path / f"{len(left)} {status.doing}"))

    assert SelfPlayRun(folder, config(), Observer(on_status=keep)).train()
    doings = [place.name.split()[1] for place in left]
    assert {"learning", "saving", "publishing"} <= set(doings)
    for place in [folder, *left[: 2 + doings.index("publishing")], left[-1]]:
        assert SelfPlayRun(place, config(), Observer()).train()
        assert tensors(place, step) == tensors(folder, step)
        assert tensors(place, 60) == tensors(whole, 60)
        assert games_of(place) == games_of(whole)


def test_a_run_by_minutes_that_has_learned_nothing_since_its_checkpoint_keeps_its_time(tmp_path: Path) -> None:
    seconds = 0.0
    for _ in range(2):
        wanted = seconds + 1.0
        train(tmp_path, config(loop={"steps": 0, "minutes": wanted / 60, "first_positions": 1_000_000_000}))
        saved = checkpoint.load_newest(tmp_path / "checkpoints", pytest.fail)
        assert saved is not None
        seconds = saved.state["seconds"]
        assert (saved.step, seconds >= wanted) == (0, True)


@pytest.mark.parametrize(
    ("loop", "status", "text"),
    [
        (
            {"first_positions": 999_999},
            1,
            r"games with [\d,]+ positions .*first_positions = 999,999; give more --minutes",
        ),
        ({"first_positions": 1_000_000_000}, 0, r"games with [\d,]+ positions are in .*; no step was to be trained"),
        ({"first_positions": 999_999, "minutes": 1e-9}, 1, r"in 1e-09 minutes: no game was finished, see .*/workers"),
    ],
)
def test_a_run_without_a_step_says_why(
    whole: Path, loop: Values, status: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whole.exists()  # so that kernels are compiled
    begin(tmp_path, config(loop={"steps": 0, "minutes": 3 / 60, **loop}))
    assert reinforce.main(parsed(flags, "--game", "tictactoe", "--out", str(tmp_path))) == status
    said = capsys.readouterr().err
    assert re.search(text, said)
    assert "last net" not in said


@pytest.mark.parametrize("broken", [True, False], ids=["damaged", "removed"])
def test_a_run_that_has_lost_all_its_checkpoints_is_refused(broken: bool, whole: Path, tmp_path: Path) -> None:
    """It would begin again at step 0, over the nets that it has made."""
    folder = RunFolder(shutil.copytree(whole, tmp_path / "run"))
    for path in folder.checkpoints.glob("*.json"):
        path.write_text("") if broken else path.unlink()
    net = folder.net(60).read_bytes()
    with pytest.raises(DataError, match=r"checkpoints.*begin a new run in another folder"):
        SelfPlayRun(folder.folder, config(), Observer()).train()
    assert folder.net(60).read_bytes() == net


def test_another_seed_is_another_run(whole: Path, tmp_path: Path) -> None:
    train(tmp_path, config(seed=1, loop={"steps": 20}))
    assert games_of(tmp_path)[200:1000] != games_of(whole)[200:1000]


def test_workers_and_learner_killed_every_finished_game_is_there_once(tmp_path: Path) -> None:
    """Two workers of the run and one started by hand; each kind is killed, and the learner is."""
    loop = {"steps": 100_000, "least_reuse": 0.0}  # nobody waits for the learner
    folder = begin(tmp_path / "run", config(machine={"workers": 2, "hang_seconds": 60.0}, loop=loop))
    journal: dict[int, bytes] = {}  # every game that was ever seen on disk

    def look() -> int:
        seen = {}
        for record in stored(folder):
            assert record.id not in seen
            seen[record.id] = record.to_bytes()
        assert all(seen.get(number) == content for number, content in journal.items())
        journal.update(seen)
        return len(seen)

    def heartbeat(worker: int) -> Any:
        path = folder / "workers" / f"{worker:04d}.json"
        return json.loads(path.read_text()) if path.exists() else {"pid": 0, "games": 0}

    by_hand = None
    learner = subprocess.Popen(command(folder), env=environment(), stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: (folder / "games").exists() and look() > 20)
        by_hand = subprocess.Popen(
            [sys.executable, "-m", "az_engine", "selfplay", str(folder)], env=environment(), stderr=subprocess.DEVNULL
        )
        wait_for(lambda: heartbeat(3)["games"] > 0 and heartbeat(1)["games"] > 0)
        first = heartbeat(1)["pid"]
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: heartbeat(1)["pid"] != first and heartbeat(1)["games"] > 0)  # started again
        learner.kill()
        learner.wait()
        wait_for(lambda: not any(alive(heartbeat(n)["pid"]) for n in (1, 2)))  # workers do not outlive their learner
        before = look()
        wait_for(lambda: look() > before)  # but the one started by hand plays on
        before, first = look(), heartbeat(1)["pid"]
        learner = subprocess.Popen(command(folder), env=environment(), stderr=subprocess.DEVNULL)
        wait_for(lambda: look() > before + 30 and heartbeat(1)["pid"] != first)
        by_hand.kill()
        by_hand.wait()
        learner.send_signal(signal.SIGTERM)
        assert learner.wait(100) == 130
        look()
    finally:
        for process in (learner, by_hand):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
    replayed = SelfPlayRun(folder, config(machine={"workers": 1}), Observer())
    assert sorted(r.id for part in replayed.replay.read() for r in part) == sorted(journal)
    assert replayed.replay.damaged == replayed.replay.repeated == 0
    assert {number >> 32 for number in journal} == {1, 2, 3}


def alive(pid: int) -> bool:
    """Whether the process runs; one that is dead and not yet waited for does not."""
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(said.strip()) and not said.strip().startswith("Z")


def test_a_second_learner_is_refused(tmp_path: Path) -> None:
    begin(tmp_path, config())
    with RunLock(tmp_path), pytest.raises(DataError, match=f"in use by another process \\(pid {os.getpid()}\\)"):
        reinforce.main(parsed(flags, "--game", "tictactoe", "--out", str(tmp_path)))


def test_a_diverged_net_is_never_used(tmp_path: Path) -> None:
    wild = config(learner={"rate": 1e6, "warmup": 0, "clip": 0.0, "optimiser": "sgd", "schedule": "constant"})
    said: list[str] = []
    with pytest.raises(DataError, match=r"diverged|unfit|rate"):
        SelfPlayRun(begin(tmp_path, wild), wild, Observer(on_event=said.append)).train()
    current = RunFolder(tmp_path).current
    assert current is not None
    assert current.step == 0


def test_a_full_disk_pauses_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures, said = checkpoint.save, [3], list[str]()

    def full(folder: Path, saved: checkpoint.Checkpoint) -> Path:
        if failures[0]:
            failures[0] -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(folder, saved)

    monkeypatch.setattr(checkpoint, "save", full)
    monkeypatch.setattr(storage, "RETRY_SECONDS", 0.01)
    train(tmp_path, config(loop={"steps": 20}), Observer(on_event=said.append))
    assert failures == [0]
    assert [text for text in said if "make room" in text] == [f"{tmp_path} is full; make room and the run goes on"]
    assert tensors(tmp_path, 20)


@pytest.mark.parametrize(("options", "share"), [({"gumbel": 4}, 1.0), ({"opening_moves": 2.0}, 0.7)])
def test_options_of_self_play_reach_the_games(options: Values, share: float, tmp_path: Path) -> None:
    train(tmp_path, config(selfplay=options, loop={"steps": 20}))
    shares = [record.targets / len(record.moves) for record in stored(tmp_path)]
    assert sum(shares) / len(shares) == pytest.approx(share, abs=0.15)


def test_a_run_begins_with_the_weights_of_another(whole: Path, tmp_path: Path) -> None:
    words = ["--game", "tictactoe", "--out", str(tmp_path / "run"), "--init", str(whole), "--steps", "20"]
    run, _ = reinforce.settings(parsed(flags, *words), tmp_path / "run")
    assert run.net_config(GAME) == config().net_config(GAME)  # that run's network, without a flag that describes it
    run = RunConfig.from_values(merged(run.to_json(), {name: v for name, v in SMALL.items() if name != "net"}))
    begun: list[dict[str, torch.Tensor]] = []
    before = checkpoint.of_run(whole)

    class Watched(SelfPlayRun):
        def _turn(self) -> None:
            begun.append({n: t.clone() for n, t in self.learner.network.state_dict().items()} if not begun else {})
            super()._turn()

    begin(tmp_path / "run", run)
    assert Watched(tmp_path / "run", run, Observer()).train()
    assert begun[0]
    for name, tensor in begun[0].items():
        assert torch.equal(tensor, before.tensors[f"averaged.{name}"]), name


def test_a_stopped_run_is_saved_and_goes_on(tmp_path: Path) -> None:
    begin(tmp_path, config())
    first = SelfPlayRun(tmp_path, config(), Observer())
    page, told = tmp_path / "run.html", list[str]()

    def stop() -> bool:
        told.append(page.read_text())  # it is there from the beginning
        return first.learner.step >= 27

    first.observer.stop = stop
    assert not first.train()
    assert first.learner.step == 27
    assert '["learner","waiting for the first games"]' in told[0]
    assert '["state","stopped; the same command goes on"]' in page.read_text()
    second = SelfPlayRun(tmp_path, config(), Observer())
    assert second.train()
    assert '["state","finished"]' in page.read_text()
    ids = [r.id for r in stored(tmp_path)]
    assert len(set(ids)) == len(ids)


def test_the_gate_lets_only_winners_generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = config(gate={"games": 8, "visits": 4, "opening_plies": 1})
    verdicts = iter([False, True, False])

    def contest(*_: Any, **__: Any) -> Any:
        promoted = next(verdicts)
        return promotion.Verdict(5 * promoted, 0, 5 * (not promoted), promoted)

    monkeypatch.setattr(promotion, "play_match", contest)
    train(tmp_path, gated)
    current = RunFolder(tmp_path).current
    assert current is not None
    assert (current.step, current.considered) == (40, 60)
    rows = [r["gate"] for r in read_log(tmp_path / "log.jsonl") if "gate" in r]
    assert [(r["best"], r["promoted"]) for r in rows] == [(0, False), (0, True), (40, False)]
    assert {r.nets[1] for r in stored(tmp_path)} == {0, 40}


def test_the_gate_counts_and_stops_when_the_verdict_is_certain(whole: Path) -> None:
    nets = [OnnxEvaluator(whole / f"nets/net_{s:08d}.onnx", GAME, provider="cpu", batch_size=8) for s in (60, 0)]
    good, bad = (NetPlayer(str(i), net, 0, paper_params("az")) for i, net in enumerate(nets))
    settings = replace(config().gate, games=200, visits=0, opening_plies=2)
    verdict = promotion.play_match(GAME, good, bad, settings, seed=1, max_moves=9)
    assert verdict is not None
    assert verdict.wins + verdict.draws + verdict.losses <= 200
    assert verdict.promoted == (verdict.score > 0.55) or verdict.wins + verdict.draws + verdict.losses < 200
    equal = promotion.play_match(GAME, good, good, settings, seed=1, max_moves=9)
    assert equal is not None
    assert equal.wins == equal.losses  # each opening with both colours
    assert not equal.promoted


ROW = {"step": 300, "loss": 0.5, "selfplay": {"length": 7.0, "resign_threshold": None}}


def test_tensorboard_gets_every_number_of_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    writer = SimpleNamespace(add_scalar=lambda *words: written.append(words), flush=lambda: written.append("flushed"))
    module = SimpleNamespace(SummaryWriter=lambda folder: writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    tensorboard(tmp_path)(ROW)
    assert written == [("loss", 0.5, 300), ("selfplay/length", 7.0, 300), "flushed"]


def test_tensorboard_reads_what_is_written(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    tensorboard(tmp_path)(ROW)
    found = events.EventAccumulator(str(tmp_path)).Reload()
    assert sorted(found.Tags()["scalars"]) == ["loss", "selfplay/length"]
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(300, 0.5)]


def test_without_tensorboard_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(OptionError, match="pip install tensorboard"):
        tensorboard(tmp_path)


def test_a_run_without_an_end_is_refused() -> None:
    with pytest.raises(OptionError, match="needs an end"):
        config(loop={"steps": 0})


def test_from_random_weights_to_a_net_that_never_loses(tmp_path: Path) -> None:
    """With 25 visits: drawn against every line of perfect play, lost in none of any play."""
    run = config(
        net={"filters": 32},
        learner={"batch": 128},
        selfplay={"visits": 25, "games": 32},
        loop={"steps": 1000, "checkpoint_steps": 100, "first_checkpoint": 0, "first_positions": 1000, "reuse": 4.0},
    )
    train(tmp_path, run)
    perfect, folder = Perfect(GAME), RunFolder(tmp_path)

    def player(step: int) -> NetPlayer:
        net = OnnxEvaluator(folder.net(step), GAME, provider="cpu", batch_size=64)
        return NetPlayer(str(step), net, 25, paper_params("az"))

    assert not never_loses(perfect, player(0))
    assert never_loses(perfect, player(1000))
