"""Extra packages: what Ray is told, what is said when they cannot be had, and a real Ray that installs them."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fsdp_qwen.config import Packages
from fsdp_qwen.distributions import read_distributions
from tests.packages.distributions import BuiltFile, build_wheel
from tests.packages.package_index import Upload, serving_index
from tests.recipes.conftest import Run, make_config, start_driver, wait_for

SHA256 = "0" * 64
PACKAGES = Packages(lines=(f"extra-one==1.0 --hash=sha256:{SHA256}",), sdists=(), setup_timeout_s=90, wheels=None)
FOLDER = Packages(lines=PACKAGES.lines, sdists=(), setup_timeout_s=90, wheels=Path("/wheels"))


def wanted(*files: BuiltFile, **changes: object) -> dict[str, Any]:
    lines = [f"{file.project}=={file.version} --hash=sha256:{file.sha256}" for file in files]
    return {"lines": lines, "sdists": [], "setup_timeout_s": 300, "wheels": None, **changes}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a path short enough for Ray's sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fsdp-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def run_with(folder: Path, scratch: Path, packages: Mapping[str, Any], *, index: str) -> Run:
    config = make_config(recipe={"steps": 2}, scratch=str(scratch), packages=dict(packages))
    # A setting of this machine that must not count: nothing is there.
    environment = {"PIP_INDEX_URL": index, "PIP_FIND_LINKS": "/nowhere", "PIP_CONSTRAINT": "/nowhere/at/all.txt"}
    return wait_for(start_driver(folder, config, environment=environment), folder / "output")


@pytest.mark.slow
def test_workers_get_the_locked_file_on_top_of_what_this_python_has(tmp_path: Path, scratch: Path) -> None:
    wheel = build_wheel("extra-one", "1.0")
    later = build_wheel("extra-one", "1.0", tag="py3-none-linux_x86_64", files={"extra_one.py": b"version = 'later'\n"})
    # A newer version of what is here already, as a package that is replaced on purpose.
    replaced = build_wheel("annotated-doc", "99.0")
    with serving_index(Upload(file=wheel, yanked="has a flaw"), later, replaced) as index:
        ended = run_with(tmp_path, scratch, wanted(wheel, replaced), index=index.url)

    assert (ended.exit_code, ended.stderr) == (0, "")
    before = read_distributions()
    for rank in (0, 1):
        assert ended.worker(rank)["distributions"] == {**before, "extra-one": "1.0", "annotated-doc": "99.0"}
    assert [phase for phase, _ in ended.phases][:3] == ["starting-ray", "installing-packages", "starting-workers"]
    node = json.loads((ended.output / "packages/0.json").read_text())
    assert node["installed"]["extra-one"] == {
        "version": "1.0",
        "file": wheel.name,
        "sha256": f"sha256:{wheel.sha256}",
        "is_yanked": True,
    }
    assert node["installed"]["annotated-doc"]["is_yanked"] is False
    assert node["distributions"] == ended.worker(0)["distributions"]
    assert node["seconds"] > 0
    # Measured, and small: this Python's own packages were not copied.
    assert 0 < node["bytes"] < 10 << 20
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_file_that_was_changed_after_locking_ends_the_run_before_training(tmp_path: Path, scratch: Path) -> None:
    locked = build_wheel("extra-one", "1.0")
    changed = build_wheel("extra-one", "1.0", files={"extra_one.py": b"version = 'changed'\n"})
    with serving_index(changed) as index:
        ended = run_with(tmp_path, scratch, wanted(locked), index=index.url)

    message = (
        f"package `extra-one`: the lock has sha256:{locked.sha256} for `{locked.name}`, "
        f"and the index gave sha256:{changed.sha256}: it was changed after it was locked"
    )
    assert (ended.exit_code, ended.stderr) == (1, f"error: {message}\n")
    assert ended.result["error"] == {"message": message, "rank": None, "field": "packages"}
    assert ended.phases == [("starting-ray", 1), ("installing-packages", 1)]
    # One try: nothing is asked for twice.
    assert index.asked.count(f"/files/{locked.name}") == 1
    assert list(scratch.iterdir()) == []
