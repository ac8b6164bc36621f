"""Comparing what two trainings computed, bit by bit."""

from dataclasses import replace

import pytest

from rdlc.core.comparison import Comparison, Divergence, FieldDifference, compare_outcomes
from tests.diff_samples import (
    TENSORS,
    a_fingerprint,
    batch_digest,
    change_step,
    change_tensor,
    make_outcome,
)

OTHER = a_fingerprint(0xBAD)
SAME = Comparison(
    equal=True,
    steps_compared=3,
    steps_expected=3,
    steps_found=3,
    divergence=None,
    evidence={
        "batch": 3,
        "initial parameters": 1,
        "loss": 3,
        "gradient norm": 3,
        "parameters": 3,
        "evaluation loss": 1,
        "final parameters": 1,
        "tensors": 8,
    },
    not_compared=(),
    one_sided=(),
)


def test_equal_outcomes_are_equal_in_everything_that_was_measured() -> None:
    assert compare_outcomes(make_outcome(), make_outcome()) == SAME


def test_step_times_and_attempts_are_not_compared() -> None:
    outcome = make_outcome()
    slower = replace(outcome, steps=tuple(replace(step, step_s=9.0, attempt=2) for step in outcome.steps))

    assert compare_outcomes(outcome, slower) == SAME


def test_the_first_divergent_step_names_its_fields_in_the_order_of_cause() -> None:
    outcome = make_outcome()
    found = change_step(outcome, 2, parameters=OTHER, loss="nan", gradient_norm="inf", batch_digest=batch_digest(9))
    found = change_step(found, 3, loss="nan")

    divergence = compare_outcomes(outcome, found).divergence

    assert divergence == Divergence(
        step=2,
        differences=(
            FieldDifference(name="batch", expected=batch_digest(2), found=batch_digest(9)),
            FieldDifference(name="loss", expected=(2.75).hex(), found="nan"),
            FieldDifference(name="gradient norm", expected=(1.5).hex(), found="inf"),
            FieldDifference(name="parameters", expected=a_fingerprint(2), found=OTHER),
        ),
        tensor_step=None,
        tensors=(),
        tensors_total=0,
    )
    assert divergence.fields == ("batch", "loss", "gradient norm", "parameters")


def test_minus_zero_is_not_zero() -> None:
    outcome = change_step(make_outcome(), 1, loss=(0.0).hex())

    assert compare_outcomes(outcome, change_step(outcome, 1, loss=(-0.0).hex())).equal is False


def test_differing_tensors_are_named_in_natural_order_at_their_first_step() -> None:
    outcome = make_outcome()
    found = change_tensor(outcome, 2, TENSORS[1], OTHER)
    for name in TENSORS:
        found = change_tensor(found, 3, name, OTHER)
    at_third = change_tensor(change_tensor(outcome, 3, TENSORS[0], OTHER), 3, TENSORS[1], OTHER)

    first = compare_outcomes(outcome, found).divergence
    second = compare_outcomes(outcome, at_third).divergence

    assert first == Divergence(
        step=2,
        differences=(
            FieldDifference(
                name="parameters",
                expected=f"`{TENSORS[1]}` {a_fingerprint(33)}",
                found=f"`{TENSORS[1]}` {OTHER}",
            ),
        ),
        tensor_step=2,
        tensors=(TENSORS[1],),
        tensors_total=2,
    )
    assert second is not None
    assert (second.step, second.tensors) == (3, TENSORS)


def test_other_initial_parameters_show_at_the_first_step() -> None:
    outcome = make_outcome()
    found = replace(change_tensor(outcome, 0, TENSORS[0], OTHER), initial_parameters=OTHER)
    found = change_step(found, 1, loss="nan")

    divergence = compare_outcomes(outcome, found).divergence

    assert divergence is not None
    assert (divergence.step, divergence.fields, divergence.tensor_step, divergence.tensors) == (
        1,
        ("initial parameters", "loss"),
        0,
        (TENSORS[0],),
    )


