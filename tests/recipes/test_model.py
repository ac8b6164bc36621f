"""The shapes of the presets."""

import pytest

from fsdp_qwen.model import empty_model


@pytest.mark.parametrize(("preset", "count"), [("tiny", 109_120), ("qwen2.5-1.5b", 1_543_714_304)])
def test_a_preset_has_the_published_number_of_parameters(preset: str, count: int) -> None:
    parameters = dict(empty_model(preset).named_parameters())

    assert sum(parameter.numel() for parameter in parameters.values()) == count
    assert "lm_head.weight" not in parameters
