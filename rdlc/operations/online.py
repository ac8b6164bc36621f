"""Is every locked thing still obtainable? Asked by digest alone: a tag is never a way out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.image.reference import ImageReference
from rdlc.core.lockfile import Finding, read_lock
from rdlc.operations.lock_image import pinned_reference
from rdlc.operations.workspace import Workspace


class Stores(Protocol):
    """Registries, as looking for locked things needs them."""

    def find_missing(
        self, reference: ImageReference, *, manifests: Sequence[str], blobs: Sequence[str]
    ) -> tuple[str, ...]:
        """All of these digests that the repository no longer has."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OnlineCheck:
    """How many locked things were asked for, and each one that is no longer there."""

    asked: int
    findings: tuple[Finding, ...]


def check_online(lock_path: Path, *, workspace: Workspace, stores: Stores) -> OnlineCheck:
    """Asks for everything that a lock names by digest: index, manifest, config and each layer."""
    data = workspace.read(lock_path, limit_bytes=LOCK_LIMIT_BYTES, what="the run lock")
    lock = read_lock(data, name=str(lock_path)).lock
    image, origin = lock.sections.image, lock.provenance.image
    if image is None or origin is None:
        return OnlineCheck(asked=0, findings=())
    manifests = tuple(dict.fromkeys(filter(None, (image.index_digest, image.manifest_digest))))
    blobs = tuple(dict.fromkeys((image.config_digest, *(layer.digest for layer in image.layers))))
    reference = pinned_reference(image, origin)
    missing = stores.find_missing(reference, manifests=manifests, blobs=blobs)
    findings = tuple(
        Finding(section="image", file=str(lock_path), message=f"`{reference.name}` no longer has {digest}")
        for digest in missing
    )
    return OnlineCheck(asked=len(manifests) + len(blobs), findings=findings)
