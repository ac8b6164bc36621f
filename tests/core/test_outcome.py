"""Reading the files of a training, and finding what does not fit together in them."""

import json

import pytest

from rdlc.core.outcome import Outcome, Problem
from tests.core.outcome_lines import fingerprints_line, lines_of, read_files
from tests.diff_samples import (
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


@pytest.mark.parametrize("is_finished", [True, False])
def test_what_a_recipe_writes_is_read_back_whole(is_finished: bool) -> None:
    outcome = make_outcome(4, is_finished=is_finished)

    assert read_files(outcome_files(outcome)) == (outcome, ())


def test_a_run_killed_before_its_first_step_has_an_empty_outcome() -> None:
    assert read_files({}) == (EMPTY, ())


def test_a_last_line_that_a_kill_cut_is_left_out() -> None:
    whole = json_lines(lines_of(1, 1, 2))

    outcome, problems = read_files({"metrics.jsonl": whole + b'{"attempt":1,"step":3,"lo'})

    assert ([step.step for step in outcome.steps], problems) == ([1, 2], ())


def test_keys_that_are_not_known_are_left_alone() -> None:
    line = {**metrics_line(make_step(1)), "memory_bytes": [1, {"rank": 0.5}]}

    assert read_files({"metrics.jsonl": json_lines([line])})[0].steps == (make_step(1),)


def test_hex_floats_are_read_in_one_spelling() -> None:
    line = {**metrics_line(make_step(1)), "loss": "0x1.8P+1", "gradient_norm": "-INF"}

    step = read_files({"metrics.jsonl": json_lines([line])})[0].steps[0]

    assert (step.loss, step.gradient_norm) == ("0x1.8000000000000p+1", "-inf")


def test_the_last_attempt_wins_for_a_step_done_twice() -> None:
    outcome, problems = read_files({"metrics.jsonl": json_lines([*lines_of(1, 1, 2, 3), *lines_of(2, 3, 4)])})

    assert [(step.step, step.attempt) for step in outcome.steps] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert problems == ()


def test_a_step_done_again_with_other_bits_is_a_problem() -> None:
    again = {**lines_of(2, 2)[0], "loss": "0x1.0p+0", "batch_digest": "sha256:" + "f" * 64}

    problems = read_files({"metrics.jsonl": json_lines([*lines_of(1, 1, 2), again])})[1]

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

    assert read_files({"metrics.jsonl": json_lines([*lines_of(1, 1, 2), again])})[1] == ()


def test_parameters_that_a_restart_did_not_restore_are_a_problem() -> None:
    lines = [fingerprints_line(10, 1, 5, first=1), fingerprints_line(10, 2, 5, first=2)]

    assert read_files({"fingerprints.jsonl": json_lines(lines)})[1] == (
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
    problems = read_files({"metrics.jsonl": json_lines(lines_of(1, *steps))})[1]

    step = 11 if steps[0] == 11 else 5
    assert problems == (Problem(step=step, field="step", message=message),)


def test_a_failed_result_may_know_less_than_the_metrics() -> None:
    files = outcome_files(make_outcome(2, is_finished=False))
    files["result.json"] = b'{"status": "failed", "last_step": 1, "parameters": null}'

    assert read_files(files) == (make_outcome(2, is_finished=False), ())


def test_files_that_contradict_each_other_are_a_problem() -> None:
    files = outcome_files(make_outcome(2))
    result = {"status": "finished", "last_step": 3, "parameters": a_fingerprint(9)}
    lines = [fingerprints_line(2, 1, 7, first=1)]

    problems = read_files(
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
