"""Clients that talk with a server at random and check what they hear, see :mod:`sessions`."""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from az_engine.bench.speed.startup import dialogue
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game

from ..protocols.serve.lines import LineClient

_PATIENCE_S = 120.0  # for any answer
_ROUNDS = 12  # of a connection; then its client comes anew
_MOST_PLIES = 30


class Ports(NamedTuple):
    """Of a server on this machine."""

    lines: int
    http: int


class Fault(Exception):
    """What a client saw go wrong; ``kind``: "protocol", "wrong session" or "no answer"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Lines(LineClient):
    """A connection to the port of lines."""

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports.lines)
        self.socket.settimeout(_PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def line(self) -> str:
        raw = self._stream.readline()
        if not raw.endswith(b"\n"):
            raise Fault("protocol", "the server closed the connection")
        return raw.decode().rstrip("\n")

    def until(self, start: str) -> list[str]:
        """The lines up to the first whose first word it is."""
        lines = [self.line()]
        while lines[-1].split(" ", 1)[0] != start:
            lines.append(self.line())
        return lines

    def reset(self) -> None:
        """Close without a farewell."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._stream.close()
        self.socket.close()


class Talker(ABC):
    """A client that talks and checks what it hears."""

    def __init__(self, ports: Ports, number: int, seed: int) -> None:
        self.ports, self.number = ports, number
        self.chance = random.Random(f"{seed} {number}")
        self.rounds = 0

    @abstractmethod
    def converse(self, ended: threading.Event) -> None:
        """One connection. Errors: Fault, OSError."""

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


class _Mover(Talker):
    """UCI or USI: searches a few moves that it chooses; no other may come back."""

    def __init__(self, ports: Ports, number: int, seed: int, game: str) -> None:
        super().__init__(ports, number, seed)
        self.rules = get_game(game)
        self.talk = dialogue(self.rules)

    def converse(self, ended: threading.Event) -> None:
        with Lines(self.ports) as link:
            link.send(self.talk.hello[0])
            self._expect(link.until(self.talk.hello[1]), ("id", "option", "info", self.talk.hello[1]))
            for _ in range(_ROUNDS):
                if ended.is_set():
                    return
                self._round(link)
                self.rounds += 1
            if self.chance.random() < 0.5:
                link.send("quit")

    def _round(self, link: Lines) -> None:
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
        lines = link.until("bestmove")
        self._expect(lines, ("readyok", "info", "bestmove", ""))  # a blank line keeps a GUI waiting while it loads
        if sum(text == "readyok" for text in lines) != 1 + before.count("isready"):
            raise Fault("protocol", f"isready got another number of answers: {lines}")
        for text in lines:
            words = text.split()
            if words[0] == "bestmove":
                result = words[1]
            elif "pv" in words:
                result = words[words.index("pv") + 1]
            else:
                continue
            if result not in mine:
                raise Fault("wrong session", f"{result} came back, {mine} were searched: {text}")

    @staticmethod
    def _expect(lines: list[str], words: tuple[str, ...]) -> None:
        for line in lines:
            if line.split(" ", 1)[0] not in words or line.startswith("info string internal"):
                raise Fault("protocol", line)


class _Goer(Talker):
    """GTP on 9x9: every command has a number of this client's own."""

    def __init__(self, ports: Ports, number: int, seed: int) -> None:
        super().__init__(ports, number, seed)
        self.rules = get_game("go9")
        self._number = 1000 * number

    def converse(self, ended: threading.Event) -> None:
        with Lines(self.ports) as link:
            self._ask(link, "name", "az-engine")
            self._ask(link, "boardsize 9")
            for _ in range(_ROUNDS):
                if ended.is_set():
                    return
                self._round(link)
                self.rounds += 1
            if self.chance.random() < 0.5:
                self._ask(link, "quit")

    def _round(self, link: Lines) -> None:
        line, moves = self._position(self.rules)
        self._ask(link, "clear_board")
        self._ask(link, f"kata-set-param maxVisits {self.chance.randint(1, 60)}")
        for player, move in moves:
            self._ask(link, f"play {'bw'[player]} {move}")
        side = self.rules.side_to_move(line[-1])
        legal = [self.rules.format_move(line[-1], move).upper() for move in self.rules.legal_moves(line).tolist()]
        move = self._ask(link, f"genmove {'bw'[side]}").upper()
        if move not in legal and move not in ("PASS", "RESIGN"):
            raise Fault("wrong session", f"{move} is not legal after {moves}")

    def _ask(self, link: Lines, command: str, requested: str | None = None) -> str:
        """The answer to a command, which has this number and is a success."""
        self._number += 1
        link.send(f"{self._number} {command}")
        lines = [link.line()]
        while lines[-1]:
            lines.append(link.line())
        mark, _, text = lines[0].partition(" ")
        if mark[1:] != str(self._number):
            raise Fault("wrong session", f"{lines[0]} answers command {self._number}")
        if mark[0] != "=" or (requested is not None and text != requested):
            raise Fault("protocol", f"{command}: {lines}")
        return text


class _Analyser(Talker):
    """KataGo's protocol over WebSocket: one final answer a turn, terminated or not."""

    def converse(self, ended: threading.Event) -> None:
        from websockets.sync.client import connect

        address = f"ws://127.0.0.1:{self.ports.http}/katago"
        with connect(address, open_timeout=_PATIENCE_S, max_size=None) as link:
            for _ in range(_ROUNDS):
                if ended.is_set():
                    return
                requested = self._ask(link.send)
                while requested:
                    self._hear(str(link.recv(_PATIENCE_S)), requested)
                self.rounds += 1

    def _ask(self, send: Any) -> set[tuple[str, int]]:
        """Send some queries and terminations; the final answers that they must get."""
        requested = set()
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
            requested |= {(name, turn) for turn in turns}
            if endless or self.chance.random() < 0.2:
                time.sleep(self.chance.uniform(0.0, 0.2))
                send(json.dumps({"id": f"{self.number}-stop", "action": "terminate", "terminateId": name}))
        return requested

    def _hear(self, text: str, requested: set[tuple[str, int]]) -> None:
        answer = json.loads(text)
        if "error" in answer or "warning" in answer:
            raise Fault("protocol", text)
        if not str(answer.get("id")).startswith(f"{self.number}-"):
            raise Fault("wrong session", text[:200])
        if "action" in answer:
            return
        key = answer["id"], answer["turnNumber"]
        if key not in requested:
            raise Fault("protocol", f"one answer too many: {text[:200]}")
        if not answer["isDuringSearch"]:
            requested.discard(key)


def new_talker(ports: Ports, number: int, seed: int) -> Talker:
    """The one of this number: of chess, shogi, Go and JSON by turns."""
    match number % 4:
        case 0:
            return _Mover(ports, number, seed, "chess")
        case 1:
            return _Mover(ports, number, seed, "shogi")
        case 2:
            return _Goer(ports, number, seed)
        case _:
            return _Analyser(ports, number, seed)
