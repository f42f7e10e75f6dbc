"""Connect four beside other programs: what their own code learns in the same CPU time, and a plain alpha-beta search.

    python tests/peers/four.py learn azg --checkout DIR --minutes 8 --out runs/azg
    python tests/peers/four.py learn openspiel --minutes 8 --out runs/openspiel
    AZ_ENGINE_GAMES=examples az-engine match --game connect_four -A runs/connect_four --visits 100 --games 100 \\
        --openings random:4 --seed 1 -B "cmd='python tests/peers/four.py play alphabeta --depth 4'"

``play`` is a UCI engine, for players of all three. Nothing of ours is imported, so that it runs in an environment of
its own: azg is a checkout of github.com/suragnair/alpha-zero-general and needs torch, tqdm and coloredlogs; openspiel
is open_spiel of PyPI and needs jax, flax, optax and chex; both need psutil. alpha-zero-general has no torch net for
connect four: it learns with its own one for Othello, of 64 channels instead of 512, the rest as in its main.py.
OpenSpiel learns with its example's settings, but a width of 64, a buffer of 1,024 positions and no evaluators; in a
match its net is compiled first, which changes nothing but its speed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

COLUMNS, ROWS = 7, 6
Choose = Callable[[list[int], int], int]  # (columns played so far, visits) -> column


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("learn", "play", "body"))
    parser.add_argument("who", choices=("alphabeta", "azg", "openspiel"))
    parser.add_argument("--checkout", type=Path, help="of alpha-zero-general")
    parser.add_argument("--out", type=Path, help="where it learns, or has learned")
    parser.add_argument("--minutes", type=float, default=8.0, help="of CPU time, over all processes")
    parser.add_argument("--depth", type=int, default=4)
    args = parser.parse_args()
    if args.checkout is not None:
        sys.path.insert(0, str(args.checkout.resolve()))
    if args.what == "play":
        _uci(partial(PLAYERS[args.who], args))
    elif args.what == "body":
        _azg_learns(args.out) if args.who == "azg" else _openspiel_learns(args.out)
    else:
        args.out.mkdir(parents=True, exist_ok=True)
        _limited([sys.executable, __file__, "body", *sys.argv[2:]], 60 * args.minutes)


def _limited(command: list[str], seconds: float) -> None:
    """Run a command and its children until they have used so much CPU time."""
    import psutil

    process = subprocess.Popen(command, start_new_session=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    used: dict[int, float] = {}
    while process.poll() is None and sum(used.values()) < seconds:
        time.sleep(1)
        try:
            for one in (root := psutil.Process(process.pid), *root.children(recursive=True)):
                used[one.pid] = sum(one.cpu_times()[:2])
        except psutil.NoSuchProcess:
            pass
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    print(f"{sum(used.values()):.0f} s of CPU time")


def _uci(load: Callable[[], Choose]) -> None:
    choose, moves = None, list[int]()
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["uci"]:
            print("id name four\nuciok")
        elif words[:1] == ["isready"]:
            choose = choose or load()
            print("readyok")
        elif words[:1] == ["position"]:
            moves = [ord(word) - ord("a") for word in words[3:]]
        elif words[:1] == ["go"] and choose is not None:
            visits = int(words[words.index("nodes") + 1]) if "nodes" in words else 0
            print("bestmove", chr(ord("a") + choose(moves, visits)))
        elif words[:1] == ["quit"]:
            break
        sys.stdout.flush()


# ---- alpha-beta: a piece in an open line counts 1, two 4, three 16

CELLS = [(c, r) for c in range(COLUMNS) for r in range(ROWS)]
LINES = [
    sum(1 << 7 * (c + i * dc) + r + i * dr for i in range(4))
    for c, r in CELLS
    for dc, dr in ((1, 0), (0, 1), (1, 1), (1, -1))
    if c + 3 * dc < COLUMNS and 0 <= r + 3 * dr < ROWS
]
WORTH = (0, 1, 4, 16, 0)
WON = 10_000


def _alphabeta(args: argparse.Namespace) -> Choose:
    def choose(moves: list[int], _: int) -> int:
        men, heights = [0, 0], [0] * COLUMNS
        for ply, c in enumerate(moves):
            men[ply % 2] |= 1 << 7 * c + heights[c]
            heights[c] += 1
        mine, theirs = men[len(moves) % 2], men[1 - len(moves) % 2]
        values = {c: _value(mine, theirs, heights, c, args.depth, -WON - 100) for c in _open(heights)}
        return max(values, key=lambda c: values[c])

    return choose


def _open(heights: list[int]) -> list[int]:
    return [c for c in (3, 2, 4, 1, 5, 0, 6) if heights[c] < ROWS]


def _value(mine: int, theirs: int, heights: list[int], column: int, depth: int, alpha: int) -> int:
    """Of playing in a column, for who plays there: ``depth`` plies are looked at; earlier wins are better."""
    mine |= 1 << 7 * column + heights[column]
    if any(line & mine == line for line in LINES):
        return WON + depth
    if mine.bit_count() + theirs.bit_count() == COLUMNS * ROWS:
        return 0
    if depth == 1:
        return sum(WORTH[(line & mine).bit_count()] for line in LINES if not line & theirs) - sum(
            WORTH[(line & theirs).bit_count()] for line in LINES if not line & mine
        )
    heights[column] += 1
    best = -WON - 100
    for reply in _open(heights):
        best = max(best, _value(theirs, mine, heights, reply, depth - 1, best))
        if -best <= alpha:
            break
    heights[column] -= 1
    return -best


# ---- alpha-zero-general


def _azg_net() -> Any:
    import numpy as np

    games, net = import_module("connect4.Connect4Game").Connect4Game, import_module("othello.pytorch.NNet")
    vars(np)["int"] = int  # numpy's names of then
    games.stringRepresentation = lambda self, board: board.tobytes()
    net.args.num_channels = 64
    game = games()
    return game, net.NNetWrapper(game)


def _azg_learns(out: Path) -> None:
    game, net = _azg_net()
    settings = import_module("utils").dotdict(
        numIters=1000, numEps=100, tempThreshold=15, updateThreshold=0.6, maxlenOfQueue=200000, numMCTSSims=25,
        arenaCompare=40, cpuct=1, checkpoint=f"{out}/", load_model=False, numItersForTrainExamplesHistory=20,
    )  # fmt: skip
    import_module("Coach").Coach(game, net, settings).learn()


def _azg(args: argparse.Namespace) -> Choose:
    import numpy as np

    out, sys.stdout = sys.stdout, sys.stderr  # it prints
    game, net = _azg_net()
    net.load_checkpoint(str(args.out), "best.pth.tar" if (args.out / "best.pth.tar").exists() else "temp.pth.tar")
    sys.stdout = out
    search, settings = import_module("MCTS").MCTS, import_module("utils").dotdict
    trees: list[Any] = []

    def choose(moves: list[int], visits: int) -> int:
        if len(moves) < 6 or not trees:  # another game
            trees[:] = [search(game, net, settings(numMCTSSims=visits, cpuct=1.0))]
        board, player = game.getInitBoard(), 1
        for move in moves:
            board, player = game.getNextState(board, player, move)
        return int(np.argmax(trees[0].getActionProb(game.getCanonicalForm(board, player), temp=0)))

    return choose


# ---- OpenSpiel

_OPENSPIEL = "open_spiel.python.algorithms"
_LEARNING: dict[str, Any] = {"weight_decay": 1e-4, "learning_rate": 1e-3}
_NET: dict[str, Any] = {"nn_model": "resnet", "nn_width": 64, "nn_depth": 2}


def _openspiel_learns(out: Path) -> None:
    alpha_zero = import_module(f"{_OPENSPIEL}.alpha_zero.alpha_zero")
    config = alpha_zero.Config(
        **_LEARNING, **_NET, game="connect_four", path=str(out.resolve()), decouple_weight_decay=False,
        train_batch_size=128, replay_buffer_size=1024, replay_buffer_reuse=4, max_steps=0, checkpoint_freq=1, actors=1,
        evaluators=0, evaluation_window=50, eval_levels=7, uct_c=1.41, max_simulations=40, policy_alpha=1.0,
        policy_epsilon=0.25, temperature=1.0, temperature_drop=10, observation_shape=None, output_size=None,
        quiet=True, verbose=False, nn_api_version="linen",
    )  # fmt: skip
    with import_module("open_spiel.python.utils.spawn").main_handler():
        alpha_zero.alpha_zero(config)


def _openspiel(args: argparse.Namespace) -> Choose:
    mcts, game = import_module(f"{_OPENSPIEL}.mcts"), import_module("pyspiel").load_game("connect_four")
    model = import_module(f"{_OPENSPIEL}.alpha_zero.model_linen").Model.build_model(
        _NET["nn_model"], game.observation_tensor_shape(), game.num_distinct_actions(), _NET["nn_width"],
        _NET["nn_depth"], **_LEARNING, path=str(args.out.resolve()),
    )  # fmt: skip
    model.load_checkpoint(max(int(path.name.split("-")[1]) for path in args.out.glob("checkpoint-*")))
    jax, state = import_module("jax"), vars(model)["_state"]
    quick = jax.jit(partial(state.apply_fn, training=False, mutable=False))
    vars(model)["_state"] = state.replace(apply_fn=lambda variables, planes, **_: quick(variables, planes))
    judge = import_module(f"{_OPENSPIEL}.alpha_zero.evaluator").AlphaZeroEvaluator(game, model)

    def choose(moves: list[int], visits: int) -> int:
        state = game.new_initial_state()
        for move in moves:
            state.apply_action(move)
        bot = mcts.MCTSBot(game, 1.41, visits, judge, child_selection_fn=mcts.SearchNode.puct_value)
        return int(bot.mcts_search(state).best_child().action)

    return choose


PLAYERS: dict[str, Callable[[argparse.Namespace], Choose]] = {
    "alphabeta": _alphabeta,
    "azg": _azg,
    "openspiel": _openspiel,
}

if __name__ == "__main__":
    main()
