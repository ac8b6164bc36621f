"""What a fallback cost by a probe is a span, and says whose bandwidths it rests on."""

from decimal import Decimal

from rdlc.core.infra.price_table import Price
from rdlc.core.transport.cost import Cost
from rdlc.core.transport.probe_cost import ProbedStep, describe_probed_cost

PRICE = Price(usd_per_h=Decimal("9.2032"), as_of="2026-07")
PROBED = ProbedStep(low_s=0.312, high_s=0.655, record="20261130T120000Z-abc")


def test_time_and_money_are_a_span_from_the_slowest_to_the_fastest_step_that_may_have_been() -> None:
    cost = Cost(seen_step_s=1.965, due_step_s=None, steps=2000, price=PRICE)

    assert describe_probed_cost(cost, PROBED, steps_total=10_000) == (
        (
            "slower: 3.0 to 6.3 times, 1.965 s a step against 312.0 ms to 655.0 ms over the locked transport, "
            "by the bandwidths of probe 20261130T120000Z-abc"
        ),
        "lost: 43.7 min to 55.1 min in 2,000 steps; at most 8.45 USD at 9.20 USD per hour (AWS list price, 2026-07)",
        "to its end: 3.6 h to 4.6 h in 10,000 steps; at most 42.26 USD at 9.20 USD per hour (AWS list price, 2026-07)",
    )


def test_a_step_that_is_as_fast_as_the_locked_transport_lost_nothing() -> None:
    cost = Cost(seen_step_s=0.3, due_step_s=None, steps=2, price=None)

    [sentence] = describe_probed_cost(cost, PROBED, steps_total=2)

    assert sentence.startswith("slower: no, 300.0 ms a step against 312.0 ms to 655.0 ms")
