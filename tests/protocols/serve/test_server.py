"""Sessions over TCP: the same answers as on stdin, refusals, hostile clients, the end."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from az_engine.engine.errors import OptionError
from az_engine.protocols.serve.admission import Admission, RefusedError, WrongTokenError, loopback, read_tokens
from az_engine.protocols.serve.connection import read_hello
from az_engine.protocols.serve.events import EventLog
from az_engine.protocols.serve.server import Rules

from ...fakes.engine import faulty
from ...fakes.waiting import wait_for
from ..process import COMMAND, EngineProcess
from .lines import PATIENCE_S, LineClient, RunningServer

pytestmark = pytest.mark.slow

TOKEN = "0123456789abcdef-a"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path / "log") as running:
        yield running


def test_the_first_line_tells_the_protocol(server: RunningServer) -> None:
    with server.client("uci") as chess, server.client("usi") as shogi, server.client("name") as go:
        assert "uciok" in chess.until("uciok")
        assert "usiok" in shogi.until("usiok")
        assert go.line() == "= az-engine"
        shogi.send("isready", "go nodes 20")
        chess.send("isready", "go nodes 20")
        assert chess.until("bestmove")[-1] == "bestmove a2a3 ponder a7a5"
        assert shogi.until("bestmove")[-1] == "bestmove 1g1f ponder 1a1b"


@pytest.mark.parametrize(
    ("said", "hello"),
    [
        (b"uci\r\nisready\n", ("uci", "", "", b"uci\r\nisready\n")),
        (b"\n# a comment\n1 protocol_version\n", ("gtp", "", "", b"1 protocol_version\n")),
        (b"token abc\ngame shogi\nusi\ngo\n", ("usi", "abc", "shogi", b"usi\ngo\n")),
        (b"token abc\n", None),
        (b"", None),
    ],
)
def test_hellos(said: bytes, hello: tuple[str, str, str, bytes] | None) -> None:
    found = read_hello(said.split(b"\n")[:-1], said)
    assert hello == (found and (found.protocol, found.token, found.game, found.begun))


HTTP_LINES = [
    "GET / HTTP/1.1",
    "uci /x HTTP/1.1",
    "usi / http/1.0",
    "token /t HTTP/1.1\r",
    "game / HTTP/2.0",
    "# / HTTP/1.1",
]


@pytest.mark.parametrize("line", [*HTTP_LINES, "isready", "go infinite", "\x16\x03\x01\x02", "{}", "\udcff\udcfe"])
def test_a_line_that_opens_nothing_gets_one_refusal(server: RunningServer, line: str) -> None:
    with server.client() as client:
        client.socket.sendall(line.encode("utf-8", "surrogateescape") + b"\nuci\n")
        said = client.rest()
    assert len(said) == 1
    assert said[0].startswith("error: ")


def test_sessions_do_not_hear_each_other(server: RunningServer) -> None:
    moves = ["a2a3", "b2b3", "c2c3", "d2d3", "e2e3", "f2f3", "g2g3", "h2h3"]
    clients = [server.client("uci", f"go nodes 500 searchmoves {move}") for move in moves]
    for client, move in zip(clients, moves, strict=True):
        with client:
            assert client.until("bestmove")[-1].split()[1] == move


def test_over_the_network_no_files_and_no_devices(server: RunningServer, tmp_path: Path) -> None:
    with server.client("uci") as client:
        shown = "\n".join(client.until("uciok"))
        assert not any(name in shown for name in ("WeightsFile", "LogFile", "Provider"))
        assert "option name Hash type spin default 32 min 1 max 32" in shown
        path = tmp_path / "mine"
        client.send(f"setoption name LogFile value {path}", "setoption name WeightsFile value /etc/passwd")
        client.send("setoption name Hash value 4096", "go perft 3", "isready")
        said = client.until("readyok")
    assert not path.exists()
    assert said[:4] == [
        "info string LogFile is set where the server starts, not over the network",
        "info string WeightsFile is set where the server starts, not over the network",
        "info string Hash 4096 is more than this server gives to one session: it is 32",
        "info string go perft is not answered over the network",
    ]
    with server.client("loadsgf /etc/passwd") as client:
        assert client.line() == "? cannot load file: files are not read over the network"
        client.send("kata-set-param numSearchThreads 100", "kata-get-param numSearchThreads")
        assert [line for line in (client.line() for _ in range(5)) if line] == ["=", "= 2"]


def test_a_full_server_answers_in_the_protocols_words(tmp_path: Path) -> None:
    full = "server full for you: you have 1 sessions already, close one first"
    with RunningServer(tmp_path / "log", most=3, per_client=1) as server, server.client("uci") as first:
        first.until("uciok")
        for hello, refusal in (("uci", f"info string {full}"), ("usi", f"info string {full}"), ("name", f"? {full}")):
            with server.client(hello) as client:
                assert [line for line in client.rest() if line] == [refusal]
        first.send("quit")
        assert first.rest() == []
        wait_for(lambda: server.server.admitted == 0, "the session has not left")
        with server.client("uci") as second:
            second.until("uciok")


def test_tokens_open_the_door(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log", tokens=(TOKEN,)) as server:
        with server.client("uci") as client:
            assert client.rest() == ["info string this server asks for a token: send `token TOKEN` first"]
        with server.client("token nonsense", "usi") as client:
            assert client.rest() == ["info string this token is wrong"]
        with server.client(f"token {TOKEN}", "game chess", "uci") as client:
            client.until("uciok")
        with server.client(f"token {TOKEN}", "game shogi", "uci") as client:
            assert client.rest()[0].startswith("info string no shogi is played here over UCI; there is chess (UCI)")
    assert TOKEN not in (tmp_path / "log").read_text()


def test_clients_are_told_apart() -> None:
    one, many = Admission(4, 1, (TOKEN,)), Admission(4, 1, (TOKEN, TOKEN + "b"))
    assert one.identify("10.0.0.1", TOKEN) == "10.0.0.1"
    assert many.identify("10.0.0.1", TOKEN + "b") == many.identify("10.0.0.2", TOKEN + "b") == "token 2"
    many.enter("a")
    with pytest.raises(RefusedError, match="for you"):
        many.enter("a")
    for name in "bcd":
        many.enter(name)
    with pytest.raises(RefusedError, match="all 4 sessions"):
        many.enter("e")
    many.leave("d")
    many.enter("e")


def test_the_file_of_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "tokens"
    (token,) = read_tokens(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_tokens(path) == (token,)
    assert len(token) == 32
    path.chmod(0o644)
    with pytest.raises(OptionError, match="others can read"):
        read_tokens(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(OptionError, match="at least 16"):
        read_tokens(path)
    path.chmod(0o666)  # as each file is on Windows
    path.write_text(token)
    monkeypatch.setattr(sys, "platform", "win32")
    assert read_tokens(path) == (token,)


def test_which_addresses_are_of_this_machine_alone() -> None:
    assert [loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def flood(client: LineClient) -> None:
    """Send a line of 1 GiB, or as much as is taken."""
    block, sent = b"x" * (1 << 16), 0
    with contextlib.suppress(ConnectionError):
        while sent < 1 << 30:
            sent += client.socket.send(block)
    assert sent < 1 << 30


def test_a_line_without_end_ends_the_session(server: RunningServer) -> None:
    with server.client("uci") as other, server.client("uci") as client:
        client.until("uciok")
        flood(client)
        other.until("uciok")
        other.send("isready")
        other.until("readyok")
    with server.client() as client:
        flood(client)


def test_a_client_that_says_nothing_is_refused(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("az_engine.protocols.serve.connection.HELLO_S", 0.1)
    with server.client() as client:
        client.socket.sendall(b"uc")
        assert client.rest() == ["error: nothing to answer came within 0 s"]


def test_a_silent_session_ends(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log", rules=Rules(idle_s=2.0)) as server, server.client("uci") as client:
        client.until("uciok")
        assert client.rest() == ["info string nothing came for 2 s: the server closes this session"]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_resets_leave_nothing_behind(server: RunningServer) -> None:
    with server.client("uci") as client:
        client.until("uciok")  # what is loaded late is loaded
    wait_for(lambda: not server.server.sessions(), "the first is still there")
    threads, descriptors = threading.active_count(), open_files()
    clients = [server.client("uci", "isready", "go infinite") for _ in range(16)]
    for client in clients:
        client.until("readyok")
    for client in clients:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client._stream.close()  # noqa: SLF001
        client.socket.close()
    wait_for(lambda: not server.server.sessions(), "sessions are left over")
    wait_for(lambda: threading.active_count() <= threads, "threads are left over")
    assert open_files() <= descriptors
    assert server.server.admitted == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells at once")
@pytest.mark.parametrize("closed", ["RST", "FIN"])
@pytest.mark.parametrize(
    "said",
    [
        ("uci", "isready", "go infinite"),
        ("uci", "isready", "go nodes 1000000000", *["uci"] * 5000),  # the answers are not read
        ("usi", "isready", "go btime 100000000 wtime 100000000"),
        ("boardsize 5", "time_settings 200000 0 0", "genmove b", *["name"] * 5000),
        ("boardsize 5", "kata-analyze 1"),
    ],
)
def test_a_client_that_is_gone_ends_its_work(server: RunningServer, said: tuple[str, ...], closed: str) -> None:
    client = server.client(*said)
    wait_for(lambda: server.server.admitted == 1, "nobody is let in")
    time.sleep(0.5)  # for the work to begin
    assert server.server.admitted == 1
    if closed == "RST":
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.__exit__()
    wait_for(lambda: server.server.admitted == 0, "the session goes on")


def test_a_client_that_has_said_all_gets_its_answers(server: RunningServer) -> None:
    with server.client("boardsize 5", "time_settings 0 3 1", "genmove b", "name") as client:
        client.socket.shutdown(socket.SHUT_WR)
        assert [line for line in client.rest() if line][-1] == "= az-engine"


def test_a_client_that_reads_nothing_holds_nobody_up(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log") as server, server.client("uci", "go infinite") as deaf:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.send(*["uci"] * 4000)
        with server.client("uci", "isready") as other:
            other.until("readyok")


def test_at_the_end_every_session_gets_its_move(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log") as server:
        clients = [server.client("uci", "isready", "go infinite") for _ in range(3)]
        waiting = server.client()
        for client in clients:
            client.until("readyok")
        server.end()
        for client in clients:
            with client:
                said = client.rest()
                assert said[-1] == "bestmove a2a3 ponder a7a5"
                assert "info string the server ends" in said
        with waiting:
            assert waiting.rest() == []
        with pytest.raises(OSError, match="refused"):
            server.client()


def test_a_bug_in_one_session_is_its_own(tmp_path: Path) -> None:
    make = faulty(faults={"set_position": RuntimeError("a bug")})
    with RunningServer(tmp_path / "log", chess=make) as server, server.client("usi") as other:
        other.until("usiok")
        with server.client("uci", "position startpos", "go nodes 10") as client:
            assert "info string internal error, please report it: RuntimeError: a bug" in client.rest()
        other.send("isready")
        other.until("readyok")


def test_the_log_has_every_session(server: RunningServer) -> None:
    with server.client("uci", "quit") as client:
        client.rest()
    wait_for(lambda: not server.server.sessions(), "still there")
    events = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert [(each["event"], each["session"]) for each in events] == [("open", 1), ("close", 1)]
    assert events[0]["client"] == "127.0.0.1"


def test_a_log_is_opened_anew_and_what_anybody_can_cause_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EventLog(tmp_path / "log")
    for _ in range(1000):
        log.write("refuse", reason="again")
        log.write("open")
    assert len((tmp_path / "log").read_text().splitlines()) == 1060
    (tmp_path / "log").rename(tmp_path / "old")
    log.stale = True
    monkeypatch.setattr("az_engine.protocols.serve.events._MINUTE_S", 0.0)
    log.write("refuse", reason="once more")
    log.close()
    (event,) = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert (event["event"], event["left_out"]) == ("refuse", 940)
    assert log.counts == {"refuse": 1001, "open": 1000}


def test_wrong_tokens_are_answered_ever_later() -> None:
    admission = Admission(2, 2, (TOKEN,))

    def seconds(address: str) -> float:
        with pytest.raises(WrongTokenError) as caught:
            admission.identify(address, "guess")
        return caught.value.seconds

    assert [seconds("1.2.3.4") for _ in range(9)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8.0, 8.0]
    assert {seconds("1.2.3.4") for _ in range(2000)} == {8.0}
    assert seconds("1.2.3.5") == 0.1
    assert admission.identify("1.2.3.4", TOKEN) == "1.2.3.4"


# ------------------------------------------------------------------------------------------------ the real command


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGQUIT", "SIGALRM"])
def test_every_end_gives_searching_clients_their_move(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    command = [*COMMAND, "serve", "--game", "chess=uniform", "--port", "0", "--http-port", "none", "--threads", "1"]
    with subprocess.Popen([*command, "--log-file", str(log)]) as process:
        try:
            wait_for(lambda: log.exists() and '"ready"' in log.read_text(), "it does not start")
            port = json.loads(log.read_text().splitlines()[-1])["port"]
            clients = [LineClient(port, "uci", "isready", "go infinite") for _ in range(4)]
            for client in clients:
                client.until("readyok")
            if name == "SIGTERM":
                log.rename(tmp_path / "old")
                for harmless in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                    process.send_signal(harmless)
                wait_for(lambda: log.exists() and '"sessions": {"uci": 4}' in log.read_text(), "no status")
            process.send_signal(getattr(signal, name))
            for client in clients:
                with client:
                    assert client.rest()[-1].startswith("bestmove ")
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


GAME = [
    "setoption name Threads value 1",
    "setoption name BatchSize value 8",  # not what each process measures for itself
    "isready",
    "position startpos moves e2e4 e7e5",
    "go nodes 300",
    "position startpos moves e2e4 e7e5 g1f3 b8c6",
    "go nodes 200",
    "ucinewgame",
    "position startpos",
    "go nodes 150",
]


def essence(lines: list[str]) -> list[str]:
    """Answers and final reports, without times."""
    kept = [line for line in lines if line.startswith(("bestmove", "info depth"))]
    final = [line for i, line in enumerate(kept) if line.startswith("bestmove") or kept[i + 1].startswith("bestmove")]
    return [re.sub(r" (nps|time) \d+", "", line) for line in final]


def test_an_answer_over_tcp_is_the_one_on_stdin() -> None:
    with EngineProcess() as alone:
        alone.send("uci", *GAME)
        said = [line for _ in range(3) for line in alone.until("bestmove", 200)]
    command = [*COMMAND, "serve", "--game", "chess", "--port", "0", "--http-port", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            port = next(json.loads(line)["port"] for line in process.stderr if '"ready"' in line)
            with LineClient(port, "uci", *GAME) as client:
                heard = [line for _ in range(3) for line in client.until("bestmove")]
                client.send("go infinite", "isready")
                client.until("readyok")
                process.send_signal(signal.SIGTERM)
                assert client.rest()[-1].startswith("bestmove ")
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
    assert essence(heard) == essence(said)
    assert len(essence(said)) == 6


def test_memory_stays_level() -> None:
    def converse(port: int) -> None:
        with LineClient(port, "uci", "setoption name Hash value 16", "isready", "go nodes 300") as client:
            client.until("bestmove")
            client.send("quit")
            client.rest()

    command = [*COMMAND, "serve", "--game", "chess=uniform", "--port", "0", "--http-port", "none", "--threads", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            port = next(json.loads(line)["port"] for line in process.stderr if '"ready"' in line)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            sizes = []
            for _ in range(16):
                clients = [threading.Thread(target=converse, args=(port,)) for _ in range(8)]
                for client in clients:
                    client.start()
                for client in clients:
                    client.join()
                time.sleep(1.5)  # the server looks once a second for what to give back
                sizes.append(int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]))
        finally:
            process.kill()
    assert min(sizes[8:]) < 1.1 * max(sizes[:4]), sizes  # a tree may not be given back yet when it is looked at


@pytest.mark.parametrize("token", [False, True])
def test_a_terminal_is_told_the_page(token: bool, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, "serve", "--game", "chess=uniform", "--port", "0", "--http-port", "0"]
    command += ["--token-file", str(tmp_path / "token")] if token else []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        try:
            said = b""
            while b"az-engine: the page is" not in said or not said.endswith(b"\n"):
                said += os.read(ours, 1 << 16)  # an OSError where the command has ended
        finally:
            process.kill()
            os.close(ours)
    secret = f"#token={(tmp_path / 'token').read_text().split()[0]}" if token else ""
    assert re.search(rf"the page is http://localhost:\d+/{secret}\r\n", said.decode())


def test_the_command_refuses_what_cannot_be(tmp_path: Path) -> None:
    for flags, words in (
        (["--max-sessions", "0"], "at least 1"),
        (["--game", "halma"], "halma"),
        (["--http-port", "65536"], "--http-port must be a port, or none"),
        (["--port", "99999"], "--port must be a port"),
        (["--port", "-1"], "--port must be a port"),
        (["--game", "chess=uniform", "--host", "256.1.1.1"], "cannot be listened on"),
        (["--game", "chess=missing.onnx", "--port", "0"], "missing.onnx"),
    ):
        command = [*COMMAND, "serve", "--token-file", str(tmp_path / "t"), "--http-port", "none", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr.splitlines()[-1]
