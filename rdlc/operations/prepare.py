"""Before a run: the lock, what it would run here, and whether that is what was locked."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rdlc.core.baseline import Baseline, read_baseline
from rdlc.core.data.files import DataFolders
from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.drift import ABSENT, DRIFTING, find_code_drift, find_drift, mend_environment
from rdlc.core.infra.price_table import Price
from rdlc.core.lockfile import RunLock, read_lock
from rdlc.core.record import Drift
from rdlc.core.sections import CodeSection, DataSection
from rdlc.errors import InputError, RdlcError
from rdlc.operations.data_source import DataSource
from rdlc.operations.lock import baseline_path
from rdlc.operations.machine import Machine
from rdlc.operations.reporting import Reporter
from rdlc.operations.resolve import Asked, read_run_spec, resolve
from rdlc.operations.run_data import fetch_data, look_at_data
from rdlc.operations.run_packages import find_wheels, refuse_without_installer, warn_of_yanked


class DriftRefused(RdlcError):
    """The machine is not what was locked; `drift` says where, `mends` the way back where one is known."""

    def __init__(self, message: str, *, drift: Sequence[Drift], mends: Mapping[str, str]) -> None:
        super().__init__(message)
        self.drift = tuple(drift)
        self.mends = dict(mends)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """What `rdlc run` or `rdlc replay` was asked; `allow` maps a section to the reason.

    `price` is what all nodes of the run cost, None where nobody said. `is_detached` leaves a job on a cluster to
    itself once it is submitted. `targets` are those that the caller can run.
    """

    given: Path
    kind: str
    is_rebaseline: bool
    allow: Mapping[str, str]
    settings: Mapping[str, str]
    tool: str
    price: Price | None = None
    is_detached: bool = False
    targets: tuple[str, ...] = ("local",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A run that may start. `baseline_path` is None when a spec is run: it has no lock beside it.

    `wheels` is the wheelhouse of extra packages, None where they come from an index; `folders` are where
    weights and text lie.
    """

    lock: RunLock
    project: Path
    code: CodeSection
    drift: tuple[Drift, ...]
    baseline: Baseline | None
    baseline_path: Path | None
    is_rebaseline: bool = False
    wheels: Path | None = None
    folders: DataFolders = field(default_factory=DataFolders)
    price: Price | None = None

    @property
    def runs(self) -> Path:
        """The folder of all records."""
        return self.project / "runs"


def prepare(request: RunRequest, *, machine: Machine, reporter: Reporter, data: DataSource | None = None) -> Prepared:
    """Reads the lock (or locks a spec), compares the machine with it, and refuses on drift.

    Weights and text that lie elsewhere are fetched; `data` may be None where there are none.
    """
    given = machine.read(request.given, limit_bytes=LOCK_LIMIT_BYTES, what="the run lock")
    for section in request.allow:
        if section not in DRIFTING:
            known = ", ".join(f"`{name}`" for name in DRIFTING)
            raise InputError(f"`--allow-drift {section}`: only these sections can drift: {known}")
    project = machine.find_project(request.given.resolve().parent, Path.cwd())
    project = project or request.given.resolve().parent
    _refuse_path(project)
    if b"rdlc/run-lock/" not in given[:4096] and b"rdlc/run-spec/" in given:
        return _prepare_spec(request, given, project, machine, reporter, data)
    if request.settings:
        raise InputError(
            "`--set` changes a run spec, and this is a lock", file=str(request.given),
            hint="`rdlc lock SPEC --set PATH=VALUE`",
        )  # fmt: skip
    read = read_lock(given, name=str(request.given))
    if read.findings:
        finding = read.findings[0]
        raise RdlcError(
            f"the lock is not intact: section `{finding.section}`: {finding.message}",
            file=finding.file,
            hint=f"`rdlc verify {request.given}`",
        )
    _refuse_target(read.lock.sections.run.requested.target, request)
    path = baseline_path(request.given)
    baseline = _read_baseline(path, read.lock, request, machine)
    if request.kind == "replay" and baseline is None:
        _refuse_without_baseline(read.lock, path, request)
    code, found, drift = _compare(read.lock, project, machine, data)
    _refuse_drift(drift, request, read.lock, project, machine)
    if read.lock.sections.environment is not None:
        _refuse_missing(machine)
    refuse_without_installer(read.lock, machine)
    warn_of_yanked(read.lock, reporter)
    wheels = find_wheels(read.lock, request.given, machine)
    return Prepared(
        lock=read.lock,
        project=project,
        code=code,
        drift=drift,
        baseline=baseline,
        baseline_path=path,
        is_rebaseline=request.is_rebaseline,
        wheels=wheels,
        folders=fetch_data(found, project=project, source=data),
        price=request.price,
    )


def _refuse_path(project: Path) -> None:
    try:
        str(project).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            "the project's path is not UTF-8 text, so nothing can be run in it", file=str(project)
        ) from error


