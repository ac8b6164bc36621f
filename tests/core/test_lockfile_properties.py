"""What holds for every lock, and for everything that is given as one."""

import contextlib
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdlc.core.block import parse_block, write_block
from rdlc.core.document import LOCK_LIMIT_BYTES, parse_document
from rdlc.core.lockfile import RunLock, read_lock, write_lock
from rdlc.core.record import read_record, write_record
from rdlc.core.spec import read_spec
from rdlc.errors import InputError, RdlcError
from tests.core.strategies import locks
from tests.core.value_strategies import tables, values
from tests.diff_samples import make_lock, make_record
from tests.projects import SPEC

LOCK = write_lock(make_lock())
RECORD = write_record(make_record(make_lock()))


@settings(max_examples=40)
@given(locks)
def test_a_lock_reads_back_as_it_was_written_and_nothing_in_it_is_wrong(lock: RunLock) -> None:
    read = read_lock(write_lock(lock), name="x.lock.yaml")

    assert (read.lock, read.findings) == (lock, ())


@settings(max_examples=40)
@given(locks)
def test_writing_what_was_read_gives_the_same_bytes(lock: RunLock) -> None:
    data = write_lock(lock)

    assert write_lock(read_lock(data, name="x.lock.yaml").lock) == data


@settings(max_examples=40)
@given(locks)
def test_the_quick_reader_and_the_yaml_reader_see_the_same_lock(lock: RunLock) -> None:
    data = write_lock(lock)

    quick = parse_block(data, name="x", limit_bytes=LOCK_LIMIT_BYTES)
    full = parse_document(data, name="x", limit_bytes=LOCK_LIMIT_BYTES)

    assert quick.value == full.value
    assert json.dumps(quick.value) == json.dumps(full.value)
    assert {key: line for key, line in full.lines.items() if quick.lines.get(key, line) != line} == {}


@given(tables(values))
def test_any_mapping_of_plain_values_reads_back_from_its_written_form(value: dict[str, object]) -> None:
    data = write_block({"a": value}).encode()  # type: ignore[dict-item]  # Json, by its strategy

    assert parse_block(data, name="x", limit_bytes=LOCK_LIMIT_BYTES).value == {"a": value}


def read_any(data: bytes) -> None:
    """Gives the bytes to every reader: each may refuse them, in its own words."""
    for read in (
        lambda: read_lock(data, name="x"),
        lambda: read_spec(data, name="x", settings={}),
        lambda: read_record(data, name="x"),
        lambda: read_spec(SPEC.encode(), name="x", settings={"a.b": data.decode("utf-8", "surrogateescape")}),
    ):
        with contextlib.suppress(RdlcError):
            read()


@settings(max_examples=50)
@given(st.binary(max_size=200))
@example(b"%YAML 1.1\n---\na: 1\n")
@example(b"%TAG ! tag:x,2000:\n---\n!a b: 1\n")
@example(b'a: "\\U0011ffff"\n')
@example(b'a: "\\ud800"\n')
@example(b"\xff\xfea\x00")
@example(b"\xef\xbb\xbfa: 1\n")
@example(b"[" * 5000)
@example(b"- " * 5000)
@example(b"? " * 500)
@example(b"{a: " * 500)
def test_no_reader_fails_in_another_way_on_any_bytes(data: bytes) -> None:
    read_any(data)


@given(st.text(max_size=200))
def test_no_reader_fails_in_another_way_on_any_text(text: str) -> None:
    read_any(text.encode("utf-8", "surrogatepass"))


@given(st.text("abc:-?[]{}&*!|>%@`'\"#,\\ \t\n\r~=<.0x1", max_size=60))
def test_no_reader_fails_in_another_way_on_anything_like_yaml(text: str) -> None:
    read_any(text.encode())


@given(
    st.sampled_from((LOCK, RECORD, SPEC.encode())),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=8)), min_size=1, max_size=4),
)
def test_no_reader_fails_in_another_way_on_damaged_files(data: bytes, damages: list[tuple[float, int, bytes]]) -> None:
    for place, length, put in damages:
        start = int(place * len(data))
        data = data[:start] + put + data[start + length :]

    read_any(data)


@given(st.integers(0, len(LOCK) - 1))
def test_a_lock_that_is_cut_short_is_never_taken_for_whole(length: int) -> None:
    try:
        read = read_lock(LOCK[:length], name="x")
    except InputError:
        return

    assert read.findings != ()


def test_line_ends_that_git_turned_are_no_change() -> None:
    read = read_lock(LOCK.replace(b"\n", b"\r\n"), name="x")

    assert (read.lock, read.findings) == (make_lock(), ())


@pytest.mark.parametrize("value", ["1.5", "1e3", "1_000", "0o17", "0x1F", ".inf", "+1.0"])
def test_a_number_that_is_no_plain_whole_number_stays_the_text_that_was_given(value: str) -> None:
    assert parse_document(f"a: {value}\n".encode(), name="x").value == {"a": value}
