"""The base that extra packages are resolved against: the running environment, or what an image holds."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from rdlc.core.contents.inventory import EVIDENCE_LEVELS, evidence_rank
from rdlc.core.image.oci_platform import parse_platform
from rdlc.core.image.reference import parse_reference
from rdlc.core.image.section import ImageSection
from rdlc.core.lockfile import RunLock
from rdlc.core.packages.base import LOCAL, Base
from rdlc.core.packages.image_base import find_python, image_base
from rdlc.core.packages.section import PackagesSection
from rdlc.errors import RdlcError
from rdlc.operations.image import Contents
from rdlc.operations.lock_image import Images, LockedImage, pinned_reference
from rdlc.operations.reporting import Reporter
from rdlc.operations.workspace import Workspace


class BaseSource(Protocol):
    """A base that is read only when it must be."""

    @property
    def base(self) -> Base:
        """The base as it is now."""
        ...

    @property
    def files(self) -> Mapping[str, str]:
        """Path below `site-packages` to the distribution that owns it, as far as that is known."""
        ...

    def known_as(self, kept: PackagesSection) -> str | None:
        """The evidence that the base is still the one of an earlier lock; None if it is another."""
        ...


class LocalBase:
    """The running environment as a base."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @cached_property
    def base(self) -> Base:
        """The base as it is now."""
        return self._workspace.read_base()

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path below `site-packages` to the distribution that owns it."""
        return self._workspace.base_files()

    def known_as(self, kept: PackagesSection) -> str | None:
        """`environment` if nothing in it has changed."""
        return LOCAL if kept.constraints_digest == self.base.constraints_digest else None


class ImageBase:
    """An image as a base; `previous` is the lock that an earlier resolution is in."""

    def __init__(
        self, image: LockedImage, *, previous: RunLock | None, images: Images, reporter: Reporter
    ) -> None:  # fmt: skip
        self._image = image
        self._previous = previous.sections.image if previous is not None else None
        self._images = images
        self._reporter = reporter

    @cached_property
    def base(self) -> Base:
        """The base by the route that was asked for."""
        platform = parse_platform(self._image.section.requested.platform)
        contents = self._read()
        python = find_python(contents.inventory)
        if contents.inventory.complete:
            where = ", ".join(f"`{site}`" for site in python.sites) or "no folder"
            count = len(python.distributions)
            self._reporter.note(f"the base: Python {python.version} with {count} distributions in {where}")
        requires = {item.path: contents.requirements(item) for item in python.distributions}
        base = image_base(contents.inventory, python, platform=platform, requires=requires)
        if base.is_complete and base.glibc is None:
            self._reporter.note("the image's glibc is not known: only wheels that run with any are taken")
        return base

    @property
    def files(self) -> Mapping[str, str]:
        """None: an inventory does not hold the files of distributions."""
        return {}

    def known_as(self, kept: PackagesSection) -> str | None:
        """The earlier evidence for the same image, unless a deeper look was asked for."""
        is_same = self._previous is not None and _is_same(self._previous, self._image.section)
        if is_same and _rank(kept.evidence) >= evidence_rank(self._images.wanted_evidence):
            return kept.evidence
        return self.base.evidence if kept.constraints_digest == self.base.constraints_digest else None

    def _read(self) -> Contents:
        section, origin = self._image.section, self._image.origin
        platform = parse_platform(section.requested.platform)
        image = self._images.resolve(pinned_reference(section, origin), platform=platform)
        if image.manifest_digest != section.manifest_digest:
            raise RdlcError(f"{image.digest} holds {image.manifest_digest}, and the lock {section.manifest_digest}")
        # By digest alone; the tag stands beside it because tables of contents are found by it.
        named = replace(image.requested, tag=parse_reference(origin.reference).tag)
        return self._images.read_contents(replace(image, requested=named), known={})


def _is_same(one: ImageSection, other: ImageSection) -> bool:
    return one.manifest_digest == other.manifest_digest


def _rank(evidence: str) -> int:
    return EVIDENCE_LEVELS.index(evidence) if evidence in EVIDENCE_LEVELS else -1
