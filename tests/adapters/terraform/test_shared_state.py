"""A state in S3 that a team shares, locked in its bucket."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from rdlc.adapters.terraform.stacks import StackFolders
from rdlc.adapters.terraform.work import TerraformWork
from rdlc.core.infra.failures import explain_failure
from rdlc.core.infra.stack import StackKey
from tests.adapters.aws.shell import forget_aws
from tests.adapters.terraform.tiny import Quiet, terraform, tiny_order
from tests.registry.aws import moto_server

pytestmark = pytest.mark.terraform
KEY = StackKey(name="tiny", account="123456789012", region="us-east-2")
PLACE = "runs/tiny/123456789012/us-east-2/terraform.tfstate"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of an S3 that has the bucket `team-state`."""
    forget_aws(monkeypatch, tmp_path)
    with moto_server(tmp_path) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        client: Any = boto3.client("s3", region_name="us-east-2")
        client.create_bucket(Bucket="team-state", CreateBucketConfiguration={"LocationConstraint": "us-east-2"})
        yield client


def open_work(project: Path) -> TerraformWork:
    """The work of one member of the team, who has a project of their own."""
    stack = StackFolders(project, program=terraform(), shell=os.environ).hold(KEY, purpose="rdlc apply")
    work = stack.open(tiny_order(), state="s3://team-state/runs", is_stand_in=True)
    assert work.init(Quiet()).exit_status == 0
    return work


def test_what_one_applied_the_other_finds_unchanged(bucket: Any, tmp_path: Path) -> None:
    one, other = open_work(tmp_path / "one"), open_work(tmp_path / "other")
    one.plan(Quiet(), is_destroy=False)
    assert one.apply(Quiet(), is_destroy=False).exit_status == 0

    end = other.plan(Quiet(), is_destroy=False)

    assert (end.exit_status, other.list_resources()) == (0, ("terraform_data.network", "terraform_data.nodes"))
    assert [item["Key"] for item in bucket.list_objects_v2(Bucket="team-state")["Contents"]] == [PLACE]
    assert not list(tmp_path.rglob("terraform.tfstate.backup"))


def test_who_holds_the_state_is_told(bucket: Any, tmp_path: Path) -> None:
    work = open_work(tmp_path / "one")
    held = {
        "ID": "1-2-3",
        "Operation": "OperationTypeApply",
        "Who": "ann@desk",
        "Version": "1.11.4",
        "Created": "2026-12-01T01:02:03Z",
        "Path": PLACE,
    }
    bucket.put_object(Bucket="team-state", Key=f"{PLACE}.tflock", Body=json.dumps(held).encode())

    end = work.plan(Quiet(), is_destroy=False)

    error = explain_failure(end.diagnostics, step="plan", printed=end.printed)
    assert error.message == "someone else works on this stack: Apply by ann@desk since 2026-12-01 01:02:03 +0000 UTC"
