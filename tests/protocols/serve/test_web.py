"""HTTP and WebSocket: conversations, one query by POST, refusals, hostile clients."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from az_engine.protocols.serve.access import AccessCheck, AccessError
from az_engine.protocols.serve.admission import Admission

from ...fakes.waiting import wait_for
from .lines import PATIENCE_S, RunningServer

TOKEN = "0123456789abcdef-a"
GO = {"id": "q", "moves": [], "rules": "tromp-taylor", "boardXSize": 5, "boardYSize": 5, "maxVisits": 20}


UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path / "log", http=True) as running:
        yield running


def port_of(server: RunningServer) -> int:
    assert server.web is not None
    return server.web.port


def web(server: RunningServer, path: str, **more: Any) -> ClientConnection:
    """A WebSocket."""
    made: ClientConnection = connect(
        f"ws://127.0.0.1:{port_of(server)}{path}", compression=None, open_timeout=PATIENCE_S, **more
    )
    return made


def ask(
    server: RunningServer, path: str, body: bytes | None = None, method: str = "", **headers: str
) -> tuple[int, bytes]:
    """Status and body of a response."""
    client = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=PATIENCE_S)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    client.request(method or ("GET" if body is None else "POST"), path, body, named)
    response = client.getresponse()
    said = response.status, response.read()
    client.close()
    return said


def until(client: ClientConnection, start: str) -> list[str]:
    """Messages up to the first that begins so."""
    said = []
    while True:
        said.append(str(client.recv(timeout=PATIENCE_S)))
        if said[-1].startswith(start):
            return said


def raw(server: RunningServer, data: bytes) -> bytes:
    """What a connection says to bytes, up to its end."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE_S) as link:
        link.sendall(data)
        said = b""
        try:
            while chunk := link.recv(65536):
                said += chunk
        except ConnectionError:
            pass
        return said


def frame(text: str) -> bytes:
    """A WebSocket's message, as a client sends it."""
    size = len(text)
    if size < 126:
        head = bytes([0x80 | size])
    else:
        head = b"\xfe" + size.to_bytes(2, "big") if size < 1 << 16 else b"\xff" + size.to_bytes(8, "big")
    return b"\x81" + head + bytes(4) + text.encode()


# ------------------------------------------------------------------------------------------------ what it does


def test_conversations_a_line_a_message(server: RunningServer) -> None:
    with web(server, "/uci") as chess, web(server, "/usi") as shogi, web(server, "/gtp") as go:
        chess.send("uci")
        assert "option name Hash type spin default 32 min 1 max 32" in until(chess, "uciok")
        shogi.send(b"usi\nisready\n")
        assert until(shogi, "readyok")
        go.send("name")
        assert [go.recv(), go.recv()] == ["= az-engine", ""]
        chess.send("go nodes 20")
        assert until(chess, "bestmove")[-1] == "bestmove a2a3 ponder a7a5"
        chess.send("quit")
        with pytest.raises(ConnectionClosed):
            until(chess, "nothing")
    wait_for(lambda: server.server.admitted == 0, "sessions are left over")


def test_katagos_protocol(server: RunningServer) -> None:
    with web(server, "/katago") as client:
        client.send(json.dumps({**GO, "id": "a"}) + "\n" + json.dumps({"id": "b", "action": "query_version"}))
        answers = {answer["id"]: answer for answer in (json.loads(client.recv()) for _ in range(2))}
        assert answers["a"]["rootInfo"]["visits"] == 20
        assert answers["b"]["action"] == "query_version"
        client.send(json.dumps({**GO, "id": "c", "maxVisits": 10**9, "reportDuringSearchEvery": 0.001}))
        assert json.loads(client.recv())["isDuringSearch"]
    wait_for(lambda: server.server.admitted == 0, "the search goes on")


