"""The stream of the program that follows a job: whole frames only, whatever the pieces, and never another error."""

import json
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.kube.job_frames import FrameReader, JobSeen, Piece
from rdlc.errors import InputError

_JOB = {
    "status": "FAILED",
    "message": "it failed",
    "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR",
    "driver_exit_code": "3",
}
_STREAM = b"H\nD 0 0 6\nab\nD 1D 1 7 1\nxH\nJ " + json.dumps(_JOB).encode() + b"\n"
_FRAMES = [
    Piece(number=0, offset=0, data=b"ab\nD 1"),
    Piece(number=1, offset=7, data=b"x"),
    JobSeen(status="FAILED", message="it failed", error_type="JOB_ENTRYPOINT_COMMAND_ERROR", exit_code=3),
]


@given(cuts=st.lists(st.integers(0, len(_STREAM)), max_size=20))
def test_frames_are_the_same_in_any_pieces(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(_STREAM)]
    reader = FrameReader()

    frames = [frame for start, end in pairwise(edges) for frame in reader.take(_STREAM[start:end])]

    assert frames == _FRAMES


@pytest.mark.parametrize("end", range(len(_STREAM)))
def test_stream_that_was_cut_gives_only_whole_frames(end: int) -> None:
    frames = FrameReader().take(_STREAM[:end])

    assert frames == _FRAMES[: len(frames)]


@given(data=st.binary(max_size=200))
def test_any_bytes_give_frames_or_the_one_error(data: bytes) -> None:
    with suppress(InputError):
        FrameReader().take(data)


def test_end_of_all_there_is_is_told() -> None:
    reader = FrameReader()

    assert (reader.take(b"D 0 0 1\nxZ\n"), reader.is_all) == ([Piece(number=0, offset=0, data=b"x")], True)


@pytest.mark.parametrize("line", [b"hello\n", b"J {\n", b'J {"status": "RUNNING"}\n', b"x" * 70000])
def test_other_words_are_refused(line: bytes) -> None:
    with pytest.raises(InputError):
        FrameReader().take(line)
