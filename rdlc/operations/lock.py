"""Freeze a run spec into a run lock."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rdlc.core.document import LOCK_LIMIT_BYTES, SPEC_LIMIT_BYTES
from rdlc.core.lockfile import RunLock, read_lock, write_lock
from rdlc.errors import InputError, RdlcError
from rdlc.operations.data_source import DataSource
from rdlc.operations.infra_ports import InfraTools
from rdlc.operations.lock_image import Images, LockedImage
from rdlc.operations.lock_infra import LockedInfra
from rdlc.operations.lock_packages import LockedPackages
from rdlc.operations.package_source import PackageSource
from rdlc.operations.reporting import Reporter
from rdlc.operations.resolve import Asked, read_run_spec, resolve
from rdlc.operations.wheelhouse import complete_wheelhouse, find_missing, wheelhouse_path
from rdlc.operations.workspace import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class LockRequest:
    """What `rdlc lock` was asked; `replacements` maps a distribution that may be replaced to the reason."""

    spec: Path
    output: Path | None
    settings: Mapping[str, str]
    like: Path | None
    is_check: bool
    tool: str
    upgrades: frozenset[str] = frozenset()
    replacements: Mapping[str, str] = field(default_factory=dict)
    bind: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LockResult:
    """The lock, where it stands, and what became of each section: `new`, `same` or `changed`.

    `is_unchanged` says that the file was byte for byte this lock already.
    """

    lock: RunLock
    path: Path
    is_written: bool
    is_unchanged: bool
    fates: Mapping[str, str]
    like_fates: Mapping[str, str]
    image: LockedImage | None
    packages: LockedPackages | None = None
    infra: LockedInfra | None = None
    project: Path = Path()


def lock_spec(
    request: LockRequest,
    *,
    workspace: Workspace,
    reporter: Reporter,
    images: Images | None = None,
    index: PackageSource | None = None,
    infra: InfraTools | None = None,
    data: DataSource | None = None,
) -> LockResult:
    """Resolves a run spec and writes its lock, or only compares with `is_check`.

    Of an intact lock the image and the extra packages of an unchanged request are kept; all else is
    read or derived again. The provenance is kept while the id is the same, so that locking again, also
    after the lock was committed or history squashed, changes no byte. `images` may be left out for a
    spec of target local, `index` for one without extra packages, `data` for one of generated data alone.
    """
    written = workspace.read(request.spec, limit_bytes=SPEC_LIMIT_BYTES, what="the run spec")
    spec = read_run_spec(written, name=str(request.spec), settings=request.settings)
    project = workspace.find_project(request.spec.resolve().parent, Path.cwd())
    if project is None:
        project = request.spec.resolve().parent
    path = request.output or project / "lock" / f"{spec.run.name}.lock.yaml"
    existing, before, is_intact = _read_existing(path, workspace, reporter)
    kept = existing if is_intact else None
    like = _read_like(request.like, workspace)
    asked = Asked(
        project=project,
        previous=like or kept,
        upgrades=request.upgrades,
        tool=request.tool,
        replacements=request.replacements,
        bind=request.bind,
    )
    resolved = resolve(
        spec, asked, workspace=workspace, images=images, reporter=reporter, index=index, infra=infra, data=data
    )
    lock = _keep_origins(resolved.lock, kept)
    if request.settings and request.output is None and not request.is_check:
        _refuse_replacing(existing, lock, path)
    for name in workspace.editable_distributions():
        reporter.warn(f"`{name}` is installed as editable: its version is locked, its files are not")
    _warn_of_baseline(path, lock, workspace, reporter)
    new = _write_readable(lock)
    if resolved.packages and index is not None:
        _keep_wheelhouse(resolved.packages, path, request, workspace=workspace, source=index, reporter=reporter)
    is_written = False if request.is_check else workspace.write(path, new)
    return LockResult(
        lock=lock,
        path=path,
        is_written=is_written,
        is_unchanged=before == new,
        fates=_fates(lock, existing),
        like_fates=_fates(lock, like) if like else {},
        image=resolved.image,
        packages=resolved.packages,
        infra=resolved.infra,
        project=project,
    )


def _keep_origins(lock: RunLock, kept: RunLock | None) -> RunLock:
    """The lock with the provenance of an earlier one of the same id."""
    if kept is None or kept.id != lock.id:
        return lock
    # Not of image, packages and infra: they may have been looked for elsewhere, or deeper.
    found = lock.provenance
    origins = replace(kept.provenance, image=found.image, packages=found.packages, infra=found.infra)
    return replace(lock, provenance=origins)


def _keep_wheelhouse(
    packages: LockedPackages,
    path: Path,
    request: LockRequest,
    *,
    workspace: Workspace,
    source: PackageSource,
    reporter: Reporter,
) -> None:
    """The locked files beside the lock, before the lock is: it never stands there without them."""
    if packages.section.requested.install != "wheelhouse":
        return
    folder = wheelhouse_path(path)
    if not request.is_check:
        complete_wheelhouse(packages, folder, workspace=workspace, source=source, reporter=reporter)
    elif missing := find_missing(packages, folder, workspace):
        names = ", ".join(f"`{extra.file}`" for extra in missing)
        reporter.warn(f"the wheelhouse `{folder.name}` lacks {names}; `rdlc lock {request.spec}` fills it")


def baseline_path(lock: Path) -> Path:
    """Where the baseline of a lock stands: beside it."""
    stem = lock.name.removesuffix(".yaml").removesuffix(".lock")
    return lock.with_name(f"{stem}.baseline.yaml")


def _refuse_replacing(existing: RunLock | None, lock: RunLock, path: Path) -> None:
    """A value for a sweep must not take the place of the lock that the spec alone gives."""
    if existing is not None and existing.id != lock.id:
        raise RdlcError(
            "`--set` would replace a lock that stands there already",
            file=str(path),
            hint="name another file: `-o lock/OTHER.lock.yaml`",
        )


def _warn_of_baseline(path: Path, lock: RunLock, workspace: Workspace, reporter: Reporter) -> None:
    baseline = baseline_path(path)
    if not baseline.is_file():
        return
    data = workspace.read(baseline, limit_bytes=LOCK_LIMIT_BYTES, what="the baseline")
    if lock.id.encode() not in data:
        reporter.warn(
            f"the baseline `{baseline.name}` belongs to another lock id; `rdlc run LOCK --rebaseline` makes a new one"
        )


def _write_readable(lock: RunLock) -> bytes:
    """The bytes of the lock; raises RdlcError if an image holds text that no lock can."""
    data = write_lock(lock)
    try:
        read_lock(data, name="lock")
    except InputError as error:
        raise RdlcError(f"cannot be written in a lock: {error.message}", field=error.field) from error
    return data


def _read_existing(path: Path, workspace: Workspace, reporter: Reporter) -> tuple[RunLock | None, bytes, bool]:
    """The lock at the output, its bytes, and whether it is intact; None if there is none, or one that is broken."""
    if not path.exists():
        return None, b"", False
    data = workspace.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the existing lock")
    if b"rdlc/run-lock/" not in data[:4096]:
        raise InputError("the output exists and is not a run lock: it is left alone", file=str(path))
    try:
        read = read_lock(data, name=str(path))
    except InputError as error:
        if error.field == "schema":
            raise
        reporter.warn(f"the existing lock cannot be read, all is resolved anew: {error.message} ({error.file})")
        return None, data, False
    if read.findings:
        finding = read.findings[0]
        reporter.warn(
            "the existing lock was changed by hand or by a merge, all is resolved anew: "
            f"section `{finding.section}`: {finding.message} ({finding.file})"
        )
    return read.lock, data, not read.findings


def _read_like(path: Path | None, workspace: Workspace) -> RunLock | None:
    if path is None:
        return None
    data = workspace.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the lock given with --like")
    read = read_lock(data, name=str(path))
    if read.findings:
        raise RdlcError(
            f"is not intact: section `{read.findings[0].section}`",
            file=read.findings[0].file,
            hint=f"`rdlc verify {path}`",
        )
    return read.lock


def _fates(lock: RunLock, other: RunLock | None) -> dict[str, str]:
    if other is None:
        return dict.fromkeys(lock.digests, "new")
    return {name: "same" if other.digests.get(name) == digest else "changed" for name, digest in lock.digests.items()}
