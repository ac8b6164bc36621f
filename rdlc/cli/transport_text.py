"""What logs prove of a transport, for people: the verdict, each communicator, causes with the lines that show them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdlc.cli.console import write_line
from rdlc.core.text import one_line
from rdlc.core.transport.causes import Cause
from rdlc.core.transport.rules import CommunicatorVerdict
from rdlc.core.transport.verdict import LogVerdict
from rdlc.operations.transport import TransportReading

_MOST_ROWS = 24
_COLUMNS = ("communicator", "attempt", "ranks", "nodes", "verdict", "transport", "channels", "evidence")
_STYLES = {"ok": "green", "fallback": "bold red", "mixed": "bold red", "unknown": "yellow", "not applicable": "cyan"}
_WEIGHT = {"mixed": 0, "fallback": 1, "unknown": 2, "ok": 3}


def write_reading(console: Console, reading: TransportReading) -> None:
    """All of it, the verdict first."""
    verdict = reading.verdict
    word = verdict.verdict if verdict.is_applicable else "not applicable"
    transport = f" / {verdict.transport}" if verdict.is_applicable else ""
    write_line(console, f"{word}{transport}: {one_line(verdict.reason, limit=400)}", style=_STYLES[word])
    if verdict.has_failed:
        write_line(console, "the run failed, or hung before it was ready", style="bold red")
    if verdict.communicators:
        write_line(console, "")
        _write_table(console, verdict.communicators)
    facts = _facts(verdict)
    if facts:
        write_line(console, "")
    for name, value in facts:
        write_line(console, f"{name:<12} {one_line(value, limit=400)}")
    for warning in verdict.warnings:
        write_line(console, f"warning: {one_line(warning, limit=400)}", style="yellow")
    for cause in reading.causes:
        write_cause(console, cause)


def write_cause(console: Console, cause: Cause) -> None:
    """A likely cause, the line that shows it, and what to do."""
    write_line(console, "")
    write_line(console, f"likely cause: {one_line(cause.text, limit=400)}", style="bold")
    write_line(console, f"  {one_line(cause.evidence.place, limit=400)}: {one_line(cause.evidence.text, limit=300)}")
    write_line(console, f"  fix: {one_line(cause.fix, limit=400)}")


def _write_table(console: Console, communicators: Sequence[CommunicatorVerdict]) -> None:
    """The communicators, alarms first; of very many, the first."""
    weighed = sorted(communicators, key=lambda comm: _WEIGHT[comm.verdict])
    rows = [_cells(comm) for comm in weighed[:_MOST_ROWS]]
    if console.is_terminal:
        table = Table(box=None, pad_edge=False)
        for column in _COLUMNS:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        console.print(table)
    else:
        widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
        for row in (_COLUMNS, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            write_line(console, "  ".join(cells).rstrip())
    if len(weighed) > len(rows):
        write_line(console, f"and {len(weighed) - len(rows)} more communicators: `--json` lists all")


def _cells(comm: CommunicatorVerdict) -> tuple[str, ...]:
    ranks = f"{comm.ranks_seen}/{'?' if comm.num_ranks is None else comm.num_ranks}"
    channels = ", ".join(f"{path} x{count}" for path, count in comm.channels.items())
    evidence = comm.evidence[-1].place if comm.evidence else ""
    cells = (
        comm.comm_id or ("split" if comm.is_split else "not named"),
        str(comm.attempt),
        ranks,
        str(comm.num_nodes),
        comm.verdict,
        comm.transport,
        channels or "none",
        evidence,
    )
    return tuple(one_line(cell, limit=200) for cell in cells)


def _facts(verdict: LogVerdict) -> list[tuple[str, str]]:
    """What else the lines say, where they say it."""
    plugin = ", ".join(filter(None, (*verdict.plugin_names, *verdict.plugin_versions, *verdict.plugin_paths)))
    variables = ", ".join(f"{name}={'|'.join(values)}" for name, values in verdict.variables.items())
    has_network = any("NET/" in path for comm in verdict.communicators for path in comm.channels)
    facts = (
        ("NCCL", ", ".join(verdict.nccl_versions)),
        ("plugin", plugin),
        ("libfabric", ", ".join(verdict.libfabric_versions)),
        ("provider", ", ".join(verdict.providers)),
        ("fabric", ", ".join(verdict.fabrics)),
        ("GPUDirect", f"{verdict.gpu_direct} channel lines" if has_network else ""),
        ("interfaces", ", ".join(verdict.interfaces)),
        ("variables", variables),
    )
    return [(name, value) for name, value in facts if value]
