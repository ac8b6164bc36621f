"""What is in a wheel or an sdist: the names of its files and what it requires, read within bounds.

Both come from outside, as archives that may be made to grow without end.
"""

import email.parser
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO

from packaging.utils import canonicalize_name

from rdlc.core.text import one_line
from rdlc.errors import RdlcError

_MEMBER_LIMIT = 200_000
_NAME_LIMIT = 1000
_DIRECTORY_LIMIT_BYTES = 64 << 20
_METADATA_LIMIT_BYTES = 16 << 20
_SDIST_LIMIT_BYTES = 1 << 30
_END = b"PK\x05\x06"
_END_SIZE = 22
_COMMENT_LIMIT = 65535


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """The paths in a wheel, sorted, none for an sdist; and the `Requires-Dist` lines of either."""

    members: tuple[str, ...]
    requires: tuple[str, ...]


def read_contents(path: Path) -> Contents:
    """What the distribution file holds; raises RdlcError if it is none, or not of the name that it has."""
    try:
        if path.name.endswith(".whl"):
            return _read_wheel(path)
        return Contents(members=(), requires=_requires(_sdist_metadata(path), path))
    except (OSError, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, struct.error) as error:
        raise _broken(path, "cannot be read") from error
    except (ValueError, NotImplementedError, RuntimeError) as error:  # what `zipfile` says of encryption and oddities
        raise _broken(path, "cannot be read") from error


def _read_wheel(path: Path) -> Contents:
    _check_directory_size(path)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > _MEMBER_LIMIT:
            raise _broken(path, f"holds more than {_MEMBER_LIMIT} files")
        names = [entry.filename for entry in entries]
        _check_names(names, path)
        data = _wheel_metadata(archive, path)
    return Contents(members=tuple(sorted(names)), requires=_requires(data, path))


def _check_directory_size(path: Path) -> None:
    """Refuses a central directory that would fill the memory before anything can be counted."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_SIZE - _COMMENT_LIMIT))
        tail = file.read(_END_SIZE + _COMMENT_LIMIT)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise _broken(path, "is no zip archive")
    if struct.unpack_from("<I", tail, at + 12)[0] > _DIRECTORY_LIMIT_BYTES:
        raise _broken(path, "has a table of contents without measure")


def _check_names(names: Iterable[str], path: Path) -> None:
    for name in names:
        if len(name) > _NAME_LIMIT or name.startswith("/") or ".." in name.split("/") or "\\" in name:
            raise _broken(path, f"holds a file with the name `{one_line(name)}`")


def _wheel_metadata(archive: zipfile.ZipFile, path: Path) -> bytes:
    found = [entry for entry in archive.infolist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", entry.filename)]
    if len(found) != 1:
        raise _broken(path, f"holds {len(found)} files `*.dist-info/METADATA`")
    with archive.open(found[0]) as file:
        return _read_metadata(file, path)


def _sdist_metadata(path: Path) -> bytes:
    """The `PKG-INFO` at the top; an sdist is only looked through until it comes."""
    if path.name.endswith(".zip"):
        _check_directory_size(path)
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"[^/]+/PKG-INFO", name)]
            if len(names) == 1:
                with archive.open(names[0]) as file:
                    return _read_metadata(file, path)
        raise _broken(path, "holds no `PKG-INFO`")
    with tarfile.open(path, "r|*") as tar:
        for count, entry in enumerate(tar):
            if re.fullmatch(r"[^/]+/PKG-INFO", entry.name) and entry.isfile():
                content = tar.extractfile(entry)
                assert content is not None  # a regular file
                return _read_metadata(content, path)
            if count > _MEMBER_LIMIT or tar.offset > _SDIST_LIMIT_BYTES or entry.size > _SDIST_LIMIT_BYTES:
                break
    raise _broken(path, "holds no `PKG-INFO`")


def _read_metadata(file: IO[bytes], path: Path) -> bytes:
    data = file.read(_METADATA_LIMIT_BYTES + 1)
    if len(data) > _METADATA_LIMIT_BYTES:
        raise _broken(path, f"has metadata of more than {_METADATA_LIMIT_BYTES} bytes")
    return data


def _requires(data: bytes, path: Path) -> tuple[str, ...]:
    headers = _headers(data)
    stated = canonicalize_name(str(headers.get("Name", "")))
    # `some-name-1.0.tar.gz` and `some_name-1.0-py3-none-any.whl` both begin with the name.
    if not stated or not canonicalize_name(path.name).startswith(f"{stated}-"):
        raise _broken(path, f"says that it is `{one_line(stated)}`")
    return tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist", []))


def _headers(data: bytes) -> Message:
    """The headers without the description, which may be long."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").partition("\n\n")[0]
    return email.parser.HeaderParser().parsestr(text)


def _broken(path: Path, what: str) -> RdlcError:
    return RdlcError(f"the file `{one_line(path.name)}` from the index {what}")
