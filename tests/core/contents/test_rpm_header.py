"""Header blobs of RPM databases: what they say, and that no bytes do harm."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.contents.inventory import OsPackage
from rdlc.core.contents.rpm_header import read_rpm_header
from rdlc.errors import InputError
from tests.adapters.image_contents.rpm_writer import Rpm, header_blob

WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)


def test_a_header_gives_name_version_with_epoch_and_release_and_architecture() -> None:
    blob = header_blob(Rpm(name="openssl-libs", epoch=1, version="3.2.2", release="1.amzn2023.0.1"))

    assert read_rpm_header(blob) == OsPackage(
        kind="rpm",
        name="openssl-libs",
        version="1:3.2.2-1.amzn2023.0.1",
        architecture="x86_64",
    )


def test_a_public_key_has_no_architecture() -> None:
    blob = header_blob(Rpm(name="gpg-pubkey", version="d832c631", release="6515c85e", architecture=""))

    assert read_rpm_header(blob) == OsPackage(
        kind="rpm", name="gpg-pubkey", version="d832c631-6515c85e", architecture=""
    )


@given(WORDS, WORDS, WORDS, st.none() | st.integers(0, 2**32 - 1), WORDS)
def test_every_package_comes_back(name: str, version: str, release: str, epoch: int | None, architecture: str) -> None:
    package = Rpm(name=name, version=version, release=release, epoch=epoch, architecture=architecture)

    before = "" if epoch is None else f"{epoch}:"
    assert read_rpm_header(header_blob(package)) == OsPackage(
        kind="rpm",
        name=name,
        version=f"{before}{version}-{release}",
        architecture=architecture,
    )


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"\0\0\0", "an RPM header has at least 8 bytes, not 3"),
        (
            struct.pack(">II", 2**32 - 1, 0),
            "an RPM header states 68719476728 bytes, and has 8",
        ),
        (struct.pack(">II", 0, 0), "an RPM header holds no name"),
        (
            struct.pack(">IIIIII", 1, 2, 1000, 6, 0, 1) + b"ab",
            "the text of tag 1000 of an RPM header has no end",
        ),
        (
            struct.pack(">IIIIII", 1, 2, 1003, 4, 0, 1) + b"ab",
            "the number of tag 1003 of an RPM header lies behind its end",
        ),
    ],
)
def test_a_damaged_header_is_refused_in_words(blob: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_rpm_header(blob)

    assert caught.value.message == message


@given(st.binary(max_size=200), st.integers(0, 200), st.binary(min_size=1, max_size=8))
def test_no_bytes_raise_another_error(noise: bytes, position: int, change: bytes) -> None:
    sound = header_blob(Rpm(name="glibc", version="2.34", release="1", epoch=2))
    changed = sound[:position] + change + sound[position + len(change) :]

    for blob in (noise, changed, sound[:position]):
        with suppress(InputError):
            assert read_rpm_header(blob).name
