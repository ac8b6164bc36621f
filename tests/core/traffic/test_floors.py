import pytest

from rdlc.core.traffic.floors import (
    algorithm_bandwidth,
    bus_bandwidth,
    compute_floor_s,
    predicted_step_s,
    step_flops,
    wire_floor_s,
)
from tests.core.traffic.layouts import QWEN, TINY, make_layout


def test_algorithm_bandwidth_is_size_over_time() -> None:
    assert algorithm_bandwidth(1 << 30, 0.5) == 2 << 30


@pytest.mark.parametrize(
    ("kind", "ranks", "factor"),
    [
        ("all-reduce", 2, 1.0),
        ("all-reduce", 8, 1.75),
        ("all-gather", 2, 0.5),
        ("all-gather", 8, 0.875),
        ("reduce-scatter", 8, 0.875),
        ("all-reduce", 1, 0.0),
    ],
)
def test_bus_bandwidth_has_the_factor_of_nccl_tests(kind: str, ranks: int, factor: float) -> None:
    assert bus_bandwidth(kind, 1000, 1.0, ranks) == 1000 * factor


def test_the_recorded_all_reduce_over_sockets_has_its_recorded_bandwidth() -> None:
    # 512 MiB over 2 H200s and sockets took 0.168 s; recorded: 3.192 GB/s.
    assert bus_bandwidth("all-reduce", 512 << 20, 0.16817, 2) == pytest.approx(3.192e9, rel=1e-3)


def test_the_wire_floor_of_the_recorded_step_is_near_its_time() -> None:
    # 407 M parameters over two nodes at 10 Gb/s: 1.308 s a step were measured.
    assert wire_floor_s(1_623_195_648, 10e9 / 8) == pytest.approx(1.2986, rel=1e-4)


def test_flops_are_six_per_parameter_and_token_and_attention() -> None:
    tokens = 2 * 4 * 1024

    assert step_flops(QWEN, tokens=tokens, sequence_length=1024) == (
        6 * 1_543_714_304 * tokens + 12 * 28 * 1536 * 1024 * tokens
    )


def test_flops_without_a_shape_leave_attention_out() -> None:
    assert step_flops(make_layout(0, 0, 10), tokens=7, sequence_length=100) == 420


def test_the_compute_floor_is_operations_over_rate() -> None:
    flops = step_flops(TINY, tokens=256, sequence_length=32)

    assert compute_floor_s(flops, 1e9) == pytest.approx((6 * 109_120 + 12 * 2 * 64 * 32) * 256 / 1e9)


@pytest.mark.parametrize(
    ("compute", "wire", "expected"),
    [(0.3, 1.3, (1.3, 1.6)), (2.0, 0.0, (2.0, 2.0))],
)
def test_a_step_takes_between_the_longer_part_and_the_sum(
    compute: float, wire: float, expected: tuple[float, float]
) -> None:
    assert predicted_step_s(compute, wire) == expected
