"""What a lock's run will need, whether that fits, and what would do better."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.canonical import Json
from rdlc.core.estimate.estimate import Advice, Estimate, estimate
from rdlc.core.estimate.hardware import Hardware, memory_bytes
from rdlc.core.estimate.memory import estimate_memory
from rdlc.core.estimate.pace import node_bytes
from rdlc.core.estimate.settings import TrainingSettings, read_settings
from rdlc.core.estimate.shapes import ModelShape, read_shape
from rdlc.core.estimate.words import describe_estimate, describe_problems
from rdlc.core.traffic.rates import wire_bytes_per_s
from rdlc.errors import InputError

CONFIG: dict[str, Json] = {
    "model": "qwen2.5-1.5b",
    "precision": "bf16",
    "global_batch_size": 16,
    "sequence_length": 2048,
    "optimizer_implementation": "fused",
}
OPTIONS: dict[str, Json] = {
    "loss": "full",
    "activation_checkpointing": "none",
    "gradient_accumulation": 1,
    "replicas": 1,
    "reduce_dtype": "float32",
}
# Two g6.12xlarge, four L4 each.
L4 = Hardware(
    device="NVIDIA L4",
    nodes=2,
    memory_bytes=memory_bytes("NVIDIA L4"),
    wire_bytes_per_s=wire_bytes_per_s("g6.12xlarge"),
    origin="2 x g6.12xlarge",
)
H200 = Hardware(
    device="NVIDIA H200",
    nodes=1,
    memory_bytes=memory_bytes("NVIDIA H200"),
    wire_bytes_per_s=None,
    origin="this machine",
)


def settings(ranks: int = 8, **changes: Json) -> TrainingSettings:
    found = read_settings({**CONFIG, **OPTIONS, **changes}, ranks=ranks)
    assert found is not None
    return found


def lines(found: Estimate) -> list[str]:
    return [*(f"{label}: {text}" for label, text in describe_estimate(found)), *describe_problems(found)]


def test_a_batch_that_is_too_large_for_its_gpus_is_told_with_the_settings_that_do_better() -> None:
    assert lines(estimate(settings(), L4)) == [
        "estimate: 1,543,714,304 parameters on 8 x NVIDIA L4 (2 x g6.12xlarge), 4,096 tokens a step on each",
        (
            "memory: 20.8 GiB a GPU of 22.0: too large (when the loss goes backward: parameters 0.7, optimizer 1.4, "
            "gathered weights 0.6, activations 11.0, logits 7.0)"
        ),
        "time: at least compute 349 ms and wire 2,080 ms a step, by data sheets: network-bound",
        "better: `--set recipe.activation_checkpointing=selective`: needs 15.4 GiB of a GPU",
        (
            "or: `--set recipe.activation_checkpointing=selective --set recipe.replicas=2`: "
            "wire 1,235 ms, compute 349 ms a step at least"
        ),
        (
            "or: `--set recipe.activation_checkpointing=selective --set recipe.reduce_dtype=bfloat16`: "
            "wire 1,539 ms, compute 349 ms a step at least"
        ),
        "the run does not fit: it needs 20.8 GiB and 1.5 GiB for CUDA and NCCL, and a GPU has 22.0 GiB",
        "the run is network-bound: its bytes take longer than its computing",
    ]


def test_a_network_bound_run_that_fits_is_told_how_to_wait_less() -> None:
    found = estimate(settings(activation_checkpointing="full", loss="chunked"), L4)

    assert (found.fit, found.bound) == ("fits", "network")
    assert [advice.settings for advice in found.advice] == [
        {"replicas": "2"},
        {"reduce_dtype": "bfloat16"},
        {"global_batch_size": "128"},
    ]


def test_with_a_copy_on_each_node_only_gradients_leave_it() -> None:
    # Two nodes: each sends the float32 gradients of all parameters once, and small messages.
    gradients = 4 * 1_543_714_304

    assert 0 < node_bytes(settings(replicas=2), 2) - gradients < 100_000


def test_whole_gradients_stay_between_micro_steps() -> None:
    assert estimate_memory(settings(gradient_accumulation=2)).gradients == 4 * 1_543_714_304


def test_a_layout_that_fits_on_one_node_has_no_wire_and_no_problem() -> None:
    assert lines(estimate(settings(ranks=1, compile="blocks-and-loss"), H200)) == [
        "estimate: 1,543,714,304 parameters on 1 x NVIDIA H200 (this machine), 32,768 tokens a step on each",
        (
            "memory: 99.0 GiB a GPU of 139.0: fits (when the loss goes backward: parameters 5.8, optimizer 11.5, "
            "gathered weights 0.6, activations 62.6, logits 18.5)"
        ),
        "time: at least compute 342 ms and no wire (one node) a step, by data sheets",
    ]


def test_what_does_not_fit_by_any_setting_says_so() -> None:
    small = replace(L4, memory_bytes=1 << 30)

    assert estimate(settings(), small).advice == (
        Advice(settings={}, gives="nothing that this recipe can be set to fits: take more or larger GPUs"),
    )


def test_the_payload_has_sizes_as_numbers_and_times_as_text() -> None:
    payload = estimate(settings(), L4).payload()

    assert (payload["compute_floor_s"], payload["wire_floor_s"], payload["bound"]) == (
        "0.349319",
        "2.079521",
        "network",
    )
    assert payload["memory"] == {
        "parameters_bytes": 771_857_152,
        "optimizer_bytes": 1_543_714_304,
        "gradients_bytes": 0,
        "gathered_bytes": 653_941_760,
        "activations_bytes": 11_861_491_712,
        "loss_bytes": 7_467_958_272,
        "peak_bytes": 22_298_963_200,
        "peak_moment": "when the loss goes backward",
        "gpu_bytes": 22 << 30,
        "fit": "too large",
    }


def test_nothing_is_advised_that_the_config_does_not_have() -> None:
    old = read_settings(CONFIG, ranks=8)
    assert old is not None

    found = estimate(old, L4)

    assert [advice.settings for advice in found.advice] == [{}]
    assert found.fit == "too large"


def test_what_no_formula_is_known_for_has_no_settings() -> None:
    for changes in ({"model": "unheard-of"}, {"precision": "fp8"}, {"global_batch_size": 3}, {"replicas": 3}):
        assert read_settings({**CONFIG, **changes}, ranks=8) is None


def test_a_device_that_is_not_known_fits_or_not_as_may_be() -> None:
    unheard = replace(L4, device="NVIDIA Unheard Of", memory_bytes=None, wire_bytes_per_s=None)

    found = estimate(settings(), unheard)

    assert (found.fit, found.compute_s, found.wire_s, found.bound) == ("not known", None, None, "")


def test_the_shape_of_weights_is_read_from_their_config() -> None:
    config = {
        "model_type": "qwen2",
        "vocab_size": 100,
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
    }
    expected = ModelShape(
        vocabulary=100, hidden=8, intermediate=16, blocks=3, heads=4, key_value_heads=4, is_tied=False
    )

    shape = read_shape(json.dumps(config).encode(), name="config.json")

    assert shape == expected
    # An output layer of its own has as many parameters as the embedding.
    assert shape.root_parameters == 2 * 100 * 8 + 8
    assert read_shape(json.dumps({**config, "model_type": "other"}).encode(), name="config.json") is None


@given(st.binary(max_size=200))
def test_whatever_the_config_of_weights_is_no_other_error_comes_out(data: bytes) -> None:
    with pytest.raises(InputError):
        read_shape(data, name="config.json")
