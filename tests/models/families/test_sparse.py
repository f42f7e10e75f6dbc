"""Sparse nets: the file, onnxruntime, our kernel and torch say the same, and the search plays with them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from az_engine.bench.match.players import parse_spec
from az_engine.commands.nets import embedded_nets, find_net
from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.leaves import Leaves
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.limits import Limits
from az_engine.engine.nets import weights
from az_engine.engine.nets.families.sparse.evaluator import SparseEvaluator
from az_engine.engine.nets.families.sparse.integers import BUCKETS, read_net
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.positions import random_lines, random_planes
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.nodes import MOST_EDGES, NODE, UNITS
from az_engine.engine.search.tree.tree import Tree
from az_engine.models.families import config_of
from az_engine.models.families.sparse import kernels as feature_kernels
from az_engine.models.families.sparse.config import SparseConfig
from az_engine.models.families.sparse.network import SparseNetwork
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.train import command as train
from az_engine.models.train.origin import origin

from ...fakes.arguments import parsed
from ..samples import CHESS, SAMPLE

SPARSE = CHESS.using("sparse")
KERNELS: Any = feature_kernels
POSITIONS = int(os.environ.get("AZ_ENGINE_SPARSE_POSITIONS", "1000"))  # for the net inside the package
CHUNK = 500  # of them
SHARP = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def random_network(seed: int = 1, wider: int = 2, buckets: int = 1) -> SparseNetwork:
    """With a value so many times as wide as the policy."""
    torch.manual_seed(seed)
    config = SparseConfig(
        SPARSE.planes,
        SPARSE.num_actions,
        filters=32,
        value_filters=wider,
        value_buckets=buckets,
    )
    network = SparseNetwork(config, SPARSE.encoder)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.empty_like(parameter).uniform_(-0.6, 0.6))
        network.after_step()
    return network


def positions(count: int, seed: int) -> NDArray[np.uint8]:
    """Planes of random games, of which a random number of pieces was taken off the board: all, sometimes."""
    planes = random_planes(SPARSE, count, seed)
    lists = planes.reshape(count, 2, -1)
    men = (lists != 0).any(1).sum(1)
    left = np.random.default_rng(seed).integers(0, men + 1)
    lists[np.broadcast_to((np.arange(lists.shape[2]) >= left[:, None])[:, None], lists.shape)] = 0
    return planes


def info(**changes: Any) -> NetInfo:
    return NetInfo(
        "chess", SPARSE.planes, SPARSE.num_actions, 1, 1, "wdl", **{"encoder": "sparse", "history": 1, **changes}
    )


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return random_network().to_onnx(info())


@pytest.fixture(scope="module")
def file(model: onnx.ModelProto, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sparse") / "sparse.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wider", "buckets", "coarse"),
    [(2, 1, "both"), (2, 8, "policy"), (32, 8, "both"), (1, BUCKETS, "value"), (2, 1, "neither")],
)
def test_kernel_and_file_agree_bit_for_bit(wider: int, buckets: int, coarse: str, tmp_path: Path) -> None:
    """``wider``: how many times as wide as the policy the value is; the greatest width is among them."""
    network, file = random_network(wider=wider, buckets=buckets), tmp_path / "net.onnx"
    network.coarse_value, network.coarse_policy = coarse in ("both", "value"), coarse in ("both", "policy")
    with torch.no_grad():
        network.value_hidden.weight.mul_(2 / wider)  # so that its sums are exact in float32
    file.write_bytes(network.to_onnx(info()).SerializeToString())
    evaluator = load_evaluator(str(file), CHESS)
    assert isinstance(evaluator, SparseEvaluator)
    assert evaluator.compiled is not None
    assert len(evaluator.compiled.weights.value_rest) == (0 if network.coarse_value else 1 + SPARSE.encoder.features)
    assert len(evaluator.compiled.weights.policy_rest) == (0 if network.coarse_policy else 1 + SPARSE.encoder.features)
    for seed in range(3):
        planes = np.concatenate([random_planes(SPARSE, 300, seed), positions(300, seed)])
        for file_says, kernel_says in zip(
            OnnxEvaluator.evaluate(evaluator, planes), evaluator.evaluate(planes), strict=True
        ):
            assert np.array_equal(file_says, kernel_says)
            assert kernel_says.std() > 0


def leaves_of(game: Game, lines: list[State]) -> Leaves:
    """The last positions of lines, as the search describes them."""
    encoder = game.using("sparse").encoder
    leaves, states = encoder.make_leaves(len(lines)), np.array([line[-1:] for line in lines])
    leaves.rows["slot"] = leaves.rows["row"] = np.arange(len(lines))
    encoder.describe(states, leaves, len(lines), 1, 0)
    return leaves


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chess", "shogi"])
def test_the_net_inside_and_its_file_agree_bit_for_bit(name: str) -> None:
    """All logits."""
    game = get_game(name)
    evaluator = load_evaluator("", game)
    assert isinstance(evaluator, SparseEvaluator)
    keys: set[int] = set()
    for first in range(0, POSITIONS, CHUNK):
        count = min(CHUNK, POSITIONS - first)
        lines = random_lines(game, count, first)
        leaves = leaves_of(game, lines)
        logits, wdl = OnnxEvaluator.evaluate(evaluator, leaves.planes)
        judged, values = evaluator.evaluate(leaves.planes)
        assert np.array_equal(judged.view(np.uint32), logits.view(np.uint32))
        assert np.array_equal(values.view(np.uint32), wdl.view(np.uint32))
        assert values.std() > 0.05
        keys |= set(leaves.rows["key"].tolist())
    print(f"{name}: {POSITIONS} positions, {len(keys)} different: kernel and onnxruntime agree")
    assert len(keys) > 0.9 * POSITIONS


def test_the_file_says_nearly_what_torch_says(model: onnx.ModelProto) -> None:
    planes = random_planes(SPARSE, 200, 9)
    assert random_network().parity(model, planes) < 0.1
    with pytest.raises(NetError, match="differs from the trained one by"):
        random_network(2).parity(model, planes)
    broken = random_network()
    with torch.no_grad():
        broken.row_bias[7] = torch.nan
    with pytest.raises(NetError, match="not finite"):
        broken.to_onnx(info())


def test_training_kernels_against_torch() -> None:
    rng = np.random.default_rng(3)
    features, width, actions = 40, 32, 25
    planes = np.zeros((6, 2, 8, 8), np.uint8)
    dense = torch.zeros(6, features)
    for row in range(6):
        chosen = rng.choice(features, 10, replace=False)
        planes[row, 0].ravel()[:10] = chosen + 1
        dense[row, chosen] = 1.0
    weight, bias = torch.randn(features, width), torch.randn(width)
    flat, out = planes.reshape(6, -1), np.empty((6, width), np.float32)
    KERNELS.gather_features(flat, weight.numpy(), bias.numpy(), out)
    assert np.allclose(out, (dense @ weight + bias).numpy(), atol=1e-5)
    gradient, grown = torch.randn(6, width), np.zeros((features, width), np.float32)
    KERNELS.scatter_features(flat, gradient.numpy(), grown)
    assert np.allclose(grown, (dense.T @ gradient).numpy(), atol=1e-5)
    hidden, rows, row_bias = (
        torch.randn(shape, requires_grad=True) for shape in ((6, width), (actions, width), (actions,))
    )
    asked = torch.tensor(rng.integers(-1, actions, (6, 5)))
    logits = np.empty((6, 5), np.float32)
    plain = [tensor.detach().numpy() for tensor in (hidden, rows, row_bias)]
    KERNELS.gather_rows(*plain, asked.numpy(), logits)
    expected = torch.where(asked < 0, 0.0, (hidden @ rows.T + row_bias).gather(1, asked.clamp(min=0)))
    assert np.allclose(logits, expected.detach().numpy(), atol=1e-4)
    back = torch.randn(6, 5)
    expected.backward(back)  # type: ignore[no-untyped-call]
    parts = [np.zeros_like(array) for array in plain]
    KERNELS.scatter_rows(plain[0], plain[1], asked.numpy(), back.numpy(), *parts)
    for mine, tensor in zip(parts, (hidden, rows, row_bias), strict=True):
        assert tensor.grad is not None
        assert np.allclose(mine, tensor.grad.numpy(), atol=1e-4)


def tree_of(evaluator: Any, *, grows: bool, **params: Any) -> tuple[list[bytes], list[bytes], int, int]:
    """What the nodes hold but for their edges, the edges of nodes visited twice, those of the others, simulations."""
    line = CHESS.parse_position(SHARP)[0].reshape(1)
    tree = Tree(1 << 22)
    plain = contextlib.nullcontext() if grows else mock.patch.object(evaluator, "compiled", None)
    with plain:
        search = Search(
            CHESS,
            tree,
            evaluator,
            SearchParams(transpositions=False, **params),  # which the plain search has not
            CHESS.window(line),
            cache=PositionCache(1 << 20),
            visits=700,
            scope=Scope(batch_size=1),
        )
    search.run(lambda: False)
    assert search.error is None
    nodes = tree.nodes[: int(tree.counters[0])]
    fields = [nodes[name].tobytes() for name in NODE.names or () if name not in ("first_edge", "edges")]
    again = np.flatnonzero(nodes["n"] > 1)
    edges = [tree.children_of(int(node))[0].tobytes() for node in again]
    return fields, edges, int(nodes["edges"][nodes["n"] == 1].sum()), search.simulations


@pytest.mark.parametrize(
    "params", [{}, {"mate_plies": 0, "solver": False}, {"policy_temperature": 1.4, "fpu": "zero", "puct": "agz"}]
)
def test_one_kernel_grows_the_tree_of_the_plain_search(file: Path, params: dict[str, Any]) -> None:
    sparse = load_evaluator(str(file), CHESS)
    reference = OnnxEvaluator(file, CHESS, provider="cpu", batch_size=1)
    *grown, once, simulations = tree_of(sparse, grows=True, **params)
    assert (once, simulations) == (0, 700)
    for evaluator in (sparse, reference):
        *plain, once, simulations = tree_of(evaluator, grows=False, **params)
        assert grown == plain
        assert (once > 1000, simulations) == (True, 700)


def test_a_search_goes_on_where_there_is_no_room_for_edges(file: Path) -> None:
    line = CHESS.parse_position(SHARP)[0].reshape(1)
    tree = Tree(1 << 24)
    search = Search(CHESS, tree, load_evaluator(str(file), CHESS), SearchParams(), CHESS.window(line), visits=20_000)
    tree.edges, tree.counters[[UNITS, MOST_EDGES]] = tree.edges[:4000], 0
    tree.arrays = tree.arrays._replace(edges=tree.edges[None])
    search.run(lambda: False)
    assert search.error is None
    nodes = tree.nodes[: int(tree.counters[0])]
    assert not nodes["in_flight"].any()
    assert len(nodes) < 5_000
    assert nodes["n"][0] == search.simulations == 20_000


def test_threads_that_grow_one_tree_lose_no_visit(file: Path) -> None:
    line = CHESS.parse_position(SHARP)[0].reshape(1)
    tree, evaluator = Tree(1 << 24), load_evaluator(str(file), CHESS)
    window, cache = CHESS.window(line), PositionCache(1 << 20)
    params = SearchParams(transpositions=False)  # with them a child's visits come from several parents
    search = Search(CHESS, tree, evaluator, params, window, cache=cache, visits=20_000, scope=Scope(workers=3))
    search.run(lambda: False)
    assert search.error is None
    used = int(tree.counters[0])
    nodes = tree.nodes[:used]
    assert nodes["n"][0] == search.simulations == 20_000
    assert not nodes["in_flight"].any()
    below = np.zeros(used, np.int64)
    np.add.at(below, nodes["parent"][1:], nodes["n"][1:])
    expanded = (nodes["first_edge"] >= 0) & (nodes["bound"] == RUNNING)
    assert np.array_equal(below[expanded] + 1, nodes["n"][expanded])
    for node in np.flatnonzero(expanded)[:500]:
        edges, children = tree.children_of(int(node))
        assert len(set(edges["child"][: len(children)].tolist())) == len(children)
        assert (nodes["parent"][edges["child"][: len(children)]] == node).all()


def changed(model: onnx.ModelProto, name: str, change: Any) -> bytes:
    """The file with another constant of that name."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(tensor).copy()), name))
    content: bytes = copy.SerializeToString()
    return content


