"""How long our rules are compared with independent ones over random games.

AZ_ENGINE_AGREEMENT=25 AZ_ENGINE_AGREEMENT_SEED=7 pytest --timeout 0 tests/engine/games: so many times as many games as
usual, and others.
"""

from __future__ import annotations

import os
import random

TIMES = int(os.environ.get("AZ_ENGINE_AGREEMENT", "1"))
_SEED = os.environ.get("AZ_ENGINE_AGREEMENT_SEED", "")


def chance(usual: int) -> random.Random:
    """The source of a comparison's random games."""
    return random.Random(f"{usual} {_SEED}" if _SEED else usual)
