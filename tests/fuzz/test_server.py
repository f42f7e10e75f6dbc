"""Mutated JSON of the page and of KataGo's protocol, and lines over TCP: every message gets its answer."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import re
import socket
import struct
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.params import EngineOptions
from az_engine.protocols.lines import LineWriter, clean
from az_engine.protocols.options import OptionValues
from az_engine.protocols.page.session import PageSession

from ..protocols.analysis.talk import PLAIN, AnalysisTalk
from ..protocols.serve.lines import RunningServer
from ..protocols.talk import Conversation
from .campaign import TIMEOUT, Campaign, mutate_bytes, mutate_list
from .test_sessions import CHESS, CHESS_SESSION, GO, GO_SESSION, SHOGI, SHOGI_SESSION, harmless, mutated

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT)]

GAMES = ("chess", "shogi", "go")
PROTOCOLS = {"chess": "uci", "shogi": "usi", "go": "gtp"}
FEN = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
ATOMS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 19, 26, 0.5, -0.5, 1e300, 1e5, 1 << 31, 1 << 63, 1 << 70, float("nan"),
    float("inf"), "", "x", "e2e4", "7g7f", "C3", "pass", "startpos", "chess", "go", "PGN", "SGF", "KIF", "page",
    "\ud800", "\0", "歩", "x" * 2000, FEN, [], {}, [[]], [None], ["e2e4"], [1], {"size": 5}, {"score": 0.5},
    {"format": "PGN", "text": "1. e4 *"},
]  # fmt: skip
PGN, KIF = '[White "A"]\n\n1. e4 {x} (1. d4) e5 *\n', "手数----指手---------\n   1 ７六歩(77)\n   2 ３四歩(33)\n"
CLOCK = {"first": 90, "second": 90, "add": 10, "byoyomi": 0}
VALUES = [{"score": 0.7, "lead": None, "visits": 9, "best": ["d2d4"], "words": ["d4"]}, {"score": 0.4}]
PAGE: dict[str, list[dict[str, Any]]] = {
    "chess": [
        {"do": "game", "moves": ["e2e4", "e7e5"], "known": 1, "at": 1, "kanji": False, "lines": ["d2d4 d7d5", "c7c5"]},
        {"do": "search", "moves": ["e2e4"], "visits": 30, "states": 5, "lines": 3, "every": 100, "only": ["e7e5"]},
        {"do": "search", "moves": [], "play": True, "elo": 1500, "clock": CLOCK},
        {"do": "search", "root": FEN, "moves": ["e1g1"], "seconds": 0.02, "fresh": True},
        {"do": "read", "text": PGN, "name": "a.pgn", "number": 1},
        {"do": "load", "data": "MS4gZTQgZTUgMi4gTmYzICo=", "name": "b.pgn"},
        {"do": "write", "format": "PGN", "moves": ["e2e4"], "source": {"format": "PGN", "text": PGN}, "values": VALUES},
        {"do": "write", "format": "PGN", "moves": ["e2e4"], "names": ["A", "B"], "result": 1},
        {"do": "write", "format": "page", "language": "ja", "moves": ["e2e4"], "values": VALUES},
        {"do": "stop"},
    ],
    "shogi": [
        {"do": "game", "moves": ["7g7f", "3c3d"], "kanji": True, "lines": ["2g2f 8c8d"]},
        {"do": "search", "moves": ["7g7f"], "visits": 20, "states": 3},
        {"do": "read", "text": KIF},
        {"do": "read", "text": "PI\n+\n+7776FU\n-3334FU\n%TORYO\n", "name": "a.csa"},
        {"do": "write", "format": "KIF", "moves": ["7g7f"], "values": [{"score": 0.5, "best": ["2g2f"]}, None]},
        {"do": "stop"},
    ],
    "go": [
        {"do": "game", "start": {"size": 5, "komi": 6.5, "rules": "japanese", "handicap": 2}},
        {"do": "count", "root": "3/3/3 b - 0.5", "moves": ["B2", "A1", "pass", "pass"], "dead": ["A1"], "toggle": "B2"},
        {"do": "count", "root": "3/3/3 b - 0.5", "moves": ["B2"], "propose": True},
        {"do": "search", "root": "3/3/3 b - 0.5", "moves": ["B2"], "visits": 25, "states": 4},
        {"do": "read", "text": "(;GM[1]SZ[5];B[cc](;W[dd])(;W[aa]))"},
        {"do": "write", "format": "SGF", "root": "5/5/5/5/5 b - 7.5", "moves": ["C3"], "values": [{"score": 0.5}]},
        {"do": "stop"},
    ],
}
_SIDE_BY_SIDE = 8  # connections
_GO = {"rules": "chinese", "boardXSize": 5, "boardYSize": 5}
QUERIES: list[dict[str, Any]] = [
    {**_GO, "moves": [["B", "C3"], ["W", "B2"]], "analyzeTurns": [0, 1, 2], "maxVisits": 20, "komi": 7.5},
    {**_GO, "moves": [], "initialStones": [["B", "C3"]], "initialPlayer": "W", "includePolicy": True, "maxVisits": 10},
    {
        **_GO,
        "moves": [["B", "pass"]],
        "avoidMoves": [{"player": "W", "moves": ["C3"], "untilDepth": 2}],
        "maxVisits": 9,
    },
    {
        **_GO,
        "moves": [["B", "C3"]],
        "reportDuringSearchEvery": 0.01,
        "priority": 3,
        "maxVisits": 60,
        "analysisPVLen": 3,
    },
    {**_GO, "moves": [], "overrideSettings": {"maxTime": 0.02, "cpuctExploration": 1.1}, "includeOwnership": True},
    {"action": "query_version"},
    {"action": "clear_cache"},
    {"action": "terminate", "terminateId": "q1", "turnNumbers": [0, 1]},
    {"action": "terminate_all"},
]


def mutate_json(value: Any, rng: random.Random, known: list[str]) -> Any:
    """A value with a few others in places of its own; ``known``: names of fields."""
    if isinstance(value, dict):
        changed = {name: mutate_json(each, rng, known) if rng.random() < 0.3 else each for name, each in value.items()}
        match rng.randrange(8):
            case 0 if changed:
                del changed[rng.choice([*changed])]
            case 1:
                changed[rng.choice(known)] = rng.choice(ATOMS)
            case 2 if changed:
                changed[rng.choice([*changed])] = rng.choice(ATOMS)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        match rng.randrange(4):
            case 0:
                return [*value[:at], *value[at + 1 :]]
            case 1:
                return [*value, *[value[at]] * rng.choice((1, 2, 50))]
            case _:
                return [*value[:at], mutate_json(value[at], rng, known), *value[at + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.6:
        data = mutate_bytes(value.encode("utf-8", "surrogatepass"), rng)
        return data.decode("utf-8", rng.choice(("surrogateescape", "replace")))
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return value * rng.choice((-1, 2, 10, 1000)) + rng.choice((0, 0, 1, -1))
    return rng.choice(ATOMS)


def messages(seeds: list[dict[str, Any]], rng: random.Random) -> list[str]:
    """A mutated conversation, each message with a number ``id`` of its own unless a mutation took it."""
    known = sorted({name for seed in seeds for name in seed})
    lines = []
    for number in range(rng.randint(1, 8)):
        message = {"id": number + 1, **rng.choice(seeds)}
        lines.append(json.dumps(mutate_json(message, rng, known) if rng.random() < 0.7 else message))
    lines = mutate_list(lines, rng, lambda line: mutate_bytes(line.encode(), rng).decode("utf-8", "replace"))
    return [clean(line.replace("\n", " ").encode("utf-8", "surrogateescape")) for line in lines]


class PageTalk(Conversation):
    """A page's conversation with the real engine, without a net."""

    patience_s = 240.0

    def __init__(self, game: str) -> None:
        super().__init__(0)
        values = OptionValues(PROTOCOLS[game], PLAIN, caps={})
        make = partial(_engine, game)
        self.start(PageSession.of(game, GAMES)(make, values, LineWriter(self.session_out)).run)


