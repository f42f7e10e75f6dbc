"""Presets hold the papers' numbers; files and flags override them; what is wrong is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.settings import choices_of, settings_of
from az_engine.models.fields import assignment, merged, read_toml
from az_engine.models.selfplay import command as reinforce
from az_engine.models.selfplay.config import RunConfig, load_run, sections
from az_engine.models.selfplay.presets import preset
from az_engine.models.train import checkpoint
from az_engine.models.train import command as train
from az_engine.models.train.learner import Learner, learning_rate
from az_engine.models.train.origin import origin

from ...fakes.arguments import parsed


def run_of(names: str, game: str, **over: Any) -> RunConfig:
    return RunConfig.from_values({**merged(preset(names, get_game(game)), over), "game": game})


def net_of(run: RunConfig) -> Any:
    """The run's network; its settings are its family's."""
    return run.net_config(run.get_game())


@pytest.mark.parametrize("game", ["chess", "shogi", "go9"])
def test_az_is_the_paper(game: str) -> None:
    """AlphaZero 2018, Methods and Table S3."""
    run = run_of("az", game)
    net, learner = net_of(run), run.learner_config()
    assert (net.kind, net.blocks, net.filters, net.squeeze, net.value_head) == ("dual-res", 19, 256, 0, "value")
    assert net.policy_head == ("flat" if game == "go9" else "conv")
    assert (run.selfplay.visits, run.selfplay.temperature_moves, run.selfplay.noise_share) == (800, 30, 0.25)
    assert (run.selfplay.search.puct, run.selfplay.search.c_puct, run.selfplay.search.c_base) == ("az", 1.25, 19652)
    assert (run.selfplay.search.fpu, run.selfplay.search.solver) == ("zero", False)
    assert not run.selfplay.search.symmetries
    assert run.selfplay.max_moves == (2 * 81 if game == "go9" else 512)
    assert (run.window.games, run.window.start, run.window.held_out_every) == (1_000_000, 0, 0)
    assert (learner.batch, learner.optimiser, learner.value_weight, learner.ema) == (4096, "sgd", 1.0, 0.0)
    assert (run.loop.steps, run.loop.checkpoint_steps, run.gate.games, run.loop.symmetries) == (700_000, 1000, 0, False)
    assert (run.selfplay.play_on_share, run.resign.wrong) == (0.1, 0.05)
    rates = {step: learning_rate(learner, step, step / 700_000) for step in (0, 99_999, 100_000, 300_000, 500_000)}
    first = 0.02 if game == "go9" else 0.2
    assert list(rates.values()) == [first, first, 0.02, 0.002, 0.0002]


def test_noise_is_the_papers_by_game() -> None:
    assert [get_game(g).training.noise_alpha for g in ("chess", "shogi", "go19")] == [0.3, 0.15, 0.03]
    assert get_game("go9").training.noise_alpha == 0.13  # as many more as there are fewer points


def test_agz_is_the_paper() -> None:
    """AlphaGo Zero, Methods."""
    run = run_of("agz", "go19")
    net, learner = net_of(run), run.learner_config()
    assert (net.blocks, net.filters, net.policy_head, net.value_head) == (19, 256, "flat", "value")
    assert (run.selfplay.visits, run.selfplay.search.puct, run.selfplay.max_moves) == (1600, "agz", 722)
    assert (run.selfplay.search.symmetries, run.loop.symmetries) == (True, True)
    assert (run.gate.games, run.gate.score, run.gate.visits) == (400, 0.55, 1600)
    assert (run.window.games, learner.batch, run.loop.checkpoint_steps) == (500_000, 2048, 1000)
    assert [learning_rate(learner, s, s / 700_000) for s in (0, 399_999, 400_000, 600_000)] == [0.01, 0.01, 0.001, 1e-4]


@pytest.mark.parametrize("names", ["az,small", "agz,small", "small", "az,gpu", "agz,gpu"])
@pytest.mark.parametrize("game", ["chess", "shogi", "go5", "go19"])
def test_every_preset_fits_every_game(names: str, game: str) -> None:
    run = run_of(names, game)
    net = net_of(run)
    assert run.learner_config().batch <= 1024
    assert net.filters <= 128
    assert (run.gate.games == 400) == ("agz" in names)
    assert RunConfig.from_values(json.loads(json.dumps(run.to_json()))) == run


def test_go_learns_more_from_a_game_but_not_in_the_papers_presets() -> None:
    def parts(names: str, game: str) -> tuple[Any, ...]:
        run = run_of(names, game)
        net, learner, play = net_of(run), run.learner_config(), run.selfplay
        return net.ownership, net.score, run.resign.enabled, play.opening_moves, learner.cooldown, play.gumbel

    for names, game in (("az", "go7"), ("agz", "go7"), ("az,small", "chess"), ("az,gpu", "shogi")):
        assert parts(names, game) == (False, False, True, 0.0, 0.0, 0), names
    assert parts("az,small", "go7") == parts("agz,small", "go7") == (True, True, False, 2.0, 0.2, 8)
    assert parts("az,gpu", "go19") == (True, True, False, 14.4, 0.2, 0)
    small = run_of("az,small", "go7")
    assert (small.loop.symmetries, small.loop.reuse, small.selfplay.visits) == (True, 2.0, 24)
    assert run_of("az,gpu", "go19").selfplay.visits == run_of("az,gpu", "chess").selfplay.visits


def test_other_games_learn_from_proofs_and_from_the_values_of_searches() -> None:
    def parts(names: str, game: str) -> tuple[bool, float]:
        run = run_of(names, game)
        return run.selfplay.search.solver, run.window.root_value

    assert parts("az,small", "chess") == parts("agz,small", "shogi") == (True, 0.5)
    assert parts("az,small", "go7") == parts("az", "chess") == parts("az,gpu", "chess") == (False, 0.0)


def test_the_manual_lists_every_setting() -> None:
    rows = []
    for section, part in sections().items():
        values = RunConfig("").to_json()
        for name in section.split(".")[:-1]:
            values = values[name]
        for f, kind, known in settings_of(part):
            if section + f.name == "learner.seed":
                continue  # the run's
            allowed = ", ".join(choices_of(kind)) or known.range
            meaning = f"{known.meaning} ({allowed})" if allowed else known.meaning
            value = values.get(f.name, "bf16" if f.name == "precision" else f.default)  # this one by the CPU
            default = "none" if value is None else json.dumps(value)
            rows.append(f"| `{section}{f.name}` | {default} | {meaning} |")
    table = "\n".join(rows)
    manual = Path(__file__).parents[3] / "docs" / "reference" / "training-settings.md"
    assert table in manual.read_text(), f"put this table into {manual}:\n{table}"


def test_the_manuals_configuration_is_read(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[3] / "docs" / "training.md").read_text()
    (text,) = re.findall(r"^```toml\n(.*?)^```", manual, re.MULTILINE | re.DOTALL)
    (tmp_path / "my.toml").write_text(text)
    run, _ = reinforce.settings(parsed(train, "--game", "go", "--config", str(tmp_path / "my.toml")), tmp_path / "run")
    assert (run.selfplay.visits, run.window.games, run.window.start) == (200, 100_000, 2000)


def test_later_settings_override_earlier_ones(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("[selfplay]\nvisits = 50\ngames = 16\n[selfplay.search]\nc_puct = 2\n[learner]\nrate = 0.01\n")
    args = parsed(train, "--game", "go", "--size", "5", "--preset", "agz,small", "--config", str(file), "--batch", "64",
                  "--set", "selfplay.visits=30", "--set", "selfplay.noise_alpha=none", "--steps", "77")  # fmt: skip
    run, changed = reinforce.settings(args, tmp_path / "run")
    assert changed == []
    assert (run.game, run.preset, run.selfplay.visits, run.selfplay.games) == ("go5", "agz,small", 30, 16)
    assert (run.selfplay.search.c_puct, run.selfplay.search.puct) == (2.0, "agz")
    assert (run.learner["rate"], run.learner["batch"], run.loop.steps) == (0.01, 64, 77)
    assert run.net["blocks"] == 2  # of the preset: --blocks was not given, so its default does not count
    given, _ = reinforce.settings(parsed(train, "--game", "go", "--size", "5", "--blocks", "6"), tmp_path)
    assert given.net["blocks"] == 6  # though it is the flag's default


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "selfplay.visit=3"], "did you mean selfplay.visits"),
        (["--set", "selfplay.visits=many"], "selfplay.visits is 'many'; it must be of type int"),
        (["--set", "selfplay.visits=true"], "must be of type int"),
        (["--set", "selfplay=3"], "selfplay is a section"),
        *((["--set", f"{name}=3"], f"{name} is a section") for name in ("machine", "net", "learner", "boards")),
        (["--set", "learner.schedule=cosinus"], "learner.schedule is 'cosinus'; it must be one of"),
        (["--set", "learner.rat=1.0"], "did you mean learner.rate"),
        (["--set", "visits"], "write section.name=value"),
        (["--preset", "alpha"], "no preset 'alpha'; there are az, agz, small, gpu"),
        (["--teacher-weight", "0.5"], "--teacher-weight is for --supervised"),
        (["--config", "missing.toml"], "missing.toml cannot be read"),
        (["--set", "self_play.visits=3"], "no setting self_play; did you mean selfplay"),
        (["--set", "loop.reuse=0"], "loop.reuse is 0.0; it must be greater than 0"),
        (["--minutes", "-1"], "loop.minutes is -1.0; it must be at least 0"),
        (["--set", "ladder.every=0"], "ladder.every is 0; it must be at least 1"),
        (["--set", "selfplay.noise_share=1.5"], "noise_share is 1.5; it must be 0 to 1"),
        (["--set", "selfplay.search.c_puct=-1"], "selfplay.search.c_puct is -1.0; it must be 0 to 100"),
        (["--set", "selfplay.search.fpu=half"], "selfplay.search.fpu is 'half'; it must be one of zero,"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def begin() -> None:
        run, _ = reinforce.settings(parsed(train, "--game", "go", "--size", "5", *words), tmp_path)
        run.learner_config()

    with pytest.raises(OptionError) as caught:
        begin()
    assert said in str(caught.value)


def test_values_of_assignments() -> None:
    assert assignment("a.b=1") == {"a": {"b": 1}}
    assert assignment("a.b = 1.5") == {"a": {"b": 1.5}}
    assert assignment("a=none") == {"a": None}
    assert assignment("a.b.c=agz") == {"a": {"b": {"c": "agz"}}}
    assert assignment("a=true") == {"a": True}


def test_a_file_that_is_no_toml_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("visits = = 3")
    with pytest.raises(OptionError, match="cannot be read"):
        read_toml(tmp_path / "x.toml")


def start(folder: Path, *words: str) -> tuple[RunConfig, list[str]]:
    args = parsed(train, "--game", "go", "--size", "5", *words)
    run, changed = reinforce.settings(args, folder)
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(reinforce.described(run, run.get_game(), "az-engine train")))
    return run, changed


def test_a_run_that_goes_on_keeps_its_settings_and_may_change_some(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first, _ = start(folder, "--preset", "agz,small", "--set", "selfplay.visits=33")
    again, changed = reinforce.settings(parsed(train, "--game", "go", "--size", "5"), folder)
    assert (again, changed) == (first, [])
    longer, changed = reinforce.settings(
        parsed(train, "--game", "go", "--size", "5", "--steps", "99", "--workers", "3"), folder
    )
    assert (longer.loop.steps, longer.machine.workers, longer.selfplay.visits) == (99, 3, 33)
    assert changed == ["loop.steps was 10000, is now 99", f"machine.workers was {first.machine.workers}, is now 3"]
    for words, said in (
        (["--blocks", "3"], "net.blocks was 2, is now 3: this cannot change"),
        (["--seed", "9"], "seed was 0, is now 9: this cannot change"),
        (["--preset", "az"], "was started with preset agz,small, not az"),
    ):
        with pytest.raises(OptionError) as caught:
            reinforce.settings(parsed(train, "--game", "go", "--size", "5", *words), folder)
        assert said in str(caught.value)
    with pytest.raises(OptionError, match="was started with game go5, not chess"):
        reinforce.settings(parsed(train, "--game", "chess"), folder)
    assert load_run(folder) == first


def test_a_run_of_a_version_with_more_settings_goes_on_if_it_did_not_use_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first, _ = start(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["run"]["selfplay"] |= {"full_share": 1.0, "fast_visits": 20, "fast_gumbel": 0}
    config["run"]["window"]["surprise"] = 0.0
    path.write_text(json.dumps(config))
    assert reinforce.settings(parsed(train, "--game", "go", "--size", "5"), folder) == (first, [])
    for section, name, value in (("selfplay", "full_share", 0.25), ("window", "surprise", 0.5)):
        used = json.loads(json.dumps(config))
        used["run"][section][name] = value
        path.write_text(json.dumps(used))
        with pytest.raises(OptionError, match=f"{section}.{name} = {value}: this version no longer has the setting"):
            reinforce.settings(parsed(train, "--game", "go", "--size", "5"), folder)
        assert load_run(folder) == first  # its games can be read
    with pytest.raises(OptionError, match=r"selfplay\.fast_gumbel = 4: this version no longer has the setting"):
        start(tmp_path / "new", "--set", "selfplay.fast_gumbel=4")


def test_a_run_from_before_a_setting_existed_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first, _ = start(folder, "--preset", "az,small")
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["run"]["init"]
    path.write_text(json.dumps(config))
    assert reinforce.settings(parsed(train, "--game", "go", "--size", "5"), folder) == (first, [])


def test_a_folder_without_a_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_run(tmp_path)
    (tmp_path / "config.json").write_text('{"game": "chess"}')
    with pytest.raises(DataError, match="no self-play run"):
        load_run(tmp_path)
    with pytest.raises(OptionError, match="a supervised run"):
        reinforce.settings(parsed(train), tmp_path)


def test_the_first_checkpoints_come_early() -> None:
    def steps(**over: Any) -> list[int]:
        run = RunConfig.from_values(
            {"game": "chess", "loop": {"checkpoint_steps": 200, "first_checkpoint": 25}, **over}
        )
        return [step for step in range(1000) if run.is_checkpoint(step)]

    assert steps() == [25, 50, 100, 200, 400, 600, 800]
    assert steps(gate={"games": 400}) == steps(loop={"checkpoint_steps": 200}) == [200, 400, 600, 800]
    assert steps(loop={"checkpoint_steps": 60, "first_checkpoint": 25})[:4] == [25, 50, 60, 120]


def test_a_small_board_s_run_begins_a_larger_one_s(tmp_path: Path) -> None:
    shape = {"blocks": 1, "filters": 8, "value_hidden": 8, "policy_head": "pooled"}
    small = run_of("az,small", "go7", net=shape)
    before = Learner(small.get_game(), small.net_config(small.get_game()), small.learner_config())
    checkpoint.save(tmp_path / "go7" / "checkpoints", before.to_checkpoint())
    args = parsed(train, "--game", "go", "--size", "9", "--init", str(tmp_path / "go7"))
    run, _ = reinforce.settings(args, tmp_path / "go9")
    game = run.get_game()
    net = net_of(run)
    assert (net.planes, net.actions, net.policy_head) == ((17, 9, 9), 82, "pooled")
    after = Learner(game, net, run.learner_config())
    after.begin_from(origin(Path(run.init), game))
    for name, tensor in before.averaged.state_dict().items():
        assert tensor.equal(after.averaged.state_dict()[name]), name


@pytest.mark.parametrize(
    ("words", "driver", "int8"),
    [
        ((), False, True),
        (("--provider", "cpu"), True, True),
        ((), True, False),
        (("--provider", "torch"), False, False),
        (("--preset", "az,small", "--device", "cuda"), False, False),
        (("--set", "machine.evaluators=1"), False, False),
        (("--set", "machine.int8=false"), False, False),
        (("--set", "machine.int8=true"), True, True),
        (("--preset", "az"), False, False),
    ],
)
def test_small_plays_in_int8_where_a_cpu_runs_the_nets(
    words: tuple[str, ...], driver: bool, int8: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reinforce, "nvidia_driver", lambda: driver)
    args = parsed(train, "--game", "go", "--size", "9", *words)
    assert reinforce.settings(args, tmp_path / "none")[0].machine.int8 == int8


def test_the_preset_for_a_gpu_takes_the_machine_s_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reinforce, "cores", lambda: 16)

    def processes(*words: str) -> tuple[int, int]:
        args = parsed(train, "--game", "go", "--size", "9", *words)
        machine = reinforce.settings(args, tmp_path / "none")[0].machine
        return machine.workers, machine.evaluators

    cuda = ("--device", "cuda")
    assert processes() == (16, 0)
    assert processes(*cuda) == processes(*cuda, "--provider", "torch") == (14, 1)
    assert processes(*cuda, "--workers", "5") == (5, 1)
    assert processes(*cuda, "--set", "machine.evaluators=4") == (16, 4)
    assert processes(*cuda, "--set", "machine.evaluators=0") == (16, 0)
    assert processes(*cuda, "--provider", "cuda") == processes(*cuda, "--set", "machine.int8=true") == (16, 0)
    assert processes(*cuda, "--workers", "0") == (0, 0)
    assert processes("--preset", "az,gpu", "--device", "cpu") == (16, 0)
    monkeypatch.setattr(reinforce, "cores", lambda: 1)
    assert processes(*cuda) == (1, 1)
