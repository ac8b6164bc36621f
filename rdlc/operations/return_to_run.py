"""Come back to a run that was left on a cluster: attach to it again, or collect what there is of it."""

from dataclasses import dataclass
from pathlib import Path

from rdlc.core.kube.started import FILE, LIMIT_BYTES, SUBMITTED, StartedRun, read_started
from rdlc.core.lockfile import read_lock
from rdlc.core.record import LIMIT_BYTES as RECORD_LIMIT_BYTES
from rdlc.core.record import RunRecord, read_record
from rdlc.errors import InputError, RdlcError
from rdlc.operations.attend import attend, live_cluster, settle, take_over
from rdlc.operations.cluster_files import fetch_files
from rdlc.operations.cluster_job import Followed, PodStream, verdict
from rdlc.operations.cluster_site import Site, places
from rdlc.operations.cluster_wait import list_pods
from rdlc.operations.prepare import Prepared, RunRequest
from rdlc.operations.run import RunResult
from rdlc.operations.workspace import Workspace

_LOCK_LIMIT_BYTES = 64 << 20
_ANSWER_LIMIT_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftRun:
    """A record, and where its run is."""

    record: RunRecord
    path: Path
    run: StartedRun


def read_left_run(path: Path, workspace: Workspace) -> LeftRun:
    """The run of a record that was left on a cluster; raises InputError or RdlcError if there is none to go back to."""
    if not (path / FILE).is_file():
        raise InputError("this is no record of a run on a cluster", file=str(path), hint="`rdlc runs` lists them")
    data = workspace.read(path / FILE, limit_bytes=LIMIT_BYTES, what="where the run is")
    run = read_started(data, name=str(path / FILE))
    data = workspace.read(path / "record.json", limit_bytes=RECORD_LIMIT_BYTES, what="a record")
    record = read_record(data, name=str(path / "record.json"))
    if run.stage != SUBMITTED or record.status != "running":
        raise RdlcError(f"this run is over: {record.status}", file=str(path), hint=f"`rdlc verify {path}`")
    return LeftRun(record=record, path=path, run=run)


def resume(request: RunRequest, prepared: Prepared, left: LeftRun, *, site: Site) -> RunResult:
    """Follows a job that was left; raises Detached when it is left once more."""
    if left.record.lock_id != prepared.lock.id:
        raise RdlcError(f"the record is of lock {left.record.lock_id}, and this is {prepared.lock.id}")
    with take_over(left.path, site):
        pods = list_pods(site.cluster, namespace=left.run.namespace, name=left.run.name)
        return attend(request, prepared, left.record, left.path, left.run, pods, site=site)


def collect_run(left: LeftRun, *, project: Path, tool: str, site: Site) -> RunResult | None:
    """Judges a run whose job has ended and takes its cluster away; None if it still goes on.

    Of a job that goes on, what there is so far is brought, and nothing is changed.
    """
    run, path = left.run, left.path
    data = site.machine.read(path / "lock.yaml", limit_bytes=_LOCK_LIMIT_BYTES, what="the run lock")
    lock = read_lock(data, name=str(path / "lock.yaml")).lock
    prepared = Prepared(
        lock=lock, project=project, code=lock.sections.code, drift=left.record.drift, baseline=None, baseline_path=None
    )
    request = RunRequest(
        given=path / "lock.yaml", kind=left.record.kind, is_rebaseline=False, allow=left.record.accepted, settings={},
        tool=tool,
    )  # fmt: skip
    with take_over(path, site):
        raycluster = live_cluster(run, site)
        pods = list_pods(site.cluster, namespace=run.namespace, name=run.name)
        everywhere = places(raycluster, pods, run.namespace)
        followed = Followed(place=everywhere[0], uid=pods[0].uid, job=run.name, files={})
        stream = PodStream(followed, cluster=site.cluster, files=site.machine, clock=site.clock)
        deadline = site.machine.monotonic() + _ANSWER_LIMIT_S
        # A job that goes on gives a sign of life and no end.
        while stream.ended is None and not stream.is_alive and site.machine.monotonic() < deadline:
            stream.pump()
            site.machine.sleep(0.1)
        stream.close()
        if stream.ended is None:
            lost = fetch_files(everywhere, run.name, path, cluster=site.cluster, parcels=site.machine.new_parcels())
            for pod, why in lost.items():
                site.reporter.warn(f"the files of pod {pod} could not be collected: {why}")
            return None
        return settle(request, prepared, left.record, path, run, raycluster, (verdict(stream.ended), ""), site=site)
