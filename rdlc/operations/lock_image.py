"""The image of a lock: kept while its request is unchanged, resolved anew when asked."""

from dataclasses import dataclass, replace
from typing import Protocol

from rdlc.core.contents.inventory import Evidence, evidence_rank
from rdlc.core.flatten import flatten
from rdlc.core.image.known_issues import KnownIssue, match_issues
from rdlc.core.image.locked_moves import stated_evidence
from rdlc.core.image.moves import ImageMoves
from rdlc.core.image.names import PUBLIC_REGISTRY, is_dlc, parse_ecr_registry, private_name, public_name
from rdlc.core.image.oci import ResolvedImage
from rdlc.core.image.oci_platform import parse_platform
from rdlc.core.image.reference import ImageReference, parse_reference
from rdlc.core.image.section import ImageRequest, ImageSection, lock_image
from rdlc.core.lockfile import RunLock
from rdlc.core.provenance import ImageOrigin
from rdlc.core.secrets import find_secret
from rdlc.core.text import one_line
from rdlc.errors import RdlcError
from rdlc.operations.image import ImageComparison, ImageSource, ImageView, compare_references, inspect_image, look_into
from rdlc.operations.reporting import Reporter


class Images(ImageSource, Protocol):
    """Registries, as locking needs them."""

    @property
    def wanted_evidence(self) -> Evidence:
        """The weakest evidence that the route of `read_contents` gives."""
        ...

    def find_digest(self, reference: ImageReference) -> str | None:
        """The digest that the reference names now; None if it is not there."""
        ...

    def aws_region(self) -> str | None:
        """The region that AWS calls of this machine go to, if one is set."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedImage:
    """The section, where it came from, and what moved if it took the place of another."""

    section: ImageSection
    origin: ImageOrigin
    comparison: ImageComparison | None = None
    base_moves: ImageMoves | None = None


def resolve_image(
    request: ImageRequest, *, previous: RunLock | None, is_upgrade: bool, images: Images, reporter: Reporter
) -> LockedImage:
    """The image that the request names; an earlier lock's, unless it asked for another or is upgraded."""
    kept = previous.sections.image if previous is not None else None
    origin = previous.provenance.image if previous is not None else None
    if kept is not None and origin is not None and _is_same(request, kept, origin) and not is_upgrade:
        return _keep(request, kept, origin, images=images, reporter=reporter)
    locked = _resolve(request, images, reporter)
    if kept is not None and origin is not None and is_upgrade and kept.digest != locked.section.digest:
        comparison = _compare(kept, origin, locked, images, reporter)
        return LockedImage(
            section=locked.section, origin=locked.origin, comparison=comparison, base_moves=locked.base_moves
        )
    return locked


def pinned_reference(section: ImageSection, origin: ImageOrigin) -> ImageReference:
    """The locked digest in the registry where it was found; never the tag."""
    return parse_reference(origin.reference).pinned(section.digest)


def _is_same(request: ImageRequest, kept: ImageSection, origin: ImageOrigin) -> bool:
    """Whether the request asks for what is kept; the reason it gives for a base leads to no other image."""
    asked = replace(request.without_hosts(), reason=kept.requested.reason)
    return kept.requested == asked and origin.reference == request.reference


def _keep(
    request: ImageRequest, kept: ImageSection, origin: ImageOrigin, *, images: Images, reporter: Reporter
) -> LockedImage:
    section = replace(kept, requested=request.without_hosts())
    _say_if_moved(section, origin, images, reporter)
    origin = _look_deeper(section, origin, images, reporter)
    _warn_of_issues(_find_issues(section, origin, images), reporter)
    return LockedImage(section=section, origin=origin)


def _look_deeper(section: ImageSection, origin: ImageOrigin, images: Images, reporter: Reporter) -> ImageOrigin:
    """What is known of a kept image, by the route that was asked for if that proves more than before."""
    if evidence_rank(stated_evidence(origin)) >= evidence_rank(images.wanted_evidence):
        return origin
    platform = parse_platform(section.requested.platform)
    try:
        image = images.resolve(pinned_reference(section, origin), platform=platform)
        if image.manifest_digest != section.manifest_digest:
            raise RdlcError(f"{image.digest} holds {image.manifest_digest}, and the lock {section.manifest_digest}")
        # By digest alone; the tag stands beside it because tables of contents are found by it.
        named = replace(image.requested, tag=parse_reference(origin.reference).tag)
        view = look_into(replace(image, requested=named), source=images)
    except RdlcError as error:
        reporter.warn(f"the locked image was not looked into, it stays `{origin.evidence}`: {error.message}")
        return origin
    return replace(
        origin,
        evidence=view.contents.inventory.evidence,
        components=_components(view),
        known_issues=tuple(issue.id for issue in view.issues),
    )


