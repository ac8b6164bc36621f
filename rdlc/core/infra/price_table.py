"""What AWS asks for an hour: a dated table, and no guess for anything that is not in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

# Linux, on demand, shared tenancy. These regions have one price for each of these types.
_REGIONS = ("us-east-1", "us-east-2", "us-west-2")
_SOURCE = "AWS list price"


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """US dollars for one hour, the month in which the list said so, and which list."""

    usd_per_h: Decimal
    as_of: str
    source: str = _SOURCE


# The P4 and P5 prices are those after the cut of June 2025; the cost reports of an account that ran them
# agree with the P, G6 and M7i figures for us-east-2.
_INSTANCES = {
    "g6.8xlarge": Price(usd_per_h=Decimal("2.0144"), as_of="2026-03"),
    "g6.12xlarge": Price(usd_per_h=Decimal("4.6016"), as_of="2026-07"),
    "g6.48xlarge": Price(usd_per_h=Decimal("13.3504"), as_of="2026-03"),
    "g6e.12xlarge": Price(usd_per_h=Decimal("10.49264"), as_of="2026-03"),
    "p4d.24xlarge": Price(usd_per_h=Decimal("21.95764"), as_of="2026-07"),
    "p5.48xlarge": Price(usd_per_h=Decimal("55.04"), as_of="2026-07"),
    "p5en.48xlarge": Price(usd_per_h=Decimal("63.296"), as_of="2026-07"),
    "p6-b200.48xlarge": Price(usd_per_h=Decimal("113.9328"), as_of="2026-07"),
    "m7i.xlarge": Price(usd_per_h=Decimal("0.2016"), as_of="2026-07"),
}
# A cluster in standard support; after its end the same one costs 0.60. A gateway without its traffic.
CLUSTER = "eks-cluster"
NAT_GATEWAY = "nat-gateway"
PUBLIC_ADDRESS = "public-ipv4"
_SERVICES = {
    CLUSTER: Price(usd_per_h=Decimal("0.10"), as_of="2026-06"),
    NAT_GATEWAY: Price(usd_per_h=Decimal("0.045"), as_of="2026-06"),
    PUBLIC_ADDRESS: Price(usd_per_h=Decimal("0.005"), as_of="2026-06"),
}


def price_list(region: str) -> Mapping[str, Price]:
    """The prices of that region by instance type or service; empty for a region that is not in the table."""
    return {**_INSTANCES, **_SERVICES} if region in _REGIONS else {}
