"""A run is judged by its transport, in time to stop it, and its record says what that rests on.

The lines are those that NCCL 2.28.9 wrote on two H200s, over NVLink and over sockets.
"""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from rdlc.adapters.ray.status import JobEnd
from rdlc.cli.wiring import LocalArchive
from rdlc.core.infra.price_table import Price
from rdlc.core.traffic.prediction import KINDS, step_traffic
from rdlc.operations.prepare import RunRequest
from rdlc.operations.probe import ProbeRequest, probe
from rdlc.operations.run import RunResult, execute
from rdlc.operations.verify import verify_record
from tests.core.probe.samples import arm_line, probe_bytes, size_line
from tests.core.traffic.layouts import TINY
from tests.core.traffic.reports import document, reading
from tests.diff_samples import make_outcome
from tests.operations.scripted import FINISHED, Script, ScriptedMachine, Voice, leave, leave_reports, lock, record_in

LOGS = Path(__file__).parents[1] / "core/transport/logs"
PREDICTED = step_traffic(TINY, ranks=2, nodes=1, backend="nccl", rows_per_rank=4).rank_bytes


def leave_network(record: Path, log: str, *, moved: int) -> None:
    """NCCL's lines, and what each of two ranks of one node counted in two steps."""
    (record / "nccl").mkdir(exist_ok=True)
    (record / "nccl/nccl.vm.1.log").write_bytes((LOGS / f"{log}.log").read_bytes())
    for rank in range(2):
        counted = [reading(step, {1 - rank: moved * step}) for step in (1, 3)]
        network = document(rank, counted, node_rank=0, backend="nccl")
        (record / f"workers/{rank}/network.json").write_text(json.dumps(network))


def training(log: str, *, moved: int = 0, is_endless: bool = False, step_s: float = 0.25) -> Script:
    """A job over NCCL that says when warm-up is over."""
    whole = make_outcome()
    outcome = replace(whole, steps=tuple(replace(step, step_s=step_s) for step in whole.steps))

    def script(machine: ScriptedMachine, record: Path) -> JobEnd | None:
        if not (record / "phases.jsonl").exists():
            leave_reports(record, network_used="nccl")
            leave_network(record, log, moved=moved)
            leave(record, make_outcome(2, is_finished=False), result=False)
            (record / "phases.jsonl").write_text('{"phase": "warmed-up", "attempt": 1}\n')
            return None
        if is_endless:
            return None
        leave(record, outcome)
        return FINISHED

    return script


def lock_gpus(machine: ScriptedMachine, network: str = "") -> Path:
    spec = machine.project / "run.yaml"
    text = spec.read_text().replace("{workers: 2}", "{workers: 2, gpus_per_worker: 1}")
    spec.write_text(text + (f"network: {network}\n" if network else ""))
    return lock(machine)


def execute_run(machine: ScriptedMachine, path: Path, voice: Voice, *, kind: str = "run") -> RunResult:
    request = RunRequest(
        given=path, kind=kind, is_rebaseline=False, allow={}, settings={}, tool="rdlc",
        price=Price(usd_per_h=Decimal(10), as_of="", source="given with --price"),
    )  # fmt: skip
    return execute(request, machine=machine, reporter=voice, listener=voice)


def test_a_run_over_nvlink_is_proven_twice_and_becomes_the_baseline(machine: ScriptedMachine) -> None:
    machine.script, voice = training("p2p"), Voice()

    result = execute_run(machine, lock_gpus(machine), voice)

    transport = result.record.transport
    assert transport is not None
    assert (transport.judged.finding, transport.judged.seen.transport, transport.judged.seen.proof) == (
        "ok", "intra-node", "both",
    )  # fmt: skip
    assert (transport.moved_bytes, transport.predicted_bytes) == (0, PREDICTED)
    assert transport.observed["NCCL"] == "2.28.9"
    assert (result.record.level, result.is_fine, result.baseline) == ("execution", True, "written")
    assert [report.judged.finding for report in voice.transports] == ["ok"]
    assert verify_record(result.path, archive=LocalArchive()).findings == ()


def test_a_fallback_is_stopped_after_warm_up_and_its_record_says_by_which_line(machine: ScriptedMachine) -> None:
    machine.script, voice = training("socket", moved=PREDICTED, is_endless=True), Voice()

    result = execute_run(machine, lock_gpus(machine), voice)

    record = record_in(result.path)
    assert (record.status, record.level, result.is_fine, result.baseline) == (
        "stopped",
        "infrastructure",
        False,
        "not-due",
    )
    assert record.reason == (
        "network.on_fallback: fell back to socket, and the lock says intra-node (cluster.nodes); "
        "proven by NCCL's own lines and by the bytes moved"
    )
    assert record.transport is not None
    assert record.transport.lines == (
        "nccl/nccl.vm.1.log:88: comm 0x21e79650 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
        "nccl/nccl.vm.1.log:31: Using network Socket",
        "nccl/nccl.vm.1.log:143: Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0",
    )
    assert [cause.cause for cause in record.transport.causes] == [
        "NCCL found no network plugin (libnccl-net.so)",
        "NCCL took the interface lo, which leads to no other node",
    ]
    assert [report.judged.finding for report in voice.transports] == ["fallback"]
    assert machine.jobs[0].stops >= 1


