"""The same lock in a second, empty account: what AWS refuses is told, the next try goes on, and the same comes out."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.terraform.sample import KEY, Sample
from tests.terraform.second_world import CAPACITY, EXPIRED, QUOTA, Troubled

# The first of these waits for all that happened before; the limit is for a machine with much else to do.
pytestmark = [pytest.mark.terraform, pytest.mark.late, pytest.mark.timeout(3000)]
GPU_GROUP = "module.nodes.aws_eks_node_group.gpu"
# Made up by AWS for each resource, or told only when it is looked at once more and held by a resource of its own.
MADE_UP = {
    "association_id", "bucket_domain_name", "bucket_regional_domain_name", "certificate_authority", "create_date",
    "created_at", "egress", "endpoint", "identity", "ingress", "inline_policy", "managed_policy_arns", "modified_at",
    "network_interface", "network_interface_id", "private_dns", "private_ip", "public_dns", "public_ip", "resources",
    "route", "unique_id", "url",
}  # fmt: skip
# `vpc-0123456789abcdef0`, the number at the end of a name that is unique, a UUID, an OIDC provider.
IDS = re.compile(r"\b([a-z]+-)+[0-9a-f]{17,}\b|-\d{26}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|/id/\w+")


def test_expired_credentials_are_told_before_anything(troubled: Troubled) -> None:
    said = troubled.expired

    answer = f"An error occurred (ExpiredToken) when calling the GetCallerIdentity operation: {EXPIRED}"
    assert (said.code, said.out) == (3, "")
    assert said.err.splitlines() == [
        (
            "error: the identity of the AWS credentials: the AWS credentials have expired; "
            f"AWS answered `ExpiredToken`: {answer}"
        ),
        "hint: `aws sso login`, or set `AWS_PROFILE`",
    ]


def test_a_quota_is_told_with_its_resource_and_the_next_step(troubled: Troubled) -> None:
    said = troubled.quota

    error = (
        "an AWS quota of this account is too small: `module.network.aws_vpc.main`: creating EC2 VPC: api error "
        f"VpcLimitExceeded: {QUOTA}"
    )
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines()[-2:] == [
        f"error: {error}",
        (
            "hint: ask for more in Service Quotas, or take a smaller profile; "
            "then the same command again goes on from here"
        ),
    ]
    assert (troubled.after_quota["status"], troubled.after_quota["reason"]) == ("incomplete", error)


def test_nodes_for_which_there_is_no_capacity_are_told_with_the_next_step(troubled: Troubled) -> None:
    said = troubled.capacity

    error = re.compile(
        rf"error: AWS has no capacity for these nodes now: `{re.escape(GPU_GROUP)}`: waiting for EKS Node Group "
        r"\(seed:seed-gpu\) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'\. last error: "
        rf"eks-[0-9a-f-]+: AsgInstanceLaunchFailures: {re.escape(CAPACITY)}"
    )
    assert (said.code, said.out) == (1, "")
    assert error.fullmatch(said.err.splitlines()[-2])
    assert said.err.splitlines()[-1] == (
        "hint: the same command later goes on from here; another zone or a reservation in the `--bind` file may have "
        "some; `rdlc destroy STACK` takes away what stands"
    )
    assert (troubled.after_capacity["status"], troubled.after_capacity["resources"]) == ("incomplete", 39)


def test_the_next_try_goes_on_and_makes_only_what_failed(troubled: Troubled) -> None:
    said = troubled.applied

    assert (said.code, said.out.splitlines()[0]) == (0, f"applied  {KEY}")
    assert f"plan  {KEY}  1 to replace" in said.err.splitlines()
    assert f"  -/+ {GPU_GROUP}" in said.err.splitlines()
    assert (troubled.record["status"], troubled.record["reason"]) == ("applied", "")


def test_the_same_lock_makes_the_same_in_another_account(troubled: Troubled, applied_sample: Sample) -> None:
    here, there = applied_sample.resources(), troubled.resources

    assert sorted(there) == sorted(here)
    for address, attributes in here.items():
        assert plain(there[address]) == plain(attributes), address


def test_the_records_of_both_name_the_same_lock_versions_and_inputs(troubled: Troubled, applied_sample: Sample) -> None:
    first, second = applied_sample.record(), troubled.record

    same = ("lock_id", "infra_digest", "order_digest", "terraform", "providers", "usd_per_h", "resources")
    assert {name: second[name] for name in same} == {name: first[name] for name in same}
    assert second["outputs"]["inputs"] == first["outputs"]["inputs"]
    assert second["endpoints"] != first["endpoints"]


def plain(attributes: Mapping[str, Any]) -> object:
    """The attributes without what AWS makes up."""
    return _plain({name: value for name, value in attributes.items() if name not in MADE_UP})


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()} or None
    if isinstance(value, list):
        return sorted((_plain(item) for item in value), key=str) or None
    # Nothing and an empty value are told now so, now so.
    return IDS.sub("ID", value) or None if isinstance(value, str) else value
