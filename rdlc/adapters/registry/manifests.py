"""Manifests by tag and by digest, and the way through an index to one platform's image."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rdlc.adapters.registry.answers import ImageNotFoundError
from rdlc.adapters.registry.digests import check_bytes
from rdlc.adapters.registry.session import Session
from rdlc.core.canonical import digest_of_bytes
from rdlc.core.image.oci import Located, refuse_choice, select_entries
from rdlc.core.image.oci_config import ImageConfig
from rdlc.core.image.oci_manifest import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    parse_manifest,
)
from rdlc.core.image.oci_platform import Platform
from rdlc.core.image.reference import ImageReference, is_digest
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

# All four in every request: a registry converts or refuses what is not listed, under another digest.
ACCEPT = ", ".join((OCI_INDEX, DOCKER_INDEX, OCI_MANIFEST, DOCKER_MANIFEST))
NESTING_LIMIT = 4
INDEX_LIMIT = 20

ConfigReader = Callable[[ImageReference, Descriptor], ImageConfig]


@dataclass(frozen=True, kw_only=True, slots=True)
class RawManifest:
    """A manifest as it was sent, its digest, and what it says."""

    digest: str
    data: bytes = field(repr=False)
    parsed: Index | Manifest


class ManifestReader:
    """Gets manifests; safe to use from several threads."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, reference: ImageReference, *, size: int | None = None) -> RawManifest:
        """The manifest; its digest is that of the bytes, a header is only compared with them."""
        what = _what(reference)
        answer = self._session.get(reference, f"manifests/{reference.selector}", what=what, headers={"Accept": ACCEPT})
        stated = answer.header("Docker-Content-Digest")
        if reference.digest:
            check_bytes(answer.data, digest=reference.digest, size=size, what=what)
        elif stated:
            _check_stated(stated, answer.data, what)
        media_type = answer.header("Content-Type").partition(";")[0].strip()
        return RawManifest(
            digest=reference.digest or digest_of_bytes(answer.data),
            data=answer.data,
            parsed=parse_manifest(answer.data, media_type=media_type, what=what),
        )

    def find_digest(self, reference: ImageReference) -> str | None:
        """The digest of the manifest, None if there is none; the bytes are read and checked."""
        try:
            return self.get(reference).digest
        except ImageNotFoundError:
            return None


class Selector:
    """Finds the one image of a platform, through indexes in indexes."""

    def __init__(
        self,
        manifests: ManifestReader,
        reference: ImageReference,
        platform: Platform,
        read_config: ConfigReader,
    ) -> None:
        self._manifests = manifests
        self._reference = reference
        self._platform = platform
        self._read_config = read_config
        self._indexes_read = 0
        self._offered: list[Descriptor] = []

    def choose(self, index: Index, digest: str) -> tuple[Located, ImageConfig]:
        """The image that fits the platform; its index is the outermost one, which a tag names."""
        found = {entry.digest: entry for entry in self._entries(index, depth=0)}
        if any(entry.platform for entry in found.values()):
            found = {name: entry for name, entry in found.items() if entry.platform}
        fitting = []
        for entry in found.values():
            manifest, config = self._read(entry, index.media_type, digest)
            if self._platform.accepts(config.platform):
                fitting.append((manifest, config))
            elif entry.platform:
                raise self._contradiction(entry, config)
        if len(fitting) == 1:
            return fitting[0]
        raise refuse_choice(
            _what(self._reference),
            platform=self._platform,
            fitting=[manifest.digest for manifest, _ in fitting],
            offered=self._offered,
        )

    def check_single(self, manifest: Manifest, digest: str) -> tuple[Located, ImageConfig]:
        """A manifest without an index, if it is an image for the platform."""
        located = Located(manifest=manifest, digest=digest, index_digest=None, index_media_type=None)
        config = self._config(located)
        if not self._platform.accepts(config.platform):
            raise RdlcError(
                f"the {_what(self._reference)} is for `{one_line(str(config.platform))}`, not for `{self._platform}`"
            )
        return located, config

    def _entries(self, index: Index, *, depth: int) -> Iterator[Descriptor]:
        self._offered.extend(index.entries)
        yield from select_entries(index, self._platform)
        for entry in index.entries:
            if not entry.is_index:
                continue
            self._indexes_read += 1
            if depth >= NESTING_LIMIT or self._indexes_read > INDEX_LIMIT:
                raise OutsideError(f"the {_what(self._reference)} nests too many indexes")
            nested = self._get(entry)
            if isinstance(nested, Manifest):
                raise OutsideError(f"`{entry.digest}` is an image, its index calls it an index")
            yield from self._entries(nested, depth=depth + 1)

    def _read(self, entry: Descriptor, media_type: str, digest: str) -> tuple[Located, ImageConfig]:
        manifest = self._get(entry)
        if isinstance(manifest, Index):
            raise OutsideError(f"`{entry.digest}` is an index, its index calls it an image")
        located = Located(manifest=manifest, digest=entry.digest, index_digest=digest, index_media_type=media_type)
        return located, self._config(located)

    def _get(self, entry: Descriptor) -> Index | Manifest:
        return self._manifests.get(self._reference.pinned(entry.digest), size=entry.size).parsed

    def _config(self, located: Located) -> ImageConfig:
        manifest = located.manifest
        if not manifest.is_image:
            kind = one_line(manifest.artifact_type or manifest.config.media_type)
            raise RdlcError(f"the {_what(self._reference)} is no image but `{kind}`")
        return self._read_config(self._reference, manifest.config)

    def _contradiction(self, entry: Descriptor, config: ImageConfig) -> OutsideError:
        return OutsideError(
            f"the index says that `{entry.digest}` is for `{one_line(str(entry.platform))}`, its "
            f"config says `{one_line(str(config.platform))}`"
        )


def _what(reference: ImageReference) -> str:
    return f"image `{reference}`"


def _check_stated(stated: str, data: bytes, what: str) -> None:
    if not is_digest(stated):
        raise OutsideError(f"the {what} came with no digest but `{one_line(stated)}`")
    check_bytes(data, digest=stated, size=None, what=f"{what} of digest `{stated}`")
