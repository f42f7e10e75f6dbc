"""The ONNX nets of miniosl, as they are and with our inputs and outputs around them.

Theirs take float32 "input" [B, 176, 9, 9], planes of bytes over 36, and give "move" [B, 2187] and "value" [B, 4], tanh:
the outcome for the side to move and three more of its kind, of which we take the first as miniosl's players do. What
leads to nothing but "aux", which is for training alone, is left out.
"""

from __future__ import annotations

from ...engine.errors import NetError
from ...engine.nets.file.netfile import FLOAT, Outline, read_outline_bytes
from ...engine.nets.file.protobuf import Damaged, read_messages, read_number, read_text
from ...engine.nets.netinfo import NetInfo
from ..net.onnxfile import NODE, GraphWriter, needed_parts, read_opset
from .source import Converted, Source

PLANES, ACTIONS, VALUES, HISTORY = 176, 2187, 4, 8
ONE = 36.0  # what stands for 1 in a plane
_LEAST_OPSET = 10  # whose Slice takes its bounds as inputs
_INNER = "net/"  # before every name in the graph that is taken over, which may have names of ours
_VALUE_HEAD = b"/value_head/"  # in the names of its nodes


def recognises(content: bytes) -> bool:
    """Whether the file is an ONNX net with miniosl's input and outputs."""
    try:
        graph = next(read_messages(memoryview(content), 7), None)
        if graph is None:
            return False
        names = {read_text(each, 1) for number in (11, 12) for each in read_messages(graph, number)}
    except Damaged:
        return False
    return {b"input", b"move", b"value"} <= names


def convert(content: bytes, source: Source) -> Converted:
    """The net with our inputs and outputs. Errors: NetError when it is not of miniosl's shape."""
    outline = read_outline_bytes(content)
    _check(outline)
    info = source.described(
        NetInfo(
            game="shogi",
            encoder="miniosl",
            planes=(PLANES, 9, 9),
            actions=ACTIONS,
            planes_version=1,
            moves_version=1,
            value_head="value",
            architecture=f"miniosl {PLANES} planes",
            history=HISTORY,
        )
    )
    model = memoryview(content)
    opset = read_opset(model, _LEAST_OPSET)
    kept = needed_parts(next(read_messages(model, 7)), {b"move", b"value"})
    graph = GraphWriter()
    floats = graph.node("Cast", ["planes"], "az.planes", to=FLOAT)
    graph.node("Div", [floats, graph.number(ONE)], f"{_INNER}input")
    graph.take(kept, _INNER)
    graph.node("Identity", [f"{_INNER}move"], "policy")
    graph.node("Slice", [f"{_INNER}value", *(graph.shape(n) for n in (0, 1, 1))], "value")
    nodes = [each for number, each in kept if number == NODE]
    facts = (
        f"family: miniosl, {PLANES} planes, {ACTIONS} actions, the position and {HISTORY - 1} moves before it",
        f"graph: {len(nodes)} of {outline.nodes} nodes, the rest for training alone; {len(content) / 1e6:.1f} MB",
    )
    convolutions = tuple(
        _INNER + name.decode()
        for name in (read_text(each, 3) for each in nodes if read_text(each, 4) == b"Conv")
        if _VALUE_HEAD not in name
    )
    onnx = graph.to_bytes(info, {"policy": [ACTIONS], "value": [1]}, read_number(model, 1), opset)
    return Converted(onnx, info, facts, int8=convolutions)


def _check(outline: Outline) -> None:
    """Errors: NetError when names, types or shapes are not miniosl's."""
    tensors = {each.name: each for each in (*outline.inputs, *outline.outputs)}
    for name, shape in (("input", (PLANES, 9, 9)), ("move", (ACTIONS,)), ("value", (VALUES,))):
        result = tensors.get(name)
        if result is None or result.element != FLOAT or result.shape[1:] != shape:
            raise NetError(f"this miniosl net's {name} is not float32 [batch, {', '.join(map(str, shape))}]")
