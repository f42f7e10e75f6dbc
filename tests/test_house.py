"""The house itself: what a wheel holds, who imports whom, and what no file may contain."""

from __future__ import annotations

import ast
import builtins
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tokenize
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "az_engine"
if not (ROOT / "engine").exists():
    pytest.skip("the rules of a checkout; a source distribution holds the package alone", allow_module_level=True)
ROOMS = ("engine", "protocols", "models", "bench")
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "build", "dist", "runs", "*.egg-info", "__pycache__")
PROTOCOLS = ("uci", "usi", "gtp")  # that have an argument-free command
UNSAFE = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
SOURCES = sorted(
    path
    for folder in (*(ROOT / room for room in ROOMS), ROOT / "src", ROOT / ".ci", ROOT / "examples", ROOT / "tests")
    for path in folder.rglob("*.py")
    if "az_engine" not in path.relative_to(ROOT).parts[2:3] or path.parent.name == "az_engine"
)
PACKAGED = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ROOMS]
NETS = sorted((ROOT / "models" / "nets").iterdir())
OPENINGS = sorted((ROOT / "bench" / "openings").rglob("*.txt"))
TABLES = sorted((ROOT / "engine" / "games" / "chess" / "tables").iterdir())
PAGE = sorted(filter(Path.is_file, (ROOT / "protocols" / "page" / "web").rglob("*")))
PAGE += (ROOT / "protocols" / "languages").glob("*.json")


