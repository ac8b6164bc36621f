"""A log as the bytes of its lines: unpacked where gzip packed it, UTF-8 where a Windows shell wrote UTF-16.

Each is known by the mark that it begins with.
"""

import codecs
import zlib
from collections.abc import Iterator

from rdlc.errors import InputError

_GZIP_MARK = b"\x1f\x8b\x08"
_GZIP_FORM = 31
_PIECE_BYTES = 1 << 20
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Recoder:
    """Takes the bytes of a file, and gives those of its lines in pieces of at most about a MiB."""

    def __init__(self, name: str) -> None:
        self._unpacker = _Unpacker(name)
        self._decoder = _Decoder()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What the next bytes are; nothing as long as a mark could still come."""
        return map(self._decoder.feed, self._unpacker.feed(chunk))

    def finish(self) -> Iterator[bytes]:
        """What is left when there are no more bytes; a packed file may be cut."""
        yield self._decoder.feed(self._unpacker.finish())
        yield self._decoder.finish()


class _Unpacker:
    """Gives what gzip packed, and all else as it is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start: bytes | None = b""
        self._inflate: zlib._Decompress | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._start is not None:
            chunk = self._start + chunk
            if _GZIP_MARK.startswith(chunk):
                self._start = chunk
                return
            self._start = None
            if chunk.startswith(_GZIP_MARK):
                self._inflate = zlib.decompressobj(_GZIP_FORM)
        if self._inflate is None:
            yield chunk
        else:
            yield from self._unpack(self._inflate, chunk)

    def finish(self) -> bytes:
        if self._inflate is None:
            return self._start or b""
        return self._inflate.flush()

    def _unpack(self, inflate: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
        while packed:
            if inflate.eof:  # several files, one behind the other
                inflate = self._inflate = zlib.decompressobj(_GZIP_FORM)
            try:
                yield inflate.decompress(packed, _PIECE_BYTES)
            except zlib.error as error:
                raise InputError("cannot be unpacked: what gzip packed is damaged", file=self._name) from error
            packed = inflate.unused_data if inflate.eof else inflate.unconsumed_tail


class _Decoder:
    """Gives UTF-16 as UTF-8, and all else as it is."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._decode: codecs.IncrementalDecoder | None = None

    def feed(self, chunk: bytes) -> bytes:
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < 2:
                self._start = chunk
                return b""
            self._start = None
            if chunk.startswith(_UTF16_MARKS):
                self._decode = codecs.getincrementaldecoder("utf-16")("replace")
        return chunk if self._decode is None else self._decode.decode(chunk).encode()

    def finish(self) -> bytes:
        if self._decode is None:
            return self._start or b""
        return self._decode.decode(b"", final=True).encode()
