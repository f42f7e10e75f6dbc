"""What operating systems do differently: the Windows half on fakes of its modules, the program without POSIX."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from az_engine.engine.os.files import write_atomically
from az_engine.engine.os.process import module_command
from az_engine.engine.os.system import kill_group, limit_process, lock, memory_bytes, ran_out_of_time, split_command
from az_engine.protocols.clients.process import EngineProcess

# Loads engine/os/system.py as Windows would, with msvcrt and psutil played by what Linux has, then hides POSIX.
WINDOWS = """
import builtins, fcntl, os, resource, signal, subprocess, sys, time, types, threading

class Msvcrt(types.ModuleType):
    LK_NBLCK = 2
    def locking(self, descriptor, mode, count):
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, count, 0, os.SEEK_CUR)

class Process:
    def __init__(self, pid=None): self.pid = pid or os.getpid()
    def memory_info(self):
        pages = int(open(f"/proc/{self.pid}/statm").read().split()[0])
        return types.SimpleNamespace(vms=pages * 4096)
    def cpu_times(self): return resource.getrusage(resource.RUSAGE_SELF)[:2]
    def children(self, recursive): return []
    def kill(self): os.kill(self.pid, 9)

psutil = types.ModuleType("psutil")
psutil.Process, psutil.NoSuchProcess = Process, ProcessLookupError
psutil.virtual_memory = lambda: types.SimpleNamespace(total=8 << 30)
sys.modules["msvcrt"], sys.modules["psutil"] = Msvcrt("msvcrt"), psutil
os.O_BINARY, subprocess.CREATE_NEW_PROCESS_GROUP = 0, 0
sys.platform = "win32"
import az_engine.engine.os.system
sys.platform = "linux"
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules.pop(name, None)
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "termios", "pwd", "grp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Nothing())
for name in ("sysconf", "killpg", "getuid", "geteuid", "setsid", "getpgid", "mkfifo", "sched_getaffinity"):
    delattr(os, name)  # set_blocking stays: it is asked for where sys.platform is not win32
subprocess.Popen.kill = lambda self, number=signal.SIGKILL: self.send_signal(number)
for name in ("SIGKILL", "SIGXCPU", "SIGSTOP", "SIGHUP", "SIGUSR1"):
    delattr(signal, name)
"""


def child_command(code: str) -> list[str]:
    start = module_command("unused")
    return [*start[: start.index("-c") + 1], f"import json, sys; sys.path[:] = json.loads({start[-2]!r})\n{code}"]


def child(code: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(child_command(code), capture_output=True, text=True, check=False, cwd=folder)


def windows(*arguments: str) -> list[str]:
    code = f"{WINDOWS}\nfrom az_engine.cli import main\nsys.argv[0] = 'az-engine'\nsys.exit(main(sys.argv[1:]))"
    return [*child_command(code), *arguments]


# What a program of Windows says, each line with the beginning of its last answer.
CONVERSATIONS = {
    "uci": [
        ("\ufeffuci", "uciok"),
        ("setoption name LogFile value ログ 1.txt\nisready", "readyok"),
        ("ucinewgame\nposition startpos moves e2e4\ngo nodes 20", "bestmove"),
        ("position startpos moves e2e4 e7e5\ngo wtime 200 btime 200", "bestmove"),
        ("go infinite\nstop", "bestmove"),
    ],
    "usi": [
        ("usi", "usiok"),
        ("setoption name LogFile value ログ 1.txt\nisready", "readyok"),
        ("usinewgame\nposition startpos moves 7g7f\ngo nodes 20", "bestmove"),
        ("position startpos moves 7g7f 3c3d\ngo btime 0 wtime 0 byoyomi 100", "bestmove"),
        ("gameover win", ""),
    ],
    "gtp": [
        ("1 boardsize 9", "=1"),
        ("2 komi 7", "=2"),
        ("3 play b E5\n\n4 genmove w", "=4"),
        ("5 list_commands", "=5"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", CONVERSATIONS)
def test_conversations_of_windows(command: str, tmp_path: Path) -> None:
    """Lines end with CR LF, what only POSIX has is hidden, the log's name is Japanese."""
    flags = ["--nodes-limit", "20", "--log-file", "ログ 1.txt"] if command == "gtp" else []
    with EngineProcess(windows(command, *flags), str(tmp_path)) as program:
        for said, answer in CONVERSATIONS[command]:
            program.send(said.replace("\n", "\r\n") + "\r")
            if answer:
                program.until(answer, patience=250)
        program.send("quit\r")
        assert program._process.wait(60) == 0  # noqa: SLF001
    assert "quit" in (tmp_path / "ログ 1.txt").read_text("utf-8")


