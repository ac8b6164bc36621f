"""Bandwidths, ratios, the step's time over each transport, and what an hour of a fallback loses."""

from decimal import Decimal

import pytest

from rdlc.core.outcome import Step
from rdlc.core.probe.prediction import (
    Loss,
    StepPrediction,
    call_s,
    hourly_loss,
    median_step_s,
    predict_steps,
    tabulate,
    traffic_of,
    wire_s,
)
from rdlc.core.probe.reading import Probe, read_probe
from rdlc.core.traffic.prediction import step_traffic
from tests.core.probe.samples import TRAFFIC, arm_line, one_arm, probe_bytes, size_line, two_arms


def probe_of(data: bytes) -> Probe:
    return read_probe(data, name="probe.jsonl")


def flat(locked_s: float, tcp_s: float) -> Probe:
    """A probe in which a call takes the same time up to any size that a step has."""
    kinds = ("all-reduce", "all-gather", "reduce-scatter")
    arms = (("locked", locked_s), ("tcp", tcp_s))
    lines = []
    for arm, seconds in arms:
        lines.append(arm_line(arm, backend="nccl"))
        lines += [size_line(kind, 1 << 30, seconds, arm=arm) for kind in kinds]
    return probe_of(probe_bytes(lines))


def step(number: int, seconds: float) -> Step:
    return Step(
        step=number,
        attempt=1,
        loss="0x1p+0",
        gradient_norm="0x1p+0",
        learning_rate="1",
        tokens=1,
        batch_digest="sha256:" + "0" * 64,
        parameters=None,
        step_s=seconds,
    )


