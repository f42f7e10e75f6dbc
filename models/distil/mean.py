"""The mean of networks that learned one after the other: often better than each, and no slower than one.

M. Wortsman et al., "Model soups", 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from ...engine.errors import OptionError
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.netinfo import NetInfo


def mean_of(paths: Sequence[Path]) -> onnx.ModelProto:
    """A float32 network with the mean of the weights of these; it says that it learned what they have.

    Errors: OptionError where they differ in more than weights, NetError.
    """
    first, *others = models = [onnx.load_from_string(read_outline(path)[1]) for path in paths]
    infos = [NetInfo.from_metadata({each.key: each.value for each in model.metadata_props}) for model in models]
    plain = [replace(info, name="", trained_on="", step=0) for info in infos]
    for path, model, info in zip(paths[1:], others, plain[1:], strict=True):
        if info.boards != plain[0].boards:
            sizes = " and ".join(",".join(map(str, each.boards)) for each in (info, plain[0]))
            raise OptionError(f"{path} and {paths[0]} learned boards of {sizes} lines; give runs of the same sizes")
        if info != plain[0] or not _alike(first.graph, model.graph):
            raise OptionError(f"{path} is no network of the same shape as {paths[0]}; give runs of one network")
    for tensors in zip(*(model.graph.initializer for model in models), strict=True):
        values = [numpy_helper.to_array(tensor) for tensor in tensors]
        if values[0].dtype == np.float32:
            mean = np.asarray(np.mean(values, axis=0, dtype=np.float64), np.float32)
            tensors[0].CopyFrom(numpy_helper.from_array(mean, tensors[0].name))
    learned = "; ".join(info.trained_on for info in infos)
    about = replace(infos[0], trained_on=f"mean of {len(infos)} networks: {learned}")
    onnx.helper.set_model_props(first, about.to_metadata())
    return first


def _alike(one: onnx.GraphProto, other: onnx.GraphProto) -> bool:
    """Whether two graphs compute the same of weights of the same shapes."""
    tensors = [
        [
            (
                each.name,
                [*each.dims],
                b"" if each.data_type == onnx.TensorProto.FLOAT else numpy_helper.to_array(each).tobytes(),
            )
            for each in graph.initializer
        ]
        for graph in (one, other)
    ]
    return tensors[0] == tensors[1] and list(one.node) == list(other.node)