def put(values: Any, where: Any, value: int) -> Any:
    values[where] = value
    return values


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("rows", lambda v: v.astype(np.int16), "rows does not fit"),
        ("rows", lambda v: v[:-1], "rows does not fit|trial|does not"),
        ("value_first", lambda v: v[:-1], "value_first does not fit|trial|does not"),
        ("policy_first", lambda v: np.int8(v[1, 1]), "does not"),
        ("hidden", lambda v: put(v, ..., 32767), "too large"),
        ("value_first", lambda v: put(v, (5, 5), 127), "too large"),
        ("policy_first", lambda v: put(v, (5, 5), -128), "too large"),
        ("policy_first", lambda v: put(v.astype(np.int16), (5, 5), 30000), "too large"),
        ("policy_first", lambda v: put(v, 0, 3), "weight to no feature"),
    ],
)
def test_hostile_files_are_refused(model: onnx.ModelProto, tmp_path: Path, name: str, change: Any, text: str) -> None:
    path = tmp_path / "hostile.onnx"
    path.write_bytes(changed(model, name, change))
    with pytest.raises(NetError, match=text) as raised:
        load_evaluator(str(path), CHESS)
    assert "\n" not in str(raised.value)


def test_a_graph_that_says_something_else_is_refused(model: onnx.ModelProto, tmp_path: Path) -> None:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    [last] = [node for node in copy.graph.node if node.output[0] == "wdl"]
    last.op_type = "Add"
    path = tmp_path / "other.onnx"
    path.write_bytes(copy.SerializeToString())
    with pytest.raises(NetError, match="something else than its weights"):
        load_evaluator(str(path), CHESS)


