"""Run a lock on a cluster: a RayCluster of its own, the job in its head pod, its files, and nothing left behind."""

from collections.abc import Mapping
from pathlib import Path

from rdlc.core.kube.planned import ClusterPlan
from rdlc.core.record import RunRecord
from rdlc.errors import RdlcError
from rdlc.operations.attend import attend
from rdlc.operations.cluster_site import Detached, Site
from rdlc.operations.cluster_start import start
from rdlc.operations.prepare import Prepared, RunRequest
from rdlc.operations.recording import in_record
from rdlc.operations.run import RunResult


def execute_on_cluster(request: RunRequest, prepared: Prepared, plan: ClusterPlan, *, site: Site) -> RunResult:
    """Runs the lock on a cluster and records it; raises Detached when the user leaves it to itself.

    A cluster that never comes up is taken away again, and the error says why it did not.
    """

    if names := prepared.lock.sections.run.requested.secrets:
        raise RdlcError(
            f"the lock asks for {len(names)} secrets, and this version of rdlc cannot bring them into pods",
            hint="put them into the manifest as `valueFrom.secretKeyRef`",
        )

    packages = prepared.lock.sections.packages
    if packages is not None and packages.extras:
        raise RdlcError(
            "the lock has extra packages, and this version of rdlc cannot install them on a cluster",
            hint="put them into the image: `rdlc lock` with `image.base`",
        )

    def work(record: RunRecord, path: Path, _: Mapping[str, str]) -> RunResult:
        run, pods = start(prepared, plan, record, path, site)
        if request.is_detached:
            raise Detached(run, path, f"{request.kind} {request.given}")
        return attend(request, prepared, record, path, run, pods, site=site)

    return in_record(request, prepared, work, machine=site.machine, reporter=site.reporter)
