"""Folders of records: held while their run lives, found by path or name."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rdlc.adapters.workspace.code import list_code, pack_code
from rdlc.adapters.workspace.records import (
    create_record,
    dead_records,
    find_archive,
    find_record,
    hash_files,
    is_held,
    list_records,
    release_record,
)
from rdlc.errors import InputError, RdlcError
from tests.projects import make_project

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys
from pathlib import Path
from rdlc.adapters.workspace.records import create_record
record = create_record(Path(sys.argv[1]), "toy", "a")
print("held", flush=True)
sys.stdin.read()
"""


def finished(runs: Path, name: str, record_id: str) -> Path:
    path = runs / name / record_id
    path.mkdir(parents=True)
    (path / "record.json").write_text("{}")
    return path


def test_a_record_is_held_until_it_is_closed(tmp_path: Path) -> None:
    record = create_record(tmp_path, "toy", "a")
    held, dead = is_held(record.path), dead_records(tmp_path)
    record.close(is_settled=True)

    assert (held, dead) == (True, ())
    assert (is_held(record.path), dead_records(tmp_path)) == (False, ())
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_a_killed_run_leaves_a_dead_record(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        (sys.executable, "-c", HOLDER, str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    held = is_held(tmp_path / "toy/a")
    holder.kill()
    holder.communicate()

    dead = dead_records(tmp_path)
    release_record(dead[0])

    assert (held, is_held(tmp_path / "toy/a"), dead) == (True, False, (tmp_path / "toy/a",))
    assert dead_records(tmp_path) == ()


def test_a_record_that_is_not_settled_is_left_for_the_next_run(tmp_path: Path) -> None:
    record = create_record(tmp_path, "toy", "a")
    record.close(is_settled=False)

    assert (is_held(record.path), dead_records(tmp_path)) == (False, (record.path,))


def test_two_records_of_one_second_have_two_names(tmp_path: Path) -> None:
    records = [create_record(tmp_path, "toy", "a") for _ in range(3)]
    for record in records:
        record.close(is_settled=True)

    assert [record.path.name for record in records] == ["a", "a-2", "a-3"]


def test_a_record_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "toy").touch()

    with pytest.raises(RdlcError) as caught:
        create_record(tmp_path, "toy", "a")

    assert (caught.value.message, caught.value.file) == ("the record cannot be made: File exists", f"{tmp_path}/toy")


def test_records_are_listed_newest_first(tmp_path: Path) -> None:
    paths = [finished(tmp_path, "b", "2026-1"), finished(tmp_path, "a", "2026-3"), finished(tmp_path, "a", "2026-2")]

    assert list_records(tmp_path) == (paths[1], paths[2], paths[0])
    assert list_records(tmp_path / "absent") == ()


def test_a_record_is_found_by_folder_file_and_name(tmp_path: Path) -> None:
    path = finished(tmp_path, "toy", "a")
    finished(tmp_path, "one", "b")
    finished(tmp_path, "two", "b")

    assert {find_record(given, tmp_path) for given in (path, path / "record.json", Path("a"))} == {path}
    with pytest.raises(InputError) as absent:
        find_record(Path("c"), tmp_path)
    with pytest.raises(InputError) as twice:
        find_record(Path("b"), tmp_path)
    assert (absent.value.message, absent.value.hint) == ("there is no such record", "`rdlc runs` lists them")
    assert (twice.value.message, twice.value.hint) == ("`b` names 2 records", f"give the path: `{tmp_path}/one/b`")


def test_every_file_is_hashed_but_the_record_itself_checkpoints_and_links(tmp_path: Path) -> None:
    for name in ("a", "workers/0/b", "checkpoints/c", "record.json", ".running", "sub/checkpoints"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link").symlink_to("a")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    assert hash_files(tmp_path) == dict.fromkeys(("a", "sub/checkpoints", "workers/0/b"), empty)


def test_the_newest_archive_with_exactly_the_locked_files_is_found(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project") / "recipes"
    runs, files = tmp_path / "runs", list_code(root, "toy")
    for record_id in ("1", "2", "3", "4", "5"):
        (runs / "toy" / record_id).mkdir(parents=True)
    for record_id in ("1", "2"):
        pack_code(root, files, runs / "toy" / record_id / "shipped.tar")
    (root / "toy/train.py").write_text("other")
    pack_code(root, list_code(root, "toy"), runs / "toy/3/shipped.tar")
    (runs / "toy/4/shipped.tar").symlink_to(runs / "toy/1/shipped.tar")
    os.mkfifo(runs / "toy/5/shipped.tar")

    assert find_archive(runs, "toy", files) == runs / "toy/2/shipped.tar"
    assert find_archive(runs, "other", files) is None
    assert find_archive(runs, "toy", {**files, "toy/more.py": "0" * 64}) is None


def test_no_hold_is_ever_seen_that_nobody_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead: list[Path] = []
    lock = fcntl.flock

    def look_and_lock(handle: int, operation: int) -> None:
        # What another run would see at the worst moment.
        monkeypatch.setattr(fcntl, "flock", lock)
        dead.extend(dead_records(tmp_path))
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", look_and_lock)
    record = create_record(tmp_path, "toy", "a")
    held = is_held(record.path)
    record.close(is_settled=True)

    assert (dead, held) == ([], True)
    assert list(record.path.iterdir()) == []


def test_a_link_in_place_of_the_records_is_refused(tmp_path: Path) -> None:
    elsewhere, runs = tmp_path / "elsewhere", tmp_path / "runs"
    finished(elsewhere, "toy", "a")
    runs.symlink_to(elsewhere)
    messages = []

    for use in (
        list_records,
        dead_records,
        lambda runs: create_record(runs, "toy", "b"),
        lambda runs: find_archive(runs, "toy", {}),
        lambda runs: find_record(Path("a"), runs),
    ):
        with pytest.raises(InputError) as caught:
            use(runs)
        messages.append((caught.value.message, caught.value.file))

    assert messages == [("records are kept in a real folder, and this is a link", str(runs))] * 5
    assert sorted(path.name for path in elsewhere.rglob("*")) == ["a", "record.json", "toy"]


def test_links_below_the_records_are_not_followed(tmp_path: Path) -> None:
    elsewhere, runs = tmp_path / "elsewhere", tmp_path / "runs"
    (finished(elsewhere, "toy", "a") / ".running").touch()
    runs.mkdir()
    (runs / "toy").symlink_to(elsewhere / "toy")
    (runs / "one").mkdir()
    (runs / "one/a").symlink_to(elsewhere / "toy/a")

    with pytest.raises(InputError) as caught:
        create_record(runs, "toy", "b")

    assert (list_records(runs), dead_records(runs)) == ((), ())
    assert caught.value.file == str(runs / "toy")


def test_records_that_cannot_be_listed_are_told(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()

    with pytest.raises(InputError) as caught:
        list_records(tmp_path / "runs")

    assert caught.value.message == "the records cannot be listed: Not a directory"
    assert caught.value.file == str(tmp_path / "runs")