def test_the_engine_obeys_its_options(file: Path) -> None:
    engine = Engine("chess", EngineOptions(weights_file=str(file), hash_mb=16, threads=1))
    try:
        for changes in ({}, {"threads": 2}, {"multipv": 3}, {"threads": 3, "batch_size": 4}):
            engine.configure(**changes)
            for limits in (Limits(nodes=300), Limits(nodes=50, searchmoves=("e2a6",)), Limits(movetime=50)):
                engine.set_position(SHARP, [])
                reports: list[Any] = []
                answers: list[Any] = []
                engine.go(limits, reports.append, answers.append)
                assert engine.wait(60.0)
                [best] = answers
                assert best.error is None
                assert best.move in (limits.searchmoves or engine.legal_moves())
                assert len(reports[-1].lines) == (1 if limits.searchmoves else engine.options.multipv)
        engine.set_position("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1", [])
        mates: list[Any] = []
        engine.go(Limits(nodes=2000), lambda info: None, mates.append)
        assert engine.wait(60.0)
        assert (mates[0].move, mates[0].lines[0].mate) == ("e1e8", 1)
    finally:
        engine.close()


def test_a_width_or_kind_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="multiple of 32"):
        SparseConfig(SPARSE.planes, SPARSE.num_actions, filters=40)
    with pytest.raises(OptionError, match="1024 wide at most"):
        SparseConfig(SPARSE.planes, SPARSE.num_actions, filters=256, value_filters=5)
    for words, text in (
        (("--value-buckets", "2"), "a dual-res network has no --value-buckets"),
        (("--kind", "sparse", "--squeeze", "4"), "a sparse network has no --squeeze"),
        (("--kind", "sparse", "--planes", "alphazero"), "does not see the planes of alphazero"),
        (("--planes", "sparse"), "does not see the planes of sparse"),
        (("--kind", "sparse", "--device", "cuda"), "learns on the CPU"),
    ):
        with pytest.raises(OptionError, match=text):
            train.main(parsed(train, "--supervised", str(SAMPLE), "--out", str(tmp_path), "--steps", "1", *words))
    run = RunConfig.from_values({"game": "chess", "net": {"kind": "sparse"}})
    with pytest.raises(OptionError, match="records alone"):
        run.net_config(CHESS)


