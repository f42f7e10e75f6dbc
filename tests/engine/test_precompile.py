"""The helper of a first start: what it compiles, when it is there, and that it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from az_engine.engine import precompile
from az_engine.engine.games import get_game
from az_engine.engine.games.encoder import GAME_ENCODER, SPARSE_ENCODER
from az_engine.engine.kernels import cache
from az_engine.engine.os.process import module_command

pytestmark = pytest.mark.slow

SECOND = """
import json
from az_engine.engine.kernels import cache
from az_engine.engine.engine import Engine
names = []
cache.on_compile(names.append)
engine = Engine("go")
engine.configure(weights_file="uniform")
engine.ready()
print(json.dumps(names))
"""


def helper(cache: Path, encoder: str = GAME_ENCODER) -> subprocess.Popen[bytes]:
    """The helper, with a cache of its own."""
    command = module_command("az_engine.engine.precompile", "chess", encoder)
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(cache)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def test_an_engine_finds_the_kernels_of_its_tree(tmp_path: Path) -> None:
    """Also the engine of another game: chess was told, Go starts."""
    with helper(tmp_path) as process:
        assert process.wait(240) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SECOND], capture_output=True, check=True, env=environment, timeout=240)
    names = set(json.loads(done.stdout))
    assert {"describe", "expand"} <= names  # Go's own: it corrects the net's biases
    shared = {"add_base", "select", "probe", "digest", "store", "keep_only", "best_children", "find_child"}
    assert not names & (shared | {"move_nodes"}), names


def test_the_helper_knows_games_that_were_registered(tmp_path: Path) -> None:
    """As register_path does, which a child process does not inherit."""
    game = "raise SystemExit(3)\nGAME = None\n"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/__init__.py").write_text(game)
    code = "import sys\nfrom pathlib import Path\nfrom az_engine.engine import games, precompile\n"
    code += (
        "from az_engine.engine.kernels import cache\ncache.is_missing, cache.cores = lambda kernel: True, lambda: 2\n"
    )
    code += f"games.register_path(Path({str(tmp_path)!r}))\nimport subprocess\npopen = subprocess.Popen\n"
    code += "class Game: name, encoder = 'elsewhere', games.get_game('chess').encoder\n"
    code += "children = []\nsubprocess.Popen = lambda *a, **k: children.append(popen(*a, **k)) or children[-1]\n"
    code += "with precompile.helped(Game()): status = children[0].wait(60)\nprint(status)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "3\n", done.stderr


def test_the_helper_ends_with_the_engine(tmp_path: Path) -> None:
    with helper(tmp_path) as process:
        time.sleep(1.0)
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(120) == 0


@pytest.mark.parametrize(("cold", "cores", "started"), [(True, 2, True), (False, 2, False), (True, 1, False)])
def test_a_helper_is_there_when_it_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cold: bool, cores: int, started: bool
) -> None:
    children: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*words: object, **named: object) -> subprocess.Popen[bytes]:
        children.append(popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.PIPE))
        return children[-1]

    monkeypatch.setattr(cache, "is_missing", lambda kernel: cold)
    monkeypatch.setattr(cache, "cores", lambda: cores)
    monkeypatch.setattr(subprocess, "Popen", start)
    with precompile.helped(get_game("chess")):
        assert [child.poll() for child in children] == [None] * started
    assert all(child.poll() is not None for child in children)  # it does not outlive its use


def test_a_kernel_is_missing_until_it_was_compiled(tmp_path: Path) -> None:
    code = "from az_engine.engine.kernels.cache import is_missing\n"
    code += "from az_engine.engine.search.tree.nodes import add_base, compact\n"
    code += "from az_engine.engine.search.tree.tree import Tree\nprint(is_missing(add_base))\n"
    code += "Tree(1 << 16)\nprint(is_missing(add_base), is_missing(compact))"
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=120, check=False)
    assert done.stdout.split() == [b"True", b"False", b"True"], done.stderr


def test_chess_finds_the_kernel_that_searches_with_its_net(tmp_path: Path) -> None:
    with helper(tmp_path, SPARSE_ENCODER) as process:
        assert process.wait(240) == 0
    code = "from az_engine.engine.engine import Engine\nfrom az_engine.engine.kernels import cache\n"
    code += "names = []\nengine = Engine('chess')\ncache.on_compile, set_aside = lambda f: None, cache.on_compile\n"
    code += "set_aside(names.append)\nengine.ready()\nprint(*names)\nnames.clear()\n"
    code += "from az_engine.engine.limits import Limits\nengine.set_position('8/8/8/8/8/3k4/6K1/1r6 b - - 0 1', [])\n"
    code += "engine.go(Limits(nodes=300, time=(9000, 9000)), print, lambda _: None)\n"
    code += "engine.wait()\nprint('then', *names)"
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=240, check=False)
    first, *_, then = done.stdout.splitlines()
    assert b"describe" in first, done.stderr
    assert not {b"grow", b"digest"} & set(first.split()), "the helper's, and what such a net never needs"
    assert then == b"then", "nothing is left to compile in an ending, where it searches beside tables"


def test_nothing_is_left_to_compile_in_the_game_when_the_net_has_kernels_of_its_own(tmp_path: Path) -> None:
    code = "from az_engine.engine.engine import Engine\nfrom az_engine.engine.kernels import cache\n"
    code += "from az_engine.engine.limits import Limits\nfrom az_engine.engine.nets.evaluator import UniformEvaluator\n"
    code += "names = []\nload = lambda _, game, **more: UniformEvaluator(game.using('sparse'))\n"
    code += "engine = Engine('shogi', load=load)\nengine.ready()\ncache.on_compile(names.append)\n"
    code += "engine.ready = lambda: None\nengine.set_position(None, ['7g7f'])\n"
    code += "engine.go(Limits(nodes=300), lambda _: None, lambda _: None)\nengine.wait()\nprint('then', *names)"
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=240, check=False)
    assert done.stdout.split() == [b"then"], done.stderr
