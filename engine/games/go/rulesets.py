"""Rule sets by name. All of them score by area; what differs is ko, suicide and white's points for handicap stones."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import PositionError

POSITIONAL, SITUATIONAL, SIMPLE = range(3)  # ko
KO_MASK, SUICIDE = 3, 4  # bits of the flags
BONUS_SHIFT = 3
NO_BONUS, BONUS_N, BONUS_N_MINUS_1 = range(3)  # points for white when black has N handicap stones


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One rule set.

    ko: POSITIONAL (no earlier board may come again), SITUATIONAL (not with the same side to move), or SIMPLE (only the
    ko just taken may not be retaken). suicide: whether one's own stones may be taken.
    """

    name: str
    ko: int
    suicide: bool
    bonus: int

    @property
    def flags(self) -> int:
        """As the state records keep it."""
        return self.ko | SUICIDE * self.suicide | self.bonus << BONUS_SHIFT


RULE_SETS = (
    RuleSet("tromp-taylor", POSITIONAL, True, NO_BONUS),
    RuleSet("chinese", SIMPLE, False, BONUS_N),
    RuleSet("chinese-ogs", POSITIONAL, False, BONUS_N),
    RuleSet("aga", SITUATIONAL, False, BONUS_N_MINUS_1),
    RuleSet("new-zealand", SITUATIONAL, True, NO_BONUS),
)
_UNSUPPORTED = ("japanese", "korean")


def rule_set(name: str) -> RuleSet:
    """The rule set of that name. Errors: PositionError, one sentence."""
    for rules in RULE_SETS:
        if rules.name == name:
            return rules
    known = ", ".join(rules.name for rules in RULE_SETS)
    if name in _UNSUPPORTED:
        raise PositionError(
            f"{name} rules count territory and need agreement on dead stones; area scoring alone is offered: {known}"
        )
    raise PositionError(f"no rule set is called {name[:40]!r}; there are {known}")


def rules_of(flags: int) -> RuleSet:
    """The rule set with those flags. Errors: PositionError."""
    for rules in RULE_SETS:
        if rules.flags == flags:
            return rules
    raise PositionError(f"no rule set has the flags {flags}")
