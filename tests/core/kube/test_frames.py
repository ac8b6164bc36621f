"""What a pod says of its logs, in whatever pieces it comes."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.kube.frames import AllRead, FileEnd, FileLine, FileLost, FileStart, Frame, FrameReader
from rdlc.errors import InputError

SAID = (
    b'F{"path": "/tmp/ray/worker.out"}\nLa NCCL line\n'
    b'E{"lines": 2, "kept": 1, "sha256": "ab"}\nX{"path": "/x", "why": "gone"}\nZ{"left_out": 3}\n'
)
FRAMES = [
    FileStart(path="/tmp/ray/worker.out"),
    FileLine(data=b"a NCCL line\n"),
    FileEnd(num_lines=2, num_kept=1, sha256="ab"),
    FileLost(path="/x", why="gone"),
    AllRead(num_left_out=3),
]


def read(*chunks: bytes) -> list[Frame]:
    reader = FrameReader("pod")
    return [frame for chunk in chunks for frame in reader.feed(chunk)]


@settings(max_examples=50)
@given(cuts=st.lists(st.integers(0, len(SAID)), max_size=5).map(sorted))
def test_frames_do_not_depend_on_where_the_stream_was_cut(cuts: list[int]) -> None:
    edges = [0, *cuts, len(SAID)]

    assert read(*(SAID[start:end] for start, end in pairwise(edges))) == FRAMES


def test_a_stream_that_broke_off_is_not_complete() -> None:
    reader = FrameReader("pod")
    list(reader.feed(SAID[:-20]))

    assert not reader.is_complete


@settings(max_examples=100)
@given(data=st.binary(max_size=60))
def test_any_other_stream_is_read_as_lines_or_refused_as_bad_input(data: bytes) -> None:
    try:
        frames = read(data)
    except InputError:
        return
    assert all(isinstance(frame, FileLine) for frame in frames)


@pytest.mark.parametrize("said", [b"L" + b"x" * (64 << 10) + b"\n", b"L" + b"x" * (65 << 10), SAID + b"La\n"])
def test_more_than_was_asked_for_is_refused(said: bytes) -> None:
    with pytest.raises(InputError, match="says more than was asked for"):
        read(said)
