"""The walk over a tar in chunks, beside the standard library, and against hostile archives."""

import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.contents.layer_stack import clean_path
from rdlc.core.contents.tar_stream import ChunkReader, TarEntry, TarLimits, read_tar
from rdlc.errors import InputError

KINDS = {
    tarfile.REGTYPE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "hardlink",
    tarfile.FIFOTYPE: "other",
    tarfile.CHRTYPE: "other",
}
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=300,
).filter(lambda name: clean_path(name) != "")


def chunks_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def walk(data: bytes, *, size: int = 777, limits: TarLimits | None = None) -> list[TarEntry]:
    limits = limits or TarLimits()
    reader = ChunkReader(chunks_of(data, size), limit_bytes=limits.archive_bytes)
    return list(read_tar(reader, limits))


def archive_of(members: Sequence[tuple[str, bytes, bytes, str]], form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, encoding="utf-8") as archive:
        for name, kind, data, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            member.size = len(data) if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.sampled_from(sorted(KINDS)), st.binary(max_size=2000), NAMES)),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    st.integers(1, 5000),
)
def test_it_sees_what_the_standard_library_sees(
    members: list[tuple[str, bytes, bytes, str]], form: int, size: int
) -> None:
    data = archive_of(members, form)

    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8") as archive:
        expected = [
            TarEntry(
                path=clean_path(member.name),
                kind=KINDS[member.type],
                size=member.size,
                offset=member.offset_data,
                target=member.linkname,
            )
            for member in archive
        ]
    assert walk(data, size=size) == expected


def test_bytes_of_an_entry_may_be_taken_or_left() -> None:
    members = [(f"file{number}", tarfile.REGTYPE, bytes([number]) * 1500, "") for number in range(4)]
    data = archive_of(members, tarfile.USTAR_FORMAT)
    reader = ChunkReader(chunks_of(data, 100), limit_bytes=1 << 20)

    taken = [
        reader.read(wanted) for wanted, _ in zip((1500, 0, 700, 1500), read_tar(reader, TarLimits()), strict=False)
    ]

    assert taken == [bytes(1500), b"", b"\2" * 700, b"\3" * 1500]


def test_a_path_is_kept_inside_of_the_image() -> None:
    names = ("../../etc/passwd", "/usr//lib/./x", "a/b/../c/")
    members = [(name, tarfile.REGTYPE, b"", "") for name in names]

    paths = [entry.path for entry in walk(archive_of(members, tarfile.GNU_FORMAT))]

    assert paths == ["etc/passwd", "usr/lib/x", "a/c"]


def test_a_sparse_file_of_gnu_tar_is_stepped_over() -> None:
    sparse = tarfile.TarInfo("sparse")
    sparse.type, sparse.size = tarfile.GNUTYPE_SPARSE, 512
    block = bytearray(sparse.tobuf(tarfile.GNU_FORMAT))
    block[482] = 1
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    more = bytes(504) + b"\1" + bytes(7), bytes(512)
    last = archive_of([("last", tarfile.REGTYPE, b"x", "")], tarfile.GNU_FORMAT)

    entries = walk(bytes(block) + b"".join(more) + b"d" * 512 + last)

    assert [(entry.path, entry.kind, entry.offset) for entry in entries] == [
        ("sparse", "file", 1536),
        ("last", "file", 2560),
    ]


def header(kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo("h")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x" * 512, "the layer is no sound tar at byte 0: a header has another checksum"),
        (header(b"0", 0)[:100], "the layer is no sound tar at byte 0: it ends inside of a header"),
        (header(b"0", 600) + b"x" * 599, "the layer ends inside of `h`"),
        (header(b"0", -1), "the layer is no sound tar at byte 0: a header states no sound size"),
        (
            header(b"x", 2 << 20),
            "an extended header has 2097152 bytes, and 1048576 are read at most",
        ),
        (header(b"L", 600) + b"x" * 512, "the layer ends inside an extended header"),
        (header(b"x", 6) + b"3 a=b\n".ljust(512, b"\0"), "an extended header of the layer is damaged"),
        (
            header(b"x", 12) + b"12 size=-10\n".ljust(512, b"\0"),
            "an extended header states a size of -10",
        ),
        (header(b"0", 0) * 11, "the layer has more than 10 entries"),
        (header(b"0", 9000) + bytes(9000), "the layer unpacks to more than 8192 bytes"),
    ],
)
def test_a_hostile_archive_is_refused_in_words(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        walk(data, limits=TarLimits(entries=10, archive_bytes=8192))

    assert caught.value.message == message


@given(st.binary(max_size=2000), st.integers(0, 3000), st.binary(max_size=20))
def test_no_bytes_raise_another_error(noise: bytes, position: int, change: bytes) -> None:
    members = [("n" * 150, tarfile.REGTYPE, b"data", ""), ("l", tarfile.SYMTYPE, b"", "t" * 200)]
    sound = archive_of(members, tarfile.PAX_FORMAT)

    for data in (noise, sound[:position] + change + sound[position + len(change) :]):
        with suppress(InputError):
            assert len(walk(data)) < 20
