"""However a run ends, its record says why, and no baseline is replaced unasked."""

from pathlib import Path

import pytest

from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.machine import Order
from tests.operations.scripted import ScriptedMachine, lock, record_in, records, run
from tests.projects import make_project


@pytest.fixture
def machine(tmp_path: Path) -> ScriptedMachine:
    return ScriptedMachine(make_project(tmp_path))


def raising(machine: ScriptedMachine, error: BaseException) -> None:
    """Makes the start of a job fail."""

    def start(order: Order) -> None:
        raise error

    machine.start = start  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RdlcError("no space left"), "no space left"),
        (ValueError("odd"), "a defect of rdlc: ValueError: odd"),
        (KeyboardInterrupt(), "interrupted by the user"),
    ],
)
def test_a_run_that_breaks_off_is_settled_with_the_true_reason(
    machine: ScriptedMachine, error: BaseException, reason: str
) -> None:
    path = lock(machine)
    raising(machine, error)

    with pytest.raises(Interrupted if isinstance(error, KeyboardInterrupt) else type(error)):
        run(machine, path)

    [folder] = records(machine)
    record = record_in(folder)
    assert (record.status, record.reason) == ("interrupted", reason)
    assert machine.dead_records(machine.project / "runs") == ()


def test_a_record_that_cannot_be_settled_is_closed_by_the_next_run(machine: ScriptedMachine) -> None:
    locked = lock(machine)
    kept = machine.write
    raising(machine, RdlcError("the first trouble"))

    def write(path: Path, data: bytes) -> bool:
        if path.name == "record.json" and b'"running"' not in data:
            raise RdlcError("no space left")
        return kept(path, data)

    machine.write = write  # type: ignore[method-assign]
    with pytest.raises(RdlcError, match="the first trouble"):
        run(machine, locked)
    machine.write = kept  # type: ignore[method-assign]
    [folder] = records(machine)
    before = record_in(folder).status
    with pytest.raises(RdlcError, match="the first trouble"):
        run(machine, locked)

    assert (before, record_in(folder).status, record_in(folder).reason) == (
        "running",
        "interrupted",
        "rdlc was killed",
    )


def test_a_baseline_that_came_up_during_the_run_is_kept(machine: ScriptedMachine) -> None:
    path = lock(machine)
    baseline = machine.project / "lock/toy.baseline.yaml"
    start = machine.start

    def started(order: Order) -> object:
        baseline.write_text("somebody else's\n")
        return start(order)

    machine.start = started  # type: ignore[method-assign, assignment]
    result = run(machine, path)

    assert (result.record.level, result.baseline) == ("execution", "kept")
    assert baseline.read_text() == "somebody else's\n"


def test_a_missing_secret_is_refused_before_anything_is_written(machine: ScriptedMachine) -> None:
    spec = machine.project / "run.yaml"
    spec.write_text(spec.read_text() + "secrets: [{name: HF_TOKEN, from: env}]\n")
    path = lock(machine)

    with pytest.raises(RdlcError, match="the secret `HF_TOKEN` is not in the environment"):
        run(machine, path)

    assert not (machine.project / "runs").exists()


def test_library_folders_of_the_shell_stand_in_the_record(machine: ScriptedMachine) -> None:
    machine.variables["LD_LIBRARY_PATH"] = "/opt/lib"

    result = run(machine, lock(machine))

    assert record_in(result.path).observed["LD_LIBRARY_PATH"] == "/opt/lib"


def test_a_project_whose_path_is_no_text_is_refused(tmp_path: Path) -> None:
    machine = ScriptedMachine(make_project(tmp_path))
    path = lock(machine)
    odd = tmp_path.with_name(tmp_path.name + b"\xff".decode("utf-8", "surrogateescape"))
    machine.project.rename(odd)

    with pytest.raises(InputError, match="the project's path is not UTF-8 text"):
        run(machine, odd / path.relative_to(machine.project))
