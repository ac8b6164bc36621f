"""Extra packages on a real Ray: locked from an index of the tests, installed by hash, refused when changed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages.distributions import build_wheel
from tests.packages.package_index import PackageIndex, Upload, serving_index

ROOT = Path(__file__).parents[2]
WHEEL = build_wheel("extra-one", "1.0")
LATER = build_wheel("extra-one", "1.0", tag="py3-none-manylinux_2_17_x86_64")
CHANGED = build_wheel("extra-one", "1.0", files={"extra_one.py": b"version = 'changed'\n"})


class Project:
    """A folder made by `rdlc init`, and what its commands say."""

    def __init__(self, folder: Path, cache: Path, index: PackageIndex) -> None:
        self.folder = folder
        self.index = index
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
        self("init", ".", "--target", "local")

    def ask_for(self, install: str) -> None:
        text = (self.folder / "run.yaml").read_text().partition("\npackages: ")[0].rstrip("\n")
        wanted = f'packages: {{requires: [extra-one], index: "{self.index.url}", install: {install}}}'
        (self.folder / "run.yaml").write_text(f"{text}\n{wanted}\n")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            (sys.executable, "-m", "rdlc", *arguments),
            cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "project").mkdir()
    with serving_index(WHEEL) as index:
        yield Project(tmp_path / "project", tmp_path / "cache", index)


@pytest.mark.late
def test_a_locked_package_is_installed_reported_and_refused_once_its_bytes_change(project: Project) -> None:
    project.ask_for("index")
    lock = "lock/tiny.lock.yaml"
    assert project("lock", "run.yaml")[0] == 0

    # Yanked, and with a better match of the same version beside it: the locked file is taken all the same.
    project.index.replace(Upload(file=WHEEL, yanked="has a flaw"), LATER)
    code, out, err = project("run", lock)
    assert (code, "  level     execution\n" in out, "installing the extra packages\n" in err) == (0, True, True)
    assert "  packages  set up in " in out
    assert "yanked from the index, and installed as locked: extra-one" in out

    project.index.replace(Upload(file=CHANGED))
    code, out, err = project("replay", lock)
    said = (
        f"package `extra-one`: the lock has sha256:{WHEEL.sha256} for `{WHEEL.name}`, "
        f"and the index gave sha256:{CHANGED.sha256}: it was changed after it was locked"
    )
    assert (code, f"  why       {said}\n" in out, "training" in err) == (1, True, False)


@pytest.mark.late
def test_a_wheelhouse_needs_no_index(project: Project) -> None:
    project.ask_for("wheelhouse")
    assert project("lock", "run.yaml")[0] == 0
    assert [path.name for path in (project.folder / "lock/tiny.wheels").iterdir()] == [WHEEL.name]
    project.index.replace()
    asked = len(project.index.asked)

    code, out, _ = project("run", "lock/tiny.lock.yaml")

    assert (code, "  level     execution\n" in out, len(project.index.asked) - asked) == (0, True, 0)
