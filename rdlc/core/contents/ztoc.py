"""The table of contents that SOCI keeps for a layer (zTOC): what it lists, and how to reach a file.

A zTOC is a FlatBuffers file: all entries of the layer's tar, and checkpoints from which the layer can
be inflated in the middle. Its writer puts the entries behind the checkpoints, so a reader gets along
with the head and the tail. Schema: https://github.com/awslabs/soci-snapshotter, `ztoc/fbs/ztoc.fbs`.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from rdlc.core.contents.flatbuffer import Table, Window, pointed_to, root_table, text_at
from rdlc.core.text import one_line
from rdlc.errors import InputError

HEAD_BYTES = 64 << 10
ZTOC_LIMIT_BYTES = 512 << 20
ENTRIES_LIMIT = 4_000_000
WINDOW_BYTES = 32 << 10
CHECKPOINT_BYTES = 8 + 8 + 1 + WINDOW_BYTES
CHECKPOINTS_HEADER_BYTES = 4 + 8

_GZIP, _UNCOMPRESSED = 1, 2
_VERSIONS = ("0.9", "1.0")
_CHECKPOINTS_HEADER = struct.Struct("<iq")
_CHECKPOINT = struct.Struct("<qqB")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# The table of contents is one field: its vtable of 6 bytes lies right before it.
_BEFORE_TABLE = 64
_SIZE_LIMIT = 1 << 50
_ENTRY_LEAST_BYTES = 48


@dataclass(frozen=True, kw_only=True, slots=True)
class ZtocHeader:
    """Where the parts of a zTOC lie; `checkpoints_at` and `_bytes` bound the packed checkpoints."""

    compressed_size: int
    uncompressed_size: int
    is_gzip: bool
    spans: int
    version_at: int
    entries_at: int
    checkpoints_at: int
    checkpoints_bytes: int

    @property
    def tail_start(self) -> int:
        """The position from which on a reader needs the file to list the entries."""
        return max(0, self.entries_at - _BEFORE_TABLE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ZtocEntry:
    """One entry of the layer's tar; `kind` is `reg`, `dir`, `symlink`, `hardlink` or a device."""

    name: str
    kind: str
    offset: int
    size: int
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A place to start inflating from.

    `compressed` is the first whole byte of the layer, `uncompressed` the position that comes out.
    `bits` of the byte before belong to it. `window` is the 32 KiB that came out before.
    """

    compressed: int
    uncompressed: int
    bits: int
    window: bytes = field(repr=False)

    @property
    def start(self) -> int:
        """The first byte of the layer that is needed."""
        return self.compressed - (1 if self.bits else 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointList:
    """How the checkpoints of a zTOC are packed: `stored` of them, the first one being `first`.

    Old writers leave the first of all out, since it is the start of the stream.
    """

    stored: int
    first: int
    span_bytes: int


def read_header(window: Window) -> ZtocHeader:
    """The header of a zTOC, of which the window holds the head; InputError says what is wrong."""
    root = root_table(window)
    version_at = root.target(0)
    compression = root.table(5)
    entries_at = root.target(4)
    if compression is None or entries_at is None or version_at is None:
        raise InputError("the zTOC lacks its version, its table of contents or its compression")
    algorithm = compression.int8(0, _GZIP)
    if algorithm not in (_GZIP, _UNCOMPRESSED):
        raise InputError(f"the zTOC uses compression {algorithm}, which is not known")
    checkpoints_at, checkpoints_bytes = compression.vector(3, item_bytes=1)
    return ZtocHeader(
        compressed_size=_size(root.int64(2), "compressed size"),
        uncompressed_size=_size(root.int64(3), "uncompressed size"),
        is_gzip=algorithm == _GZIP,
        spans=_size(compression.int32(1), "last span") + 1,
        version_at=version_at,
        entries_at=entries_at,
        checkpoints_at=checkpoints_at,
        checkpoints_bytes=checkpoints_bytes,
    )


def read_entries(window: Window, header: ZtocHeader) -> Iterator[ZtocEntry]:
    """Every entry of the layer in the order of the tar; the window holds the tail."""
    # The writer's first text, so the last in the file: only the tail has it.
    version = text_at(window, header.version_at)
    if version not in _VERSIONS:
        raise InputError(f'the zTOC is of version "{one_line(version, limit=40)}", not 0.9 or 1.0')
    first, count = Table(window, header.entries_at).vector(0, item_bytes=4)
    if count > ENTRIES_LIMIT:
        raise InputError(f"the zTOC lists {count} entries, and at most {ENTRIES_LIMIT} are read")
    # Entries that share one place could take for ever: real ones have their own.
    budget = window.size
    for number in range(count):
        entry = _read_entry(Table(window, pointed_to(window, first + 4 * number)), header)
        budget -= _ENTRY_LEAST_BYTES + len(entry.name) + len(entry.target) + len(entry.kind)
        if budget < 0:
            raise InputError(f"the entries of the zTOC are more than its {window.size} bytes can hold")
        yield entry


def read_span_digests(window: Window) -> tuple[str, ...]:
    """The digest of the compressed bytes of each span; the window holds the whole zTOC."""
    compression = root_table(window).table(5)
    first, count = compression.vector(2, item_bytes=4) if compression else (0, 0)
    digests = []
    for number in range(count):
        digest = text_at(window, pointed_to(window, first + 4 * number))
        if not _DIGEST.fullmatch(digest):
            raise InputError(f'span {number} of the zTOC has no sha256 digest, but "{one_line(digest)}"')
        digests.append(digest)
    return tuple(digests)


def read_checkpoint_list(data: bytes, header: ZtocHeader) -> CheckpointList:
    """How checkpoints are packed, from the first 12 bytes of them."""
    if len(data) < CHECKPOINTS_HEADER_BYTES:
        raise InputError("the checkpoints of the zTOC are cut")
    count, span_bytes = _CHECKPOINTS_HEADER.unpack_from(data)
    packed = header.checkpoints_bytes - CHECKPOINTS_HEADER_BYTES
    for missing in (0, 1):
        stored = count - missing
        if stored >= 0 and count == header.spans and packed == stored * CHECKPOINT_BYTES:
            return CheckpointList(stored=stored, first=missing, span_bytes=max(span_bytes, 1))
    raise InputError(f"the zTOC states {count} checkpoints for {header.spans} spans in {packed} bytes")


def read_checkpoint(data: bytes, header: ZtocHeader) -> Checkpoint:
    """A checkpoint from its 32,785 bytes."""
    if len(data) != CHECKPOINT_BYTES:
        raise InputError(f"a checkpoint has {CHECKPOINT_BYTES} bytes, not {len(data)}")
    compressed, uncompressed, bits = _CHECKPOINT.unpack_from(data)
    if not (
        (1 if bits else 0) <= compressed <= header.compressed_size
        and 0 <= uncompressed <= header.uncompressed_size
        and bits < 8
    ):
        raise InputError(f"a checkpoint lies at byte {compressed} and bit {bits}, outside of the layer")
    window = data[_CHECKPOINT.size :]
    return Checkpoint(compressed=compressed, uncompressed=uncompressed, bits=bits, window=window)


def _read_entry(table: Table, header: ZtocHeader) -> ZtocEntry:
    kind = table.text(1)
    offset, size = table.int64(2), table.int64(3)
    # Links state a size in some archives, and have no bytes.
    if kind == "reg" and (min(offset, size) < 0 or offset + size > header.uncompressed_size):
        raise InputError(f"an entry of the zTOC lies at {offset} + {size}, outside of the layer")
    return ZtocEntry(name=table.text(0), kind=kind, offset=offset, size=size, target=table.text(4))


def _size(value: int, word: str) -> int:
    if not 0 <= value < _SIZE_LIMIT:
        raise InputError(f"the zTOC states a {word} of {value}")
    return value
