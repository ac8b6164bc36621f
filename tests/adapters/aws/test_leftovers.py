"""What a cluster made by itself and what costs on without it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from rdlc.adapters.aws.leftovers import UNKNOWN, find_leftovers
from rdlc.core.infra.stack import StackKey
from rdlc.core.infra.steps import Leftover
from tests.adapters.aws.shell import forget_aws
from tests.core.infra.stacks import KEY
from tests.registry.aws import moto_server
from tests.registry.processes import free_port


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    forget_aws(monkeypatch, tmp_path)
    with moto_server(tmp_path) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        yield endpoint


def volume(*tags: tuple[str, str]) -> str:
    client: Any = boto3.client("ec2", region_name=KEY.region)
    specification = {"ResourceType": "volume", "Tags": [{"Key": key, "Value": value} for key, value in tags]}
    answer = client.create_volume(Size=1, AvailabilityZone="us-east-2a", TagSpecifications=[specification])
    return str(answer["VolumeId"])


def test_volumes_and_log_groups_of_the_cluster_are_listed_and_nobody_elses(aws: str) -> None:
    owned = ("kubernetes.io/cluster/seed", "owned")
    found = volume(owned)
    volume(("kubernetes.io/cluster/other", "owned"))
    volume(owned, ("eks:nodegroup-name", "gpu"))
    logs: Any = boto3.client("logs", region_name=KEY.region)
    logs.create_log_group(logGroupName="/aws/eks/seed/cluster")
    logs.create_log_group(logGroupName="/aws/eks/seedling/cluster")

    assert find_leftovers(KEY) == (
        Leftover(kind="ec2 volume", name=found),
        Leftover(kind="logs log-group", name="/aws/eks/seed/cluster"),
    )
    assert find_leftovers(StackKey(name="none", account=KEY.account, region=KEY.region)) == ()


def test_what_aws_does_not_tell_is_not_taken_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_aws(monkeypatch, tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")

    found = find_leftovers(KEY)

    assert [item.kind for item in found] == [UNKNOWN, UNKNOWN]
    assert [item.name.partition(":")[0] for item in found] == ["`logs`", "`resourcegroupstaggingapi`"]
