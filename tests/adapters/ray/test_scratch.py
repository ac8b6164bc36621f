from pathlib import Path

import pytest

from rdlc.adapters.ray.scratch import remove_scratch, take_scratch
from rdlc.errors import RdlcError


def test_folder_that_was_taken_is_removed_with_everything_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    take_scratch(folder, token="a")
    (folder / "one" / "two").mkdir(parents=True)
    (folder / "one" / "two" / "file").touch()
    (folder / "one" / "dangling").symlink_to("nowhere")

    is_gone = remove_scratch(folder, token="a")

    assert is_gone
    assert list(tmp_path.iterdir()) == []


def test_empty_folder_is_taken(tmp_path: Path) -> None:
    take_scratch(tmp_path, token="a")

    assert remove_scratch(tmp_path, token="a")


def test_folder_of_another_job_is_kept(tmp_path: Path) -> None:
    take_scratch(tmp_path, token="a")

    is_gone = remove_scratch(tmp_path, token="b")

    assert not is_gone
    assert tmp_path.is_dir()


def test_folder_without_the_mark_is_kept(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()

    is_gone = remove_scratch(tmp_path, token="a")

    assert not is_gone
    assert (tmp_path / "precious").exists()


def test_link_to_a_folder_of_the_job_is_kept(tmp_path: Path) -> None:
    folder, link = tmp_path / "scratch", tmp_path / "link"
    take_scratch(folder, token="a")
    link.symlink_to(folder)

    is_gone = remove_scratch(link, token="a")

    assert not is_gone
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "scratch"]


def test_folder_that_is_missing_is_gone(tmp_path: Path) -> None:
    assert remove_scratch(tmp_path / "none", token="a")


def test_link_to_an_empty_folder_is_not_taken(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)

    with pytest.raises(RdlcError) as refused:
        take_scratch(link, token="a")

    assert refused.value.message == (
        f"scratch folder `{link}` is not an empty folder, and would be removed after the run"
    )


def test_file_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()

    with pytest.raises(RdlcError) as refused:
        take_scratch(path, token="a")

    assert refused.value.message == f"cannot use scratch folder `{path}`: File exists"
