"""After a run: read what it left, and judge it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rdlc.core.baseline import Baseline
from rdlc.core.comparison import Comparison, compare_outcomes
from rdlc.core.conformance import WorkerReport, check_conformance, describe_workers
from rdlc.core.judgement import Observation, describe_comparison, judge
from rdlc.core.kube.describe import describe_cluster, record_cluster
from rdlc.core.lines import read_json_file
from rdlc.core.lockfile import RunLock
from rdlc.core.outcome import Outcome, ReadOutcome
from rdlc.core.outcome_files import RESULT_FILE, RESULT_LIMIT_BYTES
from rdlc.core.packages.installed import find_yanked
from rdlc.core.record import RunRecord
from rdlc.core.result_words import describe_result
from rdlc.core.text import one_line
from rdlc.errors import InputError
from rdlc.operations.follow import JobEnd
from rdlc.operations.machine import Machine
from rdlc.operations.prepare import Prepared
from rdlc.operations.record_files import load_outcome, read_file, read_workers
from rdlc.operations.run_metrics import measure_run
from rdlc.operations.run_packages import observe_setup
from rdlc.operations.run_transport import describe_run_floors, judge_run_transport
from rdlc.operations.sightings import load_sightings

DRIVER_LOG = "driver.log"
_NO_BASELINE = "no baseline stands beside the lock, so no outcome was compared"


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """The judged record, its outcome (None if it cannot be read), and the comparison of a replay."""

    record: RunRecord
    outcome: Outcome | None
    comparison: Comparison | None


def collect(prepared: Prepared, record: RunRecord, path: Path, end: JobEnd, reason: str, machine: Machine) -> Collected:
    """What the run left, judged against the lock and, for a replay, against the baseline."""
    read, trouble = _read_outcome(path, machine)
    workers, worker_trouble = _read_workers(path, machine)
    sightings, cluster_trouble = load_sightings(path, machine)
    reason = reason or trouble or worker_trouble or cluster_trouble or say_failure(path, end, machine)
    outcome = read.outcome if read is not None and not read.problems else None
    is_finished = not reason and outcome is not None and outcome.finished
    if not reason and not is_finished:
        reason = read.problems[0].message if read and read.problems else "it left no finished result"
    checks = check_conformance(prepared.lock, workers, sightings)
    ranks = tuple(worker.place for worker in workers)
    comparison = _compare(prepared, record, outcome)
    transport = judge_run_transport(prepared, path, outcome, workers, machine)
    judgement = judge(
        Observation(
            is_finished=is_finished,
            steps_done=outcome.last_step if outcome else 0,
            steps_total=record.steps_total,
            checks=checks,
            accepted=record.accepted,
            transport=transport.judged,
            shows_learning=bool(prepared.lock.sections.data.resolved.get("shows_learning")),
            comparison=comparison,
        )
    )
    metrics, speed = measure_run(path, outcome, workers, machine)
    status = "finished" if is_finished else "stopped" if end.reason == "stopped" else "failed"
    judged = replace(
        record,
        status=status,
        reason=reason,
        level=judgement.level,
        evidence=judgement.evidence,
        remarks=_remark(path, workers, speed, machine) if is_finished else (),
        steps_done=read.outcome.last_step if read else 0,
        checks=checks,
        outcome=_outcome_words(prepared, record, comparison),
        observed={
            **record.observed,
            **describe_workers(workers),
            **describe_cluster(sightings),
            **observe_setup(prepared.lock, path, machine),
        },
        ranks=ranks,
        transport=transport,
        cluster=record_cluster(sightings, ranks),
        metrics=metrics,
    )
    return Collected(record=judged, outcome=outcome, comparison=comparison)


def _describe(path: Path, machine: Machine) -> tuple[str, ...]:
    result = read_file(path / RESULT_FILE, RESULT_LIMIT_BYTES, machine)
    return describe_result(result, name=RESULT_FILE) if result else ()


def _remark(path: Path, workers: Sequence[WorkerReport], speed: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    floors = describe_run_floors(workers, path, machine)
    return (*_describe(path, machine), *speed, *floors, *_yanked(workers))


def _yanked(workers: Sequence[WorkerReport]) -> tuple[str, ...]:
    names = find_yanked([worker.installed for worker in workers])
    return (f"yanked from the index, and installed as locked: {', '.join(names)}",) if names else ()


def read_steps_done(path: Path, machine: Machine) -> int:
    """How many steps a record shows, also one that was killed; 0 if its files cannot be read."""
    read, _ = _read_outcome(path, machine)
    return read.outcome.last_step if read else 0


def baseline_of(lock: RunLock, record: RunRecord, collected: Collected) -> Baseline:
    """The baseline that a finished run gives."""
    assert collected.outcome is not None
    return Baseline(
        lock_id=lock.id,
        name=lock.name,
        sections=lock.digests,
        claim=record.claim,
        level=record.level,
        record=record.id,
        outcome=collected.outcome,
    )


def _read_outcome(path: Path, machine: Machine) -> tuple[ReadOutcome | None, str]:
    try:
        return load_outcome(path, machine), ""
    except InputError as error:
        return None, f"what it left cannot be read: {error.file}: {error.message}"


def _read_workers(path: Path, machine: Machine) -> tuple[list[WorkerReport], str]:
    try:
        return read_workers(path, machine), ""
    except InputError as error:
        return [], f"a worker's report cannot be read: {error.file}: {error.message}"


def say_failure(path: Path, end: JobEnd, machine: Machine) -> str:
    """Why it failed in the recipe's own words, else how its driver ended; "" if it did not fail."""
    if end.reason == "exited" and end.exit_status == 0:
        return ""
    said = _said_by_recipe(path, machine)
    if said:
        return said
    if end.reason == "orphaned" and end.exit_status is None:
        return "a process between rdlc and the driver was killed; the driver's log is driver.log"
    if end.signal is not None:
        return f"the driver was killed by signal {end.signal}; its log is driver.log"
    last = _last_line(path / DRIVER_LOG, machine)
    said = f": {last}" if last else ""
    return f"the driver ended with exit status {end.exit_status}{said}; its log is driver.log"


def _last_line(log: Path, machine: Machine) -> str:
    lines = [line for line in machine.read_end(log).splitlines() if line.strip()]
    return one_line(lines[-1].strip(), limit=400) if lines else ""


def _said_by_recipe(path: Path, machine: Machine) -> str:
    data = read_file(path / RESULT_FILE, RESULT_LIMIT_BYTES, machine)
    if data is None:
        return ""
    try:
        fields = read_json_file(data, name=str(path / RESULT_FILE), limit_bytes=RESULT_LIMIT_BYTES)
        return fields.below("error").text("message") if fields.has("error") else ""
    except InputError:
        return ""


def _compare(prepared: Prepared, record: RunRecord, outcome: Outcome | None) -> Comparison | None:
    if record.kind != "replay" or prepared.baseline is None or outcome is None:
        return None
    return compare_outcomes(prepared.baseline.outcome, outcome, labels=("the baseline", "the replay"))


def _outcome_words(prepared: Prepared, record: RunRecord, comparison: Comparison | None) -> str:
    if comparison is not None:
        return describe_comparison(comparison)
    return _NO_BASELINE if record.kind == "replay" and prepared.baseline is None else ""
