"""`rdlc apply`: make a stack what its lock says."""

from pathlib import Path

import click
from rich.console import Console

from rdlc import __version__
from rdlc.adapters.terraform_tree import TerraformFolder
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.infra_progress import InfraProgress
from rdlc.cli.infra_text import result_data, show_drift, show_proposal, show_record
from rdlc.cli.infra_wiring import make_tools, project_folder, refuse_unanswerable
from rdlc.cli.paths import shown
from rdlc.cli.stopping import StopSignals
from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.infra.order import InfraOrder, substitute
from rdlc.core.infra.prices import read_prices
from rdlc.core.lockfile import read_lock
from rdlc.core.text import printable
from rdlc.errors import InputError, RdlcError
from rdlc.operations.apply import ApplyRequest, StackResult, apply_stack
from rdlc.operations.infra_order import read_infra_order

STATUSES = {
    "applied": "the stack is now as locked",
    "unchanged": "the stack was as locked already; nothing was touched",
    "planned": "with --plan: nothing is there yet, and this would be made",
    "withdrawn": "with --plan: nothing is there yet, and AWS offers a locked version no longer",
    "would-change": "with --plan: something else was applied, and this would change it",
    "drifted": "with --plan: the world is not what was applied",
    "declined": "there was no yes, and nothing was touched",
}
_NO = ("withdrawn", "would-change", "drifted", "declined")


@verb("apply", statuses=STATUSES)
@click.argument("lock", metavar="LOCK", type=click.Path(path_type=Path))
@click.option(
    "--plan", "is_plan_only", is_flag=True, help="Show what would change, and change nothing; 1 if it differs."
)
@click.option("--yes", "is_agreed", is_flag=True, help="Say yes to the plan beforehand.")
@click.option(
    "--bind",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Zones, reservation, account and the like, in place of those in the lock.",
)
@click.option(
    "--state", metavar="s3://BUCKET/PREFIX", help="Keep the state there, for a team; beside the stack if not given."
)
@click.option(
    "--price", "prices", metavar="TYPE=USD", multiple=True, help="The price of an hour, in place of the table's."
)
@click.option(
    "--substitute",
    "substitutes",
    metavar="infra.VARIABLE=V",
    multiple=True,
    help="Use another version than the locked one, recorded as a deviation.",
)
@click.option("--reason", metavar="TEXT", help="Why, for --substitute.")
@click.option("--skip-bundle", is_flag=True, help="Make the cloud resources only, nothing inside the cluster.")
@click.option("--terraform-bin", metavar="PATH", type=click.Path(path_type=Path), help="The Terraform program.")
def command(
    session: Session,
    *,
    lock: Path,
    is_plan_only: bool,
    is_agreed: bool,
    bind: Path | None,
    state: str | None,
    prices: tuple[str, ...],
    substitutes: tuple[str, ...],
    reason: str | None,
    skip_bundle: bool,
    terraform_bin: Path | None,
) -> Answer:
    """Make a stack what its lock says.

    Terraform gets exactly the locked files and variables, in a clean copy and a clean environment. Its
    plan is shown with what an hour costs, and that plan alone is applied after a yes. A stack that is
    as locked stays untouched, and what broke off goes on from its state.
    """
    if not is_plan_only:
        refuse_unanswerable(session, is_agreed=is_agreed)
    order = _substituted(_read_order(lock, bind), substitutes, reason)
    request = ApplyRequest(
        order=order,
        is_plan_only=is_plan_only,
        state=state,
        prices=read_prices(prices),
        tool=f"rdlc {__version__}",
    )
    with InfraProgress(session, StopSignals()) as progress:
        tools = make_tools(
            session, progress, project=project_folder(lock), terraform=terraform_bin, is_agreed=is_agreed
        )
        result = apply_stack(request, tools)
    return _answer(result)


def _read_order(path: Path, bind: Path | None) -> InfraOrder:
    data = LocalWorkspace().read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the run lock")
    read = read_lock(data, name=str(path))
    if read.findings:
        first = read.findings[0]
        raise RdlcError(first.message, file=first.file, field=first.section, hint=f"`rdlc verify {shown(path)}`")
    section, origin = read.lock.sections.infra, read.lock.provenance.infra
    if section is None:
        raise InputError(
            "this lock has no infrastructure", file=str(path), hint="`infra` in the run spec asks for some"
        )
    return read_infra_order(
        section,
        lock_id=read.lock.id,
        root=project_folder(path) / section.requested.root,
        kept=origin.bindings if origin else {},
        bind=bind,
        files=TerraformFolder(),
    )


def _substituted(order: InfraOrder, settings: tuple[str, ...], reason: str | None) -> InfraOrder:
    if not settings:
        return order
    if not reason or not reason.strip():
        raise InputError("`--substitute` needs a reason, which is recorded", hint='`--reason "AMI was withdrawn"`')
    return substitute(order, dict(map(_read_setting, settings)), reason=printable(reason.strip()))


def _read_setting(setting: str) -> tuple[str, str]:
    path, equals, value = setting.partition("=")
    if not equals or not value:
        hint = "`--substitute infra.gpu_release_version=VERSION`"
        raise InputError(f"`--substitute {printable(setting)}` must have the form infra.VARIABLE=V", hint=hint)
    return path, value


def _answer(result: StackResult) -> Answer:
    return Answer(
        status=result.status,
        exit_code=1 if result.status in _NO else 0,
        data=result_data(result),
        show=lambda console: _show(console, result),
    )


def _show(console: Console, result: StackResult) -> None:
    proposal = result.proposal
    write_line(console, f"{result.status}  {proposal.key}")
    if result.status == "drifted":
        show_drift(console, proposal.drift)
    if result.status in {"planned", "withdrawn", "would-change", "drifted"}:
        show_proposal(console, proposal, has_attributes=result.status != "drifted")
        return
    if proposal.is_resting and result.status == "unchanged":
        write_line(console, "  the GPU nodes are scaled down: that is not drift")
    if result.record:
        show_record(console, result.record)