@pytest.mark.slow
def test_a_match_and_a_run_without_posix(tmp_path: Path) -> None:
    words = "match -A uniform -B uniform --visits 4 --games 2 --max-plies 20 --out match".split()
    played = subprocess.run(windows(*words), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    assert (tmp_path / "match" / "result.json").is_file()
    small = "selfplay.visits=8 selfplay.games=8 loop.first_positions=100 loop.checkpoint_steps=2 ladder.share=0"
    settings = [word for setting in small.split() for word in ("--set", setting)]
    command = "train --game go --size 5 --blocks 1 --filters 8 --batch 32 --steps 2 --workers 0 --out run"
    words = [*command.split(), *settings]
    trained = subprocess.run(windows(*words), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "run" / "nets" / "current.json").is_file()


@pytest.mark.slow
def test_the_windows_half_by_itself(tmp_path: Path) -> None:
    code = f"""{WINDOWS}
from az_engine.engine.os.system import *
from az_engine.engine.os import system
one = os.open("file", os.O_RDWR | os.O_CREAT)
os.write(one, b"content")
system.lock(one)
again = subprocess.run([sys.executable, "-c", '''
import fcntl, os
two = os.open("file", os.O_RDWR)
print(os.read(two, 100))  # what is locked can be read
try:
    fcntl.lockf(two, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, {1 << 40})
except OSError:
    print("taken")
'''], capture_output=True, text=True)
print(again.stdout, again.stderr, system.memory_bytes(), flush=True)
os.write(one, b" more")
system.limit_process(1 << 50, 1)
while True: pass
"""
    ended = child(code, folder=tmp_path)
    assert ended.returncode == 124, ended.stderr  # a second of computing was over
    assert "b'content'\ntaken" in ended.stdout
    assert str(8 << 30) in ended.stdout
    assert (tmp_path / "file").read_bytes() == b"content more"


def test_command_lines_of_windows_keep_their_backslashes() -> None:
    line = r""" "C:\my engines\sf.exe" --book C:\O'Brien\#1\a.bin """
    text = f"from az_engine.engine.os.system import split_command\nprint(*split_command({line!r}), sep='|')"
    assert child(WINDOWS + text).stdout == "C:\\my engines\\sf.exe|--book|C:\\O'Brien\\#1\\a.bin\n"
    assert split_command(r"'a b' c\ d") == ["a b", "c d"]


@pytest.mark.slow
def test_memory_is_limited() -> None:
    code = "from az_engine.engine.os.system import limit_process\nlimit_process(1 << 30)\nkept = bytearray(2 << 30)"
    assert "MemoryError" in child(code).stderr
    assert child(WINDOWS + code + "\ntime.sleep(60)").returncode == 125


def test_a_locked_file_is_refused(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2))
    lock(first)
    with pytest.raises(OSError, match="unavailable"):
        lock(second)
    os.close(first)
    lock(second)
    os.close(second)


def test_this_machine() -> None:
    assert 1 << 28 < memory_bytes() < 1 << 50
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    kill_group(process)
    assert process.wait() != 0
    kill_group(process)  # harmless once it has ended
    assert not ran_out_of_time(0)
    assert limit_process.__doc__


@pytest.mark.skipif(sys.platform == "win32", reason="has no umask")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_respects_the_umask(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "file", b"content")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT=1", "NUMBA_NUM_THREADS=0", "NUMBA_NUM_THREADS=-1"])
def test_an_environment_with_which_kernels_cannot_run_is_one_sentence(setting: str) -> None:
    name, _, value = setting.partition("=")
    program = "from az_engine.engine.errors import OptionError\ntry:\n import az_engine.engine.kernels.jit\n"
    program += "except OptionError as error:\n print(error)"
    environment = {**os.environ, name: value}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert "NUMBA_" in done.stdout
    assert len(done.stdout.splitlines()) == 1