def _engine(game: str, options: EngineOptions) -> Engine:
    return Engine(game, options)


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Every message gets one last answer but ``stop``, also after any other message."""
    for game in GAMES:
        Engine(game, EngineOptions(weights_file="uniform")).ready()  # compiles: no case is charged for it
    campaign = Campaign("JSON of the page")
    gc.freeze()
    for rng in campaign.cases():
        game = rng.choice(GAMES)
        lines = [line for line in messages(PAGE[game], rng) if line.strip()]
        case = f"{campaign.case}:\n" + "\n".join(line[:300] for line in lines)
        with PageTalk(game) as talk:
            talk.send(*lines, '{"do":"stop"}', '{"do":"game","id":987654}')
            last: list[dict[str, Any]] = []
            while not last or last[-1]["id"] != 987654:
                line = talk.line()
                assert line is not None, f"{case}\n-> the session has ended"
                heard = json.loads(line)
                assert "internal error" not in heard.get("text", "") or heard["is"] == "file", f"{case}\n-> {line}"
                if heard["is"] in ("game", "count", "record", "file", "answer", "error"):
                    last.append(heard)
        gc.collect()
        assert last[-1]["is"] == "game", case
        assert len(last) - 1 == sum(map(asks, lines)), f"{case}\n-> {last}"
        campaign.count("messages", len(lines))
        campaign.count("errors", sum(each["is"] == "error" for each in last))
        assert "Traceback" not in capsys.readouterr().err, case


def asks(line: str) -> bool:
    """Whether a message of the page gets an answer: all but ``stop`` without a fault."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return True
    if not isinstance(given, dict) or given.get("do") != "stop":
        return True
    number = given.get("id", 0)
    language = given.get("language")
    if not isinstance(language, str | None) or len(language or "") > 1000:
        return True
    return number is not None and (
        not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= 1 << 53
    )


