"""Leaves on their way between a self-play process and the process that runs the net for all of them.

Planes, legal actions, policies and values lie in memory that both share, in two halves: while one is judged, the other
is filled in. Small messages over a connection say which half is whose; its end tells either that the other is gone.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
from multiprocessing import resource_tracker
from multiprocessing.connection import Client
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import AzError, NetError
from ....engine.nets.evaluator import Output, Planes

BATCHES = 2
VALUES = 3  # room for values of one row
_POST = struct.Struct("<cBII")  # POST, half, number of the net, rows
POST, DONE, NET, ERROR = b"P", b"D", b"N", b"E"  # first bytes of messages


class Shape(NamedTuple):
    """The size of a half."""

    rows: int
    features: int  # bytes of a row's planes
    moves: int  # M, legal moves of a row at most


class Half:
    """One half's arrays, views of the shared memory."""

    def __init__(self, memory: Any, shape: Shape, at: int) -> None:
        def view(dtype: str, width: int) -> NDArray[Any]:
            nonlocal at
            size = np.dtype(dtype).itemsize * shape.rows * width
            result: NDArray[Any] = np.frombuffer(memory[at : at + size], dtype).reshape(shape.rows, width)
            at += -(-size // 64) * 64
            return result

        self.policies: NDArray[np.float32] = view("f4", shape.moves)  # f4[R, M], logits of the legal moves
        self.values: NDArray[np.float32] = view("f4", VALUES)  # f4[R, 3], the net's 3 or 1 in front
        self.actions: NDArray[np.uint16] = view("u2", shape.moves)  # u2[R, M]
        self.planes: NDArray[np.uint8] = view("u1", shape.features)  # u1[R, C * H * W]
        self.end = at


class Block:
    """Shared memory of one self-play process: two halves."""

    def __init__(self, shape: Shape, name: str | None = None) -> None:
        """Make one, or open the one of that name. Errors: OSError when there is no room for it."""
        self.shape = shape
        sizes = (4 * shape.moves, 4 * VALUES, 2 * shape.moves, shape.features)
        size = BATCHES * sum(-(-shape.rows * width // 64) * 64 for width in sizes)
        if name is None:
            self._memory = SharedMemory(create=True, size=size)
        else:
            self._memory = _opened(name)
        self.name = self._memory.name
        self.batches: list[Half] = []
        at = 0
        for _ in range(BATCHES):
            self.batches.append(Half(self._memory.buf, shape, at))
            at = self.batches[-1].end

    def unlink(self) -> None:
        """Take its name away once both have opened it: the system frees it with the last of them, however they end."""
        self._memory.unlink()

    def close(self) -> None:
        self.batches.clear()
        with contextlib.suppress(BufferError):  # an array of it is still held: the process's end frees it
            self._memory.close()


def _opened(name: str) -> SharedMemory:
    """The memory that another process has made and will unlink."""
    if sys.version_info >= (3, 13):
        return SharedMemory(name, track=False)
    register = resource_tracker.register
    resource_tracker.register = _untracked  # else the tracker of this process would unlink it, too, and complain
    try:
        return SharedMemory(name)
    finally:
        resource_tracker.register = register


def _untracked(name: Any, rtype: Any) -> None:
    """Take the place of ``resource_tracker.register``."""


def hello_of(shape: Shape, game: str, name: str) -> bytes:
    """The first message of a self-play process."""
    return json.dumps({"game": game, "memory": name, **shape._asdict()}).encode()


def net_message(number: int, path: str) -> bytes:
    return NET + json.dumps({"number": number, "path": path}).encode()


def post_of(message: bytes) -> tuple[int, int, int]:
    """(half, number of the net, rows) of a post."""
    _, half, net, rows = _POST.unpack(message)
    return half, net, rows


def answers(address: Any) -> bool:
    """Whether somebody listens at an address."""
    try:
        Client(address).close()
    except OSError:
        return False
    return True


class Link:
    """A self-play process's end."""

    def __init__(self, address: Any, shape: Shape, game: str) -> None:
        """Connect and share memory. BLOCKS. Errors: NetError when there is nobody, or no room for the memory."""
        self._done: set[int] = set()
        self._nets = 0
        try:
            self.block = Block(shape)
        except OSError as error:
            raise NetError(f"there is no room for shared memory ({error}); let fewer games be played") from error
        try:
            self._connection: Any = Client(address)
            self._send(hello_of(shape, game, self.block.name))
            self._receive(b"H")
        except OSError as error:
            self.block.close()
            raise NetError(f"the process that runs the nets cannot be reached ({error})") from error
        except NetError:
            self.close()
            raise
        finally:
            self.block.unlink()

    def use(self, path: str) -> dict[str, Any]:
        """Let the other end load a net for what follows; what it says of the net. BLOCKS. Errors: NetError."""
        self._nets += 1
        self._send(net_message(self._nets, path))
        info: dict[str, Any] = json.loads(self._receive(NET))
        return info

    def post(self, half: int, planes: Planes, actions: NDArray[np.uint16]) -> None:
        """Hand in planes u1[K, F] and actions u2[K, M] to be judged, K > 0. Errors: NetError."""
        arrays = self.block.batches[half]
        arrays.planes[: len(planes)] = planes
        arrays.actions[: len(planes)] = actions
        del arrays  # no view may be held when an error closes the memory
        self._send(_POST.pack(POST, half, self._nets, len(planes)))

    def outputs(self, half: int, rows: int, values: int) -> Output:
        """The logits f4[rows, M] and values f4[rows, values] of what was posted, views. BLOCKS. Errors: NetError."""
        while half not in self._done:
            self._done.add(self._receive(DONE)[0])
        self._done.remove(half)
        arrays = self.block.batches[half]
        return arrays.policies[:rows], arrays.values[:rows, :values]

    def _send(self, message: bytes) -> None:
        try:
            self._connection.send_bytes(message)
        except OSError as error:
            raise NetError("the process that runs the nets has ended") from error

    def _receive(self, kind: bytes) -> bytes:
        """The rest of the next message of a kind; halves that are done meanwhile are remembered."""
        while True:
            try:
                message: bytes = self._connection.recv_bytes()
            except (EOFError, OSError) as error:
                raise NetError("the process that runs the nets has ended") from error
            if message[:1] == ERROR:
                raise NetError(message[1:].decode())
            if message[:1] == kind:
                return message[1:]
            if message[:1] != DONE:
                raise AzError(f"the process that runs the nets sent {message[:20]!r}")
            self._done.add(message[1])

    def close(self) -> None:
        self._connection.close()
        self.block.close()
