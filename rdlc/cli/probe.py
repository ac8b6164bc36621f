"""`rdlc probe`: measure the locked transport, and TCP beside it."""

from pathlib import Path

import click

from rdlc import __version__
from rdlc.cli.data_source import DataPlaces
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.probe_json import result_document
from rdlc.cli.probe_text import show_result
from rdlc.cli.progress import RunProgress
from rdlc.cli.running import read_allowed, show_refusal, terminable
from rdlc.cli.wiring import LocalMachine
from rdlc.core.infra.prices import read_node_price
from rdlc.operations.prepare import DriftRefused
from rdlc.operations.probe import ProbeRequest, ProbeResult, probe

STATUSES = {
    "measured": "the bandwidths are measured, over the transports that they are said to be of",
    "unproven": "the bandwidths are measured, and it is not proven over which transport",
    "wrong-transport": "the locked arm went over another transport than the lock's, or the arm of TCP not over TCP",
    "failed": "the workers failed",
    "stopped": "a limit ended it",
    "drifted": "refused: this machine is not what was locked",
}


@verb("probe", statuses=STATUSES)
@click.argument("given", metavar="LOCK", type=click.Path(path_type=Path))
@click.option("--price", metavar="USD", help="What an hour of all nodes costs, to say what a fallback would cost.")
@click.option(
    "--allow-drift",
    "allow",
    metavar="SECTION=REASON",
    multiple=True,
    help="Probe although code, environment or data differ; the reason is kept.",
)
def command(session: Session, *, given: Path, price: str | None, allow: tuple[str, ...]) -> Answer:
    """Measure the locked transport and TCP: what a fallback would cost.

    All-reduce, all-gather and reduce-scatter by size, on the workers that a run of the lock has, with
    the formulas of nccl-tests. From that follows what a step takes over each transport, and, with the
    lock's baseline and a price, what an hour over TCP loses.
    """
    usd_per_h = None if price is None else read_node_price(price).usd_per_h
    tool = f"rdlc {__version__}"
    request = ProbeRequest(given=given, allow=read_allowed(allow), usd_per_h=usd_per_h, tool=tool)
    try:
        with terminable(), RunProgress(session) as progress:
            result = probe(
                request, machine=LocalMachine(), reporter=session, listener=progress, data=DataPlaces(session)
            )
    except DriftRefused as refusal:
        return show_refusal(session, refusal)
    status = _status(result)
    return Answer(
        status=status,
        exit_code=0 if status == "measured" else 1,
        data=result_document(result),
        show=lambda console: show_result(console, result, status=status),
    )


def _status(result: ProbeResult) -> str:
    if result.findings is None:
        return result.record.status
    if result.findings.is_alarming:
        return "wrong-transport"
    return "measured" if result.findings.is_proven else "unproven"
