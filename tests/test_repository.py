"""What holds for the repository as a whole: its sizes, its text, its wheel, its start-up."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON_FOLDERS = ("rdlc", "recipes", "tests")


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def output_of(*command: str) -> str:
    """Standard output of a program that this machine may lack; nothing then."""
    return run(*command).stdout.strip() if shutil.which(command[0]) else ""


def repository_files() -> tuple[Path, ...]:
    """Every file that is or would be committed; in an unpacked sdist, every file of that."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed.returncode == 0 and (ROOT / ".git").exists():
        names = sorted(name for name in listed.stdout.split("\0") if name)
        return tuple(path for name in names if (path := ROOT / name).is_file())
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    tops = [ROOT / name.lstrip("/") for name in (*included, "pyproject.toml")]
    paths = (path for top in tops for path in (top, *top.rglob("*")) if path.is_file())
    return tuple(sorted(path for path in paths if "__pycache__" not in path.parts))


def python_modules() -> tuple[Path, ...]:
    return tuple(path for folder in PYTHON_FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_with(pattern: re.Pattern[str]) -> Iterator[str]:
    """Each `file:line: text` of the repository in which the pattern occurs."""
    for path in repository_files():
        if path.suffix in {".lock", ".svg"}:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if pattern.search(line):
                yield f"{relative(path)}:{number}: {line.strip()}"


def any_of(names: set[str]) -> re.Pattern[str]:
    """A pattern for any of these words where it does not merely end another word or path."""
    return re.compile(r"(?<![\w.-])(?:" + "|".join(sorted(map(re.escape, names))) + ")")


def machine_folders() -> set[str]:
    """The folders of this checkout and of this user; not those that every machine has."""
    everywhere = {"/", tempfile.gettempdir(), "/home", "/opt", "/srv", "/usr", "/var"}
    return {f"{name}/" for name in {str(ROOT), str(ROOT.parent), str(Path.home())} - everywhere}


def registry_hosts() -> set[str]:
    """The hosts that pip, npm and apt of this machine are set up to ask."""
    apt = Path("/etc/apt")
    sources = [apt / "sources.list", *apt.glob("sources.list.d/*")]
    settings = [
        run(sys.executable, "-m", "pip", "config", "list").stdout,
        output_of("npm", "config", "get", "registry"),
        *(path.read_text(encoding="utf-8") for path in sources if path.is_file()),
    ]
    addresses = re.findall(r"https?://(?:[^/@\s]*@)?([^/:\s'\"]+)", "\n".join(settings))
    return set(addresses)


def test_no_module_is_longer_than_300_lines() -> None:
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_modules()}

    assert {name: length for name, length in lengths.items() if length > 300} == {}
    assert "tests/test_repository.py" in lengths


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{relative(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in python_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert {name: length for name, length in lengths.items() if length > 60} == {}
    assert len(lengths) > 5


def test_modules_and_shell_files_are_ascii() -> None:
    files = [*python_modules(), ROOT / "Makefile", ROOT / ".ci/run", ROOT / ".ci/set-up"]

    assert [relative(path) for path in files if not path.read_bytes().isascii()] == []


def test_core_opens_no_file_and_asks_no_clock() -> None:
    banned = re.compile(r"\b(open|input|print|__import__)\(|\.(read|write)_(text|bytes)\(|\.now\(")
    core = (path for path in python_modules() if path.is_relative_to(ROOT / "rdlc/core"))

    found = [
        f"{relative(path)}:{node.lineno}: {ast.unparse(node)}"
        for path in core
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and banned.search(f"{ast.unparse(node.func)}(")
    ]

    assert found == []


def test_no_file_names_a_folder_of_this_machine() -> None:
    folders = machine_folders()

    assert list(lines_with(any_of(folders))) == []
    assert f"{ROOT}/" in folders


def test_no_file_names_a_package_registry_of_this_machine() -> None:
    hosts = registry_hosts()

    assert (list(lines_with(any_of(hosts))) if hosts else []) == []


def test_search_for_machine_names_finds_what_it_should() -> None:
    pattern = any_of({"/ground/floor/", "index.example"})

    assert pattern.search("cd /ground/floor/main")
    assert pattern.search("file:///ground/floor/main")
    assert pattern.search("https://index.example/simple")
    assert not pattern.search("under/ground/floor/main")
    assert not pattern.search("https://an-index.example/simple")


def build(target: str, *, source: Path, into: Path) -> Path:
    """The one file that hatchling makes of a source tree: `sdist` or `wheel`."""
    command = (sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into / target))
    done = run(*command, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (into / target).iterdir()
    return built


def test_sdist_is_complete_and_the_wheel_made_of_it_carries_recipes_and_terraform(tmp_path: Path) -> None:
    sdist = build("sdist", source=ROOT, into=tmp_path)
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    wheel = build("wheel", source=unpacked, into=tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if ".dist-info/" not in name}

    files = {relative(path) for path in repository_files()}
    in_sdist = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
    assert files - in_sdist == set()
    package = {name for name in files if name.startswith("rdlc/")}
    recipes = {f"rdlc/_data/{name}" for name in files if name.startswith("recipes/")}
    # No provider lock of a root is hidden: it is what `terraform init` is held to.
    terraform = {f"rdlc/_data/{name}" for name in files if name.startswith("terraform/")}
    assert carried == package | recipes | terraform
    assert {"rdlc/__main__.py"} <= package
    assert {
        "rdlc/_data/recipes/fsdp_qwen/loop.py",
        "rdlc/_data/recipes/fsdp_qwen/configs/tiny.yaml",
        "rdlc/_data/recipes/fsdp_qwen/configs/qwen2.5-1.5b.yaml",
    } <= recipes


def imported_packages(*arguments: str) -> set[str]:
    """Top-level names that a fresh Python imports, without the standard library."""
    listing = run(sys.executable, "-X", "importtime", *arguments)
    assert listing.returncode == 0, listing.stderr
    lines = (line.rsplit("|", 1) for line in listing.stderr.splitlines() if "|" in line)
    names = {name.strip().split(".")[0] for _, name in lines} - set(sys.stdlib_module_names)
    # An import that failed is listed too, such as that of `_wmi` by `platform` on Linux.
    return {name for name in names if name == "rdlc" or importlib.util.find_spec(name)}


def test_help_imports_click_and_nothing_else_beside_the_standard_library() -> None:
    at_every_start = imported_packages("-c", "pass")

    assert imported_packages("-m", "rdlc", "--help") - at_every_start == {"click", "rdlc"}
