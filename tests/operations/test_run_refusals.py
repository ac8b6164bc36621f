"""What run and replay refuse before they start, and what they hand over."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.record import Drift
from rdlc.errors import InputError, RdlcError
from rdlc.operations.prepare import DriftRefused
from tests.operations.scripted import (
    ScriptedMachine,
    Voice,
    lock,
    lock_in,
    record_in,
    records,
    run,
)
from tests.projects import make_project


@pytest.fixture
def machine(tmp_path: Path) -> ScriptedMachine:
    return ScriptedMachine(make_project(tmp_path / "project"))


def baseline_of(path: Path) -> Path:
    return path.with_name(path.name.replace(".lock.", ".baseline."))


@pytest.mark.parametrize("kind", ["run", "replay"])
def test_the_baseline_of_another_lock_is_refused(machine: ScriptedMachine, kind: str) -> None:
    path = lock(machine)
    run(machine, path)
    old = lock_in(path).id
    lock(machine, settings={"recipe.seed": "1"})
    new = lock_in(path).id
    before = records(machine)

    with pytest.raises(RdlcError) as caught:
        run(machine, path, kind=kind)

    assert (caught.value.message, caught.value.file, caught.value.hint) == (
        f"the baseline belongs to lock {old}, and this lock is {new}",
        str(baseline_of(path)),
        f"`rdlc run {path} --rebaseline` makes a new one",
    )
    assert records(machine) == before
    assert run(machine, path, is_rebaseline=True).baseline == "replaced"


@pytest.mark.parametrize("kind", ["run", "replay"])
def test_drift_is_refused_with_both_values_and_the_command_that_mends_it(machine: ScriptedMachine, kind: str) -> None:
    path = lock(machine, settings={"claim": "execution"})
    locked = lock_in(path).sections.code.files["toy/train.py"]
    (machine.project / "recipes/toy/train.py").write_text("other\n")
    machine.environment = replace(machine.environment, distributions={"torch": "2.12.0", "new one": "1"})

    with pytest.raises(DriftRefused) as caught:
        run(machine, path, kind=kind)

    found = machine.list_code(machine.project / "recipes", "toy")["toy/train.py"]
    assert caught.value.message == f"{kind} refused: `code` and `environment` differ from lock {lock_in(path).id}"
    assert caught.value.drift == (
        Drift(section="code", address="toy/train.py", locked=locked, found=found),
        Drift(section="environment", address="distributions.new one", locked="not there", found="1"),
        Drift(section="environment", address="distributions.torch", locked="2.13.0", found="2.12.0"),
    )
    assert caught.value.mends == {
        "environment": "python -m pip uninstall --yes 'new one' && python -m pip install torch==2.13.0",
    }
    assert (records(machine), machine.orders) == ([], [])


def test_the_code_of_an_earlier_record_mends_the_drift(machine: ScriptedMachine) -> None:
    path = lock(machine)
    result = run(machine, path)
    (machine.project / "recipes/toy/train.py").write_text("other\n")

    with pytest.raises(DriftRefused) as caught:
        run(machine, path)

    assert caught.value.mends == {"code": f"tar -xf {result.path}/shipped.tar -C {machine.project}/recipes"}


def test_allowed_drift_is_stored_and_gives_no_baseline(machine: ScriptedMachine) -> None:
    path = lock(machine)
    (machine.project / "recipes/toy/new.py").write_text("other\n")

    result = run(machine, path, allow={"code": "a log line"})

    found = machine.list_code(machine.project / "recipes", "toy")["toy/new.py"]
    record = record_in(result.path)
    assert record.accepted == {"code": "a log line"}
    assert record.drift == (Drift(section="code", address="toy/new.py", locked="not there", found=found),)
    assert record.evidence[-1] == "drift in code was allowed: a log line"
    assert (result.baseline, baseline_of(path).exists()) == ("not-due", False)


def test_only_what_can_drift_can_be_allowed(machine: ScriptedMachine) -> None:
    with pytest.raises(InputError) as caught:
        run(machine, lock(machine), allow={"recipe": "why not"})

    assert caught.value.message == (
        "`--allow-drift recipe`: only these sections can drift: `code`, `environment`, `data`"
    )


def test_a_lock_that_was_changed_is_refused(machine: ScriptedMachine) -> None:
    path = lock(machine)
    path.write_bytes(path.read_bytes().replace(b"steps: 3", b"steps: 4"))

    with pytest.raises(RdlcError) as caught:
        run(machine, path)

    assert caught.value.message.startswith("the lock is not intact: section `recipe`: the contents give sha256:")
    assert caught.value.hint == f"`rdlc verify {path}`"
    assert records(machine) == []


def test_a_python_that_lacks_what_training_needs_is_refused(machine: ScriptedMachine) -> None:
    machine.lacking = ("ray", "torch")

    with pytest.raises(RdlcError) as caught:
        run(machine, lock(machine))

    assert (caught.value.message, caught.value.hint) == (
        "this Python lacks `ray`, `torch`",
        "python -m pip install 'rdlc[train]'",
    )
    assert records(machine) == []


def test_secrets_reach_the_driver_and_no_file(machine: ScriptedMachine) -> None:
    with (machine.project / "run.yaml").open("a") as file:
        file.write("secrets: [{name: HF_TOKEN}]\n")
    machine.variables["HF_TOKEN"] = "the-secret-itself"
    machine.variables["NCCL_DEBUG"] = "INFO"
    voice = Voice()

    result = run(machine, lock(machine), voice=voice)

    environment = machine.orders[0].environment
    written = b"".join(file.read_bytes() for file in machine.project.rglob("*") if file.is_file())
    assert (environment["HF_TOKEN"], environment.get("NCCL_DEBUG")) == ("the-secret-itself", None)
    assert b"the-secret-itself" not in written
    assert voice.notes == ["left out of the run, the lock rules: NCCL_DEBUG"]
    assert result.is_fine


def test_a_secret_that_is_not_there_is_named(machine: ScriptedMachine) -> None:
    with (machine.project / "run.yaml").open("a") as file:
        file.write("secrets: [{name: HF_TOKEN}]\n")

    with pytest.raises(RdlcError) as caught:
        run(machine, lock(machine))

    assert (caught.value.message, caught.value.hint) == (
        "the secret `HF_TOKEN` is not in the environment",
        "`export HF_TOKEN=...`",
    )
    assert machine.jobs == []


def test_the_recipe_is_given_all_it_needs_and_all_of_it_from_the_lock(machine: ScriptedMachine) -> None:
    result = run(machine, lock(machine))

    order, config = machine.orders[0], json.loads((result.path / "config.json").read_text())
    assert order.command == (
        "python", "-P", "-m", "toy.train", "--config", f"{result.path}/config.json", "--output", str(result.path),
    )  # fmt: skip
    assert config["recipe"] == {"learning_rate": "1e-2", "steps": 3}
    assert config["data"] == {"kind": "markov", "seed": 7}
    assert (config["run_name"], config["num_workers"], config["seed"]) == (result.path.name, 2, 0)
    assert config["code_digest"] == lock_in(result.path / "lock.yaml").sections.code.digest
    assert order.environment["PYTHONPATH"] == str(order.scratch / "code")
    assert sorted(path.name for path in (order.scratch / "code/toy").iterdir()) == ["__init__.py", "train.py"]