def _prepare_spec(
    request: RunRequest,
    written: bytes,
    project: Path,
    machine: Machine,
    reporter: Reporter,
    data: DataSource | None,
) -> Prepared:
    if request.kind != "run":
        raise InputError(
            "this is a run spec, and a run lock is due here",
            file=str(request.given),
            hint=f"`rdlc lock {request.given}`",
        )
    spec = read_run_spec(written, name=str(request.given), settings=request.settings)
    _refuse_target(spec.run.target, request)
    asked = Asked(project=project, previous=None, upgrades=frozenset(), tool=request.tool)
    lock = resolve(spec, asked, workspace=machine, images=None, reporter=reporter, data=data).lock
    _refuse_missing(machine)
    return Prepared(
        lock=lock,
        project=project,
        code=lock.sections.code,
        drift=(),
        baseline=None,
        baseline_path=None,
        folders=fetch_data(lock.sections.data, project=project, source=data),
        price=request.price,
    )


def _refuse_target(target: str, request: RunRequest) -> None:
    if target in request.targets:
        return
    if request.kind == "probe" or target == "local":
        why = "cannot probe it yet" if request.kind == "probe" else "runs it on this machine, not on a cluster"
        raise InputError(
            f"target `{target}` can be locked, and this version of rdlc {why}",
            file=str(request.given),
            field="run.requested.target",
        )
    raise InputError(
        f"target `{target}` runs on a cluster, and none is named",
        file=str(request.given),
        field="run.requested.target",
        hint=f"`rdlc {request.kind} {request.given} --namespace NS --manifest RAYCLUSTER.yaml`",
    )


def _read_baseline(path: Path, lock: RunLock, request: RunRequest, machine: Machine) -> Baseline | None:
    if not path.exists():
        return None
    data = machine.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the baseline")
    if request.is_rebaseline:
        return None
    baseline = read_baseline(data, name=str(path))
    if baseline.lock_id != lock.id:
        raise RdlcError(
            f"the baseline belongs to lock {baseline.lock_id}, and this lock is {lock.id}",
            file=str(path),
            hint=f"`rdlc run {request.given} --rebaseline` makes a new one",
        )
    return baseline


def _refuse_without_baseline(lock: RunLock, path: Path, request: RunRequest) -> None:
    claim = lock.sections.run.requested.claim
    if claim.startswith("outcome-"):
        raise RdlcError(
            f"the lock claims `{claim}`, and there is no baseline to compare with",
            file=str(path),
            hint=f"`rdlc run {request.given}` makes it",
        )


def _compare(
    lock: RunLock, project: Path, machine: Machine, source: DataSource | None
) -> tuple[CodeSection, DataSection, tuple[Drift, ...]]:
    sections = lock.sections
    root = project / sections.code.root
    code = CodeSection(
        root=sections.code.root,
        package=sections.code.package,
        files=machine.list_code(root, sections.code.package),
    )
    if sections.environment is None:
        # What else it runs in is the image, and the pods say which one that is.
        return code, sections.data, find_code_drift(sections, code)
    environment = machine.read_environment(threads_per_worker=sections.environment.threads_per_worker)
    data = look_at_data(sections.data, project=project, source=source)
    return code, data, find_drift(sections, code=code, environment=environment, data=data)


def _refuse_drift(drift: Sequence[Drift], request: RunRequest, lock: RunLock, project: Path, machine: Machine) -> None:
    refused = [item for item in drift if item.section not in request.allow]
    if not refused:
        return
    sections = list(dict.fromkeys(item.section for item in refused))
    mends = {}
    if "code" in sections and (command := _mend_code(lock, project, drift, machine)):
        mends["code"] = command
    changed = [item for item in refused if item.section == "environment"]
    if changed:
        mends["environment"] = mend_environment(changed) or "run it on a machine like the locked one"
    words = " and ".join(f"`{name}`" for name in sections)
    differ = "differs" if len(sections) == 1 else "differ"
    raise DriftRefused(f"{request.kind} refused: {words} {differ} from lock {lock.id}", drift=refused, mends=mends)


def _mend_code(lock: RunLock, project: Path, drift: Sequence[Drift], machine: Machine) -> str | None:
    code, git = lock.sections.code, lock.provenance.git
    root = project / code.root
    if git is not None and not (git.patch or git.patch_omitted or git.untracked):
        commit = machine.find_commit(root / code.package, tree=git.tree, first=git.commit)
        if commit is not None:
            return f"git worktree add ../{lock.name}-{commit[:12]} {commit}"
    if archive := machine.find_archive(project / "runs", lock.name, code.files):
        added = [str(root / d.address) for d in drift if d.section == "code" and d.locked == ABSENT]
        remove = f"rm {shlex.join(added)} && " if added else ""
        return f"{remove}tar -xf {shlex.quote(str(archive))} -C {shlex.quote(str(root))}"
    return None


def _refuse_missing(machine: Machine) -> None:
    missing = machine.missing_modules("ray", "torch", "transformers")
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise RdlcError(f"this Python lacks {names}", hint="python -m pip install 'rdlc[train]'")
