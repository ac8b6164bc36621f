"""What `rdlc run` and `rdlc replay` have in common on a cluster: their options, and how they are answered."""

import functools
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from rdlc.adapters.kubernetes.cluster import KubectlCluster
from rdlc.adapters.kubernetes.program import Kubectl, current_context
from rdlc.cli.cluster_progress import ClusterProgress
from rdlc.cli.cluster_wiring import LocalClusterMachine
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session
from rdlc.cli.running import answer_of, run_and_answer, show_refusal, terminable
from rdlc.core.kube.given_manifest import check_images, read_given_manifest
from rdlc.core.kube.planned import ClusterPlan
from rdlc.core.text import one_line
from rdlc.errors import InputError
from rdlc.operations.cluster_site import Detached, Site
from rdlc.operations.prepare import DriftRefused, Prepared, RunRequest, prepare
from rdlc.operations.return_to_run import read_left_run, resume
from rdlc.operations.run_cluster import execute_on_cluster

TARGETS = ("docker", "eks")
DETACHED = {"detached": "the job was submitted and goes on; the record says where"}
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MANIFEST_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterOptions:
    """Where a run goes, as the command line says it; `resume` is the record of a run to go back to."""

    namespace: str | None
    manifest: Path | None
    context: str
    kubeconfig: Path | None
    is_detached: bool
    resume: Path | None

    @property
    def is_asked(self) -> bool:
        """Whether the command line speaks of a cluster at all."""
        given = (self.namespace, self.manifest, self.kubeconfig, self.resume)
        return any(value is not None for value in given) or bool(self.context) or self.is_detached


def cluster_options(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Adds the options of a cluster to a command, which gets them as its one argument `place`."""

    @functools.wraps(function)
    def call(
        session: Session,
        *,
        namespace: str | None,
        manifest: Path | None,
        context: str,
        kubeconfig: Path | None,
        is_detached: bool,
        resume: Path | None,
        **others: Any,
    ) -> Answer:
        place = ClusterOptions(
            namespace=namespace,
            manifest=manifest,
            context=context,
            kubeconfig=kubeconfig,
            is_detached=is_detached,
            resume=resume,
        )
        return function(session, place=place, **others)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


_PATH = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--namespace", "-n", metavar="NS", help="Run on a cluster, in this namespace."),
    click.option("--manifest", metavar="FILE", type=_PATH, help="The RayCluster to make there, as YAML."),
    click.option(
        "--context", metavar="NAME", default="", help="Which context of the kubeconfig; else the current one."
    ),
    click.option("--kubeconfig", metavar="FILE", type=_PATH, help="Another kubeconfig than the user's own."),
    click.option("--detach", "is_detached", is_flag=True, help="Leave the job to itself once it is submitted."),
    click.option("--resume", metavar="RECORD", type=_PATH, help="Attach again to a run that was left."),
)


def run_where_asked(session: Session, request: RunRequest, options: ClusterOptions) -> Answer:
    """Runs on this machine, or on the cluster that the options name, and says how it went."""
    if not options.is_asked:
        return run_and_answer(session, request)
    return _run_there(session, replace(request, targets=TARGETS, is_detached=options.is_detached), options)


def _run_there(session: Session, request: RunRequest, options: ClusterOptions) -> Answer:
    machine = LocalClusterMachine()
    # By its name, so that the run is found again when another context is the current one.
    options = replace(options, context=_context(options, machine))
    try:
        with opened_site(session, options, machine, context=options.context) as site:
            prepared = prepare(request, machine=machine, reporter=session)
            if options.resume is not None:
                left = read_left_run(options.resume, machine)
                return answer_of(resume(request, prepared, left, site=site))
            plan = read_plan(options, prepared, machine)
            return answer_of(execute_on_cluster(request, prepared, plan, site=site))
    except DriftRefused as refusal:
        return show_refusal(session, refusal)
    except Detached as detached:
        if not request.is_detached:
            raise
        return _answer_detached(detached)


def read_plan(options: ClusterOptions, prepared: Prepared, machine: LocalClusterMachine) -> ClusterPlan:
    """The RayCluster that is made, and where; raises InputError if the command line does not say it."""
    if options.namespace is None or not _NAMESPACE.fullmatch(options.namespace):
        said = "is missing" if options.namespace is None else f"`{one_line(options.namespace)}` is no namespace"
        raise InputError(f"`--namespace` {said}", hint="`--namespace ray-train`")
    if options.manifest is None:
        raise InputError("`--manifest` is missing: which RayCluster is to be made", hint="`--manifest raycluster.yaml`")
    data = machine.read(options.manifest, limit_bytes=_MANIFEST_LIMIT_BYTES, what="the manifest")
    raycluster = read_given_manifest(data, name=str(options.manifest))
    image = prepared.lock.sections.image
    assert image is not None
    check_images(raycluster, image, name=str(options.manifest))
    return ClusterPlan(context=options.context, namespace=options.namespace, raycluster=raycluster)


@contextmanager
def opened_site(
    session: Session, options: ClusterOptions, machine: LocalClusterMachine, *, context: str
) -> Iterator[Site]:
    """The cluster through kubectl, with a progress display; Ctrl-C comes once, as KeyboardInterrupt."""
    with tempfile.TemporaryDirectory(prefix="rdlc-kubectl-") as cache:
        kubectl = Kubectl(cache=Path(cache), kubeconfig=options.kubeconfig, context=context)
        with terminable(), ClusterProgress(session) as progress:
            yield Site(cluster=KubectlCluster(kubectl), machine=machine, reporter=session, listener=progress)


def _context(options: ClusterOptions, machine: LocalClusterMachine) -> str:
    """The context that is asked for, else the one in which the run was started."""
    if options.context:
        return options.context
    if options.resume is not None:
        return read_left_run(options.resume, machine).run.context
    return current_context(Kubectl(cache=Path(tempfile.gettempdir()), kubeconfig=options.kubeconfig))


def _answer_detached(detached: Detached) -> Answer:
    run = detached.run

    def show(console: Console) -> None:
        for line in detached.message.splitlines():
            write_line(console, line)

    return Answer(
        status="detached",
        exit_code=0,
        data={
            "record": str(detached.path),
            "raycluster": run.name,
            "namespace": run.namespace,
            "context": run.context or None,
            "job": run.name,
        },
        show=show,
    )
