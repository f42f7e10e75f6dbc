"""``az-engine bench sessions``: a server under many clients, over real connections.

A soak of mixed UCI, USI, GTP and JSON conversations, each of which knows which answers can only be its own; how long
``isready`` takes while all search; what is left when all connections are reset at once. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import mmap
import random
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from ...engine.errors import EngineProcessError, OptionError
from ...engine.games import get_game
from ...engine.games.base import Game
from .measure import Measurement, percentile, show
from .startup import dialogue

_PATIENCE_S = 120.0  # for any answer
_ROUNDS = 12  # of a connection; then its client comes anew
_MOST_PLIES = 30
_SHOWN = 10  # faults of a kind that are told in full
_TICK_S = 0.05
_USER_HZ = 100  # ticks a second in /proc, on every Linux


class _Fault(Exception):
    """What a client saw go wrong; ``kind``: "protocol", "wrong session" or "no answer"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A server under many clients, over real connections: mixed conversations for some minutes, "
        "isready while all search, and resets."
    )
    parser.add_argument(
        "--sessions", type=int, default=64, metavar="N", help="clients at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        metavar="M",
        help="length of the mixed conversations (default: %(default)s)",
    )
    parser.add_argument(
        "--searches",
        type=int,
        default=32,
        metavar="N",
        help="clients that search while isready is asked (default: %(default)s)",
    )
    parser.add_argument(
        "--pings", type=int, default=500, metavar="N", help="times that isready is asked (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the conversations (default: %(default)s)")
    parser.add_argument(
        "--flag", action="append", default=[], metavar="WORD", help="pass this word on to az-engine serve"
    )


def main(args: argparse.Namespace) -> int:
    if not Path("/proc/self/status").is_file():
        raise OptionError("this bench reads /proc and works on Linux only")
    show(_measure(args), as_json=args.json)
    return 0


def _measure(args: argparse.Namespace) -> Iterator[Measurement]:
    with _Server(args.sessions + args.searches, args.flag) as server:
        if args.minutes > 0:
            yield from _soak(args, server)
        yield from _pings(args, server)
        yield from _resets(args, server)


