"""Rule sets as GTP's extensions name and describe them: ``kata-set-rules``, ``kata-get-rules``, ``kgs-rules``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from .board import GtpError, territory

_VALUES: dict[str, tuple[Any, ...]] = {  # KataGo's fields, and what they may be here
    "ko": ("SIMPLE", "POSITIONAL", "SITUATIONAL"),
    "scoring": ("AREA", "TERRITORY"),
    "tax": ("NONE", "SEKI", "ALL"),
    "suicide": (False, True),
    "hasButton": (False, True),
    "whiteHandicapBonus": ("0", "N", "N-1"),
    "friendlyPassOk": (False, True),
}
_DESCRIPTION = re.compile(  # KataGo's own, without komi
    r"ko(POSITIONAL|SITUATIONAL|SIMPLE)score(AREA|TERRITORY)tax(NONE|SEKI|ALL)sui([01])(?:button([01]))?"
    r"(?:whb(0|N-1|N))?(?:fpok([01]))?"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """One rule set; the fields are KataGo's. Errors: GtpError for a button with territory scoring."""

    ko: str = "POSITIONAL"
    suicide: bool = True
    bonus: str = "0"  # white's points for N handicap stones
    friendly: bool = False  # players may pass when they agree, and take dead stones off
    territory: bool = False  # instead of area
    tax: str = "NONE"  # what territory does not count: in SEKI, or two points of ALL groups
    button: bool = False  # the first pass is worth half a point and does not count towards the end

    def __post_init__(self) -> None:
        if self.territory and self.button:
            raise GtpError("a button goes with area scoring only")

    @property
    def agreed(self) -> bool:
        """Whether the players take dead stones off at the end; else every stone on the board counts."""
        return self.friendly or self.territory

    @property
    def name(self) -> str:
        """As the engine reads it: a name, or KataGo's description without spaces."""
        for name, rules in RULES.items():
            if rules == self:
                return name
        scoring = f"score{'TERRITORY' if self.territory else 'AREA'}tax{self.tax}"
        bonus = f"whb{self.bonus}" if self.bonus != "0" else ""
        more = f"{'button1' if self.button else ''}{bonus}{'fpok1' if self.friendly else ''}"
        return f"ko{self.ko}{scoring}sui{self.suicide:d}{more}"

    @property
    def fields(self) -> dict[str, Any]:
        """As KataGo's dictionary has them."""
        return {
            "ko": self.ko,
            "scoring": "TERRITORY" if self.territory else "AREA",
            "tax": self.tax,
            "suicide": self.suicide,
            "hasButton": self.button,
            "whiteHandicapBonus": self.bonus,
            "friendlyPassOk": self.friendly,
        }

    @property
    def text(self) -> str:
        """KataGo's JSON dictionary."""
        return json.dumps(self.fields, sort_keys=True)

    def with_field(self, key: str, value: Any) -> Rules:
        """With one of KataGo's fields changed, to a value of JSON or a word that means it. Errors: GtpError."""
        key = "scoring" if key == "score" else key
        if key not in _VALUES:
            raise GtpError(f"unknown rules option {key[:20]!r}; known are {', '.join(_VALUES)}")
        allowed = _VALUES[key]
        if isinstance(value, str):
            word = value.strip().upper()
            value = {"TRUE": True, "FALSE": False}.get(word, word) if False in allowed else word
        if not any(value is each or value == each for each in allowed if type(value) is type(each)):
            known = ", ".join(map(json.dumps, allowed))
            raise GtpError(f"{key} {json.dumps(value)[:20]} is not supported; known are {known}")
        match key:
            case "ko":
                return replace(self, ko=value)
            case "scoring":
                return replace(self, territory=value == "TERRITORY")
            case "tax":
                return replace(self, tax=value)
            case "suicide":
                return replace(self, suicide=value)
            case "whiteHandicapBonus":
                return replace(self, bonus=value)
            case "friendlyPassOk":
                return replace(self, friendly=value)
        return replace(self, button=value)


RULES = {  # by the names of the engine
    "tromp-taylor": Rules(),
    "chinese": Rules("SIMPLE", suicide=False, bonus="N", friendly=True),
    "chinese-ogs": Rules("POSITIONAL", suicide=False, bonus="N", friendly=True),
    "aga": Rules("SITUATIONAL", suicide=False, bonus="N-1", friendly=True),
    "new-zealand": Rules("SITUATIONAL", suicide=True, friendly=True),
    "japanese": Rules("SIMPLE", suicide=False, territory=True, tax="SEKI"),
    "aga-button": Rules("SITUATIONAL", suicide=False, bonus="N-1", friendly=True, button=True),
    "stone-scoring": Rules("SIMPLE", suicide=False, friendly=True, tax="ALL"),
    "ancient-territory": Rules("SIMPLE", suicide=False, territory=True, tax="ALL"),
}
DEFAULT = RULES["tromp-taylor"]
_MORE = {  # names of KataGo beside these; all are read with - for a space or _
    "goe": replace(DEFAULT, friendly=True),
    "ing": replace(DEFAULT, friendly=True),
    "korean": RULES["japanese"],
    "chinese-kgs": RULES["chinese-ogs"],
    "bga": RULES["aga"],
    "french": RULES["aga"],
    "nz": RULES["new-zealand"],
    "ancient-area": RULES["stone-scoring"],
}
_CLOSED_UP = {name.replace("-", ""): rules for name, rules in {**RULES, **_MORE}.items()}


def read_rules(text: str) -> Rules:
    """The rule set that a name in any of several languages or KataGo's JSON dictionary means. Errors: GtpError."""
    text = text.strip()
    if text.startswith("{"):
        return _from_json(text)
    rules = _CLOSED_UP.get(text.lower().translate({ord(c): None for c in "-_ "}))
    match = _DESCRIPTION.fullmatch(text)
    if rules is None and match is None:
        name = territory().rules_named(text)
        rules, match = RULES.get(name), _DESCRIPTION.fullmatch(name)
    if rules is None and match is not None:
        ko, scoring, tax, suicide, button, bonus, friendly = match.groups()
        rules = Rules(ko, suicide == "1", bonus or "0", friendly == "1", scoring == "TERRITORY", tax, button == "1")
    if rules is None:
        raise GtpError(f"unknown rules; known are {', '.join(RULES)}")
    return rules


def read_kgs_rules(text: str) -> Rules:
    """The rule set of a KGS name; its Chinese rules have superko. Errors: GtpError."""
    return read_rules("chinese-kgs" if text.strip().lower() == "chinese" else text)


def _from_json(text: str) -> Rules:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise GtpError("the rules are not JSON") from None
    if not isinstance(given, dict):
        raise GtpError("the rules are not a JSON dictionary")
    rules = DEFAULT
    for key, value in given.items():
        rules = rules.with_field(key, value)
    if "friendlyPassOk" not in given:  # older programs do not know it
        agreed = replace(rules, friendly=True)
        rules = agreed if agreed in RULES.values() else rules
    if "tax" not in given and rules.territory:
        rules = replace(rules, tax="SEKI")
    return rules
