"""`rdlc replay`: run it again and prove that it is the same."""

from pathlib import Path

import click

from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.running import TRANSPORT_STATUS, run_and_answer

STATUSES = {
    "reproduced": "it reached the level that the lock claims",
    "not-reproduced": "it ran to its end and did not reach the claimed level",
    "failed": "the job failed",
    "stopped": "a limit of the lock ended it",
    **TRANSPORT_STATUS,
    "drifted": "refused: this machine is not what was locked",
}


@verb("replay", statuses=STATUSES)
@click.argument("given", metavar="LOCK", type=click.Path(path_type=Path))
@click.option(
    "--allow-drift",
    "allow",
    metavar="SECTION=REASON",
    multiple=True,
    help="Run although code, environment or data differ; the reason is kept.",
)
@click.option("--price", metavar="USD", help="What an hour of all nodes costs, to say what a fallback cost.")
def command(session: Session, *, given: Path, allow: tuple[str, ...], price: str | None) -> Answer:
    """Run a lock again, refuse on drift, and prove that it is the same.

    Says which level was reached and by what evidence; exits 0 only if that is at least the lock's
    claim. Where outcomes differ it names the first divergent step and parameter.
    """
    return run_and_answer(session, given=given, kind="replay", allow=allow, price=price)
