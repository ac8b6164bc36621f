"""The files that a run leaves in its record, read with a bound."""

from pathlib import Path

from rdlc.core.conformance import REPORT_LIMIT_BYTES, WorkerReport, read_worker_report
from rdlc.core.outcome import ReadOutcome
from rdlc.core.outcome_files import (
    FINGERPRINTS_FILE,
    FINGERPRINTS_LIMIT_BYTES,
    METRICS_FILE,
    METRICS_LIMIT_BYTES,
    RESULT_FILE,
    RESULT_LIMIT_BYTES,
    read_outcome,
)
from rdlc.operations.machine import Machine
from rdlc.operations.workspace import Workspace


def load_outcome(path: Path, workspace: Workspace) -> ReadOutcome:
    """The outcome that the files of a record's folder hold; raises InputError for a bad one."""
    result = read_file(path / RESULT_FILE, RESULT_LIMIT_BYTES, workspace)
    return read_outcome(
        read_file(path / METRICS_FILE, METRICS_LIMIT_BYTES, workspace) or b"",
        read_file(path / FINGERPRINTS_FILE, FINGERPRINTS_LIMIT_BYTES, workspace) or b"",
        result,
        name=str(path),
    )


def read_workers(path: Path, machine: Machine) -> list[WorkerReport]:
    """What each rank said of itself, by rank; raises InputError for a bad report."""
    reports = []
    for file in machine.worker_reports(path):
        data = machine.read(file, limit_bytes=REPORT_LIMIT_BYTES, what="a worker's report")
        reports.append(read_worker_report(data, name=str(file)))
    return sorted(reports, key=lambda report: report.place.rank)


def read_file(path: Path, limit_bytes: int, workspace: Workspace) -> bytes | None:
    """The bytes of one of them; None if it is not there."""
    if not path.exists():
        return None
    return workspace.read(path, limit_bytes=limit_bytes, what="a file of the record")