def test_other_initial_parameters_show_though_no_step_was_done() -> None:
    outcome = make_outcome(0, is_finished=False)
    found = change_tensor(outcome, 0, TENSORS[0], OTHER)

    divergence = compare_outcomes(outcome, found).divergence

    assert divergence is not None
    assert (divergence.step, divergence.fields) == (0, ("initial parameters",))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"evaluation_loss": "nan"}, ("evaluation loss",)),
        ({"final_parameters": OTHER}, ("final parameters",)),
    ],
)
def test_a_difference_after_the_last_step_belongs_to_it(change: dict[str, str], fields: tuple[str, ...]) -> None:
    outcome = make_outcome()

    comparison = compare_outcomes(outcome, replace(outcome, **change))  # type: ignore[arg-type]  # texts

    assert comparison.divergence is not None
    assert (comparison.equal, comparison.divergence.step, comparison.divergence.fields) == (
        False,
        3,
        fields,
    )


@pytest.mark.parametrize("order", [1, -1])
def test_a_side_that_ended_early_is_not_equal(order: int) -> None:
    sides = (make_outcome(3), make_outcome(2, is_finished=False))[::order]
    labels = ("long", "short")[::order]

    comparison = compare_outcomes(*sides, labels=(labels[0], labels[1]))

    assert (comparison.equal, comparison.differs, comparison.divergence) == (False, True, None)
    assert comparison.ending == "ended after step 2 of 3"
    assert comparison.steps_compared == 2
    assert comparison.not_compared == (
        "evaluation loss: not measured in short",
        "final parameters: not measured in short",
        "the end: short did not finish",
    )


def test_what_one_side_lacks_is_not_compared_and_not_equal() -> None:
    outcome = make_outcome()
    found = change_step(change_step(outcome, 2, parameters=None), 3, parameters=None)
    found = replace(found, tensors={0: outcome.tensors[0], 1: outcome.tensors[1]}, evaluation_loss=None)

    comparison = compare_outcomes(outcome, found, labels=("the baseline", "this run"))

    assert (comparison.equal, comparison.differs, comparison.divergence) == (False, True, None)
    assert comparison.not_compared == (
        "parameters at 2 steps, first at step 2: not measured in this run",
        "evaluation loss: not measured in this run",
        "single parameters at 2 steps, first at step 2: not measured in this run",
    )
    assert comparison.one_sided == comparison.not_compared
    assert comparison.evidence["parameters"] == 1


def test_what_neither_side_measured_is_named_and_leaves_them_equal() -> None:
    outcome = replace(change_step(make_outcome(), 2, parameters=None), evaluation_loss=None)

    comparison = compare_outcomes(outcome, outcome)

    assert (comparison.equal, comparison.differs) == (True, False)
    assert comparison.not_compared == ("parameters at step 2: not measured on either side",)


def test_outcomes_without_final_parameters_are_never_equal() -> None:
    outcome = replace(make_outcome(), final_parameters=None)

    comparison = compare_outcomes(outcome, outcome)

    assert (comparison.equal, comparison.differs, comparison.not_compared) == (
        False,
        False,
        ("final parameters: not measured on either side",),
    )


def test_outcomes_without_a_step_are_never_equal() -> None:
    outcome = make_outcome(0)

    comparison = compare_outcomes(outcome, outcome)

    assert (comparison.equal, comparison.differs) == (False, False)


def test_two_killed_runs_with_the_same_bits_neither_differ_nor_are_equal() -> None:
    outcome = make_outcome(2, is_finished=False)

    comparison = compare_outcomes(outcome, outcome)

    assert (comparison.equal, comparison.differs, comparison.not_compared) == (
        False,
        False,
        ("the end: neither side finished", "final parameters: not measured on either side"),
    )


def test_a_step_that_only_one_side_recorded_is_a_difference() -> None:
    outcome = make_outcome()
    found = replace(outcome, steps=(outcome.steps[0], outcome.steps[2]))

    comparison = compare_outcomes(outcome, found)

    assert (comparison.equal, comparison.one_sided) == (
        False,
        ("step 2: not recorded in found",),
    )


def test_a_parameter_that_only_one_side_has_differs() -> None:
    outcome = make_outcome()
    tensors = {step: {TENSORS[0]: table[TENSORS[0]]} for step, table in outcome.tensors.items()}

    divergence = compare_outcomes(outcome, replace(outcome, tensors=tensors)).divergence

    assert divergence is not None
    assert (divergence.tensor_step, divergence.tensors, divergence.tensors_total) == (
        0,
        (TENSORS[1],),
        2,
    )
    assert divergence.differences[0].found == f"`{TENSORS[1]}` is not there"
