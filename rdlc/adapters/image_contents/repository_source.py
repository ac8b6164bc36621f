"""One repository behind a registry client, as the source of blobs and manifests."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from rdlc.core.image.reference import ImageReference
from rdlc.errors import InputError, RdlcError


class RangeAnswer(Protocol):
    """A piece of a blob; not honoured if the registry would send all of it."""

    @property
    def data(self) -> bytes:
        """The bytes, fewer than asked for only at the end of the blob."""

    @property
    def is_honoured(self) -> bool:
        """Whether the registry gave the piece that was asked for."""


class ManifestAnswer(Protocol):
    """A manifest as it was sent."""

    @property
    def data(self) -> bytes:
        """Its bytes."""


class RegistryClient(Protocol):
    """What is asked of a registry client; it checks digests, and several threads use it."""

    def open_blob(
        self, reference: ImageReference, *, digest: str, size: int
    ) -> AbstractContextManager[Iterable[bytes]]:
        """The blob in chunks, checked at its end."""

    def read_range(self, reference: ImageReference, *, digest: str, start: int, length: int) -> RangeAnswer:
        """A piece of a blob."""

    def get_manifest(self, reference: ImageReference) -> ManifestAnswer:
        """The manifest or index that a reference names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RepositorySource:
    """The repository of a reference. `not_found` is what the client raises for an absent manifest."""

    client: RegistryClient
    reference: ImageReference
    not_found: type[RdlcError]

    def open_blob(self, digest: str, size: int) -> Iterator[bytes]:
        """The whole blob in chunks, checked at its end."""
        with self.client.open_blob(self.reference, digest=digest, size=size) as stream:
            yield from stream

    def read_range(self, digest: str, start: int, length: int) -> bytes:
        """A part of a blob; InputError, so that the blob is read whole, where there are none."""
        answer = self.client.read_range(self.reference, digest=digest, start=start, length=length)
        if not answer.is_honoured:
            raise InputError("the registry does not give parts of blobs")
        return answer.data

    def read_manifest(self, reference: str) -> bytes | None:
        """The manifest under a tag or digest of the repository; None if there is none."""
        is_digest = reference.startswith("sha256:")
        place = self.reference.pinned if is_digest else self.reference.tagged
        try:
            return self.client.get_manifest(place(reference)).data
        except self.not_found:
            return None
