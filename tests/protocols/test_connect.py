"""``az-engine connect``: a process between a GUI and a server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from az_engine.engine.errors import OptionError
from az_engine.protocols.connect import read_address, write_launcher

from .process import COMMAND
from .serve.lines import RunningServer

TOKEN = "0123456789abcdef-a"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path / "log") as running:
        yield running


def connect(server: RunningServer, game: str, *flags: str) -> list[str]:
    return [*COMMAND, "connect", f"127.0.0.1:{server.server.port}", game, *flags]


@pytest.mark.parametrize(
    ("game", "said", "last"),
    [
        ("chess", "uci\nisready\ngo nodes 10\nquit\n", "bestmove a2a3 ponder a7a5"),
        ("shogi", "usi\nisready\ngo nodes 10\n", "bestmove 1g1f ponder 1a1b"),  # the end of the input ends it, too
        ("go", "name\nquit\n", "="),
        ("chess", "usi\n", "info string no chess is played here over USI; there is chess (UCI), shogi (USI), go (GTP)"),
    ],
)
def test_lines_go_both_ways(server: RunningServer, game: str, said: str, last: str) -> None:
    done = subprocess.run(connect(server, game), input=said, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line][-1].strip() == last


def test_python_chess_plays_through_it(server: RunningServer) -> None:
    engine = chess.engine.SimpleEngine.popen_uci(connect(server, "chess"), timeout=60)
    result = engine.play(chess.Board(), chess.engine.Limit(nodes=20))
    assert result.move == chess.Move.from_uci("a2a3")
    engine.quit()  # hangs if the stub does not end when the server closes


def test_it_ends_when_the_server_does(server: RunningServer) -> None:
    with subprocess.Popen(connect(server, "chess"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdin is not None
        assert stub.stdout is not None
        stub.stdin.write("uci\n")
        stub.stdin.flush()
        assert any(line == "uciok\n" for line in stub.stdout)
        ending = threading.Thread(target=server.end)
        ending.start()
        assert stub.wait(60) == 0  # its input is still open
        ending.join(60)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing tells there that the other end of a pipe is gone")
@pytest.mark.parametrize("gone", ["stdin", "stdout"])
@pytest.mark.parametrize("said", ["", "uci\n", "uci\nisready\ngo infinite\n"], ids=["silent", "idle", "searching"])
def test_it_ends_when_its_client_does(server: RunningServer, said: str, gone: str) -> None:
    with subprocess.Popen(connect(server, "chess"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdin is not None
        stub.stdin.write(said)
        stub.stdin.flush()
        time.sleep(0.5)
        getattr(stub, gone).close()
        assert stub.wait(60) == 0


@pytest.mark.parametrize(("host", "answers"), [("::1", ["::1"]), ("::", ["::1", "127.0.0.1"])])
def test_addresses_of_ipv6(tmp_path: Path, host: str, answers: list[str]) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with RunningServer(tmp_path / "log", host=host, http=True) as server:
        assert server.web is not None
        for address in answers:
            place = f"[{address}]" if ":" in address else address
            words = [*COMMAND, "connect", f"{place}:{server.server.port}", "chess"]
            done = subprocess.run(words, input="uci\nquit\n", capture_output=True, text=True, timeout=60, check=False)
            assert "uciok\n" in done.stdout
            with urllib.request.urlopen(f"http://{place}:{server.web.port}/healthz", timeout=60) as response:
                assert response.read() == b"ok\n"
        events = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert [event["client"] for event in events if event["event"] == "open"] == answers


def test_tokens(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n# mine\n")
    with RunningServer(tmp_path / "log", tokens=(TOKEN,)) as server:
        command = connect(server, "chess")
        done = subprocess.run(command, input="uci\nquit\n", capture_output=True, text=True, timeout=60, check=False)
        assert "asks for a token" in done.stdout
        command += ["--token-file", str(path)]
        done = subprocess.run(command, input="uci\nquit\n", capture_output=True, text=True, timeout=60, check=False)
        assert "uciok\n" in done.stdout
        env = {**os.environ, "AZ_ENGINE_TOKEN": TOKEN}
        done = subprocess.run(
            command[:-2], input="uci\nquit\n", capture_output=True, text=True, timeout=60, check=False, env=env
        )
        assert "uciok\n" in done.stdout


@pytest.mark.parametrize(("game", "words"), [("chess", "info string no az-engine"), ("go", "? no az-engine")])
def test_a_server_that_is_away_is_said_in_one_line(game: str, words: str) -> None:
    done = subprocess.run(
        [*COMMAND, "connect", "127.0.0.1:1", game],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout.startswith(words)
    assert len(done.stderr.splitlines()) == 1


def test_it_needs_nothing_but_the_standard_library() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'numba', 'onnxruntime', 'chess', 'rich']))\n"
        "from az_engine.cli import main\n"
        "main(['connect', '127.0.0.1:1', 'chess'])\n"
        "ours = {name for name in sys.modules if name.startswith('az_engine.')}\n"
        "print(sorted(ours - {'az_engine.cli', 'az_engine.protocols.connect'}), file=sys.stderr)\n"
        "print(sorted(n for n in sys.modules if '.' not in n and n not in sys.stdlib_module_names), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours, others = done.stderr.splitlines()[-2:]
    assert {name.strip("[] '") for name in ours.split(",")} <= {
        "az_engine.arguments", "az_engine.engine", "az_engine.engine.errors", "az_engine.engine.os",
        "az_engine.engine.os.system", "az_engine.protocols", "az_engine.protocols.lines",
    }  # fmt: skip
    assert "numpy" in others  # only as the None that we put there


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("host", ("host", 8766)),
        ("10.0.0.1:99", ("10.0.0.1", 99)),
        ("[::1]:9", ("::1", 9)),
        ("::1", ("::1", 8766)),
        ("[fe80::1%eth0]", ("fe80::1%eth0", 8766)),
        ("", None),
        ("a b", None),
        ("host:0", None),
        ("host:70000", None),
        ("http://host", None),
    ],
)
def test_addresses(text: str, address: tuple[str, int] | None) -> None:
    if address is None:
        with pytest.raises(OptionError, match="no address"):
            read_address(text)
    else:
        assert read_address(text) == address


def test_launchers(server: RunningServer, tmp_path: Path) -> None:
    path = tmp_path / "my engine's.sh"
    subprocess.run(connect(server, "chess", "--write-launcher", str(path)), check=True, capture_output=True)
    done = subprocess.run([str(path)], input="uci\nquit\n", capture_output=True, text=True, timeout=60, check=False)
    assert "uciok\n" in done.stdout
    write_launcher(path, "host", "go", None)  # its own it replaces
    batch = tmp_path / "engine.bat"
    write_launcher(batch, "host:1", "shogi", Path("token"))
    text = batch.read_bytes().decode()
    assert text.startswith(f'@echo off\r\n"{sys.executable}" "-I" "-m" "az_engine" "connect" "host:1" "shogi"')
    assert str(Path("token").absolute()) in text
    other = tmp_path / "other"
    other.write_text("mine")
    with pytest.raises(OptionError, match="choose another name"):
        write_launcher(other, "host", "go", None)
