"""The adapters as the ports that the use cases about stacks name."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rdlc.adapters.aws.caller import read_caller
from rdlc.adapters.aws.leftovers import find_leftovers
from rdlc.adapters.aws.offers import AwsOffers
from rdlc.adapters.terraform.environment import scrub
from rdlc.adapters.terraform.program import find_program
from rdlc.adapters.terraform.stacks import StackFolders
from rdlc.adapters.workspace.files import find_project
from rdlc.cli.edge import Session
from rdlc.cli.infra_progress import InfraProgress
from rdlc.cli.infra_text import show_proposal
from rdlc.core.infra.stack import StackKey
from rdlc.core.infra.steps import Caller, Leftover
from rdlc.errors import InputError, RdlcError
from rdlc.operations.stack_ports import Proposal, Tools

YES_HINT = "add `--yes`"


class AwsCloud:
    """AWS through boto3."""

    def caller(self, region: str) -> Caller:
        """Who asks."""
        return read_caller(region)

    def leftovers(self, key: StackKey) -> Sequence[Leftover]:
        """What the cluster made by itself."""
        return find_leftovers(key)


class Asking:
    """Shows a proposal on stderr and asks for a yes there, unless it was given with `--yes`."""

    def __init__(self, session: Session, *, is_agreed: bool) -> None:
        self._session = session
        self._is_agreed = is_agreed

    def show(self, proposal: Proposal) -> None:
        """Shows what would happen; also with `-q`, since somebody is asked about it."""
        show_proposal(self._session.err, proposal)

    def is_agreed(self, proposal: Proposal) -> bool:
        """Whether there is a yes."""
        if self._is_agreed:
            return True
        if not sys.stdin.isatty():
            raise RdlcError("nothing was changed: there is nobody to ask for a yes", hint=YES_HINT)
        what = "destroy it" if proposal.is_destroy else "apply it"
        return click.confirm(f"{what}?", default=False, err=True)


def refuse_unanswerable(session: Session, *, is_agreed: bool) -> None:
    """Raises InputError where a question could not be asked: before the time for a plan is spent."""
    if session.as_json and not is_agreed:
        raise InputError("`--json` asks nothing", hint=YES_HINT)


def make_tools(
    session: Session, progress: InfraProgress, *, project: Path | None, terraform: Path | None, is_agreed: bool
) -> Tools:
    """Everything that a use case about stacks needs; raises RdlcError without a Terraform program."""
    program = find_program(terraform, os.environ)
    ignored = scrub(os.environ, region="", token="").ignored
    if ignored:
        session.note(f"left out of Terraform's environment, the lock rules: {', '.join(ignored)}")
    return Tools(
        stacks=StackFolders(project or Path.cwd(), program=program, shell=os.environ),
        cloud=AwsCloud(),
        offers=AwsOffers(),
        listener=progress,
        approver=Asking(session, is_agreed=is_agreed),
    )


def project_folder(*starts: Path) -> Path:
    """The project around the first start that has one, else the current folder."""
    return find_project(*(start.absolute() for start in starts), Path.cwd()) or Path.cwd()
