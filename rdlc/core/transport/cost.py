"""What a slower transport cost: measured against a baseline, never guessed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rdlc.core.infra.price_table import Price
from rdlc.core.outcome import Step

NOT_MEASURED = "slower: not measured"
_HOUR_S = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """The time and money that a run lost; None is not measured.

    `seen_step_s` and `due_step_s` are median step times in seconds, of the run and of its baseline;
    `is_early` says that the run's is that of warm-up, because it did not get any further.
    """

    seen_step_s: float | None
    due_step_s: float | None
    steps: int
    price: Price | None
    is_early: bool = False

    @property
    def slowdown(self) -> float | None:
        """How many times longer a step took."""
        if self.seen_step_s is None or not self.due_step_s:
            return None
        return self.seen_step_s / self.due_step_s

    @property
    def lost_hours(self) -> float | None:
        """The hours lost in the steps that were done; 0 for a run that was not slower."""
        if self.seen_step_s is None or self.due_step_s is None:
            return None
        return max(self.seen_step_s - self.due_step_s, 0.0) * self.steps / _HOUR_S

    @property
    def lost_money(self) -> float | None:
        """What those hours cost, in USD; `price` is that of all nodes together."""
        hours = self.lost_hours
        return None if hours is None or self.price is None else hours * float(self.price.usd_per_h)


def median_step_s(steps: Sequence[Step], *, warmup_steps: int) -> float | None:
    """The median time of a step in seconds, first steps left out; None if none is left."""
    counted = [step.step_s for step in steps if step.step > warmup_steps]
    return statistics.median(counted) if counted else None


def measure_cost(steps: Sequence[Step], baseline: Sequence[Step], *, warmup_steps: int, price: Price | None) -> Cost:
    """The cost of the steps that were done against those of the baseline, none of which is needed."""
    seen = median_step_s(steps, warmup_steps=warmup_steps)
    # A run that was stopped after warm-up has no other steps; the first one also compiles and allocates.
    early = median_step_s(steps, warmup_steps=1) if seen is None else None
    return Cost(
        seen_step_s=early if seen is None else seen,
        due_step_s=median_step_s(baseline, warmup_steps=warmup_steps),
        steps=len(steps),
        price=price,
        is_early=early is not None,
    )


def describe_cost(cost: Cost, *, steps_total: int | None) -> tuple[str, ...]:
    """The sentences about time and money; what was not measured is said to be so."""
    if cost.seen_step_s is None:
        return (f"{NOT_MEASURED}, no step was timed",)
    step = f"{span_words(cost.seen_step_s)} a step{' in warm-up' if cost.is_early else ''}"
    if cost.slowdown is None or cost.due_step_s is None:
        return (f"{NOT_MEASURED}, neither a baseline nor a probe is there to compare {step} with",)
    words = [f"slower: {cost.slowdown:.1f} times, {step} against {span_words(cost.due_step_s)} in the baseline"]
    if cost.slowdown <= 1:
        return (f"slower: no, {step} against {span_words(cost.due_step_s)} in the baseline",)
    words.append(
        f"lost: {hours_words(cost.lost_hours or 0.0)} in {cost.steps:,} steps{money_words(cost.lost_money, cost.price)}"
    )
    if steps_total is not None and steps_total > cost.steps:
        whole = (cost.seen_step_s - cost.due_step_s) * steps_total / _HOUR_S
        money = whole * float(cost.price.usd_per_h) if cost.price else None
        words.append(
            f"to its end: {hours_words(whole)} would be lost in {steps_total:,} steps{money_words(money, cost.price)}"
        )
    return tuple(words)


def money_words(amount: float | None, price: Price | None, *, bound: str = "") -> str:
    """What an amount of USD is by which price, as the end of a sentence; `bound` stands before it."""
    if amount is None or price is None:
        return "; money not measured, no price is known"
    source = ", ".join(filter(None, (price.source, price.as_of)))
    return f"; {bound}{amount:,.2f} USD at {price.usd_per_h:,.2f} USD per hour ({source})"


def hours_words(hours: float) -> str:
    """A time in the largest unit of which it has one: `1.5 h`, `3.0 min`, `2.0 s`."""
    return f"{hours:,.1f} h" if hours >= 1 else f"{hours * 60:,.1f} min" if hours * 60 >= 1 else f"{hours * 3600:.1f} s"


def span_words(seconds: float) -> str:
    """The time of a step: `1.965 s`, `312.0 ms`."""
    return f"{seconds:,.3f} s" if seconds >= 1 else f"{seconds * 1000:,.1f} ms"
