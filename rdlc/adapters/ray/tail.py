"""The new whole lines of a file that another process writes."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from rdlc.errors import RdlcError

if TYPE_CHECKING:
    from pathlib import Path

MAX_LINE_BYTES = 1024 * 1024

_CHUNK_BYTES = 4 * MAX_LINE_BYTES


class LineTail:
    """Reads a growing file of lines, each line once; it keeps at most one unfinished line."""

    __slots__ = ("_identity", "_lines", "_offset", "_path", "_rest")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._lines = 0
        self._rest = b""

    @property
    def unfinished_bytes(self) -> int:
        """The size of what was read after the last whole line: more than 0 after a torn write."""
        return len(self._rest)

    def read_new(self) -> tuple[str, ...]:
        """Return the whole lines that were not read before, without their ends.

        One call reads a few MiB; call again until it gives nothing. A file that does not exist yet
        has no lines. Raises `RdlcError`, and is of no use after that, for a line over 1 MiB or not
        in UTF-8, for a file that became shorter or another one, and for what is no file.
        """
        *lines, rest = (self._rest + self._read()).split(b"\n")
        texts = tuple(self._decode(line, number) for number, line in enumerate(lines, self._lines + 1))
        self._lines += len(texts)
        if len(rest) > MAX_LINE_BYTES:
            raise self._too_long(self._lines + 1)
        self._rest = rest
        return texts

    def _read(self) -> bytes:
        try:
            # Without O_NONBLOCK a named pipe would be waited for.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError as error:
            if self._identity is None:
                return b""
            raise self._error("the file was removed while it was read") from error
        except OSError as error:
            raise self._error(f"cannot read the file: {error.strerror}") from error
        try:
            self._check(os.fstat(descriptor))
            chunk = os.pread(descriptor, _CHUNK_BYTES, self._offset)
        finally:
            os.close(descriptor)
        self._offset += len(chunk)
        return chunk

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._error("not a regular file")
        identity = (status.st_dev, status.st_ino)
        if self._identity not in {None, identity}:
            raise self._error("the file was replaced by another while it was read")
        if status.st_size < self._offset:
            raise self._error(
                f"the file became shorter while it was read: {status.st_size} bytes, and {self._offset} were read"
            )
        self._identity = identity

    def _decode(self, line: bytes, number: int) -> str:
        if len(line) > MAX_LINE_BYTES:
            raise self._too_long(number)
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._error(f"line {number} is not UTF-8") from error

    def _too_long(self, number: int) -> RdlcError:
        return self._error(f"line {number} is longer than {MAX_LINE_BYTES} bytes")

    def _error(self, message: str) -> RdlcError:
        return RdlcError(message, file=str(self._path))
