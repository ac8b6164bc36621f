"""The shipped files: listed, packed to the same bytes, and never unpacked outside their folder."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from rdlc.adapters.workspace.code import list_archive, list_code, pack_code, unpack_code
from rdlc.errors import InputError, RdlcError
from tests.projects import make_project


def test_a_listing_is_sorted_and_holds_the_sha256_of_each_file(tmp_path: Path) -> None:
    root = make_project(tmp_path) / "recipes"

    listing = list_code(root, "toy")

    assert list(listing.items()) == [
        (f"toy/{name}", hashlib.sha256((root / "toy" / name).read_bytes()).hexdigest())
        for name in ("__init__.py", "train.py")
    ]


def test_packing_depends_on_paths_and_contents_only(tmp_path: Path) -> None:
    one, two = make_project(tmp_path / "one") / "recipes", make_project(tmp_path / "two") / "recipes"
    (two / "toy/train.py").chmod(0o700)

    pack_code(one, list_code(one, "toy"), tmp_path / "1.tar")
    pack_code(two, list_code(two, "toy"), tmp_path / "2.tar")

    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()
    assert list_archive(tmp_path / "1.tar") == list_code(one, "toy")


def test_what_was_packed_unpacks_to_the_same_listing(tmp_path: Path) -> None:
    root = make_project(tmp_path / "one") / "recipes"
    pack_code(root, list_code(root, "toy"), tmp_path / "1.tar")

    unpack_code(tmp_path / "1.tar", tmp_path / "out")

    assert list_code(tmp_path / "out", "toy") == list_code(root, "toy")


def test_a_file_that_changed_meanwhile_is_not_packed(tmp_path: Path) -> None:
    root = make_project(tmp_path) / "recipes"
    listing = list_code(root, "toy")
    (root / "toy/train.py").write_text("other")

    with pytest.raises(RdlcError) as caught:
        pack_code(root, listing, tmp_path / "1.tar")

    assert (caught.value.message, caught.value.file) == (
        "the file changed while it was packed",
        str(root / "toy/train.py"),
    )


def evil_archive(path: Path, name: str, kind: bytes) -> Path:
    with tarfile.open(path, "w") as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, "/etc/passwd"
        tar.addfile(entry, io.BytesIO())
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [("/etc/x", tarfile.REGTYPE), ("../x", tarfile.REGTYPE), ("a/../../x", tarfile.REGTYPE), ("a", tarfile.SYMTYPE),
     ("a", tarfile.FIFOTYPE), ("a", tarfile.DIRTYPE)],
)  # fmt: skip
def test_an_archive_with_anything_but_plain_files_inside_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    archive = evil_archive(tmp_path / "x.tar", name, kind)

    with pytest.raises(RdlcError) as unpacked:
        unpack_code(archive, tmp_path / "out")
    with pytest.raises(RdlcError) as listed:
        list_archive(archive)

    assert unpacked.value.message == listed.value.message == f"the archive holds `{name}`, which is no plain file"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("data", [b"", b"x" * 2000, b"\x1f\x8b" + b"x" * 100])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(data)

    with pytest.raises(InputError) as caught:
        list_archive(tmp_path / "x.tar")

    assert caught.value.message.startswith("the archive cannot be read: ")


@pytest.mark.parametrize("name", ["a\nb.py", "a\\b.py", "a\x1b.py"])
def test_a_file_name_that_could_mislead_is_refused(tmp_path: Path, name: str) -> None:
    root = make_project(tmp_path) / "recipes"
    (root / "toy" / name).touch()

    with pytest.raises(InputError) as caught:
        list_code(root, "toy")

    assert caught.value.message == f"the file name {'toy/' + name!r} cannot be shipped"


def test_folders_that_nest_too_deep_are_refused(tmp_path: Path) -> None:
    root = make_project(tmp_path) / "recipes"
    (root / "toy" / "/".join(["d"] * 65)).mkdir(parents=True)
    allowed = make_project(tmp_path / "allowed") / "recipes"
    (allowed / "toy" / "/".join(["d"] * 64)).mkdir(parents=True)

    with pytest.raises(InputError) as caught:
        list_code(root, "toy")

    assert caught.value.message == "the recipe's folders nest deeper than 64 levels"
    assert caught.value.file == str(root / "toy" / "/".join(["d"] * 65))
    assert sorted(list_code(allowed, "toy")) == ["toy/__init__.py", "toy/train.py"]


def test_a_recipe_folder_that_cannot_be_looked_at_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        list_code(tmp_path, "x" * 300)

    assert caught.value.message == "the recipe folder cannot be read: File name too long"
    assert caught.value.file == str(tmp_path / ("x" * 300))


def test_a_sparse_entry_is_no_plain_file_however_large_it_says_it_is(tmp_path: Path) -> None:
    archive = tmp_path / "x.tar"
    entry = tarfile.TarInfo("toy/a.py")
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[483:495] = b"100000000000"
    header[148:156] = b"        "
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    archive.write_bytes(bytes(header) + bytes(1024))

    with pytest.raises(InputError) as caught:
        list_archive(archive)

    assert caught.value.message == "the archive holds `toy/a.py`, which is no plain file"


def test_an_archive_with_one_file_twice_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "x.tar"
    with tarfile.open(archive, "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("a"))

    with pytest.raises(InputError) as caught:
        list_archive(archive)

    assert caught.value.message == "the archive holds `a` twice"


def test_a_chain_of_extended_headers_is_refused(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("x")
    entry.type = tarfile.XHDTYPE
    (tmp_path / "x.tar").write_bytes(entry.tobuf(tarfile.USTAR_FORMAT) * 5000)

    with pytest.raises(InputError) as caught:
        list_archive(tmp_path / "x.tar")

    assert caught.value.message.startswith("the archive cannot be read: ")


def test_an_archive_of_too_many_files_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for number in range(20_001):
            tar.addfile(tarfile.TarInfo(f"{number}"))

    with pytest.raises(InputError) as caught:
        list_archive(tmp_path / "x.tar")

    assert caught.value.message == "the archive is too large: over 20000 files or 1024 MiB"
