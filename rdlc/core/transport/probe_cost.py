"""What a fallback to TCP cost, by a probe of the same lock: a span, since a probe times no whole step."""

from dataclasses import dataclass

from rdlc.core.transport.cost import Cost, hours_words, money_words, span_words

_HOUR_S = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbedStep:
    """The least and the most seconds of a step over the locked transport, and the probe's record."""

    low_s: float
    high_s: float
    record: str


def describe_probed_cost(cost: Cost, probed: ProbedStep, *, steps_total: int | None) -> tuple[str, ...]:
    """The sentences about time and money of a run that has no baseline, and timed a step at least."""
    seen = cost.seen_step_s
    assert seen is not None
    step = f"{span_words(seen)} a step{' in warm-up' if cost.is_early else ''}"
    due = f"{span_words(probed.low_s)} to {span_words(probed.high_s)}"
    source = f"{due} over the locked transport, by the bandwidths of probe {probed.record}"
    if seen <= probed.low_s:
        return (f"slower: no, {step} against {source}",)
    times = f"{max(1.0, seen / probed.high_s):.1f} to {seen / probed.low_s:.1f} times"
    words = [f"slower: {times}, {step} against {source}", f"lost: {_lost(cost, probed, cost.steps)}"]
    if steps_total is not None and steps_total > cost.steps:
        words.append(f"to its end: {_lost(cost, probed, steps_total)}")
    return tuple(words)


def _lost(cost: Cost, probed: ProbedStep, steps: int) -> str:
    seen = cost.seen_step_s or 0.0
    least, most = (max(0.0, seen - due) * steps / _HOUR_S for due in (probed.high_s, probed.low_s))
    money = None if cost.price is None else most * float(cost.price.usd_per_h)
    span = f"{hours_words(least)} to {hours_words(most)} in {steps:,} steps"
    return span + money_words(money, cost.price, bound="at most ")
