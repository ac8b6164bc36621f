"""The shipped files of a recipe: listing, hashing, packing and unpacking."""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError

# Read by rdlc itself, so they are in the lock as values and need not travel.
NOT_SHIPPED = ("specs", "configs")
_CHUNK = 1 << 20
_FILES_LIMIT = 20_000
_DEPTH_LIMIT = 64
_BYTES_LIMIT = 1 << 30
# Headers and padding of that many files come to the contents.
_ARCHIVE_LIMIT = _BYTES_LIMIT + (64 << 20)
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


def list_code(root: Path, package: str) -> dict[str, str]:
    """Path below `root` to sha256 in hex for every file that ships, sorted by path.

    Left out: `specs/` and `configs/` of the package, caches and hidden files. Links and special files
    are refused, since their contents are not what would travel.
    """
    folder = root / package
    try:
        if not folder.is_dir():
            raise InputError("the recipe folder does not exist", file=str(folder))
        paths = sorted(_shipped(root, folder))
    except OSError as error:
        where = str(error.filename or folder)
        raise InputError(f"the recipe folder cannot be read: {error.strerror}", file=where) from error
    return {path: _hash_file(root / path) for path in paths}


def pack_code(root: Path, files: Mapping[str, str], archive: Path) -> None:
    """Writes the files as a tar whose bytes depend on paths and contents only."""
    with archive.open("xb") as target, tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            data = (root / path).read_bytes()
            if hashlib.sha256(data).hexdigest() != files[path]:
                raise RdlcError("the file changed while it was packed", file=str(root / path))
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(data), 0o644, 0
            tar.addfile(entry, io.BytesIO(data))


def unpack_code(archive: Path, folder: Path) -> None:
    """Writes the files of an archive made by `pack_code` below `folder`, and nothing outside it."""
    with tarfile.open(archive, mode="r:") as tar:
        for entry, source in _plain_files(tar, archive):
            target = folder / entry.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())


def list_archive(archive: Path) -> dict[str, str]:
    """Path to sha256 in hex for the files in an archive, read as a stream; InputError for a bad one."""
    files: dict[str, str] = {}
    try:
        if archive.stat().st_size > _ARCHIVE_LIMIT:
            raise InputError(f"the archive is larger than {_ARCHIVE_LIMIT >> 20} MiB", file=str(archive))
        with tarfile.open(archive, mode="r|") as tar:
            for entry, source in _plain_files(tar, archive):
                files[entry.name] = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]
    # Long chains of extended headers are read by recursion.
    except (tarfile.TarError, OSError, EOFError, RecursionError) as error:
        raise InputError(f"the archive cannot be read: {error}", file=str(archive)) from error
    return files


def _plain_files(tar: tarfile.TarFile, archive: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """The entries of an archive as long as each is a plain file, within the bounds of what ships."""
    size = 0
    names: set[str] = set()
    for entry in tar:
        # Not `isreg`: a sparse entry of a few bytes counts as regular and unpacks to gigabytes.
        is_plain = entry.type in _PLAIN and entry.sparse is None and entry.size >= 0
        source = tar.extractfile(entry) if is_plain and _is_inside(entry.name) else None
        if source is None:
            name = one_line(entry.name)
            raise InputError(f"the archive holds `{name}`, which is no plain file", file=str(archive))
        if entry.name in names:
            raise InputError(f"the archive holds `{one_line(entry.name)}` twice", file=str(archive))
        names.add(entry.name)
        size += entry.size
        if len(names) > _FILES_LIMIT or size > _BYTES_LIMIT:
            bounds = f"{_FILES_LIMIT} files or {_BYTES_LIMIT >> 20} MiB"
            raise InputError(f"the archive is too large: over {bounds}", file=str(archive))
        yield entry, source


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _shipped(root: Path, folder: Path) -> Iterator[str]:
    count = size = 0
    for entry in _walk(folder):
        status = entry.stat(follow_symlinks=False)
        path = Path(entry.path).relative_to(root).as_posix()
        if not stat.S_ISREG(status.st_mode):
            raise InputError("a link or special file cannot be shipped", file=entry.path)
        if not path.isprintable() or "\\" in path:
            raise InputError(f"the file name {path!r} cannot be shipped", file=str(folder))
        count, size = count + 1, size + status.st_size
        if count > _FILES_LIMIT or size > _BYTES_LIMIT:
            raise InputError(
                f"the recipe folder is too large to ship: over {_FILES_LIMIT} files or {_BYTES_LIMIT >> 20} MiB",
                file=str(folder),
            )
        yield path


def _walk(folder: Path, *, depth: int = 0) -> Iterator[os.DirEntry[str]]:
    if depth > _DEPTH_LIMIT:
        raise InputError(f"the recipe's folders nest deeper than {_DEPTH_LIMIT} levels", file=str(folder))
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            hidden = entry.name.startswith(".") or entry.name == "__pycache__" or entry.name.endswith(".pyc")
            if hidden or (depth == 0 and entry.name in NOT_SHIPPED):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), depth=depth + 1)
            else:
                yield entry


def _hash_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from error
