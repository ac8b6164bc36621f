"""What the program that follows a job in its pod prints: pieces of files, the job's end, signs of life."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.text import one_line
from rdlc.errors import InputError

_DATA = re.compile(rb"D (\d{1,3}) (\d{1,18}) (\d{1,6})")
_LINE_LIMIT_BYTES = 64 << 10
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Some bytes of the file of that number, and where in it they start."""

    number: int
    offset: int
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSeen:
    """How Ray's job server says that a job ended; `exit_code` is the driver's, None if it has none."""

    status: str
    message: str
    error_type: str
    exit_code: int | None


class FrameReader:
    """Takes the stream in any pieces; gives whole frames only, so that what was cut is asked for again.

    `is_all` once all that there is was given.
    """

    def __init__(self) -> None:
        self._held = b""
        self.is_all = False

    def take(self, chunk: bytes) -> list[Piece | JobSeen]:
        """The frames that are whole now; raises InputError for what is none."""
        data = self._held + chunk
        frames: list[Piece | JobSeen] = []
        while b"\n" in data[:_LINE_LIMIT_BYTES]:
            line, _, rest = data.partition(b"\n")
            if found := _DATA.fullmatch(line):
                length = int(found[3])
                if len(rest) < length:
                    break
                frames.append(Piece(number=int(found[1]), offset=int(found[2]), data=rest[:length]))
                data = rest[length:]
                continue
            if line.startswith(b"J "):
                frames.append(_read_job(line[2:]))
            elif line == b"Z":
                self.is_all = True
            elif line != b"H":
                raise InputError(f"a pod said something else than was asked: {one_line(repr(line))}")
            data = rest
        if len(data) > _LINE_LIMIT_BYTES and b"\n" not in data[:_LINE_LIMIT_BYTES]:
            raise InputError("a pod said something else than was asked")
        self._held = data
        return frames


def _read_job(data: bytes) -> JobSeen:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("what Ray says of the job is not JSON") from error
    if not isinstance(found, Mapping) or found.get("status") not in ENDED:
        raise InputError("what Ray says of the job is not a job's end")
    code = str(found.get("driver_exit_code"))
    return JobSeen(
        status=str(found["status"]),
        message=one_line(str(found.get("message") or ""), limit=400),
        error_type=one_line(str(found.get("error_type") or "")),
        exit_code=int(code) if re.fullmatch(r"-?\d{1,4}", code) else None,
    )
