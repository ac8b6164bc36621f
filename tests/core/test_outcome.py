"""Reading the files of a training, and finding what does not fit together in them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.outcome import Outcome, Problem
from rdlc.core.outcome_files import read_outcome
from rdlc.errors import InputError
from tests.diff_samples import (
    TENSORS,
    a_fingerprint,
    json_lines,
    make_outcome,
    make_step,
    metrics_line,
    outcome_files,
)

EMPTY = Outcome(
    steps=(),
    tensors={},
    evaluation_loss=None,
    initial_parameters=None,
    final_parameters=None,
    finished=False,
)


def read(files: dict[str, bytes]) -> tuple[Outcome, tuple[Problem, ...]]:
    result = read_outcome(
        files.get("metrics.jsonl", b""),
        files.get("fingerprints.jsonl", b""),
        files.get("result.json"),
        name="runs/r1",
    )
    return result.outcome, result.problems


def fingerprints_line(step: int, attempt: int, parameters: int, first: int) -> dict[str, object]:
    tensors = {TENSORS[0]: a_fingerprint(first), TENSORS[1]: a_fingerprint(1)}
    return {
        "attempt": attempt,
        "step": step,
        "parameters": a_fingerprint(parameters),
        "tensors": tensors,
    }


def lines_of(attempt: int, *numbers: int) -> list[dict[str, object]]:
    return [metrics_line(replace(make_step(number), attempt=attempt)) for number in numbers]


@pytest.mark.parametrize("is_finished", [True, False])
def test_what_a_recipe_writes_is_read_back_whole(is_finished: bool) -> None:
    outcome = make_outcome(4, is_finished=is_finished)

    assert read(outcome_files(outcome)) == (outcome, ())


def test_a_run_killed_before_its_first_step_has_an_empty_outcome() -> None:
    assert read({}) == (EMPTY, ())


def test_a_last_line_that_a_kill_cut_is_left_out() -> None:
    whole = json_lines(lines_of(1, 1, 2))

    outcome, problems = read({"metrics.jsonl": whole + b'{"attempt":1,"step":3,"lo'})

    assert ([step.step for step in outcome.steps], problems) == ([1, 2], ())


def test_keys_that_are_not_known_are_left_alone() -> None:
    line = {**metrics_line(make_step(1)), "memory_bytes": [1, {"rank": 0.5}]}

    assert read({"metrics.jsonl": json_lines([line])})[0].steps == (make_step(1),)


def test_hex_floats_are_read_in_one_spelling() -> None:
    line = {**metrics_line(make_step(1)), "loss": "0x1.8P+1", "gradient_norm": "-INF"}

    step = read({"metrics.jsonl": json_lines([line])})[0].steps[0]

    assert (step.loss, step.gradient_norm) == ("0x1.8000000000000p+1", "-inf")


def test_the_last_attempt_wins_for_a_step_done_twice() -> None:
    outcome, problems = read({"metrics.jsonl": json_lines([*lines_of(1, 1, 2, 3), *lines_of(2, 3, 4)])})

    assert [(step.step, step.attempt) for step in outcome.steps] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert problems == ()


def test_a_step_done_again_with_other_bits_is_a_problem() -> None:
    again = {**lines_of(2, 2)[0], "loss": "0x1.0p+0", "batch_digest": "sha256:" + "f" * 64}

    problems = read({"metrics.jsonl": json_lines([*lines_of(1, 1, 2), again])})[1]

    assert problems == (
        Problem(
            step=2,
            field="batch",
            message=f"attempt 2 did step 2 again, with another value of batch: sha256:{'f' * 64}, not sha256:{2:064x}",
        ),
        Problem(
            step=2,
            field="loss",
            message="attempt 2 did step 2 again, with another value of loss: "
            "0x1.0000000000000p+0, not 0x1.6000000000000p+1",
        ),
    )


def test_parameters_that_only_one_attempt_measured_are_no_problem() -> None:
    again = {**lines_of(2, 2)[0], "parameters": None}

    assert read({"metrics.jsonl": json_lines([*lines_of(1, 1, 2), again])})[1] == ()


def test_parameters_that_a_restart_did_not_restore_are_a_problem() -> None:
    lines = [fingerprints_line(10, 1, 5, first=1), fingerprints_line(10, 2, 5, first=2)]

    assert read({"fingerprints.jsonl": json_lines(lines)})[1] == (
        Problem(
            step=10,
            field="parameters",
            message="attempt 2 reached step 10 again with other parameters: `model.layers.2.weight` is the first of 1",
        ),
    )


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((11, 12), "the record does not start at step 1, but at step 11"),
        ((1, 2, 5, 7), "the record goes from step 2 straight to step 5"),
    ],
)
def test_steps_that_are_not_whole_are_a_problem(steps: tuple[int, ...], message: str) -> None:
    problems = read({"metrics.jsonl": json_lines(lines_of(1, *steps))})[1]

    step = 11 if steps[0] == 11 else 5
    assert problems == (Problem(step=step, field="step", message=message),)


def test_a_failed_result_may_know_less_than_the_metrics() -> None:
    files = outcome_files(make_outcome(2, is_finished=False))
    files["result.json"] = b'{"status": "failed", "last_step": 1, "parameters": null}'

    assert read(files) == (make_outcome(2, is_finished=False), ())


def test_files_that_contradict_each_other_are_a_problem() -> None:
    files = outcome_files(make_outcome(2))
    result = {"status": "finished", "last_step": 3, "parameters": a_fingerprint(9)}
    lines = [fingerprints_line(2, 1, 7, first=1)]

    problems = read(
        {
            "metrics.jsonl": files["metrics.jsonl"],
            "fingerprints.jsonl": json_lines(lines),
            "result.json": json.dumps(result).encode(),
        }
    )[1]

    assert problems == (
        Problem(
            step=2,
            field="parameters",
            message="`metrics.jsonl` says parameters 0x0000000000000002 after step 2, "
            "and `fingerprints.jsonl` says 0x0000000000000007",
        ),
        Problem(
            step=2,
            field="step",
            message="`result.json` says last step 3, and `metrics.jsonl` ends with step 2",
        ),
        Problem(
            step=2,
            field="final parameters",
            message="`result.json` says parameters 0x0000000000000009, "
            "and `metrics.jsonl` ends with 0x0000000000000002",
        ),
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("step", 0, "must be at least 1, not 0"),
        ("step", "1", 'must be a whole number, not the text "1"'),
        ("attempt", True, "must be a whole number, not `true`"),
        ("loss", 1.5, 'must be a float in hex, as "0x1.8p+1", not "1.5"'),
        ("loss", "infinity", 'must be a float in hex, as "0x1.8p+1", not "infinity"'),
        ("loss", "0x1p+99999", '"0x1p+99999" is larger than a float can be'),
        ("gradient_norm", None, "has no value"),
        ("gradient_norm", 3, "must be a text, not the number 3"),
        ("learning_rate", "-1", 'must be a number as text, not "-1"'),
        ("tokens", -1, "must be at least 0, not -1"),
        ("batch_digest", "md5:0", 'must be `sha256:` and 64 hex digits, not the text "md5:0"'),
        ("parameters", "0x1", 'must be `0x` and 16 hex digits, not "0x1"'),
        ("step_s", "0.1", 'must be a whole number, not the text "0.1"'),
        ("step_s", -0.5, "must be seconds, at least 0, not -0.5"),
        ("step_s", 1e400, "must be seconds, at least 0, not 1e400"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line_and_field(key: str, value: object, message: str) -> None:
    text = json.dumps({**metrics_line(make_step(2)), key: value}).replace("Infinity", "1e400")
    data = json_lines(lines_of(1, 1)) + text.encode() + b"\n"

    with pytest.raises(InputError) as caught:
        read({"metrics.jsonl": data})

    assert (caught.value.message, caught.value.file, caught.value.field) == (
        message,
        "runs/r1/metrics.jsonl:2",
        key,
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"[1]", "must be a mapping of `key: value` lines, not a list"),
        (b'{"step": NaN}', "not JSON: `NaN` is no JSON number"),
        (b'{"step": 1, "step": 1}', "not JSON: `step` stands here twice"),
        (b"[" * 100_000, "not JSON: nests too deep"),
        (
            b"\xff",
            "not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_a_line_that_is_no_json_mapping_is_refused(line: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read({"fingerprints.jsonl": line + b"\n"})

    assert (caught.value.message, caught.value.file) == (message, "runs/r1/fingerprints.jsonl:1")


@pytest.mark.parametrize(
    ("lines", "field", "message"),
    [
        (lines_of(1, 1, 1), "step", "must rise within attempt 1, not go from 1 to 1"),
        ([*lines_of(2, 1), *lines_of(1, 2)], "attempt", "must not fall from 2 to 1"),
    ],
)
def test_lines_out_of_order_are_refused(lines: list[dict[str, object]], field: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read({"metrics.jsonl": json_lines(lines)})

    assert (caught.value.message, caught.value.file, caught.value.field) == (
        message,
        "runs/r1/metrics.jsonl:2",
        field,
    )


@pytest.mark.parametrize(
    ("tensors", "field", "message"),
    [
        ({}, "tensors", "must name at least one parameter"),
        ({"other": a_fingerprint(1)}, "tensors", "names other parameters than at step 0"),
        (
            {"a b": a_fingerprint(1)},
            "tensors",
            'a name must be 1 to 256 ASCII characters without blanks, not "a b"',
        ),
        (
            {"a.b": "12"},
            'tensors["a.b"]',
            'must be `0x` and 16 hex digits, not "12"',
        ),
    ],
)
def test_wrong_fingerprints_are_refused(tensors: dict[str, str], field: str, message: str) -> None:
    lines = [
        fingerprints_line(0, 1, 0, first=0),
        {**fingerprints_line(1, 1, 1, first=1), "tensors": tensors},
    ]

    with pytest.raises(InputError) as caught:
        read({"fingerprints.jsonl": json_lines(lines)})

    assert (caught.value.message, caught.value.file, caught.value.field) == (
        message,
        "runs/r1/fingerprints.jsonl:2",
        field,
    )


def test_a_wrong_result_is_refused_with_its_field() -> None:
    with pytest.raises(InputError) as caught:
        read({"result.json": b'{\n "status": "finised"}'})

    assert (caught.value.message, caught.value.hint, caught.value.file, caught.value.field) == (
        "must be one of `finished`, `failed`, not `finised`",
        "did you mean `finished`?",
        "runs/r1/result.json",
        "status",
    )


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2), st.integers(0, 600))
def test_damaged_files_raise_no_other_error(noise: bytes, which: int, position: int) -> None:
    files = outcome_files(make_outcome(2))
    name = list(files)[which]
    files[name] = files[name][:position] + noise + files[name][position + len(noise) :]

    place = f"runs/r1/{name}"
    try:
        read(files)
    except InputError as error:
        place = error.file or ""

    assert place.startswith(f"runs/r1/{name}")
