"""Probing a lock: what is refused, what is started, what is recorded, and what follows from a baseline."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from rdlc.adapters.ray.status import JobEnd
from rdlc.cli.wiring import LocalArchive
from rdlc.core.record import Rank, RunRecord
from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.machine import Order
from rdlc.operations.prepare import DriftRefused
from rdlc.operations.probe import ProbeRequest, ProbeResult, probe
from rdlc.operations.runs import list_runs
from rdlc.operations.verify import verify_record
from tests.core.probe.samples import one_arm, two_arms
from tests.operations.scripted import (
    FINISHED,
    Script,
    ScriptedMachine,
    Voice,
    ending,
    finishing,
    leave_reports,
    lock,
    record_in,
    records,
    run,
)
from tests.projects import make_project

PROBE = "recipes/toy/probe.py"


@pytest.fixture
def machine(tmp_path: Path) -> ScriptedMachine:
    """A project whose recipe can be probed."""
    made = ScriptedMachine(make_project(tmp_path / "project"))
    (made.project / PROBE).write_text("print('probing')\n")
    made.script = probing(one_arm())
    return made


def probing(data: bytes, end: JobEnd = FINISHED) -> Script:
    """A job that leaves these lines."""

    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        (record / "phases.jsonl").write_text('{"phase": "measuring all-reduce", "attempt": 1}\n')
        (record / "probe.jsonl").write_bytes(data)
        leave_reports(record)
        return end

    return script


def call(
    machine: ScriptedMachine,
    given: Path,
    *,
    voice: Voice | None = None,
    usd: str | None = None,
    allow: Mapping[str, str] | None = None,
) -> ProbeResult:
    voice = voice or Voice()
    request = ProbeRequest(given=given, allow=allow or {}, usd_per_h=None if usd is None else Decimal(usd), tool="rdlc")
    return probe(request, machine=machine, reporter=voice, listener=voice)


def only_record(machine: ScriptedMachine) -> RunRecord:
    [folder] = records(machine)
    return record_in(folder)


def test_a_probe_starts_the_recipes_own_module_as_a_run_starts_its_training(machine: ScriptedMachine) -> None:
    path = lock(machine)
    voice = Voice()

    result = call(machine, path, voice=voice)

    [order] = machine.orders
    assert order.command[:4] == ("python", "-P", "-m", "toy.probe")
    assert order.command[5:] == (str(result.path / "config.json"), "--output", str(result.path))
    assert (machine.jobs[0].stops, machine.ended) == (1, [result.record.token])
    assert (voice.phases, voice.steps) == (["measuring all-reduce"], [])


def test_what_was_measured_is_recorded_and_is_never_a_baseline(machine: ScriptedMachine) -> None:
    result = call(machine, lock(machine))

    record = record_in(result.path)
    assert (record.kind, record.status, record.reason, record.level) == ("probe", "finished", "", "recorded")
    assert (record.steps_done, record.steps_total) == (0, None)
    assert record.ranks[1] == Rank(rank=1, local_rank=1, node_rank=0, host="here")
    assert record.remarks == (
        "all-reduce of 1 KiB: 512 kB/s over the locked transport",
        "all-gather of 4 KiB: 1.02 MB/s over the locked transport",
        "reduce-scatter of 4 KiB: 512 kB/s over the locked transport",
    )
    assert {"bandwidth.svg", "probe.jsonl", "lock.yaml", "config.json", "shipped.tar"} <= set(record.files)
    assert b"toy: 2 ranks on 1 node, gloo" in (result.path / "bandwidth.svg").read_bytes()
    assert list(machine.project.glob("lock/*.baseline.yaml")) == []


def test_a_record_of_a_probe_is_listed_and_verified(machine: ScriptedMachine) -> None:
    result = call(machine, lock(machine))

    [entry] = list_runs(machine.project / "runs", shelf=LocalArchive())
    assert (entry.verdict, entry.trouble) == ("finished", "")
    assert verify_record(result.path, archive=LocalArchive()).findings == ()


def test_with_gloo_no_transport_has_to_be_proven(machine: ScriptedMachine) -> None:
    findings = call(machine, lock(machine)).findings

    assert findings is not None
    assert (findings.proofs, findings.is_proven) == ({"locked": "not applicable"}, True)
    assert (findings.measured_step_s, findings.loss) == (None, None)


def test_with_nccl_no_transport_is_taken_on_trust(machine: ScriptedMachine) -> None:
    machine.script = probing(two_arms())

    result = call(machine, lock(machine))

    assert result.findings is not None
    assert (result.findings.proofs, result.findings.is_proven) == ({"locked": "not proven", "tcp": "not proven"}, False)
    assert result.record.remarks[0] == (
        "all-reduce of 4 MiB: 2.10 GB/s over the locked transport, 210 MB/s over TCP (10.00x)"
    )


def test_the_baseline_tells_what_a_step_takes_and_so_what_a_fallback_costs(machine: ScriptedMachine) -> None:
    path = lock(machine)
    machine.script = finishing()
    assert run(machine, path).baseline == "written"
    baseline = path.with_name("toy.baseline.yaml")
    before = baseline.read_bytes()
    machine.script = probing(two_arms())

    result = call(machine, path, usd="10")

    findings = result.findings
    assert findings is not None
    assert findings.measured_step_s is not None
    assert findings.loss is not None
    assert findings.loss.low_usd is not None
    assert [each.arm for each in findings.predictions] == ["locked", "tcp"]
    assert baseline.read_bytes() == before


@pytest.mark.parametrize(
    ("script", "status", "reason"),
    [
        (
            ending(JobEnd(reason="exited", exit_status=1), result={"error": {"message": "rank 1 was killed"}}),
            "failed",
            "rank 1 was killed",
        ),
        (
            ending(JobEnd(reason="exited", signal=9)),
            "failed",
            "the driver was killed by signal 9; its log is driver.log",
        ),
        (probing(b""), "failed", "what it left cannot be read: {path}/probe.jsonl: the probe measured nothing"),
        (
            ending(FINISHED),
            "failed",
            "what it left cannot be read: {path}/probe.jsonl: what the probe measured does not exist",
        ),
    ],
)
def test_a_probe_that_ends_badly_says_why_and_shows_no_figure(
    machine: ScriptedMachine, script: Script, status: str, reason: str
) -> None:
    machine.script = script

    result = call(machine, lock(machine))

    assert (result.record.status, result.record.reason) == (status, reason.format(path=result.path))
    assert (result.findings, result.record.remarks) == (None, ())
    assert not (result.path / "bandwidth.svg").exists()
    assert only_record(machine) == result.record


def test_a_transport_that_hangs_is_ended_without_any_limit_in_the_lock(machine: ScriptedMachine) -> None:
    def hanging(machine: ScriptedMachine, record: Path) -> None:
        machine.time_s += 30.0

    machine.script = hanging

    result = call(machine, lock(machine))

    assert (result.record.status, result.record.reason) == (
        "stopped",
        "nothing was measured for 10 min",
    )


def test_what_the_user_stops_leaves_a_closed_record(machine: ScriptedMachine) -> None:
    def start(order: Order) -> None:
        raise KeyboardInterrupt

    path = lock(machine)
    machine.start = start  # type: ignore[method-assign, assignment]

    with pytest.raises(Interrupted) as caught:
        call(machine, path)

    record = only_record(machine)
    assert caught.value.message == "interrupted; the record says how far it came"
    assert (record.kind, record.status, record.reason) == ("probe", "interrupted", "interrupted by the user")
    assert machine.ended == [record.token]


def test_drift_is_refused_before_anything_is_written_as_run_does(machine: ScriptedMachine) -> None:
    path = lock(machine)
    (machine.project / PROBE).write_text("print('other')\n")

    with pytest.raises(DriftRefused) as caught:
        call(machine, path)

    assert caught.value.message.startswith("probe refused: `code` differs from lock sha256:")
    assert not (machine.project / "runs").exists()


def test_allowed_drift_is_recorded(machine: ScriptedMachine) -> None:
    path = lock(machine)
    (machine.project / PROBE).write_text("print('other')\n")

    record = call(machine, path, allow={"code": "a better probe"}).record

    assert (record.status, dict(record.accepted)) == ("finished", {"code": "a better probe"})
    assert [item.address for item in record.drift] == ["toy/probe.py"]


def test_one_worker_has_nothing_to_probe(machine: ScriptedMachine) -> None:
    path = lock(machine, settings={"cluster.workers": "1"})

    with pytest.raises(RdlcError) as caught:
        call(machine, path)

    assert (caught.value.message, caught.value.field, caught.value.exit_code) == (
        "the lock has one worker, which moves nothing: there is nothing to probe",
        "cluster.requested.workers",
        1,
    )
    assert machine.orders == []


def test_a_recipe_without_a_probe_is_refused(machine: ScriptedMachine) -> None:
    (machine.project / PROBE).unlink()
    path = lock(machine)

    with pytest.raises(RdlcError) as caught:
        call(machine, path)

    assert caught.value.message == "the recipe `toy` has no `toy/probe.py`, so its workers cannot be probed"
    assert machine.orders == []


def test_a_spec_is_no_lock(machine: ScriptedMachine) -> None:
    with pytest.raises(InputError) as caught:
        call(machine, machine.project / "run.yaml")

    assert caught.value.message == "this is a run spec, and a run lock is due here"
