"""Which rank the others wait for."""

from rdlc.core.metrics.slowest import describe_slowest, find_slowest
from tests.core.metrics.samples import HOSTS, rank, state


def words(*ranks: object) -> str:
    slowest = find_slowest(ranks, HOSTS)  # type: ignore[arg-type]
    assert slowest is not None
    return describe_slowest(slowest)


def test_the_rank_that_waits_least_is_the_one_that_the_others_wait_for() -> None:
    hot = state(
        clock_mhz=900, temperature_c=91, slowed_by=["hardware thermal slowdown"], alone_flops_per_s=312 * 10**12
    )

    said = words(rank(0), rank(1), rank(2, collectives_s=0.009, end=hot), rank(3, collectives_s=0.051))

    assert said == (
        "slowest: rank 2 on node 1 (b): the others wait 41.0 ms of a step's 348.8 ms for it; "
        "alone it computes 312 TFLOP/s, the others 690 TFLOP/s; its GPU runs at 900 MHz, the others at 1,980 MHz; "
        "its GPU is slowed down by hardware thermal slowdown, at 91 C"
    )


def test_a_rank_that_waits_for_its_rows_is_told_so() -> None:
    hungry = rank(1, timed={"steps": 20, "data_s": 0.045, "collectives_s": 0.006})

    assert words(rank(0), hungry) == (
        "slowest: rank 1 on node 0 (a): the others wait 44.0 ms of a step's 348.8 ms for it; "
        "it waits 45.0 ms for its rows, the others 1.0 ms"
    )


def test_ranks_that_differ_little_have_no_slowest_one() -> None:
    assert words(rank(0), rank(1, collectives_s=0.03)) == (
        "no rank stands out: their waits for each other differ by 20.0 ms of a step's 348.8 ms"
    )


def test_what_not_all_ranks_measured_names_nobody() -> None:
    assert find_slowest([rank(0)], HOSTS) is None
    assert find_slowest([rank(0), rank(1, collectives_s=None)], HOSTS) is None
    assert find_slowest([rank(0), rank(1, timed=None)], HOSTS) is None
    assert find_slowest([rank(0), rank(1, attempt=2)], HOSTS) is None
    assert find_slowest([rank(0), rank(1, step_s=None, collectives_s=0.01)], HOSTS) is None
