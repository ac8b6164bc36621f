"""What is kept of a foreign log is what speaks of NCCL or gloo, whatever the pieces in which it comes."""

import gzip
import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.transport.envelope import LINE_LIMIT_BYTES
from rdlc.core.transport.excerpt import Excerpt

LOG = b"loss 3.1\nvm:1:1 [0] NCCL INFO Using network Socket\r\nHF_TOKEN=abc\n[Gloo] Rank 0 is connected\nlast NCCL"


def kept(log: bytes, *, size: int) -> tuple[bytes, Excerpt]:
    excerpt = Excerpt(name="x.log")
    pieces = [piece for start in range(0, len(log), size) for piece in excerpt.feed(log[start : start + size])]
    return b"".join([*pieces, *excerpt.finish()]), excerpt


def test_only_lines_that_speak_of_nccl_or_gloo_are_kept() -> None:
    lines, excerpt = kept(LOG, size=1 << 20)

    assert lines == b"vm:1:1 [0] NCCL INFO Using network Socket\r\n[Gloo] Rank 0 is connected\nlast NCCL\n"
    assert (excerpt.num_bytes, excerpt.num_lines, excerpt.num_kept) == (len(LOG), 5, 3)
    assert excerpt.sha256 == hashlib.sha256(LOG).hexdigest()


@pytest.mark.parametrize("pack", [gzip.compress, lambda log: log.decode().encode("utf-16")])
def test_of_a_packed_log_the_lines_are_kept_and_the_sum_is_that_of_the_file(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(LOG)

    lines, excerpt = kept(packed, size=5)

    assert lines == kept(LOG, size=1 << 20)[0]
    assert (excerpt.num_bytes, excerpt.sha256) == (len(packed), hashlib.sha256(packed).hexdigest())


def test_a_line_is_cut_where_it_is_long_and_the_next_one_is_whole() -> None:
    log = b"NCCL " + b"x" * 10_000 + b"\n" + b"y" * 10_000 + b" NCCL\nNCCL b\n"

    lines, excerpt = kept(log, size=777)

    assert lines == log[:LINE_LIMIT_BYTES] + b"\nNCCL b\n"
    assert (excerpt.num_lines, excerpt.num_kept) == (3, 2)


@given(st.lists(st.sampled_from([b"NCCL", b"\n", b"x", b"gloo ", b"\r", b"y" * 5000])).map(b"".join), st.integers(1, 9))
def test_the_pieces_in_which_a_log_comes_make_no_difference(log: bytes, size: int) -> None:
    whole, first = kept(log, size=len(log) or 1)
    pieces, second = kept(log, size=size)

    assert whole == pieces
    assert (first.num_lines, first.num_kept, first.sha256) == (second.num_lines, second.num_kept, second.sha256)
