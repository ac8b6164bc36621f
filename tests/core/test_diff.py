"""What differs between two sides: pure, empty with itself, mirrored from the other side."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rdlc.core.canonical import Json, digest
from rdlc.core.diff import Change, Difference, Side, diff_sides, diff_tables
from rdlc.core.flatten import flatten, natural_order
from rdlc.core.outcome import Outcome
from rdlc.core.sections import SECTION_NAMES
from tests.diff_samples import change_step, make_lock, make_outcome


def make_side(
    label: str = "A",
    *,
    payloads: Mapping[str, Mapping[str, Json]] | None = None,
    outcome: Outcome | None = None,
    observed: Mapping[str, str] | None = None,
    accepted: Mapping[str, str] | None = None,
) -> Side:
    payloads = payloads or make_lock().sections.payloads()
    return Side(
        label=label,
        kind="record",
        lock_id=digest({name: digest(payload) for name, payload in payloads.items()}),
        digests={name: digest(payload) for name, payload in payloads.items()},
        payloads=payloads,
        outcome=outcome,
        observed=observed or {},
        accepted=accepted or {},
        remarks=(),
    )


def changed(section: str, address: str, old: Json, new: Json) -> Change:
    return Change(section=section, address=address, kind="changed", old=old, new=new)


def test_nested_payloads_become_addresses() -> None:
    payload: Mapping[str, Json] = {
        "requested": {"name": "x", "limits": {}, "tags": ["a", 1]},
        "files": {"a/b.py": "00"},
        "secrets": [{"name": "T"}, {"name": "U"}],
    }

    assert flatten(payload) == {
        "requested.name": "x",
        "requested.tags": ["a", 1],
        'files["a/b.py"]': "00",
        "secrets[0].name": "T",
        "secrets[1].name": "U",
    }


def test_numbers_in_names_sort_as_numbers() -> None:
    names = ["layers.10.w", "layers.2.w", "layers.02.w", "head", f"layers.{'9' * 5000}.w"]

    assert sorted(names, key=natural_order) == [
        "head",
        "layers.02.w",
        "layers.2.w",
        "layers.10.w",
        f"layers.{'9' * 5000}.w",
    ]


def test_a_side_does_not_differ_from_itself() -> None:
    side = make_side(outcome=make_outcome(), observed={"torch": "2.13.0"})

    assert diff_sides(side, side) == Difference(
        changes=(),
        outcome=diff_sides(side, side).outcome,
        suspects=(),
        notes=("the outcomes have the same bits in 3 steps and the final parameters",),
    )
    assert diff_sides(side, side).is_empty


def test_provenance_is_not_compared() -> None:
    one, other = make_lock(), make_lock(created="2027-01-01T00:00:00Z")

    difference = diff_sides(make_side(payloads=one.sections.payloads()), make_side(payloads=other.sections.payloads()))

    assert difference == Difference(changes=(), outcome=None, suspects=(), notes=())


def test_a_value_set_for_a_sweep_is_one_change() -> None:
    other = make_lock(config={"learning_rate": "1e-3", "steps": 3}, overrides={"learning_rate": "1e-3"})

    difference = diff_sides(make_side(), make_side(payloads=other.sections.payloads()))

    assert difference.changes == (changed("recipe", "resolved.config.learning_rate", "3e-3", "1e-3"),)


def test_an_override_that_changes_no_value_shows_as_a_request() -> None:
    other = make_lock(overrides={"learning_rate": "3e-3"})

    difference = diff_sides(make_side(), make_side(payloads=other.sections.payloads()))

    assert difference.changes == (
        Change(
            section="recipe",
            address="requested.overrides.learning_rate",
            kind="added",
            old=None,
            new="3e-3",
        ),
    )


def test_files_of_the_code_are_added_removed_and_changed() -> None:
    one = make_lock(files={"p/a.py": "a" * 64, "p/b.py": "b" * 64})
    other = make_lock(files={"p/a.py": "c" * 64, "p/d.py": "d" * 64})

    difference = diff_sides(make_side(payloads=one.sections.payloads()), make_side(payloads=other.sections.payloads()))

    assert difference.by_section() == {
        "code": (
            changed("code", 'resolved.files["p/a.py"]', "a" * 64, "c" * 64),
            Change(
                section="code",
                address='resolved.files["p/b.py"]',
                kind="removed",
                old="b" * 64,
                new=None,
            ),
            Change(
                section="code",
                address='resolved.files["p/d.py"]',
                kind="added",
                old=None,
                new="d" * 64,
            ),
        )
    }


def test_a_baseline_compares_by_digests() -> None:
    other = make_lock(files={"p/a.py": "c" * 64})
    one = make_side("run")
    baseline = replace(make_side("b.yaml", payloads=other.sections.payloads()), kind="baseline", payloads=None)

    difference = diff_sides(one, baseline)

    assert difference == Difference(
        changes=(changed("code", "", one.digests["code"], baseline.digests["code"]),),
        outcome=None,
        suspects=(),
        notes=("section `code` differs; b.yaml holds only its digest",),
    )
    assert difference.changes[0].path == "code"


def test_sections_that_differ_in_no_value_differ_by_digest() -> None:
    payloads = make_lock().sections.payloads()
    other = make_side(payloads={**payloads, "data": {**payloads["data"], "more": {}}})

    assert diff_sides(make_side(), other).changes == (
        changed("data", "", make_side().digests["data"], other.digests["data"]),
    )


def test_what_was_observed_is_compared_but_for_measured_values() -> None:
    one = make_side(observed={"torch": "2.13.0", "peak memory of a rank": "300 MiB"})
    other = make_side(observed={"torch": "2.14.0", "peak memory of a rank": "301 MiB"})

    assert diff_sides(one, other).changes == (changed("observed", "torch", "2.13.0", "2.14.0"),)
    assert diff_sides(one, make_side()).changes == ()


def test_a_number_is_not_a_truth_value() -> None:
    assert diff_tables("data", {"x": 1, "y": [0]}, {"x": True, "y": [False]}) == [
        changed("data", "x", 1, True),
        changed("data", "y", [0], [False]),
    ]


def test_inputs_that_differ_are_suspects_of_another_outcome() -> None:
    lock = make_lock(config={"learning_rate": "1e-3", "steps": 3})
    payloads = lock.sections.payloads()
    payloads["run"] = {"requested": {"name": "other"}}
    other = make_side("B", payloads=payloads, outcome=change_step(make_outcome(), 2, loss="nan"))

    difference = diff_sides(make_side(outcome=make_outcome()), other)

    assert [change.path for change in difference.suspects] == ["recipe.resolved.config.learning_rate"]
    assert "run" in difference.by_section()
    assert difference.notes == ()


def test_inputs_are_no_suspects_of_an_equal_outcome() -> None:
    lock = make_lock(config={"learning_rate": "1e-3", "steps": 3})
    other = make_side("B", payloads=lock.sections.payloads(), outcome=make_outcome())

    assert diff_sides(make_side(outcome=make_outcome()), other).suspects == ()


def test_another_outcome_of_the_same_inputs_is_said_to_be_unexplained() -> None:
    outcome = make_outcome()
    other = make_side("B", outcome=change_step(outcome, 2, loss="nan"))

    difference = diff_sides(make_side(outcome=outcome), other)

    assert not difference.is_empty
    assert difference.notes == ("no input differs: the outcome differs by something that is not locked",)


def test_allowed_drift_is_shown_in_every_diff() -> None:
    outcome = make_outcome()
    drifted = replace(
        make_side("B", outcome=change_step(outcome, 2, loss="nan"), accepted={"code": "a fix"}),
        remarks=("the run is `failed`, not `finished`",),
    )

    assert diff_sides(make_side(outcome=outcome), drifted).notes == (
        "B: the run is `failed`, not `finished`",
        "B: drift in `code` was allowed: a fix",
    )
    assert diff_sides(drifted, drifted).notes[:2] == (
        "B: the run is `failed`, not `finished`",
        "B: drift in `code` was allowed: a fix",
    )


def test_an_outcome_on_one_side_only_is_a_note() -> None:
    assert diff_sides(make_side(outcome=make_outcome()), make_side("B")).notes == (
        "outcomes are not compared: B has none",
    )


scalars = st.text(max_size=3) | st.integers(-2, 2) | st.booleans()
keys = st.text(st.sampled_from('ab.["/0'), min_size=1, max_size=3)
payloads = st.recursive(
    scalars | st.lists(scalars, max_size=2),
    lambda below: st.dictionaries(keys, below, max_size=3),
    max_leaves=6,
)


@st.composite
def sides(draw: st.DrawFn, label: str) -> Side:
    tables = {name: draw(st.dictionaries(keys, payloads, max_size=2)) for name in SECTION_NAMES[:3]}
    outcome = draw(st.none() | st.sampled_from([make_outcome(), change_step(make_outcome(), 2, loss="nan")]))
    side = make_side(
        label,
        payloads={**make_lock().sections.payloads(), **tables},
        outcome=outcome,
        observed=draw(st.dictionaries(keys, st.text(max_size=2), max_size=2)),
        accepted=draw(st.dictionaries(st.sampled_from(SECTION_NAMES), st.just("why"), max_size=1)),
    )
    return replace(side, payloads=None) if draw(st.integers(0, 3)) == 0 else side


@settings(deadline=None, max_examples=50)
@given(sides("A"))
def test_any_side_does_not_differ_from_itself(side: Side) -> None:
    difference = diff_sides(side, side)

    assert (difference.changes, difference.suspects, difference.is_empty) == ((), (), True)


@settings(deadline=None, max_examples=50)
@given(sides("A"), sides("B"))
def test_a_diff_mirrors_the_diff_from_the_other_side(one: Side, other: Side) -> None:
    forth, back = diff_sides(one, other), diff_sides(other, one)

    assert tuple(mirrored(change) for change in back.changes) == forth.changes
    assert tuple(mirrored(change) for change in back.suspects) == forth.suspects
    assert back.is_empty == forth.is_empty
    assert sorted(back.notes) == sorted(forth.notes)


def mirrored(change: Change) -> Change:
    kinds = {"added": "removed", "removed": "added", "changed": "changed"}
    return replace(change, kind=kinds[change.kind], old=change.new, new=change.old)  # type: ignore[arg-type]  # one of three


@settings(deadline=None, max_examples=50)
@given(sides("A"), sides("B"))
def test_sections_differ_exactly_where_their_digests_do(one: Side, other: Side) -> None:
    assume(one.lock_id != other.lock_id)

    difference = diff_sides(replace(one, observed={}), other)

    assert list(difference.by_section()) == [
        name for name in SECTION_NAMES if one.digests.get(name) != other.digests.get(name)
    ]