def test_one_query_by_post(server: RunningServer) -> None:
    query = {**GO, "moves": [["B", "C3"]], "analyzeTurns": [0, 1]}
    status, body = ask(server, "/api/analyse", json.dumps(query).encode())
    answers = [json.loads(line) for line in body.splitlines()]
    assert status == 200
    assert sorted(answer["turnNumber"] for answer in answers) == [0, 1]
    status, body = ask(server, "/api/analyse", b'{"id": "x"}\nnonsense\n')
    assert [sorted(json.loads(line)) for line in body.splitlines()] == [["error", "field", "id"], ["error"]]
    wait_for(lambda: server.server.admitted == 0, "sessions are left over")


def test_a_client_that_leaves_a_post_ends_its_search(server: RunningServer) -> None:
    client = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=PATIENCE_S)
    query = {**GO, "maxVisits": 10**9, "reportDuringSearchEvery": 0.001}
    client.request("POST", "/api/analyse", json.dumps(query))
    response = client.getresponse()
    assert json.loads(response.readline())["isDuringSearch"]
    response.close()
    if client.sock is not None:
        client.sock.close()
    client.close()
    wait_for(lambda: server.server.admitted == 0, "the search goes on")


def test_health_and_figures(server: RunningServer) -> None:
    assert ask(server, "/healthz") == (200, b"ok\n")
    with web(server, "/uci") as client:
        client.send("uci")
        until(client, "uciok")
        status, body = ask(server, "/metrics")
    assert status == 200
    assert b'az_sessions{protocol="uci"} 1.0' in body
    assert b"az_sessions_limit 20.0" in body


def test_at_the_end_every_session_gets_its_move(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log", http=True) as server, web(server, "/uci") as client:
        client.send("uci\nisready\ngo infinite")
        until(client, "readyok")
        server.server.stop()
        said = until(client, "bestmove")
        assert "info string the server ends" in said
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=PATIENCE_S)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


# ------------------------------------------------------------------------------------------------ who may come in


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 0),
        ({"host": "127.0.0.1:8765"}, 0),
        ({"host": "[::1]:8765"}, 0),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:80"}, 421),
        ({"host": "localhost@evil.example"}, 400),
        ({"host": "local host"}, 421),
        ({"host": "localhost:99999"}, 400),
        ({"host": ""}, 400),
        ({"origin": "http://localhost:8765"}, 0),
        ({"origin": "https://good.example"}, 0),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": ""}, 403),
    ],
)
def test_hosts_and_origins(headers: dict[str, str], status: int) -> None:
    access = AccessCheck(Admission(4, 4), ("https://good.example",))
    given = {"host": "localhost:8765", **headers}
    if status:
        with pytest.raises(AccessError) as refused:
            access.pass_through(given, [given["host"]], "10.0.0.1", "")
        assert refused.value.status == status
    else:
        assert access.pass_through(given, [given["host"]], "10.0.0.1", "") == "10.0.0.1"


def test_two_hosts_and_wrong_tokens_are_refused() -> None:
    access = AccessCheck(Admission(4, 4, (TOKEN, TOKEN + "b")), (), local=False)
    with pytest.raises(AccessError, match="exactly one Host"):
        access.pass_through({}, ["a", "b"], "10.0.0.1", TOKEN)
    for headers, token in (({}, ""), ({}, TOKEN[:-1]), ({"authorization": "Bearer no"}, TOKEN), ({}, "\udc80é")):
        with pytest.raises(AccessError, match="token"):
            access.pass_through(headers, ["any.example"], "10.0.0.1", token)
    bearer = {"authorization": f"bearer {TOKEN}b"}
    assert access.pass_through(bearer, ["any.example"], "10.0.0.1", "") == "token 2"


