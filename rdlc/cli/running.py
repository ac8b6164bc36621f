"""What `rdlc run` and `rdlc replay` have in common: options, refusals, and the result for people."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console

from rdlc import __version__
from rdlc.cli.conformance_text import cluster_row, conformance_rows, show_conformance
from rdlc.cli.console import write_line
from rdlc.cli.data_source import DataPlaces
from rdlc.cli.edge import Answer, Session
from rdlc.cli.lock import read_settings
from rdlc.cli.paths import shown
from rdlc.cli.progress import RunProgress, span_words
from rdlc.cli.transport_alarm import show_transport
from rdlc.cli.wiring import LocalMachine
from rdlc.core.canonical import Json
from rdlc.core.infra.prices import read_node_price
from rdlc.core.packages.installed import SETUP
from rdlc.core.record import Drift, RunRecord
from rdlc.core.text import printable
from rdlc.errors import InputError
from rdlc.operations.prepare import DriftRefused, RunRequest
from rdlc.operations.run import RunResult, execute

_SHOWN_DRIFTS = 20
TRANSPORT_STATUS = {
    "wrong-transport": "it ran over another transport than it should have: a fallback, or not the locked one"
}


def read_request(
    *,
    given: Path,
    kind: str,
    allow: Sequence[str],
    is_rebaseline: bool = False,
    settings: tuple[str, ...] = (),
    price: str | None = None,
) -> RunRequest:
    """The request in the options of a command line."""
    return RunRequest(
        given=given,
        kind=kind,
        is_rebaseline=is_rebaseline,
        allow=read_allowed(allow),
        settings=read_settings(settings),
        tool=f"rdlc {__version__}",
        price=None if price is None else read_node_price(price),
    )


def run_and_answer(session: Session, request: RunRequest) -> Answer:
    """Runs on this machine and says how it went."""
    try:
        with terminable(), RunProgress(session) as progress:
            result = execute(
                request, machine=LocalMachine(), reporter=session, listener=progress, data=DataPlaces(session)
            )
    except DriftRefused as refusal:
        return show_refusal(session, refusal)
    return answer_of(result)


def answer_of(result: RunResult) -> Answer:
    """Says how a run went."""
    record = result.record
    return Answer(
        status=_status(result),
        exit_code=0 if result.is_fine else 1,
        data={
            "record": str(result.path),
            "lock_id": record.lock_id,
            "level": record.level,
            "claim": record.claim,
            "reason": record.reason,
            "steps_done": record.steps_done,
            "steps_total": record.steps_total,
            "outcome": record.outcome,
            "divergence": _divergence(result),
            "evidence": list(record.evidence),
            "transport": None if record.transport is None else record.transport.payload(),
            "conformance": conformance_rows(record),
            "cluster": cluster_row(record),
            "remarks": list(record.remarks),
            "metrics": None if record.metrics is None else record.metrics.payload(),
            "package_setup": record.observed.get(SETUP),
            "drift": _drift_rows(record.drift),
            "accepted": dict(record.accepted),
            "baseline": result.baseline,
        },
        show=lambda console: _show(console, result),
    )


def _status(result: RunResult) -> str:
    record = result.record
    if record.status != "finished":
        return record.status
    if record.transport is not None and record.transport.judged.is_alarming:
        return "wrong-transport"
    if record.kind == "run":
        return "finished" if result.is_fine else "unproven"
    return "reproduced" if result.is_fine else "not-reproduced"


def _show(console: Console, result: RunResult) -> None:
    record = result.record
    total = f" of {record.steps_total}" if record.steps_total else ""
    took = span_words(record.started, record.ended)
    write_line(console, f"{_status(result)}  {record.name}  {record.steps_done}{total} steps{took}")
    if record.reason:
        write_line(console, f"  why       {record.reason}")
    mark = "" if record.kind == "run" else f"  (claimed: {record.claim})"
    write_line(console, f"  level     {record.level}{mark}")
    for sentence in record.evidence:
        write_line(console, f"            {sentence}")
    _show_findings(console, record)
    if record.transport is not None:
        show_transport(console, record.transport)
    write_line(console, f"  lock      {record.lock_id}")
    write_line(console, f"  record    {shown(result.path)}")
    if record.kind == "run":
        write_line(console, f"  baseline  {_BASELINE_WORDS[result.baseline]}")


def _show_findings(console: Console, record: RunRecord) -> None:
    """What came of it, what the packages took, and what was not as locked."""
    if record.outcome and not any(record.outcome in sentence for sentence in record.evidence):
        write_line(console, f"  outcome   {record.outcome}")
    if setup := record.observed.get(SETUP):
        write_line(console, f"  packages  set up in {setup}")
    show_conformance(console, record)
    for number, remark in enumerate(record.remarks):
        write_line(console, f"  {'' if number else 'result':<8}  {remark}")


_BASELINE_WORDS = {
    "written": "written beside the lock: replays are compared with this run",
    "replaced": "replaced by this run",
    "kept": "kept as it was; --rebaseline replaces it",
    "not-due": "not written: only a run that finishes as locked, without allowed drift, becomes one",
    "no-lock": "not written: a run of a spec has no lock beside it; `rdlc lock` first",
}


_KEEP = {
    "code": "to keep the change: `rdlc lock SPEC`, or for one run: `--allow-drift code=REASON`",
    "environment": "to keep it: `rdlc lock SPEC`, or for one run: `--allow-drift environment=REASON`",
    "data": "to keep it: `rdlc lock SPEC`, or for one run: `--allow-drift data=REASON`",
}


def show_refusal(session: Session, refusal: DriftRefused) -> Answer:
    """The answer that says what has drifted, and how to mend it."""

    def show(console: Console) -> None:
        write_line(session.err, f"error: {refusal.message}", style="bold red")
        for item in refusal.drift[:_SHOWN_DRIFTS]:
            write_line(session.err, f"  {item.section}: {item.address}")
            write_line(session.err, f"    locked  {item.locked}")
            write_line(session.err, f"    here    {item.found}")
        if len(refusal.drift) > _SHOWN_DRIFTS:
            write_line(session.err, f"  and {len(refusal.drift) - _SHOWN_DRIFTS} more; all with --json")
        for section in dict.fromkeys(item.section for item in refusal.drift):
            write_line(session.err, f"hint: {section}: {_KEEP[section]}")
            if command := refusal.mends.get(section):
                write_line(session.err, f"hint: {section}: to go back to what was locked: `{command}`")

    return Answer(
        status="drifted",
        exit_code=1,
        data={"drift": _drift_rows(refusal.drift), "mend": dict(refusal.mends)},
        show=show,
    )


def _drift_rows(drift: Sequence[Drift]) -> list[Json]:
    return [{"section": d.section, "address": d.address, "locked": d.locked, "found": d.found} for d in drift]


def _divergence(result: RunResult) -> Json:
    comparison = result.comparison
    if comparison is None or comparison.divergence is None:
        return None
    found = comparison.divergence
    return {
        "step": found.step,
        "fields": list(found.fields),
        "tensor_step": found.tensor_step,
        "tensors": list(found.tensors),
        "tensors_total": found.tensors_total,
    }


def read_allowed(allow: Sequence[str]) -> Mapping[str, str]:
    """The `--allow-drift SECTION=REASON` options, by section."""
    allowed = {}
    for text in allow:
        section, _, reason = text.partition("=")
        if not section or not reason.strip():
            raise InputError(
                f"`--allow-drift {text}` must have the form SECTION=REASON",
                hint='`--allow-drift environment="newer rich, not used in training"`',
            )
        allowed[section] = printable(reason.strip())
    return allowed


@contextmanager
def terminable() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end a run once, cleanly; a signal that is ignored (nohup) stays so."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    kept = {number: signal.getsignal(number) for number in numbers}
    for number, handler in kept.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # The processes are ended and the record is closed now; a second signal must not cut that short.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt
