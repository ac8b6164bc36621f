"""Logs that a Windows shell wrote: UTF-16, known by its mark, becomes UTF-8."""

import codecs

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Recoder:
    """Gives the bytes of a file as UTF-8 if they begin with the mark of UTF-16, and as they are if not."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, chunk: bytes) -> bytes:
        """What the next bytes are; nothing as long as the mark could still come."""
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < 2:
                self._start = chunk
                return b""
            self._start = None
            if chunk.startswith(_MARKS):
                self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        return chunk if self._decoder is None else self._decoder.decode(chunk).encode()

    def finish(self) -> bytes:
        """What is left when there are no more bytes."""
        if self._decoder is not None:
            return self._decoder.decode(b"", final=True).encode()
        return self._start or b""
