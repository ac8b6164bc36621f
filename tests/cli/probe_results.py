"""Results of a probe, made up."""

from decimal import Decimal
from pathlib import Path

from rdlc.core.probe.prediction import hourly_loss, predict_steps, tabulate
from rdlc.core.probe.reading import read_probe
from rdlc.core.record import RunRecord
from rdlc.core.transport.judged import Expectation, JudgedTransport, SeenTransport
from rdlc.core.transport.report import TransportReport
from rdlc.operations.probe import Findings, ProbeResult
from tests.core.probe.samples import TRAFFIC


def result_of(
    data: bytes, *, step_s: float | None = None, usd: str | None = None, finding: str = "not-applicable"
) -> ProbeResult:
    """A probe of these lines, with what follows from them."""
    probe = read_probe(data, name="probe.jsonl")
    predictions = predict_steps(probe, TRAFFIC, measured_step_s=step_s)
    usd_per_h = None if usd is None else Decimal(usd)
    findings = Findings(
        probe=probe,
        rows=tabulate(probe),
        traffic=TRAFFIC,
        measured_step_s=step_s,
        predictions=predictions,
        loss=hourly_loss(predictions, measured_step_s=step_s, usd_per_h=usd_per_h),
        proofs={arm.name: make_report(finding) for arm in probe.arms},
    )
    return ProbeResult(record=make_record(), path=Path("/records/it"), usd_per_h=usd_per_h, findings=findings)


def make_report(finding: str) -> TransportReport:
    """A judged transport of this finding."""
    seen = SeenTransport(
        verdict="unknown" if finding in ("unknown", "not-applicable") else finding,
        transport="socket" if finding == "fallback" else "none",
        is_applicable=finding != "not-applicable",
        proof="log" if finding == "fallback" else "none",
        has_disagreement=False,
        reason="NCCL was not used" if finding == "not-applicable" else "no line names a communicator",
    )
    due = Expectation(transport="", origin="")
    judged = JudgedTransport(finding=finding, seen=seen, due=due)
    return TransportReport(judged=judged, predicted_bytes=None, moved_bytes=None, observed={})


def make_record(**changes: str) -> RunRecord:
    """The record of a probe."""
    return RunRecord(
        id="20261130T120000Z-0",
        kind="probe",
        name="toy",
        lock_id="sha256:" + "0" * 64,
        tool="rdlc",
        status=changes.get("status", "finished"),
        reason=changes.get("reason", ""),
        claim="execution",
        level="recorded",
        started="2026-11-30T12:00:00Z",
        ended="2026-11-30T12:01:05Z",
        token="token",
        accepted={},
        observed={},
        files={},
    )
