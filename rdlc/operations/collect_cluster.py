"""A record, without a lock, of a run on a RayCluster that rdlc did not start."""

from dataclasses import dataclass
from pathlib import Path

from rdlc.core.kube.describe import describe_cluster, record_cluster
from rdlc.core.kube.foreign import check_foreign
from rdlc.core.kube.sightings import Sightings
from rdlc.core.lockfile import Finding
from rdlc.core.record import Check, RunRecord, write_record
from rdlc.core.text import one_line
from rdlc.core.transport.report import TransportReport
from rdlc.errors import RdlcError
from rdlc.operations.collect_logs import NO_PROCESSES, NOTHING_DUE, Collector
from rdlc.operations.look_cluster import Eyes, Look, look
from rdlc.operations.pod_logs import PodLogs, keep_pod_logs
from rdlc.operations.reporting import Reporter
from rdlc.operations.sightings import AFTER, keep_sighting, read_sightings
from rdlc.operations.transport_proof import Evidence, prove_logs


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRequest:
    """What `rdlc collect raycluster/NAME` was asked: which RayCluster, and the folder of all records."""

    cluster: str
    namespace: str
    name: str
    runs: Path
    tool: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedCluster:
    """The record that was made; `job` is the Ray job whose workers' logs count, "" for all of them."""

    record: RunRecord
    report: TransportReport
    path: Path
    logs: PodLogs
    job: str

    @property
    def wrong(self) -> tuple[Check, ...]:
        """What is shown not to be one cluster."""
        return tuple(check for check in self.record.checks if check.is_met is False)


def collect_cluster(
    request: ClusterRequest, *, eyes: Eyes, collector: Collector, reporter: Reporter
) -> CollectedCluster:
    """Keeps what the pods are and what their logs say of NCCL, and judges both.

    Raises RdlcError if there is no such RayCluster or none of its pods can be seen.
    """
    started = collector.clock()
    seen = look(eyes, namespace=request.namespace, name=request.cluster, time=started)
    if not seen.seen.pods:
        raise RdlcError(
            f"RayCluster `{request.cluster}` has no pods",
            hint=f"`kubectl describe raycluster {request.cluster} -n {request.namespace}`",
        )
    stamp = started.replace("-", "").replace(":", "")
    folder = collector.create_record(request.runs, request.name, f"{stamp}-collected")
    try:
        collected = _collect(request, seen, folder.path, eyes, collector, reporter)
    except BaseException:
        collector.discard(folder)
        raise
    folder.close(is_settled=True)
    return collected


def _collect(
    request: ClusterRequest, found: Look, path: Path, eyes: Eyes, collector: Collector, reporter: Reporter
) -> CollectedCluster:
    seen = found.seen
    sightings = Sightings(after=seen)
    keep_sighting(path, AFTER, seen, collector)
    job = found.jobs[-1] if found.jobs else None
    logs = keep_pod_logs(seen, job, path, eyes=eyes, collector=collector, reporter=reporter)
    report = prove_logs(path, NOTHING_DUE, collector)
    jobs = {"Ray job": one_line(f"{job.submission_id or job.job_id} ({job.status})")} if job else {}
    record = RunRecord(
        id=path.name,
        kind="collect",
        name=request.name,
        lock_id="",
        tool=request.tool,
        status="collected",
        claim="recorded",
        level="recorded",
        started=seen.time,
        ended=collector.clock(),
        token=NO_PROCESSES,
        accepted={},
        checks=check_foreign(seen),
        observed={**describe_cluster(sightings), **jobs, **logs.kept, **logs.lost},
        transport=report,
        cluster=record_cluster(sightings, ()),
        files=collector.hash_files(path),
    )
    collector.write(path / "record.json", write_record(record))
    return CollectedCluster(record=record, report=report, path=path, logs=logs, job=job.job_id if job else "")


def check_collected_cluster(record: RunRecord, path: Path, files: Evidence) -> list[Finding]:
    """What a collected record says of its cluster and the files in it do not."""
    sightings = read_sightings(path, files)
    checks = () if sightings.last is None else check_foreign(sightings.last)
    if (checks, record_cluster(sightings, ())) == (record.checks, record.cluster):
        return []
    message = "what was seen of the cluster gives other checks than the record holds"
    return [Finding(section="checks", file=str(path / "cluster"), message=message)]
