"""The stack's record as a file."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.order import Deviation
from rdlc.core.infra.stack import STATUSES, StackKey, StackRecord, read_stack, write_stack
from rdlc.errors import InputError
from tests.core.infra.stacks import RECORD

DEVIATION = Deviation(path="infra.release", locked="1", used="2", reason="withdrawn")
FULL = replace(
    RECORD,
    endpoints={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
    deviations=(DEVIATION,),
    gpu_nodes="scaled-down",
    usd_per_h="9.75",
    price_note="list",
    reason="broke",
)


@pytest.mark.parametrize("record", [RECORD, FULL, *(replace(RECORD, status=status) for status in STATUSES)])
def test_a_stack_reads_back_as_it_was_written(record: StackRecord) -> None:
    data = write_stack(record)

    assert read_stack(data, name="stack.json") == record
    assert data.isascii()


def test_a_stack_against_a_stand_in_is_marked_in_the_file() -> None:
    assert (json.loads(write_stack(RECORD))["is_real"], json.loads(write_stack(FULL))["is_real"]) == (True, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"is_real": false', b'"is_real": true'), (b"127.0.0.1", b"127.0.0.2"), (b'"resources": 2', b'"resources": 3')],
)
def test_a_changed_record_is_refused(old: bytes, new: bytes) -> None:
    assert old in write_stack(FULL)

    with pytest.raises(InputError) as caught:
        read_stack(write_stack(FULL).replace(old, new), name="stack.json")

    assert caught.value.message == "the stack's record was changed after it was written: its digest does not fit"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the stack's record is not JSON"),
        (b"{}", "this is not the record of a stack"),
        (b"[]", "must be a mapping of `key: value` lines, not a list"),
        (b'{"digest": 1, "order_digest": 1, "format": 2}', "this rdlc reads format 1"),
    ],
)
def test_what_is_no_stack_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_stack(data, name="stack.json")

    assert caught.value.message == message


@pytest.mark.parametrize("part", ["", ".", "..", "a/b", "-a", "a b", "x" * 101, "\x1b"])
def test_a_part_that_could_leave_the_folder_is_no_key(part: str) -> None:
    with pytest.raises(InputError):
        StackKey(name=part, account="1", region="r")


@given(st.binary(max_size=200) | st.integers(0, len(write_stack(FULL)) - 1).map(lambda cut: write_stack(FULL)[:cut]))
def test_any_bytes_are_a_stack_or_an_input_error(data: bytes) -> None:
    with pytest.raises(InputError):
        read_stack(data, name="stack.json")
