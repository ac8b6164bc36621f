"""Freeze a run spec into a run lock."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rdlc.core.determinism import worker_settings
from rdlc.core.document import LOCK_LIMIT_BYTES, SPEC_LIMIT_BYTES
from rdlc.core.lockfile import RunLock, read_lock, write_lock
from rdlc.core.provenance import GitState, Provenance
from rdlc.core.recipe_config import merge_config
from rdlc.core.secrets import find_secret
from rdlc.core.sections import (
    ClusterSection,
    CodeSection,
    DataSection,
    EnvironmentSection,
    RecipeSection,
    RunSection,
    Sections,
)
from rdlc.core.spec import RunSpec, read_spec
from rdlc.errors import InputError, RdlcError
from rdlc.operations.reporting import Reporter


class Workspace(Protocol):
    """What locking needs of the machine."""

    def read(self, path: Path, *, limit_bytes: int, what: str) -> bytes:
        """The bytes of a file; InputError if that cannot be."""
        ...

    def write(self, path: Path, data: bytes) -> bool:
        """Replaces a file in one step; False if nothing changed."""
        ...

    def find_project(self, *starts: Path) -> Path | None:
        """The project folder around the first start that has one."""
        ...

    def list_code(self, root: Path, package: str) -> dict[str, str]:
        """Shipped path to sha256 in hex."""
        ...

    def read_git_state(self, folder: Path, paths: tuple[str, ...], *, root: Path) -> GitState | None:
        """The git state of the shipped files."""
        ...

    def read_environment(self, *, threads_per_worker: int) -> EnvironmentSection:
        """The Python that would run it."""
        ...

    def editable_distributions(self) -> tuple[str, ...]:
        """Distributions whose files a version does not pin."""
        ...

    def now(self) -> str:
        """The time as `2026-11-30T12:00:00Z`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class LockRequest:
    """What `rdlc lock` was asked."""

    spec: Path
    output: Path | None
    settings: Mapping[str, str]
    like: Path | None
    is_check: bool
    tool: str


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


def lock_spec(request: LockRequest, *, workspace: Workspace, reporter: Reporter) -> LockResult:
    """Resolves a run spec and writes its lock, or only compares with `is_check`.

    Sections whose request is unchanged keep what they resolved to; code, recipe and environment are
    always read again. The provenance is kept while the id is the same, so that locking again, also
    after the lock was committed or history squashed, changes no byte.
    """
    data = workspace.read(request.spec, limit_bytes=SPEC_LIMIT_BYTES, what="the run spec")
    spec = read_run_spec(data, name=str(request.spec), settings=request.settings)
    project = workspace.find_project(request.spec.resolve().parent, Path.cwd())
    if project is None:
        project = request.spec.resolve().parent
    path = request.output or project / "lock" / f"{spec.run.name}.lock.yaml"
    existing, before = _read_existing(path, workspace)
    like = _read_like(request.like, workspace)
    lock = resolve(spec, project=project, previous=like or existing, tool=request.tool, workspace=workspace)
    if existing is not None and existing.id == lock.id:
        lock = replace(lock, provenance=existing.provenance)
    for name in workspace.editable_distributions():
        reporter.warn(f"`{name}` is installed as editable: its version is locked, its files are not")
    _warn_of_baseline(path, lock, workspace, reporter)
    new = write_lock(lock)
    is_written = False if request.is_check else workspace.write(path, new)
    return LockResult(
        lock=lock,
        path=path,
        is_written=is_written,
        is_unchanged=before == new,
        fates=_fates(lock, existing),
        like_fates=_fates(lock, like) if like else {},
    )


def baseline_path(lock: Path) -> Path:
    """Where the baseline of a lock stands: beside it."""
    stem = lock.name.removesuffix(".yaml").removesuffix(".lock")
    return lock.with_name(f"{stem}.baseline.yaml")


def read_run_spec(data: bytes, *, name: str, settings: Mapping[str, str]) -> RunSpec:
    """The run spec in the bytes of a file; a secret is refused before any message could repeat it."""
    _refuse_secrets(data, name)
    for address, text in settings.items():
        _refuse_secrets(text.encode("utf-8", "surrogateescape"), f"--set {address}")
    return read_spec(data, name=name, settings=settings)


