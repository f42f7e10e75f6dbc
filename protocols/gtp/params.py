"""KataGo's parameters that have a counterpart here: ``kata-list-params``, ``kata-get-param``, ``kata-set-param`` ..."""

from __future__ import annotations

import json
from typing import Any

from ...engine.errors import OptionError
from ..options import BY_KEY, OptionValues, Value
from .board import GtpError

OPTION_OF = {  # KataGo's name -> our option's key
    "maxVisits": "nodes_limit",
    "maxTime": "move_time",
    "numSearchThreads": "threads",
    "cpuctExploration": "c_puct",
    "cpuctExplorationLog": "c_factor",
    "cpuctExplorationBase": "c_base",
    "fpuReductionMax": "fpu_value",
    "rootFpuReductionMax": "fpu_root_value",
    "nnPolicyTemperature": "policy_temperature",
    "subtreeValueBiasFactor": "subtree_bias",
    "chosenMoveTemperature": "temperature",
    "nnRandomize": "random_symmetry",
    "searchRandSeed": "seed",
}


def list_params() -> str:
    """Their names."""
    return " ".join(OPTION_OF)


def get_param(values: OptionValues, name: str) -> str:
    """The value of one. Errors: GtpError."""
    return json.dumps(values[_key(name)])


def get_params(values: OptionValues) -> str:
    """All values as a JSON dictionary."""
    return json.dumps({name: values[key] for name, key in OPTION_OF.items()})


def set_params(values: OptionValues, given: dict[str, Any]) -> None:
    """Set values, all or none. Errors: GtpError."""
    read: list[tuple[str, Value]] = []
    for name, value in given.items():
        key = _key(name)
        text = value if isinstance(value, str) else json.dumps(value)
        try:
            read.append((key, BY_KEY[key].parse(text)))
        except OptionError as error:
            raise GtpError(f"{name} {error}") from error
    for key, parsed in read:
        values.set(BY_KEY[key], parsed)


def read_params(text: str) -> dict[str, Any]:
    """The arguments of ``kata-set-params``. Errors: GtpError."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise GtpError("the parameters are not a JSON dictionary")
    return given


def _key(name: str) -> str:
    if name not in OPTION_OF:
        raise GtpError(f"Invalid parameter: {name[:40]}")
    return OPTION_OF[name]
