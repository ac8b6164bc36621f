"""One log file, read as a stream: what it says of transports, in constant memory.

The bytes are cut into blocks at places that depend on the content alone, so that the facts do not depend
on the pieces in which they came. In a block, lines that are alike but for their digits are looked at
once; only what is new, or tells of a communicator, is read.
"""

import re
from itertools import compress
from operator import not_

from rdlc.core.transport import grammar
from rdlc.core.transport.encoding import Recoder
from rdlc.core.transport.envelope import LINE_LIMIT_BYTES, Message, Process, read_messages
from rdlc.core.transport.facts import FileFacts
from rdlc.core.transport.notebook import Notebook
from rdlc.core.transport.tracking import Told

# A block with its lines fits into the cache of a core: twice as large, it takes a quarter more time.
BLOCK_BYTES = 1 << 18
_MOST_SHAPES = 20_000
_MOST_SEEN = 50_000
# Channel lines of one form that are read one by one: at first, and again for each new communicator.
_BUDGET = 4096
_MORE = 512

_DIGITS = b"0123456789"
_GLOO = re.compile(rb"\[Gloo\] Rank (?:\d| is)|(?i:backend[^a-z\n]{1,4}(?:cpu:)?gloo\b)")
_NCCL_WORDS = (b"NCCL", b"nccl", b"Nccl")
_SAYS = b" NCCL INFO "
_TIME = re.compile(
    rb"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]? "
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "
)
# What makes more of a line than an envelope and a message: a second message, Ray's count, colours, progress bars.
_ODD = re.compile(rb"NCCL |\[repeated |\r.|\x1b")
# How dense NCCL's lines are in a block is judged by its start.
_SAMPLE_BYTES = 1 << 16


class _Form:
    """Lines alike but for their digits, of which some are read one by one: `left` of them."""

    __slots__ = ("left", "shape")

    def __init__(self, shape: bytes) -> None:
        self.shape = shape
        self.left = _BUDGET


class _Shapes(dict[bytes, "bool | _Form | None"]):
    """What is done with lines of a shape: read (True), passed over (False), counted (None), or as its form says."""

    has_gloo = False

    def __missing__(self, shape: bytes) -> "bool | _Form":
        kind: bool | _Form
        if _GLOO.search(shape):
            self.has_gloo = True
        if b"NCCL " not in shape or not grammar.WORTH_READING.search(shape):
            kind = False
        elif grammar.BULK.fullmatch(shape):
            kind = _Form(shape)
        else:
            kind = True
        if len(self) < _MOST_SHAPES:
            self[shape] = kind
        return kind


class _Known(dict[bytes, Told]):
    """Channel lines that were read, by the line."""