def run(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(wheel built from the checkout, wheel built from its source distribution, that distribution)."""
    folder = tmp_path_factory.mktemp("house")
    copy, direct, through = folder / "copy", folder / "direct", folder / "through"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_COPIED)
    build = (sys.executable, "-m", "build", "--no-isolation")
    run(*build, "--wheel", "--outdir", direct, ".", cwd=copy)
    run(*build, "--outdir", through, ".", cwd=copy)
    return next(direct.glob("*.whl")), next(through.glob("*.whl")), next(through.glob("*.tar.gz"))


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(distributions: tuple[Path, Path, Path]) -> None:
    files = files_of(distributions[0])
    assert {name.split("/")[0].partition("-")[0] for name in files} == {"az_engine"}
    expected = {f"az_engine/{path.relative_to(ROOT)}" for path in (*PACKAGED, *NETS, *OPENINGS, *TABLES, *PAGE)}
    expected |= {f"az_engine/{path.relative_to(SRC)}" for path in SOURCES if path.is_relative_to(SRC)}
    expected.add("az_engine/py.typed")
    assert {name for name in files if name.startswith("az_engine/")} == expected


@pytest.mark.slow
def test_the_source_distribution_gives_the_same_wheel(distributions: tuple[Path, Path, Path]) -> None:
    assert files_of(distributions[0]) == files_of(distributions[1])


@pytest.mark.slow
def test_the_source_distribution_holds_documents_tests_and_launchers(distributions: tuple[Path, Path, Path]) -> None:
    with tarfile.open(distributions[2]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = [ROOT / name for name in ("examples", "tests", ".ci")]
    expected = [path for folder in folders for path in folder.rglob("*.py")] + [*(ROOT / "docs").rglob("*.md")]
    expected += [
        *ROOT.glob("az-engine*"),
        *ROOT.glob("*.cmd"),
        *ROOT.glob("*.md"),
        ROOT / "test",
        ROOT / "constraints.txt",
    ]
    assert {path.relative_to(ROOT).as_posix() for path in expected} <= names


@pytest.mark.slow
def test_the_wheel_runs_outside_the_checkout(distributions: tuple[Path, Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(distributions[0]) as archive:
        archive.extractall(place)
    env = {"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    where = run(sys.executable, "-c", "import az_engine; print(az_engine.__file__)", cwd=tmp_path, env=env)
    assert Path(where.strip()).is_relative_to(place)
    assert run(sys.executable, "-m", "az_engine", "version", cwd=tmp_path, env=env).startswith("az-engine 0.")
    nets = run(sys.executable, "-m", "az_engine", "nets", cwd=tmp_path, env=env)
    assert "chess sparse" in nets


def test_onnxruntime_keeps_nothing_to_tell_its_makers(tmp_path: Path) -> None:
    net = str(ROOT / "models" / "nets" / "go.onnx")
    program = f"from az_engine.engine.nets.onnx.session import raw_session; raw_session({net!r})"
    kept = {k: v for k, v in os.environ.items() if k not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")}
    env = {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    run(sys.executable, "-c", program, cwd=tmp_path, env=env)
    assert not list(tmp_path.rglob("*onnxruntime*"))


@pytest.mark.slow
def test_the_wheel_says_its_licence_and_commands(distributions: tuple[Path, Path, Path]) -> None:
    with zipfile.ZipFile(distributions[0]) as archive:
        read = {name.rpartition("/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(read["METADATA"]).decode()
        commands = archive.read(read["entry_points.txt"]).decode()
        licence = archive.read(read["LICENSE"]).decode()
    assert "License-Expression: GPL-3.0-or-later\n" in metadata
    for said in ("Requires-Python: <3.15,>=3.11", "Operating System :: Microsoft :: Windows", "Python :: 3.13"):
        assert f"{said}\n" in metadata
    assert "GNU GENERAL PUBLIC LICENSE" in licence
    assert "az-engine = az_engine.cli:run\n" in commands
    for protocol in PROTOCOLS:
        assert f"az-engine-{protocol} = az_engine.cli:{protocol}\n" in commands


def test_all_places_name_the_same_pythons() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    named = {line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert named == {"3.11", "3.12", "3.13", "3.14"}
    for launcher in ("az-engine", "az-engine.cmd"):
        text = (ROOT / launcher).read_text()
        assert "not (3, 11) <= sys.version_info < (3, 15)" in text
        assert "needs Python 3.11 to 3.14" in text
    for document in ("README.md", ".github/workflows/test.yml"):
        assert "3.14" in (ROOT / document).read_text()


def test_nothing_that_pip_is_asked_for_brings_both_runtimes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    extras = project["optional-dependencies"]
    of = {name: {Requirement(line).name for line in (*project["dependencies"], *extras[name])} for name in extras}
    runtimes = {name: packages & {"onnxruntime", "onnxruntime-gpu"} for name, packages in of.items()}
    assert all(found == {"onnxruntime"} for found in runtimes.values())
    assert [Requirement(line).name for line in groups["gpu"]] == ["onnxruntime-gpu"]


def test_the_rooms_are_relative_links() -> None:
    for room in ROOMS:
        assert (ROOT / "src" / "az_engine" / room).readlink() == Path("../..") / room
    for protocol in PROTOCOLS:
        assert (ROOT / f"az-engine-{protocol}").readlink() == Path("az-engine")


@pytest.mark.slow
def test_a_clone_without_symbolic_links_is_built_and_installed_alike(
    distributions: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    clone, wheels, env = tmp_path / "clone", tmp_path / "wheels", tmp_path / "env"
    shutil.copytree(ROOT, clone, symlinks=True, ignore=NOT_COPIED)
    for room in ROOMS:
        (clone / "src" / "az_engine" / room).unlink()
        (clone / "src" / "az_engine" / room).write_text(f"../../{room}")  # as git writes them there
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", wheels, clone, cwd=tmp_path)
    assert files_of(next(wheels.glob("*.whl"))) == files_of(distributions[0])
    shutil.rmtree(clone / "build")
    run(sys.executable, "-m", "venv", "--without-pip", env, cwd=tmp_path)
    python = env / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-build-isolation", "--no-deps", "--quiet")
    dependencies = {"PYTHONPATH": sysconfig.get_path("purelib"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    run(*pip, "--editable", clone, cwd=tmp_path, env=dependencies)
    nets = run(python, "-m", "az_engine", "nets", cwd=tmp_path, env=dependencies)
    assert "chess sparse" in nets
    program = "from az_engine.engine import games; print(games.__file__)"
    where = run(python, "-c", program, cwd=tmp_path, env=dependencies)
    assert Path(where.strip()) == clone / "engine" / "games" / "__init__.py"


def test_the_launchers_have_files_for_windows() -> None:
    for protocol in PROTOCOLS:
        assert (ROOT / f"az-engine-{protocol}.cmd").read_text() == f'@"%~dp0az-engine.cmd" {protocol} %*\n'
    main = (ROOT / "az-engine.cmd").read_text()
    assert r'"%~dp0.ci\venv.py"' in main
    assert r'"%~dp0.venv\Scripts\python.exe" -I -m az_engine %*' in main
    for path in ROOT.glob("*.cmd"):
        content = path.read_bytes()
        assert content.isascii()  # whatever the code page
        assert content.count(b"\n") == content.count(b"\r\n")  # cmd loses labels in files with other line ends


@pytest.mark.slow
def test_imports_run_one_way() -> None:
    said = run(Path(sys.executable).with_name("lint-imports"), "--no-cache", cwd=ROOT)
    assert re.search(r"Contracts: \d+ kept, 0 broken", said)


def test_the_pinned_versions_are_in_the_packages_ranges() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    ranges = {r.name: r.specifier for r in map(Requirement, declared)}
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert pins["torch"] == "2.13.0"
    for name, version in pins.items():
        assert ranges[name].contains(version), f"{name} {version} is outside {ranges[name]}"
    locked = re.findall(
        r"^([\w-]+)==(\S+)[^\n]*\\\n    --hash=sha256:", (ROOT / "requirements.txt").read_text(), re.MULTILINE
    )
    wanted = {Requirement(each).name for each in project["dependencies"]}
    assert {name: version for name, version in locked if name in wanted} == {name: pins[name] for name in wanted}


def test_no_folder_holds_more_than_twelve_modules() -> None:
    modules = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] in (*ROOMS, "src") and path.name != "__init__.py"
    )
    assert modules["models/selfplay"]
    assert {folder: count for folder, count in modules.items() if count > 12} == {}


def words_of(identifier: str) -> list[str]:
    """``keepAliveMs`` and ``keep_alive_ms``: keep, alive, ms."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", identifier)]


