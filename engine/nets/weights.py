"""The net that a ``WeightsFile`` setting names: the package's own, a file, the folder of a run, or none."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ..errors import NetError
from ..games import game_names
from ..games.base import Game
from ..games.encoder import GAME_ENCODER
from .evaluator import Evaluator, UniformEvaluator
from .families import find_family
from .file.conversion import is_foreign, native_net
from .file.fit import check_net
from .file.netfile import EMBEDDED, read_net_file, read_outline
from .netinfo import ENCODER
from .onnx.evaluator import OnnxEvaluator
from .onnx.session import PROVIDERS, uses_gpu

_LARGE = 13  # lines of a board from which a game's net for large boards plays


def embedded_net(game: str, provider: str = "cpu", lines: int = 0) -> Path | None:
    """The path of the package's own net for a game, if any: on a GPU its convolution net.

    lines: of the longer side of the board; from 13 on the game's net for large boards, where it has one. 0: the other.
    """
    path, dense, large = EMBEDDED / f"{game}.onnx", dense_net(game), EMBEDDED / f"{game}-large.onnx"
    if dense not in (None, path) and uses_gpu(provider):
        return dense
    if lines >= _LARGE and large.is_file():
        return large
    return path if path.is_file() else None


def _own_net(game: Game, provider: str = "cpu") -> Path | None:
    return embedded_net(game.name, provider, max(game.planes[1:]))


def dense_net(game: str) -> Path | None:
    """The path of the package's convolution net for a game, if any: the one for GPUs, and to go on training."""
    paths = EMBEDDED / f"{game}-conv.onnx", EMBEDDED / f"{game}.onnx"
    return next((path for path in paths if path.is_file()), None)


def other_nets(game: str) -> dict[str, Path]:
    """The package's other nets for a game, by their names; each has the game's before it."""
    return {path.stem: path for path in sorted(EMBEDDED.glob(f"{game}-*.onnx"))}


def net_path(
    weights: str,
    game: Game,
    tell: Callable[[str], None] | None = None,
    provider: str = "cpu",
    *,
    int8: bool = False,
) -> Path | None:
    """The file that a ``WeightsFile`` setting names: "" the embedded net, "uniform" none, a name, a path.

    The folder of a run stands for the net that plays there. Another program's net is converted first, which
    blocks; ``tell`` gets the progress, ``int8`` (not on a GPU): see :func:`conversion.native_net`.

    Errors: NetError, also when there is no embedded net.
    """
    if weights == "uniform":
        return None
    if weights:
        path = _path_of(weights, game)
        if path.parent == EMBEDDED:
            return path
        try:
            return native_net(path, tell, int8=int8 and not uses_gpu(provider))
        except OSError as error:
            raise NetError(f"cannot read the net {weights!r}: {error.strerror or error}") from error
    embedded = _own_net(game, provider)
    if embedded is None:
        raise NetError(f"there is no net for {game.name} inside this package; set WeightsFile to a net or to 'uniform'")
    return embedded


def _path_of(weights: str, game: Game) -> Path:
    """The file that a ``WeightsFile`` setting names by a name or a path, also another program's. Errors: NetError."""
    if (named := other_nets(game.name).get(weights)) is not None:
        return named
    path = Path(weights)
    with contextlib.suppress(RuntimeError):  # "~" of an unknown user
        path = path.expanduser()
    try:
        if (owner := _owner_of(weights)) is not None and not path.exists():
            raise NetError(f"the net {weights!r} plays {owner}, not {game.name}; give a net for {game.name}")
        return net_of_run(path) if path.is_dir() else path
    except OSError as error:  # such as a name too long for a file
        raise NetError(f"cannot read the net {weights!r}: {error.strerror or error}") from error


def _owner_of(name: str) -> str | None:
    """The game whose other net inside the package has that name."""
    return next((game for game in game_names() if name in other_nets(game)), None)