def test_refusals_over_the_wire(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with RunningServer(log, http=True, tokens=(TOKEN,), most=1) as server:
        query = json.dumps(GO).encode()
        assert ask(server, "/healthz") == (200, b"ok\n")
        assert ask(server, "/metrics")[0] == 401
        assert ask(server, "/api/analyse", query)[0] == 401
        assert ask(server, "/api/analyse", query, authorization="Bearer " + TOKEN)[0] == 200
        status, answer = ask(server, f"/api/analyse?token={TOKEN}&game=halma", query)
        assert status == 404
        assert b"no halma is played here in KataGo's analysis protocol; there is chess, " in answer
        for path in ("/uci", "/uci?token=wrong", "/katago/wrong"):
            with pytest.raises(InvalidStatus) as refused:
                web(server, path)
            assert refused.value.response.status_code == 401
        with web(server, f"/katago/{TOKEN}") as client:
            client.send("{}")
            assert json.loads(client.recv()) == {"error": 'Request must have a string "id" field'}
            with pytest.raises(InvalidStatus) as refused:
                web(server, f"/uci?token={TOKEN}")
            assert refused.value.response.status_code == 503
            assert refused.value.response.headers["Retry-After"] == "10"
            assert ask(server, "/api/analyse", query, authorization="Bearer " + TOKEN)[0] == 503
    assert TOKEN not in log.read_text()
    assert "wrong" not in "".join(line for line in log.read_text().splitlines() if "path" in line)


def test_pages_of_others_are_refused(server: RunningServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        web(server, "/uci", origin="https://evil.example")
    assert refused.value.response.status_code == 403
    assert ask(server, "/api/analyse", b"{}", origin="https://evil.example")[0] == 403
    assert ask(server, "/metrics", host="evil.example")[0] == 421


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/uci", "/katago/x/y", "/\xff", "/api"]
)
def test_there_is_nothing_else(server: RunningServer, path: str) -> None:
    assert raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())[9:12] in (
        b"404", b"400",
    )  # fmt: skip
    assert ask(server, "/api/analyse")[0] == 405
    assert ask(server, "/healthz", b"x")[0] == 405


# ------------------------------------------------------------------------------------------------ hostile


POST = "POST /api/analyse HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (f"{POST}Content-Length: 1073741824\r\n\r\n", b"413"),
        (f"{POST}Content-Length: -1\r\n\r\n", b"400"),
        (f"{POST}Content-Length: 0\r\n\r\n", b"400"),
        (f"{POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (f"{POST}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", b"400"),
        (f"{POST}Transfer-Encoding: chunked\r\n\r\n" + 40 * f"8000\r\n{'x' * 0x8000}\r\n", b"413"),
        ("GET / HTTP/1.1\r\n\r\n", b"400"),
        ("GET /nothing HTTP/9.9\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"404"),
        ("uci\n\n", b"400"),
        ("\x16\x03\x01\x02\x00\x01", b"400"),
        ("GET /" + 300_000 * "x" + " HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        ("GET / HTTP/1.1\r\n" + "A: b\r\n" * 50_000, b"400"),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", b"400"),
        ("GET /uci HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", b"400"),
    ],
)
def test_hostile_requests_get_one_refusal(server: RunningServer, request_: str, status: bytes) -> None:
    with web(server, "/uci") as other:
        said = raw(server, request_.encode("latin-1"))
        assert said.startswith(b"HTTP/1.1 " + status), said[:200]
        assert said.count(b"HTTP/1.1 ") == 1
        other.send("uci")
        until(other, "uciok")


@pytest.mark.slow
def test_slow_senders(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("az_engine.protocols.serve.listener.HELLO_S", 1.0)
    monkeypatch.setattr("az_engine.protocols.serve.web.PATIENCE_S", 0.5)
    assert raw(server, b"").startswith(b"HTTP/1.1 408")
    assert raw(server, b"GET /healthz HT").startswith(b"HTTP/1.1 408")
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE_S) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while not link.recv(1000).endswith(b"ok\n"):
            pass
        link.sendall(b"GET /hea")
        assert link.recv(1000).startswith(b"HTTP/1.1 408")
    assert b" 408 " in raw(server, f"{POST}Content-Length: 50\r\nConnection: close\r\n\r\nxyz".encode())


