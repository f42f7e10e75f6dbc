"""The command line: what every command offers, what it imports, and how faults are said."""

from __future__ import annotations

import argparse
import errno
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from az_engine import __version__, cli
from az_engine.arguments import Parser
from az_engine.commands.installation import Installation
from az_engine.completion import complete
from az_engine.engine.errors import NetError
from az_engine.models import families

from .games import DIRECTORY
from .models.foreign.test_foreign import lc0_file

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "models" / "nets").glob("*.md")),
]

WITHOUT_TORCH = """\
import sys
sys.modules["torch"] = None
from az_engine.cli import main
sys.exit(main(sys.argv[1:]))
"""

HEAVY = ("numpy", "numba", "llvmlite", "onnxruntime", "torch", "rich", "chess", "importlib.metadata")
WHAT_IS_IMPORTED = f"""\
import sys
from az_engine.cli import parse
parse(sys.argv[1], [])
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_every_command_explains_itself_without_torch(command: str) -> None:
    done = run(WITHOUT_TORCH, command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: az-engine {command}")
    assert len(done.stdout.splitlines()) > 5


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().out
    for command, (_, line) in cli.COMMANDS.items():
        assert re.search(rf"^  {command} +{re.escape(line)}$", said, re.MULTILINE)


@pytest.mark.parametrize("words", ["nets", "bench tree"])
def test_help_of_a_command_or_a_part_of_it(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["help", *words.split()])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: az-engine {words}")


@pytest.mark.parametrize("command", ["train", "label", "plot", "selfplay", "import"])
def test_help_of_training_has_examples_and_no_empty_defaults(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    said = capsys.readouterr().out
    assert re.search(rf"^  az-engine {command} \S", said, re.MULTILINE)
    assert not re.search(r"\(default:\s+(None|False|\(|\[|\))", said)


def every_help() -> Iterator[tuple[str, str]]:
    """(words, help) of every command and part of a command."""

    def walk(words: str, parser: Parser) -> Iterator[tuple[str, str]]:
        parser.show_all()
        yield words, parser.format_help()
        for name, part in parser.subcommands().items():
            yield from walk(f"{words} {name}", part)

    for name in cli.COMMANDS:
        yield from walk(name, cli.parser_of(name)[1])


def test_no_help_shows_what_only_a_programmer_knows() -> None:
    texts = dict(every_help())
    assert len(texts) > 35
    for words, text in texts.items():
        assert not re.search(r"default:?\s+(None|False|True|\(|\[|\d+\.0[,)]|\))", text), words
        assert not re.search(r"\bmilliseconds? a move\b|--movetime", text), words
        assert text.count("\noptions:\n") <= 1, words
        usage = text.partition("\n\n")[0]
        assert len(usage.splitlines()) <= 7, words


def test_visits_are_called_visits_everywhere() -> None:
    said = dict(every_help())
    for words in (
        "uci",
        "usi",
        "gtp",
        "analysis",
        "play",
        "match",
        "label",
        "review",
        "regret",
        "suite",
        "report scaling",
    ):
        assert re.search(r"--visits [A-Z]", said[words]), words


def help_of(*words: str) -> str:
    done = run(WITHOUT_TORCH, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_help_of_training_is_short_and_all_of_it_is_there() -> None:
    short, everything = help_of("train", "--help"), help_of("train", "--help-all")
    assert len(short.splitlines()) < 80 < len(everything.splitlines())
    assert "--weight-decay" not in short
    assert "--weight-decay" in everything
    assert re.search(r"--help-all shows \d+ more options", short)


@pytest.mark.parametrize(
    ("command", "what", "extra"),
    [
        ("train", "it", "train"),
        ("train", "--ray", "ray"),
        ("import", "--int8", "int8"),
        ("match", "--ray", "ray"),
    ],
)
def test_help_says_which_command_adds_the_extra_that_is_missing(
    command: str, what: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needs(installed: bool) -> list[str]:
        monkeypatch.setattr(Installation, "has", lambda _self, _extra: installed)
        lines = cli.parser_of(command)[1].format_help().splitlines()
        return [line for line in lines if line.startswith(f"{what} needs the extra {extra}; to add it: ")]

    [line] = needs(installed=False)
    assert f"[{extra}]" in line or f"AZ_ENGINE_EXTRA={extra}" in line
    assert needs(installed=True) == []


def test_an_extra_is_there_when_all_its_packages_are(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = ["numba", 'pytest>=8; extra == "a"', 'pytest>=8; extra == "b"', 'nonesuch[x]>=1; extra == "b"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: requirements)
    here = Installation.current()
    assert [here.has(extra) for extra in "abc"] == [True, False, False]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("train --stesp 3", "--steps"),
        ("bench search --secs=1", "--seconds"),
        ("bench sarch", "search"),
        ("match -A default -B uniform --game ches", "chess"),
    ],
)
def test_a_mistyped_option_or_choice_gets_the_nearest(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words.split())
    assert ended.value.code == 2
    assert f"(did you mean {meant}?)" in capsys.readouterr().err


def test_options_that_share_little_but_dashes_are_not_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["uci", "--foo"])
    assert capsys.readouterr().err == (
        "az-engine uci: unrecognized arguments: --foo\naz-engine uci --help shows the arguments\n"
    )


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("tr", ["train"]),
        ("help pl", ["play", "plot"]),
        ("train --super", ["--supervised"]),
        ("train --help-a", ["--help-all"]),
        ("match --game s", ["shogi"]),
        ("match --out ", []),
        ("bench sea", ["search"]),
        ("bench search --sec", ["--seconds"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("nonsense --x", []),
    ],
)
def test_what_a_shell_completes(words: str, found: list[str]) -> None:
    assert complete(words.split(" ")) == found


@pytest.mark.slow
def test_bash_completes_through_its_script(tmp_path: Path) -> None:
    command = tmp_path / "az-engine"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m az_engine "$@"\n')
    command.chmod(0o755)
    program = (
        f'eval "$({command} completion bash)"; COMP_WORDS=({command} match --game s); COMP_CWORD=3; '
        f"_az_engine {command}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, env=env, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("shogi\n", "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"az-engine {__version__} (Python 3.")


@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_version_takes_no_arguments(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([word, "--x"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("az-engine version: unrecognized arguments: --x\n")


def test_an_option_without_a_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--game", "go"]) == 2
    assert capsys.readouterr().err == (
        "az-engine: --game is no command, and one comes first, as in az-engine play --game go; "
        "az-engine --help lists them\n"
    )


def test_an_unknown_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["chekc"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        "az-engine: there is no command 'chekc' (did you mean check?): choose among start, uci, usi, gtp, "
    )
    assert said.err.count("\n") == 1


@pytest.mark.slow
def test_missing_training_packages_are_one_sentence_with_the_command() -> None:
    done = run(WITHOUT_TORCH, "train", "--supervised", "nowhere", "--out", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("az-engine: train needs torch, which is not installed: ")
    assert "train" in done.stderr.partition("installed: ")[2]
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_without_ray_one_sentence_has_the_command() -> None:
    without = WITHOUT_TORCH.replace("torch", "ray")
    done = run(without, "match", "-A", "uniform", "-B", "uniform", "--visits", "1", "--games", "1", "--ray", "local")
    assert done.returncode == 2
    assert re.fullmatch(r"az-engine: match needs ray, which is not installed: .*ray.*\n", done.stderr)


@pytest.mark.slow
def test_nets_of_other_programs_are_quantised_without_torch(tmp_path: Path) -> None:
    done = run(WITHOUT_TORCH, "import", str(lc0_file(tmp_path)), "--int8", "-o", str(tmp_path / "int8.onnx"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "int8 on 512 positions" in done.stdout
    assert (tmp_path / "int8.onnx").is_file()


@pytest.mark.parametrize("protocol", ["uci", "usi"])
def test_nothing_heavy_is_imported_before_the_greeting(protocol: str) -> None:
    done = run(WHAT_IS_IMPORTED, protocol)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(("protocol", "word"), [("uci", "uci"), ("usi", "usi"), ("gtp", "name")])
def test_a_greeting_waits_for_nothing_heavy(protocol: str, word: str) -> None:
    """A GUI gives up on an engine that takes long to say hello."""
    command = [sys.executable, "-X", "importtime", "-m", "az_engine", protocol]
    done = subprocess.run(command, input=f"{word}\nquit\n", capture_output=True, text=True, check=True)
    assert {f"{protocol}ok", "= az-engine"} & set(done.stdout.splitlines())
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert any(name.startswith("az_engine.protocols.") for name in imported)
    assert not imported & {"numpy", "numba", "onnxruntime", "torch", "chess", "rich", "sgfmill"}


class _Faulty(ModuleType):
    """A command that ends with what it is given."""

    HELP = "fails"

    def __init__(self, fault: BaseException) -> None:
        super().__init__("faulty")
        self.fault = fault

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", nargs="?")

    def main(self, args: object) -> int:
        raise self.fault


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [(NetError("the net is broken"), 2, "az-engine: the net is broken\n"), (KeyboardInterrupt(), 130, "")],
)
def test_known_faults_end_in_one_sentence(
    fault: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "faulty", _Faulty(fault))
    monkeypatch.setitem(cli.COMMANDS, "fail", ("faulty", "fails"))
    assert cli.main(["fail"]) == status
    assert capsys.readouterr().err == said


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_stack_that_is_too_small_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (64 << 10, 64 << 10))
    assert cli.main(["uci"]) == 2
    said = "az-engine: the stack is limited to 64 KiB, which is too little: ulimit -s 8192, and again\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("path", ["runs/a/log", "runs/a", "runs"])
def test_a_path_of_the_user_that_cannot_be_used_is_one_sentence(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = PermissionError(errno.EACCES, "Permission denied", path)
    monkeypatch.setitem(sys.modules, "faulty", _Faulty(fault))
    monkeypatch.setitem(cli.COMMANDS, "fail", ("faulty", "fails"))
    assert cli.main(["fail", "runs/a"]) == 2
    said = f"az-engine: {path} cannot be read or written (Permission denied); give another path or make room\n"
    assert capsys.readouterr().err == said
    with pytest.raises(PermissionError):  # it is another's
        cli.main(["fail", "elsewhere"])


def test_a_bug_is_shown_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faulty", _Faulty(ZeroDivisionError()))
    monkeypatch.setitem(cli.COMMANDS, "fail", ("faulty", "fails"))
    with pytest.raises(ZeroDivisionError):
        cli.main(["fail"])


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "az_engine", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before it can write
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("words", ["nets", "nets --help", "--help", "version", "check --programs", "play --visits 1"])
@pytest.mark.parametrize(("end", "reason"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")])
def test_an_output_that_takes_nothing_is_one_sentence(words: str, end: str, reason: str) -> None:
    done = sh(f"{shlex.quote(sys.executable)} -m az_engine {words} </dev/null {end}")
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (1, [no_room(reason)])
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize(("protocol", "word"), [("uci", "uci"), ("usi", "usi"), ("gtp", "name"), ("analysis", "{}")])
def test_a_conversation_whose_output_is_full_is_one_sentence(protocol: str, word: str) -> None:
    done = sh(f"echo '{word}' | {shlex.quote(sys.executable)} -m az_engine {protocol} >/dev/full")
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (1, [no_room("No space left on device")])


def sh(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=60, check=False)


def no_room(reason: str) -> str:
    return f"az-engine: the output cannot be written ({reason}); make room, or write it elsewhere"


COMMAND = r"((?:[A-Z_]+=\S+ )*(?:\./)?az-engine(?:-\w+)?(?: .*|$))"
PLACES = (  # of a command in a line of a block: what stands before it, and what ends it
    ("^", ""),
    (r"\| ", ""),
    ("&& ", ""),
    (r"\$\(", ")"),
    ('--tmux "', '"'),
    ("--  +", ""),
    ("^ExecStart=/opt/az-engine/", ""),
)


def documented_commands() -> list[tuple[str, str]]:
    """(document, line) of each az-engine command in a fenced block."""
    found = []
    for document in DOCUMENTS:
        for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL):
            if kind not in ("", "sh", "console", "ini"):
                continue
            for line in block.replace("\\\n", " ").splitlines():
                for before, end in PLACES:
                    if match := re.search(before + COMMAND, line.removeprefix("$ ")):
                        found.append((document.name, match[1].rpartition(end)[0] if end else match[1]))
                        break
    return found


@pytest.mark.parametrize(("document", "line"), documented_commands())
def test_documented_commands_parse(document: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [word for word in shlex.split(line, comments=True) if not re.match(r"[A-Z_]+=", word)]
    if "AZ_ENGINE_GAMES=" in line:
        assert f"AZ_ENGINE_GAMES={DIRECTORY.name} " in line  # these games are registered for the tests
    if "AZ_ENGINE_FAMILIES=" in line:
        assert f"AZ_ENGINE_FAMILIES={DIRECTORY.name} " in line
        monkeypatch.setattr(families, "__path__", [*families.__path__, str(DIRECTORY)])
    words = list(itertools.takewhile(lambda word: word not in ("|", ">", "&"), words))
    program, *arguments = words
    command = program.rpartition("/")[2].removeprefix("az-engine").removeprefix("-")
    if command:
        arguments.insert(0, command)
    if arguments[:1] in ([], ["version"], ["--help"]):
        return
    cli.parse(arguments[0], arguments[1:])


def test_the_readme_is_a_page() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 130
    assert len(re.findall(r"^!\[", text, re.MULTILINE)) >= 2


def test_the_documents_are_read() -> None:
    lines = [line for _, line in documented_commands()]
    assert len([line for line in lines if line.startswith("az-engine analysis")]) == 3  # two behind a pipe
    assert "az-engine serve --log-file /var/log/az-engine/events.jsonl" in lines  # a unit of systemd
    assert len([line for line in lines if "--ray auto" in line]) == 3  # one in quotes, one behind srun
    assert "az-engine completion zsh" in lines
    assert len([line for document, line in documented_commands() if document == "README.md"]) >= 8
    assert os.access(ROOT / "az-engine", os.X_OK)
    assert os.access(ROOT / "test", os.X_OK)


@pytest.mark.parametrize(("daemon", "end"), [(True, "at exit\n"), (False, "at exit\ntorn down\n")])
def test_a_thread_that_is_still_busy_does_not_end_the_program_badly(daemon: bool, end: str) -> None:
    """The interpreter's own end is left out where it would unwind a thread, as one that loads a net."""
    code = f"""
import atexit, threading, sys
from az_engine import cli
class Torn:
    def __del__(self, write=sys.stdout.write, flush=sys.stdout.flush):
        write("torn down\\n"), flush()
sys.torn = Torn()
busy = threading.Event()
def main():
    if {daemon}:
        threading.Thread(target=busy.wait, daemon=True).start()
    return 3
cli.main = main
atexit.register(print, "at exit", flush=True)
cli.run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, end, "")
