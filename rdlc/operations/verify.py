"""Is a lock, record or baseline intact and self-consistent? Offline, and nothing is executed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.baseline import read_baseline
from rdlc.core.checkpoints import (
    INDEX_FILE,
    INDEX_LIMIT_BYTES,
    find_changed_files,
    read_checkpoints,
    read_index,
)
from rdlc.core.conformance import REPORT_LIMIT_BYTES, WorkerReport, check_conformance, read_worker_report
from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.kube.describe import record_cluster
from rdlc.core.kube.sightings import Sightings
from rdlc.core.lockfile import Finding, ReadLock, RunLock, read_lock
from rdlc.core.outcome import ReadOutcome
from rdlc.core.outcome_files import RESULT_FILE, RESULT_LIMIT_BYTES
from rdlc.core.record import LIMIT_BYTES, RunRecord, read_record
from rdlc.core.record_claims import UNJUDGED, find_false_claims
from rdlc.core.text import one_line
from rdlc.errors import InputError
from rdlc.operations.collect_cluster import check_collected_cluster
from rdlc.operations.collect_logs import check_collected
from rdlc.operations.record_files import load_outcome
from rdlc.operations.sightings import read_sightings
from rdlc.operations.transport_proof import Evidence, prove_transport


class Archive(Evidence, Protocol):
    """What verifying needs of the machine."""

    def hash_files(self, path: Path) -> dict[str, str]:
        """The files of a record, to sha256 in hex."""
        ...

    def list_archive(self, archive: Path) -> Mapping[str, str]:
        """The files in a `shipped.tar`, to sha256 in hex."""
        ...

    def is_held(self, path: Path) -> bool:
        """Whether the run that writes this record is alive."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What was looked at, its id, everything that is wrong with it, and what is not wrong and still to be known."""

    kind: str
    path: Path
    id: str
    sections: Mapping[str, str]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def verify_lock(path: Path, *, archive: Archive) -> Verification:
    """Whether a lock's contents, digests, id and form fit together."""
    read = _read_lock(path, archive)
    infra = read.lock.provenance.infra
    missing = one_line(infra.plan_missing) if infra is not None else ""
    notes = (f"the plan has no fingerprint: {missing}",) if missing else ()
    return Verification(
        kind="lock", path=path, id=read.lock.id, sections=read.lock.digests, findings=read.findings, notes=notes
    )


def verify_baseline(path: Path, *, archive: Archive) -> Verification:
    """Whether a baseline is as it was written, and belongs to the lock beside it if there is one."""
    data = archive.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the baseline")
    baseline = read_baseline(data, name=str(path))
    findings = []
    lock_path = path.with_name(path.name.removesuffix(".baseline.yaml") + ".lock.yaml")
    if lock_path.is_file():
        lock = _read_lock(lock_path, archive).lock
        if lock.id != baseline.lock_id:
            message = f"belongs to lock {baseline.lock_id}, and the lock beside it is {lock.id}"
            findings.append(Finding(section="lock", file=str(path), message=message))
    return Verification(
        kind="baseline", path=path, id=baseline.lock_id, sections=baseline.sections, findings=tuple(findings)
    )


def verify_record(path: Path, *, archive: Archive) -> Verification:
    """Whether a record is whole: its own digest, its files, its lock, its code and its outcome."""
    file = path / "record.json"
    data = archive.read(file, limit_bytes=LIMIT_BYTES, what="the record")
    record = read_record(data, name=str(file))
    if archive.is_held(path):
        raise InputError("the run that writes this record is still going on", file=str(path))
    findings = _check_ending(record, path)
    if record.status != "running":
        findings += _check_files(record, path, archive)
    sections: dict[str, str] = {}
    if not record.lock_id:
        findings += check_collected(record, path, archive)
        findings += check_collected_cluster(record, path, archive)
        return Verification(kind="record", path=path, id="", sections=sections, findings=tuple(findings))
    try:
        read = _read_lock(path / "lock.yaml", archive)
        sections = read.lock.digests
        findings += [*read.findings, *_check_contents(read.lock, record, path, archive)]
    except InputError as error:
        findings.append(Finding(section="contents", file=error.file or str(path), message=error.message))
    return Verification(kind="record", path=path, id=record.lock_id, sections=sections, findings=tuple(findings))


def _check_contents(lock: RunLock, record: RunRecord, path: Path, archive: Archive) -> list[Finding]:
    """What does not fit between the files of a record; raises InputError for one that cannot be read."""
    findings = []
    if lock.id != record.lock_id:
        message = f"is lock {lock.id}, and the record says {record.lock_id}"
        findings.append(Finding(section="lock", file=str(path / "lock.yaml"), message=message))
    findings += _check_code(lock, record, path, archive)
    # Those elsewhere are held against their digests whenever they are loaded; the record has none of them.
    if lock.sections.run.requested.storage is None:
        findings += _check_checkpoints(record, path, archive)
    read = load_outcome(path, archive)
    findings += _check_outcome(record, read, path)
    workers = _read_workers(record, path, archive)
    sightings = read_sightings(path, archive)
    findings += _check_workers(lock, record, workers, sightings, path)
    transport = prove_transport(lock, workers, path, archive).judged
    claims = find_false_claims(
        lock, record, workers=workers, outcome=read.outcome, transport=transport, sightings=sightings
    )
    file = str(path / "record.json")
    return [*findings, *(Finding(section="record", file=file, message=message) for message in claims)]