def test_bad_frames_end_the_connection(server: RunningServer) -> None:
    frames = {
        b"\xff\xff" * 8: 1002,  # reserved bits
        b"\x81\x05hello": 1002,  # not masked
        b"\x81\xff" + (1 << 30).to_bytes(8, "big") + b"mask": 1009,  # a message of 1 GiB
        b"\x81\x81mask" + bytes([0xFF ^ ord("m")]): 1007,  # not UTF-8
        b"\x83\x80mask": 1002,  # an unknown opcode
    }
    for bad, code in frames.items():
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE_S) as link:
            link.sendall(UPGRADE % b"/katago")
            assert link.recv(1000).startswith(b"HTTP/1.1 101")
            link.sendall(bad)
            said = link.recv(1000)
            assert (said[0], said[2:4]) == (0x88, code.to_bytes(2, "big")), (bad, said)
    wait_for(lambda: server.server.admitted == 0, "sessions are left over")


def test_a_message_that_is_too_long(server: RunningServer) -> None:
    def refusal() -> int | None:
        with web(server, "/katago") as client:
            with contextlib.suppress(ConnectionClosed):
                client.send("x" * (1 << 21))
            with pytest.raises(ConnectionClosed) as closed:
                client.recv(timeout=PATIENCE_S)
            return None if closed.value.rcvd is None else closed.value.rcvd.code

    codes = (refusal() for _ in range(10))
    assert next((code for code in codes if code is not None), None) == 1009  # None: the connection's end overtook it


@pytest.mark.slow
def test_silent_connections_shut_nobody_out(server: RunningServer) -> None:
    ports = (port_of(server), server.server.port)
    with web(server, "/uci") as other:
        links = [socket.create_connection(("127.0.0.1", ports[i % 2]), timeout=PATIENCE_S) for i in range(400)]
        assert links[0].recv(100).startswith(b"HTTP/1.1 503")
        other.send("uci")
        until(other, "uciok")
        for _ in range(3):
            assert ask(server, "/healthz") == (200, b"ok\n")
            with server.client("uci") as client:
                client.until("uciok")
        for link in links:
            link.close()


def katago(moves: int, visits: int) -> str:
    query = {**GO, "boardXSize": 19, "boardYSize": 19, "maxVisits": visits}
    return json.dumps({**query, "moves": [["BW"[i % 2], "pass"] for i in range(moves)]})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells at once")
@pytest.mark.parametrize(
    ("path", "messages"),
    [
        ("/katago", [katago(0, 10**8)] * 2 + [katago(2000, 1)] * 30),
        ("/katago", [katago(0, 10**8)] * 5 + [katago(5000, 1)] * 200),
        ("/katago", [katago(0, 10**8)] * 2 + ["[" * 1000] * 10_000),
        ("/uci", ["uci", "isready", "go infinite", *["setoption name MultiPV value 500"] * 20_000]),
        ("/gtp", ["boardsize 5", "time_settings 200000 0 0", "genmove b", *["name"] * 20_000]),
        ("/page", ['{"do":"search"}'] * 3),
    ],
)
@pytest.mark.parametrize("way", ["RST", "FIN"])
def test_a_client_that_is_gone_ends_its_work(tmp_path: Path, path: str, messages: list[str], way: str) -> None:
    with RunningServer(tmp_path / "log", http=True) as server:
        link = socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE_S)
        link.sendall(UPGRADE % path.encode())
        link.recv(65536)
        link.settimeout(1.0)
        with contextlib.suppress(OSError):
            link.sendall(b"".join(map(frame, messages)))
        wait_for(lambda: server.server.admitted == 1, "nobody is let in")
        time.sleep(0.5)  # for the work to begin
        assert server.server.admitted == 1
        if way == "RST":
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.close()
        wait_for(lambda: server.server.admitted == 0, "the session goes on")


@pytest.mark.slow
def test_a_client_that_reads_nothing_loses_its_session(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("az_engine.protocols.serve.web.PATIENCE_S", 3.0)  # enough for one that reads
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE_S) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.sendall(UPGRADE % b"/uci")

        def flood() -> None:
            try:
                for _ in range(200):
                    link.sendall(frame("uci\n" * 1000))
            except OSError:
                return

        sender = threading.Thread(target=flood, daemon=True)
        sender.start()
        with web(server, "/uci") as other:
            other.send("uci")
            until(other, "uciok")
        wait_for(lambda: server.server.admitted == 0, "the deaf client keeps its session")
        sender.join(PATIENCE_S)
