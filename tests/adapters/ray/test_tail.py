import os
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdlc.adapters.ray.tail import MAX_LINE_BYTES, LineTail
from rdlc.errors import RdlcError


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def read_all(tail: LineTail) -> list[str]:
    lines: list[str] = []
    while new := tail.read_new():
        lines.extend(new)
    return lines


def test_missing_file_has_no_lines_yet(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = LineTail(path)

    before = tail.read_new()
    append(path, b"one\n")

    assert before == ()
    assert tail.read_new() == ("one",)
    assert tail.read_new() == ()


def test_line_is_given_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = LineTail(path)
    append(path, b"one\ntw")

    first = tail.read_new()
    unfinished = tail.unfinished_bytes
    append(path, b"o\n\nthree\r\n")

    assert first == ("one",)
    assert unfinished == 2
    assert tail.read_new() == ("two", "", "three\r")
    assert tail.unfinished_bytes == 0


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, "a\u2028b\x0bc\x1ed\n".encode())

    assert LineTail(path).read_new() == ("a\u2028b\x0bc\x1ed",)


@given(
    lines=st.lists(st.text().map(lambda text: text.replace("\n", "")), max_size=8),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_are_the_same_however_they_arrive(tmp_path: Path, lines: list[str], cuts: list[int]) -> None:
    path = tmp_path / "metrics.jsonl"
    path.unlink(missing_ok=True)
    content = "".join(line + "\n" for line in lines).encode()
    bounds = sorted({0, *(min(cut, len(content)) for cut in cuts), len(content)})
    tail = LineTail(path)

    found = []
    for start, stop in pairwise(bounds):
        append(path, content[start:stop])
        found.extend(read_all(tail))

    assert found == lines


def test_large_file_is_read_in_parts_with_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    line = "x" * 999
    with path.open("w") as file:
        for _ in range(40_000):
            file.write(line + "\n")
    tail = LineTail(path)

    tracemalloc.start()
    number_of_lines = 0
    while new := tail.read_new():
        number_of_lines += len(new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert number_of_lines == 40_000
    assert peak < path.stat().st_size / 2


def test_longest_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"x" * MAX_LINE_BYTES + b"\n")

    assert LineTail(path).read_new() == ("x" * MAX_LINE_BYTES,)


@pytest.mark.parametrize("end", [b"\n", b""], ids=["whole", "unfinished"])
def test_longer_line_is_refused_by_its_number(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"one\n")
    tail = LineTail(path)
    tail.read_new()
    append(path, b"two\n" + b"x" * (MAX_LINE_BYTES + 1) + end)

    with pytest.raises(RdlcError) as refused:
        read_all(tail)

    assert refused.value.message == "line 3 is longer than 1048576 bytes"
    assert refused.value.file == str(path)


def test_line_that_is_no_text_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"one\n\xff\n")

    with pytest.raises(RdlcError) as refused:
        LineTail(path).read_new()

    assert refused.value.message == "line 2 is not UTF-8"
    assert refused.value.file == str(path)


def test_file_that_became_shorter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"one\ntwo\n")
    tail = LineTail(path)
    tail.read_new()
    os.truncate(path, 4)

    with pytest.raises(RdlcError) as refused:
        tail.read_new()

    assert refused.value.message == ("the file became shorter while it was read: 4 bytes, and 8 were read")


def test_file_that_was_replaced_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other"
    append(path, b"one\n")
    append(other, b"one\ntwo\n")
    tail = LineTail(path)
    tail.read_new()
    other.replace(path)

    with pytest.raises(RdlcError) as refused:
        tail.read_new()

    assert refused.value.message == "the file was replaced by another while it was read"


def test_file_that_was_removed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"one\n")
    tail = LineTail(path)
    tail.read_new()
    path.unlink()

    with pytest.raises(RdlcError) as refused:
        tail.read_new()

    assert refused.value.message == "the file was removed while it was read"


def test_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    os.mkfifo(path)

    with pytest.raises(RdlcError) as refused:
        LineTail(path).read_new()

    assert refused.value.message == "not a regular file"


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as refused:
        LineTail(tmp_path).read_new()

    assert refused.value.message == "not a regular file"


def test_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(RdlcError) as refused:
        LineTail(tmp_path / "file" / "metrics.jsonl").read_new()

    assert refused.value.message == "cannot read the file: Not a directory"
