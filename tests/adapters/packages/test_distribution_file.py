"""What is in a wheel or an sdist is read within bounds, and archives that lie are refused."""

import contextlib
import io
import struct
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.packages import distribution_file
from rdlc.adapters.packages.distribution_file import Contents, read_contents
from rdlc.errors import RdlcError
from tests.packages.distributions import build_sdist, build_wheel, metadata_of, zipped

METADATA = metadata_of("peft", "1.0", ())


def put(folder: Path, data: bytes, name: str = "peft-1.0-py3-none-any.whl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(RdlcError) as caught:
        read_contents(path)
    assert type(caught.value) is RdlcError
    return caught.value.message


def tarred(*entries: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def test_a_wheel_tells_its_files_and_what_it_requires(tmp_path: Path) -> None:
    wheel = build_wheel("peft", "1.0", "torch>=2", 'trl; extra == "x"', files={"peft/b.py": b"", "peft/a.py": b""})

    assert read_contents(put(tmp_path, wheel.data)) == Contents(
        members=(
            "peft-1.0.dist-info/METADATA",
            "peft-1.0.dist-info/RECORD",
            "peft-1.0.dist-info/WHEEL",
            "peft/a.py",
            "peft/b.py",
        ),
        requires=("torch>=2", 'trl; extra == "x"'),
    )


@pytest.mark.parametrize("name", ["peft-1.0.tar.gz", "peft-1.0.zip"])
def test_an_sdist_tells_what_it_requires(tmp_path: Path, name: str) -> None:
    data = build_sdist("peft", "1.0", "torch>=2").data
    if name.endswith(".zip"):
        data = zipped({"peft-1.0/PKG-INFO": metadata_of("peft", "1.0", ("torch>=2",)), "peft-1.0/x/PKG-INFO": b""})

    assert read_contents(put(tmp_path, data, name)) == Contents(members=(), requires=("torch>=2",))


def test_what_stands_in_a_description_is_no_requirement(tmp_path: Path) -> None:
    metadata = METADATA + b"Requires-Dist: one\r\n    >=1\r\n\r\nRequires-Dist: two\n"
    data = zipped({"peft-1.0.dist-info/METADATA": metadata.replace(b"\r\n\r\n", b"\n\n")})

    assert read_contents(put(tmp_path, data)).requires == ("one >=1",)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"peft.py": b""}, "holds 0 files `*.dist-info/METADATA`"),
        ({"peft-1.0.dist-info/METADATA": METADATA, "b.dist-info/METADATA": METADATA},
         "holds 2 files `*.dist-info/METADATA`"),
        ({"peft-1.0.dist-info/METADATA": metadata_of("torch", "1.0", ())}, "says that it is `torch`"),
        ({"peft-1.0.dist-info/METADATA": b""}, "says that it is ``"),
        ({"../up": b""}, "holds a file with the name `../up`"),
        ({"/up\x1b": b""}, "holds a file with the name `/up\\x1b`"),
        ({"a\\b": b""}, "holds a file with the name `a\\b`"),
        ({"a" * 1001: b""}, f"holds a file with the name `{'a' * 117}...`"),
    ],
)  # fmt: skip
def test_a_wheel_that_is_odd_is_refused(tmp_path: Path, members: dict[str, bytes], message: str) -> None:
    path = put(tmp_path, zipped(members))

    assert refusal(path) == f"the file `peft-1.0-py3-none-any.whl` from the index {message}"


def test_metadata_that_would_fill_the_memory_is_not_read_whole(tmp_path: Path) -> None:
    path = put(tmp_path, zipped({"peft-1.0.dist-info/METADATA": METADATA + b"\n" + b" " * (17 << 20)}))

    assert path.stat().st_size < 100_000
    assert refusal(path) == (
        "the file `peft-1.0-py3-none-any.whl` from the index has metadata of more than 16777216 bytes"
    )


def test_a_table_of_contents_without_measure_is_not_read(tmp_path: Path) -> None:
    data = bytearray(build_wheel("peft", "1.0").data)
    struct.pack_into("<I", data, data.rfind(b"PK\x05\x06") + 12, 0xFFFFFFFF)

    assert refusal(put(tmp_path, bytes(data))) == (
        "the file `peft-1.0-py3-none-any.whl` from the index has a table of contents without measure"
    )


def test_more_files_than_any_wheel_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution_file, "_MEMBER_LIMIT", 3)

    assert refusal(put(tmp_path, build_wheel("peft", "1.0").data)) == (
        "the file `peft-1.0-py3-none-any.whl` from the index holds more than 3 files"
    )


def test_an_encrypted_wheel_is_refused(tmp_path: Path) -> None:
    data = bytearray(build_wheel("peft", "1.0").data)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + at] |= 1

    assert refusal(put(tmp_path, bytes(data))) == "the file `peft-1.0-py3-none-any.whl` from the index cannot be read"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("peft-1.0/setup.py", b"")], "holds no `PKG-INFO`"),
        ([("peft-1.0/x/PKG-INFO", METADATA)], "holds no `PKG-INFO`"),
        ([("peft-1.0/PKG-INFO", metadata_of("torch", "1.0", ()))], "says that it is `torch`"),
    ],
)
def test_an_sdist_that_is_odd_is_refused(tmp_path: Path, entries: list[tuple[str, bytes]], message: str) -> None:
    path = put(tmp_path, tarred(*entries), "peft-1.0.tar.gz")

    assert refusal(path) == f"the file `peft-1.0.tar.gz` from the index {message}"


def test_an_sdist_is_not_unpacked_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution_file, "_SDIST_LIMIT_BYTES", 1 << 20)
    data = tarred(("peft-1.0/big", b"\0" * (2 << 20)), ("peft-1.0/PKG-INFO", METADATA))

    assert refusal(put(tmp_path, data, "peft-1.0.tar.gz")) == (
        "the file `peft-1.0.tar.gz` from the index holds no `PKG-INFO`"
    )


WHOLE = {
    "peft-1.0-py3-none-any.whl": build_wheel("peft", "1.0", "torch").data,
    "peft-1.0.tar.gz": build_sdist("peft", "1.0", "torch").data,
    "peft-1.0.zip": zipped({"peft-1.0/PKG-INFO": METADATA}),
}


@given(name=st.sampled_from(sorted(WHOLE)), data=st.data())
def test_no_damage_raises_any_other_error(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    damaged = bytearray(WHOLE[name])
    for place, byte in data.draw(st.dictionaries(st.integers(0, len(damaged) - 1), st.integers(0, 255))).items():
        damaged[place] = byte
    path = put(tmp_path_factory.mktemp("damaged"), bytes(damaged[: data.draw(st.integers(0, len(damaged)))]), name)
    with contextlib.suppress(RdlcError):
        read_contents(path)
