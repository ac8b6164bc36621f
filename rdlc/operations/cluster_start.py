"""Start a run on a cluster: its RayCluster, the code in every pod, the job."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rdlc.core.canonical import Json
from rdlc.core.kube.answers import ALREADY_EXISTS, ClusterRefused
from rdlc.core.kube.planned import ClusterPlan, count_pods, named
from rdlc.core.kube.pod_folder import folder, start_script, submit_command
from rdlc.core.kube.pod_states import PodState
from rdlc.core.kube.started import CREATED, FILE, SUBMITTED, StartedRun, cluster_name, write_started
from rdlc.core.launch import recipe_config
from rdlc.core.record import RunRecord
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.cluster_files import push_code, push_file
from rdlc.operations.cluster_site import Site, places, take_away
from rdlc.operations.cluster_wait import RAYCLUSTERS, Awaited, wait_for_pods
from rdlc.operations.prepare import Prepared
from rdlc.operations.recording import settle_interrupted
from rdlc.operations.run import config_bytes
from rdlc.operations.sight import sight

_SUBMIT_LIMIT_S = 300.0
_CODE_LIMIT_BYTES = 256 << 20


def start(
    prepared: Prepared, plan: ClusterPlan, record: RunRecord, path: Path, site: Site
) -> tuple[StartedRun, tuple[PodState, ...]]:
    """Makes the RayCluster, waits for it, brings the code and submits the job."""
    lock, machine = prepared.lock, site.machine
    name = cluster_name(lock.name, record.token[:8])
    raycluster = named(plan.raycluster, name, namespace=plan.namespace)
    machine.pack_code(prepared.project / prepared.code.root, prepared.code.files, path / "shipped.tar")
    config = recipe_config(lock, run_name=record.id, scratch=f"{folder(name)}/ray")
    if "code" in record.accepted:
        config["code_digest"] = prepared.code.digest
    machine.write(path / "config.json", config_bytes(config))
    run = StartedRun(
        context=plan.context,
        namespace=plan.namespace,
        name=name,
        uid=_create(raycluster, name, plan, site),
        module=lock.sections.recipe.requested.module,
        stage=CREATED,
    )
    machine.write(path / FILE, write_started(run))
    site.reporter.note(f"RayCluster {name} is made in namespace {plan.namespace}")
    try:
        awaited = Awaited(namespace=plan.namespace, name=name, pods_due=count_pods(raycluster))
        pods = wait_for_pods(
            awaited, cluster=site.cluster, patience=plan.patience, clock=site.clock, listener=site.listener
        )
        sight(path, "before", run, raycluster, cluster=site.cluster, machine=machine, reporter=site.reporter)
        _submit(prepared, raycluster, run, pods, path, site)
    except KeyboardInterrupt:
        take_away(run, site=site)
        settle_interrupted(record, path, machine=machine)
    except BaseException:
        take_away(run, site=site)
        raise
    submitted = replace(run, stage=SUBMITTED)
    machine.write(path / FILE, write_started(submitted))
    return submitted, pods


def _create(raycluster: Mapping[str, Json], name: str, plan: ClusterPlan, site: Site) -> str:
    try:
        made = site.cluster.create(raycluster, kind=RAYCLUSTERS, namespace=plan.namespace)
    except ClusterRefused as error:
        if error.reason == ALREADY_EXISTS:
            hint = f"`kubectl get raycluster {name} -n {plan.namespace}`"
            raise RdlcError(f"there is a RayCluster `{name}` already, and pods are never shared", hint=hint) from error
        raise
    metadata = made.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
    if not isinstance(uid, str) or not uid:
        raise OutsideError("the cluster gave the new RayCluster no uid")
    return uid


def _submit(
    prepared: Prepared,
    raycluster: Mapping[str, Json],
    run: StartedRun,
    pods: tuple[PodState, ...],
    path: Path,
    site: Site,
) -> None:
    cluster, machine = site.cluster, site.machine
    archive = machine.read(path / "shipped.tar", limit_bytes=_CODE_LIMIT_BYTES, what="the code")
    everywhere = places(raycluster, pods, run.namespace)
    push_code(everywhere, run.name, archive, prepared.code.files, cluster=cluster)
    site.reporter.note(f"the code lies in {len(everywhere)} pods, each compared by sha256")
    head, top = everywhere[0], folder(run.name)
    config = machine.read(path / "config.json", limit_bytes=_CODE_LIMIT_BYTES, what="the config")
    push_file(head, f"{top}/config.json", config, cluster=cluster)
    script = start_script(run.name, run.module).encode("ascii")
    push_file(head, f"{top}/start.sh", script, cluster=cluster)
    said = bytearray()
    for attempt in range(3):
        end = cluster.exec(head, submit_command(run.name), stdout=said.extend, limit_s=_SUBMIT_LIMIT_S)
        told = one_line(f"{said.decode('utf-8', 'replace')} {end.told}".strip()[-400:], limit=400)
        # The name is ours alone: a job that has it is this one, sent before the stream broke.
        if end.exit_code == 0 or (attempt and "already exists" in told):
            site.reporter.note(f"job {run.name} is submitted")
            return
        if end.exit_code is not None:
            raise RdlcError(f"Ray does not take the job: {told}")
    raise OutsideError(f"the stream to pod `{head.pod}` broke while the job was submitted: {told}")