class Scanner:
    """Reads one file, fed in pieces of any size; what it keeps is bounded."""

    def __init__(self, name: str) -> None:
        self._notebook = Notebook(name)
        self._recoder = Recoder(name)
        self._buffer = bytearray()
        self._is_in_long_line = False
        self._line = 1
        self._num_bytes = 0
        self._ends_with_newline = True
        self._shapes = _Shapes()
        self._exhausted: list[_Form] = []
        # Lines that say nothing new when they come again, and those that do, already read.
        self._seen: set[bytes] = set()
        self._heads: dict[bytes, Process] = {}
        self._channels = _Known()
        self._again: dict[bytes, Message] = {}
        self._mentions_nccl = False

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self._num_bytes += len(chunk)
        for piece in self._recoder.feed(chunk):
            self._take(piece)

    def _take(self, chunk: bytes) -> None:
        start = 0
        while start < len(chunk):
            take = self._skip_long_line if self._is_in_long_line else self._take_block
            start = take(chunk, start)

    def finish(self) -> FileFacts:
        """All that is kept of the file, now that it has ended."""
        for piece in self._recoder.finish():
            self._take(piece)
        if self._buffer:
            self._ends_with_newline = self._buffer.endswith(b"\n")
            self._scan(_without_cut_name(bytes(self._buffer)))
            self._buffer.clear()
        return self._notebook.freeze(
            num_bytes=self._num_bytes,
            num_lines=self._line - 1 + (not self._ends_with_newline),
            has_gloo=self._shapes.has_gloo,
            mentions_nccl=self._mentions_nccl,
        )

    def _take_block(self, chunk: bytes, start: int) -> int:
        """Reads the next block, if there is all of it, else keeps the bytes; where the chunk is still to be read."""
        room = BLOCK_BYTES - len(self._buffer)
        if len(chunk) - start < room:
            self._buffer += memoryview(chunk)[start:]
            return len(chunk)
        if end := chunk.rfind(b"\n", start, start + room) + 1:
            block = b"".join((self._buffer, memoryview(chunk)[start:end]))
            self._buffer.clear()
            self._scan(block)
            return end
        self._buffer += memoryview(chunk)[start : start + room]
        if cut := self._buffer.rfind(b"\n") + 1:
            block = bytes(self._buffer[:cut])
            del self._buffer[:cut]
            self._scan(block)
        else:
            self._begin_long_line()
        return start + room

    def _begin_long_line(self) -> None:
        """A line longer than a block: its start is read, and the rest passed over."""
        head = bytes(self._buffer[:LINE_LIMIT_BYTES])
        self._buffer.clear()
        self._scan(head)
        self._is_in_long_line = True
        self._ends_with_newline = False

    def _skip_long_line(self, chunk: bytes, start: int) -> int:
        """Drops what is left of the line; where the chunk is still to be read."""
        end = chunk.find(b"\n", start) + 1
        if not end:
            return len(chunk)
        self._line += 1
        self._is_in_long_line = False
        self._ends_with_newline = True
        return end

    def _scan(self, block: bytes) -> None:
        if not self._mentions_nccl:
            self._mentions_nccl = any(word in block for word in _NCCL_WORDS)
        if block.count(b"NCCL ", 0, _SAMPLE_BYTES) * 4 > block.count(b"\n", 0, _SAMPLE_BYTES):
            self._scan_dense(block)
        else:
            self._scan_sparse(block)

    def _scan_sparse(self, block: bytes) -> None:
        """Reads the few lines in which NCCL is named."""
        if not self._shapes.has_gloo and b"loo" in block and (b"Gloo" in block or b"gloo" in block):
            self._shapes.has_gloo = bool(_GLOO.search(block))
        number, counted, found = self._line, 0, block.find(b"NCCL ")
        while found >= 0:
            start = block.rfind(b"\n", 0, found) + 1
            end = block.find(b"\n", found)
            end = len(block) if end < 0 else end
            number += block.count(b"\n", counted, start)
            counted = start
            line = block[start:end]
            kind = self._shapes[line.translate(None, _DIGITS)]
            if kind and line not in self._seen:
                self._consider(kind, line, number)
            found = block.find(b"NCCL ", end)
        self._line = number + block.count(b"\n", counted)

    def _scan_dense(self, block: bytes) -> None:
        """Reads the lines of the shapes that are of interest, found without a step of Python per line."""
        kinds = list(map(self._shapes.__getitem__, block.translate(None, _DIGITS).split(b"\n")))
        if self._exhausted:
            self._notebook.num_unread += kinds.count(None)
        indexes = list(compress(range(len(kinds)), kinds))
        if indexes:
            lines = list(compress(block.split(b"\n"), kinds))
            # Looked up one after the other, as they are read: a line may come twice.
            is_new = map(not_, map(self._seen.__contains__, lines))
            for index, line in compress(zip(indexes, lines, strict=True), is_new):
                self._consider(kinds[index], line, self._line + index)
        self._line += len(kinds) - 1

    def _consider(self, kind: "bool | _Form | None", line: bytes, number: int) -> None:
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
        if told := self._channels.get(line):
            self._notebook.take_again(told, number)
            return
        head, _, tail = line.partition(_SAYS)
        process = self._heads.get(head) or self._heads.get(_without_time(head))
        if process is None or b"NCCL" in tail or len(line) > LINE_LIMIT_BYTES:
            self._read(line, number)
        elif (told := self._notebook.take_channel(process, _text(tail), number)) and len(self._channels) < _MOST_SEEN:
            self._channels[line] = told

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
        known, key = self._again.get(line), line
        if known is None:
            key = _without_time(line)
            if key in self._seen:
                return
            known = self._again.get(key)
        if known is not None:
            self._notebook.take(known, number)
            return
        before = self._notebook.num_communicators
        messages = self._messages(line)
        # All, not the first: each message must be taken.
        taken = [self._notebook.take(message, number) for message in messages]
        if all(taken) and len(self._seen) < _MOST_SEEN:
            self._seen.add(key)
        elif _is_network(messages) and len(self._again) < _MOST_SEEN:
            self._again[key] = messages[0]
        if self._exhausted and (num_new := self._notebook.num_communicators - before):
            self._renew(num_new)

    def _messages(self, line: bytes) -> tuple[Message, ...]:
        """What is said in the line; who says it is looked up where the start of the line was read before."""
        head, _, tail = _without_time(line).partition(_SAYS)
        is_plain = len(line) <= LINE_LIMIT_BYTES and not _ODD.search(tail)
        if is_plain and (process := self._heads.get(head)):
            return (Message(process=process, level="INFO", text=_text(tail)),)
        messages = read_messages(line, hosts=self._notebook.hosts)
        if is_plain and len(messages) == 1 and len(self._heads) < _MOST_SEEN:
            only = messages[0]
            if only.process and only.level == "INFO" and only.text == _text(tail):
                self._heads[head] = only.process
        return messages


def _without_time(line: bytes) -> bytes:
    """The line behind the time that a collector puts before it: what is said again is said at another time."""
    match = _TIME.match(line)
    return line[match.end() :] if match else line


def _text(tail: bytes) -> str:
    return tail.decode("utf-8", "replace").strip()


def _is_network(messages: tuple[Message, ...]) -> bool:
    """Whether a line does nothing but name a network, so that it starts no communicator."""
    return len(messages) == 1 and messages[0].text.startswith("Using network ")


def _without_cut_name(block: bytes) -> bytes:
    """The end of a file, without a network's name in a last line that has no line end: it may be cut."""
    head, newline, last = block.rpartition(b"\n")
    before, word, name = last.partition(b"Using network ")
    if not word or name.rstrip().decode("utf-8", "replace") in grammar.KNOWN_NETWORKS:
        return block
    return head + newline + before
