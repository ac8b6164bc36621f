"""A layer read through its zTOC: the list of its entries, and single files by ranged reads."""

import hashlib
import itertools
from collections.abc import Iterator

from rdlc.adapters.image_contents.meter import Meter
from rdlc.adapters.image_contents.ports import BlobSource, LayerBlob
from rdlc.core.contents.flatbuffer import OutsideWindowError, Window
from rdlc.core.contents.inflate import inflate_from
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.contents.layer_scan import LayerScan
from rdlc.core.contents.layer_stack import clean_path
from rdlc.core.contents.soci_index import ZtocBlob
from rdlc.core.contents.tar_stream import TarEntry
from rdlc.core.contents.ztoc import (
    CHECKPOINT_BYTES,
    CHECKPOINTS_HEADER_BYTES,
    HEAD_BYTES,
    ZTOC_LIMIT_BYTES,
    Checkpoint,
    CheckpointList,
    ZtocEntry,
    ZtocHeader,
    read_checkpoint,
    read_checkpoint_list,
    read_entries,
    read_header,
    read_span_digests,
)
from rdlc.errors import InputError, OutsideError

_KINDS = {"reg": "file", "dir": "folder", "symlink": "symlink", "hardlink": "hardlink"}
_STEP_BYTES = 4 << 20
_STEP_LEAST_BYTES = 64 << 10
_SPAN_LIMIT_BYTES = 64 << 20
_GUESSES = 8


