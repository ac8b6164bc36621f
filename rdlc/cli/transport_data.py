"""What logs prove of a transport, as JSON; the words are those of the verdict."""

from collections.abc import Sequence

from rdlc.core.canonical import Json
from rdlc.core.transport.causes import Cause
from rdlc.core.transport.facts import Evidence
from rdlc.core.transport.rules import CommunicatorVerdict
from rdlc.core.transport.verdict import LogVerdict
from rdlc.operations.transport import TransportReading


def reading_data(reading: TransportReading) -> dict[str, Json]:
    """The fields of `rdlc transport --json`."""
    return {
        **verdict_data(reading.verdict),
        "causes": [_cause(cause) for cause in reading.causes],
        "files": reading.num_files,
        "bytes": reading.num_bytes,
    }


def verdict_data(verdict: LogVerdict) -> dict[str, Json]:
    """The verdict on a job."""
    attempts: list[Json] = [
        {
            "attempt": attempt.number,
            "commId": attempt.comm_id or None,
            "verdict": attempt.verdict,
            "transport": attempt.transport,
        }
        for attempt in verdict.attempts
    ]
    return {
        "verdict": verdict.verdict,
        "transport": verdict.transport,
        "applicable": verdict.is_applicable,
        "failed": verdict.has_failed,
        "reason": verdict.reason,
        "nccl": verdict.nccl_versions[0] if verdict.nccl_versions else None,
        "nnodes": verdict.num_nodes,
        "attempts": attempts,
        "communicators": [_communicator(comm) for comm in verdict.communicators],
        "nccl_versions": list(verdict.nccl_versions),
        "providers": list(verdict.providers),
        "fabrics": list(verdict.fabrics),
        "plugin": {
            "names": list(verdict.plugin_names),
            "paths": list(verdict.plugin_paths),
            "versions": list(verdict.plugin_versions),
        },
        "libfabric_versions": list(verdict.libfabric_versions),
        "gpu_direct": verdict.gpu_direct,
        "interfaces": list(verdict.interfaces),
        "variables": {name: list(values) for name, values in verdict.variables.items()},
        "warn": list(verdict.warning_words),
        "warnings": list(verdict.warnings),
    }


def _communicator(comm: CommunicatorVerdict) -> Json:
    return {
        "commId": comm.comm_id or None,
        "attempt": comm.attempt,
        "ranks": comm.num_ranks,
        "ranks_seen": comm.ranks_seen,
        "nnodes": comm.num_nodes,
        "split": comm.is_split,
        "complete": comm.is_complete,
        "verdict": comm.verdict,
        "transport": comm.transport,
        "failed": comm.has_failed,
        "networks": list(comm.networks),
        "channels": dict(comm.channels),
        "gpu_direct": comm.gpu_direct,
        "reason": comm.reason,
        "evidence": _lines(comm.evidence),
    }


def _lines(evidence: Sequence[Evidence]) -> list[Json]:
    return [_line(line) for line in evidence]


def _line(evidence: Evidence) -> Json:
    return {"file": evidence.file, "line": evidence.line, "text": evidence.text}


def _cause(cause: Cause) -> Json:
    return {"cause": cause.word, "text": cause.text, "fix": cause.fix, "evidence": _line(cause.evidence)}
