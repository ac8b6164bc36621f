"""What a replay is compared with, and what becomes the baseline."""

import pytest

from rdlc.adapters.ray.status import JobEnd
from rdlc.core.baseline import read_baseline
from rdlc.errors import RdlcError
from tests.diff_samples import TENSORS, a_fingerprint, change_step, change_tensor, make_outcome
from tests.operations.scripted import (
    ScriptedMachine,
    baseline_of,
    ending,
    finishing,
    lock,
    records,
    run,
)

OTHER = change_tensor(
    change_step(make_outcome(), 2, gradient_norm=(9.0).hex(), parameters=a_fingerprint(77)),
    2,
    TENSORS[1],
    a_fingerprint(9),
)


def test_a_replay_with_the_same_bits_is_reproduced(machine: ScriptedMachine) -> None:
    path = lock(machine)
    run(machine, path)

    result = run(machine, path, kind="replay")

    assert (result.record.level, result.is_fine, result.baseline) == ("outcome-bitwise", True, "compared")
    assert result.record.evidence[-1] == (
        "every bit is the same: loss and gradient norm of 3 steps, 8 parameter fingerprints, the final parameters"
    )


def test_a_replay_with_other_bits_names_the_first_step_and_parameter(machine: ScriptedMachine) -> None:
    path = lock(machine)
    run(machine, path)
    machine.script = finishing(OTHER)

    result = run(machine, path, kind="replay")

    assert (result.record.status, result.record.level, result.is_fine) == ("finished", "execution", False)
    assert result.record.outcome == (
        "first differs at step 2 in gradient norm, parameters; first parameter `model.layers.10.weight`, "
        "1 of 2 parameters differ at step 2"
    )


def test_a_replay_without_a_baseline_says_that_nothing_was_compared(machine: ScriptedMachine) -> None:
    path = lock(machine, settings={"claim": "execution"})

    result = run(machine, path, kind="replay")

    assert (result.record.level, result.is_fine, result.baseline) == ("execution", True, "none")
    assert result.record.outcome == "no baseline stands beside the lock, so no outcome was compared"


def test_a_replay_that_claims_an_outcome_is_refused_before_it_starts_without_a_baseline(
    machine: ScriptedMachine,
) -> None:
    path = lock(machine)

    with pytest.raises(RdlcError) as caught:
        run(machine, path, kind="replay")

    assert (caught.value.message, caught.value.hint) == (
        "the lock claims `outcome-bitwise`, and there is no baseline to compare with",
        f"`rdlc run {path}` makes it",
    )
    assert records(machine) == []


def test_a_second_run_keeps_the_baseline(machine: ScriptedMachine) -> None:
    path = lock(machine)
    run(machine, path)
    before = baseline_of(path).read_bytes()
    machine.script = finishing(OTHER)

    result = run(machine, path)

    assert (result.is_fine, result.baseline, baseline_of(path).read_bytes()) == (True, "kept", before)


def test_rebaseline_replaces_the_baseline(machine: ScriptedMachine) -> None:
    path = lock(machine)
    run(machine, path)
    machine.script = finishing(OTHER)

    result = run(machine, path, is_rebaseline=True)

    assert result.baseline == "replaced"
    assert read_baseline(baseline_of(path).read_bytes(), name="b").outcome == OTHER


def test_a_failed_run_does_not_replace_the_baseline(machine: ScriptedMachine) -> None:
    path = lock(machine)
    run(machine, path)
    before = baseline_of(path).read_bytes()
    machine.script = ending(JobEnd(reason="exited", exit_status=1))

    result = run(machine, path, is_rebaseline=True)

    assert (result.baseline, baseline_of(path).read_bytes()) == ("not-due", before)
