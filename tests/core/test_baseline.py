"""The baseline file: the same bytes for the same baseline, and every change noticed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.baseline import COLUMNS, Baseline, read_baseline, write_baseline
from rdlc.core.canonical import Json, digest
from rdlc.core.outcome import Outcome, Step
from rdlc.errors import InputError
from tests.diff_samples import (
    a_fingerprint,
    change_step,
    make_baseline,
    make_lock,
    make_outcome,
)

BASELINE = make_baseline(make_lock(), make_outcome(2))
TEXT = """\
schema: "rdlc/baseline/v1"
digest: "DIGEST"
lock: "LOCK"
name: "tiny"
claim: "execution"
level: "execution"
record: "20261130T120000Z-1a2b"
sections:
SECTIONS
outcome:
  finished: true
  evaluation_loss: "0x1.4000000000000p+1"
  initial_parameters: "0x0000000000000000"
  final_parameters: "0x0000000000000002"
  columns: "attempt loss gradient_norm learning_rate tokens batch_digest parameters step_s"
  steps:
    "1": "1 0x1.7000000000000p+1 0x1.4000000000000p+0 0.003 1024 BATCH1 0x0000000000000001 0.25"
    "2": "1 0x1.6000000000000p+1 0x1.8000000000000p+0 0.003 1024 BATCH2 0x0000000000000002 0.25"
  tensors: ["model.layers.2.weight", "model.layers.10.weight"]
  fingerprints:
    "0": "0x0000000000000000 0x0000000000000001"
    "1": "0x0000000000000010 0x0000000000000011"
    "2": "0x0000000000000020 0x0000000000000021"
