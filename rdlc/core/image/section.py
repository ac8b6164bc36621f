"""The `image` section of a run lock: what a reference resolved to, down to its layers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.image.names import neutral_text
from rdlc.core.image.oci import ResolvedImage
from rdlc.core.image.oci_platform import LINUX_AMD64, parse_platform
from rdlc.core.image.reference import parse_reference
from rdlc.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRequest:
    """The reference and platform that were asked for; `base` and `reason` for a derived image, else "".

    In a lock, references have no host: the public and the private name of one image are one request.
    """

    reference: str
    platform: str
    base: str = ""
    reason: str = ""

    def without_hosts(self) -> "ImageRequest":
        """The request as a lock holds it."""
        base = neutral_text(parse_reference(self.base)) if self.base else ""
        return replace(self, reference=neutral_text(parse_reference(self.reference)), base=base)


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedLayer:
    """One layer: its blob as the registry holds it, and the digest of its unpacked archive."""

    digest: str
    size: int
    media_type: str
    diff_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSection:
    """An image for one platform; `repository` has no host, since one image has several names.

    `index_digest` and `index_media_type` are "" where the reference names the manifest itself;
    `base_digest` is the manifest of `requested.base`, "" without one. Layers go from the bottom up.
    """

    requested: ImageRequest
    repository: str
    index_digest: str
    index_media_type: str
    manifest_digest: str
    manifest_media_type: str
    config_digest: str
    content_id: str
    layers: tuple[LockedLayer, ...]
    env: Mapping[str, str]
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    working_folder: str
    base_digest: str

    @property
    def digest(self) -> str:
        """What the reference named: the index if there is one, else the manifest."""
        return self.index_digest or self.manifest_digest

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        request = self.requested
        requested = {"reference": request.reference, "platform": request.platform}
        derived = {"base": request.base, "reason": request.reason} if request.base else {}
        layers: dict[str, Json] = {
            f"{number:03}": {
                "digest": layer.digest,
                "size": layer.size,
                "media_type": layer.media_type,
                "diff_id": layer.diff_id,
            }
            for number, layer in enumerate(self.layers)
        }
        return {
            "requested": {**requested, **derived},
            "resolved": {
                "repository": self.repository,
                "index_digest": self.index_digest,
                "index_media_type": self.index_media_type,
                "manifest_digest": self.manifest_digest,
                "manifest_media_type": self.manifest_media_type,
                "config_digest": self.config_digest,
                "content_id": self.content_id,
                "base_digest": self.base_digest,
                "layers": layers,
                "env": dict(sorted(self.env.items())),
                "labels": dict(sorted(self.labels.items())),
                "entrypoint": list(self.entrypoint),
                "command": list(self.command),
                "user": self.user,
                "working_folder": self.working_folder,
            },
        }


def lock_image(request: ImageRequest, image: ResolvedImage, *, base_digest: str) -> ImageSection:
    """The section of a resolved image."""
    layers = tuple(
        LockedLayer(digest=layer.digest, size=layer.size, media_type=layer.media_type, diff_id=diff_id)
        for layer, diff_id in zip(image.layers, image.diff_ids, strict=True)
    )
    return ImageSection(
        requested=request.without_hosts(),
        repository=image.repository,
        index_digest=image.index_digest or "",
        index_media_type=image.index_media_type or "",
        manifest_digest=image.manifest_digest,
        manifest_media_type=image.manifest_media_type,
        config_digest=image.config_digest,
        content_id=image.content_id,
        layers=layers,
        env=image.env,
        labels=image.labels,
        entrypoint=image.entrypoint,
        command=image.command,
        user=image.user,
        working_folder=image.working_folder,
        base_digest=base_digest,
    )


def read_image_request(fields: Fields) -> ImageRequest:
    """The `image` part of a spec, with its references in their full form."""
    has_base = fields.has("base")
    request = ImageRequest(
        reference=_read_reference(fields, "reference"),
        platform=_read_platform(fields),
        base=_read_reference(fields, "base") if has_base else "",
        reason=fields.text("reason") if has_base else "",
    )
    fields.finish()
    return request


def _read_locked_request(fields: Fields) -> ImageRequest:
    request = ImageRequest(
        reference=fields.text("reference"),
        platform=fields.text("platform"),
        base=fields.remark("base"),
        reason=fields.remark("reason"),
    )
    fields.finish()
    return request


def _read_reference(fields: Fields, key: str) -> str:
    text = fields.text(key)
    try:
        return str(parse_reference(text))
    except InputError as error:
        raise fields.error(key, error.message, error.hint) from error


def _read_platform(fields: Fields) -> str:
    text = fields.text("platform", default=str(LINUX_AMD64))
    try:
        return str(parse_platform(text))
    except InputError as error:
        raise fields.error("platform", error.message) from error


def read_image_section(section: Fields) -> ImageSection:
    """The section of a lock; raises InputError with the address of a bad field."""
    resolved = section.below("resolved")
    image = ImageSection(
        requested=_read_locked_request(section.below("requested")),
        repository=resolved.text("repository"),
        index_digest=_digest_or_none(resolved, "index_digest"),
        index_media_type=resolved.remark("index_media_type"),
        manifest_digest=resolved.digest("manifest_digest"),
        manifest_media_type=resolved.text("manifest_media_type"),
        config_digest=resolved.digest("config_digest"),
        content_id=resolved.digest("content_id"),
        base_digest=_digest_or_none(resolved, "base_digest"),
        layers=_read_layers(resolved.below("layers")),
        env=resolved.remarks("env"),
        labels=resolved.remarks("labels"),
        entrypoint=resolved.texts("entrypoint", allow_empty=True),
        command=resolved.texts("command", allow_empty=True),
        user=resolved.remark("user"),
        working_folder=resolved.remark("working_folder"),
    )
    resolved.finish()
    section.finish()
    return image


def _read_layers(table: Fields) -> tuple[LockedLayer, ...]:
    layers = []
    for number in table.names():
        layer = table.below(number)
        layers.append(
            LockedLayer(
                digest=layer.digest("digest"),
                size=layer.count("size"),
                media_type=layer.text("media_type"),
                diff_id=layer.digest("diff_id"),
            )
        )
        layer.finish()
    return tuple(layers)


def _digest_or_none(fields: Fields, key: str) -> str:
    return fields.digest(key) if fields.remark(key) else ""