@pytest.mark.slow
def test_train_export_play(tmp_path: Path) -> None:
    from az_engine.cli import main

    run = tmp_path / "run"
    command = f"train --supervised {SAMPLE} --kind sparse --filters 32 --batch 32 --steps 20 --threads 1 --out {run}"
    assert main(command.split()) == 0
    assert "sparse 32" in (run / "card.md").read_text()
    assert not (run / "net_fp32.onnx").exists()
    evaluator = load_evaluator(str(run / "net_int8.onnx"), CHESS)
    assert isinstance(evaluator, SparseEvaluator)


def test_a_net_read_back_has_the_same_integers(file: Path) -> None:
    there = origin(file, SPARSE)
    net = there.state["net"]
    assert (net["kind"], net["filters"], net["value_filters"], net["value_buckets"]) == ("sparse", 32, 2, 1)
    config = config_of(there.state["net"])
    assert isinstance(config, SparseConfig)
    network = SparseNetwork(config, SPARSE.encoder)
    network.load_state_dict({name.removeprefix("averaged."): tensor for name, tensor in there.tensors.items()})
    net = read_net(file.read_bytes(), SPARSE.encoder)
    again = network.to_integers()
    assert all(np.array_equal(getattr(again, name), getattr(net, name)) for name in net._fields)
    shared = network.value_shared.detach().repeat(SPARSE.encoder.alike[0], 1)
    assert shared.abs().mean() > network.value_own.detach().abs().mean() / 4


