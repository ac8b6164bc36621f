"""Log files of this machine as streams of bounded pieces: a file, a folder's files, standard input."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from rdlc.errors import InputError

CHUNK_BYTES = 1 << 20
STDIN = "-"


def find_log_files(path: Path) -> tuple[Path, ...]:
    """The file itself; of a folder, its regular files at any depth, sorted.

    Links inside a folder are not followed: they lead out of it, or to what is read anyway.
    """
    if str(path) == STDIN:
        return (path,)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        return tuple(_walk(path)) if is_folder else (path,)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def read_log_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, or of standard input for `-`, in pieces of at most 1 MiB."""
    try:
        if str(path) == STDIN:
            yield from _chunks(sys.stdin.fileno())
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield from _chunks(descriptor)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder, onerror=_give_up, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def _give_up(error: OSError) -> None:
    raise error


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, CHUNK_BYTES):
        yield chunk


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be read: {reason}", file=str(path))
