"""A process that runs the nets for all self-play processes of a machine: one a GPU.

It loads each net once and judges what the processes have posted together. The next batch is on its way before the one
under way is handed out.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ....engine.errors import AzError, NetError
from ....engine.games.base import Game
from ...net.batches import STEPS, Outputs
from ...net.evaluator import Precision, TorchEvaluator, torch_device
from ..config import RunConfig
from ..folder import Pulse, RunFolder, evaluator_file
from .link import BATCHES, DONE, ERROR, NET, POST, Block, Half, Shape, post_of

KEPT_NETS = 2  # loaded: processes change to the newest net one after another
POLL_SECONDS = 0.5
GREETING_SECONDS = 5.0  # that a process which has connected may take to say who it is
STEADY_POSTS = 8  # after which a process has compiled all that a step needs


class Post(NamedTuple):
    """A half that waits to be judged."""

    player: Player
    half: int
    net: str
    rows: int

    @property
    def arrays(self) -> Half:
        return self.player.block.batches[self.half]


@dataclass(eq=False, slots=True)
class Player:
    """A self-play process at the other end of a connection."""

    connection: Connection[bytes, bytes]
    block: Block
    number: int  # in the order of coming, from 0
    posts: int = 0  # so far
    nets: dict[int, str] = field(default_factory=dict)  # paths by the numbers that it gave them


class _Launched(NamedTuple):
    posts: list[Post]
    outputs: Callable[[], Outputs]
    net: TorchEvaluator  # kept until they are there


class EvaluatorServer:
    """Listens for self-play processes and runs nets for them, in the thread that calls :meth:`serve`."""

    def __init__(
        self,
        game: Game,
        batch: int,
        *,
        precision: Precision = "auto",
        device: torch.device | None = None,
        steps: int = STEPS,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """``batch``: greatest batch; ``steps``: sizes of batches, with 1 no answer depends on what is beside it.

        Errors: NetError when it cannot listen.
        """
        self.game, self.batch, self.say = game, batch, say
        self.batches = self.rows = self.offered = 0  # so far; offered: rows of the padded batches
        self.seconds = 0.0  # with a batch under way
        self.playing: dict[int, float] = {}  # since when each process has been playing steadily, by its order of coming
        self.stopping: Callable[[], bool] = lambda: False
        self.each: Callable[[], None] = lambda: None  # called between batches
        self._precision, self._device, self._steps = precision, device, steps
        self._nets: dict[str, TorchEvaluator] = {}
        self._players: dict[Connection[bytes, bytes], Player] = {}
        self._posts: deque[Post] = deque()
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()  # connections
        self._slot = self._came = 0
        try:
            self._listener = Listener(backlog=64)
        except OSError as error:
            raise NetError(f"this process cannot listen for others ({error.strerror or error})") from error
        self.address = self._listener.address
        self._closed = False
        threading.Thread(target=self._accept, name="door", daemon=True).start()

    # ---- connections

    def _accept(self) -> None:
        while not self._closed:
            try:
                self._arrived.put(self._listener.accept())
            except OSError:
                return

    def _greet(self, connection: Connection[bytes, bytes]) -> None:
        """Open the memory of a process that has connected, or refuse it."""
        try:
            if not connection.poll(GREETING_SECONDS):
                raise EOFError
            hello = json.loads(connection.recv_bytes())
            shape = Shape(*(int(hello[name]) for name in Shape._fields))
            if hello["game"] != self.game.name or shape.features != int(np.prod(self.game.planes)):
                raise NetError(f"this process runs nets for {self.game.name}, not for {hello['game']}")
            if shape.rows > self.batch:
                raise NetError(f"a half of {shape.rows} games is more than a batch of {self.batch}")
            player = Player(connection, Block(shape, str(hello["memory"])), self._came)
        except AzError as error:
            self._tell(connection, ERROR + str(error).encode())
            connection.close()
        except (OSError, EOFError, ValueError, KeyError, TypeError):
            connection.close()  # gone already, or none of ours
        else:
            self._players[connection] = player
            self._came += 1
            self._tell(connection, b"H")

    def _tell(self, connection: Connection[bytes, bytes], message: bytes) -> None:
        with contextlib.suppress(OSError):  # gone: the next look at its connection says so
            connection.send_bytes(message)

    def _drop(self, connection: Connection[bytes, bytes]) -> None:
        """Forget a process that has ended."""
        player = self._players.pop(connection, None)
        connection.close()
        if player is not None:
            self._posts = deque(post for post in self._posts if post.player is not player)
            player.block.close()

    def _receive(self, seconds: float) -> None:
        """Read all messages that have come, waiting up to ``seconds`` for the first."""
        while not self._arrived.empty():
            self._greet(self._arrived.get())
        if not self._players:
            if seconds:
                try:
                    self._greet(self._arrived.get(timeout=seconds))
                except queue.Empty:
                    return
            return
        for ready in wait(list(self._players), seconds):
            connection: Any = ready
            try:
                self._obey(self._players[connection], connection.recv_bytes())
            except (EOFError, OSError):
                self._drop(connection)

    def _obey(self, player: Player, message: bytes) -> None:
        if message[:1] == POST:
            half, number, rows = post_of(message)
            self._posts.append(Post(player, half, player.nets[number], rows))
            player.posts += 1
            if player.posts == STEADY_POSTS:
                self.playing[player.number] = time.monotonic()
        elif message[:1] == NET:
            request = json.loads(message[1:])
            try:
                net = self._load(str(request["path"]))
            except AzError as error:
                self._tell(player.connection, ERROR + str(error).encode())
                return
            player.nets[int(request["number"])] = str(request["path"])
            assert net.info is not None
            info = {
                "history": net.history,
                "encoder": net.encoder,
                "values": 3 if net.info.value_head == "wdl" else 1,
                "description": net.description,
            }
            self._tell(player.connection, NET + json.dumps(info).encode())

    # ---- nets

    def _load(self, path: str) -> TorchEvaluator:
        """The net of a file, loaded unless it is there. BLOCKS. Errors: NetError."""
        if path not in self._nets:
            while len(self._nets) >= KEPT_NETS:
                waiting = {post.net for post in self._posts}
                unused = [name for name in self._nets if name not in waiting]
                if not unused:
                    break
                del self._nets[unused[0]]
            self.say(f"loading {Path(path).name}")
            self._nets[path] = TorchEvaluator(
                path,
                self.game,
                batch_size=self.batch,
                precision=self._precision,
                device=self._device,
                width=self.game.max_moves,
                steps=self._steps,
            )
        return self._nets[path]

    # ---- batches

    def limit(self, path: str, seconds: float) -> tuple[float, str]:
        """Positions a second that a net alone judges in full batches, and its description. BLOCKS. Errors: NetError."""
        net, under_way, rows = self._load(path), None, 0
        net.launch(self.batch, 0)()
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            self._slot = 1 - self._slot
            following = net.launch(self.batch, self._slot)
            if under_way is not None:
                under_way()
                rows += self.batch
            under_way = following
        if under_way is not None:
            under_way()
            rows += self.batch
        return rows / (time.monotonic() - begun), net.description

    def serve(self) -> None:
        """Judge what comes until :attr:`stopping`. BLOCKS. Errors: NetError when the net cannot be run."""
        under_way: _Launched | None = None
        begun = time.monotonic()
        try:
            while not self.stopping():
                self._receive(0.0 if under_way is not None or self._posts else POLL_SECONDS)
                following = None
                waiting = sum(post.rows for post in self._posts)
                if waiting and (under_way is None or 2 * waiting >= self.batch):
                    if under_way is None:
                        begun = time.monotonic()
                    following = self._launch()
                if under_way is not None:
                    self._hand_out(under_way)
                    now = time.monotonic()
                    self.seconds, begun = self.seconds + now - begun, now
                under_way = following
                self.each()
        except NetError as error:
            for connection in list(self._players):
                self._tell(connection, ERROR + str(error).encode())
            raise
        finally:
            self.close()

    def _launch(self) -> _Launched:
        """Begin a batch: the posts of one net, oldest first, as many as fit."""
        path, posts, kept, room = self._posts[0].net, list[Post](), list[Post](), self.batch
        for post in self._posts:
            fits = post.net == path and post.rows <= room
            (posts if fits else kept).append(post)
            room -= post.rows if fits else 0
        self._posts = deque(kept)
        net = self._load(path)
        self._slot = 1 - self._slot
        buffers, at = net.batches.slots[self._slot], 0
        flat = buffers.planes.reshape(len(buffers.planes), -1)
        for post in posts:
            end, arrays = at + post.rows, post.arrays
            flat[at:end] = arrays.planes[: post.rows]
            buffers.actions[at:end] = arrays.actions[: post.rows]
            at = end
        self.batches += 1
        self.rows += at
        self.offered += next(size for size in net.batches.sizes if size >= at)
        return _Launched(posts, net.launch(at, self._slot), net)

    def _hand_out(self, launched: _Launched) -> None:
        """Wait for a batch and give each process its answers."""
        policies, values, *_ = launched.outputs()
        at = 0
        for post in launched.posts:
            end = at + post.rows
            if post.player.connection in self._players:
                arrays = post.arrays
                arrays.policies[: post.rows] = policies[at:end]
                arrays.values[: post.rows, : values.shape[1]] = values[at:end]
                self._tell(post.player.connection, DONE + bytes([post.half]))
            at = end

    def close(self) -> None:
        """End all connections: the processes at their other ends then end, too."""
        self._closed = True
        self._listener.close()
        for connection in list(self._players):
            self._drop(connection)


def batch_of(run: RunConfig) -> int:
    """The greatest batch of an evaluator: as set, or one half of the games of all its processes."""
    machine, half = run.machine, -(-run.selfplay.games // BATCHES)
    return max(machine.batch, half) if machine.batch else half * -(-machine.workers // max(machine.evaluators, 1))


def device_of(number: int) -> torch.device:
    """Where evaluator ``number`` runs: the GPUs in turn, or the CPU."""
    return torch.device("cuda", number % torch.cuda.device_count()) if torch.cuda.is_available() else torch_device()


def evaluate_for(
    folder: RunFolder, run: RunConfig, number: int, stopping: Callable[[], bool], say: Callable[[str], None]
) -> None:
    """Run the nets for a run's processes on this machine until the run is over or ``stopping``. BLOCKS.

    Errors: NetError.
    """
    torch.set_num_threads(run.machine.threads)
    pulse = Pulse(folder, number, evaluator_file(number))
    device = device_of(number)
    server = EvaluatorServer(run.get_game(), batch_of(run), precision=run.machine.precision, device=device, say=say)

    def heartbeat() -> None:
        if pulse.due("serving"):
            heartbeat = pulse.heartbeat
            heartbeat.evaluations, heartbeat.batches = server.rows, server.batches
            heartbeat.rows, heartbeat.seconds = server.batches * server.batch, server.seconds
            pulse.write("serving")

    server.stopping = lambda: stopping() or folder.finished
    server.each = heartbeat
    say(f"evaluator {number} runs nets of {run.game} on {device}, batches of {server.batch}")
    try:
        folder.set_address(number, server.address)
        server.serve()
    finally:
        folder.set_address(number, None)