class _Server:
    """The command in a process of its own. Context manager: ends it."""

    def __init__(self, most: int, flags: list[str]) -> None:
        limits = ["--max-sessions", str(most + 8), "--per-client", str(most + 8), "--port", "0", "--http-port", "0"]
        command = [sys.executable, "-m", "az_engine", "serve", *limits, *flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said = list[str]()
        for line in self._process.stderr:
            said.append(line)
            if '"ready"' in line:
                ready = json.loads(line)
                self.port, self.http_port = int(ready["port"]), int(ready["http_port"])
                break
        else:
            raise EngineProcessError(f"az-engine serve did not start: {''.join(said[-3:]).strip()}")
        self.warnings: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if '"event"' in line and '"open"' not in line and '"close"' not in line:
                self.warnings.append(line.strip())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._listener.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    @property
    def resident(self) -> float:
        """MiB."""
        pages = int(self._proc("statm").read_text().split()[1])
        return pages * mmap.PAGESIZE / (1 << 20)

    @property
    def descriptors(self) -> int:
        return len(list(self._proc("fd").iterdir()))

    @property
    def cpu_seconds(self) -> float:
        words = self._proc("stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / _USER_HZ

    def _proc(self, name: str) -> Path:
        if self._process.poll() is not None:
            raise EngineProcessError(f"az-engine serve has ended with status {self._process.returncode}")
        return Path("/proc", str(self._process.pid), name)


class _Lines:
    """A connection to the port of lines. Context manager: closes."""

    def __init__(self, server: _Server) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self.socket.close()

    def send(self, *lines: str) -> None:
        self.socket.sendall("".join(f"{line}\n" for line in lines).encode())

    def line(self) -> str:
        raw = self._stream.readline()
        if not raw.endswith(b"\n"):
            raise _Fault("protocol", "the server closed the connection")
        return raw.decode().rstrip("\n")

    def until(self, word: str) -> list[str]:
        """The lines up to the first that begins with a word."""
        lines = [self.line()]
        while lines[-1].split(" ", 1)[0] != word:
            lines.append(self.line())
        return lines

    def reset(self) -> None:
        """Close without a farewell."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._stream.close()
        self.socket.close()


class _Talker(ABC):
    """A client that talks and checks what it hears."""

    def __init__(self, server: _Server, number: int, seed: int) -> None:
        self.server, self.number = server, number
        self.chance = random.Random(f"{seed} {number}")
        self.rounds = 0

    @abstractmethod
    def converse(self, ended: threading.Event) -> None:
        """One connection. Errors: _Fault, OSError."""

    def _position(self, rules: Game) -> tuple[Any, list[tuple[int, str]]]:
        """A random line of play, and its moves with who made them."""
        line, moves = rules.initial(), list[tuple[int, str]]()
        for _ in range(self.chance.randrange(_MOST_PLIES)):
            legal = rules.legal_moves(line).tolist()
            if not legal:
                return rules.initial(), []
            move = self.chance.choice(legal)
            moves.append((rules.side_to_move(line[-1]), rules.format_move(line[-1], move)))
            line = rules.play(line, move)
        return line, moves


class _Mover(_Talker):
    """UCI or USI: searches a few moves that it chooses; no other may come back."""

    def __init__(self, server: _Server, number: int, seed: int, game: str) -> None:
        super().__init__(server, number, seed)
        self.rules = get_game(game)
        self.talk = dialogue(self.rules)

    def converse(self, ended: threading.Event) -> None:
        with _Lines(self.server) as link:
            link.send(self.talk.hello[0])
            self._expect(link.until(self.talk.hello[1]), ("id", "option", "info", self.talk.hello[1]))
            for _ in range(_ROUNDS):
                if ended.is_set():
                    return
                self._round(link)
                self.rounds += 1
            if self.chance.random() < 0.5:
                link.send("quit")

    def _round(self, link: _Lines) -> None:
        line, moves = self._position(self.rules)
        legal = [self.rules.format_move(line[-1], move) for move in self.rules.legal_moves(line).tolist()]
        if not legal:
            return
        mine = self.chance.sample(legal, min(len(legal), 2))
        before = [self.chance.choice([f"setoption name MultiPV value {self.chance.randint(1, 2)}", "isready"])]
        link.send(*before, "isready", *self.talk.position(self.rules, moves))
        kind = self.chance.choice([f"nodes {self.chance.randint(1, 60)}", "movetime 50", "infinite"])
        link.send(f"go {kind} searchmoves {' '.join(mine)}")
        if kind == "infinite":
            time.sleep(self.chance.uniform(0.0, 0.3))
            link.send("stop")
        said = link.until("bestmove")
        self._expect(said, ("readyok", "info", "bestmove", ""))  # a blank line keeps a GUI waiting while it loads
        if sum(text == "readyok" for text in said) != 1 + before.count("isready"):
            raise _Fault("protocol", f"isready got another number of answers: {said}")
        for text in said:
            words = text.split()
            if words[0] == "bestmove":
                found = words[1]
            elif "pv" in words:
                found = words[words.index("pv") + 1]
            else:
                continue
            if found not in mine:
                raise _Fault("wrong session", f"{found} came back, {mine} were searched: {text}")

    @staticmethod
    def _expect(lines: list[str], words: tuple[str, ...]) -> None:
        for line in lines:
            if line.split(" ", 1)[0] not in words or line.startswith("info string internal"):
                raise _Fault("protocol", line)


class _Goer(_Talker):
    """GTP on 9x9: every command has a number of this client's own."""

    def __init__(self, server: _Server, number: int, seed: int) -> None:
        super().__init__(server, number, seed)
        self.rules = get_game("go9")
        self._asked = 1000 * number

    def converse(self, ended: threading.Event) -> None:
        with _Lines(self.server) as link:
            self._ask(link, "name", "az-engine")
            self._ask(link, "boardsize 9")
            for _ in range(_ROUNDS):
                if ended.is_set():
                    return
                self._round(link)
                self.rounds += 1
            if self.chance.random() < 0.5:
                self._ask(link, "quit")

    def _round(self, link: _Lines) -> None:
        line, moves = self._position(self.rules)
        self._ask(link, "clear_board")
        self._ask(link, f"kata-set-param maxVisits {self.chance.randint(1, 60)}")
        for player, move in moves:
            self._ask(link, f"play {'bw'[player]} {move}")
        side = self.rules.side_to_move(line[-1])
        legal = [self.rules.format_move(line[-1], move).upper() for move in self.rules.legal_moves(line).tolist()]
        move = self._ask(link, f"genmove {'bw'[side]}").upper()
        if move not in legal and move not in ("PASS", "RESIGN"):
            raise _Fault("wrong session", f"{move} is not legal after {moves}")

    def _ask(self, link: _Lines, command: str, wanted: str | None = None) -> str:
        """The answer to a command, which has this number and is a success."""
        self._asked += 1
        link.send(f"{self._asked} {command}")
        lines = [link.line()]
        while lines[-1]:
            lines.append(link.line())
        mark, _, text = lines[0].partition(" ")
        if mark[1:] != str(self._asked):
            raise _Fault("wrong session", f"{lines[0]} answers command {self._asked}")
        if mark[0] != "=" or (wanted is not None and text != wanted):
            raise _Fault("protocol", f"{command}: {lines}")
        return text


class _Analyser(_Talker):
    """KataGo's protocol over WebSocket: one final answer a turn, terminated or not."""

    def converse(self, ended: threading.Event) -> None:
        from websockets.sync.client import connect

        address = f"ws://127.0.0.1:{self.server.http_port}/katago"
        with connect(address, open_timeout=_PATIENCE_S, max_size=None) as link:
            for _ in range(_ROUNDS):
                if ended.is_set():
                    return
                wanted = self._ask(link.send)
                while wanted:
                    self._hear(str(link.recv(_PATIENCE_S)), wanted)
                self.rounds += 1

    def _ask(self, send: Any) -> set[tuple[str, int]]:
        """Send some queries and terminations; the final answers that they must get."""
        wanted = set()
        moves = [["BW"[i % 2], f"{column}{self.chance.randint(1, 9)}"] for i, column in enumerate("ABCDEFGHJ")]
        for _ in range(self.chance.randint(1, 3)):
            name = f"{self.number}-{self.chance.getrandbits(40)}"
            turns = self.chance.sample(range(len(moves) + 1), self.chance.randint(1, 3))
            endless = self.chance.random() < 0.2
            query = {"id": name, "moves": moves, "rules": "chinese", "boardXSize": 9, "boardYSize": 9}
            query |= {"analyzeTurns": turns, "maxVisits": 10_000_000 if endless else self.chance.randint(1, 60)}
            if self.chance.random() < 0.3:
                query["reportDuringSearchEvery"] = 0.1
            send(json.dumps(query))
            wanted |= {(name, turn) for turn in turns}
            if endless or self.chance.random() < 0.2:
                time.sleep(self.chance.uniform(0.0, 0.2))
                send(json.dumps({"id": f"{self.number}-stop", "action": "terminate", "terminateId": name}))
        return wanted

    def _hear(self, text: str, wanted: set[tuple[str, int]]) -> None:
        answer = json.loads(text)
        if "error" in answer or "warning" in answer:
            raise _Fault("protocol", text)
        if not str(answer.get("id")).startswith(f"{self.number}-"):
            raise _Fault("wrong session", text[:200])
        if "action" in answer:
            return
        key = answer["id"], answer["turnNumber"]
        if key not in wanted:
            raise _Fault("protocol", f"one answer too many: {text[:200]}")
        if not answer["isDuringSearch"]:
            wanted.discard(key)


class _Crowd:
    """Talkers, each with a thread, until they are told to end; counts what goes wrong."""

    def __init__(self, server: _Server, count: int, seed: int) -> None:
        self.ended = threading.Event()
        self.faults: Counter[str] = Counter()
        self.shown: list[str] = []
        self.connections = 0
        self._lock = threading.Lock()
        self.talkers = [_talker(server, number, seed) for number in range(count)]
        self._threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in self.talkers]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()

    def _run(self, talker: _Talker) -> None:
        while not self.ended.is_set():
            with self._lock:
                self.connections += 1
            try:
                talker.converse(self.ended)
            except _Fault as fault:
                self._count(fault.kind, str(fault))
            except TimeoutError as error:
                self._count("no answer", repr(error))
            except Exception as error:  # noqa: BLE001  the WebSocket library's own, and what a broken answer raises
                self._count("protocol", repr(error))

    def _count(self, kind: str, text: str) -> None:
        with self._lock:
            self.faults[kind] += 1
            if self.faults[kind] <= _SHOWN:
                self.shown.append(text[:300])


def _talker(server: _Server, number: int, seed: int) -> _Talker:
    match number % 4:
        case 0:
            return _Mover(server, number, seed, "chess")
        case 1:
            return _Mover(server, number, seed, "shogi")
        case 2:
            return _Goer(server, number, seed)
        case _:
            return _Analyser(server, number, seed)


def _soak(args: argparse.Namespace, server: _Server) -> Iterator[Measurement]:
    """Mixed conversations; memory by its median over half a minute, after the first minute and at the end."""
    sizes = []
    with _Crowd(server, args.sessions, args.seed) as crowd:
        end = time.monotonic() + 60 * args.minutes
        while time.monotonic() < end:
            time.sleep(1.0)
            sizes.append(server.resident)
    rounds = sum(talker.rounds for talker in crowd.talkers)
    note = f"{args.sessions} sessions for {args.minutes:g} minutes, {rounds} rounds on {crowd.connections} connections"
    for text in (*crowd.shown, *server.warnings[:_SHOWN]):
        sys.stderr.write(f"{text}\n")
    for kind in ("protocol", "no answer", "wrong session"):
        yield Measurement(f"faults: {kind}", crowd.faults[kind], "answers", note=note)
    idle = sum(talker.rounds == 0 for talker in crowd.talkers)
    yield Measurement("clients without a round", idle, "clients", note=note)
    span = 30 if len(sizes) >= 120 else max(len(sizes) // 4, 1)
    minutes = " ".join(f"{statistics.median(sizes[i : i + 60]):.0f}" for i in range(0, len(sizes), 60))
    first, last = statistics.median(sizes[60 : 60 + span] or sizes[:span]), statistics.median(sizes[-span:])
    yield Measurement(
        "memory at the end", last, "MiB", "after the first minute", first,
        f"from {min(sizes):.0f} to {max(sizes):.0f} MiB, by minutes {minutes}",
    )  # fmt: skip


def _endless(server: _Server, count: int, links: ExitStack) -> list[_Lines]:
    """Connections that search without end."""
    found = []
    for _ in range(count):
        link = links.enter_context(_Lines(server))
        link.send("uci", "isready", "position startpos", "go infinite")
        link.until("readyok")
        found.append(link)
    return found


def _pings(args: argparse.Namespace, server: _Server) -> Iterator[Measurement]:
    """``isready`` of a session that does nothing else, and of those that search, by turns."""
    with ExitStack() as links:
        searching = _endless(server, args.searches, links)
        idle = links.enter_context(_Lines(server))
        idle.send("uci", "isready")
        idle.until("readyok")
        time.sleep(1.0)
        times: dict[str, list[float]] = {"idle": [], "searching": []}
        for turn in range(args.pings):
            kind = ("idle", "searching")[turn % 2]
            link = idle if kind == "idle" else searching[turn // 2 % len(searching)]
            began = time.perf_counter()
            link.send("isready")
            link.until("readyok")
            times[kind].append(1000 * (time.perf_counter() - began))
            time.sleep(0.01)
    load = Path("/proc/loadavg").read_text().split()[0]
    note = f"{args.searches} sessions search, {args.pings} times; the machine's load was {load}"
    for kind, found in times.items():
        for percent in (50, 99):
            yield Measurement(
                f"isready of a session that is {kind}, p{percent}", percentile(found, percent), "ms", note=note
            )


def _resets(args: argparse.Namespace, server: _Server) -> Iterator[Measurement]:
    """Seconds until the server is idle and its descriptors are back, after all connections were reset at once."""
    before = _settled(server)
    with ExitStack() as links:
        searching = _endless(server, args.sessions, links)
        began = time.perf_counter()
        for link in searching:
            link.reset()
        back = quiet = 0.0
        last = server.cpu_seconds
        while (not back or not quiet) and time.perf_counter() - began < 60:
            time.sleep(4 * _TICK_S)
            now, cpu = time.perf_counter() - began, server.cpu_seconds
            if not back and server.descriptors <= before:
                back = now
            if not quiet and cpu - last < _TICK_S:
                quiet = now
            last = cpu
    note = f"{args.sessions} searches reset at once; {before} descriptors before; 60 = not within a minute"
    yield Measurement("descriptors are back after", back or 60.0, "s", note=note)
    yield Measurement("the CPU is idle after", quiet or 60.0, "s", note=note)


def _settled(server: _Server) -> int:
    """Descriptors, once they have stayed the same for a second; waits a minute at most."""
    last, since, began = server.descriptors, time.monotonic(), time.monotonic()
    while time.monotonic() - since < 1.0 and time.monotonic() - began < 60:
        time.sleep(_TICK_S)
        if (now := server.descriptors) != last:
            last, since = now, time.monotonic()
    return last
