"""What a pod says of its logs, line by line: a file's name, the lines of it to keep, its end."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from rdlc.core.fields import Fields
from rdlc.core.lines import fields_at
from rdlc.core.text import one_line
from rdlc.errors import InputError

# A kept line has 4 KiB; a path is as long at most, and each of its characters can be written as an escape.
LINE_LIMIT_BYTES = 64 << 10


@dataclass(frozen=True, kw_only=True, slots=True)
class FileStart:
    """A file of the pod begins."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLine:
    """A line of it that is to be kept, with its end."""

    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEnd:
    """The file ends: how many lines it had, how many are kept, the sha256 in hex of all that was read."""

    num_lines: int
    num_kept: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLost:
    """A file that could not be read to its end."""

    path: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AllRead:
    """Nothing more comes; so many files were of other jobs and left out."""

    num_left_out: int


Frame = FileStart | FileLine | FileEnd | FileLost | AllRead


class FrameReader:
    """Reads frames from pieces of a stream, in constant memory; raises InputError for any other form."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""
        self._number = 0
        self.is_complete = False

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The frames that this piece completes."""
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            self._number += 1
            if len(line) > LINE_LIMIT_BYTES or self.is_complete:
                raise self._error("says more than was asked for")
            frame = self._read(line)
            self.is_complete = isinstance(frame, AllRead)
            yield frame
        if len(self._rest) > LINE_LIMIT_BYTES:
            raise self._error("says more than was asked for")

    def _read(self, line: bytes) -> Frame:
        kind, data = line[:1], line[1:]
        if kind == b"L":
            return FileLine(data=data + b"\n")
        fields = self._fields(data)
        match kind:
            case b"F":
                return FileStart(path=fields.text("path"))
            case b"E":
                return FileEnd(
                    num_lines=fields.count("lines"),
                    num_kept=fields.count("kept"),
                    sha256=one_line(fields.text("sha256"), limit=64),
                )
            case b"X":
                return FileLost(path=fields.text("path"), why=one_line(fields.text("why")))
            case b"Z":
                return AllRead(num_left_out=fields.count("left_out"))
            case _:
                raise self._error("answers in another form than was asked for")

    def _fields(self, data: bytes) -> Fields:
        try:
            value = json.loads(data, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            raise self._error("answers in another form than was asked for") from error
        return fields_at(self._name, value, line=self._number)

    def _error(self, message: str) -> InputError:
        return InputError(message, file=f"{self._name}:{self._number}")