@pytest.mark.slow
def test_training_goes_on_from_a_net(tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from az_engine.cli import main

    words = f"train --supervised {SAMPLE} --kind sparse --batch 8 --steps 1 --threads 1 --rate 1e-9 --init"
    assert main([*words.split(), str(file), "--out", str(tmp_path / "file")]) == 0
    planes = random_planes(SPARSE, 50, 4)
    before, after = (
        load_evaluator(str(path), CHESS).evaluate(planes) for path in (file, tmp_path / "file" / "net_int8.onnx")
    )
    assert np.abs(before[0] - after[0]).max() < 0.1
    assert main([*words.split(), "default", "--out", str(tmp_path / "default")]) == 0
    assert "sparse 256, value 1024, buckets 8" in (tmp_path / "default" / "card.md").read_text()
    capfd.readouterr()
    wider_words = ["--value-filters", "4", "--value-buckets", "8", "--threads", "2", "--out", str(tmp_path / "wide")]
    assert main([*words.split(), str(file), *wider_words]) == 0
    card = (tmp_path / "wide" / "card.md").read_text()
    assert "sparse 32, value 128, buckets 8" in card
    assert "on 2 threads of a" in card
    policy_words = ["--filters", "64", "--value-filters", "1", "--out", str(tmp_path / "policy")]
    assert main([*words.split(), str(file), *policy_words]) == 0
    assert "sparse 64," in (tmp_path / "policy" / "card.md").read_text()
    same, value, policy = (
        load_evaluator(str(tmp_path / name / "net_int8.onnx"), CHESS).evaluate(planes)
        for name in ("file", "wide", "policy")
    )
    for wider in (value, policy):  # new units say nothing yet
        assert np.abs(same[0] - wider[0]).max() < 0.1
        assert np.abs(same[1] - wider[1]).max() < 0.01
    capfd.readouterr()
    assert main([*words.split(), "default", "--filters", "64", "--out", str(tmp_path / "other")]) == 2
    assert "the network to begin from is another" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "coarse"), [("policy", True), ("policy", False), ("value", True), ("value", False)])
def test_policy_and_value_learn_alone(tmp_path: Path, kept: str, coarse: bool) -> None:
    """``coarse``: the net to begin from is in steps that a byte can say."""
    from az_engine.cli import main

    network, start = random_network(), tmp_path / "start.onnx"
    network.coarse_value = network.coarse_policy = coarse
    start.write_bytes(network.to_onnx(info()).SerializeToString())
    words = f"train --supervised {SAMPLE} --kind sparse --batch 32 --steps 20 --warmup 1 --rate 0.01 --init {start}"
    assert main([*words.split(), f"--{kept}-weight", "0", "--out", str(tmp_path)]) == 0
    before, after = (read_net(path.read_bytes(), SPARSE.encoder) for path in (start, tmp_path / "net_int8.onnx"))
    for name in before._fields:
        part = "policy" if name.startswith(("policy", "row")) else "value"
        same = np.array_equal(getattr(before, name), getattr(after, name))
        assert same if part == kept else not same or name.endswith("rest"), name


