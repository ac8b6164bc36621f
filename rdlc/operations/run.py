"""Run a lock, or run it again and compare: the use cases of `run` and `replay`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rdlc.core.baseline import write_baseline
from rdlc.core.comparison import Comparison
from rdlc.core.launch import driver_environment, recipe_config
from rdlc.core.level import reaches
from rdlc.core.lockfile import RunLock
from rdlc.core.record import RunRecord, write_record
from rdlc.operations.collect import Collected, baseline_of, collect
from rdlc.operations.data_source import DataSource
from rdlc.operations.follow import Following, JobEnd, Listener, follow, limits_in_seconds
from rdlc.operations.machine import Machine, Order
from rdlc.operations.prepare import Prepared, RunRequest, prepare
from rdlc.operations.recording import in_record, settle_interrupted
from rdlc.operations.reporting import Reporter
from rdlc.operations.run_packages import find_installer
from rdlc.operations.run_transport import check_warm_transport


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """The record of a run, and what became of the baseline.

    `written`, `replaced`, `kept`; `not-due` for a run that is not good enough to be one, `no-lock` for
    a run of a spec; for a replay `compared` or `none`.
    """

    record: RunRecord
    path: Path
    comparison: Comparison | None
    baseline: str

    @property
    def is_fine(self) -> bool:
        """Whether it finished, and reached what was claimed as far as its verb can."""
        record = self.record
        if record.status != "finished" or record.transport is None or not record.transport.judged.is_fine:
            return False
        wanted = record.claim
        if record.kind == "run" and wanted == "outcome-bitwise":
            wanted = "execution"
        return reaches(record.level, wanted)


def execute(
    request: RunRequest,
    *,
    machine: Machine,
    reporter: Reporter,
    listener: Listener,
    data: DataSource | None = None,
) -> RunResult:
    """Runs what the lock says and records it; a replay is compared with the lock's baseline.

    Raises DriftRefused before anything is written, and Interrupted after the record was closed. Every
    other way out also leaves a record that says why; one that cannot be written now is closed by the
    next run. `data` may be None for a lock of generated data without pretrained weights.
    """
    prepared = prepare(request, machine=machine, reporter=reporter, data=data)

    def work(record: RunRecord, path: Path, secrets: Mapping[str, str]) -> RunResult:
        driving = Driving(
            module=prepared.lock.sections.recipe.requested.module,
            lines="metrics.jsonl",
            limits_s=limits_in_seconds(prepared.lock.sections.run.requested.limits),
            secrets=secrets,
        )
        end, reason = drive(prepared, record, path, driving, machine, reporter, listener)
        return close_record(request, prepared, record, path, end, reason, machine)

    return in_record(request, prepared, work, machine=machine, reporter=reporter)


@dataclass(frozen=True, kw_only=True, slots=True)
class Driving:
    """Which module of the recipe is started, the file in which its lines come, and its limits in seconds."""

    module: str
    lines: str
    limits_s: Mapping[str, float]
    secrets: Mapping[str, str]


def drive(
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    driving: Driving,
    machine: Machine,
    reporter: Reporter,
    listener: Listener,
) -> tuple[JobEnd | None, str]:
    """Starts the driver and follows it to its end; None and "interrupted" when the user stopped it."""
    job = None
    try:
        order = _order(prepared, record, path, driving, machine, reporter)
        job = machine.start(order)
        following = Following(
            job=job,
            metrics=machine.tail(path / driving.lines),
            phases=machine.tail(path / "phases.jsonl"),
            limits_s=driving.limits_s,
            steps_total=record.steps_total,
            check_warm=lambda: check_warm_transport(prepared, path, machine, listener),
            monotonic=machine.monotonic,
            sleep=machine.sleep,
        )
        return follow(following, listener)
    except KeyboardInterrupt:
        return None, "interrupted"
    finally:
        if job is not None:
            job.stop()
        machine.end_leftovers(record.token, Path(record.scratch))


def _order(
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    driving: Driving,
    machine: Machine,
    reporter: Reporter,
) -> Order:
    lock, scratch = prepared.lock, Path(record.scratch)
    root = prepared.project / prepared.code.root
    machine.pack_code(root, prepared.code.files, path / "shipped.tar")
    code = machine.prepare_scratch(scratch, path / "shipped.tar", token=record.token)
    wheels = str(prepared.wheels) if prepared.wheels else None
    # A probe keeps no checkpoints.
    storage = storage_path(lock, prepared.project) if record.kind in ("run", "replay") else None
    config = recipe_config(
        lock,
        run_name=record.id,
        scratch=str(scratch / "ray"),
        wheels=wheels,
        storage=storage,
        folders=prepared.folders,
    )
    if "code" in record.accepted:
        config["code_digest"] = prepared.code.digest
    machine.write(path / "config.json", config_bytes(config))
    installer = find_installer(lock, prepared.wheels, machine)
    environment = driver_environment(
        lock, machine.shell(), code=str(code), secrets=driving.secrets, installer=installer
    )
    if environment.ignored:
        reporter.note(f"left out of the run, the lock rules: {', '.join(environment.ignored)}")
    command = (
        machine.python(), "-P", "-m", driving.module,
        "--config", str(path / "config.json"), "--output", str(path),
    )  # fmt: skip
    return Order(command=command, environment=environment.values, record=path, scratch=scratch, token=record.token)


def storage_path(lock: RunLock, project: Path) -> str | None:
    """Where the checkpoints of a run go: an address, or an absolute folder; None for its record."""
    storage = lock.sections.run.requested.storage
    if storage is None or storage.is_address:
        return None if storage is None else storage.path
    return str((project / storage.path).resolve())


def close_record(
    request: RunRequest,
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    end: JobEnd | None,
    reason: str,
    machine: Machine,
) -> RunResult:
    """Judges what the run left and closes its record; offers it as baseline if it is due."""
    if end is None:
        settle_interrupted(record, path, machine=machine)
    collected = collect(prepared, record, path, end, reason, machine)
    finished = replace(collected.record, ended=machine.clock(), files=machine.hash_files(path))
    machine.write(path / "record.json", write_record(finished))
    baseline = "compared" if collected.comparison else "none"
    if request.kind == "run":
        baseline = _offer_baseline(prepared, finished, collected, machine)
    return RunResult(record=finished, path=path, comparison=collected.comparison, baseline=baseline)


def _offer_baseline(prepared: Prepared, record: RunRecord, collected: Collected, machine: Machine) -> str:
    if prepared.baseline_path is None:
        return "no-lock"
    if prepared.baseline is not None:
        return "kept"
    if not reaches(record.level, "execution") or record.drift:
        return "not-due"
    data = write_baseline(baseline_of(prepared.lock, record, collected))
    if prepared.is_rebaseline and prepared.baseline_path.exists():
        machine.write(prepared.baseline_path, data)
        return "replaced"
    # One that came up while this run was going on is kept: only --rebaseline replaces.
    return "written" if machine.create(prepared.baseline_path, data) else "kept"


def config_bytes(config: Mapping[str, object]) -> bytes:
    """The recipe's config as the JSON file that it reads."""
    return json.dumps(config, indent=1, sort_keys=True).encode("ascii") + b"\n"
