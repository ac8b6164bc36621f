"""What an hour of a stack costs, as far as a table tells: unknown is said, never counted as nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rdlc.core.canonical import Json
from rdlc.core.infra.plan import PlannedResource, walk_value
from rdlc.core.infra.price_table import CLUSTER, NAT_GATEWAY, PUBLIC_ADDRESS, Price, price_list
from rdlc.core.text import one_line
from rdlc.errors import InputError

_AMOUNT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_WHAT = re.compile(r"[a-z0-9][a-z0-9.-]{0,40}")
_SERVICES = {"aws_eks_cluster": CLUSTER, "aws_nat_gateway": NAT_GATEWAY, "aws_eip": PUBLIC_ADDRESS}
# These cost by what is stored or moved.
_BY_USE = {
    "aws_efs_file_system": "EFS storage",
    "aws_fsx_lustre_file_system": "FSx for Lustre storage",
    "aws_s3_bucket": "S3 storage",
}
_ALWAYS_BY_USE = ("disks of the nodes", "traffic")
GIVEN = "given with --price"


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceLine:
    """So many of one thing; `each` is None where no table tells its price, and `why` says why."""

    what: str
    count: int
    each: Price | None
    why: str = ""

    @property
    def usd_per_h(self) -> Decimal | None:
        """All of them for one hour."""
        return self.each.usd_per_h * self.count if self.each else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceEstimate:
    """The hourly price line by line, and what costs by use and is in no line."""

    lines: tuple[PriceLine, ...]
    by_use: tuple[str, ...]

    @property
    def usd_per_h(self) -> Decimal:
        """The sum of the lines whose price is known."""
        return sum((line.usd_per_h for line in self.lines if line.usd_per_h is not None), start=Decimal(0))

    @property
    def is_complete(self) -> bool:
        """Whether every line has a price."""
        return all(line.each is not None for line in self.lines)


def read_prices(settings: Sequence[str]) -> Mapping[str, Price]:
    """The `--price TYPE=USD` options, by instance type or service."""
    prices = {}
    for setting in settings:
        what, _, amount = setting.partition("=")
        if not _WHAT.fullmatch(what) or not _AMOUNT.fullmatch(amount):
            raise InputError(
                f"`--price {one_line(setting)}` must have the form TYPE=USD", hint="`--price g6.12xlarge=4.6016`"
            )
        prices[what] = Price(usd_per_h=Decimal(amount), as_of="", source=GIVEN)
    return prices


def read_node_price(amount: str) -> Price:
    """The `--price USD` option of a run: what an hour of all its nodes costs."""
    if not _AMOUNT.fullmatch(amount):
        raise InputError(f"`--price {one_line(amount)}` must be an amount in USD", hint="`--price 9.2032`")
    return Price(usd_per_h=Decimal(amount), as_of="", source=GIVEN)


def estimate_price(planned: Sequence[PlannedResource], *, region: str, given: Mapping[str, Price]) -> PriceEstimate:
    """What all of that costs for an hour in that region; `given` prices win over the table."""
    table = {**price_list(region), **given}
    counted: dict[tuple[str, str], int] = {}
    for what, count, why in _units(planned):
        counted[what, why] = counted.get((what, why), 0) + count
    lines = [_line(what, count, why, table=table, given=given) for (what, why), count in sorted(counted.items())]
    kinds = {resource.kind for resource in planned}
    by_use = sorted(text for kind, text in _BY_USE.items() if kind in kinds)
    return PriceEstimate(lines=tuple(lines), by_use=(*_ALWAYS_BY_USE, *by_use) if lines or by_use else ())


def _line(what: str, count: int, why: str, *, table: Mapping[str, Price], given: Mapping[str, Price]) -> PriceLine:
    price = given.get(what) if why else table.get(what)
    return PriceLine(what=what, count=count, each=price, why="" if price else why or "not in the price table")


def _units(planned: Sequence[PlannedResource]) -> Iterator[tuple[str, int, str]]:
    """What costs by the hour: the thing, how many, and why the table has no price for it."""
    templates = {resource.address: resource.values for resource in planned if resource.kind == "aws_launch_template"}
    for resource in planned:
        if service := _SERVICES.get(resource.kind):
            yield service, 1, ""
        elif resource.kind == "aws_eks_node_group":
            count = walk_value(resource.values, "scaling_config", "desired_size")
            if count == 0:
                continue
            known = count if isinstance(count, int) else 1
            why = "" if isinstance(count, int) else "how many is known after apply only"
            yield _instance_type(resource, templates), known, why or _market(resource.values)


def _instance_type(group: PlannedResource, templates: Mapping[str, Mapping[str, Json]]) -> str:
    # The launch template of the same name in the same module has it; then EKS tells none, or a made-up one.
    template = templates.get(group.address.replace("aws_eks_node_group.", "aws_launch_template."), {})
    types = group.values.get("instance_types")
    listed = types[0] if isinstance(types, list) and types else None
    named = template.get("instance_type") or listed
    return one_line(named) if isinstance(named, str) else "nodes of an unknown type"


def _market(values: Mapping[str, Json]) -> str:
    markets = {"SPOT": "the spot price moves", "CAPACITY_BLOCK": "a capacity block is paid in advance"}
    market = values.get("capacity_type")
    return markets.get(market, "") if isinstance(market, str) else ""


def describe_sources(estimate: PriceEstimate) -> str:
    """Where the prices come from and how old they are, and what has none, in one line."""
    known = [line.each for line in estimate.lines if line.each]
    parts = [f"{source}, as of {as_of}" if as_of else source for source, as_of in _sources(known)]
    unknown = [f"{line.what}: {line.why}" for line in estimate.lines if line.each is None]
    if unknown:
        parts.append(f"not counted: {', '.join(unknown)}")
    return "; ".join(parts)


def _sources(prices: Sequence[Price]) -> list[tuple[str, str]]:
    """Each source once, with the oldest month of its prices."""
    oldest: dict[str, str] = {}
    for price in prices:
        oldest[price.source] = min(oldest.get(price.source, price.as_of), price.as_of)
    return sorted(oldest.items())
