"""Sessions of onnxruntime, with our settings. Nothing else in the engine imports onnxruntime."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from typing import Any

from ...errors import NetError

PROVIDERS = {  # what onnxruntime calls the engine's providers, best first
    "cpu": ["CPUExecutionProvider"],
    "cuda": ["CUDAExecutionProvider"],
    "tensorrt": ["TensorrtExecutionProvider", "CUDAExecutionProvider"],
    "openvino": ["OpenVINOExecutionProvider"],
    "dml": ["DmlExecutionProvider"],
}
_INSTALL = "pip install onnxruntime (on a GPU 'onnxruntime-gpu[cuda,cudnn]')"
GPU_PROVIDERS = ("CUDAExecutionProvider", "TensorrtExecutionProvider", "DmlExecutionProvider")


def load_onnxruntime() -> Any:
    """The module with its log silenced. Errors: NetError when it is missing or broken."""
    try:
        import onnxruntime
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError):
            raise NetError(f"onnxruntime cannot be loaded: {error}") from error  # too little memory, say
        raise NetError(f"onnxruntime is not installed; run: {_INSTALL}") from error
    if not hasattr(onnxruntime, "InferenceSession"):
        raise NetError(
            "onnxruntime is broken, as when onnxruntime and onnxruntime-gpu are both installed; "
            f"uninstall both, then: {_INSTALL}"
        )
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime


def available_providers() -> list[str]:
    """onnxruntime's execution providers on this machine, best first. Errors: NetError without onnxruntime."""
    return list(load_onnxruntime().get_available_providers())


@functools.cache
def nvidia_driver() -> bool:
    """Whether NVIDIA's driver is present."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@functools.cache
def _cuda_starts() -> bool:
    """Whether NVIDIA's driver is present; if so, also load the CUDA libraries that pip installed."""
    if not nvidia_driver():
        return False
    with contextlib.redirect_stdout(sys.stderr):  # it prints the libraries that it does not find
        load_onnxruntime().preload_dlls()
    return True


def uses_gpu(provider: str) -> bool:
    """Whether a provider's sessions run on a GPU or another accelerator, as far as that is known before."""
    return provider != "cpu" and (provider != "auto" or (_has_cuda() and _cuda_starts()))


def _has_cuda() -> bool:
    return PROVIDERS["cuda"][0] in available_providers()


def raw_session(model: bytes | str, threads: int = 1, provider: str = "cpu") -> Any:
    """A session for a file's bytes or path, with ``threads`` threads that do not spin. Blocks. Errors: NetError.

    provider: "auto" or a key of PROVIDERS; without its library the CPU is used; the session's providers show which.
    """
    ort = load_onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    available = ort.get_available_providers()
    cuda = _has_cuda() and _cuda_starts()
    if provider == "auto":
        provider = "cuda" if cuda else "cpu"
    requested = [p for p in PROVIDERS[provider] if p in available]
    if not requested:
        raise NetError(
            f"provider {provider} is not in this onnxruntime (it has {', '.join(available)}); "
            "put 'onnxruntime-gpu[cuda,cudnn]' in its place or choose Provider cpu"
        )
    try:
        return ort.InferenceSession(model, options, providers=[*dict.fromkeys([*requested, "CPUExecutionProvider"])])
    except Exception as error:  # onnxruntime raises classes of its own for faults in a file
        raise NetError(f"onnxruntime cannot load the net: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or else its class."""
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
