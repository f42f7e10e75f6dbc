"""KataGo's parameters that have a counterpart here: ``kata-list-params``, ``kata-get-param``, ``kata-set-param`` ..."""

from __future__ import annotations

import json
from typing import Any

from ...engine.errors import OptionError
from ..options import BY_KEY, OptionValues, Value
from .board import GtpError

OPTION_OF = {  # KataGo's name -> our option's key
    "maxVisits": "nodes_limit",
    "maxPlayouts": "nodes_limit",
    "maxTime": "move_time",
    "numSearchThreads": "threads",
    "cpuctExploration": "c_puct",
    "cpuctExplorationLog": "c_factor",
    "cpuctExplorationBase": "c_base",
    "fpuReductionMax": "fpu_value",
    "rootFpuReductionMax": "fpu_root_value",
    "nnPolicyTemperature": "policy_temperature",
    "rootPolicyTemperature": "root_policy_temperature",
    "subtreeValueBiasFactor": "subtree_bias",
    "chosenMoveTemperature": "temperature",
    "nnRandomize": "random_symmetry",
    "searchRandSeed": "seed",
}


FIXED = {  # KataGo's name -> the only value that it has here
    "playoutDoublingAdvantage": 0.0,
    "dynamicPlayoutDoublingAdvantageCapPerOppLead": 0.0,
    "analysisWideRootNoise": 0.0,
    "wideRootNoise": 0.0,
    "analysisIgnorePreRootHistory": True,
    "ignorePreRootHistory": False,
    "antiMirror": False,
}
UNLIMITED = 1 << 50  # KataGo's "no limit" of visits
_MOST_VISITS = 2_000_000_000  # that are counted


class Params:
    """The parameters of one conversation; those with a counterpart are options."""

    def __init__(self, values: OptionValues) -> None:
        self._values = values
        self._most: dict[str, int] = {"maxVisits": int(values["nodes_limit"]), "maxPlayouts": 0}  # 0: no limit

    @staticmethod
    def names() -> str:
        return " ".join([*OPTION_OF, *FIXED])

    def value(self, name: str) -> str:
        """Of one, as JSON. Errors: GtpError."""
        if name not in OPTION_OF and name not in FIXED:
            raise GtpError(f"Invalid parameter: {name[:40]}")
        return json.dumps(self._all()[name])

    def text(self) -> str:
        """All values as a JSON dictionary."""
        return json.dumps(self._all())

    def _all(self) -> dict[str, Any]:
        limits = {name: most or UNLIMITED for name, most in self._most.items()}
        return {name: self._values[key] for name, key in OPTION_OF.items()} | limits | FIXED

    def set(self, given: dict[str, Any]) -> None:
        """Set values, all or none. Errors: GtpError."""
        read: dict[str, Value] = {}
        for name, value in given.items():
            text = value if isinstance(value, str) else json.dumps(value)
            if name in FIXED:
                if _plain(text) != _plain(json.dumps(FIXED[name])):
                    raise GtpError(f"{name} is always {json.dumps(FIXED[name])} here")
            elif name in OPTION_OF:
                try:
                    read[name] = BY_KEY[OPTION_OF[name]].parse(countable(name, text))
                except OptionError as error:
                    raise GtpError(f"{name} {error}") from error
            else:
                raise GtpError(f"Invalid parameter: {name[:40]}")
        for name, parsed in read.items():
            if name in self._most:
                self._most[name] = int(parsed)
            most = min(filter(None, self._most.values()), default=0)
            self._values.set(BY_KEY[OPTION_OF[name]], most if name in self._most else parsed)


def countable(name: str, text: str) -> str:
    """A value, 0 in place of more visits than are ever counted: KataGo's 2^50 is no limit."""
    unlimited = OPTION_OF[name] == "nodes_limit" and text.isascii() and text.isdigit() and len(text) < 20
    return "0" if unlimited and int(text) > _MOST_VISITS else text


def read_params(text: str) -> dict[str, Any]:
    """The arguments of ``kata-set-params``. Errors: GtpError."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise GtpError("the parameters are not a JSON dictionary")
    return given


def _plain(text: str) -> float | str:
    """A number, or a word in lower case."""
    try:
        return float(text)
    except ValueError:
        return text.lower()
