"""`rdlc collect`: a record of a run that rdlc did not start."""

import re
from pathlib import Path

import click
from rich.console import Console

from rdlc import __version__
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import project_runs, shown
from rdlc.cli.transport_alarm import show_alarm
from rdlc.cli.wiring import LocalCollector
from rdlc.core.spec import NAME
from rdlc.core.text import one_line
from rdlc.core.transport.judged import describe_judgement
from rdlc.errors import InputError
from rdlc.operations.collect_logs import CollectedLogs, CollectRequest, collect_logs

STATUSES = {
    "collected": "a record was made, and its transport is right or there was none to judge",
    "unproven": "a record was made, and what its logs hold proves no transport",
    "wrong-transport": "a record was made of a run that fell back, or whose parts went over different transports",
}


@verb("collect", statuses=STATUSES)
@click.argument("given", metavar="PATH...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--name", metavar="NAME", help="What the run is called; the name of the first PATH if not given.")
def command(session: Session, *, given: tuple[Path, ...], name: str | None) -> Answer:
    """Make a record of a run that rdlc did not start.

    PATH is a file or folder of its logs, such as a Ray session folder or what NCCL_DEBUG_FILE named. Only the
    lines that speak of NCCL or gloo are kept. The transport is judged as that of a run is.
    """
    request = CollectRequest(
        given=given,
        name=_read_name(name, given[0]),
        runs=project_runs() or Path.cwd() / "runs",
        tool=f"rdlc {__version__}",
    )
    result = collect_logs(request, collector=LocalCollector(), reporter=session)
    judged = result.report.judged
    status = "collected" if judged.is_fine else "wrong-transport" if judged.is_alarming else "unproven"
    return Answer(
        status=status,
        exit_code=0 if judged.is_fine else 1,
        data={
            "record": str(result.path),
            "files": result.num_files,
            "files_kept": result.num_kept,
            "transport": result.report.payload(),
        },
        show=lambda console: _show(console, status, result),
    )


def _read_name(name: str | None, first: Path) -> str:
    if name is None:
        whole = first.resolve()
        name = (
            re.sub(r"[^a-z0-9._-]+", "-", (whole.name if whole.is_dir() else whole.stem).lower()).strip("-._")[:63]
            or "run"
        )
    if not NAME.fullmatch(name):
        raise InputError(
            f"`--name {one_line(name)}` must be small letters, digits, `.`, `_`, `-`, at most 63",
            hint="`--name finetune-1`",
        )
    return name


def _show(console: Console, status: str, result: CollectedLogs) -> None:
    write_line(console, f"{status}  {result.record.name}")
    write_line(console, f"  files     {result.num_kept} of {result.num_files} speak of NCCL or gloo")
    if result.report.judged.is_fine:
        write_line(console, f"  {describe_judgement(result.report.judged)}")
    for name, value in result.report.observed.items():
        write_line(console, f"    {name}  {value}")
    for warning in result.report.warnings:
        write_line(console, f"  note      {warning}")
    show_alarm(console, result.report)
    write_line(console, f"  record    {shown(result.path)}")
