"""dlshogi's ONNX nets, as they are and with our inputs and outputs around them.

Theirs take float32 "input1" [B, 62, 9, 9] and "input2" [B, 57 or 119, 9, 9] and give "output_policy" [B, 2187] and
"output_value" [B, 1], the probability that the side to move wins. Ours take the same planes as bytes, side by side, and
give the value between -1 and 1. Nothing in between is touched.
"""

from __future__ import annotations

import numpy as np

from ...engine.errors import NetError
from ...engine.nets.file.netfile import FLOAT, Outline, Tensor, read_outline_bytes
from ...engine.nets.file.protobuf import Damaged, read_messages, read_number, read_text
from ...engine.nets.netinfo import NetInfo
from ..net.onnxfile import NODE, GraphWriter, parts, read_opset, write_model
from .source import Converted, Source

INPUT1, ACTIONS = 62, 2187
ENCODERS = {57: "dlshogi", 119: "dlshogi-119"}  # by the planes of input2
_SEARCH = (  # dlshogi's, whose values lie in [0, 1] instead of [-1, 1]
    ("c_puct", 2.88),
    ("c_base", 28288.0),
    ("c_factor", 2.0),
    ("fpu_value", 0.54),
    ("fpu_root_value", 0.0),
    ("policy_temperature", 1.74),
)
EXPORT_OPSET = 13  # which every client's runtime knows; our nets have no operator that is newer
_LEAST_OPSET = 10  # whose Slice takes its bounds as inputs
_INNER = "net/"  # before every name in the graph that is taken over, which may have names of ours


def recognises(content: bytes) -> bool:
    """Whether the file is an ONNX net with dlshogi's inputs."""
    try:
        graph = next(read_messages(memoryview(content), 7), None)
        names = [] if graph is None else [read_text(each, 1) for each in read_messages(graph, 11)]
    except Damaged:
        return False
    return {b"input1", b"input2"} <= set(names)


def convert(content: bytes, source: Source) -> Converted:
    """The net with our inputs and outputs. Errors: NetError when it is not of dlshogi's shape."""
    outline = read_outline_bytes(content)
    constants = _check(outline)
    planes = INPUT1 + constants
    info = source.described(
        NetInfo(
            game="shogi",
            encoder=ENCODERS[constants],
            planes=(planes, 9, 9),
            actions=ACTIONS,
            planes_version=1,
            moves_version=1,
            value_head="value",
            architecture=f"dlshogi {INPUT1}+{constants} planes",
            history=1,
            search=_SEARCH,
        )
    )
    model = memoryview(content)
    opset = read_opset(model, _LEAST_OPSET)
    graph = next(read_messages(model, 7))
    new = GraphWriter()
    floats = new.node("Cast", ["planes"], "az.planes", to=FLOAT)
    for name, start, stop in (("input1", 0, INPUT1), ("input2", INPUT1, planes)):
        new.node("Slice", [floats, *(new.shape(n) for n in (start, stop, 1))], _INNER + name)
    new.take(parts(graph), _INNER)
    new.node("Identity", [f"{_INNER}output_policy"], "policy")
    doubled = new.node("Mul", [f"{_INNER}output_value", new.number(2.0)], "az.doubled")
    new.node("Sub", [doubled, new.number(1.0)], "value")
    outputs: dict[str, list[int | str]] = {"policy": [ACTIONS], "value": [1]}
    facts = (
        f"family: dlshogi, {INPUT1} + {constants} planes, {ACTIONS} actions, no history",
        f"graph: {outline.nodes} nodes, {len(content) / 1e6:.1f} MB",
    )
    return Converted(new.to_bytes(info, outputs, read_number(model, 1), opset), info, facts)


def _check(outline: Outline) -> int:
    """The planes of input2. Errors: NetError when names, types or shapes are not dlshogi's."""
    inputs = {each.name: each for each in outline.inputs}
    constants = inputs["input2"].shape[1] if len(inputs["input2"].shape) == 4 else 0
    if constants not in ENCODERS:
        raise NetError(
            f"this dlshogi net's input2 has {constants} planes; {' and '.join(map(str, ENCODERS))} are known"
        )
    outputs = {each.name: each for each in outline.outputs}
    requested = [
        (inputs.get("input1"), "input1", (INPUT1, 9, 9)),
        (inputs.get("input2"), "input2", (constants, 9, 9)),
        (outputs.get("output_policy"), "output_policy", (ACTIONS,)),
        (outputs.get("output_value"), "output_value", (1,)),
    ]
    for result, name, shape in requested:
        if result is None or not _fits(result, shape):
            raise NetError(f"this dlshogi net's {name} is not float32 [batch, {', '.join(map(str, shape))}]")
    return constants


def _fits(result: Tensor, shape: tuple[int, ...]) -> bool:
    return result.element == FLOAT and result.shape[1:] == shape


def to_dlshogi(content: bytes) -> bytes:
    """An ONNX file for dlshogi and FukauraOu out of one of ours. Errors: NetError when its planes are not dlshogi's."""
    outline = read_outline_bytes(content)
    info = NetInfo.from_metadata(outline.metadata)
    constants = next((n for n, name in ENCODERS.items() if name == info.encoder), None)
    if constants is None:
        raise NetError("this net does not know dlshogi's planes; train one with --planes dlshogi")
    if info.quantisation != "fp32":
        raise NetError("this net is quantised; export the fp32 one, which dlshogi's runtimes convert themselves")
    graph = next(read_messages(memoryview(content), 7))
    new, casts = GraphWriter(), 0
    for number, each in parts(graph):
        if number == NODE and b"planes" in [bytes(name) for name in read_messages(each, 1)]:
            if read_text(each, 4) != b"Cast":
                raise NetError("this net does not look at all of its planes; train with --history 8")
            casts += 1
            new.node("Concat", ["input1", "input2"], _INNER + read_text(each, 2).decode(), axis=1)
        else:
            new.take([(number, each)], _INNER)
    if casts != 1:
        raise NetError("this net is not as az-engine exports them: its planes are read more than once")
    new.node("Identity", [f"{_INNER}policy"], "output_policy")
    if info.value_head == "wdl":
        chances = new.node("Softmax", [f"{_INNER}wdl"], "az.chances", axis=-1)
        worth = new.constant("az.worth", np.array([[1.0], [0.5], [0.0]], np.float32))  # of a win, a draw, a loss
        new.node("MatMul", [chances, worth], "output_value")
    else:
        halved = new.node("Mul", [f"{_INNER}value", new.number(0.5)], "az.halved")
        new.node("Add", [halved, new.number(0.5)], "output_value")
    inputs = [("input1", FLOAT, [INPUT1, 9, 9]), ("input2", FLOAT, [constants, 9, 9])]
    outputs = [("output_policy", FLOAT, [ACTIONS]), ("output_value", FLOAT, [1])]
    return write_model(new.graph_bytes(inputs, outputs), {}, opset=EXPORT_OPSET)
