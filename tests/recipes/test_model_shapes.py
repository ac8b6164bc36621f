"""The shapes that an estimate rests on are those of the recipe."""

import pytest

from fsdp_qwen.compute_settings import ComputeSettings
from fsdp_qwen.layout import plan_layout
from fsdp_qwen.model import empty_model
from fsdp_qwen.recipe_settings import MODELS
from rdlc.core.estimate.shapes import SHAPES
from rdlc.core.estimate.shapes import plan_layout as estimate_layout


def test_every_model_of_the_recipe_has_a_shape() -> None:
    # That of pretrained weights stands in a file of theirs.
    assert set(SHAPES) == set(MODELS) - {"pretrained"}


@pytest.mark.parametrize("preset", sorted(SHAPES))
def test_parameters_and_their_padding_are_those_of_the_model(preset: str) -> None:
    real = plan_layout(empty_model(preset), precision="bf16", ranks=3)

    found = estimate_layout(SHAPES[preset], ranks=3, compute_dtype="bfloat16", reduce_dtype="float32")

    assert (found.parameters, found.trainable_tensors) == (real.parameters, real.trainable_tensors)
    assert [(unit.parameters, unit.padded_parameters) for unit in found.units] == [
        (unit.parameters, unit.padded_parameters) for unit in real.units
    ]
    assert (found.shape.blocks, found.shape.attention_width) == (real.shape.blocks, real.shape.attention_width)  # type: ignore[union-attr]


def test_replicas_and_what_is_let_go_lie_as_in_the_recipe() -> None:
    compute = ComputeSettings(replicas=2, reshard="all", reduce_dtype="bfloat16")
    real = plan_layout(empty_model("tiny"), precision="fp32", ranks=6, compute=compute)

    found = estimate_layout(
        SHAPES["tiny"], ranks=3, compute_dtype="float32", reduce_dtype="bfloat16", reshard="all", replicas=2
    )

    assert (found.replicas, found.reduce_dtype) == (real.replicas, real.reduce_dtype)
    assert [(unit.padded_parameters, unit.reshard_after_forward) for unit in found.units] == [
        (unit.padded_parameters, unit.reshard_after_forward) for unit in real.units
    ]
