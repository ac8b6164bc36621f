"""Counting what is read, for a progress display and to stop all threads at once."""

import threading
from collections.abc import Iterator

from rdlc.adapters.image_contents.ports import Progress


class StoppedError(Exception):
    """Another thread failed: what this one reads is wanted no more."""


class Meter:
    """Bytes read and planned, of all threads together."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.read_bytes = 0
        self.planned_bytes = 0

    def plan(self, count: int) -> None:
        """Says that so many more bytes will be read."""
        with self._lock:
            self.planned_bytes += count

    def add(self, count: int) -> None:
        """Says that so many bytes were read; raises StoppedError after `stop`."""
        if self._stopped.is_set():
            raise StoppedError
        with self._lock:
            self.read_bytes += count
            if self._progress:
                self._progress(self.read_bytes, max(self.read_bytes, self.planned_bytes))

    def stop(self) -> None:
        """Ends every reading thread at its next chunk."""
        self._stopped.set()

    def counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The same chunks, each counted."""
        for chunk in chunks:
            self.add(len(chunk))
            yield chunk
