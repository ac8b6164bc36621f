"""Which folder is taken as scratch, and that nothing else is ever removed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.adapters.ray.scratch import remove_scratch, take_scratch
from rdlc.errors import RdlcError
from tests.adapters.ray.trees import new_scratch


@pytest.fixture
def folder() -> Iterator[Path]:
    """The path of a scratch folder; what a test leaves there is taken away."""
    path = new_scratch()
    yield path
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def left_alone(folder: Path | str) -> str:
    return f"rdlc: {str(folder)!r} is not the scratch folder of this job, and is left alone\n"


def test_folder_that_was_taken_is_removed_with_everything_in_it(folder: Path) -> None:
    take_scratch(folder, token="a")
    (folder / "one" / "two").mkdir(parents=True)
    (folder / "one" / "two" / "file").touch()
    (folder / "one" / "dangling").symlink_to("nowhere")

    is_gone = remove_scratch(folder, token="a")

    assert is_gone
    assert not folder.exists()


def test_empty_folder_is_taken(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    take_scratch(folder, token="a")

    assert remove_scratch(folder, token="a")


def test_folder_of_another_job_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take_scratch(folder, token="a")

    is_gone = remove_scratch(folder, token="b")

    assert (is_gone, names_in(folder)) == (False, [".rdlc-job"])
    assert capsys.readouterr().err == left_alone(folder)


def test_folder_without_the_mark_is_kept(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "precious").touch()

    is_gone = remove_scratch(folder, token="a")

    assert (is_gone, names_in(folder)) == (False, ["precious"])


@pytest.mark.parametrize("name", ["project", "rdlc-0123abcd"])
def test_folder_elsewhere_is_kept_though_it_bears_the_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    project = tmp_path / name
    project.mkdir(mode=0o700)
    (project / ".rdlc-job").write_text("a")
    monkeypatch.chdir(project)

    for given in (".", str(project), f"/tmp/../{project}", "a\x1b[31m\0"):
        assert not remove_scratch(Path(given), token="a")
        assert capsys.readouterr().err == left_alone(Path(given))

    assert names_in(project) == [".rdlc-job"]


@pytest.mark.parametrize("name", [".git", "recipes", "pyproject.toml", "runs"])
def test_a_project_that_is_named_like_a_scratch_folder_is_kept(folder: Path, name: str) -> None:
    take_scratch(folder, token="a")
    (folder / name).mkdir()

    is_gone = remove_scratch(folder, token="a")

    assert (is_gone, names_in(folder)) == (False, sorted([".rdlc-job", name]))


def test_a_folder_around_the_current_one_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_scratch(folder, token="a")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")

    is_gone = remove_scratch(folder, token="a")

    assert (is_gone, names_in(folder)) == (False, [".rdlc-job", "below"])


def test_a_folder_that_others_may_enter_is_neither_taken_nor_removed(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(RdlcError) as refused:
        take_scratch(folder, token="a")
    (folder / ".rdlc-job").write_text("a")

    assert not remove_scratch(folder, token="a")
    assert refused.value.message == (
        f"scratch folder `{folder}` is not an empty folder of this user alone, and would be removed after the run"
    )


def test_a_mark_that_is_a_link_does_not_count(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mark").write_text("a")
    folder.mkdir(mode=0o700)
    (folder / ".rdlc-job").symlink_to(tmp_path / "mark")

    assert not remove_scratch(folder, token="a")


def test_link_to_a_folder_of_the_job_is_kept(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "own" / ".rdlc-job").write_text("a")
    folder.symlink_to(tmp_path / "own")

    is_gone = remove_scratch(folder, token="a")

    assert (is_gone, folder.is_symlink(), names_in(tmp_path / "own")) == (False, True, [".rdlc-job"])


def test_folder_that_is_missing_is_gone(folder: Path) -> None:
    assert remove_scratch(folder, token="a")


def test_link_to_an_empty_folder_is_not_taken(folder: Path, tmp_path: Path) -> None:
    folder.symlink_to(tmp_path)

    with pytest.raises(RdlcError) as refused:
        take_scratch(folder, token="a")

    assert refused.value.message == (
        f"scratch folder `{folder}` is not an empty folder of this user alone, and would be removed after the run"
    )
    assert names_in(tmp_path) == []


def test_file_is_not_taken(folder: Path) -> None:
    folder.touch()

    with pytest.raises(RdlcError) as refused:
        take_scratch(folder, token="a")

    assert refused.value.message == f"cannot use scratch folder `{folder}`: File exists"
