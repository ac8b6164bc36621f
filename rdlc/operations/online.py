"""Is every locked thing still obtainable? Asked by digest alone: a tag is never a way out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.image.reference import ImageReference
from rdlc.core.lockfile import Finding, RunLock, read_lock
from rdlc.core.packages.section import PackagesSection
from rdlc.core.sections import DataSection
from rdlc.core.text import one_line
from rdlc.operations.data_source import DataSource
from rdlc.operations.lock_image import pinned_reference
from rdlc.operations.package_source import PackageSource
from rdlc.operations.upstream_data import remote_parts
from rdlc.operations.upstream_packages import find_locked, has_other_bytes
from rdlc.operations.workspace import Workspace


class Stores(Protocol):
    """Registries, as looking for locked things needs them."""

    def find_missing(
        self, reference: ImageReference, *, manifests: Sequence[str], blobs: Sequence[str]
    ) -> tuple[str, ...]:
        """All of these digests that the repository no longer has."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OnlineCheck:
    """How many locked things were asked for, and each one that is no longer there.

    `asked` is None, with the reason among the findings, where nothing could be asked. `warnings` tell
    of what is there, and should not be used for something new.
    """

    asked: int | None
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()


def check_online(
    lock_path: Path, *, workspace: Workspace, stores: Stores, index: PackageSource, data: DataSource | None = None
) -> OnlineCheck:
    """Asks for everything that a lock names by digest: an image down to its layers, extra packages, weights, text.

    For a lock that is not intact nothing is asked: what it names may not be what was locked.
    """
    written = workspace.read(lock_path, limit_bytes=LOCK_LIMIT_BYTES, what="the run lock")
    read = read_lock(written, name=str(lock_path))
    if read.findings:
        message = "not asked for online: the lock is not intact"
        finding = Finding(section=read.findings[0].section, file=str(lock_path), message=message)
        return OnlineCheck(asked=None, findings=(finding,))
    checks = [_check_image(read.lock, lock_path, stores)]
    if read.lock.sections.packages is not None:
        checks.append(_check_packages(read.lock.sections.packages, lock_path, index))
    if data is not None:
        checks.append(_check_data(read.lock.sections.data, lock_path, data))
    return OnlineCheck(
        asked=sum(check.asked or 0 for check in checks),
        findings=tuple(finding for check in checks for finding in check.findings),
        warnings=tuple(warning for check in checks for warning in check.warnings),
    )


def _check_image(lock: RunLock, lock_path: Path, stores: Stores) -> OnlineCheck:
    image, origin = lock.sections.image, lock.provenance.image
    if image is None or origin is None:
        return OnlineCheck(asked=0, findings=())
    manifests = tuple(dict.fromkeys(filter(None, (image.index_digest, image.manifest_digest))))
    blobs = tuple(dict.fromkeys((image.config_digest, *(layer.digest for layer in image.layers))))
    reference = pinned_reference(image, origin)
    missing = stores.find_missing(reference, manifests=manifests, blobs=blobs)
    findings = tuple(
        Finding(section="image", file=str(lock_path), message=f"`{reference.name}` no longer has {digest}")
        for digest in missing
    )
    return OnlineCheck(asked=len(manifests) + len(blobs), findings=findings)


def _check_packages(section: PackagesSection, lock_path: Path, index: PackageSource) -> OnlineCheck:
    """Each locked file must be listed with its bytes; one that was yanked still installs."""
    findings, warnings = [], []
    for extra in section.extras:
        file = find_locked(extra, index.releases(extra.name, index=section.requested.index))
        if file is None:
            findings.append(f"the index no longer has `{one_line(extra.file)}`")
        elif has_other_bytes(extra, file, index):
            findings.append(f"the index has other bytes under `{one_line(extra.file)}` than {extra.sha256}")
        elif file.yanked is not None:
            reason = f": {one_line(file.yanked)}" if file.yanked else ""
            warnings.append(f"`{one_line(extra.file)}` was yanked from the index{reason}; it still installs")
    return OnlineCheck(
        asked=len(section.extras),
        findings=tuple(Finding(section="packages", file=str(lock_path), message=message) for message in findings),
        warnings=tuple(warnings),
    )


def _check_data(section: DataSection, lock_path: Path, source: DataSource) -> OnlineCheck:
    """Each locked file must still be given; those of a folder are looked at by `run`."""
    asked, findings = 0, []
    for what, origin, locked in remote_parts(section):
        asked += len(locked.files)
        for name in source.find_missing(origin, locked, what=what):
            message = f"`{origin.place}` no longer gives `{one_line(name)}` as it was locked"
            findings.append(Finding(section="data", file=str(lock_path), message=message))
    return OnlineCheck(asked=asked, findings=tuple(findings))
