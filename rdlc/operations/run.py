"""Run a lock, or run it again and compare: the use cases of `run` and `replay`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rdlc.core.baseline import write_baseline
from rdlc.core.comparison import Comparison
from rdlc.core.launch import driver_environment, recipe_config, total_steps
from rdlc.core.level import reaches
from rdlc.core.lockfile import write_lock
from rdlc.core.record import LIMIT_BYTES, RunRecord, read_record, write_record
from rdlc.core.text import printable
from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.collect import Collected, baseline_of, collect, read_steps_done
from rdlc.operations.follow import Following, JobEnd, Listener, follow, limits_in_seconds
from rdlc.operations.machine import Machine, Order, Record
from rdlc.operations.prepare import Prepared, RunRequest, prepare
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


def execute(request: RunRequest, *, machine: Machine, reporter: Reporter, listener: Listener) -> RunResult:
    """Runs what the lock says and records it; a replay is compared with the lock's baseline.

    Raises DriftRefused before anything is written, and Interrupted after the record was closed. Every
    other way out also leaves a record that says why; one that cannot be written now is closed by the
    next run.
    """
    prepared = prepare(request, machine=machine, reporter=reporter)
    secrets = _secrets(prepared, machine)
    _settle_dead_records(prepared.runs, machine, reporter)
    started = machine.clock()
    stamp = started.replace("-", "").replace(":", "")
    short_id = prepared.lock.id.removeprefix("sha256:")[:12]
    folder = machine.create_record(prepared.runs, prepared.lock.name, f"{stamp}-{short_id}")
    record = None
    is_closed = False
    try:
        record = _open_record(request, prepared, folder, started, machine)
        end, reason = _drive(prepared, record, folder.path, secrets, machine, reporter, listener)
        result = _close_record(request, prepared, record, folder.path, end, reason, machine)
        is_closed = True
    except BaseException as error:
        is_closed = isinstance(error, Interrupted) or _settle_after(error, record, folder.path, machine)
        raise
    finally:
        folder.close(is_settled=is_closed)
    return result


def _settle_after(error: BaseException, record: RunRecord | None, path: Path, machine: Machine) -> bool:
    """Closes the record of a run that broke off; False if not even that can be written now."""
    try:
        if record is not None:
            _settle(record, path, reason=_why(error), machine=machine)
    except (RdlcError, OSError):
        return False
    return True


def _why(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted by the user"
    return error.message if isinstance(error, RdlcError) else f"a defect of rdlc: {type(error).__name__}: {error}"


def _open_record(request: RunRequest, prepared: Prepared, folder: Record, started: str, machine: Machine) -> RunRecord:
    lock = prepared.lock
    record = RunRecord(
        id=folder.path.name,
        kind=request.kind,
        name=lock.name,
        lock_id=lock.id,
        tool=request.tool,
        status="running",
        claim=lock.sections.run.requested.claim,
        level="recorded",
        started=started,
        token=machine.new_token(),
        scratch=str(machine.new_scratch()),
        steps_total=total_steps(lock),
        accepted=dict(request.allow),
        drift=prepared.drift,
        observed={**machine.describe_host(), **_passed(machine.shell())},
        files={},
    )
    machine.write(folder.path / "lock.yaml", write_lock(lock))
    machine.write(folder.path / "record.json", write_record(record))
    return record


def _passed(shell: Mapping[str, str]) -> dict[str, str]:
    """What is taken over from the shell and can still move results: it is recorded."""
    return {name: printable(shell[name]) for name in ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH") if shell.get(name)}


def _drive(
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    secrets: Mapping[str, str],
    machine: Machine,
    reporter: Reporter,
    listener: Listener,
) -> tuple[JobEnd | None, str]:
    """Starts the driver and follows it to its end; None and "interrupted" when the user stopped it."""
    job = None
    try:
        order = _order(prepared, record, path, secrets, machine, reporter)
        job = machine.start(order)
        following = Following(
            job=job,
            metrics=machine.tail(path / "metrics.jsonl"),
            phases=machine.tail(path / "phases.jsonl"),
            limits_s=limits_in_seconds(prepared.lock.sections.run.requested.limits),
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
    secrets: Mapping[str, str],
    machine: Machine,
    reporter: Reporter,
) -> Order:
    lock, scratch = prepared.lock, Path(record.scratch)
    root = prepared.project / prepared.code.root
    machine.pack_code(root, prepared.code.files, path / "shipped.tar")
    code = machine.prepare_scratch(scratch, path / "shipped.tar", token=record.token)
    wheels = str(prepared.wheels) if prepared.wheels else None
    config = recipe_config(lock, run_name=record.id, scratch=str(scratch / "ray"), wheels=wheels)
    if "code" in record.accepted:
        config["code_digest"] = prepared.code.digest
    machine.write(path / "config.json", config_bytes(config))
    installer = find_installer(lock, prepared.wheels, machine)
    environment = driver_environment(lock, machine.shell(), code=str(code), secrets=secrets, installer=installer)
    if environment.ignored:
        reporter.note(f"left out of the run, the lock rules: {', '.join(environment.ignored)}")
    command = (
        machine.python(), "-P", "-m", lock.sections.recipe.requested.module,
        "--config", str(path / "config.json"), "--output", str(path),
    )  # fmt: skip
    return Order(command=command, environment=environment.values, record=path, scratch=scratch, token=record.token)


def _close_record(
    request: RunRequest,
    prepared: Prepared,
    record: RunRecord,
    path: Path,
    end: JobEnd | None,
    reason: str,
    machine: Machine,
) -> RunResult:
    if end is None:
        _settle(record, path, reason="interrupted by the user", machine=machine)
        raise Interrupted("interrupted; the record says how far it came", file=str(path))
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


def _settle_dead_records(runs: Path, machine: Machine, reporter: Reporter) -> None:
    """Ends what killed runs left, and writes into their records how far they came."""
    for path in machine.dead_records(runs):
        file = path / "record.json"
        try:
            record = read_record(machine.read(file, limit_bytes=LIMIT_BYTES, what="a record"), name=str(file))
        except InputError as error:
            # It was killed before it wrote its record, or the record was damaged: it must not stop this run.
            reporter.warn(f"a record of a killed run is left as it is: {error.file}: {error.message}")
            # Said once: it counts as ended from now on.
            machine.release_record(path)
            continue
        if record.status == "running":
            machine.end_leftovers(record.token, Path(record.scratch))
            _settle(record, path, reason="rdlc was killed", machine=machine)
            reporter.note(f"an earlier run was killed; its record is closed now: {path}")
        machine.release_record(path)


def _settle(record: RunRecord, path: Path, *, reason: str, machine: Machine) -> None:
    settled = replace(
        record,
        status="interrupted",
        reason=reason,
        ended=machine.clock(),
        steps_done=read_steps_done(path, machine),
        files=machine.hash_files(path),
    )
    machine.write(path / "record.json", write_record(settled))


def _secrets(prepared: Prepared, machine: Machine) -> Mapping[str, str]:
    shell = machine.shell()
    secrets = {}
    for name in prepared.lock.sections.run.requested.secrets:
        if not shell.get(name):
            raise RdlcError(f"the secret `{name}` is not in the environment", hint=f"`export {name}=...`")
        secrets[name] = shell[name]
    return secrets


def config_bytes(config: Mapping[str, object]) -> bytes:
    """The recipe's config as the JSON file that it reads."""
    return json.dumps(config, indent=1, sort_keys=True).encode("ascii") + b"\n"
