"""What holds for the comparison of any two outcomes."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.comparison import Comparison, compare_outcomes
from rdlc.core.outcome import Outcome
from tests.diff_samples import TENSORS, batch_digest, change_step, change_tensor, make_outcome

changes = st.tuples(
    st.integers(1, 3),
    st.sampled_from(["loss", "gradient_norm", "batch_digest", "parameters", "tensor", "cut"]),
    st.sampled_from([batch_digest(7), batch_digest(8)]),
)


def changed(outcome: Outcome, change: tuple[int, str, str]) -> Outcome:
    step, what, value = change
    if what == "tensor":
        return change_tensor(outcome, step, TENSORS[1], value)
    if what == "cut":
        return replace(outcome, steps=outcome.steps[:step], finished=False, final_parameters=None)
    return change_step(outcome, step, **{what: value})


def with_changes(items: list[tuple[int, str, str]]) -> Outcome:
    outcome = make_outcome()
    for change in items:
        outcome = changed(outcome, change)
    return outcome


outcomes = st.lists(changes, max_size=3).map(with_changes)


@settings(deadline=None)
@given(outcomes, outcomes)
def test_comparing_is_the_same_from_both_sides(one: Outcome, other: Outcome) -> None:
    forth = compare_outcomes(one, other, labels=("one", "other"))
    back = compare_outcomes(other, one, labels=("other", "one"))

    assert mirrored(back) == replace(
        forth,
        not_compared=tuple(sorted(forth.not_compared)),
        one_sided=tuple(sorted(forth.one_sided)),
    )
    assert forth.equal is (one == other and one.finished)
    assert forth.differs is (one != other)


def mirrored(comparison: Comparison) -> Comparison:
    divergence = comparison.divergence
    if divergence is not None:
        differences = tuple(replace(item, expected=item.found, found=item.expected) for item in divergence.differences)
        divergence = replace(divergence, differences=differences)
    return replace(
        comparison,
        steps_expected=comparison.steps_found,
        steps_found=comparison.steps_expected,
        divergence=divergence,
        not_compared=tuple(sorted(comparison.not_compared)),
        one_sided=tuple(sorted(comparison.one_sided)),
    )
