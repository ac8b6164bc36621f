"""`rdlc collect`: a record of a run that rdlc did not start."""

from pathlib import Path

import click
from rich.console import Console

from rdlc import __version__
from rdlc.cli.collect_cluster import collect_from_cluster, find_cluster, read_name, transport_status
from rdlc.cli.collect_run import STATUSES as RUN_STATUSES
from rdlc.cli.collect_run import collect_left_run, is_left_run
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import project_runs, shown
from rdlc.cli.transport_alarm import show_alarm
from rdlc.cli.wiring import LocalCollector
from rdlc.core.transport.judged import describe_judgement
from rdlc.errors import InputError
from rdlc.operations.collect_logs import CollectedLogs, CollectRequest, collect_logs

STATUSES = {
    "collected": "a record was made, and its transport is right or there was none to judge",
    "inconsistent": "a record was made of a cluster that is not one thing: mixed images, a lost pod or Ray node, ...",
    "unproven": "a record was made, and what its logs hold proves no transport",
    "wrong-transport": "a record was made of a run that fell back, or whose parts went over different transports",
    **RUN_STATUSES,
}


@verb("collect", statuses=STATUSES)
@click.argument("given", metavar="PATH...|raycluster/NAME", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--name", metavar="NAME", help="What the run is called; the name of the first PATH if not given.")
@click.option("--namespace", "-n", metavar="NS", help="Where raycluster/NAME is.")
@click.option(
    "--context", metavar="CONTEXT", default="", help="Which context of the kubeconfig, if not the current one."
)
def command(
    session: Session, *, given: tuple[Path, ...], name: str | None, namespace: str | None, context: str
) -> Answer:
    """Make a record of a run that rdlc did not start.

    PATH is a file or folder of its logs, such as a Ray session folder or what NCCL_DEBUG_FILE named. Only the
    lines that speak of NCCL or gloo are kept. The transport is judged as that of a run is.

    PATH may also be the record of a run that was left on a cluster: its files are brought, and if its job has
    ended it is judged and its RayCluster deleted.

    `raycluster/NAME` is a RayCluster on Kubernetes, asked through `kubectl` while its pods live: the same
    lines of every pod, which images they run, on which nodes, with which environment. Nothing is changed.
    """
    if cluster := find_cluster(given):
        return collect_from_cluster(session, cluster, name=name, namespace=namespace, context=context)
    if is_left_run(given):
        return collect_left_run(session, given[0], context=context)
    if namespace is not None or context:
        raise InputError("`--namespace` and `--context` are about raycluster/NAME", hint="`rdlc collect --help`")
    request = CollectRequest(
        given=given,
        name=read_name(name, given[0]),
        runs=project_runs() or Path.cwd() / "runs",
        tool=f"rdlc {__version__}",
    )
    result = collect_logs(request, collector=LocalCollector(), reporter=session)
    judged = result.report.judged
    status = transport_status(judged)
    return Answer(
        status=status,
        exit_code=0 if judged.is_fine else 1,
        data={
            "record": str(result.path),
            "files": result.num_files,
            "files_kept": result.num_kept,
            "transport": result.report.payload(),
        },
        show=lambda console: _show(console, status, result),
    )


def _show(console: Console, status: str, result: CollectedLogs) -> None:
    write_line(console, f"{status}  {result.record.name}")
    write_line(console, f"  files     {result.num_kept} of {result.num_files} speak of NCCL or gloo")
    if result.report.judged.is_fine:
        write_line(console, f"  {describe_judgement(result.report.judged)}")
    for name, value in result.report.observed.items():
        write_line(console, f"    {name}  {value}")
    for warning in result.report.warnings:
        write_line(console, f"  note      {warning}")
    show_alarm(console, result.report)
    write_line(console, f"  record    {shown(result.path)}")
