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
    leave_reports,
    lock,
    record_in,
    records,
)
from tests.projects import make_project

LOGS = Path(__file__).parents[1] / "core/transport/logs"
PROBE = "recipes/toy/probe.py"


@pytest.fixture
def machine(tmp_path: Path) -> ScriptedMachine:
    """A project whose recipe can be probed."""
    made = ScriptedMachine(make_project(tmp_path / "project"))
    (made.project / PROBE).write_text("print('probing')\n")
    made.script = probing(one_arm())
    return made


def probing(data: bytes, *, logs: Mapping[str, str] | None = None) -> Script:
    """A job that leaves these lines, and of each arm NCCL's."""

    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        (record / "phases.jsonl").write_text('{"phase": "measuring all-reduce", "attempt": 1}\n')
        (record / "probe.jsonl").write_bytes(data)
        leave_reports(record, network_used="gloo" if logs is None else "nccl")
        for arm, log in (logs or {}).items():
            folder = record / "arms" / arm / "nccl"
            folder.mkdir(parents=True)
            (folder / "nccl.vm.1.log").write_bytes((LOGS / f"{log}.log").read_bytes())
        return FINISHED

    return script


def lock_gpus(machine: ScriptedMachine) -> Path:
    spec = machine.project / "run.yaml"
    spec.write_text(spec.read_text().replace("{workers: 2}", "{workers: 2, gpus_per_worker: 1}"))
    return lock(machine)


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
        "the arm `locked`: not applicable, NCCL was not used",
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
    assert {name: report.judged.finding for name, report in findings.proofs.items()} == {"locked": "not-applicable"}
    assert (findings.is_proven, findings.is_alarming) == (True, False)
    assert (findings.measured_step_s, findings.loss) == (None, None)


@pytest.mark.parametrize(
    ("logs", "findings", "is_proven", "is_alarming"),
    [
        # What NCCL 2.28.9 wrote on two H200s, over NVLink and over sockets.
        ({"locked": "p2p", "tcp": "socket"}, {"locked": "ok", "tcp": "as-locked"}, True, False),
        ({"locked": "socket", "tcp": "socket"}, {"locked": "fallback", "tcp": "as-locked"}, False, True),
        ({"locked": "p2p", "tcp": "p2p"}, {"locked": "ok", "tcp": "other"}, False, True),
        ({"locked": "p2p"}, {"locked": "ok", "tcp": "unknown"}, False, False),
        ({}, {"locked": "unknown", "tcp": "unknown"}, False, False),
    ],
)
def test_the_transport_of_each_arm_is_proven_by_its_own_lines_and_never_taken_on_trust(
    machine: ScriptedMachine, logs: dict[str, str], findings: dict[str, str], is_proven: bool, is_alarming: bool
) -> None:
    machine.script = probing(two_arms(), logs=logs)

    found = call(machine, lock_gpus(machine)).findings

    assert found is not None
    assert {name: report.judged.finding for name, report in found.proofs.items()} == findings
    assert (found.is_proven, found.is_alarming) == (is_proven, is_alarming)


def test_both_bandwidths_and_what_proves_them_are_remarks_of_the_record(machine: ScriptedMachine) -> None:
    machine.script = probing(two_arms(), logs={"locked": "p2p", "tcp": "socket"})

    remarks = call(machine, lock_gpus(machine)).record.remarks

    assert remarks[0] == "all-reduce of 4 MiB: 2.10 GB/s over the locked transport, 210 MB/s over TCP (10.00x)"
    assert remarks[3:] == (
        "the arm `locked`: intra-node as locked, proven by NCCL's own lines",
        "the arm `tcp`: socket, which is slow, and as locked; proven by NCCL's own lines",
    )


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