def _resolve(request: ImageRequest, images: Images, reporter: Reporter) -> LockedImage:
    reference, platform = parse_reference(request.reference), parse_platform(request.platform)
    view = inspect_image(reference, platform=platform, source=images)
    image = view.image
    if image.has_tag_moved:
        reporter.warn(f"`{reference}`: the tag names {image.tag_digest or 'nothing'} now; the digest is locked")
    base_digest, base_moves = "", None
    if request.base:
        comparison = compare_references(parse_reference(request.base), image.pinned, platform=platform, source=images)
        base_digest, base_moves = comparison.old.image.manifest_digest, comparison.moves
        _check_base(comparison, reporter)
    origin = ImageOrigin(
        reference=str(reference),
        tag_kind=image.kind,
        created=image.created or "",
        twin=_check_twin(reference, image, images, reporter),
        evidence=view.contents.inventory.evidence,
        components=_components(view),
        known_issues=tuple(issue.id for issue in view.issues),
    )
    section = lock_image(request, image, base_digest=base_digest)
    _refuse_secrets(section)
    _warn_of_issues(view.issues, reporter)
    return LockedImage(section=section, origin=origin, base_moves=base_moves)


def _say_if_moved(kept: ImageSection, origin: ImageOrigin, images: Images, reporter: Reporter) -> None:
    reference = parse_reference(origin.reference)
    if reference.digest:
        return
    try:
        now = images.find_digest(reference)
    except RdlcError as error:
        reporter.warn(f"whether `{reference}` has moved was not checked: {error.message}")
        return
    if now is None:
        reporter.warn(f"`{reference}` is gone; the lock keeps {kept.digest}")
    elif now != kept.digest:
        reporter.note(
            f"`{reference}` has moved: it names {now} now; the lock keeps {kept.digest}; "
            "`--upgrade image` takes the new one"
        )


def _compare(
    kept: ImageSection, origin: ImageOrigin, locked: LockedImage, images: Images, reporter: Reporter
) -> ImageComparison | None:
    platform = parse_platform(locked.section.requested.platform)
    old, new = pinned_reference(kept, origin), pinned_reference(locked.section, locked.origin)
    try:
        return compare_references(old, new, platform=platform, source=images)
    except RdlcError as error:
        reporter.warn(f"what moved was not compared: {error.message}")
        return None


def _check_base(comparison: ImageComparison, reporter: Reporter) -> None:
    base, image = comparison.old.image, comparison.new.image
    if image.diff_ids[: len(base.diff_ids)] != base.diff_ids:
        reporter.warn(f"the image does not stand on the layers of `{base.requested}`: its difference is larger")


def _check_twin(reference: ImageReference, image: ResolvedImage, images: Images, reporter: Reporter) -> str:
    """Whether the other name of a Deep Learning Container, public or private, gives the same digest."""
    twin = _twin(reference, images)
    if twin is None:
        return ""
    try:
        digest = images.find_digest(twin)
    except RdlcError as error:
        return f"{twin}: not checked: {error.message}"
    if digest == image.digest:
        return f"{twin}: the same digest"
    reporter.warn(f"`{twin}` names {digest or 'nothing'}, and `{reference}` {image.digest}")
    return f"{twin}: {digest or 'not there'}"


def _twin(reference: ImageReference, images: Images) -> ImageReference | None:
    if not is_dlc(reference):
        return None
    if reference.registry == PUBLIC_REGISTRY:
        region = images.aws_region()
        return private_name(reference, region=region) if region else None
    return public_name(reference) if parse_ecr_registry(reference.registry) else None


def _refuse_secrets(section: ImageSection) -> None:
    for address, value in flatten(section.payload()).items():
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        if secret := find_secret(f"{address}={text}"):
            place = one_line(address.removeprefix("resolved."))
            raise RdlcError(
                f"the image's `{place}` holds what looks like {secret.kind}",
                hint="build it without, and hand the secret over at run time: `secrets: [{name: NAME, from: env}]`",
            )


def _components(view: ImageView) -> dict[str, str]:
    found: dict[str, str] = {}
    for component in view.contents.inventory.components:
        found.setdefault(component.name, component.version)
    return found


def _find_issues(kept: ImageSection, origin: ImageOrigin, images: Images) -> tuple[KnownIssue, ...]:
    """Those of today's table: it may have grown since the image was locked."""
    digests = (kept.manifest_digest, kept.digest)
    return match_issues(images.known_issues(), components=origin.components.items(), digests=digests)


def _warn_of_issues(issues: tuple[KnownIssue, ...], reporter: Reporter) -> None:
    for issue in issues:
        reporter.warn(f"known issue `{issue.id}`: {issue.title}; {issue.fix} ({issue.source})")
