"""The part of `rdlc collect` that is about a RayCluster."""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from rdlc import __version__
from rdlc.adapters.kubernetes.cluster import KubectlCluster
from rdlc.adapters.kubernetes.program import Kubectl
from rdlc.cli.conformance_text import cluster_row, conformance_rows, show_conformance
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session
from rdlc.cli.paths import project_runs, shown
from rdlc.cli.transport_alarm import show_alarm
from rdlc.cli.wiring import LocalCollector
from rdlc.core.spec import NAME
from rdlc.core.text import one_line
from rdlc.core.transport.judged import JudgedTransport, describe_judgement
from rdlc.errors import InputError
from rdlc.operations.collect_cluster import ClusterRequest, CollectedCluster, collect_cluster

_PREFIX = "raycluster/"
_CLUSTER = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def find_cluster(given: Sequence[Path]) -> str:
    """The name of the RayCluster that was asked for; "" if paths were. A path of that name has `./` before it."""
    names = [str(path) for path in given if str(path).startswith(_PREFIX)]
    if not names:
        return ""
    if len(given) > 1:
        raise InputError(
            "one RayCluster at a time, and no other path with it", hint="`rdlc collect raycluster/NAME -n NS`"
        )
    name = names[0].removeprefix(_PREFIX)
    if not _CLUSTER.fullmatch(name):
        raise InputError(f"`{one_line(names[0])}` names no RayCluster", hint="`rdlc collect raycluster/NAME -n NS`")
    return name


def collect_from_cluster(
    session: Session, cluster: str, *, name: str | None, namespace: str | None, context: str
) -> Answer:
    """Makes the record and says what is in it."""
    if namespace is None or not _NAMESPACE.fullmatch(namespace):
        said = "is missing" if namespace is None else f"`{one_line(namespace)}` is no namespace"
        raise InputError(f"`--namespace` {said}", hint=f"`rdlc collect {_PREFIX}{cluster} -n NS`")
    request = ClusterRequest(
        cluster=cluster,
        namespace=namespace,
        name=read_name(name, Path(cluster)),
        runs=project_runs() or Path.cwd() / "runs",
        tool=f"rdlc {__version__}",
    )
    # What kubectl finds out of a server is kept for this call alone: a later one may be another cluster's.
    with TemporaryDirectory(prefix="rdlc-kubectl-") as cache:
        eyes = KubectlCluster(Kubectl(cache=Path(cache), context=context))
        result = collect_cluster(request, eyes=eyes, collector=LocalCollector(), reporter=session)
    status = _status(result)
    return Answer(
        status=status,
        exit_code=0 if status == "collected" else 1,
        data={
            "record": str(result.path),
            "files": result.logs.num_files,
            "files_kept": len(result.logs.kept),
            "files_of_other_jobs": result.logs.num_left_out,
            "job": result.job or None,
            "conformance": conformance_rows(result.record),
            "cluster": cluster_row(result.record),
            "transport": result.report.payload(),
        },
        show=lambda console: _show(console, status, result),
    )


def read_name(name: str | None, first: Path) -> str:
    """The name of the run: the one that was given, else one made of the name of a path."""
    if name is None:
        whole = first.resolve()
        name = (
            re.sub(r"[^a-z0-9._-]+", "-", (whole.name if whole.is_dir() else whole.stem).lower()).strip("-._")[:63]
            or "run"
        )
    if not NAME.fullmatch(name):
        raise InputError(
            f"`--name {one_line(name)}` must be small letters, digits, `.`, `_`, `-`, at most 63",
            hint="`--name finetune-1`",
        )
    return name


def transport_status(judged: JudgedTransport) -> str:
    """The word for a record by its transport alone."""
    return "collected" if judged.is_fine else "wrong-transport" if judged.is_alarming else "unproven"


def _status(result: CollectedCluster) -> str:
    status = transport_status(result.report.judged)
    return "inconsistent" if result.wrong and status != "wrong-transport" else status


def _show(console: Console, status: str, result: CollectedCluster) -> None:
    logs = result.logs
    write_line(console, f"{status}  {result.record.name}")
    of_job = f", of the last job {result.job}" if result.job else ""
    write_line(console, f"  files     {len(logs.kept)} of {logs.num_files} in the pods speak of NCCL or gloo{of_job}")
    if logs.num_left_out:
        write_line(console, f"            {logs.num_left_out} of other jobs left out")
    show_conformance(console, result.record)
    if result.report.judged.is_fine:
        write_line(console, f"  {describe_judgement(result.report.judged)}")
    for name, value in result.report.observed.items():
        write_line(console, f"    {name}  {value}")
    for warning in result.report.warnings:
        write_line(console, f"  note      {warning}")
    show_alarm(console, result.report)
    write_line(console, f"  record    {shown(result.path)}")
