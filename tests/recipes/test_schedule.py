"""The learning rate as a function of the step."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp_qwen.schedule import SCHEDULES, scheduled_rate


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_rises_in_a_line_to_its_peak(schedule: str) -> None:
    rates = [scheduled_rate(step, peak=8.0, warmup_steps=4, steps=20, schedule=schedule) for step in range(1, 5)]

    assert rates == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    ("schedule", "half", "last"), [("constant", 8.0, 8.0), ("linear", 4.4, 0.8), ("cosine", 4.4, 0.8)]
)
def test_a_schedule_ends_at_its_floor(schedule: str, half: float, last: float) -> None:
    rates = [
        scheduled_rate(step, peak=8.0, warmup_steps=4, steps=20, schedule=schedule, floor=0.1) for step in (12, 20)
    ]

    assert rates == pytest.approx([half, last])


def test_cosine_is_the_cosine() -> None:
    rate = scheduled_rate(3, peak=1.0, warmup_steps=0, steps=12, schedule="cosine")

    assert rate == pytest.approx((1 + math.cos(math.pi / 4)) / 2)


@given(st.sampled_from(SCHEDULES), st.integers(0, 20), st.integers(1, 20), st.floats(0.0, 1.0))
def test_no_step_gets_more_than_the_peak_or_after_the_warmup_less_than_the_floor(
    schedule: str, warmup_steps: int, steps: int, floor: float
) -> None:
    for step in range(1, steps + 1):
        rate = scheduled_rate(step, peak=2.0, warmup_steps=warmup_steps, steps=steps, schedule=schedule, floor=floor)
        assert rate <= 2.0 * (1 + 1e-12)
        assert rate >= 2.0 * floor * (1 - 1e-12) or step < warmup_steps
