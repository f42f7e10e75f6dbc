"""Self-play on 9x9 beside pgx with mctx: simulations a CPU second, in turns, both on one core.

    python tests/peers/go9.py --net runs/go9/nets/net_00000000.onnx --engine az-engine --rounds 3

Nothing of ours is imported, so that it runs in an environment of its own with pgx and mctx of PyPI; ``--engine`` is the
command of ours. Their net has our tower, 4 blocks of 64 filters, with normalisation folded into the convolutions, and
AlphaZero's heads; both play ``--games`` games side by side with ``--visits`` simulations a move.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

BLOCKS, FILTERS, POINTS, MOVES, PLANES = 4, 64, 81, 82, 17
PEER = "pgx and mctx"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", action="append", default=[], help="a net of ours; several: one after another")
    parser.add_argument("--engine", default="az-engine")
    parser.add_argument("--games", type=int, default=64)
    parser.add_argument("--visits", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="of a round of each side")
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    sides: dict[str, Callable[[], float]] = {PEER: _peer(args)}
    sides |= {net: partial(_ours, args, net) for net in args.net}
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, measure in sides.items():
            speeds[name].append(measure())
            print(f"{name}: {speeds[name][-1]:,.0f} simulations/CPU s", flush=True)
    median = {name: statistics.median(found) for name, found in speeds.items()}
    for name, speed in median.items():
        print(f"median of {args.rounds}: {name}: {speed:,.0f}, {speed / median[PEER]:.2f} of {PEER}")


def _ours(args: argparse.Namespace, net: str) -> float:
    command = [*shlex.split(args.engine), "bench", "selfplay", "--game", "go", "--size", "9", "--net", net, "--json",
               "--rounds", "1"]  # fmt: skip
    for name in ("games", "visits", "seconds"):
        command += [f"--{name}", str(getattr(args, name))]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(output.splitlines()[0])["value"])  # simulations as played, the first of its figures


def _peer(args: argparse.Namespace) -> Callable[[], float]:
    jax, pgx, mctx = import_module("jax"), import_module("pgx"), import_module("mctx")
    jnp, env = jax.numpy, pgx.make("go_9x9")
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 64))

    def new(*shape: int) -> Any:
        return jax.random.normal(next(keys), shape) * 0.05

    params = {
        "first": new(3, 3, PLANES, FILTERS),
        "tower": [(new(3, 3, FILTERS, FILTERS), new(3, 3, FILTERS, FILTERS)) for _ in range(BLOCKS)],
        "policy": (new(1, 1, FILTERS, 2), new(2 * POINTS, MOVES)),
        "value": (new(1, 1, FILTERS, 1), new(POINTS, FILTERS), new(FILTERS, 1)),
    }

    def convolved(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def judge(net: Any, planes: Any) -> tuple[Any, Any]:
        relu = jax.nn.relu
        x = relu(convolved(planes.astype(jnp.float32), net["first"]))
        for a, b in net["tower"]:
            x = relu(x + convolved(relu(convolved(x, a)), b))
        policy, value = (relu(convolved(x, net[h][0])).reshape(len(x), -1) for h in ("policy", "value"))
        return policy @ net["policy"][1], jnp.tanh(relu(value @ net["value"][1]) @ net["value"][2])[:, 0]

    def simulate(net: Any, _: Any, action: Any, state: Any) -> Any:
        mover, state = state.current_player, jax.vmap(env.step)(state, action)
        logits, value = judge(net, state.observation)
        step = mctx.RecurrentFnOutput(
            reward=jax.vmap(lambda rewards, player: rewards[player])(state.rewards, mover),
            discount=jnp.where(state.terminated, 0.0, -1.0),
            prior_logits=jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min),
            value=jnp.where(state.terminated, 0.0, value),
        )
        return step, state

    @jax.jit  # type: ignore[untyped-decorator]
    def move(net: Any, key: Any, state: Any) -> Any:
        logits, value = judge(net, state.observation)
        found = mctx.gumbel_muzero_policy(
            params=net, rng_key=key, recurrent_fn=simulate, num_simulations=args.visits,
            root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            invalid_actions=~state.legal_action_mask, qtransform=mctx.qtransform_completed_by_mix_value,
        )  # fmt: skip
        return jax.vmap(env.step)(state, found.action)

    key = jax.random.PRNGKey(1)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, args.games))
    state = jax.block_until_ready(move(params, key, state))  # compiles

    def measure() -> float:
        nonlocal key, state
        begun, moves = time.process_time(), 0
        while time.process_time() - begun < args.seconds:
            key, _ = jax.random.split(key)
            state = jax.block_until_ready(move(params, key, state))
            moves += 1
        speed: float = moves * args.games * args.visits / (time.process_time() - begun)
        return speed

    return measure


if __name__ == "__main__":
    main()