@pytest.mark.slow
def test_identifiers_have_the_words_of_the_glossary() -> None:
    """But for names that users know, such as the option OwnBook, and weights that files know by name."""
    rows = re.findall(r"^ +\| ([a-z, ]+) \| .+ \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    left = {word for row in rows for word in row.split(", ")} - {"not", "states"}  # State is what games call theirs
    assert {"told", "wanted", "men", "halves"} <= left
    found: Counter[str] = Counter()
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] in (*ROOMS, "src"):
            with path.open("rb") as file:
                names = [t.string for t in tokenize.tokenize(file.readline) if t.type == tokenize.NAME]
            found.update(name for name in names if not hasattr(builtins, name) and left.intersection(words_of(name)))
    assert found["own_book"]
    assert found.total() < 100, found.most_common()


def parameters_of_kernels(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(name, parameters) of each function that numba compiles."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
            if {ast.unparse(each).rpartition(".")[2] for each in decorators} & {"kernel", "device"}:
                yield node.name, len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)


@pytest.mark.slow
def test_kernels_take_records_and_not_a_dozen_arrays() -> None:
    offenders, seen = [], 0
    for path in PACKAGED:
        name = str(path.relative_to(ROOT))
        for kernel, count in parameters_of_kernels(ast.parse(path.read_text())):
            seen += 1
            if count > 8:
                offenders.append(f"{name}: {kernel} has {count} parameters")
    assert seen > 100
    assert offenders == []


def imports_by_module() -> dict[str, set[str]]:
    """What each module of the package imports from the package, inside functions and for type checks too."""
    modules = {}
    for path in PACKAGED + [path for path in SOURCES if path.is_relative_to(SRC)]:
        parts = path.relative_to(SRC if path.is_relative_to(SRC) else ROOT).with_suffix("").parts
        modules[".".join(("az_engine", *parts)).removesuffix(".__init__")] = path
    graph = {}
    for module, path in modules.items():
        folder = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                start = folder[: len(folder) - node.level + 1] if node.level else []
                source = ".".join([*start, *filter(None, [node.module])])
                names |= {inner if (inner := f"{source}.{alias.name}") in modules else source for alias in node.names}
        graph[module] = (names & modules.keys()) - {module}
    return graph


