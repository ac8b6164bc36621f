"""Which transport a run's own files prove: NCCL's lines, and the bytes that its sockets moved."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from rdlc.core.conformance import WorkerReport, common_network
from rdlc.core.lockfile import RunLock
from rdlc.core.text import one_line
from rdlc.core.traffic.ledger import judge_ledger
from rdlc.core.traffic.moved import moved_between, predicted_traffic
from rdlc.core.traffic.reading import NETWORK_LIMIT_BYTES, NetworkReport, read_network_report
from rdlc.core.transport.causes import Cause, find_causes
from rdlc.core.transport.facts import FileFacts
from rdlc.core.transport.judged import Expectation, JudgedTransport, SeenTransport, expected_transport, judge_transport
from rdlc.core.transport.proofs import GLOO, ONE_RANK, observe, see_nccl, see_nothing
from rdlc.core.transport.report import LikelyCause, TransportReport
from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import LogVerdict, judge_logs
from rdlc.errors import InputError
from rdlc.operations.workspace import Workspace

_LINE_LIMIT = 300
_SHOWN_LINES = 8


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
        log = _judge(record, files)
    except InputError as error:
        seen = see_nothing(f"what it left cannot be read: {error.message}")
        return TransportReport(judged=judge_transport(seen, due), predicted_bytes=None, moved_bytes=None, observed={})
    ledger = judge_ledger(predicted_traffic(reports), moved_between(reports))
    world_size, backend = lock.sections.recipe.world_size, common_network(workers)
    if backend == "gloo":
        seen = GLOO
    elif backend == "nccl" and world_size == 1:
        seen = ONE_RANK
    else:
        seen = see_nccl(log, ledger, world_size=world_size)
    report = _report(judge_transport(seen, due), log)
    return replace(report, predicted_bytes=ledger.predicted_bytes, moved_bytes=ledger.moved_bytes)


def prove_logs(record: Path, due: Expectation, files: Evidence) -> TransportReport:
    """What NCCL's lines in a record prove by themselves, for a run of which nothing else is known."""
    log = _judge(record, files)
    proof = "log" if log.verdict != "unknown" else "none"
    seen = SeenTransport(
        verdict=log.verdict,
        transport=log.transport,
        is_applicable=log.is_applicable,
        proof=proof,
        has_disagreement=False,
        reason=log.reason,
    )
    return _report(judge_transport(seen, due), log)


def _judge(record: Path, files: Evidence) -> LogVerdict:
    return judge_logs([_scan(path, record, files) for path in files.nccl_logs(record)])


def _report(judged: JudgedTransport, log: LogVerdict) -> TransportReport:
    return TransportReport(
        judged=judged,
        predicted_bytes=None,
        moved_bytes=None,
        lines=tuple(one_line(f"{line.place}: {line.text}", limit=_LINE_LIMIT) for line in log.evidence[:_SHOWN_LINES]),
        observed={name: one_line(value, limit=_LINE_LIMIT) for name, value in observe(log).items()},
        causes=tuple(_likely(cause) for cause in find_causes(log)) if not judged.is_fine else (),
        warnings=tuple(one_line(warning, limit=_LINE_LIMIT) for warning in log.warnings),
    )


def _likely(cause: Cause) -> LikelyCause:
    return LikelyCause(
        cause=one_line(cause.text, limit=_LINE_LIMIT),
        fix=cause.fix,
        line=one_line(f"{cause.evidence.place}: {cause.evidence.text}", limit=_LINE_LIMIT),
    )


def _scan(path: Path, record: Path, files: Evidence) -> FileFacts:
    scanner = Scanner(str(path.relative_to(record)))
    for chunk in files.read_chunks(path):
        scanner.feed(chunk)
    return scanner.finish()
