"""Where a stack differs from its lock."""

from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.infra.drift import InfraDrift, find_infra_drift
from rdlc.core.infra.plan import read_plan
from rdlc.core.record import Drift
from tests.core.infra.plans import NODES, change, group, plan_bytes


def drift(*changes: Mapping[str, Json], gpu_nodes: str = "running") -> InfraDrift:
    return find_infra_drift(read_plan(plan_bytes(*changes)), gpu_nodes=gpu_nodes)


def item(address: str, locked: str, found: str) -> Drift:
    return Drift(section="infra", address=address, locked=locked, found=found)


def test_each_attribute_is_told_with_the_locked_and_the_seen_value() -> None:
    found = drift(change(NODES, "update", before=group(3), after=group(2)))

    assert found == InfraDrift(items=(item(f"{NODES}: scaling_config[0].desired_size", "2", "3"),), is_resting=False)


def test_what_was_taken_away_and_what_is_too_much_are_told() -> None:
    found = drift(change("aws_placement_group.gpu", "create", after={}), change("aws_vpc.old", "delete", before={}))

    assert found.items == (
        item("aws_placement_group.gpu", "there", "not there"),
        item("aws_vpc.old", "not there", "there"),
    )


def test_a_half_made_resource_is_told_without_an_attribute() -> None:
    tainted = change("aws_vpc.a", "delete", "create", before={"x": 1}, after={"x": 1})

    assert drift({**tainted, "action_reason": "replace_because_tainted"}).items == (
        item("aws_vpc.a", "whole", "half made: it will be made anew"),
    )


def test_a_group_that_rdlc_scaled_down_is_no_drift() -> None:
    resting = change(NODES, "update", before=group(0), after=group(2))

    assert drift(resting, gpu_nodes="scaled-down") == InfraDrift(items=(), is_resting=True)
    assert [found.found for found in drift(resting).items] == ["0"]


def test_a_resting_group_hides_no_other_drift() -> None:
    more = change(NODES, "update", before=group(0, version="1"), after=group(2, version="2"))
    other = change("aws_vpc.a", "update", before={"n": 1}, after={"n": 2})

    assert [found.address for found in drift(more, gpu_nodes="scaled-down").items] == [
        f"{NODES}: scaling_config[0].desired_size",
        f"{NODES}: version",
    ]
    assert [found.address for found in drift(other, gpu_nodes="scaled-down").items] == ["aws_vpc.a: n"]


def test_a_group_that_somebody_scaled_to_one_is_drift_also_at_rest() -> None:
    assert drift(change(NODES, "update", before=group(1), after=group(2)), gpu_nodes="scaled-down").items
