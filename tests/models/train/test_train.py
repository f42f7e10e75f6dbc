"""The commands ``train`` and ``plot`` from end to end, and the int8 files."""

from __future__ import annotations

import argparse
import hashlib
import html.parser
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from az_engine.engine.errors import DataError, NetError, OptionError
from az_engine.engine.nets.file.netfile import read_outline
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.models.data.dataset import Batch, Positions, Sampling
from az_engine.models.families.tower.layers import ResidualBlock
from az_engine.models.net import probes, quantise
from az_engine.models.net.card import recipe
from az_engine.models.report import runpage
from az_engine.models.train import checkpoint
from az_engine.models.train import command as train
from az_engine.models.train.config import LearnerConfig
from az_engine.models.train.learner import Learner
from az_engine.models.train.log import read_config, read_log

from ...fakes.arguments import parsed
from ..samples import CHESS, GO, GO9_SAMPLE, GO19, GO19_SAMPLE, SAMPLE, go_positions, rows, sample_positions, tiny

pytestmark = pytest.mark.slow

NET = ["--blocks", "1", "--filters", "8", "--squeeze", "4", "--history", "1", "--value-hidden", "16"]
LEARN = ["--batch", "32", "--warmup", "5", "--rate", "0.01", "--precision", "fp32"]
NAMED = ("--name", "a test net", "--net-search", "policy_temperature=1.3", "--net-search", "mate_plies=3")


