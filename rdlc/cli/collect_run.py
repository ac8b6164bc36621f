"""The part of `rdlc collect` that is about a run that was left on a cluster."""

from pathlib import Path

from rich.console import Console

from rdlc import __version__
from rdlc.cli.cluster_running import ClusterOptions, opened_site
from rdlc.cli.cluster_wiring import LocalClusterMachine
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session
from rdlc.cli.paths import shown
from rdlc.cli.running import answer_of
from rdlc.core.kube.started import FILE
from rdlc.operations.cluster_site import ways_on
from rdlc.operations.return_to_run import LeftRun, collect_run, read_left_run

STATUSES = {
    "running": "the job goes on: what there is of it so far was brought, and nothing was changed",
    "finished": "the job of a run that was left has ended well, and its record is closed",
    "reproduced": "the job of a replay that was left reached the claimed level",
    "not-reproduced": "the job of a replay that was left did not reach the claimed level",
    "failed": "the job of a run that was left has failed",
    "stopped": "the job of a run that was left was stopped",
}


def is_left_run(given: tuple[Path, ...]) -> bool:
    """Whether the one path is a record of a run on a cluster."""
    return len(given) == 1 and (given[0] / FILE).is_file()


def collect_left_run(session: Session, path: Path, *, context: str) -> Answer:
    """Brings what there is of the run; judges it and takes its cluster away if its job has ended."""
    machine = LocalClusterMachine()
    left = read_left_run(path, machine)
    options = ClusterOptions(
        namespace=None, manifest=None, context=context, kubeconfig=None, is_detached=False, resume=path
    )
    with opened_site(session, options, machine, context=context or left.run.context) as site:
        project = machine.find_project(path.resolve(), Path.cwd()) or path.resolve()
        result = collect_run(left, project=project, tool=f"rdlc {__version__}", site=site)
    return _answer_running(left) if result is None else answer_of(result)


def _answer_running(left: LeftRun) -> Answer:
    def show(console: Console) -> None:
        write_line(console, f"running  {left.record.name}")
        for line in ways_on(left.run, left.path, f"{left.record.kind} LOCK"):
            write_line(console, line)
        write_line(console, f"  record    {shown(left.path)}")

    return Answer(status="running", exit_code=0, data={"record": str(left.path), "job": left.run.name}, show=show)
