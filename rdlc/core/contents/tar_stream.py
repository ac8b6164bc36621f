"""The entries of a tar that comes in chunks, in constant memory and within bounds.

The standard library's `tarfile` is not used for it: in stream mode it holds every entry before
Python 3.13, reads an extended header of any size into memory, and takes most of the time of a layer
with many files. Tests hold the two against each other.
"""

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from rdlc.core.contents.layer_stack import clean_path
from rdlc.errors import InputError

BLOCK = 512
_LINK_TYPES = (tarfile.LNKTYPE, tarfile.SYMTYPE)


@dataclass(frozen=True, kw_only=True, slots=True)
class TarLimits:
    """Bounds of what is read of one archive, far above any real image."""

    entries: int = 5_000_000
    archive_bytes: int = 1 << 40
    header_bytes: int = 1 << 20


class ChunkReader:
    """Exact reads from chunks of bytes; `position` counts the bytes that were taken."""

    def __init__(self, chunks: Iterator[bytes], *, limit_bytes: int) -> None:
        self._chunks = chunks
        self._limit_bytes = limit_bytes
        self._chunk = b""
        self._taken = 0
        self._before = 0

    @property
    def position(self) -> int:
        """How many bytes were taken."""
        return self._before + self._taken

    def read(self, count: int) -> bytes:
        """The next bytes; fewer at the end."""
        end = self._taken + count
        if end <= len(self._chunk):
            data = self._chunk[self._taken : end]
            self._taken = end
            return data
        return b"".join(self.pieces(count))

    def pieces(self, count: int) -> Iterator[bytes]:
        """The next bytes, chunk by chunk; fewer at the end."""
        while count > 0 and self._fill():
            piece = self._chunk[self._taken : self._taken + count]
            self._taken += len(piece)
            count -= len(piece)
            yield piece

    def skip(self, count: int) -> int:
        """Leaves out the next bytes; gives back how many there were."""
        left = count
        while left > 0 and self._fill():
            step = min(left, len(self._chunk) - self._taken)
            self._taken += step
            left -= step
        return count - left

    def drain(self) -> None:
        """Reads to the end."""
        while self._fill():
            self._taken = len(self._chunk)

    def _fill(self) -> bool:
        while self._taken == len(self._chunk):
            self._before += len(self._chunk)
            self._taken = 0
            self._chunk = next(self._chunks, b"")
            if not self._chunk:
                return False
            if self._before + len(self._chunk) > self._limit_bytes:
                raise InputError(f"the layer unpacks to more than {self._limit_bytes} bytes")
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class TarEntry:
    """One entry: its cleaned path, and where its bytes start in the archive.

    `kind` is `file`, `folder`, `symlink`, `hardlink` or `other`; `target` is what a link points to.
    """

    path: str
    kind: str
    size: int
    offset: int
    target: str


class _Extended:
    """What extended headers say of the entry that follows them."""

    __slots__ = ("linkpath", "path", "size", "sparse_path")

    def __init__(self) -> None:
        self.path: str | None = None
        self.sparse_path: str | None = None
        self.linkpath: str | None = None
        self.size: int | None = None


def read_tar(reader: ChunkReader, limits: TarLimits) -> Iterator[TarEntry]:
    """Every entry; between two of them the caller may take bytes of the first from the reader.

    Raises InputError for an archive that is cut, damaged or out of bounds.
    """
    extended = _Extended()
    for _ in range(limits.entries):
        header = _read_header(reader)
        if header is None:
            return
        if header.kind in _EXTENSIONS:
            _extend(extended, header, reader, limits)
            continue
        entry = _entry(header, extended, reader)
        extended = _Extended()
        end = entry.offset + (entry.size + BLOCK - 1) // BLOCK * BLOCK
        yield entry
        _skip_to(reader, end, entry.path)
    raise InputError(f"the layer has more than {limits.entries} entries")


@dataclass(frozen=True, slots=True)
class _Header:
    """The fields of a header block that matter here."""

    path: str
    kind: bytes
    size: int
    target: str


def _read_header(reader: ChunkReader) -> _Header | None:
    """The next header; None at the end of the archive, also where no zero block marks it."""
    block = reader.read(BLOCK)
    if not block or (len(block) == BLOCK and block[0] == 0 and block.count(0) == BLOCK):
        return None
    at = reader.position - len(block)
    if len(block) < BLOCK:
        raise InputError(f"the layer is no sound tar at byte {at}: it ends inside of a header")
    if not _has_sound_checksum(block):
        raise InputError(f"the layer is no sound tar at byte {at}: a header has another checksum")
    header = _parse_header(block, at)
    if header.kind == tarfile.GNUTYPE_SPARSE:
        _skip_sparse_map(block, reader)
    return header


