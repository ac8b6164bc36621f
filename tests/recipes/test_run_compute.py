"""However a step is computed and laid out, it trains the same model, and says what its bytes are."""

from pathlib import Path

import pytest

from fsdp_qwen.config import parse_config
from fsdp_qwen.failures import ConfigError
from rdlc.core.traffic.moved import moved_between, predicted_traffic, recorded_bytes
from tests.recipes.conftest import REFERENCE, Run, Start, make_config, run_processes
from tests.recipes.test_run_network import assert_bytes_match, read_reports


def losses(ended: Run) -> list[float]:
    assert ended.result.get("status") == "finished", ended.stderr
    return [float.fromhex(line["loss"]) for line in ended.steps]


def test_micro_steps_chunks_and_recomputing_change_no_more_than_the_last_digits(reference: Run, run: Start) -> None:
    ended = run(
        recipe={
            **REFERENCE,
            "loss": "chunked",
            "loss_chunk_tokens": 24,
            "attention": "math",
            "activation_checkpointing": "selective",
            "gradient_accumulation": 2,
            "reshard": "all",
            "prefetch": 1,
        }
    )

    assert losses(ended) == pytest.approx(losses(reference), rel=1e-5)
    held_out = [float.fromhex(each.result["evaluation"]["loss"]) for each in (ended, reference)]
    assert held_out[0] == pytest.approx(held_out[1], rel=1e-5)
    switches = ended.worker(0)["switches"]
    assert (switches["sdp.math"], switches["sdp.flash"]) == ("true", "false")
    reports = read_reports(ended)
    assert reports[0].workload.micro_steps == 2
    assert_bytes_match(reports, (1, 4))


def test_replicas_train_the_same_model_and_reduce_its_parts_between_them(reference: Run, run: Start) -> None:
    ended = run(num_workers=4, recipe={**REFERENCE, "replicas": 2, "reduce_dtype": "float32"})

    assert losses(ended) == pytest.approx(losses(reference), rel=1e-5)
    # The first weights do not depend on how they lie.
    assert ended.fingerprints[0] == reference.fingerprints[0]
    reports = read_reports(ended)
    assert reports[0].workload.layout.replicas == 2
    predicted, moved = predicted_traffic(reports), moved_between(reports)
    assert predicted is not None
    assert moved.rank_bytes == pytest.approx(dict.fromkeys(range(4), predicted.rank_bytes), rel=0.02)
    assert recorded_bytes(reports[0]) is None


@pytest.mark.nightly
def test_compiled_blocks_and_loss_train_the_same_model_and_give_the_same_bits_twice(tmp_path: Path) -> None:
    plain = {"steps": 2, "loss": "chunked", "loss_chunk_tokens": 64}
    compiled = {**plain, "compile": "blocks-and-loss"}

    first, second = (run_processes(tmp_path, name, recipe=compiled) for name in ("first", "second"))

    assert losses(first) == pytest.approx(losses(run_processes(tmp_path, "plain", recipe=plain)), rel=1e-5)
    assert first.steps == second.steps
    assert first.fingerprints == second.fingerprints


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"replicas": 3}, "recipe.replicas: num_workers 2 can't be split evenly into 3 replicas"),
        (
            {"gradient_accumulation": 3},
            (
                "recipe.gradient_accumulation: global_batch_size 8 can't be split evenly over num_workers 2 times "
                "3 micro-steps"
            ),
        ),
        (
            {"attention": "cudnn"},
            (
                "recipe.attention: `cudnn` is not deterministic in its backward pass, exact mode allows only `auto`, "
                "`math`, `flash`"
            ),
        ),
        (
            {"compile": "all"},
            "recipe.compile: must be one of `none`, `blocks`, `blocks-and-loss`, found the text `all`",
        ),
    ],
)
def test_what_does_not_divide_or_is_not_exact_is_refused_with_its_field(
    recipe: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(make_config(recipe=recipe))

    assert str(caught.value) == message
