"""`rdlc run`: run a lock and record it."""

from pathlib import Path

import click

from rdlc.cli.cluster_running import DETACHED, ClusterOptions, cluster_options, run_where_asked
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.running import TRANSPORT_STATUS, read_request

STATUSES = {
    "finished": "it ran to its end, and what ran is what was locked",
    "unproven": "it ran to its end, and less was proven than the lock claims",
    "failed": "the job failed",
    "stopped": "a limit of the lock ended it",
    **TRANSPORT_STATUS,
    **DETACHED,
    "drifted": "refused: this machine is not what was locked",
}


@verb("run", statuses=STATUSES)
@click.argument("given", metavar="LOCK|SPEC", type=click.Path(path_type=Path))
@click.option("--rebaseline", "is_rebaseline", is_flag=True, help="Let this run replace the baseline.")
@click.option(
    "--allow-drift",
    "allow",
    metavar="SECTION=REASON",
    multiple=True,
    help="Run although code, environment or data differ; the reason is kept.",
)
@click.option("--price", metavar="USD", help="What an hour of all nodes costs, to say what a fallback cost.")
@click.option("--set", "settings", metavar="PATH=V", multiple=True, help="Change one value; with a SPEC only.")
@cluster_options
def command(
    session: Session,
    *,
    given: Path,
    is_rebaseline: bool,
    allow: tuple[str, ...],
    settings: tuple[str, ...],
    price: str | None,
    place: ClusterOptions,
) -> Answer:
    """Run a lock and record it.

    The first run that finishes and conforms becomes the baseline that replays are compared with. A
    SPEC is locked into the record first. What differs from the lock is refused, with the command
    that mends it.

    With `--namespace` it runs on a cluster, through `kubectl`: a RayCluster of its own, made from the manifest,
    the code in every pod, the job in the head pod, all files brought back, the RayCluster deleted. Ctrl-C leaves
    the job to itself and says how to come back.
    """
    request = read_request(
        given=given, kind="run", allow=allow, is_rebaseline=is_rebaseline, settings=settings, price=price
    )
    return run_where_asked(session, request, place)
