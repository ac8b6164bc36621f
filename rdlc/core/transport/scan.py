"""One log file, read as a stream: what it says of transports, in constant memory.

The bytes are cut into blocks at places that depend on the content alone, so that the facts do not depend
on the pieces in which they came. In a block, lines that are alike but for their digits are looked at
once; only what is new, or tells of a communicator, is read.
"""

import re

from rdlc.core.transport import grammar
from rdlc.core.transport.envelope import LINE_LIMIT_BYTES, read_messages
from rdlc.core.transport.facts import FileFacts
from rdlc.core.transport.notebook import Notebook

BLOCK_BYTES = 1 << 20
_MOST_SHAPES = 20_000
_MOST_SEEN = 50_000
# Channel lines of one form that are read one by one: at first, and again for each new communicator.
_BUDGET = 20_000
_MORE = 512

_DIGITS = b"0123456789"
_GLOO = re.compile(rb"\[Gloo\] Rank \d|(?i:backend[^a-z\n]{1,4}(?:cpu:)?gloo\b)")
_NCCL_WORD = re.compile(rb"(?i:nccl)")


class _Form:
    """Lines alike but for their digits; `left` is how many of them are still read one by one."""

    __slots__ = ("epoch", "left")

    def __init__(self, epoch: int) -> None:
        self.left = _BUDGET
        self.epoch = epoch


class Scanner:
    """Reads one file, fed in pieces of any size; what it keeps is bounded."""

    def __init__(self, name: str) -> None:
        self._notebook = Notebook(name)
        self._name = name
        self._buffer = bytearray()
        self._is_in_long_line = False
        self._line = 1
        self._num_bytes = 0
        self._ends_with_newline = True
        # False: of no interest; True: each one is read; a form: read while its budget lasts.
        self._shapes: dict[bytes, bool | _Form] = {}
        self._seen: set[bytes] = set()
        self._has_gloo = False
        self._mentions_nccl = False

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self._num_bytes += len(chunk)
        for start in range(0, len(chunk), BLOCK_BYTES):
            self._buffer += chunk[start : start + BLOCK_BYTES]
            while self._take_block():
                pass

    def finish(self) -> FileFacts:
        """All that is kept of the file, now that it has ended."""
        if self._is_in_long_line:
            self._skip_long_line()
        if self._buffer:
            self._ends_with_newline = self._buffer.endswith(b"\n")
            self._scan(bytes(self._buffer))
            self._buffer.clear()
        return self._notebook.freeze(
            num_bytes=self._num_bytes,
            num_lines=self._line - 1 + (not self._ends_with_newline),
            has_gloo=self._has_gloo,
            mentions_nccl=self._mentions_nccl,
        )

    def _take_block(self) -> bool:
        if self._is_in_long_line and not self._skip_long_line():
            return False
        if len(self._buffer) < BLOCK_BYTES:
            return False
        cut = self._buffer.rfind(b"\n", 0, BLOCK_BYTES) + 1
        if cut:
            block = bytes(self._buffer[:cut])
            del self._buffer[:cut]
            self._scan(block)
        else:
            head = bytes(self._buffer[:LINE_LIMIT_BYTES])
            del self._buffer[:BLOCK_BYTES]
            self._scan(head)
            self._is_in_long_line = True
            self._ends_with_newline = False
        return True

    def _skip_long_line(self) -> bool:
        """Drops what is left of a line longer than a block; False while its end has not come."""
        end = self._buffer.find(b"\n") + 1
        if not end:
            self._buffer.clear()
            return False
        del self._buffer[:end]
        self._line += 1
        self._is_in_long_line = False
        self._ends_with_newline = True
        return True

    def _scan(self, block: bytes) -> None:
        num_lines = block.count(b"\n")
        if not self._mentions_nccl:
            self._mentions_nccl = bool(_NCCL_WORD.search(block))
        if not self._has_gloo and b"loo" in block:
            self._has_gloo = bool(_GLOO.search(block))
        num_nccl = block.count(b"NCCL ")
        if num_nccl * 4 > num_lines:
            self._scan_dense(block)
        elif num_nccl:
            self._scan_sparse(block)
        self._line += num_lines

    def _scan_sparse(self, block: bytes) -> None:
        """Reads the few lines in which NCCL is named."""
        number, counted, found = self._line, 0, block.find(b"NCCL ")
        while found >= 0:
            start = block.rfind(b"\n", 0, found) + 1
            end = block.find(b"\n", found)
            end = len(block) if end < 0 else end
            number += block.count(b"\n", counted, start)
            counted = start
            line = block[start:end]
            shape = line.translate(None, _DIGITS)
            self._consider(line, shape, number)
            found = block.find(b"NCCL ", end)

    def _scan_dense(self, block: bytes) -> None:
        """Reads the lines of the forms that are of interest, found without a step of Python per line."""
        lines = block.split(b"\n")
        shapes = block.translate(None, _DIGITS).split(b"\n")
        for index, kind in enumerate(map(self._shapes.get, shapes)):
            if kind is not False:
                self._consider(lines[index], shapes[index], self._line + index)

    def _consider(self, line: bytes, shape: bytes, number: int) -> None:
        kind = self._shapes.get(shape)
        if kind is None:
            kind = self._classify(shape)
        if kind is False or line in self._seen:
            return
        if kind is True:
            self._read(line, number)
            return
        if kind.epoch != self._notebook.num_communicators:
            kind.left += _MORE * (self._notebook.num_communicators - kind.epoch)
            kind.epoch = self._notebook.num_communicators
        if kind.left > 0:
            kind.left -= 1
            self._read(line, number)
        else:
            self._notebook.num_unread += 1

    def _classify(self, shape: bytes) -> "bool | _Form":
        kind: bool | _Form
        if b"NCCL " not in shape or not grammar.WORTH_READING.search(shape):
            kind = False
        elif grammar.BULK.fullmatch(shape):
            kind = _Form(self._notebook.num_communicators)
        else:
            kind = True
        if len(self._shapes) < _MOST_SHAPES:
            self._shapes[shape] = kind
        return kind

    def _read(self, line: bytes, number: int) -> None:
        messages = read_messages(line, hosts=self._notebook.hosts)
        is_once = True
        for message in messages:
            is_once = self._notebook.take(message, number) and is_once
        if is_once and len(self._seen) < _MOST_SEEN:
            self._seen.add(line)
