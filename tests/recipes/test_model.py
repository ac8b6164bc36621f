"""The shapes of the presets."""

import pytest

from fsdp_qwen.layout import Unit, plan_layout
from fsdp_qwen.model import empty_model


@pytest.mark.parametrize(("preset", "count"), [("tiny", 109_120), ("qwen2.5-1.5b", 1_543_714_304)])
def test_a_preset_has_the_published_number_of_parameters(preset: str, count: int) -> None:
    parameters = dict(empty_model(preset).named_parameters())

    assert sum(parameter.numel() for parameter in parameters.values()) == count
    assert "lm_head.weight" not in parameters


def test_a_layout_is_planned_without_memory_and_counts_what_fills_up_uneven_parts() -> None:
    layout = plan_layout(empty_model("tiny"), precision="bf16", ranks=3)

    assert [(unit.name, unit.parameters) for unit in layout.units] == [
        ("model.layers.0", 46_336),
        ("model.layers.1", 46_336),
        ("", 16_448),
    ]
    # 256 rows of 64 and one row of 64: 258 rows and 66 single values over 3 ranks.
    assert layout.units[2] == Unit(
        name="", parameters=16_448, reshard_after_forward=False, padded_parameters=258 * 64 + 66
    )
    assert (layout.compute_dtype, layout.reduce_dtype) == ("bfloat16", "float32")


def test_the_large_model_divides_evenly_over_16_ranks() -> None:
    layout = plan_layout(empty_model("qwen2.5-1.5b"), precision="bf16", ranks=16)

    assert sum(unit.padded_parameters for unit in layout.units) == layout.parameters == 1_543_714_304
    assert layout.units[-1].parameters == 233_375_232
    assert (layout.shape.blocks, layout.shape.attention_width) == (28, 1536)
