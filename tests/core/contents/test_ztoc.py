"""Reading zTOCs: whole ones, heads and tails of them, and hostile ones."""

import gzip
import io
import random
import tarfile
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.contents.flatbuffer import OutsideWindowError, Window
from rdlc.core.contents.inflate import inflate_from, shift_bits
from rdlc.core.contents.ztoc import (
    CHECKPOINT_BYTES,
    CHECKPOINTS_HEADER_BYTES,
    Checkpoint,
    ZtocEntry,
    read_checkpoint,
    read_checkpoint_list,
    read_entries,
    read_header,
    read_span_digests,
)
from rdlc.errors import InputError
from tests.adapters.image_contents.ztoc_writer import gzip_points, span_digests, write_ztoc
from tests.registry.images import Entry, make_tar


def words(seed: int, count: int) -> bytes:
    """Text that packs about as programs do, so that blocks end inside of bytes."""
    chosen = random.Random(seed)
    return b"".join(chosen.choice([b"tensor ", b"ray ", chosen.randbytes(9)]) for _ in range(count))


ENTRIES = [
    Entry(path="a/", kind="folder"),
    Entry(path="a/first.txt", data=b"first"),
    Entry(path="a/large.bin", data=words(1, 120_000)),
    Entry(path="a/link", kind="symlink", target="first.txt"),
    Entry(path="a/same", kind="hardlink", target="a/first.txt"),
    Entry(path="a/last.txt", data=words(2, 30_000)),
]
TAR = make_tar(ENTRIES)
LAYER = gzip.compress(TAR, 6, mtime=0)
ZTOC = write_ztoc(LAYER)
POINTS = gzip_points(LAYER)


def whole(data: bytes) -> Window:
    return Window(data=data, start=0, size=len(data))


def read_all(data: bytes) -> list[object]:
    """Everything that can be read of a zTOC, as a reader would go about it."""
    window = whole(data)
    header = read_header(window)
    entries = list(read_entries(window, header))
    packed = read_checkpoint_list(window.part(header.checkpoints_at, CHECKPOINTS_HEADER_BYTES), header)
    first = header.checkpoints_at + CHECKPOINTS_HEADER_BYTES
    points = [
        read_checkpoint(window.part(first + number * CHECKPOINT_BYTES, CHECKPOINT_BYTES), header)
        for number in range(packed.stored)
    ]
    return [header, entries, points, read_span_digests(window)]


def test_every_entry_of_the_layer_is_listed_with_its_place() -> None:
    window = whole(ZTOC)

    entries = list(read_entries(window, read_header(window)))

    with tarfile.open(fileobj=io.BytesIO(TAR)) as archive:
        kinds = {b"0": "reg", b"5": "dir", b"2": "symlink", b"1": "hardlink"}
        expected = [
            ZtocEntry(
                name=member.name,
                kind=kinds[member.type],
                offset=member.offset_data,
                size=member.size,
                target=member.linkname,
            )
            for member in archive
        ]
    assert entries == expected
    assert len(entries) == 6


def test_head_and_tail_are_enough_to_list_the_entries() -> None:
    head = Window(data=ZTOC[:4096], start=0, size=len(ZTOC))
    header = read_header(head)
    tail = Window(data=ZTOC[header.tail_start :], start=header.tail_start, size=len(ZTOC))

    assert header == read_header(whole(ZTOC))
    assert list(read_entries(tail, header)) == list(read_entries(whole(ZTOC), header))
    assert len(tail.data) < len(ZTOC) / 50
    with pytest.raises(OutsideWindowError):
        list(read_entries(head, header))


@pytest.mark.parametrize("leaves_first_out", [False, True])
def test_checkpoints_come_back_as_they_were_made(leaves_first_out: bool) -> None:
    _, _, points, digests = read_all(write_ztoc(LAYER, leaves_first_out=leaves_first_out))

    assert points == [
        Checkpoint(
            compressed=point.compressed,
            uncompressed=point.uncompressed,
            bits=point.bits,
            window=point.window,
        )
        for point in POINTS[1 if leaves_first_out else 0 :]
    ]
    assert digests == tuple(span_digests(LAYER, POINTS))
    assert len(POINTS) > 4


def test_inflating_starts_at_any_checkpoint_inside_of_a_byte_too() -> None:
    for point in POINTS:
        checkpoint = Checkpoint(
            compressed=point.compressed,
            uncompressed=point.uncompressed,
            bits=point.bits,
            window=point.window,
        )
        rest = LAYER[checkpoint.start :]
        chunks = (rest[start : start + 5_003] for start in range(0, len(rest), 5_003))

        assert b"".join(inflate_from(checkpoint, chunks)) == TAR[point.uncompressed :]
    assert {point.bits for point in POINTS} > {0}


def test_inflating_starts_at_the_head_of_the_stream_without_a_checkpoint() -> None:
    assert b"".join(inflate_from(None, iter([LAYER[:9], LAYER[9:]]))) == TAR


def test_inflating_noise_is_refused() -> None:
    with pytest.raises(InputError, match=r"^the layer cannot be inflated from a checkpoint: "):
        list(inflate_from(None, iter([b"no gzip"])))


@given(st.lists(st.binary(max_size=9)), st.integers(1, 7))
def test_shifting_leaves_out_bits_of_the_whole_stream(chunks: list[bytes], count: int) -> None:
    data = b"".join(chunks)
    number = int.from_bytes(data, "little") >> count

    assert b"".join(shift_bits(iter(chunks), count)) == number.to_bytes(len(data), "little")


def test_a_version_that_is_not_known_is_named() -> None:
    window = whole(write_ztoc(LAYER, version="7.3\x1b"))

    with pytest.raises(InputError) as caught:
        list(read_entries(window, read_header(window)))
    assert caught.value.message == 'the zTOC is of version "7.3\\x1b", not 0.9 or 1.0'


def test_a_digest_that_is_none_is_named() -> None:
    window = whole(write_ztoc(LAYER, digests=["sha256:0"]))

    with pytest.raises(InputError) as caught:
        read_span_digests(window)
    assert caught.value.message == 'span 0 of the zTOC has no sha256 digest, but "sha256:0"'


SMALL = write_ztoc(gzip.compress(make_tar(ENTRIES[:2]), mtime=0))
# The table of contents and the header: the checkpoint between them is 32 KiB of zeros.
PLACES = [*range(260), *range(len(SMALL) - 500, len(SMALL))]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), st.binary(min_size=1, max_size=8)), max_size=4),
    st.integers(0, len(SMALL)),
    st.booleans(),
)
def test_no_damage_raises_another_error(changes: list[tuple[int, bytes]], end: int, is_cut: bool) -> None:
    data = bytearray(SMALL)
    for position, change in changes:
        data[position : position + len(change)] = change

    with suppress(InputError):
        assert len(read_all(bytes(data[:end] if is_cut else data))) == 4


@given(st.binary(max_size=300))
def test_no_bytes_raise_another_error(data: bytes) -> None:
    with pytest.raises(InputError):
        read_all(data)


def test_entries_that_share_one_long_name_are_refused_before_they_cost_time() -> None:
    layer = gzip.compress(make_tar([Entry(path="n" * 9000)]), mtime=0)
    window = whole(write_ztoc(layer, repeats=60_000))
    entries = read_entries(window, read_header(window))
    taken = list(islice(entries, window.size // (48 + len("n" * 9000 + "reg"))))

    with pytest.raises(InputError) as caught:
        next(entries)
    assert caught.value.message == f"the entries of the zTOC are more than its {window.size} bytes can hold"
    assert {entry.name for entry in taken} == {"n" * 9000}
