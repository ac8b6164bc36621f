"""Attend a job that was submitted to a cluster: follow it, bring its files, judge it, take its cluster away."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rdlc.core.canonical import Json
from rdlc.core.kube.planned import first_worker
from rdlc.core.kube.pod_folder import DRIVER_LOG, RECORD, folder
from rdlc.core.kube.pod_states import PodState
from rdlc.core.kube.started import ENDED, FILE, StartedRun, write_started
from rdlc.core.record import RunRecord
from rdlc.core.transport.judged import describe_judgement
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.cluster_files import fetch_files
from rdlc.operations.cluster_job import ClusterJob, Ended, Followed, PodStream
from rdlc.operations.cluster_site import Detached, Site, places, take_away, ways_on
from rdlc.operations.cluster_wait import RAYCLUSTERS, list_pods
from rdlc.operations.follow import Following, follow, limits_in_seconds
from rdlc.operations.prepare import Prepared, RunRequest
from rdlc.operations.run import RunResult, close_record
from rdlc.operations.sight import sight

_METRICS, _PHASES = "metrics.jsonl", "phases.jsonl"


def attend(
    request: RunRequest,
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    run: StartedRun,
    pods: tuple[PodState, ...],
    *,
    site: Site,
) -> RunResult:
    """Follows the job to its end and closes the record; raises Detached on Ctrl-C."""
    raycluster = live_cluster(run, site)
    try:
        end, reason, gone = _follow(prepared, record, path, run, raycluster, pods, site)
    except KeyboardInterrupt:
        raise Detached(run, path, f"{request.kind} {request.given}") from None
    except OutsideError as error:
        raise OutsideError(
            "\n".join(
                (
                    f"{error.message}; how the job goes is not known",
                    *ways_on(run, path, f"{request.kind} {request.given}"),
                )
            )
        ) from error
    return settle(request, prepared, record, path, run, raycluster, (end, reason or gone), site=site)


def settle(
    request: RunRequest,
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    run: StartedRun,
    raycluster: Mapping[str, Json],
    ended: tuple[Ended, str],
    *,
    site: Site,
) -> RunResult:
    """Brings the files of a job that has ended, judges it, and takes its cluster away."""
    pods = list_pods(site.cluster, namespace=run.namespace, name=run.name)
    sight(path, "after", run, raycluster, cluster=site.cluster, machine=site.machine, reporter=site.reporter)
    lost = fetch_files(
        places(raycluster, pods, run.namespace),
        run.name,
        path,
        cluster=site.cluster,
        parcels=site.machine.new_parcels(),
    )
    for pod, why in lost.items():
        site.reporter.warn(f"the files of pod {pod} could not be collected: {why}")
    observed = {
        "cluster": f"RayCluster {run.name} in namespace {run.namespace}",
        **{f"files of pod {pod}": why for pod, why in lost.items()},
    }
    record = replace(record, observed={**record.observed, **observed})
    end, reason = ended
    site.machine.write(path / FILE, write_started(replace(run, stage=ENDED)))
    result = close_record(request, prepared, record, path, end, reason, site.machine)
    tell_verdict(run, result, site=site)
    if lost:
        # What could not be collected is still there, as long as the cluster is.
        site.reporter.warn("\n".join(("its cluster is kept", *ways_on(run, path, "")[2:])))
    else:
        take_away(run, site=site)
    return result


def tell_verdict(run: StartedRun, result: RunResult, *, site: Site) -> None:
    """Writes what its transport was onto the RayCluster, as an annotation and as an Event."""
    report = result.record.transport
    if report is None:
        return
    judged = report.judged
    words = describe_judgement(judged)
    reason = "TransportProven" if judged.is_fine else "WrongTransport" if judged.is_alarming else "TransportUnproven"
    about = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": run.name, "uid": run.uid}
    now = site.machine.clock()
    event: Mapping[str, Json] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{run.name}-", "namespace": run.namespace},
        "involvedObject": {**about, "namespace": run.namespace},
        "type": "Normal" if judged.is_fine else "Warning",
        "reason": reason,
        "message": words,
        "source": {"component": "rdlc"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    values = {"rdlc/transport": words, "rdlc/transport-verdict": reason, "rdlc/record": result.record.id}
    try:
        site.cluster.annotate(RAYCLUSTERS, run.name, values, namespace=run.namespace)
        site.cluster.create(event, kind="events", namespace=run.namespace)
    except RdlcError as error:
        site.reporter.note(f"the verdict on the transport could not be written onto the RayCluster: {error.message}")


@contextmanager
def take_over(path: Path, site: Site) -> Iterator[None]:
    """Holds the record of a run that is gone back to, so that nobody else writes it; raises RdlcError if one does."""
    folder = site.machine.hold_record(path)
    try:
        yield
    finally:
        folder.close(is_settled=True)


def live_cluster(run: StartedRun, site: Site) -> Mapping[str, Json]:
    """The RayCluster of a run as it is now; raises RdlcError if it is gone, or another has its name."""
    live = site.cluster.get(RAYCLUSTERS, run.name, namespace=run.namespace)
    metadata = live.get("metadata") if live else None
    if live is None or not isinstance(metadata, Mapping) or metadata.get("uid") != run.uid:
        raise RdlcError(f"RayCluster `{run.name}` is gone from namespace `{run.namespace}`, and its job with it")
    return live


def _follow(
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    run: StartedRun,
    raycluster: Mapping[str, Json],
    pods: tuple[PodState, ...],
    site: Site,
) -> tuple[Ended, str, str]:
    """How the job ended, why it was ended, and what became of its pods if they are gone."""
    streams = _streams(path, run, raycluster, pods, site)
    head = places(raycluster, pods, run.namespace)[0]
    job = ClusterJob(streams, place=head, job=run.name, cluster=site.cluster, clock=site.clock)
    following = Following(
        job=job,
        metrics=site.machine.tail(path / _METRICS),
        phases=site.machine.tail(path / _PHASES),
        limits_s=limits_in_seconds(prepared.lock.sections.run.requested.limits),
        steps_total=record.steps_total,
        check_warm=lambda: "",
        monotonic=site.machine.monotonic,
        sleep=site.machine.sleep,
    )
    try:
        end, reason = follow(following, site.listener)
    finally:
        job.close()
    if job.breaks:
        times = "once" if job.breaks == 1 else f"{job.breaks} times"
        site.reporter.note(
            f"the stream broke {times} and was taken up again, with no line lost or repeated: {job.last_break}"
        )
    return Ended(reason=end.reason, exit_status=end.exit_status, signal=end.signal), reason, job.gone


def _streams(
    path: Path, run: StartedRun, raycluster: Mapping[str, Json], pods: tuple[PodState, ...], site: Site
) -> list[PodStream]:
    """The head's stream, and that of the pod of rank 0, which writes the steps."""
    inside = f"{folder(run.name)}/{RECORD}"
    everywhere = dict(zip((pod.name for pod in pods), places(raycluster, pods, run.namespace), strict=True))
    head, first = pods[0], first_worker(pods)
    own = {f"{inside}/{name}": path / name for name in (DRIVER_LOG, _PHASES)}
    steps = {f"{inside}/{_METRICS}": path / _METRICS}
    followed = [
        Followed(
            place=everywhere[head.name],
            uid=head.uid,
            job=run.name,
            files={**own, **steps} if head is first else own,
        )
    ]
    if head is not first:
        followed.append(Followed(place=everywhere[first.name], uid=first.uid, job="", files=steps))
    return [PodStream(each, cluster=site.cluster, files=site.machine, clock=site.clock) for each in followed]
