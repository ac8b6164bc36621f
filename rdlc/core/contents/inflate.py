"""Inflating a gzip stream from its middle, at any bit."""

import zlib
from collections.abc import Iterable, Iterator

from rdlc.core.contents.ztoc import Checkpoint
from rdlc.errors import InputError

_PIECE_BYTES = 256 << 10


def inflate_from(checkpoint: Checkpoint | None, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """What the compressed chunks hold, in pieces of at most 256 KiB.

    They start at `checkpoint.start`, or at the start of the gzip stream without a checkpoint.
    """
    if checkpoint is None:
        inflater = zlib.decompressobj(31)
    else:
        inflater = zlib.decompressobj(-15, zdict=checkpoint.window)
        if checkpoint.bits:
            chunks = shift_bits(chunks, 8 - checkpoint.bits)
    try:
        for chunk in chunks:
            yield from _inflate(inflater, chunk)
            if inflater.eof:
                return
        yield from _inflate(inflater, b"")
    except zlib.error as error:
        raise InputError(f"the layer cannot be inflated from a checkpoint: {error}") from error


def _inflate(inflater: "zlib._Decompress", chunk: bytes) -> Iterator[bytes]:
    rest = chunk
    while not inflater.eof:
        piece = inflater.decompress(rest, _PIECE_BYTES)
        rest = inflater.unconsumed_tail
        if piece:
            yield piece
        if not rest and len(piece) < _PIECE_BYTES:
            return


def shift_bits(chunks: Iterable[bytes], count: int) -> Iterator[bytes]:
    """The stream without its first `count` bits (1 to 7), the lowest bit of a byte being its first.

    Python's zlib cannot be primed with a few bits, as a checkpoint inside a byte needs.
    """
    held = b""
    for chunk in chunks:
        data = held + chunk
        if len(data) > 1:
            shifted = int.from_bytes(data, "little") >> count
            yield (shifted & ((1 << 8 * (len(data) - 1)) - 1)).to_bytes(len(data) - 1, "little")
        held = data[-1:]
    if held:
        yield bytes([held[0] >> count])
