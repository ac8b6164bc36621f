"""Which transport a run's own files prove: NCCL's lines, and the bytes that its sockets moved."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from rdlc.core.conformance import WorkerReport, common_network
from rdlc.core.lockfile import RunLock
from rdlc.core.traffic.ledger import LedgerVerdict, judge_ledger
from rdlc.core.traffic.moved import moved_between, predicted_traffic
from rdlc.core.traffic.reading import NETWORK_LIMIT_BYTES, NetworkReport, read_network_report
from rdlc.core.transport.judged import SeenTransport, expected_transport, judge_transport
from rdlc.core.transport.report import TransportReport
from rdlc.errors import InputError
from rdlc.operations.workspace import Workspace


class Evidence(Workspace, Protocol):
    """The files of a record that tell of its transport."""

    def nccl_logs(self, record: Path) -> Sequence[Path]:
        """What NCCL wrote, one file per process."""
        ...

    def read_chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of a file, in pieces."""
        ...

    def network_reports(self, record: Path) -> Sequence[Path]:
        """What each rank counted, by rank."""
        ...


def read_network_reports(record: Path, files: Evidence) -> list[NetworkReport]:
    """What each rank counted; raises InputError for a bad report."""
    return [
        read_network_report(
            files.read(path, limit_bytes=NETWORK_LIMIT_BYTES, what="what a rank counted"), name=str(path)
        )
        for path in files.network_reports(record)
    ]


def prove_transport(lock: RunLock, workers: Sequence[WorkerReport], record: Path, files: Evidence) -> TransportReport:
    """What the files of a record prove of its transport, held against what the lock asks for."""
    due = expected_transport(lock.sections)
    try:
        reports = read_network_reports(record, files)
    except InputError as error:
        seen = _unknown(f"what a rank counted cannot be read: {error.message}")
        return TransportReport(judged=judge_transport(seen, due), predicted_bytes=None, moved_bytes=None, observed={})
    ledger = judge_ledger(predicted_traffic(reports), moved_between(reports))
    seen = _see(common_network(workers), ledger)
    return TransportReport(
        judged=judge_transport(seen, due),
        predicted_bytes=ledger.predicted_bytes,
        moved_bytes=ledger.moved_bytes,
        observed={},
    )


def _see(backend: str, ledger: LedgerVerdict) -> SeenTransport:
    if backend != "gloo":
        return _unknown("NCCL's lines were not judged")
    return SeenTransport(
        verdict="unknown",
        transport="none",
        is_applicable=False,
        proof="none",
        has_disagreement=False,
        reason=f"the workers used gloo, which talks TCP only; {ledger.reason}",
    )


def _unknown(reason: str) -> SeenTransport:
    return SeenTransport(
        verdict="unknown", transport="none", is_applicable=True, proof="none", has_disagreement=False, reason=reason
    )
