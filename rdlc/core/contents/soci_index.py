"""The image index under `<tag>-soci`, and the list of zTOCs that it leads to."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.fields import Fields
from rdlc.core.lines import read_json_file

SOCI_ARTIFACT_TYPES = (
    "application/vnd.amazon.soci.index.v2+json",
    "application/vnd.amazon.soci.index.v1+json",
)
MANIFEST_LIMIT_BYTES = 4 << 20

_LAYER_DIGEST = "com.amazon.soci.image-layer-digest"
_IMAGE_DIGEST = "com.amazon.soci.image-manifest-digest"


@dataclass(frozen=True, kw_only=True, slots=True)
class ZtocBlob:
    """The blob that holds the zTOC of a layer."""

    digest: str
    size: int


def soci_tag(tag: str) -> str:
    """The tag under which the SOCI index of a tag is published."""
    return f"{tag}-soci"


def find_soci_manifests(index: bytes, *, name: str) -> tuple[str, ...]:
    """The digests of the SOCI manifests that an image index lists; none in an image manifest."""
    fields = read_json_file(index, name=name, limit_bytes=MANIFEST_LIMIT_BYTES)
    found = []
    for item in _mappings(fields, "manifests"):
        artifact_type = item.text("artifactType") if item.has("artifactType") else ""
        annotations = item.remarks("annotations")
        if artifact_type in SOCI_ARTIFACT_TYPES or _IMAGE_DIGEST in annotations:
            found.append(item.digest("digest"))
    return tuple(found)


def read_soci_manifest(manifest: bytes, *, name: str) -> Mapping[str, ZtocBlob]:
    """For each layer digest the zTOC of that layer."""
    fields = read_json_file(manifest, name=name, limit_bytes=MANIFEST_LIMIT_BYTES)
    blobs = {}
    for item in _mappings(fields, "layers"):
        annotations = item.below("annotations", default={})
        if annotations.has(_LAYER_DIGEST):
            blob = ZtocBlob(digest=item.digest("digest"), size=item.count("size", least=1))
            blobs[annotations.digest(_LAYER_DIGEST)] = blob
    return blobs


def _mappings(fields: Fields, key: str) -> tuple[Fields, ...]:
    return tuple(Fields(fields.document, item, f"{key}[{position}]") for position, item in enumerate(fields.items(key)))
