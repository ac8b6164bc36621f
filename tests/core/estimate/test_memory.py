"""The estimate of memory, held against peaks that were measured on H200s."""

from dataclasses import replace

import pytest

from rdlc.core.estimate.memory import estimate_memory
from rdlc.core.estimate.settings import TrainingSettings
from rdlc.core.estimate.shapes import SHAPES

GIB = 1 << 30
# Plain PyTorch FSDP2 on one and on two H200s, PyTorch 2.11, bfloat16 compute, float32 reduction, fused AdamW;
# `torch.cuda.max_memory_allocated`.
EAGER = TrainingSettings(shape=SHAPES["qwen2.5-1.5b"], ranks=2, rows=8, sequence_length=2048, compute_dtype="bfloat16")
CHECKPOINTED = replace(EAGER, checkpointing="full")
COMPILED = replace(EAGER, compiled="blocks-and-loss")
LARGE = replace(COMPILED, rows=16)
SMALL = replace(EAGER, rows=1, sequence_length=128)


@pytest.mark.parametrize(
    ("settings", "measured_gib"),
    [
        pytest.param(EAGER, 81.3, id="eager"),
        pytest.param(CHECKPOINTED, 38.4, id="eager-ac"),
        pytest.param(COMPILED, 49.8, id="compile"),
        pytest.param(LARGE, 90.5, id="compile16"),
        pytest.param(SMALL, 13.1, id="sample-shape"),
        pytest.param(replace(EAGER, ranks=1), 90.0, id="eager, one GPU"),
        pytest.param(replace(CHECKPOINTED, ranks=1), 47.1, id="eager-ac, one GPU"),
        pytest.param(replace(COMPILED, ranks=1), 58.5, id="compile, one GPU"),
        pytest.param(replace(LARGE, ranks=1), 99.2, id="compile16, one GPU"),
        pytest.param(replace(SMALL, ranks=1), 24.1, id="sample-shape, one GPU"),
    ],
)
def test_the_estimate_is_within_three_percent_of_the_measured_peak(
    settings: TrainingSettings, measured_gib: float
) -> None:
    assert estimate_memory(settings).peak / GIB == pytest.approx(measured_gib, rel=0.03)


@pytest.mark.parametrize(("rows", "measured_gib"), [(16, 85.2), (24, 116.7)])
def test_the_recipe_with_its_loss_in_chunks_is_within_three_percent_too(rows: int, measured_gib: float) -> None:
    """Measured after the formulas were written: `tests/benchmarks/results/h200-2026-12-01`."""
    settings = replace(LARGE, ranks=1, loss="chunked", rows=rows)

    assert estimate_memory(settings).peak / GIB == pytest.approx(measured_gib, rel=0.03)


def test_a_long_batch_is_estimated_much_closer_than_a_tiny_one() -> None:
    assert estimate_memory(COMPILED).peak / GIB == pytest.approx(49.8, rel=0.005)


def test_an_update_in_lists_needs_as_much_again_as_the_gradients_that_a_rank_holds() -> None:
    lists, kernel = (estimate_memory(replace(SMALL, ranks=1, optimizer=name)) for name in ("foreach", "fused"))

    assert (lists.moment, kernel.moment) == ("when the weights are updated", "when the backward pass ends")
    assert lists.gradients == 2 * 4 * SMALL.shape.parameters
