"""What a run leaves: what is recorded of it, however it ends, and how it is judged."""

from pathlib import Path

import pytest

from rdlc.adapters.ray.status import JobEnd
from rdlc.cli.wiring import LocalArchive
from rdlc.core.baseline import read_baseline
from rdlc.errors import Interrupted
from rdlc.operations.verify import verify_record
from tests.diff_samples import make_outcome
from tests.operations.scripted import (
    FINISHED,
    ScriptedMachine,
    baseline_of,
    ending,
    finishing,
    hanging,
    leave,
    lock,
    lock_in,
    record_in,
    records,
    run,
    stepping,
)


def test_a_run_that_finishes_is_recorded_and_becomes_the_baseline(machine: ScriptedMachine) -> None:
    path = lock(machine)

    result = run(machine, path)

    record = record_in(result.path)
    assert record == result.record
    assert (record.status, record.level, record.steps_done, record.steps_total) == ("finished", "execution", 3, 3)
    assert record.evidence == (
        "what ran is what was locked: 14 checks met on every rank",
        "it did all 3 steps and finished",
        "transport: not applicable, NCCL was not used",
    )
    assert (result.is_fine, result.baseline) == (True, "written")
    baseline = read_baseline(baseline_of(path).read_bytes(), name="b")
    assert (baseline.lock_id, baseline.outcome, baseline.record) == (lock_in(path).id, make_outcome(), record.id)
    assert verify_record(result.path, archive=LocalArchive()).findings == ()


def test_a_spec_is_locked_into_its_record_and_gives_no_baseline(machine: ScriptedMachine) -> None:
    result = run(machine, machine.project / "run.yaml")

    assert (result.is_fine, result.baseline) == (True, "no-lock")
    assert lock_in(result.path / "lock.yaml").id == lock_in(lock(machine)).id
    assert not (machine.project / "lock/toy.baseline.yaml").exists()


@pytest.mark.parametrize(
    ("limit", "script", "reason", "steps"),
    [
        ("max_hours: 1", stepping(60.0), "limits.max_hours: it ran for 1 h", 60),
        ("no_step_minutes: 10", hanging(2), "limits.no_step_minutes: no step for 10 min", 2),
        ("no_step_minutes: 0.5", hanging(), "limits.no_step_minutes: no step for 0.5 min", 0),
    ],
)
def test_a_limit_ends_the_run_and_the_record_says_why(
    machine: ScriptedMachine, limit: str, script: object, reason: str, steps: int
) -> None:
    with (machine.project / "run.yaml").open("a") as file:
        file.write(f"limits: {{{limit}}}\n")
    machine.script = script  # type: ignore[assignment]  # a Script
    path = lock(machine)

    result = run(machine, path)

    record = record_in(result.path)
    assert (record.status, record.reason, result.is_fine) == ("stopped", reason, False)
    assert record.level == "recorded"
    assert abs(record.steps_done - steps) <= 1
    assert machine.jobs[0].stops >= 1
    assert machine.ended == [record.token]
    assert (result.baseline, baseline_of(path).exists()) == ("not-due", False)


@pytest.mark.parametrize(
    ("end", "said", "reason"),
    [
        (JobEnd(reason="exited", exit_status=3), None, "the driver ended with exit status 3; its log is driver.log"),
        (JobEnd(reason="exited", signal=9), None, "the driver was killed by signal 9; its log is driver.log"),
        (JobEnd(reason="orphaned"), None,
         "a process between rdlc and the driver was killed; the driver's log is driver.log"),
        (JobEnd(reason="exited", exit_status=1),
         {"format": 1, "status": "failed", "error": {"message": "rank 1 ran out of memory"}},
         "rank 1 ran out of memory"),
        (JobEnd(reason="exited", exit_status=0), None, "it left no finished result"),
    ],
)  # fmt: skip
def test_a_job_that_fails_is_recorded_with_the_best_known_reason(
    machine: ScriptedMachine, end: JobEnd, said: dict[str, object] | None, reason: str
) -> None:
    machine.script = ending(end, result=said, steps=2)
    path = lock(machine)

    result = run(machine, path)

    record = record_in(result.path)
    assert (record.status, record.reason, record.steps_done) == ("failed", reason, 2)
    assert (result.is_fine, result.baseline, baseline_of(path).exists()) == (False, "not-due", False)


def test_files_that_cannot_be_read_fail_the_run_with_their_place(machine: ScriptedMachine) -> None:
    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        finishing()(machine, record)
        (record / "metrics.jsonl").write_text("{}\n")
        return FINISHED

    machine.script = script

    result = run(machine, lock(machine))

    place = f"{result.path}/metrics.jsonl:1"
    assert (result.record.status, result.record.reason) == (
        "failed",
        f"what it left cannot be read: {place}: is missing",
    )


def test_half_a_character_in_the_words_of_a_recipe_does_not_break_the_record(machine: ScriptedMachine) -> None:
    said = {"format": 1, "status": "failed", "error": {"message": "\ud800"}}
    machine.script = ending(JobEnd(reason="exited", exit_status=1), result=said)

    result = run(machine, lock(machine))

    assert record_in(result.path).status == "failed"


def test_ranks_that_were_not_as_locked_reach_no_level_and_give_no_baseline(machine: ScriptedMachine) -> None:
    machine.script = finishing(torch="2.12.0")
    path = lock(machine)

    result = run(machine, path)

    assert (result.record.status, result.record.level, result.is_fine) == ("finished", "recorded", False)
    assert result.record.evidence[0] == "what ran is not shown to be what was locked: torch"
    assert (result.baseline, baseline_of(path).exists()) == ("not-due", False)


def test_an_interrupted_run_is_recorded_as_far_as_it_came(machine: ScriptedMachine) -> None:
    def script(machine: ScriptedMachine, record: Path) -> None:
        leave(record, make_outcome(2, is_finished=False), result=False)
        raise KeyboardInterrupt

    machine.script = script

    with pytest.raises(Interrupted) as caught:
        run(machine, lock(machine))

    (path,) = records(machine)
    record = record_in(path)
    assert (caught.value.message, caught.value.file) == ("interrupted; the record says how far it came", str(path))
    assert (record.status, record.reason, record.steps_done) == ("interrupted", "interrupted by the user", 2)
    assert {"lock.yaml", "shipped.tar", "metrics.jsonl", "config.json"} <= record.files.keys()
    assert machine.ended == [record.token]
    assert machine.jobs[0].stops >= 1
    assert not LocalArchive().is_held(path)
