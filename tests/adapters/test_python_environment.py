"""What is locked as installed is what a recipe sees: no more, and nothing that no lock can hold."""

import json
import os
import platform
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import ruamel.yaml

from rdlc.adapters.python_environment import read_base, read_environment

# What rdlc itself needs comes by PYTHONPATH, and so must not be listed.
OURS = (Path(__file__).resolve().parents[2], Path(ruamel.yaml.__file__).resolve().parents[2])
READ = """
import json
from rdlc.adapters.python_environment import editable_distributions, missing_modules, read_environment
from rdlc.errors import InputError
try:
    found = dict(read_environment(threads_per_worker=1).distributions)
    print(json.dumps([found, editable_distributions(), missing_modules("one", "two", "three", "json")]))
except InputError as error:
    print(f"{error.file}: {error.message}")
"""

BASE = """
import json
from rdlc.adapters.python_environment import read_base, read_base_files
base = read_base()
held = [[item.name, item.version, list(item.requires)] for item in base.distributions]
print(json.dumps([base.evidence, base.is_complete, held, read_base_files()]))
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter with nothing installed."""
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    return tmp_path / "venv/bin/python"


def packages_of(python: Path) -> Path:
    scheme = {"base": str(python.parents[1]), "platbase": str(python.parents[1])}
    return Path(sysconfig.get_path("purelib", "venv", vars=scheme))


def install(folder: Path, name: str, version: str = "1.0", origin: str | None = None) -> None:
    """A distribution with one module, as an installer leaves it."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / f"{name}.py").touch()
    if origin is not None:
        (metadata / "direct_url.json").write_text(origin)


def read(python: Path, folder: Path, script: str = READ, **environment: str) -> str:
    """What the interpreter says when it is started in the folder."""
    path = os.pathsep.join((environment.pop("PYTHONPATH", "/nowhere"), *map(str, OURS)))
    done = subprocess.run(
        (python, "-c", script),
        cwd=folder,
        env={"PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_what_a_recipe_does_not_see_is_not_listed(python: Path, tmp_path: Path) -> None:
    install(packages_of(python), "one", "1.5")
    here, added, home = tmp_path / "here", tmp_path / "added", tmp_path / "home"
    user = home / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for folder in (here, added, user):
        install(folder, "two")
        # Of two with one name the first would be taken.
        install(folder, "one", "6.6")

    said = [
        read(python, tmp_path),
        read(python, here),
        read(python, tmp_path, PYTHONPATH=str(added)),
        read(python, tmp_path, PYTHONUSERBASE=str(home)),
    ]

    assert said == ['[{"one": "1.5"}, [], ["two", "three"]]\n'] * 4


def test_what_a_path_file_adds_is_listed(python: Path, tmp_path: Path) -> None:
    install(tmp_path / "source", "two", origin='{"url": "file:///x", "dir_info": {"editable": true}}')
    (packages_of(python) / "two.pth").write_text(f"{tmp_path}/source\n")

    assert read(python, tmp_path) == '[{"two": "1.0"}, ["two"], ["one", "three"]]\n'


@pytest.mark.parametrize("origin", ["[]", "{", '""', '{"dir_info": []}', '{"dir_info": {"editable": "x"}}', "null"])
def test_an_origin_that_makes_no_sense_says_nothing(python: Path, tmp_path: Path, origin: str) -> None:
    install(packages_of(python), "one", origin=origin)

    assert read(python, tmp_path) == '[{"one": "1.0"}, [], ["two", "three"]]\n'


@pytest.mark.parametrize("version", ["1.0\x1b[31m", "1.0\n 2.0", "1.0\u202e"])
def test_a_version_that_no_lock_can_hold_is_refused_by_name(python: Path, tmp_path: Path, version: str) -> None:
    install(packages_of(python), "one", version)

    assert read(python, tmp_path, PYTHONUTF8="1") == (
        f"{packages_of(python)}: distribution 'one' has a version that no lock can hold: {version!r}\n"
    )


def test_metadata_that_is_no_text_is_refused(python: Path, tmp_path: Path) -> None:
    install(packages_of(python), "one")
    (packages_of(python) / "one-1.0.dist-info/METADATA").write_bytes(b"Name: \xff\n")

    assert read(python, tmp_path) == (
        f"{packages_of(python)}: a distribution here has a file `METADATA` that cannot be read\n"
    )


def test_a_base_has_what_is_installed_with_what_it_requires_and_which_files_are_whose(
    python: Path, tmp_path: Path
) -> None:
    folder = packages_of(python)
    install(folder, "Two_Words", "2.0")
    with (folder / "Two_Words-1.0.dist-info/METADATA").open("a") as file:
        file.write('Requires-Dist: one>=1\nRequires-Dist: three\n  ; extra == "x"\n\nRequires-Dist: not-a-header\n')
    (folder / "Two_Words-1.0.dist-info/RECORD").write_text(
        '"two,words.py",sha256=x,1\n../../bin/two,,\n/etc/two,,\n__pycache__/two.pyc,,\ntwo/__init__.py,,\n'
    )
    install(folder, "one", "1.5")
    install(folder, "rdlc", "9")

    assert json.loads(read(python, tmp_path, BASE)) == [
        "environment",
        True,
        [["one", "1.5", []], ["two-words", "2.0", ["one>=1", 'three ; extra == "x"']]],
        {"two,words.py": "two-words", "two/__init__.py": "two-words"},
    ]


def test_a_base_reads_what_an_old_distribution_requires(python: Path, tmp_path: Path) -> None:
    metadata = packages_of(python) / "old-1.0.egg-info"
    metadata.mkdir()
    (metadata / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 1.0\n")
    (metadata / "requires.txt").write_text("one>=1\n")

    assert json.loads(read(python, tmp_path, BASE))[2] == [["old", "1.0", ["one>=1"]]]


def test_the_base_here_is_this_python_with_its_platform() -> None:
    base = read_base()

    assert (base.python, base.implementation) == (platform.python_version(), platform.python_implementation())
    assert base.machine == platform.machine()
    library = os.confstr("CS_GNU_LIBC_VERSION")
    assert library is not None
    assert base.glibc == tuple(int(part) for part in library.split()[1].split("."))
    assert dict(read_environment(threads_per_worker=1).distributions) == base.versions
