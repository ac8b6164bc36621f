"""Manifests and indexes as registries send them: bytes nobody vouches for, read into types.

Both forms are read, OCI's and Docker's version 2. A document that could be taken for both an image
and an index is refused: two programs would see two images under one digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.image.oci_json import JsonObject
from rdlc.core.image.oci_platform import Platform
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"

INDEX_TYPES = frozenset({OCI_INDEX, DOCKER_INDEX})
MANIFEST_TYPES = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
CONFIG_TYPES = frozenset({OCI_CONFIG, DOCKER_CONFIG})

ENTRY_LIMIT = 1000
LAYER_LIMIT = 1000

_ATTESTATION = "vnd.docker.reference.type"


@dataclass(frozen=True, kw_only=True, slots=True)
class Descriptor:
    """What a manifest says about something it points at; `size` is in bytes, as stored."""

    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str]
    artifact_type: str = ""
    platform: Platform | None = None

    @property
    def is_index(self) -> bool:
        """Whether it points at another index."""
        return self.media_type in INDEX_TYPES

    @property
    def is_image(self) -> bool:
        """Whether it may be an image to run: no attestation, signature or SOCI index."""
        if self.media_type not in MANIFEST_TYPES or _ATTESTATION in self.annotations:
            return False
        if self.artifact_type and self.artifact_type not in CONFIG_TYPES:
            return False
        return self.platform is None or not self.platform.is_unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """A list of manifests, one for each platform, and things that belong to them."""

    media_type: str
    entries: tuple[Descriptor, ...]
    annotations: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """One image, or an artefact that has an image's form; layers from the bottom up."""

    media_type: str
    artifact_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]
    annotations: Mapping[str, str]

    @property
    def is_image(self) -> bool:
        """Whether its config is an image's."""
        return self.config.media_type in CONFIG_TYPES


def parse_manifest(data: bytes, *, media_type: str, what: str) -> Index | Manifest:
    """An index or a manifest of the bytes; `media_type` holds where they state none themselves.

    Raises RdlcError for schema 1, whose digest is not one of the bytes, and OutsideError otherwise.
    """
    document = JsonObject.parse(data, what=what)
    if document.values.get("schemaVersion") == 1 or "docker.distribution.manifest.v1+" in media_type:
        raise RdlcError(
            f"the {what} has the old format `schema 1`, which does not pin what would run",
            hint="push the image again with a current tool",
        )
    if document.values.get("schemaVersion") != 2:
        raise document.wrong("schemaVersion", "is not 2")
    stated = _media_type(document, media_type)
    if stated in INDEX_TYPES:
        return _index(document, stated)
    return _manifest(document, stated)


def _media_type(document: JsonObject, sent: str) -> str:
    """The type in the bytes counts, since the digest covers it; then the sender's; then the shape."""
    is_index, is_manifest = document.has("manifests"), document.has("layers") or document.has("config")
    if is_index == is_manifest:
        both = "both an image and an index" if is_index else "neither an image nor an index"
        raise OutsideError(f"the {document.what} is {both}")
    allowed = INDEX_TYPES if is_index else MANIFEST_TYPES
    stated = document.media_type("mediaType", default="")
    if stated and stated not in allowed:
        raise document.wrong("mediaType", f"does not fit its content: `{one_line(stated)}`")
    if stated:
        return stated
    if sent in allowed:
        return sent
    return OCI_INDEX if is_index else OCI_MANIFEST


def _index(document: JsonObject, media_type: str) -> Index:
    entries = document.objects("manifests", most=ENTRY_LIMIT)
    return Index(
        media_type=media_type,
        entries=tuple(_descriptor(entry) for entry in entries),
        annotations=document.table("annotations"),
    )


def _manifest(document: JsonObject, media_type: str) -> Manifest:
    layers = document.objects("layers", most=LAYER_LIMIT)
    if not document.has("config"):
        raise document.wrong("config", "is missing")
    return Manifest(
        media_type=media_type,
        artifact_type=document.media_type("artifactType", default=""),
        config=_descriptor(document.below("config")),
        layers=tuple(_descriptor(layer) for layer in layers),
        annotations=document.table("annotations"),
    )


def _descriptor(entry: JsonObject) -> Descriptor:
    return Descriptor(
        media_type=entry.media_type("mediaType"),
        digest=entry.digest("digest"),
        size=entry.whole("size"),
        annotations=entry.table("annotations"),
        artifact_type=entry.media_type("artifactType", default=""),
        platform=_platform(entry.below("platform")) if entry.has("platform") else None,
    )


def _platform(fields: JsonObject) -> Platform:
    return Platform(
        os=fields.text("os", default=""),
        architecture=fields.text("architecture", default=""),
        variant=fields.text("variant", default=""),
    )
