"""What a record keeps of a foreign log: the lines that speak of NCCL or gloo, and nothing else.

A worker's log holds whatever its script printed, also what nobody may keep.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rdlc.core.transport.encoding import Recoder
from rdlc.core.transport.envelope import LINE_LIMIT_BYTES

_WORDS = re.compile(rb"NCCL|(?i:gloo)")


@dataclass(kw_only=True, slots=True)
class Excerpt:
    """Reads a log in pieces and gives back the lines to keep, in constant memory; lines are cut at 4 KiB."""

    name: str
    num_bytes: int = 0
    num_lines: int = 0
    num_kept: int = 0
    _rest: bytes = b""
    _hash: Any = field(default_factory=hashlib.sha256)
    _recoder: Recoder = field(init=False)

    def __post_init__(self) -> None:
        self._recoder = Recoder(self.name)

    @property
    def sha256(self) -> str:
        """The sha256 in hex of all that was read, as it was read."""
        return str(self._hash.hexdigest())

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The whole lines to keep that these bytes complete, in pieces."""
        self._hash.update(chunk)
        self.num_bytes += len(chunk)
        yield from map(self._take, self._recoder.feed(chunk))

    def finish(self) -> Iterator[bytes]:
        """What is left, with the last line, if it has no end and is to be kept."""
        yield from map(self._take, self._recoder.finish())
        yield self._take_last()

    def _take(self, chunk: bytes) -> bytes:
        first, *others = chunk.split(b"\n")
        self._hold(first)
        if not others:
            return b""
        *whole, rest = self._rest, *others
        self.num_lines += len(whole)
        kept = [line[:LINE_LIMIT_BYTES] for line in whole if _WORDS.search(line, 0, LINE_LIMIT_BYTES)]
        self.num_kept += len(kept)
        self._rest = b""
        self._hold(rest)
        return b"".join(line + b"\n" for line in kept)

    def _take_last(self) -> bytes:
        if not self._rest:
            return b""
        self.num_lines += 1
        is_kept = _WORDS.search(self._rest) is not None
        self.num_kept += is_kept
        return self._rest + b"\n" if is_kept else b""

    def _hold(self, part: bytes) -> None:
        room = LINE_LIMIT_BYTES - len(self._rest)
        if room > 0:
            self._rest += part[:room]
