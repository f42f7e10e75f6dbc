"""``az-engine bench selfplay``: simulations per CPU-second of self-play, beside onnxruntime alone."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator

from ...engine.errors import NetError, OptionError, counted
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.nets.onnx.evaluator import OnnxEvaluator
from ...engine.nets.onnx.session import raw_session
from ...engine.nets.weights import load_evaluator
from ...engine.search.selfplay.games import SelfPlay, SelfPlayConfig
from .measure import Measurement, show
from .search import random_planes

_CACHE = 32  # MiB


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--net", default="", metavar="FILE", help="an ONNX net (default: the net inside the package)")
    parser.add_argument("--size", type=int, metavar="N", help="lines of the board (default: the game's own)")
    parser.add_argument("--visits", type=int, default=32, metavar="N", help="visits a move (default: %(default)s)")
    parser.add_argument("--games", type=int, default=64, metavar="N", help="games side by side (default: %(default)s)")
    parser.add_argument("--gumbel", type=int, default=0, metavar="N", help="actions at the root (default: 0, none)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="median of N (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="time for each round of each side (default: %(default)s)"
    )


def main(args: argparse.Namespace) -> int:
    if args.rounds < 1:
        raise OptionError("--rounds must be 1 or more")
    game = get_game(args.game)
    if args.size is not None:
        game = game.sized(args.size)
    show(_speed(game, args), as_json=args.json)
    return 0


class _Playing:
    """Self-play that goes on from round to round."""

    def __init__(self, game: Game, evaluator: OnnxEvaluator, args: argparse.Namespace, cache_mb: int) -> None:
        config = SelfPlayConfig(
            games=args.games,
            visits=args.visits,
            gumbel=args.gumbel,
            max_moves=game.training.longest_game,
            cache_mb=cache_mb,
        )
        self._selfplay = SelfPlay(game, evaluator, config, seed=1)
        self.play(0.5)  # loads the kernels

    def play(self, seconds: float) -> tuple[float, float, float]:
        """Play for some CPU-seconds: (simulations, positions evaluated, moves made) per CPU-second of this process."""
        playing = self._selfplay
        before = (playing.simulations, playing.evaluations, playing.positions)
        start = time.process_time()
        while time.process_time() - start < seconds:
            playing.step()
        elapsed = time.process_time() - start
        after = (playing.simulations, playing.evaluations, playing.positions)
        simulations, evaluations, moves = ((b - a) / elapsed for a, b in zip(before, after, strict=True))
        return simulations, evaluations, moves


def _speed(game: Game, args: argparse.Namespace) -> Iterator[Measurement]:
    evaluator = load_evaluator(args.net, game, provider="cpu")
    if not isinstance(evaluator, OnnxEvaluator) or evaluator.info is None:
        raise NetError(f"{args.net!r} is no net file; give the path of an ONNX net")
    session = raw_session(str(evaluator.path), 1, "cpu")
    planes = random_planes(game, args.games, evaluator.history)

    def raw(seconds: float) -> float:
        """Positions that onnxruntime alone evaluates per CPU-second, in batches of the same size."""
        batches, start = 0, time.process_time()
        while batches == 0 or time.process_time() - start < seconds:
            session.run(None, {"planes": planes})
            batches += 1
        return batches * len(planes) / (time.process_time() - start)

    cached, bare = _Playing(game, evaluator, args, _CACHE), _Playing(game, evaluator, args, 0)
    raw(0.5)
    rounds = []
    for _ in range(args.rounds):
        alone = raw(args.seconds)
        played, _, moves = cached.play(args.seconds)
        _, evaluated, _ = bare.play(args.seconds)
        rounds.append((alone, played, moves, evaluated, played / alone, evaluated / alone))
    alone, played, moves, evaluated, share, bare_share = map(statistics.median, zip(*rounds, strict=True))
    peer = f"onnxruntime alone, batch {args.games}, one thread"
    board = "x".join(map(str, game.planes[1:]))
    how = (
        f"{evaluator.info.name or evaluator.path.name} ({evaluator.info.architecture} {evaluator.info.quantisation}), "
        f"{counted(args.games, 'game')} side by side, {counted(args.visits, 'visit')} a move, "
        f"median of {counted(args.rounds, 'round')} in turns with "
        "the peer"
    )
    what = f"self-play, {game.name} {board}"
    yield Measurement(f"{what}, as played", played, "simulations/CPU s", peer, alone, how, share)
    yield Measurement(f"{what}, moves", moves, "moves/CPU s", note=how)
    note = f"{how}; without the position cache; only positions that the net evaluated count"
    yield Measurement(f"{what}, net alone", evaluated, "positions/CPU s", peer, alone, note, bare_share)