def test_katago(capsys: pytest.CaptureFixture[str]) -> None:
    """A query gets one error, or one final answer for each of its turns; the protocol goes on."""
    Engine("go", EngineOptions(weights_file="uniform")).ready()
    campaign = Campaign("JSON of KataGo's protocol")
    gc.freeze()
    known = sorted(
        {name for query in QUERIES for name in query} | {"initialPosition", "includePVVisits", "whiteHandicapBonus"}
    )
    for rng in campaign.cases():
        lines: list[str] = []
        asked = set[str]()
        for number in range(rng.randint(1, 8)):
            query = rng.choice(QUERIES)
            query = mutate_json(query, rng, known) if rng.random() < 0.7 else query
            text = json.dumps({**query, "id": f"q{number}"})
            if rng.random() < 0.1:
                text = mutate_bytes(text.encode(), rng).decode("utf-8", "replace").replace("\n", " ")
            elif not isinstance(query.get("action"), str) and not re.search("NaN|Infinity", text):  # which are no JSON
                asked.add(f"q{number}")
            lines.append(text)
        case = f"{campaign.case}:\n" + "\n".join(line[:300] for line in lines)
        with AnalysisTalk(remote=True, analysts=2) as talk:
            talk.send(*lines, '{"id":"end","action":"terminate_all"}', '{"id":"last","action":"query_version"}')
            found = talk.answers()
        gc.collect()  # as the server does: sessions refer to themselves
        finals, faults = Counter[tuple[str, int]](), Counter[str]()
        for answer in found:
            assert "internal error" not in answer.get("error", ""), f"{case}\n-> {answer}"
            if answer.get("isDuringSearch") is False:
                finals[answer["id"], answer["turnNumber"]] += 1
            elif "error" in answer:
                faults[str(answer.get("id"))] += 1
        assert any(answer.get("id") == "last" for answer in found), case
        assert all(count == 1 for count in finals.values()), f"{case}\n-> {finals}"
        answered = {name for name, _ in finals}
        assert all((name in answered) + faults[name] >= 1 for name in asked), f"{case}\n-> {found}"
        campaign.count("messages", len(lines))
        campaign.count("answers", len(finals))
        campaign.count("errors", faults.total())
        assert "Traceback" not in capsys.readouterr().err, case


def test_lines_over_tcp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a connection says, and however it ends, the server goes on, and keeps nothing of it."""
    campaign = Campaign("lines over TCP")
    usual = [(CHESS_SESSION, CHESS), (SHOGI_SESSION, SHOGI), (GO_SESSION, GO), (["token x", "game go", "name"], GO)]
    Engine("go", EngineOptions(weights_file="uniform")).ready()
    with RunningServer(tmp_path / "log", most=40, per_client=40) as server:
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  a path has no cheaper way
        for rng in campaign.cases():
            talks = []
            for _ in range(_SIDE_BY_SIDE):
                seed, words = rng.choice(usual)
                lines = [line for line in mutated(seed, rng, words) if harmless(line)]
                text = "".join(line + rng.choice(("\n", "\n", "\r\n")) for line in lines)
                data = text.encode("utf-8", "surrogateescape")
                talks.append(mutate_bytes(data, rng) if rng.random() < 0.3 else data)
                campaign.count("lines", len(lines))
            case = f"{campaign.case}:\n{[data[:1000] for data in talks]}"
            talk = partial(_talk, server.server.port)
            sources = [random.Random(rng.random()) for _ in talks]
            with ThreadPoolExecutor(len(talks)) as pool:
                list(pool.map(talk, talks, sources))
            with server.client("uci") as client:
                assert client.until("uciok"), case
            assert "Traceback" not in capsys.readouterr().err, case
    assert '"leak"' not in (tmp_path / "log").read_text()
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
    assert server.server.admitted == 0


def _talk(port: int, data: bytes, rng: random.Random) -> None:
    """One connection: it sends in pieces, reads some answers, all or none, and then closes or resets it."""
    with socket.create_connection(("127.0.0.1", port), timeout=60.0) as link, contextlib.suppress(ConnectionError):
        while data:
            piece = rng.choice((1, 7, 1000, len(data)))
            link.sendall(data[:piece])
            data = data[piece:]
        match rng.randrange(4):
            case 0:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case 1:
                link.sendall(b"\nstop\nquit\n")
                link.shutdown(socket.SHUT_WR)
                while link.recv(1 << 16):
                    continue
            case 2:
                link.recv(1000)
