"""The transport of a run: judged after warm-up, while there is time to save, and again at its end."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rdlc.core.conformance import WorkerReport
from rdlc.core.launch import total_steps
from rdlc.core.outcome import Outcome
from rdlc.core.traffic.floor_words import Workload, describe_floors
from rdlc.core.traffic.moved import predicted_traffic
from rdlc.core.transport.cost import NOT_MEASURED, Cost, describe_cost, measure_cost
from rdlc.core.transport.judged import describe_judgement
from rdlc.core.transport.probe_cost import describe_probed_cost
from rdlc.core.transport.report import TransportReport
from rdlc.errors import InputError
from rdlc.operations.follow import Listener
from rdlc.operations.machine import Machine
from rdlc.operations.prepare import Prepared
from rdlc.operations.probe_proof import find_probed_step
from rdlc.operations.record_files import load_outcome, read_workers
from rdlc.operations.transport_proof import prove_transport, read_network_reports


def check_warm_transport(prepared: Prepared, record: Path, machine: Machine, listener: Listener) -> str:
    """Shows what warm-up proves of the transport; gives back why the run is to be stopped, or ""."""
    try:
        workers = read_workers(record, machine)
        report = judge_run_transport(prepared, record, load_outcome(record, machine).outcome, workers, machine)
    except InputError:
        # Half-written files are judged again at the end, and are an error there.
        return ""
    listener.transport(report)
    network = prepared.lock.sections.run.requested.network
    if not report.judged.is_alarming or (network is not None and network.on_fallback == "warn"):
        return ""
    return f"network.on_fallback: {describe_judgement(report.judged).removeprefix('transport: ')}"


def describe_run_floors(workers: Sequence[WorkerReport], record: Path, machine: Machine) -> tuple[str, ...]:
    """The least time of a step for computing and for the wire, beside which the real one is seen."""
    try:
        reports = read_network_reports(record, machine)
    except InputError:
        # Said with the transport.
        return ()
    traffic, devices = predicted_traffic(reports), {worker.device for worker in workers}
    if traffic is None or len(devices) != 1:
        return ()
    work = reports[0].workload
    return (
        describe_floors(
            Workload(
                layout=work.layout,
                traffic=traffic,
                device=devices.pop(),
                tokens=work.rows_per_rank * traffic.ranks * work.sequence_length,
                sequence_length=work.sequence_length,
                # One machine, so there is no wire; that of a cluster comes with running on one.
                wire_bytes_per_s=None,
            )
        ),
    )


def judge_run_transport(
    prepared: Prepared, record: Path, outcome: Outcome | None, workers: Sequence[WorkerReport], machine: Machine
) -> TransportReport:
    """What a run's files prove of its transport, with what that cost where it is not fine."""
    lock, baseline = prepared.lock, prepared.baseline
    report = prove_transport(lock, workers, record, machine)
    if report.judged.is_fine:
        return report
    warmup = lock.sections.recipe.config.get("warmup_steps")
    cost = measure_cost(
        outcome.steps if outcome else (),
        baseline.outcome.steps if baseline else (),
        warmup_steps=warmup if isinstance(warmup, int) else 0,
        price=prepared.price,
    )
    words = _describe(cost, prepared, report, machine)
    # What cannot be measured has a floor at least.
    is_measured = not words[0].startswith(NOT_MEASURED)
    floors = () if is_measured else describe_run_floors(workers, record, machine)
    return replace(report, cost=(*words, *floors))


def _describe(cost: Cost, prepared: Prepared, report: TransportReport, machine: Machine) -> tuple[str, ...]:
    """What it cost against the baseline, else by a probe of the same lock; a probe's second arm is TCP."""
    total = total_steps(prepared.lock)
    if cost.due_step_s is None and cost.seen_step_s is not None and report.judged.seen.transport == "socket":
        probed = find_probed_step(prepared.lock, prepared.runs, machine, seen_step_s=cost.seen_step_s)
        if probed is not None:
            return describe_probed_cost(cost, probed, steps_total=total)
    return describe_cost(cost, steps_total=total)
