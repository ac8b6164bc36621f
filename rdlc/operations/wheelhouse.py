"""The wheelhouse beside a lock: its extra packages as files, for networks without an index."""

from pathlib import Path

from rdlc.core.packages.resolution import IndexFile
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.lock_packages import LockedPackages
from rdlc.operations.package_source import PackageSource
from rdlc.operations.reporting import Reporter
from rdlc.operations.upstream_packages import find_locked
from rdlc.operations.workspace import Workspace


def wheelhouse_path(lock: Path) -> Path:
    """Where the wheelhouse of a lock is: the folder `<stem>.wheels` beside it."""
    stem = lock.name.removesuffix(".yaml").removesuffix(".lock")
    return lock.with_name(f"{stem}.wheels")


def complete_wheelhouse(
    packages: LockedPackages, folder: Path, *, workspace: Workspace, source: PackageSource, reporter: Reporter
) -> None:
    """Puts each locked file into the folder that is not there with its bytes; asks for nothing if all are."""
    missing = find_missing(packages, folder, workspace)
    if not missing:
        return
    index = packages.section.requested.index
    files = [packages.files.get(extra.file) or _find(extra, source, index) for extra in missing]
    source.fill_wheelhouse(folder, files)
    count = f"{len(files)} file{'' if len(files) == 1 else 's'}"
    reporter.note(f"{count} put into the wheelhouse `{folder.name}`, which travels with the lock")


def find_missing(packages: LockedPackages, folder: Path, workspace: Workspace) -> list[LockedPackage]:
    """The extras whose file is not in the folder, or has other bytes there."""
    return lacking(packages.section, folder, workspace)


def lacking(section: PackagesSection, folder: Path, workspace: Workspace) -> list[LockedPackage]:
    """The extras of a section whose file is not in the folder, or has other bytes there."""
    held = workspace.hash_files(folder) if folder.is_dir() else {}
    return [extra for extra in section.extras if f"sha256:{held.get(extra.file)}" != extra.sha256]


def _find(extra: LockedPackage, source: PackageSource, index: str) -> IndexFile:
    """Where the index has a locked file; without an index only the cache can have it."""
    cached = IndexFile(name=extra.file, url="", size=extra.size, sha256=extra.sha256, yanked=None)
    try:
        releases = source.releases(extra.name, index=index)
    except OutsideError as error:
        try:
            source.fetch_all((cached,))
        except RdlcError:
            raise error from None
        return cached
    file = find_locked(extra, releases)
    if file is None or file.sha256 not in (None, extra.sha256):
        gone = "no longer has it" if file is None else "has other bytes under its name"
        raise RdlcError(
            f"`{extra.file}` is not in the wheelhouse, and the index {gone}",
            field="packages",
            hint=f"`rdlc lock SPEC --upgrade packages:{extra.name}`",
        )
    return IndexFile(name=file.name, url=file.url, size=file.size, sha256=extra.sha256, yanked=file.yanked)
