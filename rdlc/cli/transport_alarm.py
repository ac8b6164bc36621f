"""The alarm for a run that did not use its network: loud, and with all that it rests on."""

from collections.abc import Iterator

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from rdlc.cli.console import write_line
from rdlc.core.text import printable
from rdlc.core.transport.judged import describe_judgement
from rdlc.core.transport.report import TransportReport

_TITLES = {
    "fallback": "FELL BACK TO A SLOWER TRANSPORT",
    "mixed": "DIFFERENT TRANSPORTS IN ONE JOB",
    "unknown": "TRANSPORT NOT PROVEN",
    "other": "NOT THE LOCKED TRANSPORT",
    "disagreement": "LOGS AND BYTES CONTRADICT EACH OTHER",
}
_SHOWN_LINES = 3


def show_transport(console: Console, report: TransportReport) -> None:
    """Shows the alarm, or the bytes that agree with what was proven."""
    if report.judged.finding in _TITLES:
        show_alarm(console, report)
    elif ledger := describe_bytes(report):
        write_line(console, f"  bytes     {ledger}")
    for warning in report.warnings:
        write_line(console, f"  note      {warning}")


def show_alarm(console: Console, report: TransportReport) -> None:
    """Shows why the transport of a run is not fine; nothing for one that is."""
    title = _TITLES.get(report.judged.finding)
    if title is None:
        return
    rows = list(_rows(report))
    if not console.is_terminal:
        write_line(console, f"!!! {title}")
        for label, text in rows:
            write_line(console, f"!!! {label:<9} {text}".rstrip())
        return
    texts = [Text.assemble((f"{label:<9} ", "bold"), printable(text)) for label, text in rows]
    console.print(Panel(Group(*texts), title=title, border_style="bold red", title_align="left"))


def _rows(report: TransportReport) -> Iterator[tuple[str, str]]:
    yield "seen", describe_judgement(report.judged).removeprefix("transport: ")
    if ledger := describe_bytes(report):
        yield "bytes", ledger
    for number, line in enumerate(report.lines[:_SHOWN_LINES]):
        yield "" if number else "shown by", line
    for sentence in report.cost:
        label, _, words = sentence.partition(": ")
        yield label, words
    for cause in report.causes:
        yield "likely", cause.cause
        if cause.line:
            yield "", cause.line
        if cause.fix:
            yield "fix", cause.fix


def describe_bytes(report: TransportReport) -> str:
    """What the workers' sockets moved in a step against what the collectives must move; "" if neither is known."""
    moved, predicted = report.moved_bytes, report.predicted_bytes
    if moved is None and predicted is None:
        return ""
    if moved is None:
        return f"not measured; the collectives must move {predicted:,} a step"
    if not predicted:
        return f"{moved:,} a step over sockets between workers; what must move is not known"
    return (
        f"{moved:,} a step over sockets between workers, {100 * moved / predicted:.2f} % of the {predicted:,} "
        "that the collectives must move"
    )
