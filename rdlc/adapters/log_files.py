"""Log files of this machine as streams of bounded pieces: a file, a folder's files, standard input.

What is packed by gzip, as rotated logs are, is given unpacked.
"""

import os
import stat
import sys
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from rdlc.errors import InputError

CHUNK_BYTES = 1 << 20
STDIN = "-"
_GZIP_MARK = b"\x1f\x8b\x08"
_GZIP_FORM = 31


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
    """The bytes of a file, or of standard input for `-`, in pieces of at most 1 MiB; unpacked where it is gzip's."""
    try:
        if str(path) == STDIN:
            yield from _unpacked(_chunks(sys.stdin.fileno()))
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield from _unpacked(_chunks(descriptor))
        finally:
            os.close(descriptor)
    except zlib.error as error:
        raise InputError("cannot be unpacked: what gzip packed is damaged", file=str(path)) from error
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


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks, b"")
    if first.startswith(_GZIP_MARK):
        yield from _inflate(chain((first,), chunks))
    else:
        yield from chain((first,), chunks)


def _inflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """What is packed, in pieces as small as those of other files; a file that is cut gives what it still holds."""
    unpacker = zlib.decompressobj(_GZIP_FORM)
    for chunk in chunks:
        packed = chunk
        while packed:
            if unpacker.eof:  # several files, one behind the other
                unpacker = zlib.decompressobj(_GZIP_FORM)
            yield unpacker.decompress(packed, CHUNK_BYTES)
            packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    yield unpacker.flush()


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be read: {reason}", file=str(path))
