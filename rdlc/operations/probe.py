"""Measure a lock's transport, and TCP beside it, on the workers that a run would have: the use case of `probe`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from rdlc.core.conformance import WorkerReport, check_conformance, describe_workers
from rdlc.core.kube.describe import describe_cluster, record_cluster
from rdlc.core.lockfile import RunLock
from rdlc.core.probe.panels import rate_words, size_words
from rdlc.core.probe.prediction import (
    Loss,
    Row,
    StepPrediction,
    hourly_loss,
    median_step_s,
    predict_steps,
    tabulate,
)
from rdlc.core.probe.reading import PROBE_FILE, Probe
from rdlc.core.probe.svg import draw_svg
from rdlc.core.record import RunRecord, write_record
from rdlc.core.traffic.prediction import KINDS, Traffic
from rdlc.core.transport.judged import describe_judgement
from rdlc.core.transport.report import TransportReport
from rdlc.errors import InputError, RdlcError
from rdlc.operations.collect import say_failure
from rdlc.operations.data_source import DataSource
from rdlc.operations.follow import JobEnd, Listener, Progress, limits_in_seconds
from rdlc.operations.machine import Machine
from rdlc.operations.prepare import Prepared, RunRequest, prepare
from rdlc.operations.probe_proof import load_probe, probed_traffic, prove_arm, read_whole
from rdlc.operations.record_files import read_workers
from rdlc.operations.recording import in_record, settle_interrupted
from rdlc.operations.reporting import Reporter
from rdlc.operations.run import Driving, drive
from rdlc.operations.sightings import load_sightings

PICTURE_FILE = "bandwidth.svg"
# No size takes that long; a transport that hangs must come to an end.
_SILENT_S = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeRequest:
    """What `rdlc probe` was asked; `usd_per_h` is what all nodes of the run cost together."""

    given: Path
    allow: Mapping[str, str]
    usd_per_h: Decimal | None
    tool: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What the probe's figures say.

    `measured_step_s` is the median step of the baseline, None without one. `proofs` says of each arm
    which transport its own NCCL files prove.
    """

    probe: Probe
    rows: tuple[Row, ...]
    traffic: Traffic
    measured_step_s: float | None
    predictions: tuple[StepPrediction, ...]
    loss: Loss | None
    proofs: Mapping[str, TransportReport]

    @property
    def is_proven(self) -> bool:
        """Whether every arm's figures are shown to be of its transport, as far as that can be asked."""
        return all(report.judged.is_fine for report in self.proofs.values())

    @property
    def is_alarming(self) -> bool:
        """Whether an arm is shown to have gone over another transport than its own."""
        return any(report.judged.is_alarming for report in self.proofs.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeResult:
    """The record of a probe; `findings` is None if it did not come to its end."""

    record: RunRecord
    path: Path
    usd_per_h: Decimal | None
    findings: Findings | None


def probe(
    request: ProbeRequest,
    *,
    machine: Machine,
    reporter: Reporter,
    listener: Listener,
    data: DataSource | None = None,
) -> ProbeResult:
    """Measures and records; refuses what `run` refuses, and a lock whose workers move nothing.

    Raises DriftRefused before anything is written, and Interrupted after the record was closed.
    """
    asked = RunRequest(
        given=request.given, kind="probe", is_rebaseline=False, allow=request.allow, settings={}, tool=request.tool
    )
    prepared = prepare(asked, machine=machine, reporter=reporter, data=data)
    module = _find_module(prepared, request.given)

    def work(record: RunRecord, path: Path, secrets: Mapping[str, str]) -> ProbeResult:
        limits = limits_in_seconds(prepared.lock.sections.run.requested.limits)
        limits["no_step_minutes"] = min(_SILENT_S, limits.get("no_step_minutes", _SILENT_S))
        driving = Driving(module=module, lines=PROBE_FILE, limits_s=limits, secrets=secrets)
        end, reason = drive(prepared, record, path, driving, machine, reporter, _Phases(listener))
        if end is None:
            settle_interrupted(record, path, machine=machine)
        return _close(request, prepared, record, path, (end, reason), machine)

    return in_record(asked, prepared, work, machine=machine, reporter=reporter)


class _Phases:
    """A listener that hears no steps: a line of a probe is none."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def phase(self, name: str) -> None:
        """A phase begins."""
        self._listener.phase(name)

    def step(self, progress: Progress) -> None:  # noqa: ARG002 - what follows a job gives it
        """Something was measured."""
        self._listener.tick()

    def transport(self, report: TransportReport) -> None:
        """A transport was judged."""
        self._listener.transport(report)

    def tick(self) -> None:
        """Nothing new came, and it goes on."""
        self._listener.tick()


def _find_module(prepared: Prepared, given: Path) -> str:
    """The recipe's module that probes."""
    sections = prepared.lock.sections
    if sections.cluster.requested.workers < 2:
        raise RdlcError(
            "the lock has one worker, which moves nothing: there is nothing to probe",
            file=str(given),
            field="cluster.requested.workers",
        )
    package = sections.code.package
    if f"{package}/probe.py" not in prepared.code.files:
        raise RdlcError(
            f"the recipe `{package}` has no `{package}/probe.py`, so its workers cannot be probed",
            file=str(given),
            field="code.resolved.files",
        )
    return f"{package}.probe"


def _close(
    request: ProbeRequest,
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    ended: tuple[JobEnd, str],
    machine: Machine,
) -> ProbeResult:
    """Reads what it left, writes the picture, and closes the record."""
    end, limit = ended
    workers: list[WorkerReport] = []
    findings, trouble = None, _limit_words(limit) or say_failure(path, end, machine)
    try:
        workers = read_workers(path, machine)
        findings = None if trouble else _find(request, prepared, path, workers, machine)
    except InputError as error:
        trouble = trouble or f"what it left cannot be read: {error.file}: {error.message}"
    if findings is not None:
        machine.write(path / PICTURE_FILE, draw_svg(findings.rows, title=_title(prepared.lock, findings.probe)))
    sightings, unread = load_sightings(path, machine)
    trouble = trouble or unread
    ranks = tuple(worker.place for worker in workers)
    closed = replace(
        record,
        status="finished" if findings else "stopped" if end.reason == "stopped" else "failed",
        reason=trouble,
        ended=machine.clock(),
        checks=check_conformance(prepared.lock, workers, sightings),
        observed={**record.observed, **describe_workers(workers), **describe_cluster(sightings)},
        ranks=ranks,
        cluster=record_cluster(sightings, ranks),
        remarks=_remarks(findings) if findings else (),
        files=machine.hash_files(path),
    )
    machine.write(path / "record.json", write_record(closed))
    return ProbeResult(record=closed, path=path, usd_per_h=request.usd_per_h, findings=findings)


def _limit_words(limit: str) -> str:
    """The words of a limit; the one for steps is about measurements here."""
    name, _, words = limit.partition(": ")
    return words.replace("no step for", "nothing was measured for") if name == "limits.no_step_minutes" else limit


def _find(
    request: ProbeRequest, prepared: Prepared, path: Path, workers: Sequence[WorkerReport], machine: Machine
) -> Findings:
    read = load_probe(path, machine)
    traffic = probed_traffic(prepared.lock, read)
    step_s = None
    if prepared.baseline is not None:
        warmup = read_whole(prepared.lock.sections.recipe.config, "warmup_steps")
        step_s = median_step_s(prepared.baseline.outcome.steps, warmup_steps=warmup)
    predictions = predict_steps(read, traffic, measured_step_s=step_s)
    proofs = {arm.name: prove_arm(arm, prepared.lock, workers, path, machine) for arm in read.arms}
    # Of arms that were not what they are said to be, nothing follows.
    is_wrong = any(report.judged.is_alarming for report in proofs.values())
    return Findings(
        probe=read,
        rows=tabulate(read),
        traffic=traffic,
        measured_step_s=step_s,
        predictions=predictions,
        loss=None if is_wrong else hourly_loss(predictions, measured_step_s=step_s, usd_per_h=request.usd_per_h),
        proofs=proofs,
    )


def _remarks(findings: Findings) -> tuple[str, ...]:
    proofs = {name: describe_judgement(report.judged) for name, report in findings.proofs.items()}
    sentences = (f"the arm `{name}`: {said.removeprefix('transport: ')}" for name, said in proofs.items())
    return (*_describe_best(findings.rows), *sentences)


def _describe_best(rows: tuple[Row, ...]) -> tuple[str, ...]:
    """A sentence for each kind, about the largest size that was measured over the locked transport."""
    sentences = []
    for kind in KINDS:
        of_kind = [row for row in rows if row.kind == kind and row.locked_busbw is not None]
        if of_kind:
            row = of_kind[-1]
            assert row.locked_busbw is not None
            words = f"{kind} of {size_words(row.size_bytes)}: {rate_words(row.locked_busbw)} over the locked transport"
            if row.tcp_busbw is not None and row.ratio is not None:
                words += f", {rate_words(row.tcp_busbw)} over TCP ({row.ratio:.2f}x)"
            sentences.append(words)
    return tuple(sentences)


def _title(lock: RunLock, read: Probe) -> str:
    arm = read.locked
    return f"{lock.name}: {len(arm.ranks)} ranks on {arm.nodes} node{'s' if arm.nodes > 1 else ''}, {arm.backend}"
