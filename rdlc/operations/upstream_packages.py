"""The extra packages of a lock against their index: newer, yanked, gone, or with other bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from packaging.version import InvalidVersion, Version

from rdlc.core.packages.choice import Site, is_usable
from rdlc.core.packages.resolution import IndexFile, Release
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.core.text import one_line
from rdlc.errors import OutsideError
from rdlc.operations.package_source import PackageSource


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageState:
    """One extra package against its index.

    `state` is `current`, `newer`, `yanked`, `gone` (the locked file), `changed` (its bytes) or
    `not-checked`. `newest` is the newest version that the base could take, "" where it is not known;
    `reason` says why a file was yanked, or what could not be found out.
    """

    name: str
    locked: str
    file: str
    state: str
    newest: str = ""
    reason: str = ""


def look_at_packages(section: PackagesSection, source: PackageSource) -> tuple[PackageState, ...]:
    """How each extra stands; one whose index fails is `not-checked`."""
    return tuple(_look(extra, section, source) for extra in section.extras)


def find_locked(extra: LockedPackage, releases: Sequence[Release]) -> IndexFile | None:
    """The locked file as the index lists it; None if it no longer does."""
    files = (file for release in releases for file in release.files)
    return next((file for file in files if file.name == extra.file), None)


def has_other_bytes(extra: LockedPackage, file: IndexFile, source: PackageSource) -> bool:
    """Whether the index has other bytes under the locked name; they are fetched where it states no digest."""
    found = file.sha256 or source.fetch_all((file,))[0].sha256
    return found != extra.sha256


def _look(extra: LockedPackage, section: PackagesSection, source: PackageSource) -> PackageState:
    known = PackageState(name=extra.name, locked=extra.version, file=extra.file, state="not-checked")
    try:
        releases = source.releases(extra.name, index=section.requested.index)
        word, reason = _state_of(extra, releases, source)
    except OutsideError as error:
        return replace(known, reason=error.message)
    site = Site(python=section.python, platform=section.platform)
    newest = _newest(extra, releases, site=site, allow_sdist=extra.name in section.requested.allow_sdist)
    if word == "current" and newest and Version(newest) > Version(extra.version):
        word = "newer"
    return replace(known, state=word, newest=newest, reason=one_line(reason))


def _state_of(extra: LockedPackage, releases: Sequence[Release], source: PackageSource) -> tuple[str, str]:
    file = find_locked(extra, releases)
    if file is None:
        return "gone", ""
    if has_other_bytes(extra, file, source):
        return "changed", ""
    return ("current", "") if file.yanked is None else ("yanked", file.yanked)


def _newest(extra: LockedPackage, releases: Sequence[Release], *, site: Site, allow_sdist: bool) -> str:
    """The newest version with a file for the base that was not yanked; no pre-release unless one is locked."""
    allow_early = Version(extra.version).is_prerelease

    def is_candidate(release: Release, version: Version) -> bool:
        return (allow_early or not version.is_prerelease) and any(
            is_usable(file.name, extra.name, version=release.version, site=site, allow_sdist=allow_sdist)
            for file in release.files
            if file.yanked is None
        )

    found = [(version, release.version) for release, version in _versions(releases) if is_candidate(release, version)]
    return max(found)[1] if found else ""


def _versions(releases: Sequence[Release]) -> Iterator[tuple[Release, Version]]:
    for release in releases:
        try:
            yield release, Version(release.version)
        except InvalidVersion:
            continue
