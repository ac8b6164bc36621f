"""Reading within bounds and writing whole files or nothing."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rdlc.errors import InputError, RdlcError


def read_bounded(path: Path, *, limit_bytes: int, what: str) -> bytes:
    """The bytes of a regular file of at most `limit_bytes`; `what` names it in messages."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{what} must be a file, and this is a folder", file=str(path))
        if not stat.S_ISREG(status.st_mode):
            # Opening a pipe or a device could wait for ever.
            raise InputError(f"{what} must be a regular file", file=str(path))
        if status.st_size > limit_bytes:
            size = f"{status.st_size} bytes, and at most {limit_bytes} are read"
            raise InputError(f"{what} is too large: {size}", file=str(path))
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except FileNotFoundError as error:
        raise InputError(f"{what} does not exist", file=str(path)) from error
    except OSError as error:
        raise InputError(f"{what} cannot be read: {error.strerror}", file=str(path)) from error
    return data


def read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a regular file in pieces of 1 MiB; raises InputError if it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # Opening a pipe or a device could wait for ever.
            raise InputError("must be a regular file", file=str(path))
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                yield chunk
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from error


def read_end(path: Path, *, limit_bytes: int = 8192) -> str:
    """The end of a log as text; "" if there is none that can be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limit_bytes))
            return file.read(limit_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


def write_atomically(path: Path, data: bytes) -> bool:
    """Puts the bytes at `path` in one step; False when they stood there already.

    A kill or a second writer at any moment leaves the old file or the new one, whole.
    """
    try:
        if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise RdlcError(f"cannot be written: {error.strerror}", file=str(path)) from error
    return True


def create_atomically(path: Path, data: bytes) -> bool:
    """Puts a new file at `path` in one step; False, and nothing changed, if one stands there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.") as folder:
            whole = Path(folder, "whole")
            _replace(whole, data)
            # A link is made only where nothing stands: unlike a rename it never replaces.
            path.hardlink_to(whole)
    except FileExistsError:
        return False
    except OSError as error:
        raise RdlcError(f"cannot be written: {error.strerror}", file=str(path)) from error
    return True


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def find_project(*starts: Path) -> Path | None:
    """The nearest folder, from each start upwards, that holds `recipes/`, `.git` or `pyproject.toml`."""
    for start in starts:
        for folder in (start, *start.parents):
            if any((folder / mark).exists() for mark in ("recipes", ".git", "pyproject.toml")):
                return folder
    return None
