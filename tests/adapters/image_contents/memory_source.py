"""A repository in memory that counts what is read of it."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from rdlc.core.canonical import digest_of_bytes
from rdlc.errors import OutsideError
from tests.registry.images import Blob, Image, Index

_CHUNK_BYTES = 10_007


@dataclass(kw_only=True, slots=True)
class MemorySource:
    """Blobs and manifests by digest, manifests also by tag."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    whole: list[str] = field(default_factory=list)
    ranges: list[tuple[str, int, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, content: Image | Index, *tags: str) -> None:
        """Holds an image or index with all below it."""
        for reference in (content.digest, *tags):
            self.manifests[reference] = content.manifest.data
        for child in content.children if isinstance(content, Index) else ():
            self.add(child)
        for blob in content.blobs if isinstance(content, Image) else ():
            self.add_blob(blob)

    def add_blob(self, blob: Blob) -> None:
        """Holds a blob."""
        self.blobs[blob.digest] = blob.data

    def open_blob(self, digest: str, size: int) -> Iterator[bytes]:
        with self._lock:
            self.whole.append(digest)
        data = self.blobs[digest]
        for start in range(0, len(data), _CHUNK_BYTES):
            yield data[start : start + _CHUNK_BYTES]
        if len(data) != size or digest_of_bytes(data) != digest:
            raise OutsideError(f"blob {digest} came damaged")

    def read_range(self, digest: str, start: int, length: int) -> bytes:
        with self._lock:
            self.ranges.append((digest, start, length))
        return self.blobs[digest][start : start + length]

    def read_manifest(self, reference: str) -> bytes | None:
        return self.manifests.get(reference)

    @property
    def range_bytes(self) -> int:
        return sum(length for _, _, length in self.ranges)
