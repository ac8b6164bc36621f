"""Whole files or nothing: reading within bounds, writing in one step."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdlc.adapters.workspace.files import find_project, read_bounded, write_atomically
from rdlc.errors import InputError, RdlcError

ROOT = Path(__file__).resolve().parents[3]
WRITER = """
import sys
from pathlib import Path
from rdlc.adapters.workspace.files import write_atomically
path, name = Path(sys.argv[1]), sys.argv[2].encode()
print("ready", flush=True)
while True:
    for size in (10, 300_000):
        write_atomically(path, name * size + b"end")
"""


def start_writer(path: Path, name: str) -> subprocess.Popen[bytes]:
    """A process that writes a short and a long text in turn, for ever."""
    process = subprocess.Popen(
        (sys.executable, "-c", WRITER, str(path), name),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def whole(name: bytes) -> set[bytes]:
    return {name * size + b"end" for size in (10, 300_000)}


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 10 + b"end")
    for delay_ms in range(12):
        writer = start_writer(path, "a")
        time.sleep(delay_ms * 0.003)
        end(writer)

        assert path.read_bytes() in whole(b"a")


def test_of_two_writers_one_wins_and_the_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 10 + b"end")
    writers = [start_writer(path, "a"), start_writer(path, "b")]
    try:
        seen = {path.read_bytes() for _ in range(300)}
    finally:
        for writer in writers:
            end(writer)

    assert seen <= whole(b"a") | whole(b"b")
    assert path.read_bytes() in whole(b"a") | whole(b"b")


def test_a_file_that_says_the_same_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "x"

    first = write_atomically(path, b"text")
    before = path.stat()
    second = write_atomically(path, b"text")

    assert (first, second) == (True, False)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_new_file_may_be_read_by_all_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "deep" / "x", b"text")

    assert (tmp_path / "deep" / "x").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["x"]


@pytest.mark.parametrize("name", ["folder", "file/below", "x" * 300])
def test_what_cannot_be_written_is_told_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(RdlcError) as caught:
        write_atomically(tmp_path / name, b"text")

    assert caught.value.message.startswith("cannot be written: ")
    assert caught.value.file == str(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "x"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(RdlcError) as caught:
            write_atomically(path, b"new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)

    assert (caught.value.message, path.read_bytes()) == ("cannot be written: File too large", b"old")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_reading_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")

    assert read_bounded(tmp_path / "x", limit_bytes=5, what="it") == b"12345"
    with pytest.raises(InputError) as caught:
        read_bounded(tmp_path / "x", limit_bytes=4, what="it")
    assert caught.value.message == "it is too large: 5 bytes, and at most 4 are read"


def test_a_project_is_the_nearest_folder_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/pyproject.toml").touch()

    assert find_project(tmp_path / "a/b") == tmp_path / "a"
    assert find_project(tmp_path) == tmp_path
