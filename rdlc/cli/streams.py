"""stdout and stderr of the process as ones that can fail without a traceback."""

import errno
import io
import os
import sys
from typing import TextIO

from rdlc.errors import InputError


class _Stdout(io.TextIOWrapper):
    """Says once, as an error with a message, that the answer cannot be written; then it swallows the rest."""

    is_lost = False

    def write(self, text: str, /) -> int:
        """Writes the text."""
        if self.is_lost:
            return len(text)
        try:
            return super().write(text)
        except OSError as error:
            raise self._lose(error) from error

    def flush(self) -> None:
        """Hands on what was written."""
        if self.is_lost:
            return
        try:
            super().flush()
        except OSError as error:
            raise self._lose(error) from error

    def _lose(self, error: OSError) -> Exception:
        if error.errno == errno.EPIPE:
            return error
        self.is_lost = True
        _lead_nowhere(self)
        return InputError(f"the answer cannot be written to stdout: {error.strerror}")


class _Stderr(io.TextIOWrapper):
    """Swallows what cannot be written: there is nobody to tell, and the exit code is still right."""

    is_lost = False

    def write(self, text: str, /) -> int:
        """Writes the text."""
        try:
            return len(text) if self.is_lost else super().write(text)
        except OSError:
            self._lose()
            return len(text)

    def flush(self) -> None:
        """Hands on what was written."""
        try:
            if not self.is_lost:
                super().flush()
        except OSError:
            self._lose()

    def _lose(self) -> None:
        self.is_lost = True
        _lead_nowhere(self)


def guard_streams() -> None:
    """Puts streams in place that never end in a traceback; for the process `rdlc` alone.

    A character that the terminal's encoding lacks is written as an escape.
    """
    # In this order: where one was closed, /dev/null takes its number, and no other file can.
    sys.stdout = _guarded(sys.stdout, _Stdout)
    sys.stderr = _guarded(sys.stderr, _Stderr)


def is_stdout_lost() -> bool:
    """Whether nothing can be said on stdout any more."""
    return isinstance(sys.stdout, _Stdout) and sys.stdout.is_lost


def _guarded(stream: TextIO | None, kind: type[_Stdout | _Stderr]) -> TextIO:
    if stream is None:
        # Readable only: writing fails as on any stream that cannot be written.
        buffer = io.BufferedWriter(io.FileIO(os.open(os.devnull, os.O_RDONLY), "wb"))
        return kind(buffer, encoding="utf-8", errors="backslashreplace")
    is_line_wise = kind is _Stderr or stream.isatty()
    return kind(stream.buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=is_line_wise)


def _lead_nowhere(stream: TextIO) -> None:
    """What is still in the stream's buffer goes to /dev/null, so that ending the process does not fail on it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
