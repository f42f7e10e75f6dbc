"""The fields of ONNX messages that a net may have; files with others are refused.

Protobuf readers differ on a single field that occurs several times: of a file with two graphs we would check one, and
onnxruntime would run the sum of both. Here every message is read whole, in bounds, and a single field may occur once.
"""

from __future__ import annotations

from ...errors import NetError
from .protobuf import BYTES, FIXED32, FIXED64, VARINT, Damaged, read_wire

MAX_FIELDS = 300_000  # of a whole file: a net of 5,000 nodes has about 100,000

_WIRES = {
    "int": (VARINT,),
    "float": (FIXED32,),
    "text": (BYTES,),
    "ints": (VARINT, BYTES),  # one by one, or packed
    "floats": (FIXED32, BYTES),
    "doubles": (FIXED64, BYTES),
}

# Message: its fields, each a number, name and kind: one of _WIRES or a message; "*" after it: any number of times.
_MESSAGES = {
    "model": """
        1 ir_version int, 2 producer_name text, 3 producer_version text, 4 domain text, 5 model_version int,
        6 doc_string text, 7 graph graph, 8 opset_import operator set*, 14 metadata_props entry*""",
    "operator set": "1 domain text, 2 version int",
    "entry": "1 key text, 2 value text",
    "graph": """
        1 node node*, 2 name text, 5 initializer tensor*, 10 doc_string text, 11 input value*, 12 output value*,
        13 value_info value*, 14 quantization_annotation text*, 16 metadata_props entry*""",
    "node": """
        1 input text*, 2 output text*, 3 name text, 4 op_type text, 5 attribute attribute*, 6 doc_string text,
        7 domain text, 9 metadata_props entry*""",
    "attribute": """
        1 name text, 2 f float, 3 i int, 4 s text, 5 t tensor, 7 floats floats*, 8 ints ints*, 9 strings text*,
        13 doc_string text, 20 type int""",
    "tensor": """
        1 dims ints*, 2 data_type int, 4 float_data floats*, 5 int32_data ints*, 6 string_data text*,
        7 int64_data ints*, 8 name text, 9 raw_data text, 10 double_data doubles*, 11 uint64_data ints*,
        12 doc_string text, 14 data_location int, 16 metadata_props entry*""",
    "value": "1 name text, 2 type type, 3 doc_string text, 4 metadata_props entry*",
    "type": "1 tensor_type tensor type, 6 denotation text",
    "tensor type": "1 elem_type int, 2 shape shape",
    "shape": "1 dim dimension*",
    "dimension": "1 dim_value int, 2 dim_param text, 3 denotation text",
}  # quantization_annotation stays unread: no execution depends on it
_FIELDS = {  # by message and number: (name, kind)
    message: {
        int(number): (name, kind) for number, name, kind in (field.split(maxsplit=2) for field in text.split(","))
    }
    for message, text in _MESSAGES.items()
}

_GRAPH_INSIDE = "contains a graph inside a node, which no net of ours needs"
_REFUSED = {  # refused fields -> the fault
    ("model", 20): "contains instructions for training, which no net of ours needs",
    ("model", 25): "defines functions of its own, which no net of ours needs",
    ("graph", 15): "lists weights by their places, which no net of ours needs",
    ("attribute", 6): _GRAPH_INSIDE,
    ("attribute", 11): _GRAPH_INSIDE,
    ("attribute", 10): "contains a list of tensors in a node, which no net of ours needs",
    ("attribute", 22): "lists a tensor of a node by its places, which no net of ours needs",
    ("attribute", 23): "lists tensors of a node by their places, which no net of ours needs",
    ("tensor", 13): "keeps weights in another file, which is not read; save it as one ONNX file",
}


def check_fields(model: memoryview) -> None:
    """Check that each message of a model holds only known fields, each single one at most once.

    Errors: NetError for what a net does not need; Damaged when it is no ONNX file.
    """
    room = MAX_FIELDS
    waiting = [("model", model)]
    while waiting:
        message, data = waiting.pop()
        seen = 0  # bits of the single fields that have occurred
        for number, wire, value in read_wire(data):
            room -= 1
            if room < 0:
                raise NetError(f"the net has more than {MAX_FIELDS:,} fields; export it again with az-engine")
            kind = _kind(message, number, wire)
            if (message, number) == ("tensor", 14) and value:
                raise NetError(f"the net {_REFUSED['tensor', 13]}")
            if not kind.endswith("*"):
                if seen >> number & 1:
                    name = _FIELDS[message][number][0]
                    raise NetError(f"the net gives the field {name!r} of a {message} twice, so that readers differ")
                seen |= 1 << number
            inner = kind.removesuffix("*")
            if inner in _FIELDS and not isinstance(value, int):
                waiting.append((inner, value))


def _kind(message: str, number: int, wire: int) -> str:
    """The kind of a field. Errors: NetError for a refused one; Damaged for a wrong wire type."""
    if (message, number) in _REFUSED:
        raise NetError(f"the net {_REFUSED[message, number]}")
    if number not in _FIELDS[message]:
        raise NetError(f"the net has field {number} in a {message}, which no net of ours needs; export it again")
    kind = _FIELDS[message][number][1]
    if wire not in _WIRES.get(kind.removesuffix("*"), (BYTES,)):
        raise Damaged
    return kind
