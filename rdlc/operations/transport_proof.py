"""Which transport a run's own files prove: NCCL's lines, and the bytes that its sockets moved."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from rdlc.core.conformance import WorkerReport, common_network
from rdlc.core.lockfile import RunLock
from rdlc.core.transport.judged import SeenTransport, expected_transport, judge_transport
from rdlc.core.transport.report import TransportReport


class Evidence(Protocol):
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


def prove_transport(lock: RunLock, workers: Sequence[WorkerReport], record: Path, files: Evidence) -> TransportReport:
    """What the files of a record prove of its transport, held against what the lock asks for."""
    due = expected_transport(lock.sections)
    seen = _GLOO if common_network(workers) == "gloo" else _NOTHING
    if seen is _NOTHING and files.nccl_logs(record):
        seen = replace(seen, reason="NCCL left its lines, and they were not judged")
    return TransportReport(judged=judge_transport(seen, due), predicted_bytes=None, moved_bytes=None, observed={})


_GLOO = SeenTransport(
    verdict="unknown",
    transport="none",
    is_applicable=False,
    proof="none",
    has_disagreement=False,
    reason="the workers used gloo, which has one transport: TCP",
)
_NOTHING = SeenTransport(
    verdict="unknown",
    transport="none",
    is_applicable=True,
    proof="none",
    has_disagreement=False,
    reason="no worker said what it talked over",
)
