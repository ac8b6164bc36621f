"""What an hour of a stack costs."""

from decimal import Decimal

import pytest

from rdlc.core.canonical import Json
from rdlc.core.infra.plan import PlannedResource, read_plan
from rdlc.core.infra.price_table import price_list
from rdlc.core.infra.prices import PriceEstimate, describe_sources, estimate_price, read_prices
from rdlc.errors import InputError
from tests.core.infra.plans import NODES, group, plan_bytes, resource

TEMPLATE = "module.nodes.aws_launch_template.gpu"


def planned(*resources: dict[str, Json]) -> tuple[PlannedResource, ...]:
    return read_plan(plan_bytes(planned=resources)).planned


def estimate(*resources: dict[str, Json], region: str = "us-east-2", prices: tuple[str, ...] = ()) -> PriceEstimate:
    return estimate_price(planned(*resources), region=region, given=read_prices(prices))


SAMPLE = (
    resource("aws_eks_cluster.main", {}),
    resource("aws_nat_gateway.main", {}),
    resource(TEMPLATE, {"instance_type": "g6.12xlarge"}),
    resource(NODES, group(2)),
    resource("aws_eks_node_group.system", group(2, instance_types=["m7i.xlarge"])),
    resource("aws_s3_bucket.main", {}),
)


def test_the_sample_costs_what_its_parts_cost() -> None:
    found = estimate(*SAMPLE)

    assert [(line.what, line.count, str(line.usd_per_h)) for line in found.lines] == [
        ("eks-cluster", 1, "0.10"),
        ("g6.12xlarge", 2, "9.2032"),
        ("m7i.xlarge", 2, "0.4032"),
        ("nat-gateway", 1, "0.045"),
    ]
    assert (found.usd_per_h, found.is_complete) == (Decimal("9.7514"), True)
    assert found.by_use == ("disks of the nodes", "traffic", "S3 storage")
    assert describe_sources(found) == "AWS list price, as of 2026-06"


def test_the_launch_templates_type_counts_before_the_groups() -> None:
    listed = resource(NODES, group(1, instance_types=["t3.medium"]))

    assert [line.what for line in estimate(SAMPLE[2], listed).lines] == ["g6.12xlarge"]


def test_a_given_price_wins_and_is_called_so() -> None:
    found = estimate(*SAMPLE[2:4], prices=("g6.12xlarge=3.5",))

    assert (found.usd_per_h, describe_sources(found)) == (Decimal("7.0"), "given with --price")


def test_a_region_that_is_not_in_the_table_has_no_known_price() -> None:
    found = estimate(*SAMPLE[2:4], region="eu-north-1")

    assert (found.usd_per_h, found.is_complete) == (Decimal(0), False)
    assert describe_sources(found) == "not counted: g6.12xlarge: not in the price table"


@pytest.mark.parametrize(
    ("market", "why"),
    [("SPOT", "the spot price moves"), ("CAPACITY_BLOCK", "a capacity block is paid in advance")],
)
def test_another_market_has_no_price_in_the_table_but_can_be_given_one(market: str, why: str) -> None:
    resources = (SAMPLE[2], resource(NODES, group(2, capacity_type=market)))

    assert [(line.each, line.why) for line in estimate(*resources).lines] == [(None, why)]
    assert estimate(*resources, prices=("g6.12xlarge=1",)).usd_per_h == Decimal(2)


def test_a_group_without_nodes_costs_nothing_and_one_of_an_unknown_size_is_not_known() -> None:
    assert estimate(SAMPLE[2], resource(NODES, group(0))).lines == ()
    (line,) = estimate(SAMPLE[2], resource(NODES, group(None))).lines
    assert (line.usd_per_h, line.why) == (None, "how many is known after apply only")


def test_nothing_has_no_price_and_no_remarks() -> None:
    assert estimate() == PriceEstimate(lines=(), by_use=())


def test_every_price_is_dated_and_has_its_source() -> None:
    table = price_list("us-east-2")

    assert table
    assert all(price.as_of >= "2025-06" and price.source and price.usd_per_h > 0 for price in table.values())


@pytest.mark.parametrize("text", ["g6.12xlarge", "=1", "g6=", "g6=-1", "g6=1e9", "G6=1", "g6=nan"])
def test_a_price_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_prices([text])

    assert caught.value.message == f"`--price {text}` must have the form TYPE=USD"
