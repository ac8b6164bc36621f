"""What a result says for people."""

import json

from rdlc.core.result_words import describe_result

RESULT = {
    "evaluation": {"loss_before": (5.5).hex(), "loss": (2.25).hex(), "source_loss": (1.125).hex()},
    "timing": {"warmup_steps": 3, "counted_steps": 17, "median_step_s": 0.0404, "tokens_per_s": 25346.5},
}


def words(**changes: object) -> tuple[str, ...]:
    return describe_result(json.dumps({**RESULT, **changes}).encode(), name="result.json")


def test_learning_and_speed_are_told_with_units_and_how_they_were_measured() -> None:
    assert words() == (
        "held-out loss 5.500 -> 2.250 nats per token; no model can get below 1.125",
        "step time 40 ms, 25,346 tokens/s (median of 17 steps, 3 warm-up steps left out)",
    )


def test_text_is_told_by_its_perplexity_with_the_best_step_and_where_the_weights_are() -> None:
    evaluation = {
        "loss_before": (5.5).hex(),
        "loss": (2.25).hex(),
        "source_loss": None,
        "best_step": 8,
        "best_loss": (2.0).hex(),
    }

    assert words(evaluation=evaluation, timing=None, exported={"folder": "export", "step": 8}) == (
        "held-out loss 5.500 -> 2.250 nats per token, perplexity 244.69 -> 9.49; best 7.39 after step 8",
        "the weights after step 8 are in `export`, as Hugging Face loads them",
    )


def test_perplexity_that_no_float_holds_is_told_as_a_power() -> None:
    evaluation = {"loss_before": (900.0).hex(), "loss": (1.0).hex()}

    assert words(evaluation=evaluation, timing=None) == (
        "held-out loss 900.000 -> 1.000 nats per token, perplexity e^900 -> 2.72",
    )


def test_what_was_not_evaluated_is_left_out() -> None:
    assert words(evaluation=None, timing=None) == ()


def test_time_without_a_counted_step_is_not_measured() -> None:
    timing = {"warmup_steps": 3, "counted_steps": 0, "median_step_s": None, "tokens_per_s": None}

    assert words(evaluation=None, timing=timing) == ("step time not measured: no step after the 3 warm-up steps",)


def test_bad_value_is_named_and_nothing_is_guessed() -> None:
    assert words(evaluation={"loss_before": "5.5", "loss": "2"}) == (
        'the result cannot be shown: evaluation.loss_before: must be a float in hex, as "0x1.8p+1", not "5.5"',
    )
