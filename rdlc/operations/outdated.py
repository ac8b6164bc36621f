"""Has upstream moved since a lock was made, and what kind of move is it?"""

import datetime
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.image.moves import ImageMoves
from rdlc.core.image.newer_tags import newer_tags
from rdlc.core.image.oci_platform import parse_platform
from rdlc.core.image.reference import DEFAULT_TAG, ImageReference, parse_reference
from rdlc.core.image.section import ImageSection
from rdlc.core.lockfile import RunLock, read_lock
from rdlc.core.provenance import ImageOrigin
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.data_source import DataSource
from rdlc.operations.image import compare_references
from rdlc.operations.infra_ports import Offers
from rdlc.operations.lock_image import Images, pinned_reference
from rdlc.operations.package_source import PackageSource
from rdlc.operations.upstream_data import DataState, look_at_data
from rdlc.operations.upstream_infra import InfraState, look_at_infra
from rdlc.operations.upstream_packages import PackageState, look_at_packages
from rdlc.operations.workspace import Workspace


class Upstream(Images, Protocol):
    """Registries, as looking upstream needs them."""

    def list_tags(self, reference: ImageReference) -> tuple[str, ...]:
        """Every tag of the repository."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageState:
    """A lock's image against upstream.

    `state` is `current`, `moved`, `gone` (the tag), `deleted` (the locked digest), `pinned` (a digest
    was asked for) or `not-checked`; `now` is what the tag names, None where it is not known. `moves`
    is None where nothing was compared, `age_days` None where the image states no date. `trouble` says
    what could not be found out, and why.
    """

    state: str
    reference: str
    locked: str
    tag_kind: str
    now: str | None = None
    moves: ImageMoves | None = None
    age_days: int | None = None
    newer: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LockState:
    """A lock against upstream; `image` and `infra` are None without one.

    `packages` is empty without extra packages, `data` where no weights and no text come from elsewhere.
    """

    path: Path
    lock: RunLock
    image: ImageState | None
    packages: tuple[PackageState, ...] = ()
    infra: InfraState | None = None
    data: tuple[DataState, ...] = ()

    @property
    def states(self) -> frozenset[str]:
        """The state of every part."""
        found = {part.state for part in self.packages} | {part.state for part in self.data}
        found |= {self.image.state} if self.image else set()
        return frozenset(found | (self.infra.states if self.infra else frozenset()))


def look_upstream(
    path: Path,
    *,
    workspace: Workspace,
    upstream: Upstream,
    index: PackageSource,
    offers: Offers,
    now: datetime.datetime,
    source: DataSource | None = None,
) -> LockState:
    """How far upstream is from a lock; an outside service that fails gives `not-checked`."""
    data = workspace.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the run lock")
    read = read_lock(data, name=str(path))
    if read.findings:
        finding = read.findings[0]
        raise RdlcError(
            f"the lock is not intact: section `{finding.section}`", file=finding.file, hint=f"`rdlc verify {path}`"
        )
    locked = read.lock.sections.packages
    packages = look_at_packages(locked, index) if locked is not None else ()
    section = read.lock.sections.infra
    return LockState(
        path=path,
        lock=read.lock,
        image=_look_at_image(read.lock, upstream, now),
        packages=packages,
        infra=look_at_infra(section, offers) if section is not None else None,
        data=look_at_data(read.lock.sections.data, source) if source is not None else (),
    )


def _look_at_image(lock: RunLock, upstream: Upstream, now: datetime.datetime) -> ImageState | None:
    section, origin = lock.sections.image, lock.provenance.image
    if section is None or origin is None:
        return None
    known = ImageState(
        state="not-checked",
        reference=origin.reference,
        locked=section.digest,
        tag_kind=origin.tag_kind,
        age_days=_age_days(origin.created, now),
    )
    try:
        return _look(section, origin, known, upstream)
    except OutsideError as error:
        return _with_trouble(known, error.message)


def _look(section: ImageSection, origin: ImageOrigin, known: ImageState, upstream: Upstream) -> ImageState:
    reference, pinned = parse_reference(origin.reference), pinned_reference(section, origin)
    is_there = upstream.find_digest(pinned) is not None
    known = _with_newer(known, reference, upstream)
    if not is_there:
        return replace(known, state="deleted")
    if reference.digest and not reference.tag:
        return replace(known, state="pinned")
    # The digest that was asked for decides, but the tag beside it is still worth a look.
    tag = reference.tagged(reference.tag or DEFAULT_TAG)
    now = upstream.find_digest(tag)
    if now is None:
        return replace(known, state="gone")
    if now == section.digest:
        return replace(known, state="current", now=now)
    known = replace(known, state="moved", now=now)
    platform = parse_platform(section.requested.platform)
    # The tag stays beside the digest: tables of contents are found by it.
    moved_to = replace(tag, digest=now)
    try:
        return replace(known, moves=compare_references(pinned, moved_to, platform=platform, source=upstream).moves)
    except RdlcError as error:
        return _with_trouble(known, f"what moved was not compared: {error.message}")


def _with_newer(known: ImageState, reference: ImageReference, upstream: Upstream) -> ImageState:
    """Listing tags is a right of its own, which not everyone has who may pull."""
    if reference.tag is None:
        return known
    try:
        return replace(known, newer=newer_tags(reference.tag, upstream.list_tags(reference)))
    except RdlcError as error:
        return _with_trouble(known, f"newer tags were not looked for: {error.message}")


def _with_trouble(known: ImageState, trouble: str) -> ImageState:
    return replace(known, trouble=f"{known.trouble}; {trouble}" if known.trouble else trouble)


def _age_days(created: str, now: datetime.datetime) -> int | None:
    try:
        moment = datetime.datetime.fromisoformat(created)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return max((now - moment).days, 0)