def test_with_warn_a_fallback_goes_on_and_is_no_success_all_the_same(machine: ScriptedMachine) -> None:
    machine.script = training("socket", moved=PREDICTED)

    result = execute_run(machine, lock_gpus(machine, "{on_fallback: warn}"), Voice())

    assert (result.record.status, result.record.level, result.is_fine) == ("finished", "infrastructure", False)
    assert result.baseline == "not-due"
    assert result.record.transport is not None
    assert [words.partition(":")[0] for words in result.record.transport.cost] == ["slower", "floors"]
    assert result.record.transport.cost[0].startswith(
        "slower: not measured, neither a baseline nor a probe is there to compare"
    )
    assert verify_record(result.path, archive=LocalArchive()).findings == ()


def test_the_cost_of_a_fallback_is_measured_against_the_baseline(machine: ScriptedMachine) -> None:
    path = lock_gpus(machine, "{on_fallback: warn}")
    machine.script = training("p2p")
    execute_run(machine, path, Voice())
    machine.script = training("socket", moved=PREDICTED, step_s=1.5)

    result = execute_run(machine, path, Voice(), kind="replay")

    assert result.record.transport is not None
    assert result.record.transport.cost == (
        "slower: 6.0 times, 1.500 s a step against 250.0 ms in the baseline",
        "lost: 3.8 s in 3 steps; 0.01 USD at 10.00 USD per hour (given with --price)",
    )


def leave_probe(*, tcp: str = "socket", nccl: str = "2.28.9") -> Script:
    """A probe of two ranks with NCCL: NVLink ten times as fast as TCP, each arm with NCCL's own lines."""

    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        leave_reports(record, network_used="nccl")
        lines = []
        for arm, seconds in (("locked", 0.001), ("tcp", 0.01)):
            lines.append(arm_line(arm, backend="nccl", nccl=nccl, layout=document(0, [])["workload"]["layout"]))
            lines += [size_line(kind, 1 << 20, seconds, seconds, arm=arm) for kind in KINDS]
            folder = record / "arms" / arm
            (folder / "nccl").mkdir(parents=True)
            log = "p2p" if arm == "locked" else tcp
            (folder / "nccl/nccl.vm.1.log").write_bytes((LOGS / f"{log}.log").read_bytes())
        (record / "probe.jsonl").write_bytes(probe_bytes(lines))
        return FINISHED

    return script


def execute_probe(machine: ScriptedMachine, path: Path) -> None:
    request = ProbeRequest(given=path, allow={}, usd_per_h=None, tool="rdlc")
    assert probe(request, machine=machine, reporter=Voice(), listener=Voice()).record.status == "finished"


def lock_probed(machine: ScriptedMachine) -> Path:
    (machine.project / "recipes/toy/probe.py").write_text("print('probing')\n")
    return lock_gpus(machine, "{on_fallback: warn}")


def test_without_a_baseline_the_cost_of_a_fallback_is_that_of_the_newest_probe(machine: ScriptedMachine) -> None:
    path = lock_probed(machine)
    machine.script = leave_probe()
    execute_probe(machine, path)
    machine.script = training("socket", moved=PREDICTED, step_s=0.12)

    result = execute_run(machine, path, Voice())

    assert result.record.transport is not None
    [name] = [each.name for each in machine.list_records(machine.project / "runs") if "probe.jsonl" in names(each)]
    assert result.record.transport.cost == (
        (
            "slower: 1.0 to 4.4 times, 120.0 ms a step against 27.0 ms to 120.0 ms over the locked transport, "
            f"by the bandwidths of probe {name}"
        ),
        "lost: 0.0 s to 0.3 s in 3 steps; at most 0.00 USD at 10.00 USD per hour (given with --price)",
    )


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.parametrize("tcp", ["p2p", "shm"])
def test_a_probe_whose_arms_are_not_proven_measures_no_cost(machine: ScriptedMachine, tcp: str) -> None:
    path = lock_probed(machine)
    machine.script = leave_probe(tcp=tcp)
    execute_probe(machine, path)
    machine.script = training("socket", moved=PREDICTED, step_s=1.5)

    result = execute_run(machine, path, Voice())

    assert result.record.transport is not None
    assert result.record.transport.cost[0].startswith("slower: not measured, neither a baseline nor a probe is there")


def test_a_locked_tcp_arm_is_as_locked(machine: ScriptedMachine) -> None:
    machine.script = training("socket", moved=PREDICTED)

    result = execute_run(machine, lock_gpus(machine, "{transport: socket}"), Voice())

    assert result.record.transport is not None
    assert (result.record.transport.judged.finding, result.record.level, result.is_fine) == (
        "as-locked", "execution", True,
    )  # fmt: skip


def test_logs_and_bytes_that_contradict_each_other_are_an_alarm(machine: ScriptedMachine) -> None:
    machine.script = training("p2p", moved=PREDICTED)

    result = execute_run(machine, lock_gpus(machine, "{on_fallback: warn}"), Voice())

    assert result.record.transport is not None
    assert result.record.transport.judged.finding == "disagreement"
    assert (result.record.level, result.is_fine) == ("infrastructure", False)


@pytest.mark.parametrize("damage", ["{", '{"format": 2}'])
def test_a_count_that_cannot_be_read_proves_nothing(machine: ScriptedMachine, damage: str) -> None:
    good = training("p2p")

    def script(scripted: ScriptedMachine, record: Path) -> JobEnd | None:
        end = good(scripted, record)
        (record / "workers/0/network.json").write_text(damage)
        return end

    machine.script = script

    result = execute_run(machine, lock_gpus(machine), Voice())

    assert result.record.transport is not None
    assert result.record.transport.judged.finding == "unknown"
    assert result.record.transport.judged.seen.reason.startswith("what it left cannot be read: ")
    assert not result.is_fine