def check_weights(weights: str, game: Game) -> None:
    """Look at the file that a ``WeightsFile`` setting names, without loading or converting it: takes no time.

    Errors: NetError where it cannot be read, is no net, or does not fit the game; what is wrong with another program's
    net comes out when it is converted.
    """
    if weights == "uniform":
        return
    path = _path_of(weights, game) if weights else net_path("", game)
    assert path is not None
    if not is_foreign(read_net_file(path)):
        check_net(read_outline(path)[0], game)


def sha256_of(weights: str, game: Game) -> str:
    """The SHA-256 of the file that a ``WeightsFile`` setting names; "" for none. Errors: NetError."""
    if weights == "uniform":
        return ""
    path = _path_of(weights, game) if weights else net_path("", game)
    assert path is not None
    return hashlib.sha256(read_net_file(path)).hexdigest()


def encoder_of(weights: str, game: Game, provider: str = "cpu") -> str:
    """The encoder of the net that a ``WeightsFile`` setting names, if it is inside the package; else the game's own."""
    path = other_nets(game.name).get(weights) if weights else _own_net(game, provider)
    return GAME_ENCODER if path is None else read_outline(path)[0].metadata.get(ENCODER, GAME_ENCODER)


def net_of_run(folder: Path) -> Path:
    """The net that plays in a folder of ``az-engine train``. Errors: NetError when there is none."""
    for name in ("net_int8.onnx", "net_fp32.onnx"):  # of a finished supervised run
        if (folder / name).is_file():
            return folder / name
    try:
        name = str(json.loads((folder / "nets" / "current.json").read_text())["net"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NetError(
            f"{str(folder)!r} is no folder of a self-play run or a finished supervised one; give one, or an ONNX file"
        ) from error
    return folder / "nets" / Path(name).name


def load_evaluator(
    weights: str,
    game: Game,
    *,
    provider: str = "auto",
    batch_size: int = 0,
    tell: Callable[[str], None] | None = None,
    int8: bool = False,
) -> Evaluator:
    """The evaluator that a ``WeightsFile`` setting names, see :func:`net_path`; ``tell`` gets what takes long. Blocks.

    Errors: NetError.
    """
    path = net_path(weights, game, tell, provider, int8=int8)
    if path is None:
        return UniformEvaluator(game, batch_size or 64)
    if provider not in ("auto", *PROVIDERS):
        return _plugged(provider)(path, game, batch_size=batch_size)
    return net_evaluator(path, game, provider=provider, batch_size=batch_size, tell=tell)


def _plugged(provider: str) -> Callable[..., Evaluator]:
    """What loads nets by a provider that a package offers as an entry point. Errors: NetError where none does."""
    for result in entry_points(group="az_engine.providers", name=provider):
        load: Callable[..., Evaluator] = result.load()
        return load
    raise NetError(
        f"nothing installed here runs nets by {provider}; choose another Provider, or install az-engine anew"
    )


def net_evaluator(path: Path, game: Game, **options: Any) -> OnnxEvaluator:
    """The evaluator of a net's file, of the family that its metadata names; ``options`` as for ``OnnxEvaluator``.

    Blocks. Errors: NetError.
    """
    family = find_family(read_outline(path)[0].metadata.get(ENCODER, GAME_ENCODER))
    return (OnnxEvaluator if family is None else family.open)(path, game, **options)


def load_stand_in(failed: Evaluator | None, game: Game) -> Evaluator:
    """What plays in place of a net that has failed or cannot be loaded (None), always on a CPU. Blocks.

    The same net if it ran on a GPU, else the net inside the package whose kernels are there, else no net at all.
    """
    inside = _own_net(game) if failed is None or failed.compiled is not None else dense_net(game.name)
    failed_path = failed.path if isinstance(failed, OnnxEvaluator) else None
    paths = [failed_path if isinstance(failed, OnnxEvaluator) and failed.on_gpu else None, inside]
    if failed_path == inside and not paths[0]:
        paths.remove(inside)
    for path in paths:
        if path is not None:
            with contextlib.suppress(NetError):  # the sentence for the user names what plays
                return net_evaluator(path, game, provider="cpu")
    return UniformEvaluator(game)
