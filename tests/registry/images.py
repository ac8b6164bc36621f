"""Container images made in memory: the same input gives the same bytes, so digests can be asserted.

Layers are real tar archives, gzip, zstd or plain; manifests come as OCI or as Docker version 2.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rdlc.core.canonical import digest_of_bytes

Flavour = Literal["oci", "docker"]
Compression = Literal["gzip", "zstd", "none"]

MANIFEST_TYPES: Mapping[Flavour, str] = {
    "oci": "application/vnd.oci.image.manifest.v1+json",
    "docker": "application/vnd.docker.distribution.manifest.v2+json",
}
INDEX_TYPES: Mapping[Flavour, str] = {
    "oci": "application/vnd.oci.image.index.v1+json",
    "docker": "application/vnd.docker.distribution.manifest.list.v2+json",
}
CONFIG_TYPES: Mapping[Flavour, str] = {
    "oci": "application/vnd.oci.image.config.v1+json",
    "docker": "application/vnd.docker.container.image.v1+json",
}
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"
LAYER_TYPES: Mapping[tuple[Flavour, Compression], str] = {
    ("oci", "gzip"): f"{OCI_LAYER}+gzip",
    ("oci", "zstd"): f"{OCI_LAYER}+zstd",
    ("oci", "none"): OCI_LAYER,
    ("docker", "gzip"): "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ("docker", "none"): "application/vnd.docker.image.rootfs.diff.tar",
}
CREATED = "2026-09-01T08:14:00Z"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One member of a layer; a whiteout is a file called `.wh.<name>` or `.wh..wh..opq`."""

    path: str
    data: bytes = b""
    kind: Literal["file", "folder", "symlink", "hardlink"] = "file"
    target: str = ""
    mode: int = 0o644


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """Bytes that a manifest points at, with the media type that it gives them."""

    data: bytes = field(repr=False)
    media_type: str
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return digest_of_bytes(self.data)

    def descriptor(self) -> dict[str, object]:
        return {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": len(self.data),
            **({"annotations": dict(self.annotations)} if self.annotations else {}),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """One layer: the blob as it lies in the registry, and the digest of its tar."""

    blob: Blob
    diff_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """One manifest and everything below it; `subject` images and artefacts have the same form."""

    manifest: Blob
    blobs: tuple[Blob, ...]
    platform: Mapping[str, str]

    @property
    def digest(self) -> str:
        return self.manifest.digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """An index (or Docker manifest list) and the images and indexes that it lists."""

    manifest: Blob
    children: "tuple[Image | Index, ...]"

    @property
    def digest(self) -> str:
        return self.manifest.digest


def make_tar(entries: Sequence[Entry], *, pax: bool = False) -> bytes:
    """A tar archive without times or owners."""
    kinds = {
        "file": tarfile.REGTYPE,
        "folder": tarfile.DIRTYPE,
        "symlink": tarfile.SYMTYPE,
        "hardlink": tarfile.LNKTYPE,
    }
    buffer = io.BytesIO()
    form = tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path)
            member.type, member.mode, member.linkname = kinds[entry.kind], entry.mode, entry.target
            member.size = len(entry.data)
            archive.addfile(member, io.BytesIO(entry.data))
    return buffer.getvalue()


def make_layer(
    entries: Sequence[Entry] | Mapping[str, bytes],
    *,
    compression: Compression = "gzip",
    flavour: Flavour = "oci",
    pax: bool = False,
) -> Layer:
    """A layer of these entries, or of files from path to content."""
    if isinstance(entries, Mapping):
        entries = [Entry(path=path, data=data) for path, data in entries.items()]
    return pack_layer(make_tar(entries, pax=pax), compression=compression, flavour=flavour)


def pack_layer(tar: bytes, *, compression: Compression = "gzip", flavour: Flavour = "oci") -> Layer:
    """A layer of a tar archive that is already there."""
    data = tar
    if compression == "gzip":
        data = gzip.compress(tar, compresslevel=6, mtime=0)
    elif compression == "zstd":
        import zstandard

        data = zstandard.ZstdCompressor(level=3).compress(tar)
    blob = Blob(data=data, media_type=LAYER_TYPES[flavour, compression])
    return Layer(blob=blob, diff_id=digest_of_bytes(tar))


def build_image(
    layers: Sequence[Layer],
    *,
    flavour: Flavour = "oci",
    os: str = "linux",
    architecture: str = "amd64",
    variant: str = "",
    env: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    runtime: Mapping[str, object] | None = None,
    history: Sequence[str] = (),
    created: str = CREATED,
    states_media_type: bool = True,
    annotations: Mapping[str, str] | None = None,
) -> Image:
    """An image of these layers; `runtime` adds to the config's `config`: `Entrypoint`, `User`, ..."""
    settings: dict[str, object] = dict(runtime or {})
    settings["Env"] = [f"{name}={value}" for name, value in (env or {}).items()]
    settings["Labels"] = dict(labels or {})
    platform = {"os": os, "architecture": architecture}
    platform |= {"variant": variant} if variant else {}
    config = {
        **platform,
        "created": created,
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": created, "created_by": line} for line in history],
    }
    config_blob = Blob(data=to_json(config), media_type=CONFIG_TYPES[flavour])
    manifest = {
        "schemaVersion": 2,
        **({"mediaType": MANIFEST_TYPES[flavour]} if states_media_type else {}),
        "config": config_blob.descriptor(),
        "layers": [layer.blob.descriptor() for layer in layers],
        **({"annotations": dict(annotations)} if annotations else {}),
    }
    return Image(
        manifest=Blob(data=to_json(manifest), media_type=MANIFEST_TYPES[flavour]),
        blobs=(config_blob, *(layer.blob for layer in layers)),
        platform=platform,
    )


def build_artifact(blobs: Sequence[Blob], *, artifact_type: str, annotations: Mapping[str, str] | None = None) -> Image:
    """An OCI manifest that is no image, such as a SOCI index: an empty config, blobs as layers."""
    config = Blob(data=b"{}", media_type="application/vnd.oci.empty.v1+json")
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPES["oci"],
        "artifactType": artifact_type,
        "config": config.descriptor(),
        "layers": [blob.descriptor() for blob in blobs],
        **({"annotations": dict(annotations)} if annotations else {}),
    }
    return Image(
        manifest=Blob(data=to_json(manifest), media_type=MANIFEST_TYPES["oci"]),
        blobs=(config, *blobs),
        platform={},
    )


def build_index(
    children: Sequence[Image | Index],
    *,
    flavour: Flavour = "oci",
    extras: Mapping[int, Mapping[str, object]] | None = None,
) -> Index:
    """An index of these; `extras` adds members to an entry by its position."""
    entries = []
    for position, child in enumerate(children):
        entry = child.manifest.descriptor()
        if isinstance(child, Image) and child.platform:
            entry["platform"] = dict(child.platform)
        entry |= (extras or {}).get(position, {})
        entries.append(entry)
    body = {"schemaVersion": 2, "mediaType": INDEX_TYPES[flavour], "manifests": entries}
    manifest = Blob(data=to_json(body), media_type=INDEX_TYPES[flavour])
    return Index(manifest=manifest, children=tuple(children))


def to_json(value: object) -> bytes:
    """Indented as registries often serve it: a client that hashes parsed JSON gets another digest."""
    return json.dumps(value, indent=3).encode()
