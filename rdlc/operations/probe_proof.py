"""What a probe's record tells again: the traffic of its lock's steps, and what each arm's lines prove."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rdlc.core.canonical import Json
from rdlc.core.conformance import WorkerReport
from rdlc.core.lockfile import RunLock
from rdlc.core.probe.prediction import predict_locked_step, traffic_of
from rdlc.core.probe.reading import LIMIT_BYTES, PROBE_FILE, Arm, Probe, read_probe
from rdlc.core.record import LIMIT_BYTES as RECORD_LIMIT_BYTES
from rdlc.core.record import read_record
from rdlc.core.traffic.prediction import Traffic
from rdlc.core.transport.judged import Expectation
from rdlc.core.transport.probe_cost import ProbedStep
from rdlc.core.transport.report import TransportReport
from rdlc.errors import RdlcError
from rdlc.operations.machine import Machine
from rdlc.operations.record_files import read_workers
from rdlc.operations.transport_proof import prove_logs, prove_transport

# What the arm of TCP is held against.
_TCP = Expectation(transport="socket", origin="the arm of TCP")


def load_probe(record: Path, machine: Machine) -> Probe:
    """What the probe of a record measured; raises InputError if it cannot be read."""
    file = record / PROBE_FILE
    return read_probe(machine.read(file, limit_bytes=LIMIT_BYTES, what="what the probe measured"), name=str(file))


def probed_traffic(lock: RunLock, probe: Probe) -> Traffic:
    """The collectives of one step of the lock's recipe on the probe's ranks."""
    config = lock.sections.recipe.config
    return traffic_of(
        probe,
        rows_per_rank=read_whole(config, "global_batch_size") // len(probe.locked.ranks),
        fingerprint_every=read_whole(config, "fingerprint_every") or read_whole(config, "steps") or 1,
    )


def prove_arm(
    arm: Arm, lock: RunLock, workers: Sequence[WorkerReport], record: Path, machine: Machine
) -> TransportReport:
    """What the arm's own NCCL files prove, held against what it is said to be."""
    folder = record / "arms" / arm.name
    if arm.name == "tcp":
        return prove_logs(folder, _TCP, machine)
    return prove_transport(lock, workers, folder, machine)


def find_probed_step(lock: RunLock, runs: Path, machine: Machine, *, seen_step_s: float) -> ProbedStep | None:
    """What a step over the locked transport takes, from one over TCP and the newest good probe of the lock.

    A probe is good if it finished, drifted nowhere, and each of its arms is proven to be what it is called.
    """
    for path in machine.list_records(runs):
        if path.parent.name != lock.name:
            continue
        try:
            span = _read_step(lock, path, machine, seen_step_s)
        except RdlcError:
            # A damaged record is `rdlc runs`' to tell; it measures nothing here.
            continue
        if span is not None:
            return ProbedStep(low_s=span[0], high_s=span[1], record=path.name)
    return None


def _read_step(lock: RunLock, path: Path, machine: Machine, seen_step_s: float) -> tuple[float, float] | None:
    file = path / "record.json"
    record = read_record(machine.read(file, limit_bytes=RECORD_LIMIT_BYTES, what="the record"), name=str(file))
    if (record.kind, record.status, record.lock_id, record.drift) != ("probe", "finished", lock.id, ()):
        return None
    if machine.hash_files(path) != record.files:
        return None
    probe = load_probe(path, machine)
    workers = read_workers(path, machine)
    if not all(prove_arm(arm, lock, workers, path, machine).judged.is_fine for arm in probe.arms):
        return None
    return predict_locked_step(probe, probed_traffic(lock, probe), tcp_step_s=seen_step_s)


def read_whole(config: Mapping[str, Json], key: str) -> int:
    """A count of the recipe's config; 0 where there is none."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
