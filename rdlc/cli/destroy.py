"""`rdlc destroy`: take a stack away."""

from pathlib import Path

import click
from rich.console import Console

from rdlc import __version__
from rdlc.adapters.terraform.stacks import find_stack
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.infra_progress import InfraProgress
from rdlc.cli.infra_text import result_data, show_leftovers, show_record
from rdlc.cli.infra_wiring import make_tools, project_folder, refuse_unanswerable
from rdlc.cli.stopping import StopSignals
from rdlc.operations.apply import StackResult
from rdlc.operations.destroy import LeaveRequest, leave_stack

STATUSES = {
    "destroyed": "nothing of it is left that Terraform knows of",
    "scaled-down": "with --scale-down: it has no GPU nodes now",
    "declined": "there was no yes, and nothing was touched",
}


@verb("destroy", statuses=STATUSES)
@click.argument("stack", metavar="STACK")
@click.option("--scale-down", "is_scale_down", is_flag=True, help="Take the GPU nodes away and keep the cluster.")
@click.option("--yes", "is_agreed", is_flag=True, help="Say yes beforehand.")
@click.option("--terraform-bin", metavar="PATH", type=click.Path(path_type=Path), help="The Terraform program.")
def command(
    session: Session, *, stack: str, is_scale_down: bool, is_agreed: bool, terraform_bin: Path | None
) -> Answer:
    """Take a stack away.

    STACK is its name, NAME/ACCOUNT/REGION, or its folder below `stacks/`. What goes is shown first, and
    what costs money and is not Terraform's to take away. The files and variables are those that were
    applied last; lock and sources are not needed.
    """
    refuse_unanswerable(session, is_agreed=is_agreed)
    after = "scale-down" if is_scale_down else "destroy"
    project = project_folder()
    find_stack(project, stack)  # a wrong name is told also where there is no Terraform
    request = LeaveRequest(given=stack, after=after, prices={}, tool=f"rdlc {__version__}")
    with InfraProgress(session, StopSignals()) as progress:
        tools = make_tools(session, progress, project=project, terraform=terraform_bin, is_agreed=is_agreed)
        result = leave_stack(request, tools)
    assert result is not None  # only `keep` gives none
    return _answer(result)


def _answer(result: StackResult) -> Answer:
    return Answer(
        status=result.status,
        exit_code=1 if result.status == "declined" else 0,
        data=result_data(result),
        show=lambda console: _show(console, result),
    )


def _show(console: Console, result: StackResult) -> None:
    write_line(console, f"{result.status}  {result.proposal.key}")
    if result.record:
        show_record(console, result.record)
    if result.status == "destroyed":
        show_leftovers(console, result.proposal)
