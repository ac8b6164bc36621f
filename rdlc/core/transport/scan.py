"""One log file, read as a stream: what it says of transports, in constant memory.

The bytes are cut into blocks at places that depend on the content alone, so that the facts do not depend
on the pieces in which they came. In a block, lines that are alike but for their digits are looked at
once; only what is new, or tells of a communicator, is read.
"""

import re
from itertools import compress

from rdlc.core.transport import grammar
from rdlc.core.transport.envelope import LINE_LIMIT_BYTES, Message, Process, read_messages
from rdlc.core.transport.facts import FileFacts
from rdlc.core.transport.notebook import Notebook

BLOCK_BYTES = 1 << 20
_MOST_SHAPES = 20_000
_MOST_SEEN = 50_000
# Channel lines of one form that are read one by one: at first, and again for each new communicator.
_BUDGET = 4096
_MORE = 512

_DIGITS = b"0123456789"
_GLOO = re.compile(rb"\[Gloo\] Rank \d|(?i:backend[^a-z\n]{1,4}(?:cpu:)?gloo\b)")
_NCCL_WORDS = (b"NCCL", b"nccl", b"Nccl")
# How dense NCCL's lines are in a block is judged by its start.
_SAMPLE_BYTES = 1 << 16


class _Form:
    """Lines alike but for their digits, of which some are read one by one: `left` of them."""

    __slots__ = ("left", "shape")

    def __init__(self, shape: bytes) -> None:
        self.shape = shape
        self.left = _BUDGET


class _Shapes(dict[bytes, "bool | None | _Form"]):
    """What is done with lines of a shape: read (True), passed over (False), counted (None), or as its form says."""

    def __missing__(self, shape: bytes) -> "bool | _Form":
        kind: bool | _Form
        if b"NCCL " not in shape or not grammar.WORTH_READING.search(shape):
            kind = False
        elif grammar.BULK.fullmatch(shape):
            kind = _Form(shape)
        else:
            kind = True
        if len(self) < _MOST_SHAPES:
            self[shape] = kind
        return kind


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
        self._shapes = _Shapes()
        self._exhausted: list[_Form] = []
        # Lines that say nothing new when they come again, and those that do, already read.
        self._seen: set[bytes] = set()
        self._heads: dict[bytes, Process | None] = {}
        self._again: dict[bytes, tuple[Message, ...]] = {}
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
            self._scan(_without_cut_name(bytes(self._buffer)))
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
            with memoryview(self._buffer) as view:
                block = bytes(view[:cut])
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
        if not self._mentions_nccl:
            self._mentions_nccl = any(word in block for word in _NCCL_WORDS)
        if not self._has_gloo and b"loo" in block:
            self._has_gloo = bool(_GLOO.search(block))
        sample = block[:_SAMPLE_BYTES]
        if sample.count(b"NCCL ") * 4 > sample.count(b"\n"):
            self._scan_dense(block)
        else:
            self._scan_sparse(block)

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
            kind = self._shapes[line.translate(None, _DIGITS)]
            if kind:
                self._consider(kind, line, number)
            found = block.find(b"NCCL ", end)
        self._line = number + block.count(b"\n", counted)

    def _scan_dense(self, block: bytes) -> None:
        """Reads the lines of the shapes that are of interest, found without a step of Python per line."""
        kinds = list(map(self._shapes.__getitem__, block.translate(None, _DIGITS).split(b"\n")))
        if self._exhausted:
            self._notebook.num_unread += kinds.count(None)
        indexes = list(compress(range(len(kinds)), kinds))
        lines = block.split(b"\n") if indexes else []
        for index in indexes:
            kind, line = kinds[index], lines[index]
            if kind and line not in self._seen:
                self._consider(kind, line, self._line + index)
        self._line += len(kinds) - 1

    def _consider(self, kind: "bool | _Form", line: bytes, number: int) -> None:
        if line in self._seen:
            return
        if isinstance(kind, _Form):
            if kind.left <= 0:
                self._notebook.num_unread += 1
                return
            self._spend(kind)
            self._read_channel(line, number)
        else:
            self._read(line, number)

    def _read_channel(self, line: bytes, number: int) -> None:
        """Reads a channel line; who says it is looked up, where the same was said of the start of a line before."""
        head, word, tail = line.partition(b" NCCL INFO Channel ")
        process = self._heads.get(head)
        if process is None:
            messages = read_messages(line, hosts=self._notebook.hosts)
            self._read(line, number)
            if len(messages) == 1 and messages[0].text.startswith("Channel ") and len(self._heads) < _MOST_SEEN:
                self._heads[head] = messages[0].process
        elif len(line) <= LINE_LIMIT_BYTES:
            self._notebook.take_channel(process, (word[11:] + tail).decode("utf-8", "replace").rstrip(), number)

    def _spend(self, form: _Form) -> None:
        """One line of the form is read; behind the last of them its lines are only counted."""
        form.left -= 1
        if form.left == 0 and form.shape in self._shapes:
            self._exhausted.append(form)
            self._shapes[form.shape] = None

    def _renew(self, num_new: int) -> None:
        """A new communicator: some more lines of each form are read, which may be of it."""
        for form in self._exhausted:
            self._shapes[form.shape] = form
            form.left = num_new * _MORE
        self._exhausted.clear()

    def _read(self, line: bytes, number: int) -> None:
        before = self._notebook.num_communicators
        messages = self._again.get(line)
        if messages is None:
            messages = read_messages(line, hosts=self._notebook.hosts)
        # All, not the first: each message must be taken.
        is_once = all([self._notebook.take(message, number) for message in messages])
        if is_once and len(self._seen) < _MOST_SEEN:
            self._seen.add(line)
        elif b"Using network " in line and len(self._again) < _MOST_SEEN:
            self._again[line] = messages
        if self._exhausted and (num_new := self._notebook.num_communicators - before):
            self._renew(num_new)


def _without_cut_name(block: bytes) -> bytes:
    """The end of a file, without a network's name in a last line that has no line end: it may be cut."""
    head, newline, last = block.rpartition(b"\n")
    before, word, name = last.partition(b"Using network ")
    if not word or name.rstrip().decode("utf-8", "replace") in grammar.KNOWN_NETWORKS:
        return block
    return head + newline + before
