"""Where a rank's time goes, step by step."""

import time

import pytest
import torch

from fsdp_qwen.rank_times import RankTimes


def take_step(times: RankTimes, step: int) -> None:
    """A step that waits for rows twice, and once for other ranks."""
    times.begin(step)
    time.sleep(0.02)
    times.rows_ready()
    with times.collective():
        time.sleep(0.04)
    with times.preparing():
        time.sleep(0.01)
    times.end()


def test_waiting_for_rows_and_for_other_ranks_is_told_apart() -> None:
    times = RankTimes.watching(torch.nn.Linear(1, 1), torch.device("cpu"))

    take_step(times, 1)
    take_step(times, 2)

    first, second = times.finish()
    assert (first.step, second.step) == (1, 2)
    assert first.data_s >= 0.03
    assert first.collectives_s >= 0.04


def test_collectives_between_steps_belong_to_none() -> None:
    times = RankTimes.watching(torch.nn.Linear(1, 1), torch.device("cpu"))
    take_step(times, 1)

    with times.collective():
        time.sleep(0.01)

    assert [each.step for each in times.finish()] == [1]


def test_only_every_few_steps_are_timed_where_that_costs_something() -> None:
    times = RankTimes(device=torch.device("cpu"), every=4)

    for step in range(1, 10):
        times.begin(step)
        times.rows_ready()
        times.end()

    assert [each.step for each in times.finish()] == [4, 8]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_a_gpu_is_not_waited_for_until_the_end() -> None:
    device = torch.device("cuda", 0)
    times = RankTimes(device=device, every=1)

    times.begin(1)
    with times.collective():
        torch.cuda._sleep(50_000_000)
    times.end()

    assert times.finish()[0].collectives_s > 0.005
