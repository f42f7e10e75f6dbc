"""Rule sets: ko, suicide, scoring by area or territory, white's points for handicap stones.

A rule set has a name, or KataGo's description of it, such as ``koSIMPLEscoreAREAtaxNONEsui0whbN``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import PositionError

POSITIONAL, SITUATIONAL, SIMPLE = range(3)  # ko
KO_MASK, SUICIDE = 3, 4  # bits of the flags
BONUS_SHIFT, BONUS_MASK = 3, 3
NO_BONUS, BONUS_N, BONUS_N_MINUS_1 = range(3)  # points for white when black has N handicap stones
FRIENDLY, TERRITORY, SEKI_TAX, ALL_TAX, BUTTON = 32, 64, 128, 256, 512  # see RuleSet; BUTTON: it is not taken yet
UNENDED = 1024  # two passes do not end the game for a search: what is dead is still open

_KO = ("POSITIONAL", "SITUATIONAL", "SIMPLE")
_BONUS = ("0", "N", "N-1")
_DESCRIPTION = re.compile(
    r"ko(POSITIONAL|SITUATIONAL|SIMPLE)score(AREA|TERRITORY)tax(NONE|SEKI|ALL)sui([01])(?:button([01]))?"
    r"(?:whb(0|N-1|N))?(?:fpok([01]))?"
)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One rule set.

    ko: POSITIONAL (no earlier board may come again), SITUATIONAL (not with the same side to move), or SIMPLE (only
    the ko just taken may not be retaken). suicide: whether a move may take one's own stones, others than itself
    alone. friendly: players pass when they agree that nothing is left to play, and take dead stones off. territory:
    empty points and prisoners count, stones do not. seki_tax: points surrounded by a group in seki do not count.
    all_tax: two points of each group do not. button: the first pass is worth half a point to who makes it, and does
    not count towards the end.
    """

    name: str
    ko: int
    suicide: bool
    bonus: int
    friendly: bool = False
    territory: bool = False
    seki_tax: bool = False
    all_tax: bool = False
    button: bool = False

    @property
    def flags(self) -> int:
        """As the state records keep it."""
        more = FRIENDLY * self.friendly | TERRITORY * self.territory | SEKI_TAX * self.seki_tax
        more |= ALL_TAX * self.all_tax | BUTTON * self.button
        return self.ko | SUICIDE * self.suicide | self.bonus << BONUS_SHIFT | more

    @property
    def description(self) -> str:
        """As KataGo writes it."""
        tax = "ALL" if self.all_tax else "SEKI" if self.seki_tax else "NONE"
        scoring = f"score{'TERRITORY' if self.territory else 'AREA'}tax{tax}"
        bonus = f"whb{_BONUS[self.bonus]}" if self.bonus else ""
        more = f"{'button1' if self.button else ''}{bonus}{'fpok1' if self.friendly else ''}"
        return f"ko{_KO[self.ko]}{scoring}sui{self.suicide:d}{more}"


RULE_SETS = (
    RuleSet("tromp-taylor", POSITIONAL, True, NO_BONUS),
    RuleSet("chinese", SIMPLE, False, BONUS_N, friendly=True),
    RuleSet("chinese-ogs", POSITIONAL, False, BONUS_N, friendly=True),
    RuleSet("aga", SITUATIONAL, False, BONUS_N_MINUS_1, friendly=True),
    RuleSet("new-zealand", SITUATIONAL, True, NO_BONUS, friendly=True),
    RuleSet("japanese", SIMPLE, False, NO_BONUS, territory=True, seki_tax=True),
    RuleSet("aga-button", SITUATIONAL, False, BONUS_N_MINUS_1, friendly=True, button=True),
    RuleSet("stone-scoring", SIMPLE, False, NO_BONUS, friendly=True, all_tax=True),
    RuleSet("ancient-territory", SIMPLE, False, NO_BONUS, territory=True, all_tax=True),
)


def rule_set(name: str) -> RuleSet:
    """The rule set of that name or description. Errors: PositionError, one sentence."""
    for rules in RULE_SETS:
        if name in (rules.name, rules.description):
            return rules
    match = _DESCRIPTION.fullmatch(name)
    if match is None:
        known = ", ".join(rules.name for rules in RULE_SETS)
        raise PositionError(f"no rule set is called {name[:40]!r}; there are {known}")
    ko, scoring, tax, suicide, button, bonus, friendly = match.groups()
    return RuleSet(
        name,
        _KO.index(ko),
        suicide == "1",
        _BONUS.index(bonus or "0"),
        friendly == "1",
        scoring == "TERRITORY",
        tax == "SEKI",
        tax == "ALL",
        button == "1",
    )


def rules_of(flags: int) -> RuleSet:
    """The rule set with those flags. Errors: PositionError."""
    for rules in RULE_SETS:
        if rules.flags == flags:
            return rules
    ko, bonus = flags & KO_MASK, flags >> BONUS_SHIFT & BONUS_MASK
    if ko >= len(_KO) or bonus >= len(_BONUS):
        raise PositionError(f"no rule set has the flags {flags}")
    more = (bool(flags & flag) for flag in (FRIENDLY, TERRITORY, SEKI_TAX, ALL_TAX, BUTTON))
    rules = RuleSet("", ko, bool(flags & SUICIDE), bonus, *more)
    return rule_set(rules.description)
