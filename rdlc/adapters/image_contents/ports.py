"""What reading an image's contents needs of a registry."""

from collections.abc import Callable, Iterator
from typing import Protocol

# Bytes read so far, and bytes that will be read as far as known by now.
Progress = Callable[[int, int], None]


class LayerBlob(Protocol):
    """A layer as a manifest lists it."""

    @property
    def digest(self) -> str:
        """The sha256 of the blob, as `sha256:<hex>`."""

    @property
    def size(self) -> int:
        """Bytes of the blob."""

    @property
    def media_type(self) -> str:
        """The media type, which ends with the compression."""


class BlobSource(Protocol):
    """The blobs of one repository; both are called from several threads."""

    def open_blob(self, digest: str, size: int) -> Iterator[bytes]:
        """The whole blob in chunks.

        Size and sha256 are checked: the iterator raises at the end if they differ.
        """

    def read_range(self, digest: str, start: int, length: int) -> bytes:
        """`length` bytes of the blob from `start` on; their digest cannot be checked."""


class ManifestSource(Protocol):
    """The manifests of one repository."""

    def read_manifest(self, reference: str) -> bytes | None:
        """The manifest under a tag or digest, checked against the digest; None if there is none."""
