"""The wheelhouse beside a lock: filled once, put right again, never left with gaps."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rdlc.core.packages.resolution import FetchedFile, IndexFile
from tests.operations.fake_packages import FakeIndex
from tests.operations.package_project import ACCELERATE, PEFT, PackageProject, package_project


class CachingIndex(FakeIndex):
    """An index whose files were all fetched before: they come also while it is down, by their digest."""

    def fetch_all(self, files: Sequence[IndexFile]) -> tuple[FetchedFile, ...]:
        assert all(file.sha256 for file in files)
        return tuple(self._fetch(file) for file in files)


def wheelhouse_project(folder: Path) -> PackageProject:
    project = package_project(folder)
    project.ask_for("{requires: [peft], install: wheelhouse}")
    project.lock()
    return project


def test_a_wheelhouse_beside_the_lock_is_filled_and_then_left_alone(tmp_path: Path) -> None:
    project = wheelhouse_project(tmp_path)
    folder = project.path.with_name("toy.wheels")
    said, fetched = project.voice.notes, len(project.index.fetched)

    project.lock()

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        ACCELERATE.file.name: ACCELERATE.data,
        PEFT.file.name: PEFT.data,
    }
    assert said == ["2 files put into the wheelhouse `toy.wheels`, which travels with the lock"]
    assert (project.voice.notes, len(project.index.fetched)) == ([], fetched)


@pytest.mark.parametrize("is_down", [False, True])
def test_a_file_that_is_missing_or_damaged_in_a_wheelhouse_is_put_back(tmp_path: Path, is_down: bool) -> None:
    project = wheelhouse_project(tmp_path)
    folder = project.path.with_name("toy.wheels")
    (folder / PEFT.file.name).write_bytes(b"damaged")
    (folder / ACCELERATE.file.name).unlink()
    project.index = CachingIndex(held=project.index.held, is_down=is_down)

    project.lock()

    assert (folder / PEFT.file.name).read_bytes() == PEFT.data
    assert (folder / ACCELERATE.file.name).read_bytes() == ACCELERATE.data


def test_a_wheelhouse_that_cannot_be_completed_ends_it(tmp_path: Path) -> None:
    project = wheelhouse_project(tmp_path)
    (project.path.with_name("toy.wheels") / PEFT.file.name).unlink()
    project.index.held = [ACCELERATE]

    assert project.refusal() == (
        f"`{PEFT.file.name}` is not in the wheelhouse, and the index no longer has it",
        "`rdlc lock SPEC --upgrade packages:peft`",
    )


def test_a_check_warns_of_a_wheelhouse_with_gaps(tmp_path: Path) -> None:
    project = wheelhouse_project(tmp_path)
    (project.path.with_name("toy.wheels") / PEFT.file.name).unlink()

    result = project.lock(is_check=True)

    spec = project.machine.project / "run.yaml"
    assert project.voice.warnings == [
        f"the wheelhouse `toy.wheels` lacks `{PEFT.file.name}`; `rdlc lock {spec}` fills it"
    ]
    assert result.is_unchanged
