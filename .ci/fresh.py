"""Install the wheel and the source distribution into fresh environments, outside the checkout, and play there.

    python .ci/fresh.py [--dist FOLDER] [PYTHON ...]

One environment for each Python (this one without arguments) and each distribution, built here or taken from FOLDER.
Needs the network (or pip's settings for a local index), and the package build. Exit status 1 when one fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = "Scripts" if sys.platform == "win32" else "bin"
UCI = "uci\nisready\nposition startpos moves e2e4\ngo nodes 200\n"


def run(*command: object, cwd: Path, text: str | None = None, env: dict[str, str] | None = None) -> str:
    """Output of a command; raises CalledProcessError with it when the command fails."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        input=text,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=True,
    ).stdout


def converse(engine: Path, cwd: Path, env: dict[str, str]) -> str:
    """The move of a UCI conversation."""
    with subprocess.Popen([engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=env, text=True) as one:
        assert one.stdin
        assert one.stdout
        one.stdin.write(UCI)
        one.stdin.flush()
        for line in one.stdout:
            if line.startswith("bestmove"):
                one.stdin.write("quit\n")
                one.stdin.flush()
                return line.split()[1]
    raise AssertionError("no bestmove")


def play(python: str, distribution: Path, folder: Path) -> str:
    """Make an environment, check the engine in it and play a move; one line of what happened."""
    folder.mkdir()
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "LOCALAPPDATA": str(folder / "cache")}
    env.pop("PYTHONPATH", None)
    began = time.perf_counter()
    run(python, "-m", "venv", "env", cwd=folder)
    commands = folder / "env" / BIN
    run(commands / "python", "-m", "pip", "install", "--quiet", distribution, cwd=folder)
    installed = time.perf_counter()
    report = run(commands / "az-engine", "check", "--seconds", "1", cwd=folder, env=env)
    checked = time.perf_counter()
    move = converse(commands / "az-engine-uci", folder, env)
    assert re.fullmatch("[a-h][1-8][a-h][1-8][qrbn]?", move), move
    assert str(ROOT) not in report
    runtimes = run(commands / "python", "-m", "pip", "list", "--format=freeze", cwd=folder).count("onnxruntime")
    assert runtimes == 1
    return f"installed in {installed - began:.0f} s, checked in {checked - installed:.0f} s, answered e2e4 with {move}"


def main() -> int:
    """Build, then every Python with either distribution."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    args = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        dist = args.dist.resolve() if args.dist else place / "dist"
        if not args.dist:
            run(sys.executable, "-m", "build", "--outdir", dist, ROOT, cwd=place)
        for number, python in enumerate(args.pythons):
            version = run(python, "--version", cwd=place).strip()
            for distribution in sorted(dist.iterdir()):
                kind = "wheel" if distribution.suffix == ".whl" else "sdist"
                try:
                    said = play(python, distribution, place / f"{number}-{kind}")
                except (subprocess.CalledProcessError, AssertionError) as error:
                    failed = True
                    said = f"FAILED: {error}\n{getattr(error, 'output', '')}"
                print(f"{version}, {kind}: {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