"""


def refusal(data: bytes) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read_baseline(data, name="b.yaml")
    return caught.value.message, caught.value.file, caught.value.field


def stated_digest(data: bytes) -> str:
    return data.decode().split("\n")[1].removeprefix('digest: "').removesuffix('"')


def test_a_baseline_is_one_line_for_each_step() -> None:
    written = write_baseline(BASELINE)

    sections = "\n".join(f'  {name}: "{value}"' for name, value in BASELINE.sections.items())
    assert written.decode() == (
        TEXT.replace("DIGEST", stated_digest(written))
        .replace("LOCK", BASELINE.lock_id)
        .replace("SECTIONS", sections)
        .replace("BATCH1", f"sha256:{1:064x}")
        .replace("BATCH2", f"sha256:{2:064x}")
    )


def test_its_digest_is_over_the_canonical_json_of_the_rest() -> None:
    outcome = make_outcome(0, is_finished=False)
    baseline = make_baseline(make_lock(), replace(outcome, tensors={}, initial_parameters=None))

    rest: Json = {
        "lock": baseline.lock_id,
        "name": "tiny",
        "claim": "execution",
        "level": "execution",
        "record": "20261130T120000Z-1a2b",
        "sections": baseline.sections,
        "outcome": {
            "finished": False,
            "evaluation_loss": None,
            "initial_parameters": None,
            "final_parameters": None,
            "columns": " ".join(COLUMNS),
            "steps": {},
            "tensors": [],
            "fingerprints": {},
        },
    }
    assert stated_digest(write_baseline(baseline)) == digest(rest)


def test_line_ends_that_git_turned_are_no_change() -> None:
    data = write_baseline(BASELINE).replace(b"\n", b"\r\n")

    assert read_baseline(data, name="b.yaml") == BASELINE


fingerprints = st.integers(0, 2**64 - 1).map(a_fingerprint)
floats = st.floats().map(float.hex)
decimals = st.floats(0, allow_nan=False, allow_infinity=False).map(repr)


@st.composite
def steps(draw: st.DrawFn, number: int) -> Step:
    return Step(
        step=number,
        attempt=draw(st.integers(1, 9)),
        loss=draw(floats),
        gradient_norm=draw(floats),
        learning_rate=draw(decimals),
        tokens=draw(st.integers(0, 2**53)),
        batch_digest=f"sha256:{draw(st.integers(0, 2**256 - 1)):064x}",
        parameters=draw(st.none() | fingerprints),
        step_s=draw(st.floats(0, allow_nan=False, allow_infinity=False)),
    )


@st.composite
def baselines(draw: st.DrawFn) -> Baseline:
    count = draw(st.integers(0, 4))
    characters = st.characters(min_codepoint=33, max_codepoint=126)
    names = draw(st.lists(st.text(characters, min_size=1), unique=True, max_size=4))
    numbers = draw(st.lists(st.integers(0, 9), unique=True)) if names else []
    outcome = Outcome(
        steps=tuple(draw(steps(number)) for number in range(1, count + 1)),
        tensors={number: {name: draw(fingerprints) for name in names} for number in sorted(numbers)},
        evaluation_loss=draw(st.none() | floats),
        initial_parameters=draw(st.none() | fingerprints),
        final_parameters=draw(st.none() | fingerprints),
        finished=draw(st.booleans()),
    )
    return make_baseline(make_lock(), outcome)


@settings(deadline=None, max_examples=50)
@given(baselines())
def test_what_is_written_is_read_back(baseline: Baseline) -> None:
    data = write_baseline(baseline)

    assert read_baseline(data, name="b.yaml") == baseline
    assert write_baseline(read_baseline(data, name="b.yaml")) == data


def test_every_flipped_byte_is_noticed() -> None:
    outcome = make_outcome(1)
    small = replace(outcome, tensors={1: outcome.tensors[1]})
    data = write_baseline(make_baseline(make_lock(), small))
    unnoticed = []
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        try:
            read_baseline(bytes(damaged), name="b.yaml")
        except InputError:
            continue
        unnoticed.append(position)

    assert unnoticed == []


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_damage_raises_no_other_error(data: st.DataObject) -> None:
    whole = write_baseline(BASELINE)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    damaged = whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:]
    try:
        read = read_baseline(damaged, name="b.yaml")
    except InputError:
        read = None

    assert read in (None, BASELINE)


def test_a_changed_value_is_refused_with_both_digests() -> None:
    data = write_baseline(BASELINE)
    changed = replace(BASELINE, outcome=change_step(BASELINE.outcome, 2, loss=(1.0).hex()))
    stated, computed = stated_digest(data), stated_digest(write_baseline(changed))
    edited = data.replace(b"0x1.6000000000000p+1", b"0x1.0000000000000p+0")

    assert refusal(edited) == (
        f"the baseline was changed: its contents give {computed}, and it says {stated}",
        "b.yaml:2",
        "digest",
    )


def test_another_form_of_the_same_content_is_refused_with_its_line() -> None:
    data = write_baseline(BASELINE)

    assert refusal(data.replace(b'name: "tiny"', b"name: tiny")) == (
        "the line is not what rdlc writes for this content",
        "b.yaml:4",
        None,
    )
    assert refusal(data[:-1]) == ("the file is cut short", "b.yaml:28", None)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "rdlc/baseline/v1",
            "rdlc/baseline/v2",
            (
                "is `rdlc/baseline/v2`, and this rdlc reads up to `rdlc/baseline/v1`",
                "b.yaml:1",
                "schema",
            ),
        ),
        ("rdlc/baseline/v1", "rdlc/run-lock/v1", ("this is not a baseline", "b.yaml", None)),
        (
            '    "2": "1 0x1.6',
            '    "3": "1 0x1.6',
            ("step 2 is due here", "b.yaml:23", "outcome.steps.3"),
        ),
        (
            '    "2": "1 0x1.6',
            '    "2": "1 2 0x1.6',
            ("must hold 8 values, not 9", "b.yaml:23", "outcome.steps.2"),
        ),
        (
            '    "2": "1 0x1.6',
            '    "2": "1 0y1.6',
            (
                'must be a float in hex, as "0x1.8p+1", not "0y1.6000000000000p+1"',
                "b.yaml:23",
                "outcome.steps.2.loss",
            ),
        ),
        (
            '    "0": "0x0000000000000000 ',
            '    "0": "',
            (
                "must be 2 fingerprints of `0x` and 16 hex digits",
                "b.yaml:26",
                "outcome.fingerprints.0",
            ),
        ),
        (
            '    "0": "0x',
            '    "x": "0x',
            ("must be the number of a step", "b.yaml:26", "outcome.fingerprints.x"),
        ),
        (
            'columns: "attempt',
            'columns: "number',
            (
                f"must be `{' '.join(COLUMNS)}`, not `number {' '.join(COLUMNS[1:])}`",
                "b.yaml:20",
                "outcome.columns",
            ),
        ),
    ],
)
def test_what_is_no_baseline_is_refused_with_its_place(
    old: str, new: str, expected: tuple[str, str, str | None]
) -> None:
    text = write_baseline(BASELINE).decode()
    assert old in text

    assert refusal(text.replace(old, new, 1).encode()) == expected
