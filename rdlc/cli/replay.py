"""`rdlc replay`: run it again and prove that it is the same."""

from pathlib import Path

import click

from rdlc.cli.cluster_running import DETACHED, ClusterOptions, cluster_options, run_where_asked
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.running import TRANSPORT_STATUS, read_request

STATUSES = {
    "reproduced": "it reached the level that the lock claims",
    "not-reproduced": "it ran to its end and did not reach the claimed level",
    "failed": "the job failed",
    "stopped": "a limit of the lock ended it",
    **TRANSPORT_STATUS,
    **DETACHED,
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
@cluster_options
def command(
    session: Session, *, given: Path, allow: tuple[str, ...], price: str | None, place: ClusterOptions
) -> Answer:
    """Run a lock again, refuse on drift, and prove that it is the same.

    Says which level was reached and by what evidence; exits 0 only if that is at least the lock's
    claim. Where outcomes differ it names the first divergent step and parameter.

    With `--namespace` it runs on a cluster, as `rdlc run` does.
    """
    return run_where_asked(session, read_request(given=given, kind="replay", allow=allow, price=price), place)