def _has_sound_checksum(block: bytes) -> bool:
    stated = _number(block[148:156])
    found = sum(block) - sum(block[148:156]) + 8 * 32
    # Some old writers added the bytes up as signed ones.
    if stated == found:
        return True
    return stated == found - 256 * sum(byte > 127 for byte in block[:148] + block[156:])


def _parse_header(block: bytes, at: int) -> _Header:
    size = _number(block[124:136])
    if size is None or size < 0:
        raise InputError(f"the layer is no sound tar at byte {at}: a header states no sound size")
    path, kind = _text(block[:100]), block[156:157]
    if kind == tarfile.AREGTYPE and path.endswith("/"):
        kind = tarfile.DIRTYPE
    # GNU's own kinds keep other things where the prefix is.
    if block[345] and kind not in tarfile.GNU_TYPES:
        path = f"{_text(block[345:500])}/{path}"
    return _Header(path, kind, size, _text(block[157:257]))


def _number(field: bytes) -> int | None:
    """Octal digits, or a number of base 256 behind a byte of 0x80 or 0xff; None for neither."""
    if field[0] & 0x80:
        value = int.from_bytes(field[1:], "big")
        return value if field[0] == 0x80 else value - (1 << 8 * (len(field) - 1))
    digits = field.partition(b"\0")[0].strip()
    return int(digits or b"0", 8) if _OCTAL.fullmatch(digits) else None


def _skip_sparse_map(block: bytes, reader: ChunkReader) -> None:
    goes_on = block[482]
    while goes_on:
        more = reader.read(BLOCK)
        goes_on = more[504] if len(more) == BLOCK else 0


def _extend(extended: _Extended, header: _Header, reader: ChunkReader, limits: TarLimits) -> None:
    if header.size > limits.header_bytes:
        raise InputError(f"an extended header has {header.size} bytes, and {limits.header_bytes} are read at most")
    data = reader.read((header.size + BLOCK - 1) // BLOCK * BLOCK)[: header.size]
    if len(data) < header.size:
        raise InputError("the layer ends inside an extended header")
    if header.kind == tarfile.GNUTYPE_LONGNAME:
        extended.path = _text(data)
    elif header.kind == tarfile.GNUTYPE_LONGLINK:
        extended.linkpath = _text(data)
    elif header.kind != tarfile.XGLTYPE:
        _read_pax(data, extended)


def _read_pax(data: bytes, extended: _Extended) -> None:
    """Records `LENGTH KEY=VALUE\\n`; the length counts all of it."""
    position = 0
    while position < len(data) and data[position]:
        length, _, _ = data[position : position + 20].partition(b" ")
        if not length.isdigit() or int(length) < len(length) + 3:
            raise InputError("an extended header of the layer is damaged")
        record = data[position + len(length) + 1 : position + int(length) - 1]
        key, _, value = record.partition(b"=")
        if key == b"GNU.sparse.name":
            extended.sparse_path = _text(value)
        elif key == b"path":
            extended.path = _text(value)
        elif key == b"linkpath":
            extended.linkpath = _text(value)
        elif key == b"size":
            extended.size = _pax_size(value)
        position += int(length)


def _pax_size(value: bytes) -> int:
    if not value.isdigit() or len(value) > 20:
        raise InputError(f"an extended header states a size of {_text(value[:40])}")
    return int(value)


def _entry(header: _Header, extended: _Extended, reader: ChunkReader) -> TarEntry:
    size = header.size if extended.size is None else extended.size
    has_data = header.kind not in _LINK_TYPES and header.kind not in _NO_DATA
    return TarEntry(
        path=clean_path(extended.sparse_path or extended.path or header.path),
        kind=_KINDS.get(header.kind, "other"),
        size=size if has_data else 0,
        offset=reader.position,
        target=header.target if extended.linkpath is None else extended.linkpath,
    )


def _skip_to(reader: ChunkReader, end: int, path: str) -> None:
    left = end - reader.position
    if left > 0 and reader.skip(left) < left:
        raise InputError(f"the layer ends inside of `{path[:200]}`")


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "backslashreplace")


_OCTAL = re.compile(rb"[0-7]*")
_EXTENSIONS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_NO_DATA = (tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
_KINDS = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.CONTTYPE: "file",
    tarfile.GNUTYPE_SPARSE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "hardlink",
}
