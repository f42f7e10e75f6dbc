"""Whether a net fits a game: its metadata and shapes against the game's planes and actions."""

from __future__ import annotations

from ..errors import NetError, OptionError
from ..games.base import Game
from .netfile import Outline
from .netinfo import NetInfo

EXTRA = ("ownership", "score")  # optional outputs, beside policy and value

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
        raise NetError(f"{error}; update az-engine to use this net") from error
    size = game.planes[1]
    if size not in info.playable and info.planes[0] == game.planes[0]:
        boards = ", ".join(f"{n}x{n}" for n in info.sizes[:20])
        raise NetError(f"this net plays on {boards}, not on {size}x{size}; choose another board or another net")
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


def _takes(shape: tuple[int, ...], planes: tuple[int, int, int], *, free: bool) -> bool:
    """Whether an input of that shape takes those planes; -1 is a free dimension, which a board's may be if ``free``."""
    wanted = [(planes[0],), *((n, -1) if free else (n,) for n in planes[1:])]
    return len(shape) == 4 and all(n in allowed for n, allowed in zip(shape[1:], wanted, strict=True))
