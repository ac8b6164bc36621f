"""The life of a record: opened before the work, closed after it, whatever becomes of the work."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

from rdlc.core.kube.started import FILE
from rdlc.core.launch import total_steps
from rdlc.core.lockfile import write_lock
from rdlc.core.record import LIMIT_BYTES, RunRecord, read_record, write_record
from rdlc.core.text import printable
from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.collect import read_steps_done
from rdlc.operations.machine import Machine, Record
from rdlc.operations.prepare import Prepared, RunRequest
from rdlc.operations.reporting import Reporter

Result = TypeVar("Result")


def in_record(
    request: RunRequest,
    prepared: Prepared,
    work: Callable[[RunRecord, Path, Mapping[str, str]], Result],
    *,
    machine: Machine,
    reporter: Reporter,
) -> Result:
    """What `work` gives for a fresh record, its folder and the secrets; it must close the record.

    If it breaks off instead, the record is closed here, and says why.
    """
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
        result = work(record, folder.path, secrets)
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
        # A probe does no steps.
        steps_total=None if request.kind == "probe" else total_steps(lock),
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
        if (path / FILE).exists() and record.status == "running":
            reporter.note(f"an earlier run was killed; its job on a cluster may still go on: `rdlc collect {path}`")
        elif record.status == "running":
            machine.end_leftovers(record.token, Path(record.scratch))
            _settle(record, path, reason="rdlc was killed", machine=machine)
            reporter.note(f"an earlier run was killed; its record is closed now: {path}")
        machine.release_record(path)


def settle_interrupted(record: RunRecord, path: Path, *, machine: Machine) -> NoReturn:
    """Closes the record of what the user stopped, and says so."""
    _settle(record, path, reason="interrupted by the user", machine=machine)
    raise Interrupted("interrupted; the record says how far it came", file=str(path))


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
