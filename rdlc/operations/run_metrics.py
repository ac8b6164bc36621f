"""How fast a run was: what its ranks measured, put into the figures that people compare."""

from collections.abc import Sequence
from pathlib import Path

from rdlc.core.conformance import WorkerReport
from rdlc.core.metrics.reading import METRICS_FILE, METRICS_LIMIT_BYTES, RankMetrics, read_rank_metrics
from rdlc.core.metrics.summary import MetricsReport, Work, summarize
from rdlc.core.outcome import Outcome
from rdlc.core.text import one_line
from rdlc.errors import InputError
from rdlc.operations.machine import Machine
from rdlc.operations.record_files import read_file
from rdlc.operations.transport_proof import read_network_reports


def measure_run(
    record: Path, outcome: Outcome | None, workers: Sequence[WorkerReport], machine: Machine
) -> tuple[MetricsReport | None, tuple[str, ...]]:
    """The figures of a run, and the sentences about them; a file that cannot be read is such a sentence."""
    try:
        ranks = _read_ranks(record, machine)
    except InputError as error:
        return None, (f"its measurements cannot be read: {error.file}: {error.message}",)
    report = summarize(
        ranks,
        hosts={worker.place.rank: one_line(worker.place.host) for worker in workers},
        work=_find_work(record, workers, machine),
        last=outcome.steps[-1] if outcome and outcome.steps else None,
    )
    return report, report.sentences if report else ()


def _read_ranks(record: Path, machine: Machine) -> list[RankMetrics]:
    ranks = []
    for worker in machine.worker_reports(record):
        path = worker.with_name(METRICS_FILE)
        data = read_file(path, METRICS_LIMIT_BYTES, machine)
        if data is not None:
            ranks.append(read_rank_metrics(data, name=str(path)))
    return ranks


def _find_work(record: Path, workers: Sequence[WorkerReport], machine: Machine) -> Work | None:
    """What a step does, as all ranks describe it; None where they do not agree or it cannot be read."""
    try:
        reports = read_network_reports(record, machine)
    except InputError:
        # Said with the transport.
        return None
    devices = {worker.device for worker in workers}
    worlds = {(report.workload, report.world_size) for report in reports}
    if len(worlds) != 1 or len(devices) != 1:
        return None
    work, ranks = worlds.pop()
    return Work(
        layout=work.layout,
        tokens=work.rows_per_rank * ranks * work.sequence_length,
        sequence_length=work.sequence_length,
        device=one_line(devices.pop()),
    )