def _read_lock(path: Path, archive: Archive) -> ReadLock:
    data = archive.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the run lock")
    return read_lock(data, name=str(path))


def _check_ending(record: RunRecord, path: Path) -> list[Finding]:
    if record.status == ("finished" if record.lock_id else "collected"):
        return []
    reason = record.reason or "rdlc was killed before it could close the record"
    message = f"the run did not finish: {reason}"
    return [Finding(section="record", file=str(path), message=message)]


def _check_files(record: RunRecord, path: Path, archive: Archive) -> list[Finding]:
    found = archive.hash_files(path)
    findings = []
    for name in sorted(record.files.keys() | found.keys()):
        if name not in found:
            message = "is missing"
        elif name not in record.files:
            message = "was added after the record was closed"
        elif found[name] != record.files[name]:
            message = f"was changed: its sha256 is {found[name]}, and the record says {record.files[name]}"
        else:
            continue
        findings.append(Finding(section="files", file=str(path / name), message=message))
    return findings


def _check_code(lock: RunLock, record: RunRecord, path: Path, archive: Archive) -> list[Finding]:
    tar = path / "shipped.tar"
    if "code" in record.accepted or not tar.exists():
        return []
    shipped, locked = archive.list_archive(tar), lock.sections.code.files
    differing = sorted(name for name in shipped.keys() | locked.keys() if shipped.get(name) != locked.get(name))
    if not differing:
        return []
    message = f"holds other code than was locked: {', '.join(differing[:5])}"
    return [Finding(section="code", file=str(tar), message=message)]


def _check_checkpoints(record: RunRecord, path: Path, archive: Archive) -> list[Finding]:
    """Shards against `result.json`, and what only the index names against the index."""
    result = path / RESULT_FILE
    if not result.exists():
        return []
    data = archive.read(result, limit_bytes=RESULT_LIMIT_BYTES, what="a file of the record")
    checkpoints = read_checkpoints(data, name=str(result))
    if not checkpoints:
        return []
    folder = path / "checkpoints" / record.id
    found = archive.hash_files(folder) if folder.is_dir() else {}
    wrong: dict[str, str] = {}
    for checkpoint in checkpoints:
        wrong |= find_changed_files(checkpoint.files, found)
        name = f"{checkpoint.folder}/{INDEX_FILE}"
        if name not in found:
            wrong[name] = "is missing"
            continue
        file = folder / name
        data = archive.read(file, limit_bytes=INDEX_LIMIT_BYTES, what="the index of a checkpoint")
        index = read_index(data, folder=checkpoint.folder, name=str(file))
        if index.step != checkpoint.step or not checkpoint.files.items() <= index.files.items():
            wrong[name] = f"is not the index of what `{RESULT_FILE}` lists"
        wrong = {**dict(find_changed_files(index.files, found)), **wrong}
    return [
        Finding(section="checkpoints", file=str(folder / name), message=message)
        for name, message in sorted(wrong.items())
    ]


def _check_outcome(record: RunRecord, read: ReadOutcome, path: Path) -> list[Finding]:
    findings = [
        Finding(section="outcome", file=str(path), message=f"step {problem.step}: {problem.message}")
        for problem in read.problems
    ]
    if record.status != "running" and read.outcome.last_step != record.steps_done:
        message = f"holds {read.outcome.last_step} steps, and the record says {record.steps_done}"
        findings.append(Finding(section="outcome", file=str(path), message=message))
    return findings


def _read_workers(record: RunRecord, path: Path, archive: Archive) -> list[WorkerReport]:
    reports = []
    for rank in record.ranks:
        file = path / "workers" / str(rank.rank) / "worker.json"
        data = archive.read(file, limit_bytes=REPORT_LIMIT_BYTES, what="a worker's report")
        reports.append(read_worker_report(data, name=str(file)))
    return reports


def _check_workers(
    lock: RunLock, record: RunRecord, workers: Sequence[WorkerReport], sightings: Sightings, path: Path
) -> list[Finding]:
    is_judged = record.status not in UNJUDGED
    checks = check_conformance(lock, workers, sightings) if is_judged else ()
    places = tuple(worker.place for worker in workers)
    cluster = record_cluster(sightings, places) if is_judged else None
    if (checks, places, cluster) == (record.checks, record.ranks, record.cluster):
        return []
    message = "the workers' reports give other checks of conformance than the record holds"
    if sightings.last is not None:
        message = "what was seen of the cluster and its workers gives other checks of conformance than the record holds"
    return [Finding(section="checks", file=str(path / "workers"), message=message)]
