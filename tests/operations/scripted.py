"""A machine whose files are real and whose jobs are scripted: no process is started, no time passes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rdlc.adapters.ray.status import JobEnd
from rdlc.cli.wiring import LocalMachine
from rdlc.core.lockfile import RunLock, read_lock
from rdlc.core.outcome import Outcome
from rdlc.core.packages.base import Base
from rdlc.core.packages.derivation import local_base
from rdlc.core.provenance import GitState
from rdlc.core.record import RunRecord, read_record
from rdlc.core.sections import EnvironmentSection
from rdlc.core.transport.report import TransportReport
from rdlc.operations.follow import Progress
from rdlc.operations.lock import LockRequest, lock_spec
from rdlc.operations.machine import Order
from rdlc.operations.prepare import RunRequest
from rdlc.operations.run import RunResult, execute
from tests.diff_samples import make_lock, make_outcome, outcome_files

FINISHED = JobEnd(reason="exited", exit_status=0)
Script = Callable[["ScriptedMachine", Path], JobEnd | None]


@dataclass(kw_only=True)
class ScriptedJob:
    """A job that ends when its script says so, or when it is stopped."""

    machine: "ScriptedMachine"
    record: Path
    end: JobEnd | None = None
    stops: int = 0

    def poll(self) -> JobEnd | None:
        self.end = self.end or self.machine.script(self.machine, self.record)
        return self.end

    def stop(self) -> JobEnd:
        self.stops += 1
        self.end = self.end or self.machine.end_at_stop
        return self.end


@dataclass(kw_only=True)
class Voice:
    """Keeps what was said, and takes the place of the progress."""

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    steps: list[Progress] = field(default_factory=list)
    transports: list[TransportReport] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def step(self, progress: Progress) -> None:
        self.steps.append(progress)

    def transport(self, report: TransportReport) -> None:
        self.transports.append(report)

    def tick(self) -> None:
        pass


class ScriptedMachine(LocalMachine):
    """This machine's files below one folder; clock, Python, processes and jobs are made up."""

    def __init__(self, folder: Path) -> None:
        self.project = folder
        self.time_s = 0.0
        self.environment = make_lock().sections.local_environment
        self.variables: dict[str, str] = {"PATH": "/usr/bin"}
        self.lacking: tuple[str, ...] = ()
        self.script: Script = finishing()
        self.end_at_stop = JobEnd(reason="stopped", signal=15)
        self.jobs: list[ScriptedJob] = []
        self.orders: list[Order] = []
        self.ended: list[str] = []
        self.tokens = 0
        self.base: Base | None = None
        self.files_of_base: dict[str, str] = {}

    def read_git_state(self, folder: Path, paths: tuple[str, ...], *, root: Path) -> GitState | None:
        return None

    def read_environment(self, *, threads_per_worker: int) -> EnvironmentSection:
        return replace(self.environment, threads_per_worker=threads_per_worker)

    def read_base(self) -> Base:
        return self.base or local_base(self.environment)

    def base_files(self) -> Mapping[str, str]:
        return self.files_of_base

    def editable_distributions(self) -> tuple[str, ...]:
        return ()

    def now(self) -> str:
        return "2026-11-30T12:00:00Z"

    def clock(self) -> str:
        return "2026-11-30T12:00:00Z"

    def shell(self) -> Mapping[str, str]:
        return self.variables

    def python(self) -> str:
        return "python"

    def missing_modules(self, *names: str) -> tuple[str, ...]:
        return tuple(name for name in names if name in self.lacking)

    def new_token(self) -> str:
        self.tokens += 1
        return f"token-{self.tokens}"

    def new_scratch(self) -> Path:
        return self.project.with_name(f"{self.project.name}-scratch-{self.tokens}")

    def start(self, order: Order) -> ScriptedJob:  # type: ignore[override]  # another job, with the same methods
        self.orders.append(order)
        self.jobs.append(ScriptedJob(machine=self, record=order.record))
        return self.jobs[-1]

    def end_leftovers(self, token: str, scratch: Path) -> tuple[int, ...]:
        self.ended.append(token)
        return ()

    def describe_host(self) -> dict[str, str]:
        return {"kernel": "6.1"}

    def monotonic(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds


def finishing(outcome: Outcome | None = None, **report: object) -> Script:
    """A job that leaves this outcome and conforming reports of two ranks, and exits well."""

    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        leave(record, outcome or make_outcome())
        leave_reports(record, **report)
        return FINISHED

    return script


def hanging(steps: int = 0) -> Script:
    """A job that does some steps at once, and then nothing for ever."""

    def script(machine: ScriptedMachine, record: Path) -> None:
        if steps and not (record / "metrics.jsonl").exists():
            leave(record, make_outcome(steps, is_finished=False), result=False)
        # Time flies while nothing happens.
        machine.time_s += 30.0

    return script


def stepping(interval_s: float) -> Script:
    """A job that does one step in each interval, and never comes to an end."""

    def script(machine: ScriptedMachine, record: Path) -> None:
        done = int(machine.time_s / interval_s)
        leave(record, make_outcome(done, is_finished=False), result=False)
        machine.time_s += interval_s / 2

    return script


def ending(end: JobEnd, *, result: Mapping[str, object] | None = None, steps: int = 0) -> Script:
    """A job that fails, with or without words of its own."""

    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        leave(record, make_outcome(steps, is_finished=False), result=False)
        if result is not None:
            (record / "result.json").write_text(json.dumps(result))
        return end

    return script


def leave(record: Path, outcome: Outcome, *, result: bool = True) -> None:
    for name, data in outcome_files(outcome).items():
        if result or name != "result.json":
            (record / name).write_bytes(data)


def leave_reports(record: Path, **other: object) -> None:
    config = json.loads((record / "config.json").read_text())
    for rank in range(2):
        report = {
            "rank": rank,
            "local_rank": rank,
            "node_rank": 0,
            "host": "here",
            "python": "3.11.7",
            "torch": "2.13.0",
            "environment": config["determinism"]["environment"],
            "switches": {"deterministic": True},
            "code_digest": config["code_digest"],
            "cpu_capability": "AVX2",
            "cpu_threads": 1,
            "device": "cpu",
            "network_used": "gloo",
            "peak_rss_bytes": 300 << 20,
            **other,
        }
        path = record / "workers" / str(rank) / "worker.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report))


def lock(machine: ScriptedMachine, *, settings: Mapping[str, str] | None = None) -> Path:
    """Locks the project; gives the lock's path."""
    # `--set` replaces a lock only where the output is named.
    output = machine.project / "lock/toy.lock.yaml" if settings else None
    request = LockRequest(
        spec=machine.project / "run.yaml",
        output=output,
        settings=settings or {},
        like=None,
        is_check=False,
        tool="rdlc",
    )
    return lock_spec(request, workspace=machine, reporter=Voice()).path


def run(
    machine: ScriptedMachine, given: Path, *, kind: str = "run", voice: Voice | None = None, **more: object
) -> RunResult:
    """Runs or replays what is given."""
    voice = voice or Voice()
    request = RunRequest(
        given=given,
        kind=kind,
        is_rebaseline=bool(more.get("is_rebaseline")),
        allow=allowed(more),
        settings={},
        tool="rdlc",
    )
    return execute(request, machine=machine, reporter=voice, listener=voice)


def allowed(more: Mapping[str, object]) -> Mapping[str, str]:
    allow = more.get("allow", {})
    assert isinstance(allow, dict)
    return allow


def records(machine: ScriptedMachine) -> Sequence[Path]:
    return sorted(path.parent for path in machine.project.glob("runs/*/*/lock.yaml"))


def record_in(path: Path) -> RunRecord:
    return read_record((path / "record.json").read_bytes(), name="record.json")


def lock_in(path: Path) -> RunLock:
    return read_lock(path.read_bytes(), name="lock").lock


def baseline_of(path: Path) -> Path:
    """Where the baseline of this lock stands."""
    return path.with_name(path.name.replace(".lock.", ".baseline."))
