"""zTOCs for tests, laid out as the real writer does: entries behind checkpoints, strings first.

Checkpoints are made by indexed_gzip, which stops inflating at the ends of deflate blocks, inside of
bytes too.
"""

import gzip
import hashlib
import importlib
import io
import struct
import tarfile
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

# Neither has types.
flatbuffers: Any = importlib.import_module("flatbuffers")
indexed_gzip: Any = importlib.import_module("indexed_gzip")

SPAN_BYTES = 128 << 10
_INDEX_HEADER = struct.Struct("<5sBBQQIII")
_INDEX_POINT = struct.Struct("<QQBB")
_KINDS = {
    tarfile.REGTYPE: "reg",
    tarfile.AREGTYPE: "reg",
    tarfile.DIRTYPE: "dir",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "hardlink",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One checkpoint: bytes of the stream before it, bytes that came out, bits, last 32 KiB."""

    compressed: int
    uncompressed: int
    bits: int
    window: bytes = field(repr=False)

    @property
    def start(self) -> int:
        return self.compressed - (1 if self.bits else 0)


def gzip_points(data: bytes, *, span_bytes: int = SPAN_BYTES) -> list[Point]:
    """Checkpoints of a gzip stream, at least `span_bytes` of what comes out apart."""
    reader = indexed_gzip.IndexedGzipFile(fileobj=io.BytesIO(data), spacing=span_bytes, window_size=32 << 10)
    reader.build_full_index()
    exported = io.BytesIO()
    reader.export_index(fileobj=exported)
    raw = exported.getvalue()
    count = _INDEX_HEADER.unpack_from(raw)[-1]
    windows = _INDEX_HEADER.size + count * _INDEX_POINT.size
    points = []
    for number in range(count):
        position = _INDEX_HEADER.size + number * _INDEX_POINT.size
        compressed, uncompressed, bits, has_window = _INDEX_POINT.unpack_from(raw, position)
        window = raw[windows : windows + (32 << 10)] if has_window else bytes(32 << 10)
        windows += (32 << 10) if has_window else 0
        points.append(Point(compressed=compressed, uncompressed=uncompressed, bits=bits, window=window))
    return points


def pack_points(points: list[Point], *, span_bytes: int, leaves_first_out: bool) -> bytes:
    """The checkpoints as a zTOC holds them; old writers leave the first one out."""
    stored = points[1:] if leaves_first_out else points
    packed = [struct.pack("<qqB", point.compressed, point.uncompressed, point.bits) + point.window for point in stored]
    return struct.pack("<iq", len(points), span_bytes) + b"".join(packed)


def span_digests(data: bytes, points: list[Point]) -> list[str]:
    """The digest of each span; two spans share the byte in which they meet."""
    if not points:
        return []
    ends = [*(after.compressed for _, after in pairwise(points)), len(data)]
    spans = [data[point.start : end] for point, end in zip(points, ends, strict=True)]
    return [f"sha256:{hashlib.sha256(span).hexdigest()}" for span in spans]


def write_ztoc(
    layer: bytes,
    *,
    span_bytes: int = SPAN_BYTES,
    leaves_first_out: bool = False,
    digests: list[str] | None = None,
    version: str = "0.9",
    states_size: int | None = None,
    repeats: int = 1,
) -> bytes:
    """The zTOC of a gzip layer, or of one that is not packed; it may list each entry many times."""
    is_gzip = layer[:2] == b"\x1f\x8b"
    points = gzip_points(layer, span_bytes=span_bytes) if is_gzip else []
    builder = flatbuffers.Builder(1 << 16)
    version_at = builder.CreateString(version)
    tool_at = builder.CreateString("test")
    with tarfile.open(fileobj=io.BytesIO(layer), mode="r:*") as archive:
        entries = [_write_entry(builder, member) for member in reversed(archive.getmembers())]
    unpacked = len(gzip.decompress(layer) if is_gzip else layer)
    toc = _write_table(builder, [_write_vector(builder, entries * repeats)])
    packed = pack_points(points, span_bytes=span_bytes, leaves_first_out=leaves_first_out)
    checkpoints_at = builder.CreateByteVector(packed)
    texts = span_digests(layer, points) if digests is None else digests
    digests_at = _write_vector(builder, [builder.CreateString(text) for text in reversed(texts)])
    builder.StartObject(4)
    builder.PrependInt32Slot(1, max(0, len(points) - 1), 0)
    builder.PrependUOffsetTRelativeSlot(2, digests_at, 0)
    builder.PrependUOffsetTRelativeSlot(3, checkpoints_at, 0)
    builder.PrependInt8Slot(0, 1 if is_gzip else 2, 1)
    compression = builder.EndObject()
    builder.StartObject(6)
    builder.PrependUOffsetTRelativeSlot(0, version_at, 0)
    builder.PrependUOffsetTRelativeSlot(1, tool_at, 0)
    builder.PrependUOffsetTRelativeSlot(4, toc, 0)
    builder.PrependInt64Slot(2, len(layer) if states_size is None else states_size, 0)
    builder.PrependInt64Slot(3, unpacked, 0)
    builder.PrependUOffsetTRelativeSlot(5, compression, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _write_entry(builder: Any, member: tarfile.TarInfo) -> int:
    texts = (member.name, _KINDS.get(member.type, "char"), member.linkname)
    name, kind, target = (builder.CreateString(text) for text in texts)
    modified = builder.CreateString("1970-01-01T00:00:00Z")
    attributes = _write_vector(builder, [])
    builder.StartObject(14)
    builder.PrependUOffsetTRelativeSlot(0, name, 0)
    builder.PrependUOffsetTRelativeSlot(1, kind, 0)
    builder.PrependInt64Slot(2, member.offset_data, 0)
    builder.PrependInt64Slot(3, member.size, 0)
    builder.PrependUOffsetTRelativeSlot(4, target, 0)
    builder.PrependInt64Slot(5, member.mode, 0)
    builder.PrependUOffsetTRelativeSlot(10, modified, 0)
    builder.PrependUOffsetTRelativeSlot(13, attributes, 0)
    return int(builder.EndObject())


def _write_vector(builder: Any, backwards: list[int]) -> int:
    builder.StartVector(4, len(backwards), 4)
    for offset in backwards:
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _write_table(builder: Any, offsets: list[int]) -> int:
    builder.StartObject(len(offsets))
    for number, offset in enumerate(offsets):
        builder.PrependUOffsetTRelativeSlot(number, offset, 0)
    return int(builder.EndObject())
