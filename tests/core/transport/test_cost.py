"""What a slower transport cost is measured, or said not to be."""

from dataclasses import replace
from decimal import Decimal

import pytest

from rdlc.core.infra.price_table import Price
from rdlc.core.outcome import Step
from rdlc.core.transport.cost import Cost, describe_cost, measure_cost, median_step_s
from tests.diff_samples import make_outcome

PRICE = Price(usd_per_h=Decimal("9.2032"), as_of="2026-07")


@pytest.mark.parametrize(
    ("cost", "steps_total", "sentences"),
    [
        # The two H200s of the reference: the same step over NVLink and over sockets.
        (Cost(seen_step_s=1.965, due_step_s=0.312, steps=2000, price=PRICE), 10_000,
         ("slower: 6.3 times, 1.965 s a step against 312.0 ms in the baseline",
          "lost: 55.1 min in 2,000 steps; 8.45 USD at 9.20 USD per hour (AWS list price, 2026-07)",
          "to its end: 4.6 h would be lost in 10,000 steps; 42.26 USD at 9.20 USD per hour (AWS list price, 2026-07)")),
        (Cost(seen_step_s=1.965, due_step_s=0.312, steps=2, price=None), 2,
         ("slower: 6.3 times, 1.965 s a step against 312.0 ms in the baseline",
          "lost: 3.3 s in 2 steps; money not measured, no price is known")),
        (Cost(seen_step_s=0.3, due_step_s=0.312, steps=2, price=PRICE), 2,
         ("slower: no, 300.0 ms a step against 312.0 ms in the baseline",)),
        (Cost(seen_step_s=1.965, due_step_s=None, steps=2, price=PRICE), 2,
         ("slower: not measured, neither a baseline nor a probe is there to compare 1.965 s a step with",)),
        (Cost(seen_step_s=None, due_step_s=0.312, steps=0, price=PRICE), 2,
         ("slower: not measured, no step was timed",)),
    ],
)  # fmt: skip
def test_time_and_money_are_those_of_the_steps_that_were_done(
    cost: Cost, steps_total: int | None, sentences: tuple[str, ...]
) -> None:
    assert describe_cost(cost, steps_total=steps_total) == sentences


def test_what_was_not_measured_is_not_nothing() -> None:
    cost = Cost(seen_step_s=1.0, due_step_s=None, steps=3, price=PRICE)

    assert (cost.slowdown, cost.lost_hours, cost.lost_money) == (None, None, None)


def test_the_step_time_leaves_out_warm_up() -> None:
    steps = make_outcome().steps

    assert median_step_s(steps, warmup_steps=0) == sorted(step.step_s for step in steps)[len(steps) // 2]
    assert median_step_s(steps, warmup_steps=len(steps)) is None


def test_a_run_that_was_stopped_in_warm_up_is_measured_by_its_steps_but_the_first() -> None:
    steps, baseline = timed(9.0, 2.0, 4.0), timed(5.0, 1.0, 1.0, 0.5, 0.5)

    cost = measure_cost(steps, baseline, warmup_steps=3, price=None)

    assert (cost.seen_step_s, cost.due_step_s, cost.is_early) == (3.0, 0.5, True)
    assert describe_cost(cost, steps_total=3) == (
        "slower: 6.0 times, 3.000 s a step in warm-up against 500.0 ms in the baseline",
        "lost: 7.5 s in 3 steps; money not measured, no price is known",
    )


def test_steps_after_warm_up_are_what_counts_where_there_are_any() -> None:
    cost = measure_cost(timed(9.0, 2.0, 4.0), timed(5.0, 1.0), warmup_steps=2, price=None)

    assert (cost.seen_step_s, cost.due_step_s, cost.steps, cost.is_early) == (4.0, None, 3, False)


def timed(*seconds: float) -> tuple[Step, ...]:
    first = make_outcome().steps[0]
    return tuple(replace(first, step=number, step_s=step_s) for number, step_s in enumerate(seconds, start=1))