class ZtocLayer:
    """One layer and its zTOC. With `verify`, all that is read of either is checked by digest.

    Used by one thread at a time.
    """

    def __init__(self, layer: LayerBlob, blob: ZtocBlob, source: BlobSource, meter: Meter, *, verify: bool) -> None:
        if blob.size > ZTOC_LIMIT_BYTES:
            raise InputError(f"the zTOC has {blob.size} bytes, and {ZTOC_LIMIT_BYTES} are read at most")
        self._layer = layer
        self._blob = blob
        self._source = source
        self._meter = meter
        self._checkpoints: dict[int, Checkpoint] = {}
        self._list: CheckpointList | None = None
        self._window = self._read_whole() if verify else self._read_head()
        self._header = self._read_header()
        self._digests = self._read_span_digests() if verify else None

    def facts(self) -> LayerFacts:
        """What the layer holds, without the bytes of any file."""
        scan = LayerScan(self._layer.digest)
        for entry in self._entries():
            scan.add(_tar_entry(entry))
        return scan.facts("soci-toc" if self._digests is None else "soci-verified")

    def sizes(self, paths: set[str]) -> dict[str, tuple[int, int]]:
        """Offset and size of some files, by path."""
        found = {}
        for entry in self._entries():
            if entry.kind == "reg" and (path := clean_path(entry.name)) in paths:
                found[path] = entry.offset, entry.size
        return found

    def read_file(self, offset: int, size: int) -> Iterator[bytes]:
        """The bytes of a file that starts at `offset` of the uncompressed layer."""
        if size == 0:
            return
        if not self._header.is_gzip:
            yield from self._ranges(self._layer.digest, offset, size)
            return
        number = self._find_checkpoint(offset)
        checkpoint = self._checkpoint(number) if number else None
        start = checkpoint.uncompressed if checkpoint else 0
        if self._digests is None:
            chunks = self._compressed(checkpoint, expected_bytes=offset - start + size)
        else:
            chunks = self._checked_spans(number)
        yield from _cut(inflate_from(checkpoint, chunks), offset - start, size)

    def _read_head(self) -> Window:
        head = self._read(self._blob.digest, 0, min(HEAD_BYTES, self._blob.size))
        return Window(data=head, start=0, size=self._blob.size)

    def _read_whole(self) -> Window:
        chunks = self._source.open_blob(self._blob.digest, self._blob.size)
        self._meter.plan(self._blob.size)
        data = b"".join(self._meter.counted(chunks))
        return Window(data=data, start=0, size=self._blob.size)

    def _read_header(self) -> ZtocHeader:
        try:
            header = read_header(self._window)
        except OutsideWindowError:
            # Its writer puts all this at the front; another one may not.
            self._window = self._read_whole()
            header = read_header(self._window)
        if header.compressed_size != self._layer.size:
            raise InputError(f"the zTOC is of a layer of {header.compressed_size} bytes, not {self._layer.size}")
        return header

    def _read_span_digests(self) -> tuple[str, ...]:
        digests = read_span_digests(self._window)
        if not self._header.is_gzip or len(digests) != self._header.spans:
            raise InputError(f"the zTOC has {len(digests)} digests for {self._header.spans} spans")
        return digests

    def _entries(self) -> Iterator[ZtocEntry]:
        window = self._window
        if len(window.data) < self._blob.size:
            start = min(self._header.tail_start, self._blob.size)
            self._meter.plan(self._blob.size - start)
            pieces = self._ranges(self._blob.digest, start, self._blob.size - start)
            window = Window(data=b"".join(pieces), start=start, size=self._blob.size)
        try:
            yield from read_entries(window, self._header)
        except OutsideWindowError:
            if window.start == 0:
                raise
            self._window = self._read_whole()
            # The scan takes an entry twice without harm.
            yield from read_entries(self._window, self._header)

    def _find_checkpoint(self, offset: int) -> int:
        """The number of the last checkpoint that lies before an offset; 0 is the stream's start."""
        span_bytes = self._checkpoint_list().span_bytes
        # Checkpoints lie more than a span apart, so the real one is at or before this.
        low, high = 0, min(self._header.spans - 1, offset // span_bytes)
        apart = span_bytes + span_bytes // 8
        probe = offset * self._header.spans // max(1, self._header.uncompressed_size)
        for guess in itertools.count():
            if low >= high:
                break
            # A guess by distance nearly always hits; halving bounds the reads of a mad table.
            probe = min(max(probe, low + 1), high) if guess < _GUESSES else (low + high + 1) // 2
            distance = offset - self._checkpoint(probe).uncompressed
            if 0 <= distance <= span_bytes:
                return probe
            low, high = (probe, high) if distance > 0 else (low, probe - 1)
            probe += max(1, distance // apart) if distance > 0 else min(-1, distance // apart)
        return low

    def _checkpoint_list(self) -> CheckpointList:
        if self._list is None:
            start, length = self._header.checkpoints_at, CHECKPOINTS_HEADER_BYTES
            self._list = read_checkpoint_list(self._part(start, length), self._header)
        return self._list

    def _checkpoint(self, number: int) -> Checkpoint:
        """A checkpoint, counted from the start of the stream, which is number 0."""
        found = self._checkpoints.get(number)
        if found is None:
            packed = self._checkpoint_list()
            start = CHECKPOINTS_HEADER_BYTES + (number - packed.first) * CHECKPOINT_BYTES
            data = self._part(self._header.checkpoints_at + start, CHECKPOINT_BYTES)
            found = self._checkpoints[number] = read_checkpoint(data, self._header)
        return found

    def _part(self, start: int, length: int) -> bytes:
        if start + length <= self._window.start + len(self._window.data):
            return self._window.part(start, length)
        return self._read(self._blob.digest, start, length)

    def _compressed(self, checkpoint: Checkpoint | None, *, expected_bytes: int) -> Iterator[bytes]:
        """The layer from a checkpoint on, in steps that fit what is expected to be needed."""
        start = checkpoint.start if checkpoint else 0
        header = self._header
        ratio = header.compressed_size / max(1, header.uncompressed_size)
        step = max(_STEP_LEAST_BYTES, min(_STEP_BYTES, int(expected_bytes * ratio * 1.1)))
        while start < header.compressed_size:
            length = min(step, header.compressed_size - start)
            self._meter.plan(length)
            yield self._read(self._layer.digest, start, length)
            start += length
            step = max(_STEP_LEAST_BYTES, step // 4)

    def _checked_spans(self, number: int) -> Iterator[bytes]:
        """The layer from a checkpoint on, each span checked by its digest."""
        position = 0 if number == 0 else self._checkpoint(number).start
        for span, digest in enumerate(self._digests or ()):
            if span < number:
                continue
            start = self._span_start(span)
            last = span + 1 == self._header.spans
            end = self._header.compressed_size if last else self._checkpoint(span + 1).compressed
            if end - start > _SPAN_LIMIT_BYTES or (span == 0 and start > _STEP_LEAST_BYTES):
                raise InputError(f"span {span} of the zTOC goes from byte {start} to {end}")
            before = self._read(self._layer.digest, 0, start) if span == number == 0 else b""
            data = b"".join(self._ranges(self._layer.digest, start, end - start))
            if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
                raise OutsideError(f"bytes {start} to {end} of layer {self._layer.digest} are not those of its zTOC")
            # Two spans share the byte in which one ends and the next begins.
            yield before + data[max(0, position - start) :]
            position = end

    def _span_start(self, span: int) -> int:
        if span == 0 and self._checkpoint_list().first == 1:
            return 10  # what writers assumed that left the first checkpoint out
        return self._checkpoint(span).start

    def _ranges(self, digest: str, start: int, length: int) -> Iterator[bytes]:
        for position in range(start, start + length, _STEP_BYTES):
            yield self._read(digest, position, min(_STEP_BYTES, start + length - position))

    def _read(self, digest: str, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        data = self._source.read_range(digest, start, length)
        self._meter.add(len(data))
        return data


def _tar_entry(entry: ZtocEntry) -> TarEntry:
    return TarEntry(
        path=clean_path(entry.name),
        kind=_KINDS.get(entry.kind, "other"),
        size=entry.size,
        offset=entry.offset,
        target=entry.target,
    )


def _cut(pieces: Iterator[bytes], skip: int, size: int) -> Iterator[bytes]:
    left = size
    for piece in pieces:
        part = piece[skip : skip + left]
        skip = max(0, skip - len(piece))
        left -= len(part)
        if part:
            yield part
        if left == 0:
            return
    raise InputError(f"the layer ends {left} bytes before the end of a file that its zTOC lists")