def arguments(out: Path, *words: str, data: Path = SAMPLE) -> argparse.Namespace:
    return parsed(train, "--supervised", data, "--out", out, *NET, *LEARN, *words)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of 40 steps."""
    out = tmp_path_factory.mktemp("runs") / "run"
    assert train.main(arguments(out, "--steps", "40", *NAMED, "--about-data", "Made for tests.")) == 0
    return out


def test_a_run_makes_nets_that_agree_and_a_card(finished: Path) -> None:
    fp32, int8 = (onnx.load(finished / f"net_{kind}.onnx") for kind in ("fp32", "int8"))
    for model, kind in ((fp32, "fp32"), (int8, "int8")):
        info = NetInfo.from_metadata({p.key: p.value for p in model.metadata_props})
        assert (info.game, info.actions, info.planes, info.value_head) == ("chess", 4672, (119, 8, 8), "wdl")
        assert (info.step, info.history, info.quantisation, info.name) == (40, 1, kind, "a test net")
        assert dict(info.search) == {"policy_temperature": 1.3, "mate_plies": 3}
        assert [i.name for i in model.graph.input] == ["planes"]
        assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8
        assert [o.name for o in model.graph.output] == ["policy", "wdl"]
    data = sample_positions()[1]
    planes = data.batch(rows(50, data)).planes
    policy, wdl = probes.run(raw_session(str(finished / "net_int8.onnx")), planes)
    assert (policy.shape, wdl.shape) == ((50, 4672), (50, 3))
    for size in (1, 3):  # any batch
        np.testing.assert_array_equal(
            probes.run(raw_session(int8.SerializeToString()), planes[:size])[0], policy[:size]
        )
    card = (finished / "card.md").read_text()
    assert hashlib.sha256((finished / "net_int8.onnx").read_bytes()).hexdigest() in card
    for text in (
        "a test net",
        "Made for tests.",
        "1,280 positions drawn in 40 steps of 32",
        "GPL-3.0-or-later",
        "dual-res 1x8 se4",
    ):
        assert text in card


def compare(fp32: onnx.ModelProto, int8: onnx.ModelProto, batch: Batch) -> quantise.Agreement:
    assert batch.legal is not None
    return quantise.agreement(fp32, int8, batch.planes, batch.legal, batch)


def test_int8_judges_as_fp32_does(finished: Path) -> None:
    fp32, int8 = (onnx.load(finished / f"net_{kind}.onnx") for kind in ("fp32", "int8"))
    data = replace(sample_positions()[1], sampling=Sampling(history=1))
    batch = data.batch(np.arange(len(data)))
    agreement = compare(fp32, int8, batch)
    assert agreement.top1 > 0.8
    assert 0 < agreement.kl < 0.01
    assert agreement.value < 0.05
    assert agreement.cross_entropy[0] == pytest.approx(agreement.cross_entropy[1], abs=0.02)
    kept = {node.name for node in int8.graph.node} & {"policy.planes", "value.hidden", "wdl"}
    assert kept == {"policy.planes", "value.hidden", "wdl"}
    assert sum(node.op_type == "QuantizeLinear" for node in int8.graph.node) > 5
    itself = compare(fp32, fp32, batch)
    assert (itself.top1, itself.kl, itself.value) == (1.0, 0.0, 0.0)


def test_agreement_is_what_it_says() -> None:
    learner = Learner(CHESS, tiny(), LearnerConfig(batch=8, precision="fp32", rate=0.01, warmup=1))
    data = sample_positions()[0]
    batch: Batch = data.batch(rows(8, data))
    for _ in range(5):
        learner.train_step(batch)
    info = NetInfo("chess", CHESS.planes, CHESS.num_actions, 1, 1, "wdl")
    first = learner.averaged.to_onnx(info)
    for _ in range(5):
        learner.train_step(batch)
    second = learner.averaged.to_onnx(info)
    agreement = compare(first, second, batch)
    assert batch.legal is not None
    (p, v), (q, w) = (probes.run(raw_session(m.SerializeToString()), batch.planes) for m in (first, second))
    same, kl, value, cross = 0, 0.0, 0.0, 0.0
    for row in range(8):
        legal = [a for a in batch.legal[row].tolist() if a >= 0]
        a, b = (np.exp(x[row, legal].astype(float)) / np.exp(x[row, legal].astype(float)).sum() for x in (p, q))
        same += int(a.argmax() == b.argmax())
        kl += float((a * np.log(a / b)).sum())
        pairs = zip(batch.actions[row].tolist(), batch.probabilities[row].tolist(), strict=True)
        cross -= sum(chance * np.log(b[legal.index(action)]) for action, chance in pairs)
        outcomes = [float((np.exp(x[row]) / np.exp(x[row]).sum())[[0, 2]] @ [1, -1]) for x in (v, w)]
        value += abs(outcomes[0] - outcomes[1])
    assert agreement.top1 == same / 8
    assert agreement.kl == pytest.approx(kl / 8, rel=1e-4)
    assert agreement.value == pytest.approx(value / 8, rel=1e-3)
    assert agreement.cross_entropy[1] == pytest.approx(cross / 8, rel=1e-5)


def test_a_net_that_says_nothing_cannot_be_quantised() -> None:
    learner = Learner(CHESS, tiny(), LearnerConfig())
    network: Any = learner.averaged
    block = network.tower[1]
    assert isinstance(block, ResidualBlock)
    torch.nn.init.constant_(block.second.norm.weight, 1e-7)  # a layer whose values differ by rounding alone
    torch.nn.init.constant_(block.second.norm.bias, 1.0)
    info = NetInfo("chess", CHESS.planes, CHESS.num_actions, 1, 1, "wdl")
    data = sample_positions()[0]
    with pytest.raises(NetError, match="constant"):
        quantise.quantise(learner.averaged.to_onnx(info), [data.batch(rows(32, data)).planes])


def test_a_finished_run_can_be_exported_again(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    for path in copy.glob("net_*"):
        path.unlink()
    assert train.main(arguments(copy, "--steps", "40", "--finish", *NAMED)) == 0
    for kind in ("fp32", "int8"):
        assert (copy / f"net_{kind}.onnx").read_bytes() == (finished / f"net_{kind}.onnx").read_bytes()


def test_a_run_goes_on_with_its_own_targets_only(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    with pytest.raises(DataError, match="other data or targets"):
        train.main(arguments(tmp_path / "run", "--steps", "41", "--policy", "best"))


def test_a_run_remembers_its_flags_and_length(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    words = ["--supervised", str(SAMPLE), "--out", str(tmp_path / "run")]
    assert train.main(parsed(train, *words)) == 0  # finished by its own steps
    assert train.main(parsed(train, *words, "--steps", "45", "--rate", "0.005")) == 0
    config = read_config(tmp_path / "run" / "config.json")
    assert (config["net"]["filters"], config["learner"]["rate"], config["length"]["steps"]) == (8, 0.005, 45)
    rows = read_log(tmp_path / "run" / "log.jsonl")
    assert rows[-1]["step"] == 45
    assert [row["changed"][0] for row in rows if "changed" in row] == ["rate was 0.01, is now 0.005"]
    with pytest.raises(DataError, match=r"another blocks \(1, now 2\)"):
        train.main(parsed(train, *words, "--blocks", "2"))


def test_a_run_begins_with_the_weights_of_another(finished: Path, tmp_path: Path) -> None:
    """One step at a rate of nearly nothing leaves the first weights as they were; the network is that run's."""
    words = ["--supervised", str(SAMPLE), "--out", str(tmp_path / "run"), "--init", str(finished), "--steps", "1"]
    args = parsed(train, *words, "--batch", "32", "--rate", "1e-12", "--ema", "0", "--precision", "fp32")
    assert train.main(args) == 0
    before, after = (checkpoint.of_run(folder) for folder in (finished, tmp_path / "run"))
    assert after.state["net"] == before.state["net"]
    assert after.step == 1
    weights = [n for n in before.tensors if n.startswith("averaged.") and n.endswith("weight")]
    assert weights
    for name in weights:
        assert torch.allclose(after.tensors[name], before.tensors[name], atol=1e-9), name
    first, second = (read_config(folder / "config.json") for folder in (finished, tmp_path / "run"))
    assert second["before"] == [first["command"]]
    newest = max((finished / "checkpoints").glob("*.safetensors"))
    assert checkpoint.of_run(newest).step == checkpoint.of_run(finished).step


