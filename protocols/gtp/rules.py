"""Rule sets as GTP's extensions name and describe them: ``kata-set-rules``, ``kata-get-rules``, ``kgs-rules``."""

from __future__ import annotations

import json
from typing import Any

from .board import GtpError

DEFAULT = "tromp-taylor"

# name of the engine's rule set -> ko, suicide, white's points for N handicap stones
RULES = {
    "tromp-taylor": ("POSITIONAL", True, "0"),
    "chinese": ("SIMPLE", False, "N"),
    "chinese-ogs": ("POSITIONAL", False, "N"),
    "aga": ("SITUATIONAL", False, "N-1"),
    "new-zealand": ("SITUATIONAL", True, "0"),
}
_ALIASES = {"chinese-kgs": "chinese-ogs", "bga": "aga", "new_zealand": "new-zealand", "nz": "new-zealand"}
_KGS = {"chinese": "chinese-ogs"}  # which KGS plays with positional superko
_TERRITORY = ("japanese", "korean")
_FRIENDLY = "friendlyPassOk"  # newer versions of KataGo send and expect it
_AREA: dict[str, Any] = {"scoring": "AREA", "tax": "NONE", "hasButton": False}


def read_rules(text: str) -> str:
    """The rule set that a name or KataGo's JSON dictionary means. Errors: GtpError."""
    text = text.strip()
    if text.startswith("{"):
        return _from_json(text)
    name = text.lower()
    name = _ALIASES.get(name, name)
    if name in _TERRITORY:
        raise GtpError(f"{name} rules are not supported: they count territory, which needs agreement on dead stones")
    if name not in RULES:
        raise GtpError(f"unknown rules; known are {', '.join(RULES)}")
    return name


def read_kgs_rules(text: str) -> str:
    """The rule set of a KGS name. Errors: GtpError."""
    return _KGS.get(text.lower()) or read_rules(text)


def describe_rules(name: str) -> str:
    """KataGo's JSON dictionary of a rule set. A pass is friendly where dead stones need not be captured."""
    ko, suicide, bonus = RULES[name]
    own = {"ko": ko, "suicide": suicide, "whiteHandicapBonus": bonus, _FRIENDLY: name != DEFAULT}
    return json.dumps(_AREA | own, sort_keys=True)


def _from_json(text: str) -> str:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise GtpError("the rules are not JSON") from None
    if not isinstance(given, dict):
        raise GtpError("the rules are not a JSON dictionary")
    default = json.loads(describe_rules(DEFAULT))
    wanted = default | given
    for name in RULES:
        known = json.loads(describe_rules(name))
        if known == wanted | {_FRIENDLY: given.get(_FRIENDLY, known[_FRIENDLY])}:
            return name
    raise GtpError(f"these rules are not supported; known are {', '.join(RULES)}")
