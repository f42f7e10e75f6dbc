"""What a type checker must find in a user's program: an ignored line where mypy finds nothing is a fault to it."""

from __future__ import annotations

import az_engine as az


def mistakes() -> None:
    """Not to be run."""
    az.Engine("chess", thread=2)  # type: ignore[call-arg]
    az.Engine("chess", threads="2")  # type: ignore[arg-type]
    az.Engine("chess", hash_mb=1.5)  # type: ignore[arg-type]
    az.Engine("chess", fpu="none")  # type: ignore[arg-type]
    az.Limits(node=5)  # type: ignore[call-arg]
    az.Limits(nodes="5")  # type: ignore[arg-type]
    az.Position("go9", komi="7")  # type: ignore[arg-type]
    az.Position("go9").play(3)  # type: ignore[arg-type]
    az.Engine("go9").play("go9", az.Limits(nodes=5))  # type: ignore[arg-type]
    az.Engine("go9").analyse(az.Position("go9"))  # type: ignore[call-arg]
