"""Blobs: read as a stream whose digest is checked at its end, or in pieces."""

import hashlib
import http.client
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rdlc.adapters.registry.connections import Answer
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

CHUNK_BYTES = 256 << 10

_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeRead:
    """A piece of a blob; without data, and not honoured, if the server would send all of it."""

    data: bytes = field(repr=False)
    is_honoured: bool


class BlobStream:
    """A blob as it arrives, in constant memory. Used by one thread; closing it is cheap.

    The end is only reported, as `b""`, when size and digest are right; else OutsideError is raised.
    """

    def __init__(self, answer: Answer, *, digest: str, size: int, what: str) -> None:
        self.digest = digest
        self.size = size
        self.received = 0
        self._answer = answer
        self._what = what
        self._hash = hashlib.new(digest.partition(":")[0])
        self._is_verified = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.read(CHUNK_BYTES):
            yield chunk

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Up to that many bytes; none only behind the last one, and after the digest was checked."""
        if size <= 0 or self._is_verified:
            return b""
        try:
            # One byte more than is due is asked for at the end, to see a blob that does not end.
            chunk = self._answer.read(min(size, self.size - self.received + 1))
        except http.client.IncompleteRead as error:  # newer Pythons say so, older ones just end
            raise self._broken(f"ends after {self.received + len(error.partial)} bytes") from error
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(f"breaks off after {self.received} bytes") from error
        self.received += len(chunk)
        if self.received > self.size:
            raise self._broken("goes on behind its stated size")
        self._hash.update(chunk)
        if not chunk:
            self._verify()
        return chunk

    def finish(self) -> None:
        """Reads what is left and checks the digest: an archive may end before its blob does."""
        while self.read(CHUNK_BYTES):
            pass

    def close(self) -> None:
        """Ends the transfer, wherever it is."""
        self._answer.close()

    def _verify(self) -> None:
        if self.received < self.size:
            raise self._broken(f"ends after {self.received} bytes")
        found = f"{self._hash.name}:{self._hash.hexdigest()}"
        if found != self.digest:
            encoding = self._answer.header("Content-Encoding")
            sent = f", in the encoding `{one_line(encoding)}`" if encoding else ""
            raise self._broken(f"has another content, {found}{sent}")
        self._is_verified = True

    def _broken(self, problem: str) -> OutsideError:
        self._answer.close()
        return OutsideError(f"the {self._what} of {self.size} bytes {problem}")


def range_of(answer: Answer, *, start: int, length: int, what: str) -> RangeRead:
    """The piece in an answer to a request with `Range`, not longer than asked for."""
    if answer.status == 416:
        raise OutsideError(f"the {what} has no bytes from {start} on")
    if answer.status == 200:
        answer.close()
        return RangeRead(data=b"", is_honoured=False)
    stated = _RANGE.fullmatch(answer.header("Content-Range").strip())
    if stated is None or int(stated[1]) != start or not start <= int(stated[2]) < start + length:
        answer.close()
        raise OutsideError(f"the {what} came with another range than {start}-{start + length - 1}")
    due = int(stated[2]) - start + 1
    try:
        data = answer.read_all(limit_bytes=due, what=what)
    except (OSError, http.client.HTTPException) as error:
        raise OutsideError(f"the {what} breaks off in its range from {start}") from error
    if len(data) != due:
        raise OutsideError(f"the {what} has {len(data)} bytes in a range of {due}")
    return RangeRead(data=data, is_honoured=True)
