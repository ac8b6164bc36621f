"""A resolved image: the digests of everything that a tag stood for at one moment, and what runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.image.names import TagKind, neutral_repository, tag_kind
from rdlc.core.image.oci_config import ImageConfig, content_id
from rdlc.core.image.oci_manifest import Descriptor, Index, Manifest
from rdlc.core.image.oci_platform import Platform
from rdlc.core.image.reference import ImageReference
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedImage:
    """An image for one platform, down to its layers.

    `repository` has no host. `index_digest` is None if the tag names the manifest itself.
    `tag_digest` is what the tag named while the digest beside it was resolved; None if the request
    had not both, or the tag is gone. Layers are ordered from the bottom up, as `diff_ids`.
    """

    requested: ImageReference
    kind: TagKind
    repository: str
    index_digest: str | None
    index_media_type: str | None
    tag_digest: str | None
    platform: Platform
    manifest_digest: str
    manifest_media_type: str
    config_digest: str
    layers: tuple[Descriptor, ...]
    diff_ids: tuple[str, ...]
    content_id: str
    env: Mapping[str, str]
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    working_folder: str
    history: tuple[str, ...]
    created: str | None

    @property
    def digest(self) -> str:
        """What the tag names: the index if there is one, else the manifest."""
        return self.index_digest or self.manifest_digest

    @property
    def pinned(self) -> ImageReference:
        """The reference that always gives this image."""
        return self.requested.pinned(self.digest)

    @property
    def has_tag_moved(self) -> bool:
        """Whether tag and digest were asked for together, and the tag is elsewhere or gone."""
        request = self.requested
        return bool(request.tag and request.digest) and self.tag_digest != self.digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """The manifest of one platform, and the digest and type of the index it was found in."""

    manifest: Manifest
    digest: str
    index_digest: str | None
    index_media_type: str | None


def select_entries(index: Index, platform: Platform) -> tuple[Descriptor, ...]:
    """The images of an index that may be for the platform, each digest once.

    Images that state no platform count only where no other fits: their config has to tell.
    """
    images = [entry for entry in index.entries if entry.is_image]
    fitting = [entry for entry in images if entry.platform and platform.accepts(entry.platform)]
    chosen = fitting or [entry for entry in images if entry.platform is None]
    return tuple({entry.digest: entry for entry in chosen}.values())


def refuse_choice(what: str, *, platform: Platform, fitting: Sequence[str], offered: Sequence[Descriptor]) -> RdlcError:
    """The refusal when not exactly one image fits; it lists those that do, or all that there are."""
    if fitting:
        return RdlcError(
            f"the {what} has {len(fitting)} images for `{platform}`: {', '.join(fitting)}",
            hint="ask for one of them by its digest, or for a platform with its variant",
        )
    listed = sorted({_platform_text(entry) for entry in offered if entry.is_image})
    has = ", ".join(f"`{one_line(text, limit=60)}`" for text in listed) or "no image at all"
    return RdlcError(f"the {what} has no image for `{platform}`, it has {has}")


def describe_image(
    requested: ImageReference, located: Located, config: ImageConfig, *, tag_digest: str | None
) -> ResolvedImage:
    """The resolved image; raises OutsideError if manifest and config do not belong together."""
    manifest = located.manifest
    if len(config.diff_ids) != len(manifest.layers):
        raise OutsideError(
            f"the manifest {located.digest} has {len(manifest.layers)} layers, its config "
            f"{len(config.diff_ids)} diff_ids"
        )
    return ResolvedImage(
        requested=requested,
        kind=tag_kind(requested),
        repository=neutral_repository(requested),
        index_digest=located.index_digest,
        index_media_type=located.index_media_type,
        tag_digest=tag_digest,
        platform=config.platform,
        manifest_digest=located.digest,
        manifest_media_type=manifest.media_type,
        config_digest=manifest.config.digest,
        layers=manifest.layers,
        diff_ids=config.diff_ids,
        content_id=content_id(config),
        env=config.env,
        labels=config.labels,
        entrypoint=config.entrypoint,
        command=config.command,
        user=config.user,
        working_folder=config.working_folder,
        history=config.history,
        created=config.created,
    )


def _platform_text(entry: Descriptor) -> str:
    return str(entry.platform) if entry.platform else "a platform not stated"
