"""`rdlc runs`: the records here."""

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import project_runs, shown
from rdlc.cli.wiring import LocalArchive
from rdlc.core.canonical import Json
from rdlc.core.text import printable
from rdlc.errors import InputError
from rdlc.operations.runs import Entry, list_runs

_STYLES = {
    "reproduced": "green",
    "finished": "green",
    "not-reproduced": "red",
    "failed": "red",
    "inconsistent": "red",
    "damaged": "red",
    "wrong-transport": "red",
    "stopped": "yellow",
    "interrupted": "yellow",
}
_COLUMNS = ("record", "name", "kind", "verdict", "level", "steps", "why")


@verb("runs", statuses={"listed": "the records are listed, perhaps none"})
@click.option("--name", metavar="NAME", help="Only the records of this run name.")
def command(session: Session, *, name: str | None) -> Answer:
    """List the records here, newest first.

    One line each: the record's name, what it was a run of, its verdict and the level it reached.
    """
    runs = project_runs()
    if runs is None:
        raise InputError("there is no project around this folder", hint="`rdlc init DIR --target local`")
    entries = list_runs(runs, shelf=LocalArchive())
    if name is not None:
        entries = tuple(entry for entry in entries if entry.path.parent.name == name)
    if not entries:
        named = "" if name is None else f" named `{name}`"
        session.note(f"no records{named} in {shown(runs)}")
    return Answer(
        status="listed",
        data={"runs": [_row(entry) for entry in entries]},
        show=lambda console: _show(console, entries),
    )


def _row(entry: Entry) -> Json:
    record = entry.record
    row: dict[str, Json] = {"record": str(entry.path), "verdict": entry.verdict}
    if record is None:
        return {**row, "why": entry.trouble}
    return {
        **row,
        "name": record.name,
        "kind": record.kind,
        "status": record.status,
        "level": record.level,
        "claim": record.claim,
        "lock_id": record.lock_id,
        "started": record.started,
        "steps_done": record.steps_done,
        "steps_total": record.steps_total,
        "outcome": record.outcome,
        "accepted": dict(record.accepted),
        "why": record.reason,
    }


def _show(console: Console, entries: tuple[Entry, ...]) -> None:
    if not entries:
        return
    rows = [_cells(entry) for entry in entries]
    if not console.is_terminal:
        widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
        for row in (_COLUMNS, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            write_line(console, "  ".join(cells).rstrip())
        return
    table = Table(box=None, pad_edge=False)
    for column in _COLUMNS[:-1]:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row[:-1]))
    console.print(table)
    # The reasons are sentences: beside the other columns they would be squeezed.
    for row in rows:
        if row[-1]:
            write_line(console, f"{row[0]}: {row[-1]}")


def _cells(entry: Entry) -> tuple[str, ...]:
    record = entry.record
    if record is None:
        name = entry.path.parent.name
        return tuple(map(printable, (entry.path.name, name, "", entry.verdict, "", "", entry.trouble)))
    steps = f"{record.steps_done}/{record.steps_total}" if record.steps_total else str(record.steps_done)
    why = record.reason or (record.outcome if entry.verdict == "not-reproduced" else "")
    if record.accepted:
        why = "; ".join(filter(None, (why, f"drift allowed in {', '.join(sorted(record.accepted))}")))
    cells = (entry.path.name, record.name, record.kind, entry.verdict, record.level, steps, why)
    return tuple(printable(cell.replace("\n", " ")) for cell in cells)
