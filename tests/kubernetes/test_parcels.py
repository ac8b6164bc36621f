"""Archives that come out of pods: untrusted, compared with their listing, and never over what is rdlc's own."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.kubernetes.parcels import Parcel, Parcels
from rdlc.errors import RdlcError


def _archive(files: dict[str, bytes], *, listing: dict[str, str] | None = None) -> bytes:
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} if listing is None else listing
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w|") as archive:
        for name, data in {".listing.json": json.dumps(listed).encode(), **files}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return output.getvalue()


def _unpack(folder: Path, data: bytes, parcels: Parcels | None = None, *, pod: str = "w-0") -> tuple[str, ...]:
    parcel: Parcel = (parcels or Parcels()).open_parcel(folder / "x.tar")
    try:
        parcel.write(data)
        return parcel.unpack(folder, other=folder / "pods" / pod)
    finally:
        parcel.close()


def test_files_come_as_they_lay_in_the_pod(tmp_path: Path) -> None:
    names = _unpack(tmp_path, _archive({"result.json": b"{}", "workers/0/worker.json": b"x"}))

    assert names == ("result.json", "workers/0/worker.json")
    assert (tmp_path / "workers/0/worker.json").read_bytes() == b"x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json", "workers"]


def test_other_contents_of_a_second_pod_take_no_files_place(tmp_path: Path) -> None:
    parcels = Parcels()
    _unpack(tmp_path, _archive({"a": b"one", "b": b"same"}), parcels, pod="w-0")
    _unpack(tmp_path, _archive({"a": b"two", "b": b"same"}), parcels, pod="w-1")

    assert (tmp_path / "a").read_bytes() == b"one"
    assert (tmp_path / "pods/w-1/a").read_bytes() == b"two"
    assert not (tmp_path / "pods/w-1/b").exists()


@pytest.mark.parametrize("name", ["../x", "/etc/x", "record.json", "lock.yaml", "cluster/before.json", "a\\b", "a\nb"])
def test_name_that_is_none_of_a_record_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RdlcError, match="it brought a file that is none of a record"):
        _unpack(tmp_path, _archive({name: b""}))


def test_file_that_is_not_as_listed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RdlcError, match="`a` did not come as it lay in the pod"):
        _unpack(tmp_path, _archive({"a": b"x"}, listing={"a": "0" * 64}))
    with pytest.raises(RdlcError, match="it brought `a`, which it does not list"):
        _unpack(tmp_path, _archive({"a": b"x"}, listing={}))
    with pytest.raises(RdlcError, match="its archive lacks `b`"):
        _unpack(tmp_path, _archive({}, listing={"b": "0" * 64}))
    assert list(tmp_path.iterdir()) == []


def test_archive_that_was_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = _archive({"a": b"x" * 3000})

    for end in range(0, 512 * 8, 300):
        with pytest.raises(RdlcError):
            _unpack(tmp_path, data[:end])


@given(data=st.binary(max_size=1200))
def test_any_bytes_give_the_one_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    with pytest.raises(RdlcError):
        _unpack(tmp_path_factory.mktemp("x"), data)
