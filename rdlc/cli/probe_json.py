"""A probe as one JSON document: bytes, seconds, bytes per second; null is not measured."""

from collections.abc import Mapping
from typing import Any

from rdlc.core.probe.prediction import Row, StepPrediction
from rdlc.core.probe.reading import Arm
from rdlc.core.transport.report import TransportReport
from rdlc.operations.probe import PICTURE_FILE, Findings, ProbeResult


def result_document(result: ProbeResult) -> Mapping[str, Any]:
    """Everything that the probe found, beside its record."""
    record, findings = result.record, result.findings
    return {
        "record": str(result.path),
        "lock_id": record.lock_id,
        "reason": record.reason,
        "accepted": dict(record.accepted),
        "picture": str(result.path / PICTURE_FILE) if findings else None,
        "price_usd_per_h": None if result.usd_per_h is None else str(result.usd_per_h),
        **(_findings(findings) if findings else _NOTHING),
    }


_NOTHING: Mapping[str, Any] = {"arms": [], "has_tcp_arm": None, "bandwidth": [], "step": None, "fallback_hour": None}


def _findings(findings: Findings) -> Mapping[str, Any]:
    probe, loss = findings.probe, findings.loss
    return {
        "arms": [_arm(arm, findings.proofs[arm.name]) for arm in probe.arms],
        "has_tcp_arm": probe.tcp is not None,
        "bandwidth": [_row(row) for row in findings.rows],
        "step": {
            "baseline_s": findings.measured_step_s,
            "rank_bytes": findings.traffic.rank_bytes,
            "node_bytes": findings.traffic.node_bytes,
            "predicted": [_prediction(each) for each in findings.predictions],
        },
        "fallback_hour": None
        if loss is None
        else {
            "lost_share": [loss.low, loss.high],
            "lost_usd": None if loss.low_usd is None else [str(loss.low_usd), str(loss.high_usd)],
        },
    }


def _arm(arm: Arm, proof: TransportReport) -> dict[str, Any]:
    return {
        "name": arm.name,
        "note": arm.note,
        "transport": proof.payload(),
        "backend": arm.backend,
        "torch": arm.torch,
        "nccl": arm.nccl or None,
        "nodes": arm.nodes,
        "variables": dict(arm.variables),
        "ranks": [
            {"rank": rank.rank, "node_rank": rank.node_rank, "host": rank.host, "device": device}
            for rank, device in zip(arm.ranks, arm.devices, strict=True)
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "size_bytes": row.size_bytes,
        "locked": {"median_s": row.locked_s, "algbw": row.locked_algbw, "busbw": row.locked_busbw},
        "tcp": {"median_s": row.tcp_s, "algbw": row.tcp_algbw, "busbw": row.tcp_busbw},
        "ratio": row.ratio,
    }


def _prediction(each: StepPrediction) -> dict[str, Any]:
    return {"arm": each.arm, "collectives_s": each.wire_s, "low_s": each.low_s, "high_s": each.high_s}
