"""What was locked, what was seen, and whether that is the same: for people and as JSON."""

from collections.abc import Iterator

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.core.canonical import Json
from rdlc.core.kube.cluster_record import ClusterRecord, Placement
from rdlc.core.record import Check, RunRecord
from rdlc.core.text import printable

_SHOWN_PODS = 16
_LINE = 100


def conformance_rows(record: RunRecord) -> list[Json]:
    """One row for each question; `equal` is null where it was not measured."""
    return [
        {"name": check.name, "locked": check.locked, "observed": check.found, "equal": check.is_met}
        for check in record.checks
    ]


def cluster_row(record: RunRecord) -> Json:
    """The cluster of the run and where each rank ran; null where there was none to look at."""
    return None if record.cluster is None else record.cluster.payload()


def show_conformance(console: Console, record: RunRecord) -> None:
    """The cluster with its pods, and each question whose answer is not as locked, or not known."""
    if record.cluster is not None:
        _show_cluster(console, record, record.cluster)
    # Where no worker reported, all of their questions are open, and that is said once.
    is_open = bool(record.ranks) and record.cluster is None
    for check in record.checks:
        if check.is_met is False or (check.is_met is None and is_open):
            _show_check(console, check, due="locked" if record.lock_id else "due")
    missing = [check.name for check in record.checks if check.is_met is None]
    if missing and record.cluster is not None:
        write_line(console, f"  not measured: {printable(', '.join(missing))}")


def _show_check(console: Console, check: Check, *, due: str) -> None:
    line = f"  {check.name}: {due} {check.locked}, found {check.found}"
    if len(line) <= _LINE:
        write_line(console, printable(line))
        return
    write_line(console, printable(f"  {check.name}"))
    write_line(console, printable(f"    {due:<6}  {check.locked}"))
    write_line(console, printable(f"    found   {check.found}"))


def _show_cluster(console: Console, record: RunRecord, cluster: ClusterRecord) -> None:
    met = sum(check.is_met is True for check in record.checks)
    where = printable(f"{cluster.namespace}/{cluster.name}")
    write_line(console, f"  cluster   {where}: {met} of {len(record.checks)} checks met")
    lines = list(_describe_pods(cluster.placements))
    for line in lines[:_SHOWN_PODS]:
        write_line(console, f"            {printable(line)}")
    if len(lines) > _SHOWN_PODS:
        write_line(console, f"            and {len(lines) - _SHOWN_PODS} more pods; all with --json")
    for what, why in cluster.unseen.items():
        write_line(console, f"            {printable(what)} could not be seen: {printable(why)}")


def _describe_pods(placements: tuple[Placement, ...]) -> Iterator[str]:
    ranks: dict[tuple[str, str], list[int]] = {}
    for at in placements:
        ranks.setdefault((at.pod, at.node), []).append(at.rank)
    for (pod, node), held in ranks.items():
        is_row = held == list(range(held[0], held[-1] + 1)) and len(held) > 1
        words = f"ranks {held[0]} to {held[-1]}" if is_row else f"rank {', '.join(map(str, held))}"
        yield f"{words} in pod {pod} on node {node or 'not known'}" if pod else f"{words} in no pod of the cluster"
