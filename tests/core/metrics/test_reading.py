"""A rank's measurements come from outside."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.metrics.reading import GpuState, Memory, Spread, State, Timed, read_rank_metrics
from rdlc.errors import InputError
from tests.core.metrics.samples import NAME, document, rank


def test_measurements_are_read_into_types() -> None:
    read = rank(3, end={"gpu": None, "gpu_why": "NVML: gone", "alone_flops_per_s": 7})

    assert (read.rank, read.node_rank, read.attempt, read.warmup_steps) == (3, 1, 1, 5)
    assert read.timed == Timed(steps=20, data_s=0.001, collectives_s=0.05)
    assert read.step == Spread(steps=95, p50=0.3488, p95=0.352)
    assert read.memory == Memory(
        allocated_peak_bytes=53472 << 20,
        reserved_peak_bytes=55000 << 20,
        total_bytes=143156 << 20,
        allocation_retries=0,
    )
    assert read.start.gpu == GpuState(clock_mhz=1980, most_clock_mhz=1980, temperature_c=60, power_w=500, slowed_by=())
    assert read.end == State(gpu=None, gpu_why="NVML: gone", alone_flops_per_s=7)


def test_what_a_killed_rank_left_holds_its_start_alone() -> None:
    read = rank(timed=None, step_s=None, memory=None, end=None)

    assert (read.timed, read.step, read.memory, read.end) == (None, None, None, None)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"format": 2}, "format", "must be from 1 to 1, not 2"),
        ({"step_s": {"steps": 3, "p50": 0.2, "p95": 0.1}}, "step_s.p95", "must be at least `p50`, and both above 0"),
        ({"timed": {"steps": 3, "data_s": "1"}}, "timed.data_s", 'must be a whole number, not the text "1"'),
    ],
)
def test_a_bad_value_is_named_with_its_file_and_field(changes: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_rank_metrics(json.dumps({**document(), **changes}).encode(), name=NAME)

    assert (caught.value.file, caught.value.field, caught.value.message) == (NAME, field, message)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_whatever_stands_in_a_field_no_other_error_comes_out(value: object) -> None:
    for key in document():
        try:
            read_rank_metrics(json.dumps({**document(), key: value}).encode(), name=NAME)
        except InputError:
            continue


@given(st.binary(max_size=200))
def test_whatever_stands_in_the_file_no_other_error_comes_out(data: bytes) -> None:
    with pytest.raises(InputError):
        read_rank_metrics(data, name=NAME)