def resolve(spec: RunSpec, *, project: Path, previous: RunLock | None, tool: str, workspace: Workspace) -> RunLock:
    """The lock of a spec: its sections read from the machine, its provenance from git and the clock."""
    root = _find_recipe_root(project, spec.recipe.package)
    code = CodeSection(
        root=root.relative_to(project).as_posix(),
        package=spec.recipe.package,
        files=workspace.list_code(root, spec.recipe.package),
    )
    sections = Sections(
        run=RunSection(requested=spec.run),
        environment=workspace.read_environment(threads_per_worker=spec.cluster.cpus_per_worker),
        cluster=_resolve_cluster(spec, previous),
        code=code,
        data=_resolve_data(spec, previous),
        recipe=_resolve_recipe(spec, root / spec.recipe.package, workspace),
    )
    _check_claim(spec)
    git = workspace.read_git_state(root / code.package, tuple(code.files), root=root)
    return RunLock(sections=sections, provenance=Provenance(created=workspace.now(), tool=tool, git=git))


def _warn_of_baseline(path: Path, lock: RunLock, workspace: Workspace, reporter: Reporter) -> None:
    baseline = baseline_path(path)
    if not baseline.is_file():
        return
    data = workspace.read(baseline, limit_bytes=LOCK_LIMIT_BYTES, what="the baseline")
    if lock.id.encode() not in data:
        reporter.warn(
            f"the baseline `{baseline.name}` belongs to another lock id; `rdlc run LOCK --rebaseline` makes a new one"
        )


def _find_recipe_root(project: Path, package: str) -> Path:
    roots = (project / "recipes", project)
    for root in roots:
        if (root / package).is_dir():
            return root
    tried = " nor ".join(f"`{root / package}`" for root in roots)
    raise InputError(
        f"the recipe folder `{package}` is neither {tried}",
        field="recipe.module",
        hint="`rdlc init DIR --target local` makes a folder with the recipe in it",
    )


def _resolve_cluster(spec: RunSpec, previous: RunLock | None) -> ClusterSection:
    if previous is not None:
        kept = previous.sections.cluster
        same_mode = previous.sections.recipe.requested.deterministic == spec.recipe.deterministic
        if kept.requested == spec.cluster and same_mode:
            return kept
    settings = worker_settings(spec.cluster, is_exact=spec.recipe.deterministic)
    return ClusterSection(requested=spec.cluster, nodes=1, settings=settings)


def _resolve_data(spec: RunSpec, previous: RunLock | None) -> DataSection:
    if previous is not None and previous.sections.data.requested == spec.data:
        return previous.sections.data
    shows_learning = spec.data["kind"] != "random-tokens"
    return DataSection(requested=spec.data, resolved={"source": "generated", "shows_learning": shows_learning})


def _resolve_recipe(spec: RunSpec, folder: Path, workspace: Workspace) -> RecipeSection:
    path = folder / spec.recipe.config
    data = workspace.read(path, limit_bytes=SPEC_LIMIT_BYTES, what="the recipe's config")
    _refuse_secrets(data, str(path))
    config = merge_config(data, name=str(path), overrides=spec.recipe.overrides)
    return RecipeSection(requested=spec.recipe, config=config, world_size=spec.cluster.workers)


def _check_claim(spec: RunSpec) -> None:
    if spec.run.claim == "outcome-bitwise" and not spec.recipe.deterministic:
        raise InputError(
            "`outcome-bitwise` cannot be claimed with `recipe.deterministic: false`",
            field="claim",
            hint="claim `execution`, or set `recipe.deterministic: true`",
        )


def _refuse_secrets(data: bytes, name: str) -> None:
    if secret := find_secret(data.decode("utf-8", "replace")):
        raise RdlcError(
            f"holds what looks like {secret.kind}",
            file=f"{name}:{secret.line}",
            hint="take it out, and name it: `secrets: [{name: NAME, from: env}]`",
        )


def _read_existing(path: Path, workspace: Workspace) -> tuple[RunLock | None, bytes]:
    """The lock at the output and its bytes; None if there is none, or one that is broken."""
    if not path.exists():
        return None, b""
    data = workspace.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the existing lock")
    if b"rdlc/run-lock/" not in data[:4096]:
        raise InputError("the output exists and is not a run lock: it is left alone", file=str(path))
    try:
        return read_lock(data, name=str(path)).lock, data
    except InputError as error:
        if error.field == "schema":
            raise
        return None, data


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
    return {name: "same" if other.digests[name] == digest else "changed" for name, digest in lock.digests.items()}
