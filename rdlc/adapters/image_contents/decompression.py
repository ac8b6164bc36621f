"""Layers unpacked in bounded pieces, with the fastest decompressor that is installed."""

import importlib
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from rdlc.core.text import one_line
from rdlc.errors import InputError

_PIECE_BYTES = 256 << 10
_PART_BYTES = 64 << 10
_MEMBERS_LIMIT = 4_000_000
_ZSTD_WINDOW_BYTES = 128 << 20


class _Inflater(Protocol):
    """What zlib and isal have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unconsumed_tail(self) -> bytes: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def compression_of(media_type: str) -> str:
    """`gzip`, `zstd` or `none` from the media type of a layer; InputError for any other."""
    if media_type.endswith(("+gzip", ".tar.gzip")):
        return "gzip"
    if media_type.endswith("+zstd"):
        return "zstd"
    if media_type.endswith((".tar", "layer.v1")):
        return "none"
    raise InputError(f"layers of media type `{one_line(media_type)}` cannot be unpacked")


def unpack(chunks: Iterator[bytes], media_type: str) -> Iterator[bytes]:
    """The tar inside the blob, in pieces of at most 256 KiB, however well it was packed.

    Reads the chunks to their end, also behind the end of the packed data.
    """
    compression = compression_of(media_type)
    if compression == "gzip":
        return _gunzip(chunks)
    return _unzstd(chunks) if compression == "zstd" else chunks


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    new_inflater, failures = _gzip_engine()
    inflater = new_inflater()
    members = 1
    try:
        for part in _parts(chunks):
            rest = part.lstrip(b"\0") if inflater.eof else part
            while rest:
                if inflater.eof:
                    # Some writers pack a layer as many gzip members behind each other.
                    inflater = new_inflater()
                    members += 1
                yield from _inflate(inflater, rest)
                rest = inflater.unused_data.lstrip(b"\0")
            if members > _MEMBERS_LIMIT:
                raise InputError(f"the layer has more than {_MEMBERS_LIMIT} gzip members")
    except failures as error:
        raise InputError(f"the layer is no sound gzip: {one_line(str(error))}") from error
    if not inflater.eof:
        raise InputError("the layer ends inside of its gzip stream")


def _parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Small parts: what is left behind the end of each gzip member is copied."""
    for chunk in chunks:
        for start in range(0, len(chunk), _PART_BYTES):
            yield chunk[start : start + _PART_BYTES]


def _inflate(inflater: _Inflater, data: bytes) -> Iterator[bytes]:
    rest = data
    while not inflater.eof:
        piece = inflater.decompress(rest, _PIECE_BYTES)
        rest = inflater.unconsumed_tail
        if piece:
            yield piece
        if not rest and len(piece) < _PIECE_BYTES:
            return


def _gzip_engine() -> tuple[Callable[[], _Inflater], tuple[type[Exception], ...]]:
    try:
        isal: Any = importlib.import_module("isal.isal_zlib")
    except ImportError:
        return (lambda: zlib.decompressobj(31)), (zlib.error,)
    return (lambda: isal.decompressobj(31)), (zlib.error, isal.error)


class _Source:
    """Chunks as a file that is read forwards."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    if sys.version_info >= (3, 14):
        return _unzstd_standard(chunks)
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError as error:
        raise InputError(
            "the image has layers packed with zstd, and zstandard is not installed",
            hint="`pip install 'rdlc[zstd]'`",
        ) from error
    return _unzstd_package(chunks, zstandard)


def _unzstd_package(chunks: Iterator[bytes], zstandard: Any) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    reader = decompressor.stream_reader(_Source(chunks), read_across_frames=True)
    try:
        while piece := reader.read(_PIECE_BYTES):
            yield piece
    except zstandard.ZstdError as error:
        raise InputError(f"the layer is no sound zstd: {one_line(str(error))}") from error
    for _ in chunks:
        pass


def _unzstd_standard(chunks: Iterator[bytes]) -> Iterator[bytes]:
    zstd: Any = importlib.import_module("compression.zstd")
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_BYTES.bit_length() - 1}
    decompressor = zstd.ZstdDecompressor(options=options)
    try:
        for chunk in chunks:
            rest = chunk
            while rest or not (decompressor.needs_input or decompressor.eof):
                if decompressor.eof:
                    decompressor = zstd.ZstdDecompressor(options=options)
                if piece := decompressor.decompress(rest, _PIECE_BYTES):
                    yield piece
                rest = decompressor.unused_data if decompressor.eof else b""
    except zstd.ZstdError as error:
        raise InputError(f"the layer is no sound zstd: {one_line(str(error))}") from error