@pytest.mark.parametrize(("name", "other"), [("chess", "shogi"), ("shogi", "chess")])
def test_the_package_has_one_for_cpus_and_a_named_one_for_gpus(
    name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, dense = get_game(name), f"{name}-conv"
    inside = load_evaluator("", game)
    assert isinstance(inside, SparseEvaluator)
    assert inside.path.with_suffix(".md").read_text().count(inside.sha256) == 1
    named = load_evaluator(dense, game)
    assert isinstance(named, OnnxEvaluator)
    assert not isinstance(named, SparseEvaluator)
    with pytest.raises(NetError):
        load_evaluator(dense, get_game(other))
    for word in (dense, f"net={dense}"):
        assert parse_spec(word, game.protocol).net == dense
    assert find_net(dense).info.name == f"az-{name}-6x64"
    assert sum(net.info.game == name for net in embedded_nets()) == 2
    monkeypatch.setattr(weights, "uses_gpu", lambda provider: provider == "cuda")
    assert weights.net_path("", game, provider="cuda") == named.path
    assert weights.net_path("", game, provider="auto") == inside.path


@pytest.mark.parametrize(("threads", "buckets"), [(1, 1), (3, 1), (2, 8)])
def test_the_values_kernels_are_what_torch_makes_of_the_layers(threads: int, buckets: int) -> None:
    """Logits and every gradient, against torch's own operations in float64."""
    network = random_network(buckets=buckets)
    network.coarse_value, network.value_threads = False, threads
    planes = torch.from_numpy(positions(200, 4))
    said = network.value_of(planes)
    wdl = torch.rand(200, 3).softmax(1)
    torch.nn.functional.cross_entropy(said, wdl).backward()  # type: ignore[no-untyped-call]

    numbers = planes.flatten(1).long()
    features = (numbers[:, :64] + 256 * numbers[:, 64:]).numpy()
    listed = torch.zeros(200, SPARSE.encoder.features, dtype=torch.float64)
    for row, own in enumerate(features):
        listed[row, own[own > 0] - 1] = 1
    plain = {
        name: parameter.detach().double().requires_grad_()
        for name, parameter in network.named_parameters()
        if name.startswith("value")
    }
    first = (plain["value_shared"].repeat(4, 1) + plain["value_own"]).clamp(-1.9, 1.9)
    left, right = (listed @ first + plain["value_bias"]).clamp(0, 1).chunk(2, 1)
    hidden = left * right @ plain["value_hidden.weight"].T + plain["value_hidden.bias"]
    own = torch.from_numpy(np.clip(((features > 0).sum(1) - 1) // 4, 0, buckets - 1))
    kept = hidden.clamp(0, 1) * (torch.arange(32 * buckets) // 32 == own[:, None])
    expected = kept @ plain["value_out.weight"].T + plain["value_out.bias"]
    assert len(np.unique(own)) == buckets
    torch.nn.functional.cross_entropy(expected, wdl.double()).backward()  # type: ignore[no-untyped-call]

    assert torch.allclose(said.double(), expected, atol=1e-4)
    assert said.std() > 0.1
    for name, parameter in network.named_parameters():
        if name in plain:
            assert parameter.grad is not None
            wanted = plain[name].grad
            assert wanted is not None
            assert torch.allclose(parameter.grad.double(), wanted, atol=1e-6 + 1e-4 * float(wanted.abs().max()))
            assert wanted.abs().max() > 0


def test_a_first_layer_is_rounded_and_the_gradient_does_not_see_it() -> None:
    network = random_network()
    free = network.value_first.detach()
    assert network.coarse_value
    network.coarse_value = False
    exact = network.value_first
    step = 4 / 255
    assert torch.allclose(free / step, (free / step).round(), atol=1e-4)
    assert (free - exact).abs().max() <= step / 2 + 1e-6
    exact.sum().backward()  # type: ignore[no-untyped-call]
    network.coarse_value = True
    grads = network.value_shared.grad, network.value_own.grad
    assert grads[0] is not None
    assert grads[1] is not None
    before = [grad.clone() for grad in (grads[0], grads[1])]
    network.zero_grad()
    network.value_first.sum().backward()  # type: ignore[no-untyped-call]
    assert network.value_shared.grad is not None
    assert network.value_own.grad is not None
    assert torch.equal(network.value_shared.grad, before[0])
    assert torch.equal(network.value_own.grad, before[1])
    assert before[0].max() == 4  # four kinds share a row
