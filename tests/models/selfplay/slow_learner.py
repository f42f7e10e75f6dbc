"""The learner beside plain torch, by hand: ``python -m tests.models.selfplay.slow_learner --game go9``.

Positions trained on per CPU-second of the whole process, one thread: the learner draws its batches from a window of
games, makes planes of them, takes its steps and averages its weights; plain torch takes the steps of the same network
on one batch that lies ready. In turns, medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch.nn import functional

from az_engine.engine.games import get_game
from az_engine.models.data.dataset import Sampling
from az_engine.models.families.losses import TorchBatch
from az_engine.models.fields import merged
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.presets import preset
from az_engine.models.selfplay.store.window import Window
from az_engine.models.train.learner import Learner

from .games import random_game

GAMES = 200


def pace(step: Callable[[], None], size: int, seconds: float) -> float:
    """Positions a CPU-second of a step on ``size`` positions."""
    steps, begun = 0, time.process_time()
    while time.process_time() - begun < seconds:
        step()
        steps += 1
    return size * steps / (time.process_time() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="go9")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--filters", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each side in each round")
    args = parser.parse_args()
    torch.set_num_threads(1)
    game = get_game(args.game)
    shape = {"net": {"blocks": args.blocks, "filters": args.filters}}
    run = RunConfig.from_values(merged(merged(preset("az,small", game), shape), {"game": args.game}))
    learner = Learner(game, run.net_config(game), run.learner_config())
    window = Window(game, GAMES, sampling=Sampling(history=learner.net_config.history))
    window.add([random_game(game, number) for number in range(GAMES)])
    size = learner.config.batch

    network = Learner(game, run.net_config(game), run.learner_config()).network
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)
    ready = TorchBatch.of(window.draw(size, 0, 0), torch.device("cpu"))
    target = torch.zeros(size, game.num_actions).scatter_add_(1, ready.actions, ready.probabilities)

    def plain() -> None:
        policy, value = network(ready.planes)
        loss = functional.cross_entropy(policy, target) + functional.cross_entropy(value, ready.wdl)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def learning() -> None:
        learner.train_step(window.draw(size, 0, learner.step))

    plain()
    learning()
    rounds = []
    for _ in range(args.rounds):
        ours, peer = pace(learning, size, args.seconds), pace(plain, size, args.seconds)
        rounds.append((ours, peer, ours / peer))
    ours, peer, share = (statistics.median(column) for column in zip(*rounds, strict=True))
    sys.stdout.write(
        f"{args.game}, {learner.net_config.architecture}, batch {size}: learner {ours:,.0f} positions/CPU s, "
        f"plain torch {peer:,.0f}, share {share:.2f}\n"
    )


if __name__ == "__main__":
    main()
