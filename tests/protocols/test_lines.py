"""Lines in and lines out: bytes of any kind, whole replies, a stdout that nobody else can write."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from az_engine.engine.errors import OptionError
from az_engine.protocols.lines import MAX_LINE, LineReader, LineWriter, TrafficLog, clean, one_line


def read_all(data: bytes, chunk: int | None = None) -> list[str]:
    """What a reader makes of some bytes, written in chunks."""
    inward, outward = os.pipe()
    got: list[str] = []
    reading = LineReader(inward).start(got.append, lambda: got.append("OVERLONG"), lambda: got.append("END"))
    for start in range(0, len(data), chunk or len(data) or 1):
        os.write(outward, data[start : start + (chunk or len(data))])
    os.close(outward)
    reading.join(60)
    os.close(inward)
    return got


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"isready\r\n", "isready"),
        (b"\xef\xbb\xbfuci\n", "uci"),
        (b"is\x00re\x07ady\x1b\n", "isready"),
        (b"go\tnodes\r5\n", "go\tnodes 5"),
        (b"a\xffb\n", "a\udcffb"),
        ("é\n".encode(), "é"),
        (b"\x00\x00\x00", ""),
    ],
)
def test_clean(raw: bytes, text: str) -> None:
    assert clean(raw) == text


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_in_any_chunks_give_the_same_lines(data: bytes, chunk: int) -> None:
    expected = [clean(part) for part in data.split(b"\n")]
    if data.endswith(b"\n") or not data:
        expected.pop()
    assert read_all(data, chunk) == [*expected, "END"]


def test_the_last_line_needs_no_end() -> None:
    assert read_all(b"uci\nquit") == ["uci", "quit", "END"]


def test_lines_up_to_one_mebibyte_are_read_and_longer_ones_dropped_once() -> None:
    assert read_all(b"x" * MAX_LINE + b"\nuci\n") == ["x" * MAX_LINE, "uci", "END"]
    assert read_all(b"x" * (MAX_LINE + 1) + b"\nuci\n") == ["OVERLONG", "uci", "END"]
    assert read_all(b"x" * 3 * MAX_LINE) == ["OVERLONG", "END"]


def test_memory_stays_bounded_without_line_ends() -> None:
    """100 MB without a line end raise the memory of a process of its own by next to nothing."""
    program = """
import os, resource, sys
from az_engine.protocols.lines import LineReader
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
LineReader(0).start(lambda line: None, lambda: None, lambda: None).join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(100):
            process.stdin.write(b"x" * 10**6)
        process.stdin.close()
        grown_kib = int(process.stdout.read())
    assert grown_kib < 8 * 1024


def test_an_input_that_cannot_be_read_is_at_its_end() -> None:
    got: list[str] = []
    LineReader(9999).start(got.append, lambda: None, lambda: got.append("END")).join(60)
    assert got == ["END"]


def test_replies_from_many_threads_stay_whole() -> None:
    inward, outward = os.pipe()
    writer = LineWriter(outward)
    replies = [f"{n} first " + "x" * 5000 + f"\n{n} second" for n in range(50)]
    threads = [threading.Thread(target=writer.write, args=(reply,)) for reply in replies]
    for thread in threads:
        thread.start()
    got = bytearray()
    total = sum(len(reply) + 1 for reply in replies)
    while len(got) < total:
        got += os.read(inward, 65536)
    for thread in threads:
        thread.join()
    lines = got.decode().splitlines()
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        assert first.split()[0] == second.split()[0]
    os.close(inward)
    os.close(outward)


def test_a_closed_pipe_ends_writing_quietly() -> None:
    inward, outward = os.pipe()
    writer = LineWriter(outward)
    assert writer.write("uciok")
    os.close(inward)
    assert not writer.write("readyok")
    assert writer.closed
    os.close(outward)
    assert not writer.write("readyok")


def test_text_that_is_no_unicode_is_written_as_ascii() -> None:
    inward, outward = os.pipe()
    LineWriter(outward).write("info string a\udcffb é")
    assert os.read(inward, 100) == "info string a\\udcffb é\n".encode()
    os.close(inward)
    os.close(outward)


def test_nobody_else_reaches_stdout() -> None:
    program = """
import os, sys
from az_engine.protocols.lines import claim_stdout
print("before", flush=True)
writer = claim_stdout()
print("python"); sys.stdout.flush(); os.write(1, b"native\\n"); os.system("echo child")
writer.write("reply")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "before\nreply\n"
    assert sorted(done.stderr.split()) == ["child", "native", "python"]


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_missing_standard_descriptors_are_replaced(closed: str, tmp_path: Path) -> None:
    result = tmp_path / "result"
    program = f"""
import os
from az_engine.protocols.lines import claim_stdout
writer = claim_stdout()
opened = os.open({str(result)!r}, os.O_WRONLY | os.O_CREAT)
writer.write("reply")
os.write(opened, str(opened > 2).encode())
"""
    command = f'exec "{sys.executable}" -c "$0" {closed}'
    subprocess.run(["/bin/sh", "-c", command, program], check=True, timeout=60, stdout=subprocess.DEVNULL)
    assert result.read_text() == "True"


def test_messages_are_one_printable_line() -> None:
    assert one_line("a\n b\t\x1b[31mc\u2028\udcff") == "a b \\x1b[31mc \\udcff".replace(" \\udcff", "\\udcff", 0)
    assert len(one_line("x" * 10_000)) == 400
    assert one_line("") == ""


def test_the_log_keeps_everything_with_times_and_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a b.log"
    path.write_text("old\n")
    log = TrafficLog(str(path))
    log.record("<", "uci\udcff")
    log.record(">", "id\nuciok")
    log.close()
    log.record("<", "late")
    lines = path.read_text().splitlines()
    assert lines[0] == "old"
    assert [line[24:] for line in lines[1:]] == ["< uci\\udcff", "> id", "> uciok"]
    assert all(line[4] == line[7] == "-" and line[19] == "." for line in lines[1:])


@pytest.mark.parametrize(
    "name", ["/dev/zero", "/dev/full", "/", "/no/such/folder/x.log", "a\0b", "~nobody-has-this-name/x"]
)
def test_what_cannot_be_a_log_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"the log file .*; nothing is logged"):
        TrafficLog(name)


def test_a_fifo_as_log_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OptionError, match="nothing is logged"):
        TrafficLog(str(tmp_path / "fifo"))


def test_a_full_disk_ends_the_log_and_is_told(tmp_path: Path) -> None:
    log = TrafficLog(str(tmp_path / "x.log"))
    full = os.open("/dev/full", os.O_WRONLY)
    log._file.close()  # noqa: SLF001
    log._file = os.fdopen(full, "w")  # noqa: SLF001
    log.record("<", "uci")
    assert log.fault == "the log file is full or gone (No space left on device); logging ends here"
    log.record("<", "more")