def test_a_card_numbers_the_runs_that_led_to_a_net() -> None:
    first, second = "az-engine train --out RUN", "az-engine train --init EARLIER --out RUN"
    assert recipe([first]) == first
    assert recipe([first, second]).splitlines() == [
        "az-engine train --out RUN1",
        "az-engine train --init RUN1 --out RUN2",
    ]


def test_progress_tells_where_a_run_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train.main(arguments(tmp_path / "run", "--steps", "8", "--web", "0")) == 0
    said = capsys.readouterr().err
    assert "100.0 %" in said  # of the progress bar
    assert "the run's page is http://localhost:" in said
    page = (tmp_path / "run" / "run.html").read_text()
    assert '["state","finished"]' in page
    assert '["training steps","8"]' in page


def test_a_run_cannot_begin_with_what_does_not_fit(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is another: .* is \[8, .* there and \[4, .* here"):
        train.main(arguments(tmp_path / "run", "--steps", "1", "--init", str(finished), "--filters", "4"))
    with pytest.raises(DataError, match="holds no checkpoints"):
        train.main(arguments(tmp_path / "other", "--steps", "1", "--init", str(tmp_path)))


def test_candidates_are_exported_on_the_way(tmp_path: Path) -> None:
    words = ["--steps", "2", "--export-minutes", "0.00001", "--checkpoint-minutes", "100"]
    assert train.main(arguments(tmp_path / "run", *words)) == 0
    assert list((tmp_path / "run").glob("candidate_*_int8.onnx"))
    assert list((tmp_path / "run").glob("candidate_*_fp32.onnx"))


def test_the_page_shows_a_supervised_run(finished: Path, tmp_path: Path) -> None:
    assert runpage.main(parsed(runpage, finished, "--out", tmp_path)) == 0
    page = (tmp_path / "run.html").read_text()
    html.parser.HTMLParser().feed(page)
    assert 'src="http' not in page
    data = runpage.run_data(finished, "", {})
    assert {"policy", "rate"} <= data["rows"][-1].keys()
    assert {"top1", "result_error", "teacher_error"} <= data["held"][-1].keys()
    assert data["settings"]["net"]["blocks"]
    with pytest.raises(DataError, match="cannot be read"):
        runpage.main(parsed(runpage, tmp_path / "none"))


def test_the_log_tells_accuracy(finished: Path) -> None:
    measured = [row["heldout"] for row in read_log(finished / "log.jsonl") if "heldout" in row]
    assert measured[-1]["positions"] == len(sample_positions()[1])
    assert 0 <= measured[-1]["top1"] <= 1
    assert 2 < measured[-1]["policy"] < 4


def test_pgn_files_train_too(tmp_path: Path) -> None:
    from ..data.test_dataset import pgn_text

    (tmp_path / "games.pgn").write_text(pgn_text(12))
    words = ["--steps", "15", "--batch", "16", "--policy", "played"]
    assert train.main(arguments(tmp_path / "run", *words, data=tmp_path)) == 0
    assert "games from PGN files" in (tmp_path / "run" / "card.md").read_text()


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        train.main(arguments(tmp_path / "a", "--steps", "1", data=tmp_path / "none"))
    with pytest.raises(DataError, match=r"neither \.npz nor \.pgn"):
        train.main(arguments(tmp_path / "b", "--steps", "1", data=tmp_path))
    with pytest.raises(DataError, match="no checkpoint to finish"):
        train.main(arguments(tmp_path / "c", "--finish"))
    with pytest.raises(OptionError, match="needs an end"):
        train.main(arguments(tmp_path / "d"))
    with pytest.raises(NetError, match=r"missing\.onnx"):
        train.main(arguments(tmp_path / "e", "--steps", "1", "--init", str(tmp_path / "missing.onnx")))
    assert list(tmp_path.iterdir()) == []


def test_the_papers_network_is_a_preset() -> None:
    net: Any = train.net_config(arguments(Path("x"), "--paper", "40"), CHESS)
    assert (net.blocks, net.filters, net.value_head, net.squeeze, net.history) == (39, 256, "value", 0, 8)


def test_one_net_for_two_sizes_of_board(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["--game", "go", "--size", "9,19", "--shares", "3,1", "--freeze", "0.5", "--symmetries", "--history", "2"]
    words += ["--policy-head", "pooled", "--ownership", "--score", "--steps", "12", "--also-plays", "13"]
    data = ["--supervised", str(GO9_SAMPLE), str(GO19_SAMPLE)]
    assert train.main(parsed(train, *data, "--out", str(out), *NET[:6], *LEARN, *words)) == 0
    for kind in ("fp32", "int8"):
        outline, _ = read_outline(out / f"net_{kind}.onnx")
        assert NetInfo.from_metadata(outline.metadata).sizes == (9, 13, 19)
        assert outline.inputs[0].shape == (-1, 17, -1, -1)
        for game in (GO, GO19):
            evaluator = OnnxEvaluator(out / f"net_{kind}.onnx", game, batch_size=2)
            policy, wdl = evaluator.evaluate(np.zeros((3, *game.planes), np.uint8))
            assert (policy.shape, wdl.shape) == ((3, game.num_actions), (3, 3))
            ownership, score = evaluator.estimate(np.zeros((3, *game.planes), np.uint8))
            assert ownership is not None
            assert score is not None
            assert (ownership.shape, score.shape) == ((3, *game.planes[1:]), (3,))
        with pytest.raises(NetError, match="plays on 7x7 to 19x19, not on 5x5"):
            OnnxEvaluator(out / f"net_{kind}.onnx", GO.sized(5))
    fp32, int8 = (onnx.load(out / f"net_{kind}.onnx") for kind in ("fp32", "int8"))
    for size in (9, 19):
        heldout = go_positions(size)[1]
        agreement = compare(fp32, int8, heldout.batch(np.arange(len(heldout))))
        assert agreement.kl < 0.01
        assert agreement.value < 0.05
        assert_same_ends(out, heldout)
    card = (out / "card.md").read_text()
    for text in (
        "held-out positions on 9x9 boards",
        "on 19x19 boards",
        "| 19x19, evaluations",
        "mean error of the lead",
    ):
        assert text in card


def assert_same_ends(run: Path, heldout: Positions) -> None:
    """What the int8 file says of owners and lead is what the fp32 file says."""
    planes = heldout.batch(np.arange(len(heldout))).planes
    one, other = (
        OnnxEvaluator(run / f"net_{kind}.onnx", heldout.game, batch_size=2).estimate(planes.reshape(len(planes), -1))
        for kind in ("fp32", "int8")
    )
    for exact, rounded in zip(one, other, strict=True):
        assert exact is not None
        assert rounded is not None
        assert exact.std() > 0
        assert np.abs(exact - rounded).mean() < 0.1 * exact.std()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--size", "9,19", "--policy-head", "pooled"], "2 sizes need 2 DATA"),
        (["--size", "9,9", "--policy-head", "flat"], "only --policy-head pooled"),
        (["--size", "9", "--policy-head", "flat", "--also-plays", "13"], "fit every board"),
        (["--size", "9,9", "--policy-head", "pooled", "--shares", "1,1,1"], "needs 2 numbers"),
    ],
)
def test_impossible_mixtures_are_refused(tmp_path: Path, words: list[str], text: str) -> None:
    data = [str(GO9_SAMPLE)] * (2 if "9,9" in words else 1)
    with pytest.raises(OptionError, match=text):
        train.main(parsed(train, "--game", "go", "--supervised", *data, "--out", str(tmp_path), "--steps", "1", *words))


@pytest.mark.parametrize("word", ["policy_temperature", "policy_temperature=warm", "threads=2", "mate_plies=99"])
def test_search_settings_that_no_net_brings_are_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(OptionError, match=r"--net-search '.*' must be NAME=VALUE: "):
        train.main(arguments(tmp_path / "run", "--steps", "40", "--net-search", word))
    assert not (tmp_path / "run").exists()
