"""What the driver is started with, whatever its lock and its secrets are called."""

from dataclasses import replace

from rdlc.core.launch import driver_environment
from rdlc.core.sections import Setting
from tests.core.lock_samples import full_lock


def test_no_locked_variable_and_no_secret_says_which_code_runs() -> None:
    ours = {"PYTHONPATH": "/code", "PYTHONNOUSERSITE": "1"}
    lock = full_lock()
    evil = dict.fromkeys(ours, Setting(value="/tmp/evil", origin="recipe.deterministic"))
    sections = replace(lock.sections, cluster=replace(lock.sections.cluster, settings=evil))
    secrets = dict.fromkeys(ours, "/tmp/evil")

    environment = driver_environment(replace(lock, sections=sections), {}, code="/code", secrets=secrets)

    assert environment.values == {"LANG": "C.UTF-8", **ours}


def test_no_secret_takes_the_place_of_a_locked_value() -> None:
    environment = driver_environment(full_lock(), {}, code="/code", secrets={"OMP_NUM_THREADS": "8"})

    assert environment.values["OMP_NUM_THREADS"] == "1"
