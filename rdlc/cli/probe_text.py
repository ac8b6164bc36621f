"""A probe as text: a table and a picture by size, what a step takes, what a fallback costs."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.cli.paths import shown
from rdlc.cli.probe_chart import draw_charts
from rdlc.cli.progress import span_words
from rdlc.cli.transport_alarm import show_alarm
from rdlc.core.probe.panels import make_panels, rate_words, size_words, time_words
from rdlc.core.probe.prediction import Row, StepPrediction
from rdlc.core.probe.reading import Arm
from rdlc.core.probe.svg import ARM_WORDS
from rdlc.core.transport.judged import describe_judgement
from rdlc.core.transport.report import TransportReport
from rdlc.operations.probe import PICTURE_FILE, Findings, ProbeResult

_NONE = "not measured"


def show_result(console: Console, result: ProbeResult, *, status: str) -> None:
    """Writes the result for people."""
    record, findings = result.record, result.findings
    write_line(console, f"{status}  {record.name}{span_words(record.started, record.ended)}")
    if record.reason:
        write_line(console, f"  why       {record.reason}")
    for check in record.checks if record.ranks else ():
        if not check.is_met:
            write_line(console, f"  {check.name}: locked {check.locked}, found {check.found}")
    if findings is not None:
        _show_findings(console, findings, result)
    write_line(console, f"  lock      {record.lock_id}")
    write_line(console, f"  record    {shown(result.path)}")
    if findings is not None:
        write_line(console, f"  picture   {shown(result.path / PICTURE_FILE)}")


def _show_findings(console: Console, findings: Findings, result: ProbeResult) -> None:
    for arm in findings.probe.arms:
        for line in _arm_lines(arm, findings.proofs[arm.name]):
            write_line(console, line)
        show_alarm(console, findings.proofs[arm.name])
    has_tcp = findings.probe.tcp is not None
    write_line(console, "\nbus bandwidth by size, as nccl-tests counts it; the median of the repeats")
    for line in table_lines(findings.rows, has_tcp=has_tcp):
        write_line(console, f"  {line}")
    is_plain = not console.is_terminal or not console.encoding.lower().startswith("utf")
    for line in draw_charts(make_panels(findings.rows), is_plain=is_plain):
        write_line(console, f"  {line}".rstrip())
    write_line(console, "")
    for line in (*_step_lines(findings), *_cost_lines(findings, result)):
        write_line(console, line)


def _arm_lines(arm: Arm, proof: TransportReport) -> Iterator[str]:
    hosts = len({rank.host for rank in arm.ranks})
    devices = ", ".join(dict.fromkeys(arm.devices))
    yield (
        f"  {ARM_WORDS[arm.name]}: {arm.backend}, {len(arm.ranks)} ranks on {arm.nodes} "
        f"node{'s' if arm.nodes > 1 else ''} ({hosts} host{'s' if hosts > 1 else ''}), {devices}"
    )
    if arm.variables:
        yield f"    set       {' '.join(f'{name}={value}' for name, value in arm.variables.items())}"
    yield f"    {describe_judgement(proof.judged)}"
    if arm.note:
        yield f"    note      {arm.note}"


def table_lines(rows: Sequence[Row], *, has_tcp: bool) -> Iterator[str]:
    """The table, a line per kind and size; without a TCP arm there is no ratio to show."""
    heads = ("kind", "size", "locked", "time") + (("TCP", "time", "ratio") if has_tcp else ())
    cells = [heads, *(_cells(row, has_tcp=has_tcp) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        kind, *numbers = row
        yield "  ".join((kind.ljust(widths[0]), *map(str.rjust, numbers, widths[1:])))


def _cells(row: Row, *, has_tcp: bool) -> tuple[str, ...]:
    first = (row.kind, size_words(row.size_bytes), *_pair(row.locked_busbw, row.locked_s))
    if not has_tcp:
        return first
    ratio = _NONE if row.ratio is None else f"{row.ratio:.2f}x"
    return (*first, *_pair(row.tcp_busbw, row.tcp_s), ratio)


def _pair(busbw: float | None, seconds: float | None) -> tuple[str, str]:
    return (_NONE if busbw is None else rate_words(busbw), _NONE if seconds is None else time_words(seconds))


def _step_lines(findings: Findings) -> Iterator[str]:
    traffic = findings.traffic
    yield f"one step moves {traffic.rank_bytes:,} bytes from each rank, {traffic.node_bytes:,} from each node to others"
    step_s = findings.measured_step_s
    measured = f"{_NONE}: no baseline stands beside the lock" if step_s is None else time_words(step_s)
    yield f"  step, by the baseline   {measured}"
    for each in findings.predictions:
        yield f"  {'over ' + ARM_WORDS[each.arm]:<22}  {_prediction_words(each)}"


def _prediction_words(each: StepPrediction) -> str:
    if each.wire_s is None:
        return f"{_NONE}: a kind of its collectives was not"
    alone = f"the collectives alone take {time_words(each.wire_s)}"
    if each.low_s is None or each.high_s is None:
        return f"{alone}, which is a floor; the step is {_NONE}"
    low, high = time_words(each.low_s), time_words(each.high_s)
    return f"{low if low == high else f'{low} to {high}'} predicted; {alone}"


def _cost_lines(findings: Findings, result: ProbeResult) -> Iterator[str]:
    """How many times faster the locked transport is, and what an hour of a fallback loses."""
    if findings.probe.tcp is None:
        yield "  ratio to TCP            not applicable: the locked transport is TCP itself"
        yield "  an hour of fallback     not applicable"
        return
    ratios = [row.ratio for row in findings.rows if row.ratio is not None]
    yield f"  ratio to TCP            {f'{min(ratios):.2f}x to {max(ratios):.2f}x, by size' if ratios else _NONE}"
    loss = findings.loss
    if loss is None:
        why = "an arm went over another transport" if findings.is_alarming else "no baseline says what a step takes"
        yield f"  an hour of fallback     {_NONE}: {why}"
        return
    minutes = _range(f"{loss.low * 60:.1f}", f"{loss.high * 60:.1f}")
    price = f"in money {_NONE}: no `--price`"
    if loss.low_usd is not None and loss.high_usd is not None:
        price = f"{_range(str(loss.low_usd), str(loss.high_usd))} of {result.usd_per_h} USD"
    yield f"  an hour of fallback     loses {minutes} minutes; {price}"


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