@pytest.mark.slow
def test_no_import_runs_in_a_circle() -> None:
    graph, found = imports_by_module(), set()
    assert "az_engine.engine.errors" in graph["az_engine.cli"]
    while True:
        try:
            tuple(TopologicalSorter(graph).static_order())
            break
        except CycleError as error:
            circle = error.args[1]  # each imports the one before it
            found.add(" ".join(sorted(set(circle))))
            graph[circle[1]].discard(circle[0])
    assert found == set()


def faults_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, what) of each thing that no file may contain."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                if name.partition(".")[0] in UNSAFE:
                    yield node.lineno, f"imports {name}"
        elif isinstance(node, ast.Call):
            if ast.unparse(node.func) == "torch.load":
                yield node.lineno, "calls torch.load"
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False":
                    yield node.lineno, "allows pickle"
        elif isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "BaseException"
            silent = all(isinstance(s, ast.Pass | ast.Continue) or ast.unparse(s) == "..." for s in node.body)
            if silent and re.search(r"\b(Base)?Exception\b", caught):
                yield node.lineno, f"swallows {caught}"


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "x = torch.load(f)",
        "np.load(f, allow_pickle=True)",
        "try:\n    f()\nexcept Exception:\n    pass",
        "for x in y:\n    try:\n        f()\n    except:\n        continue",
    ],
)
def test_forbidden_code_is_noticed(code: str) -> None:
    assert list(faults_in(ast.parse(code)))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_holds_what_none_may(path: Path) -> None:
    text = path.read_text()
    assert list(faults_in(ast.parse(text))) == []
    assert text.count("\n") <= 900


def test_few_files_of_the_product_are_long() -> None:
    rooms = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in (*ROOMS, "src")]
    assert len([path for path in rooms if path.read_text().count("\n") > 500]) <= 3


def test_only_chess_knows_of_chess960() -> None:
    folders = (ROOT / "engine" / "games", ROOT / "engine" / "search", ROOT / "engine" / "nets", ROOT / "examples")
    sources = [path for folder in folders for path in folder.rglob("*.py") if "chess" not in path.parts]
    assert len(sources) > 50
    assert [str(path) for path in sources if "chess960" in path.read_text().lower()] == []


def test_all_sources_are_looked_at() -> None:
    names = {str(path.relative_to(ROOT)) for path in SOURCES}
    assert {"engine/errors.py", "engine/games/base.py", "src/az_engine/cli.py", ".ci/venv.py"} <= names
    assert not any("src/az_engine/engine" in name for name in names)


def writes_stdout(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "builtins.print"})
        or (isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.stdout", "sys.__stdout__"})
        for node in ast.walk(tree)
    )


@pytest.mark.slow
def test_only_lines_writes_to_stdout_in_engine_and_protocols() -> None:
    """And a net's trial, which is a process of its own whose stdout its parent reads."""
    writers = {
        str(path.relative_to(ROOT))
        for path in PACKAGED
        if path.relative_to(ROOT).parts[0] in ("engine", "protocols") and writes_stdout(ast.parse(path.read_text()))
    }
    assert writers == {"protocols/lines.py", "engine/nets/onnx/trial.py"}


@pytest.mark.slow
def test_no_place_of_one_machine_is_named() -> None:
    """Absolute paths of a home or of a work place do not belong into a product."""
    texts = [*SOURCES, *ROOT.glob("*.md"), *ROOT.glob("*.toml"), *NETS, ROOT / "Dockerfile", ROOT / "az-engine"]
    place = re.compile(rb"(?<![\w.])/(?:home/(?!az\b)|root/|work/|mnt/|Users/)")
    assert [path for path in texts if path != Path(__file__) and place.search(path.read_bytes())] == []
