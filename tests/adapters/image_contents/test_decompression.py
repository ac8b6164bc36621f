"""Layers unpacked by any engine, in bounded pieces; RPM databases that mean harm."""

import gzip
import importlib
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.adapters.image_contents.decompression import compression_of, unpack
from rdlc.adapters.image_contents.rpm_database import read_rpm_database
from rdlc.errors import InputError
from tests.adapters.image_contents.rpm_writer import Rpm, header_blob

OCI = "application/vnd.oci.image.layer.v1.tar"
PIECE_BYTES = 256 << 10
ENDLESS_VIEW = (
    "CREATE VIEW Packages AS WITH RECURSIVE n(blob) AS "
    "(SELECT 1 UNION ALL SELECT blob + 1 FROM n) SELECT blob FROM n WHERE blob < 0"
)
zstandard: Any = importlib.import_module("zstandard")


@pytest.fixture(params=["isal", "zlib"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    if name == "zlib":
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    else:
        importlib.import_module("isal.isal_zlib")
    return name


def chunked(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def unpacked(data: bytes, media_type: str = f"{OCI}+gzip", size: int = 1000) -> bytes:
    return b"".join(unpack(chunked(data, size), media_type))


@pytest.mark.parametrize(
    ("media_type", "compression"),
    [
        (f"{OCI}+gzip", "gzip"),
        (f"{OCI}+zstd", "zstd"),
        (OCI, "none"),
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip"),
        ("application/vnd.docker.image.rootfs.diff.tar", "none"),
        ("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "gzip"),
    ],
)
def test_the_media_type_names_the_compression(media_type: str, compression: str) -> None:
    assert compression_of(media_type) == compression


def test_another_media_type_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        compression_of("application/vnd.in-toto+json\x1b")
    assert caught.value.message == ("layers of media type `application/vnd.in-toto+json\\x1b` cannot be unpacked")


def test_gzip_of_many_members_and_zeros_behind_it_is_one_layer(engine: str) -> None:
    parts = [bytes([number]) * 3000 for number in range(50)]
    data = b"".join(gzip.compress(part) for part in parts) + bytes(700)

    for size in (1, 13, 4096, 1 << 20):
        assert unpacked(data, size=size) == b"".join(parts)
    assert engine


def test_a_layer_that_packs_well_comes_in_small_pieces(engine: str) -> None:
    count = 64 << 20
    data = gzip.compress(bytes(count), 9)

    sizes = [len(piece) for piece in unpack(iter([data]), f"{OCI}+gzip")]

    assert sum(sizes) == count
    assert max(sizes) == PIECE_BYTES
    assert engine


def test_zstd_that_packs_well_comes_in_small_pieces() -> None:
    count = 64 << 20
    frames = zstandard.ZstdCompressor().compress(bytes(count)) + zstandard.compress(b"end")

    sizes = [len(piece) for piece in unpack(iter([frames]), f"{OCI}+zstd")]

    assert sum(sizes) == count + 3
    assert max(sizes) == PIECE_BYTES


def test_zstd_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info >= (3, 14):
        pytest.fail("Python has zstd itself from 3.14 on: test that route here")
    monkeypatch.setitem(sys.modules, "zstandard", None)

    with pytest.raises(InputError) as caught:
        unpack(iter([b""]), f"{OCI}+zstd")
    assert (caught.value.message, caught.value.hint) == (
        "the image has layers packed with zstd, and zstandard is not installed",
        "`pip install 'rdlc[zstd]'`",
    )


@pytest.mark.parametrize("data", [b"", gzip.compress(b"x" * 5000, mtime=0)[:-1]])
def test_a_gzip_stream_that_is_cut_is_refused(engine: str, data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        unpacked(data)
    assert caught.value.message == "the layer ends inside of its gzip stream"
    assert engine


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400), st.sampled_from(["gzip", "zstd"]))
def test_no_bytes_raise_another_error(change: bytes, position: int, compression: str) -> None:
    packers = {"gzip": gzip.compress, "zstd": zstandard.compress}
    sound = packers[compression](zlib.compress(bytes(range(256)) * 3))
    damaged = sound[:position] + change + sound[position + len(change) :]

    for data in (change, damaged):
        try:
            result = unpacked(data, f"{OCI}+{compression}", 64)
        except InputError:
            continue
        assert len(result) <= 1024 * (len(data) + 1)


def database(folder: Path, *statements: str) -> Path:
    path = folder / "rpmdb.sqlite"
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ((), "the RPM database cannot be read: no such table: Packages"),
        (
            ("CREATE TABLE Packages (hnum, blob)", "INSERT INTO Packages VALUES (1, 'text')"),
            "the RPM database holds something else than a header",
        ),
        (
            ("CREATE TABLE Packages (hnum, blob)", "INSERT INTO Packages VALUES (1, x'00')"),
            "an RPM header has at least 8 bytes, not 1",
        ),
        (
            (ENDLESS_VIEW,),
            "the RPM database cannot be read: interrupted",
        ),
    ],
)
def test_a_database_that_means_harm_is_refused_in_bounded_time(
    tmp_path: Path, statements: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_rpm_database(database(tmp_path, *statements))

    assert caught.value.message == message


def test_a_database_in_a_folder_of_its_own_is_read(tmp_path: Path) -> None:
    blob = header_blob(Rpm(name="a", version="1", release="2")).hex()
    path = database(tmp_path, "CREATE TABLE Packages (hnum, blob)", f"INSERT INTO Packages VALUES (1, x'{blob}')")

    assert [item.name for item in read_rpm_database(path)] == ["a"]
