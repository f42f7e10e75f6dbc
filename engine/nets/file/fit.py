"""Whether a net fits a game: its metadata and shapes against the game's planes and actions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...errors import NetError, OptionError
from ...games.base import Game
from ..netinfo import NetInfo, boards_in_words
from .netfile import Outline

EXTRA = ("ownership", "score")  # optional outputs, beside policy and value

_LARGEST = 1e6  # of what a net may answer but for values: logits and scores are far smaller
_FLOAT, _UINT8 = 1, 2  # ONNX element types


def read_info(outline: Outline, game: Game) -> NetInfo:
    """The metadata of a net for the game. Errors: NetError."""
    info = NetInfo.from_metadata(outline.metadata)
    if info.game != game.name:
        raise NetError(f"this net plays {info.game[:20]}, not {game.name}; give a net for {game.name}")
    return info


def check_net(outline: Outline, game: Game) -> NetInfo:
    """The metadata of a net that fits the game. Errors: NetError naming what does not fit."""
    info = read_info(outline, game)
    try:
        game = game.using(info.encoder)
    except OptionError as error:
        if info.boards:
            _check_board(info, game)
        raise NetError(f"{error}; update az-engine to use this net") from error
    if info.planes[0] == game.planes[0]:
        _check_board(info, game)
    if info.planes[0] != game.planes[0] or (
        not info.boards and (info.planes, info.actions) != (game.planes, game.num_actions)
    ):
        raise NetError(
            f"this net takes {info.planes} planes and gives {info.actions} actions; "
            f"{game.name} has {game.planes} and {game.num_actions}"
        )
    if (info.planes_version, info.moves_version) != (game.encoder.planes_version, game.encoder.moves_version):
        raise NetError("this net was made for another version of the input planes or actions; train or export it again")
    if info.value_head not in ("wdl", "value"):
        raise NetError(f"this net's value head is {info.value_head[:20]!r}; it must be 'wdl' or 'value'")
    if not 1 <= info.history <= game.history:
        raise NetError(f"this net wants {info.history} positions of history; {game.name} has 1 to {game.history}")
    planes = next((t for t in outline.inputs if t.name == "planes"), None)
    if planes is None or planes.element != _UINT8 or not _takes(planes.shape, game.planes, free=bool(info.boards)):
        raise NetError(f"the net's input must be 'planes', uint8 [batch, {', '.join(map(str, game.planes))}]")
    for name, width in (("policy", game.num_actions), (info.value_head, 3 if info.value_head == "wdl" else 1)):
        output = next((t for t in outline.outputs if t.name == name), None)
        if output is None or output.element != _FLOAT or (output.shape and output.shape[-1] not in (-1, width)):
            raise NetError(f"the net's output {name!r} must be float32 [batch, {width}]")
    if any(t.element != _FLOAT for t in outline.outputs if t.name in EXTRA):
        raise NetError("the net's outputs 'ownership' and 'score' must be float32")
    return info


def _check_board(info: NetInfo, game: Game) -> None:
    """Errors: NetError where the net does not play on the game's board."""
    _, rows, columns = game.planes
    lines = {rows, columns} if info.boards else {rows}  # of a game with one size of board the rest is compared later
    if not lines <= {*info.playable}:
        boards = boards_in_words(info.playable)
        raise NetError(f"this net plays on {boards}, not on {columns}x{rows}; choose another board or another net")


def _takes(shape: tuple[int, ...], planes: tuple[int, int, int], *, free: bool) -> bool:
    """Whether an input of that shape takes those planes; -1 is a free dimension, which a board's may be if ``free``."""
    requested = [(planes[0],), *((n, -1) if free else (n,) for n in planes[1:])]
    return len(shape) == 4 and all(n in allowed for n, allowed in zip(shape[1:], requested, strict=True))


def check_outputs(
    info: NetInfo, game: Game, extra: Sequence[str], rows: int, outputs: Sequence[tuple[Sequence[int], float, float]]
) -> None:
    """Refuse what a net answered to ``rows`` positions: policy, value and ``extra``, each as (shape, least, greatest).

    Errors: NetError.
    """
    shapes = {
        "policy": (rows, game.num_actions),
        "wdl": (rows, 3),
        "value": (rows, 1),
        "ownership": (rows, *game.planes[1:]),
        "score": (rows, 1),
    }
    names = ("policy", info.value_head, *extra)
    requested = [shapes[name] for name in names]
    if [tuple(shape) for shape, _, _ in outputs] != requested:
        raise NetError(f"the net gives shapes {[tuple(shape) for shape, _, _ in outputs]} instead of {requested}")
    for name, (_, least, greatest) in zip(names, outputs, strict=True):
        most = 1.001 if name in ("value", "ownership") else _LARGEST
        if not (math.isfinite(least) and math.isfinite(greatest)):
            raise NetError(f"the net gives NaN or infinity as its {name}; its weights are damaged")
        if max(-least, greatest) > most:
            raise NetError(f"the net's {name} is {max(least, greatest, key=abs):g}, beyond {most:g}; it is not used")
