"""What is derived is derived anew at every locking, and no shipped file may hold a secret."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.lockfile import RunLock, write_lock
from rdlc.core.sections import Setting
from rdlc.errors import InputError, RdlcError
from rdlc.operations.lock import LockRequest, LockResult, lock_spec
from tests.operations.scripted import ScriptedMachine, Voice
from tests.projects import make_project

TOKEN = "hf_" + "a1B2c3" * 6


@pytest.fixture
def machine(tmp_path: Path) -> ScriptedMachine:
    return ScriptedMachine(make_project(tmp_path))


def lock(machine: ScriptedMachine, voice: Voice, *, like: Path | None = None) -> LockResult:
    request = LockRequest(
        spec=machine.project / "run.yaml", output=None, settings={}, like=like, is_check=False, tool="rdlc"
    )
    return lock_spec(request, workspace=machine, reporter=voice)


def with_variable(lock: RunLock) -> RunLock:
    """A lock that fits itself, with a variable that rdlc would never set."""
    cluster = lock.sections.cluster
    settings = {**cluster.settings, "PYTHONPATH": Setting(value="/tmp/evil", origin="recipe.deterministic")}
    return replace(lock, sections=replace(lock.sections, cluster=replace(cluster, settings=settings)))


def test_nothing_is_kept_of_a_lock_that_fits_itself_and_nobody_could_have_locked(machine: ScriptedMachine) -> None:
    made = lock(machine, Voice())
    data = made.path.read_bytes()
    made.path.write_bytes(write_lock(with_variable(made.lock)))
    voice = Voice()

    lock(machine, voice)

    line = 1 + write_lock(with_variable(made.lock)).split(b"PYTHONPATH:")[0].count(b"\n")
    assert made.path.read_bytes() == data
    place = f"`cluster.resolved.environment.PYTHONPATH`: is no variable that rdlc sets for workers ({made.path}:{line})"
    said = "the existing lock was changed by hand or by a merge, all is resolved anew: section `cluster`: "
    assert voice.warnings == [f"{said}{place}"]


def test_such_a_lock_is_no_example_for_another_one(machine: ScriptedMachine) -> None:
    other = machine.project / "other.lock.yaml"
    other.write_bytes(write_lock(with_variable(lock(machine, Voice()).lock)))

    with pytest.raises(RdlcError) as caught:
        lock(machine, Voice(), like=other)

    assert caught.value.message == "is not intact: section `cluster`"


def test_a_secret_in_any_shipped_file_is_refused_with_file_and_line_and_never_shown(machine: ScriptedMachine) -> None:
    file = machine.project / "recipes/toy/notes.txt"
    file.write_text(f"first\ntoken = {TOKEN}\n")

    with pytest.raises(RdlcError) as caught:
        lock(machine, Voice())

    assert (caught.value.message, caught.value.file) == ("holds what looks like a Hugging Face token", f"{file}:2")
    assert not (machine.project / "lock").exists()


def test_a_file_that_is_too_large_to_search_is_named(machine: ScriptedMachine) -> None:
    (machine.project / "recipes/toy/table.txt").write_bytes(b"0" * ((8 << 20) + 1))
    voice = Voice()

    lock(machine, voice)

    assert voice.warnings == ["`toy/table.txt` is larger than 8 MiB: it was not searched for secrets"]


def test_a_recipe_without_its_first_file_is_refused(machine: ScriptedMachine) -> None:
    (machine.project / "recipes/toy/__init__.py").unlink()

    with pytest.raises(InputError) as caught:
        lock(machine, Voice())

    message = "`toy/__init__.py` is missing: without it Python may take another package of that name"
    assert (caught.value.message, caught.value.field, caught.value.hint) == (message, "recipe.module", None)
