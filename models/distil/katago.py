"""A KataGo net that learns on: its converted graph, run by torch, with weights that training changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from ...engine.errors import OptionError
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.file.protobuf import read_messages
from ...engine.nets.netinfo import NetInfo
from ..families.config import NetConfig
from ..families.network import Network
from ..foreign.families import convert_file
from ..foreign.katago import ENCODER
from ..net.onnxfile import GraphWriter, needed_parts
from ..net.torchgraph import TorchGraph

_KNOWN = ("numbers.", "number.", "wdl.barred", "score.counted", "score.komi")  # beginnings of what holds no weights
_FILTERS = 4  # dimensions of a convolution's weights
_SCALED = ".scale"  # end of the names of what a channel is multiplied by, stored as a convolution


@dataclass(frozen=True)
class KatagoConfig(NetConfig):
    """A KataGo net's shape, which its graph says."""

    kind: str = "katago"
    described: str = ""  # its architecture

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("policy", "wdl", "ownership", "score")

    @property
    def any_size(self) -> bool:
        return True

    @property
    def architecture(self) -> str:
        return self.described


class KatagoNetwork(Network):
    """The net without its doubts: they would stay what they are while all else learns."""

    config: KatagoConfig

    def __init__(self, model: onnx.ModelProto, info: NetInfo, dtype: torch.dtype = torch.float32) -> None:
        """model: as converted; dtype: of most of the arithmetic, see :class:`TorchGraph`; weights are float32."""
        super().__init__(KatagoConfig(info.planes, info.actions, history=info.history, described=info.architecture))
        self.info, self.model = info, onnx.ModelProto()
        self.model.CopyFrom(model)
        kept = [output for output in model.graph.output if output.name in self.config.outputs]
        del self.model.graph.output[:]
        self.model.graph.output.extend(kept)
        self.body = TorchGraph(self.model, dtype, trained=_is_weight)

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        with torch.autocast(planes.device.type, enabled=False):
            outputs = self.body(planes.contiguous(memory_format=torch.channels_last))
        return tuple(outputs[name] for name in self.config.outputs)

    def matrices(self) -> list[nn.Parameter]:
        return [
            weight
            for name, weight in self.body.weights()
            if weight.ndim == _FILTERS and not name.endswith(_SCALED) and weight.shape[0] > 1
        ]

    def of_chances(self) -> list[nn.Parameter]:
        return [weight for name, weight in self.body.weights() if name.startswith("wdl.logits")]

    def to_onnx(self, info: NetInfo) -> onnx.ModelProto:
        """It still plays on every board, and with KataGo's search settings."""
        return super().to_onnx(replace(info, boards=self.info.boards, search=self.info.search))

    def graph(self, info: NetInfo) -> GraphWriter:
        for name, weight in self.body.weights():
            tensor = next(each for each in self.model.graph.initializer if each.name == name)
            values = np.asarray(weight.detach().to("cpu", torch.float32).contiguous().numpy())
            tensor.CopyFrom(numpy_helper.from_array(values, name))
        body = next(read_messages(memoryview(self.model.SerializeToString()), 7))
        writer = GraphWriter()
        writer.take(needed_parts(body, {name.encode() for name in self.config.outputs}), "")
        return writer


def _is_weight(name: str, values: Tensor) -> bool:
    return values.is_floating_point() and not name.startswith(_KNOWN)


def is_katago(path: Path) -> bool:
    """Whether a path names a KataGo net, or one that has learned on. Errors: NetError for an .onnx that is no net."""
    return path.suffix == ".gz" or (path.suffix == ".onnx" and _info(path).encoder == ENCODER)


def _info(path: Path) -> NetInfo:
    return NetInfo.from_metadata(read_outline(path)[0].metadata)


def read_katago(path: Path, *, exact: bool) -> KatagoNetwork:
    """The network of a file that :func:`is_katago`; exact: all arithmetic in float32, else most of it in bfloat16.

    Errors: NetError; OptionError for a net that sees other planes.
    """
    if path.suffix == ".gz":
        converted = convert_file(path)
        content, info = converted.model, converted.info
    else:
        outline, content = read_outline(path)
        info = NetInfo.from_metadata(outline.metadata)
    if info.encoder != ENCODER:
        raise OptionError(f"{path} sees {info.encoder}; a net that sees {ENCODER} is needed")
    return KatagoNetwork(onnx.load_from_string(content), info, torch.float32 if exact else torch.bfloat16)
