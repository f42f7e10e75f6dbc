"""Rule sets by name. All of them score by area; what differs is ko, suicide and white's points for handicap stones.

Some nets are told more of the rules than is played here: taxes, territory, a button, and whether a pass may be answered
by a pass at leisure. Those are flags, too, so that what such a net is shown can be compared with its own program.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import PositionError

POSITIONAL, SITUATIONAL, SIMPLE = range(3)  # ko
KO_MASK, SUICIDE = 3, 4  # bits of the flags
BONUS_SHIFT, BONUS_MASK = 3, 3
NO_BONUS, BONUS_N, BONUS_N_MINUS_1 = range(3)  # points for white when black has N handicap stones
FRIENDLY, TERRITORY, SEKI_TAX, ALL_TAX, BUTTON = 32, 64, 128, 256, 512  # see RuleSet


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One rule set.

    ko: POSITIONAL (no earlier board may come again), SITUATIONAL (not with the same side to move), or SIMPLE (only the
    ko just taken may not be retaken). suicide: whether one's own stones may be taken. friendly: players pass when they
    agree that nothing is left to play, and take dead stones off. territory, taxes, button: no rule set here has them.
    """

    name: str
    ko: int
    suicide: bool
    bonus: int
    friendly: bool = False

    @property
    def flags(self) -> int:
        """As the state records keep it."""
        return self.ko | SUICIDE * self.suicide | self.bonus << BONUS_SHIFT | FRIENDLY * self.friendly


RULE_SETS = (
    RuleSet("tromp-taylor", POSITIONAL, True, NO_BONUS),
    RuleSet("chinese", SIMPLE, False, BONUS_N, friendly=True),
    RuleSet("chinese-ogs", POSITIONAL, False, BONUS_N, friendly=True),
    RuleSet("aga", SITUATIONAL, False, BONUS_N_MINUS_1, friendly=True),
    RuleSet("new-zealand", SITUATIONAL, True, NO_BONUS, friendly=True),
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
