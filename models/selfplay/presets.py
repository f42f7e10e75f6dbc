"""The papers' settings by name, and smaller ones for common machines.

``az`` (AlphaZero) and ``agz`` (AlphaGo Zero) hold every number that the papers give (AlphaZero 2018, Methods,
'Training' and Table S3; AlphaGo Zero, Methods, 'Self-play training pipeline'). ``small`` and ``gpu`` are laid over one
of them: ``az,small`` is AlphaZero's algorithm at a size for two cores. In Go ``small`` adds the
recipe of docs/training.md, 'Learning more from each game'; ``gpu`` keeps its own searches and reuse.
"""

from __future__ import annotations

from collections.abc import Callable

from ...engine.errors import OptionError
from ...engine.games.base import Game
from ..families.tower.config import fitting_head
from ..fields import Values, merged


def az(game: Game) -> Values:
    """AlphaZero: the latest net generates the games, no symmetries."""
    return {
        "net": {
            "kind": "dual-res",
            "blocks": 19,
            "filters": 256,
            "value_head": "value",
        },
        "learner": {
            "batch": 4096,
            "optimiser": "sgd",  # momentum 0.9, L2 1e-4
            "schedule": game.training.schedule,
            "warmup": 0,
            "clip": 0.0,
            "ema": 0.0,
            "value_weight": 1.0,
        },
        "selfplay": {
            "visits": 800,
            "temperature": 1.0,
            "temperature_moves": 30,
            "noise_share": 0.25,
            "play_on_share": 0.1,
            "max_moves": game.training.longest_game,
            "search": {"puct": "az", "c_puct": 1.25, "c_base": 19652.0, **PAPER_SEARCH},
        },
        "window": {"games": 1_000_000},
        "loop": {"steps": 700_000, "checkpoint_steps": 1000, "symmetries": False},
        "resign": {"enabled": True, "wrong": 0.05},
        "gate": {"games": 0},
        "ladder": {"visits": 800, "plain_visits": 8000},
    }


def agz(game: Game) -> Values:
    """AlphaGo Zero: the best player generates the games, a checkpoint must beat it; symmetries everywhere."""
    return merged(
        az(game),
        {
            "net": {"policy_head": "flat"},
            "learner": {"batch": 2048, "schedule": "agz"},
            "selfplay": {"visits": 1600, "search": {"puct": "agz", "symmetries": True}},
            "window": {"games": 500_000},
            "loop": {"symmetries": True},
            "gate": {"games": 400, "score": 0.55, "visits": 1600},
        },
    )


def small(game: Game) -> Values:
    """For two cores and an evening: small nets, few visits, AdamW, a window that forgets the first games."""
    points = game.planes[1] * game.planes[2]
    quick = game.territory is None and points < _QUICK
    blocks, filters = (2, 32) if quick or points <= 30 else (4, 64)
    values: Values = {
        "net": {"blocks": blocks, "filters": filters, "value_hidden": 64, "value_head": "wdl"},
        "learner": {**_ADAMW, "batch": 256, "rate": 2e-3, "warmup": 50, "ema": 0.99},
        "selfplay": {
            "visits": 64,
            "games": 32,
            "temperature_moves": max(4, min(30, points // 4)),
            "noise_alpha": round(10 / game.branching, 2),  # .31 in chess, where the paper has .3; .05 on 19x19, .03
        },
        "window": {"games": 50_000, "start": 1000, "memory_mib": 1024, "held_out_every": 50},
        "loop": {
            "steps": 10_000,
            "checkpoint_steps": 200,
            "first_checkpoint": 25,  # a rated net within minutes
            "reuse": 4.0,
            "first_positions": 1500,
        },
        "gate": {"visits": 64},
        "ladder": {"visits": 64, "plain_visits": 640, "pairs": 8},
        "machine": {"int8": True},
    }
    if game.territory is not None:
        ours = {
            "selfplay": {"gumbel": 8, "visits": 24},
            "loop": {"reuse": 2.0},
        }  # more games, each learned from less often
        return merged(merged(values, _territory(game)), ours)
    # what a search has proven is exact, and the value that it found says more of a position than the game's result
    values = merged(values, {"selfplay": {"search": {"solver": True}}, "window": {"root_value": 0.5}})
    if not quick:
        return values
    # least_reuse: processes play short games so fast that a learner beside them has no time left
    heads = {"value_filters": 8, **({"policy_filters": 8} if fitting_head(game) == "flat" else {})}
    ours = {
        "net": heads,
        "selfplay": {"games": 128},
        "window": {"start": 3000},
        "loop": {"symmetries": game.symmetries is not None, "least_reuse": 3.0},
        "resign": {"enabled": False},
    }
    return merged(values, ours)


def gpu(game: Game) -> Values:
    """For one GPU and a few days: a net of 10 blocks, many games side by side, bf16."""
    values: Values = {
        "net": {"blocks": 10, "filters": 128, "value_head": "wdl"},
        "learner": {**_ADAMW, "batch": 1024, "rate": 1e-3, "warmup": 200, "ema": 0.999, "precision": "bf16"},
        "selfplay": {"visits": 200, "games": 512},
        "window": {"games": 200_000, "start": 5000, "held_out_every": 50},
        "loop": {"steps": 100_000, "checkpoint_steps": 500, "reuse": 4.0, "first_positions": 50_000},
        "gate": {"visits": 200},
        # of all cores' time, and the learner's process rates: a sixth of its time beside 14 processes that play
        "ladder": {"visits": 200, "plain_visits": 2000, "pairs": 32, "share": 0.01},
        "machine": {"device": "cuda", "evaluators": 1},
    }
    return values if game.territory is None else merged(values, _territory(game))


def _territory(game: Game) -> Values:
    """What a finished game tells beside its winner, and games that differ and are finished."""
    return {
        "net": {"ownership": True, "score": True},
        "learner": {"cooldown": 0.2},
        "selfplay": {"opening_moves": round(0.04 * game.planes[1] * game.planes[2], 1)},  # KataGo's, for any board
        "loop": {"symmetries": True},
        "resign": {"enabled": False},
    }


_QUICK = 64  # points: games other than Go on fewer are short, and a small net learns them
_ADAMW = {"optimiser": "adamw", "schedule": "cosine", "clip": 5.0}
PAPER_SEARCH = {"fpu": "zero", "solver": False, "mate_plies": 0, "ladders": False, "smart_pruning": False}
PRESETS: dict[str, Callable[[Game], Values]] = {"az": az, "agz": agz, "small": small, "gpu": gpu}


def preset(names: str, game: Game) -> Values:
    """The settings of presets "az,small", the later over the earlier. Errors: OptionError."""
    chosen = names.split(",")
    if not {"az", "agz"} & set(chosen):
        chosen = ["az", *chosen]
    values: Values = {}
    for name in chosen:
        if name not in PRESETS:
            raise OptionError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}, joined by commas")
        values = merged(values, PRESETS[name](game))
    return values