@pytest.mark.parametrize(
    ("kind", "ranks", "busbw"),
    [
        # 1,000,000 bytes in 1 ms are 1 GB/s as the caller sees it.
        ("all-reduce", 2, 1.0e9),
        ("all-reduce", 8, 1.75e9),
        ("all-gather", 2, 0.5e9),
        ("all-gather", 8, 0.875e9),
        ("reduce-scatter", 2, 0.5e9),
        ("reduce-scatter", 8, 0.875e9),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(kind: str, ranks: int, busbw: float) -> None:
    data = probe_bytes([arm_line(ranks=ranks), size_line(kind, 1_000_000, 0.001)])

    [row] = tabulate(probe_of(data))

    assert row.locked_s == 0.001
    assert row.locked_algbw == pytest.approx(1e9)
    assert row.locked_busbw == pytest.approx(busbw)
    assert (row.tcp_s, row.tcp_algbw, row.tcp_busbw, row.ratio) == (None, None, None, None)


def test_rows_come_by_kind_and_size_with_the_ratio_of_both_transports() -> None:
    rows = tabulate(probe_of(two_arms()))

    assert [(row.kind, row.size_bytes) for row in rows] == [
        (kind, size) for kind in ("all-reduce", "all-gather", "reduce-scatter") for size in (1 << 20, 1 << 22)
    ]
    assert [row.ratio for row in rows[:2]] == [pytest.approx(2.0), pytest.approx(10.0)]


def test_a_size_that_was_left_out_has_no_figure_and_no_ratio() -> None:
    row = tabulate(probe_of(one_arm()))[1]

    assert (row.size_bytes, row.locked_s, row.locked_busbw, row.ratio) == (4096, None, None, None)


@pytest.mark.parametrize(
    ("size", "seconds"),
    [
        (1, 0.001),  # below the smallest: its latency
        (1024, 0.001),
        (2560, 0.0015),  # halfway between
        (4096, 0.002),
        (8192, 0.004),  # twice the largest, at its bandwidth
    ],
)
def test_a_call_of_any_size_follows_from_the_measured_sizes(size: int, seconds: float) -> None:
    assert call_s(probe_of(one_arm()).locked, "all-gather", size) == pytest.approx(seconds)


def test_the_collectives_of_a_step_are_those_of_the_layout_on_the_probes_ranks() -> None:
    probe = flat(0.001, 0.01)
    arm = probe.locked

    traffic = traffic_of(probe, rows_per_rank=8, fingerprint_every=2)

    assert traffic == step_traffic(arm.layout, ranks=2, nodes=1, backend="nccl", rows_per_rank=8, fingerprint_every=2)


def test_the_wire_time_is_the_sum_of_all_calls_of_a_step() -> None:
    # Two gathers, a reduction, and half an all-reduce.
    assert wire_s(flat(0.001, 0.01).locked, TRAFFIC) == pytest.approx(0.0035)


def test_a_kind_without_any_figure_leaves_the_step_unmeasured() -> None:
    data = probe_bytes([arm_line(), size_line("all-gather", 8, 0.1), size_line("all-reduce", 8, 0.1)])
    probe = probe_of(data)

    predicted = predict_steps(probe, TRAFFIC, measured_step_s=0.5)

    assert predicted == (StepPrediction(arm="locked", wire_s=None, low_s=None, high_s=None),)


@pytest.mark.parametrize(
    ("step_s", "locked", "tcp"),
    [
        # The network is 3.5 ms, or 35 ms over TCP. It works beside the computing: max; it never does: sum.
        (0.100, (0.100, 0.100), (0.100, 0.1315)),
        (0.010, (0.010, 0.010), (0.035, 0.0415)),
        # The step was quicker than its collectives are alone: the network is all there is.
        (0.002, (0.0035, 0.0035), (0.035, 0.035)),
    ],
)
def test_a_step_is_predicted_from_the_measured_one_in_both_extremes(
    step_s: float, locked: tuple[float, float], tcp: tuple[float, float]
) -> None:
    probe = flat(0.001, 0.01)

    predicted = predict_steps(probe, TRAFFIC, measured_step_s=step_s)

    assert [(each.low_s, each.high_s) for each in predicted] == [pytest.approx(locked), pytest.approx(tcp)]


def test_without_a_measured_step_the_collectives_alone_are_left() -> None:
    probe = flat(0.001, 0.01)

    predicted = predict_steps(probe, TRAFFIC, measured_step_s=None)

    assert [(each.arm, each.low_s, each.high_s) for each in predicted] == [("locked", None, None), ("tcp", None, None)]
    assert [each.wire_s for each in predicted] == [pytest.approx(0.0035), pytest.approx(0.035)]


TCP = StepPrediction(arm="tcp", wire_s=0.1, low_s=0.2, high_s=0.4)


@pytest.mark.parametrize(
    ("predictions", "step_s", "price", "loss"),
    [
        ([TCP], 0.1, "10", Loss(low=0.5, high=0.75, low_usd=Decimal("5.00"), high_usd=Decimal("7.50"))),
        ([TCP], 0.1, None, Loss(low=0.5, high=0.75, low_usd=None, high_usd=None)),
        # A fallback never saves.
        ([TCP], 0.25, "10", Loss(low=0.0, high=0.375, low_usd=Decimal("0.00"), high_usd=Decimal("3.75"))),
        ([TCP], None, "10", None),
        ([], 0.1, "10", None),
        ([StepPrediction(arm="tcp", wire_s=None, low_s=None, high_s=None)], 0.1, "10", None),
    ],
)
def test_an_hour_of_a_fallback_loses_the_share_that_steps_take_longer(
    predictions: list[StepPrediction], step_s: float | None, price: str | None, loss: Loss | None
) -> None:
    usd = None if price is None else Decimal(price)

    assert hourly_loss(predictions, measured_step_s=step_s, usd_per_h=usd) == loss


@pytest.mark.parametrize(
    ("seconds", "warmup", "median"),
    [([9.0, 1.0, 3.0, 2.0], 1, 2.0), ([9.0, 1.0], 0, 5.0), ([9.0], 1, None), ([], 0, None), ([0.0, 0.0], 0, None)],
)
def test_the_measured_step_is_the_median_behind_the_warm_up(
    seconds: list[float], warmup: int, median: float | None
) -> None:
    steps = [step(number, each) for number, each in enumerate(seconds, start=1)]

    assert median_step_s(steps, warmup_steps=warmup) == median
